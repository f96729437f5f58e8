"""skrl: the recipe learns, and what it works around is still there."""

import pytest
import torch
from skrl.multi_agents.torch.ippo import IPPO, IPPO_CFG

import multigrid
from examples import skrl_ippo
from recipe_contract import examples_of, learning, pages_of_recipe

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


def test_leave_is_refused():
    """`main` takes no world that agents leave, and skrl itself still cannot play one."""
    with pytest.raises(ValueError, match="on_target is 'leave'; expected 'park' or 'stay'"):
        skrl_ippo.main(on_target="leave")
    config = multigrid.GridConfig(**WORLD, on_target="leave")
    trainer = skrl_ippo.make_trainer(config, skrl_ippo.make_models(config), steps=200)
    with pytest.raises(KeyError, match="agent_"):
        trainer.train()


def test_the_defaults_still_fail():
    """The default configuration is still refused by skrl itself, which is why the recipe spells out empty dicts."""
    env = multigrid.parallel_env(**WORLD)
    with pytest.raises(ValueError, match="do not match possible agents"):
        IPPO(
            possible_agents=env.possible_agents,
            models=skrl_ippo.make_models(env.config),
            observation_spaces=env.observation_spaces,
            action_spaces=env.action_spaces,
            cfg=IPPO_CFG(),
        )


def test_each_agent_has_weights_of_its_own():
    """No two agents share a parameter."""
    models = skrl_ippo.make_models(multigrid.GridConfig(**WORLD))
    parameters = [p for pair in models.values() for model in pair.values() for p in model.parameters()]
    agents, layers, arrays = 2, 3, 2
    assert len(set(map(id, parameters))) == len(parameters) == agents * 2 * layers * arrays


test_it_learns = learning(skrl_ippo.main, before=0.3, after=0.8, steps=5000, seed=1)
test_examples = examples_of("examples.skrl_ippo")
test_pages = pages_of_recipe("skrl")
