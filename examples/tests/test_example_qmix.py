"""The recipe `examples.qmix`: the task is as its text says, and QMIX learns it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import multigrid
from examples.qmix import MAP, Agents, Mixer, Options, Replay, Trainer, VectorWorlds, Worlds, evaluate, main, train
from multigrid import Action

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "central"


def rewards_of(first, second):
    """Play both agents' actions on the recipe's map: the rewards of each step, and whether both arrived."""
    env = multigrid.parallel_env(walls=MAP, reward="shared", allow_stay=True, max_cycles=30)
    env.reset(seed=0)
    found, both = [], False
    for actions in zip(first, second, strict=True):
        _, rewards, terminations, _, _ = env.step(dict(zip(("agent_0", "agent_1"), actions, strict=True)))
        found.append(rewards["agent_0"])
        both = all(terminations.values())
    return found, both


def test_the_short_way_shuts_the_other_out_and_giving_way_does_not():
    """The short way earns 1/2 and the other never comes by; by the lay-by both arrive in five steps and earn 1."""
    right = [Action.RIGHT] * 29
    found, both = rewards_of(right, right)
    assert (sum(found), found.index(0.5), both) == (0.5, 2, False)
    # On screen y grows downwards: Action.DOWN is up in the picture.
    found, both = rewards_of([Action.DOWN, Action.RIGHT, Action.RIGHT, Action.UP, Action.RIGHT], right[:5])
    assert (sum(found), both) == (1.0, True)


def test_agents_see_themselves_alone_and_the_state_all():
    """An agent's input is its own cell and target; the state has a cell for each agent."""
    worlds = Worlds(2, 3, seed=0)
    look = worlds.look()
    assert look["observed"].shape == (2, 3, 2, 2)
    # Cells are numbered x * 2 + y: a stands on (1, 1) with (4, 1) as its target, b on (0, 1) with (5, 1).
    assert look["observed"][1, 2].tolist() == [[3, 9], [1, 11]]
    assert look["states"][1, 2].tolist() == [3, 1]


def test_agents_of_games_observe_vectors_and_the_state_has_all():
    """What QMIX takes of a game are its observations as they are, and those of a world side by side as its state."""
    worlds = VectorWorlds(2, 3, 0, multigrid.GridConfig(size=4, flatten=True))
    look = worlds.look()
    rows = torch.from_numpy(worlds.observations)
    assert look["observed"].shape == (2, 3, 2, worlds.inputs[0])
    assert torch.equal(look["observed"][1, 2], rows[10:12])
    assert torch.equal(look["states"][1, 2], rows[10:12].flatten())
    assert len(look["states"][1, 2]) == worlds.inputs[1]
    trainer = Trainer(Options(steps=60, learners=2, worlds=3), worlds)
    before = [weights.clone() for weights in trainer.mixer.parameters()]
    assert [*train(trainer, worlds)] == list(range(1, 61))
    assert not all(map(torch.equal, before, trainer.mixer.parameters()))


def test_agents_that_end_apart_are_refused():
    """QMIX needs agents whose episodes end together, which under `leave` they do not."""
    with pytest.raises(ValueError, match="on_target is 'leave'; expected 'park' or 'stay'"):
        VectorWorlds(1, 2, 0, multigrid.GridConfig(size=4, flatten=True, on_target="leave"))


def test_the_team_never_loses_by_an_agents_gain():
    """The mixed value rises with each agent's value in every state, so that each agent's best action is the team's."""
    torch.manual_seed(0)
    mixer = Mixer(3, 24, 2)
    values, state = torch.randn(3, 50, 2), torch.randn(3, 50, 24)
    before = mixer(values, state)
    for agent in range(2):
        more = values.clone()
        more[..., agent] += 1.0
        assert (mixer(more, state) > before).all()
    assert (mixer(values, state.flip(2)) != before).any(), "the state sets how they are mixed"


def test_learners_do_not_feel_each_other():
    """What one learner loses moves no weight of another."""
    agents = Agents(3, 24, 5)
    agents(torch.ones(3, 4, 2, 24))[1].square().sum().backward()
    for parameter in agents.parameters():
        assert parameter.grad is not None
        assert not parameter.grad[[0, 2]].any()
    assert agents.layers[0].weight.grad[1].any()


