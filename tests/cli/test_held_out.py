"""Evaluation by itself: what counts as success, with policies whose play is known beforehand."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.distributions import Categorical

from multigrid import GridConfig, MultiGridEnv
from multigrid.cli._held_out import play_held_out
from multigrid.integrations.sb3 import act

pytestmark = pytest.mark.heavy

GHOSTS = GridConfig(size=6, num_agents=2, collisions="none", allow_stay=True, max_cycles=15)
STAY = 4


def evaluate(network, config, seeds):
    """The figures of a network over held-out episodes."""
    held_out = play_held_out(config, seeds, lambda _, observed, generator: act(network, observed, generator))
    return held_out.summary()


def network_of(probabilities):
    """What `act` needs of a network whose actions have these probabilities."""
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
either = pytest.mark.parametrize(
    "config", [GHOSTS, dataclasses.replace(GHOSTS, on_target="leave")], ids=lambda config: config.on_target
)


@either
def test_who_walks_straight_succeeds_in_the_least_steps(config):
    """With nobody in the way every episode succeeds, and takes as many steps as the longer of the two ways."""
    longest = []
    for seed in range(20):
        _, infos = MultiGridEnv(GHOSTS).reset(seed=seed)
        longest.append(max(info["distance"] for info in infos.values()))
    assert evaluate(scripted(straight), config, range(20)) == {
        "episodes": 20,
        "success_rate": 1.0,
        "isr": 1.0,
        "mean_steps": np.mean(longest),
        "mean_return": 1.0,
    }


def test_nobody_moving_is_no_success():
    """Agents that stay where they are reach the limit with nothing."""
    assert evaluate(scripted(lambda agent, target: STAY), GHOSTS, range(5)) == {
        "episodes": 5,
        "success_rate": 0.0,
        "isr": 0.0,
        "mean_steps": 15.0,
        "mean_return": 0.0,
    }


@either
def test_one_of_two_arriving_is_no_success(config):
    """Success is all agents arriving: one that stays behind spoils the episode, though not the other's return."""

    def walks(target):
        return bool(target.sum() % 2)

    all_walk, share = [], []
    for seed in range(40):
        observations, _ = MultiGridEnv(GHOSTS).reset(seed=seed)
        walking = [walks(observed["target"]) for observed in observations.values()]
        all_walk.append(all(walking))
        share.append(np.mean(walking))
    one_walks = scripted(lambda agent, target: straight(agent, target) if walks(target) else STAY)
    figures = evaluate(one_walks, config, range(40))
    assert 0 < np.mean(all_walk) < np.mean(share) < 1
    assert (figures["success_rate"], figures["isr"]) == (np.mean(all_walk), np.mean(share))
    assert figures["mean_return"] == np.mean(share)


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
    """From the step after its arrival on, an agent that has left is not asked for an action."""
    asked = []

    def walk_right(names, observations, generator):
        asked.append(names)
        return [0] * len(names)

    play_held_out(GridConfig(walls="a.A..b...B", on_target="leave", max_cycles=9), range(3, 4), walk_right)
    assert asked == [["agent_0", "agent_1"]] * 2 + [["agent_1"]] * 2


def test_worlds_whose_episode_is_over_are_not_asked():
    """Actions are chosen for the agents of episodes that go on, though all worlds are stepped together."""
    asked = []

    def act(names, observations, generator):
        asked.append(names)
        return [0] * len(names)

    config = GridConfig(walls=["a.A..\n", "a...A\n"], max_cycles=9)
    steps = play_held_out(config, range(6), act).steps
    assert [len(names) for names in asked] == [int((steps > step).sum()) for step in range(4)]
    assert set(steps) == {2, 4}
