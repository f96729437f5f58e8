"""Evaluation by itself: what counts as success, with policies whose play is known beforehand."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.distributions import Categorical

import multigrid
from multigrid import Game, GridConfig, MultiGridEnv
from multigrid.cli._train_runs import play_held_out
from multigrid.integrations.sb3 import Actor

pytestmark = pytest.mark.heavy

GHOSTS = GridConfig(size=6, num_agents=2, collisions="none", allow_stay=True, max_cycles=15)
STAY = 4


def evaluate(network, config, seeds):
    """The figures of a network over held-out episodes."""
    held_out = play_held_out(config, seeds, Actor(network, len(seeds) * config.num_agents))
    return held_out.summary()


def network_of(probabilities):
    """What an `Actor` needs of a network whose actions have these probabilities."""
    return SimpleNamespace(
        obs_to_tensor=lambda observed: (observed, True),
        get_distribution=lambda observed: SimpleNamespace(distribution=Categorical(probabilities(observed))),
    )


def scripted(choose):
    """A network that plays by a function of (agent, target)."""
    return network_of(lambda observed: torch.eye(5)[list(map(choose, observed["agent"], observed["target"]))])


def straight(agent, target):
    """Walk along x, then along y."""
    if agent[0] != target[0]:
        return 0 if target[0] > agent[0] else 2
    return 1 if target[1] > agent[1] else 3


# Whether who arrives waits for the other or leaves makes no difference to who has arrived, and when.
either = pytest.mark.parametrize("on_target", ["park", "leave"])


@either
def test_who_walks_straight_succeeds_in_the_least_steps(on_target):
    """With nobody in the way all episodes succeed, in the steps of the longer way; with nobody moving none does."""
    longest = []
    for seed in range(20):
        _, infos = MultiGridEnv(GHOSTS).reset(seed=seed)
        longest.append(max(info["distance"] for info in infos.values()))
    config = dataclasses.replace(GHOSTS, on_target=on_target)
    names = ("episodes", "success_rate", "isr", "mean_steps", "mean_return")
    found = evaluate(scripted(straight), config, range(20))
    assert found == dict(zip(names, (20, 1.0, 1.0, np.mean(longest), 1.0), strict=True))
    found = evaluate(scripted(lambda agent, target: STAY), config, range(5))
    assert found == dict(zip(names, (5, 0.0, 0.0, 15.0, 0.0), strict=True))


@either
def test_one_of_two_arriving_is_no_success(on_target):
    """Success is all agents arriving: one that stays behind spoils the episode, though not the other's return."""
    walking = []
    for seed in range(40):
        observations, _ = MultiGridEnv(GHOSTS).reset(seed=seed)
        walking.append([observed["target"].sum() % 2 for observed in observations.values()])
    one_walks = scripted(lambda agent, target: straight(agent, target) if target.sum() % 2 else STAY)
    figures = evaluate(one_walks, dataclasses.replace(GHOSTS, on_target=on_target), range(40))
    success, share = np.all(walking, axis=1).mean(), np.mean(walking)
    assert 0 < success < share < 1
    assert (figures["success_rate"], figures["isr"], figures["mean_return"]) == (success, share, share)


def test_a_return_is_the_mean_of_the_agents_that_take_part(monkeypatch):
    """Where their number is drawn, the rewards of an episode are divided by its own number of agents."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted, which takes less time than to compile

    class Wage(Game):
        def after_moves(w, s, e):  # noqa: N805 - functions of games have no `self`
            w.rewards[e, : w.num_agents[e]] = 1

    config = GridConfig(size=(5, 3), num_agents=(1, 4), game=Wage, max_cycles=6)
    returns = play_held_out(config, range(5), lambda _, rows, __: np.zeros(len(rows), dtype=int)).returns
    assert returns == pytest.approx([6] * 5)
    played = multigrid.evaluate(config, lambda env, _: dict.fromkeys(env.agents, 0), range(5)).episodes
    assert [one["return"] for one in played] == [6] * 5


def test_evaluation_repeats_itself_and_touches_no_global_stream():
    """The seeds alone decide an evaluation; NumPy's and torch's own streams stay where they were."""
    before = (repr(np.random.get_state()), torch.get_rng_state())  # noqa: NPY002 - this stream is what is asked about
    drifting = network_of(lambda observed: torch.full((len(observed["agent"]), 5), 0.2))
    config = dataclasses.replace(GHOSTS, max_cycles=200)
    one, again, other = (evaluate(drifting, config, seeds) for seeds in (range(10), range(10), range(10, 20)))
    assert one == again != other
    assert repr(np.random.get_state()) == before[0]  # noqa: NPY002 - as above
    assert torch.equal(torch.get_rng_state(), before[1])


def test_only_agents_that_are_present_act():
    """An agent that has left, or whose episode is over, is not asked, though all worlds are stepped together."""
    asked = []

    def walk_right(observations, rows, generator):
        asked.append(observations["agent"].tolist())
        return [0] * len(asked[-1])

    play_held_out(GridConfig(walls="a.A..b...B", on_target="leave", max_cycles=9), range(3, 4), walk_right)
    assert asked == [[[0, 0], [5, 0]], [[1, 0], [6, 0]], [[7, 0]], [[8, 0]]]
    asked.clear()
    config = GridConfig(walls=["a.A..\n", "a...A\n"], max_cycles=9)
    steps = play_held_out(config, range(6), walk_right).steps
    assert [len(cells) for cells in asked] == [int((steps > step).sum()) for step in range(4)]
    assert set(steps) == {2, 4}
