"""Evaluation by itself: what counts as success, with policies whose play is known beforehand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from multigrid import GridConfig, MultiGridEnv
from multigrid.cli.rollout.policies import act
from multigrid.cli.train.held_out import play_held_out

pytestmark = pytest.mark.heavy

GHOSTS = GridConfig(size=6, num_agents=2, collisions="none", allow_stay=True, max_cycles=15)
STAY = 4


def evaluate(network: Any, config: GridConfig, seeds: Sequence[int]) -> dict[str, float]:
    """The figures of a network over held-out episodes."""
    held_out = play_held_out(config, seeds, lambda _, seen, generator: act(network, config, seen, generator))
    return held_out.summary()


class Scripted:
    """A policy that plays by a function of (agent, target): what `act` needs of a network, and no more."""

    def __init__(self, choose: Any) -> None:
        """Take the function, which returns an action."""
        self.choose = choose

    def obs_to_tensor(self, observation: dict[str, np.ndarray]) -> tuple[Any, bool]:
        """Hand the observation on."""
        return observation, True

    def get_distribution(self, observation: dict[str, np.ndarray]) -> Any:
        """All probability on the chosen action."""
        chosen = [self.choose(*cells) for cells in zip(observation["agent"], observation["target"], strict=True)]
        self.distribution = torch.distributions.Categorical(probs=torch.eye(5)[chosen])
        return self


class Drifting(Scripted):
    """Every action as likely as any other."""

    def get_distribution(self, observation: dict[str, np.ndarray]) -> Any:
        """The same probabilities for every row."""
        self.distribution = torch.distributions.Categorical(probs=torch.full((len(observation["agent"]), 5), 0.2))
        return self


def straight(agent: np.ndarray, target: np.ndarray) -> int:
    """Walk along x, then along y."""
    if agent[0] != target[0]:
        return 0 if target[0] > agent[0] else 2
    return 1 if target[1] > agent[1] else 3


# Whether who arrives waits for the other or leaves makes no difference to who has arrived, and when.
either = pytest.mark.parametrize(
    "config", [GHOSTS, dataclasses.replace(GHOSTS, on_target="leave")], ids=lambda config: config.on_target
)


@either
def test_who_walks_straight_succeeds_in_the_least_steps(config: GridConfig) -> None:
    """With nobody in the way every episode succeeds, and takes as many steps as the longer of the two ways."""
    longest = []
    for seed in range(20):
        _, infos = MultiGridEnv(GHOSTS).reset(seed=seed)
        longest.append(max(info["distance"] for info in infos.values()))
    policy: Any = Scripted(straight)
    told = evaluate(policy, config, range(20))
    assert told == {"episodes": 20, "success_rate": 1.0, "mean_steps": np.mean(longest), "mean_return": 1.0}


def test_nobody_moving_is_no_success() -> None:
    """Agents that stay where they are reach the limit with nothing."""
    policy: Any = Scripted(lambda agent, target: STAY)
    told = evaluate(policy, GHOSTS, range(5))
    assert told == {"episodes": 5, "success_rate": 0.0, "mean_steps": 15.0, "mean_return": 0.0}


@either
def test_one_of_two_arriving_is_no_success(config: GridConfig) -> None:
    """Success is all agents arriving: one that stays behind spoils the episode, though not the other's return."""

    def walks(target: np.ndarray) -> bool:
        return bool(target.sum() % 2)

    all_walk, share = [], []
    for seed in range(40):
        observations, _ = MultiGridEnv(GHOSTS).reset(seed=seed)
        walking = [walks(seen["target"]) for seen in observations.values()]
        all_walk.append(all(walking))
        share.append(np.mean(walking))
    policy: Any = Scripted(lambda agent, target: straight(agent, target) if walks(target) else STAY)
    told = evaluate(policy, config, range(40))
    assert 0 < np.mean(all_walk) < np.mean(share) < 1
    assert (told["success_rate"], told["mean_return"]) == (np.mean(all_walk), np.mean(share))


def test_evaluation_repeats_itself_and_touches_no_global_stream() -> None:
    """The seeds alone decide an evaluation; NumPy's and torch's own streams stay where they were."""
    before = (repr(np.random.get_state()), torch.get_rng_state())  # noqa: NPY002 - this stream is what is asked about
    policy: Any = Drifting(None)
    config = dataclasses.replace(GHOSTS, max_cycles=200)
    told = [evaluate(policy, config, seeds) for seeds in (range(10), range(10), range(10, 20))]
    assert told[0] == told[1]
    assert told[0] != told[2]
    assert repr(np.random.get_state()) == before[0]  # noqa: NPY002 - as above
    assert torch.equal(torch.get_rng_state(), before[1])
