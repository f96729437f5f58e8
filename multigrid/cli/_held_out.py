"""Evaluate a policy on held-out episodes, which no training plays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core.metrics import LABELS
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.evaluation._playing import play_episodes
from multigrid.game import describe
from multigrid.integrations.training import map_parts

# (observations of K agents: an array (K, ...) or a dict of such arrays, generator) -> K actions
Act: TypeAlias = Callable[[Any, np.random.Generator], list[int]]


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """The results of K episodes, each an array (K,), and the means of the metrics that are defined."""

    success: NDArray[np.bool_] | NDArray[np.float64]  # whether all agents arrived; NaN without targets
    steps: NDArray[np.float64]
    returns: NDArray[np.float64]  # the sum of an agent's rewards, averaged over agents
    isr: NDArray[np.float64]  # the share of agents that arrived, NaN under *restart* and without targets
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)  # empty for restored results

    def summary(self) -> dict[str, float]:
        """Return the number of episodes and the means, of the metrics of a game, too.

        Under *restart* the success rate is 0, and "isr" is absent; without targets both are.
        """
        means = {"success_rate": self.success, "isr": self.isr, "mean_steps": self.steps, "mean_return": self.returns}
        values = {name: float(array.mean()) for name, array in means.items()}
        own = {name: mean for name, mean in self.metrics.items() if name not in LABELS}
        defined = {name: mean for name, mean in values.items() if not math.isnan(mean)}
        return {**own, "episodes": len(self.steps), **defined}


def play_held_out(config: GridConfig, seeds: range, act: Act, update: Callable[[int], object] | None = None) -> HeldOut:
    """Play one episode for each seed, side by side; the seeds also seed the generator that `act` gets.

    `act` is called at each step with the present agents of all episodes, `update` after it with the number of steps.
    """
    count, num_agents = len(seeds), config.num_agents
    envs: Any = MultiGridVectorEnv(config, count, autoreset_mode=AutoresetMode.DISABLED)
    generator = np.random.default_rng([*seeds, 2])
    actions = np.zeros(envs.num_envs, dtype=np.int64)
    running, present = np.ones(count, dtype=bool), np.ones(envs.num_envs, dtype=bool)
    measured = list(LABELS) if config.has_targets else []
    measured += () if config.game is None else describe(config.game).metrics
    steps, returns, metrics = np.zeros(count), np.zeros(count), {name: np.full(count, np.nan) for name in measured}

    def choose(_: Any, observations: Any) -> NDArray[np.int64]:
        rows = np.flatnonzero(present & np.repeat(running, num_agents))
        batch = map_parts(lambda array: array[rows], observations)
        actions[rows] = act(batch, generator)
        return actions

    for played, step, _ in play_episodes(envs, choose, seeds):
        if played is None:
            continue
        present[:] = step.infos["alive"] & ~step.terminations
        steps[running] += 1
        # The sum is in the order of the agents, as in a single env.
        returns[running] += step.rewards.reshape(count, num_agents).cumsum(axis=1)[running, -1] / num_agents
        ended = running & envs.episode_over
        if ended.any():
            for name, values in metrics.items():
                values[ended] = step.infos[name].reshape(count, num_agents)[ended, 0]
            running[ended] = False
        if update is not None:
            update(int(steps.max()))
    defined = {name: float(values.mean()) for name, values in metrics.items() if np.isfinite(values).all()}
    if not config.has_targets:
        return HeldOut(np.full(count, np.nan), steps, returns, np.full(count, np.nan), defined)
    return HeldOut(metrics["csr"] == 1, steps, returns, metrics["isr"], defined)
