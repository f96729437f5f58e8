"""skrl: the recipe learns, each agent with weights of its own."""

import torch

import multigrid
from examples import skrl_ippo
from recipe_contract import examples_of, learning, pages_of_recipe, refusing

WORLD = {"size": (5, 4), "num_agents": 2, "flatten": True, "max_cycles": 20}


class ByHand(torch.nn.Module):
    """A policy that plays a list of actions, whatever it sees."""

    def __init__(self, actions):
        super().__init__()
        self.actions = iter(actions)

    def act(self, inputs):
        """Return the next action for every row, as skrl's models do."""
        rows = len(inputs["observations"])
        return torch.full((rows, 1), next(self.actions)), {}


def test_arrival_rate():
    """An episode counts when every agent has arrived in it, and only the first episode of a world counts."""
    config = multigrid.GridConfig(walls="a.A\nb.B", flatten=True, max_cycles=3)
    east = [0] * 6
    both = {agent: {"policy": ByHand(east)} for agent in config.agents}
    assert skrl_ippo.arrival_rate(both, config, 2) == 1
    one = {"agent_0": {"policy": ByHand(east)}, "agent_1": {"policy": ByHand([2] * 6)}}
    assert skrl_ippo.arrival_rate(one, config, 2) == 0


def test_each_agent_has_weights_of_its_own():
    """No two agents share a parameter."""
    models = skrl_ippo.make_models(multigrid.GridConfig(**WORLD))
    parameters = [p for pair in models.values() for model in pair.values() for p in model.parameters()]
    agents, layers, arrays = 2, 3, 2
    assert len(set(map(id, parameters))) == len(parameters) == agents * 2 * layers * arrays


test_it_learns = learning(skrl_ippo.main, before=0.3, after=0.8, steps=5000, seed=1)
test_other_modes_are_refused = refusing(skrl_ippo.main, "leave", "'park' or 'stay'")
test_examples = examples_of("examples.skrl_ippo")
test_pages = pages_of_recipe("skrl")
