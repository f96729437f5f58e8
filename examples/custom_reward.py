"""Train `examples.ppo` with rewards of one's own, and compare the policies by the same measures.

    pip install "multigrid-marl[train]"
    python -m examples.custom_reward

A reward is a function of the arrays that a step of the vector env returns, as `multigrid.wrappers.VectorReward` takes
it. The held-out episodes before and after count successes, steps, and the env's own reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", "tyro", text=__doc__)

import tyro

from examples import ppo
from multigrid import GridConfig, Outcome
from multigrid.wrappers._vector_reward import RewardFunction

__all__ = ["REWARDS", "main", "nearness", "step_cost"]


def step_cost(_observations: Any, rewards: Any, _terminations: Any, _truncations: Any, infos: dict[str, Any]) -> Any:
    """Return the env's rewards, less 0.01 for each step until an agent has arrived."""
    return rewards - 0.01 * (infos["outcome"] != Outcome.PARKED)


def nearness(_observations: Any, rewards: Any, _terminations: Any, _truncations: Any, infos: dict[str, Any]) -> Any:
    """Return the env's rewards, less 0.01 for each cell between an agent and its target."""
    return rewards - 0.01 * infos["distance"]


REWARDS: dict[str, RewardFunction | None] = {"own": None, "step_cost": step_cost, "nearness": nearness}


def main(
    *,
    steps: int = 100_000,
    seed: int = 0,
    size: int = 8,
    rewards: Sequence[str] = tuple(REWARDS),
    episodes: int = 200,
) -> dict[str, tuple[ppo.Evaluation, ppo.Evaluation]]:
    """Train two agents with each of the rewards; print and return the evaluations before and after.

    Raises:
        ValueError: a reward has another name than "own", "step_cost" and "nearness".
    """
    if unknown := [name for name in rewards if name not in REWARDS]:
        raise ValueError(f"rewards name {unknown}; expected a sequence of names out of {list(REWARDS)}")
    options = ppo.Options(GridConfig(size=size, max_cycles=4 * size), steps=steps, seed=seed, episodes=episodes)
    results = {}
    for name in rewards:
        print(f"\n{name}")
        result = ppo.main(options, REWARDS[name])
        results[name] = result.before, result.after
    return results


if __name__ == "__main__":
    tyro.cli(main)