@pytest.mark.parametrize(("terminated", "discount"), [(1.0, 0.0), (0.0, 0.25)])
def test_returns_end_with_the_episode(terminated, discount):
    """An n-step return stops with its episode: nothing follows an end, and the last state's value a cut."""
    replay = Replay(8)
    for step in range(5):
        values = {"observed": torch.full((1, 1, 1, 2), step), "states": torch.full((1, 1, 1), step)}
        values |= {"actions": torch.zeros(1, 1, 1, dtype=torch.int64), "rewards": torch.full((1, 1, 1), 10.0**step)}
        values |= {"terminated": torch.full((1, 1), terminated * (step == 1)), "played": torch.ones(1, 1)}
        replay.add(**values, ended=torch.full((1, 1), step == 1))
    torch.manual_seed(0)
    now, returns, discounts, later = replay.sample(200, 3, 0.5)
    columns = replay.states[now][0, :, 0], returns[0, :, 0], discounts[0], replay.states[later][0, :, 0]
    drawn = set(zip(*(column.tolist() for column in columns), strict=True))
    # Steps 0 and 1 are of an episode that ends with step 1; the observation after it is kept with step 2.
    assert drawn == {(0, 1 + 5.0, discount, 2), (1, 10.0, 2 * discount, 2)}


def test_the_step_after_an_end_differs_from_those_that_are_played():
    """What ends an episode leads to its last observation; the next step begins anew, and counts as not played."""
    worlds = Worlds(1, 2, seed=0, max_cycles=2)
    right = torch.full((1, 2, 2), int(Action.RIGHT))
    found = []
    for _ in range(6):
        flags = worlds.step(right)
        found.append([flags[name][0, 1].item() for name in ("played", "ended", "terminated")])
        found[-1].append(worlds.look()["states"][0, 1].tolist())
    episode = [[1.0, False, 0.0, [5, 3]], [1.0, True, 0.0, [7, 5]], [0.0, False, 0.0, [3, 1]]]
    assert found == episode * 2


def test_what_was_not_played_is_not_learned(monkeypatch):
    """Two runs of one seed end with the same nets, bit for bit; a step that the env ignored moves no weight."""

    def learn():
        return list(main(steps=60, worlds=4, seed=5, checks=1, verbose=False)["agents"].parameters())

    learned = learn()
    assert all(map(torch.equal, learned, learn()))
    step = Worlds.step
    monkeypatch.setattr(Worlds, "step", lambda self, actions: step(self, actions) | {"played": torch.zeros(1, 4)})
    torch.manual_seed(5)
    fresh = list(Agents(1, 24, 5).parameters())
    assert all(map(torch.equal, learn(), fresh))
    assert not all(map(torch.equal, learned, fresh))


def test_the_curve_tells_after_which_steps_it_was_evaluated(capsys):
    """The steps of the curve are those that are printed, and end with the last one, also where they do not divide."""
    result = main(steps=7, worlds=2, checks=2)
    assert result["steps"].tolist() == [0, 4, 7]
    assert result["success"].shape == (3, 1)
    assert re.findall(r"after +(\d+) steps", capsys.readouterr().out) == ["4", "7"]
    assert main(steps=3, worlds=2, checks=10, verbose=False)["steps"].tolist() == [0, 1, 2, 3]
    # Returns of more steps than are kept at first are learned from later.
    assert main("iql", steps=62, worlds=2, n_step=60, checks=1, verbose=False)["steps"].tolist() == [0, 62]


def test_qmix_learns_to_give_way():
    """Both agents of most QMIX learners arrive, of none before; a second evaluation says the same."""
    central = main(steps=1500, learners=3, verbose=False, checks=1)
    assert not central["before"].any()
    assert central["after"].mean() > 0.5
    assert (evaluate(central["agents"], 3, seed=77) == central["after"]).all()


@pytest.mark.long
def test_independent_learners_do_not_learn_to_give_way():
    """With the same nets, rewards and steps no independent learner arrives; docs/central shows six that do not."""
    assert not main("iql", steps=1500, learners=1, verbose=False, checks=1)["after"].any()


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("method", "coma", "method is 'coma'; expected one of qmix, vdn, iql"),
        *(("on_target", rule, f"on_target is '{rule}'; expected 'park' or 'stay'") for rule in ("leave", "restart")),
        ("max_cycles", None, "max_cycles is None, with which an evaluation might never end"),
        ("steps", 0, "steps is 0, n_step 1, checks 10; expected integers of at least 1"),
        *((name, 0, f"{name} 0") for name in ("n_step", "checks")),
    ],
)
def test_what_it_cannot_learn_from_is_refused(name, value, complaint):
    """Other methods, worlds whose agents end apart, or never, and numbers that leave nothing to do are refused."""
    with pytest.raises(ValueError, match=complaint):
        main(verbose=False, **{name: value})


def test_the_committed_figures_say_what_the_page_says():
    """QMIX ends solving most seeds, independent learners and the other settings none."""
    curves = json.loads((FOLDER / "curve.json").read_text())
    assert len(curves) == 5
    for name, curve in curves.items():
        success = np.array(curve["success"])[-1]
        assert (curve["steps"], len(success)) == (list(range(0, 1501, 100)), 6)
        assert success.mean() > 0.5 or not name.startswith("QMIX")
        assert not success.any() or not name.startswith("independent")
    grid = json.loads((FOLDER / "grid.json").read_text())
    assert [(one["learners"], one["solved"]) for one in grid] == [(3, 0)] * 8
