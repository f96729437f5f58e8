"""Evaluate a policy on held-out episodes, which no training plays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv

__all__ = ["Act", "HeldOut", "play_held_out"]

Act: TypeAlias = Callable[[list[str], list[Any], np.random.Generator], list[int]]
"""A function of the names of K agents, their K observations and a random generator that returns K actions."""


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """The results of K episodes."""

    success: NDArray[np.bool_]
    """bool (K,), whether all agents arrived."""
    steps: NDArray[np.float64]
    """float64 (K,), the number of steps."""
    returns: NDArray[np.float64]
    """float64 (K,), the sum of an agent's rewards, averaged over agents."""

    def summary(self) -> dict[str, float]:
        """Return "episodes", their number, and the means "success_rate", "mean_steps" and "mean_return".

        Under *restart*, where no episode ends with all agents on their targets, the success rate is 0.
        """
        means = {"success_rate": self.success, "mean_steps": self.steps, "mean_return": self.returns}
        return {"episodes": len(self.steps), **{name: float(values.mean()) for name, values in means.items()}}


def play_held_out(
    config: GridConfig, seeds: Sequence[int], act: Act, tell: Callable[[int], object] | None = None
) -> HeldOut:
    """Play one episode for each seed, all of them side by side.

    Args:
        config: a configuration with a limit of steps.
        seeds: the seeds of the episodes; they also seed the generator for `act`. No global random state is used.
        act: returns the actions. It is called at each step, with the present agents of all episodes.
        tell: is called after each step with the number of steps so far, at most `config.max_cycles`.
    """
    envs = [MultiGridEnv(config) for _ in seeds]
    observations = [env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)]
    generator = np.random.default_rng([*seeds, 2])
    steps, returns = np.zeros(len(envs)), np.zeros(len(envs))
    while running := [index for index, env in enumerate(envs) if env.agents]:
        present = [(index, agent) for index in running for agent in envs[index].agents]
        rows = [observations[index][agent] for index, agent in present]
        actions = iter(act([agent for _, agent in present], rows, generator))
        for index in running:
            env = envs[index]
            observations[index], rewards, *_ = env.step({agent: next(actions) for agent in env.agents})
            steps[index] += 1
            returns[index] += sum(rewards.values()) / config.num_agents
        if tell is not None:
            tell(int(steps.max()))
    success = np.array([env.metrics()["csr"] == 1 for env in envs])
    return HeldOut(success, steps, returns)
