"""Scaling curves: the cost of an agent-step by the number of agents in a world, and by the number of worlds."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.speed.cases import restart_config
from benchmarks.speed.plays import Play, parallel_play, vector_play
from multigrid.config import GridConfig, Part
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = ["AGENTS", "WORLD_COUNTS", "Curve", "curves"]

AGENTS = (1, 4, 16, 64, 256, 1024, 4096)
WORLD_COUNTS = (1, 10, 100, 1000, 10_000, 100_000)


@dataclasses.dataclass
class Curve:
    """The costs of one kind of environment at growing counts.

    Attributes:
        name: the name of the curve.
        axis: what is counted, "agents" or "worlds".
        counts: the counts.
        plays: for each count, the function that plays a round.
        costs: for each count, microseconds per agent-step, one figure for each round.
    """

    name: str
    axis: str
    counts: tuple[int, ...]
    plays: list[Play]
    costs: list[list[float]] = dataclasses.field(default_factory=list)

    def measure(self, seconds: float) -> None:
        """Play a round at every count and append the costs; before the first one, a round that is not measured."""
        if not self.costs:
            self.costs = [[] for _ in self.plays]
            # Memory that is used for the first time is slow.
            for play in self.plays:
                play(seconds)
        for play, costs in zip(self.plays, self.costs, strict=True):
            elapsed, agent_steps = play(seconds)
            costs.append(1e6 * elapsed / agent_steps)

    @property
    def microseconds(self) -> list[float]:
        """The median costs."""
        return [statistics.median(costs) for costs in self.costs]

    @property
    def rise(self) -> float:
        """The ratio of the highest cost after the lowest to the lowest; a cost that falls with the count is no rise."""
        costs = self.microseconds
        lowest = costs.index(min(costs))
        return max(costs[lowest:]) / costs[lowest]

    def row(self) -> dict[str, Any]:
        """Return the curve as a dict for JSON."""
        costs = [round(cost, 6) for cost in self.microseconds]
        return {"name": self.name, "axis": self.axis, "counts": self.counts, "microseconds_per_agent_step": costs}

    def rise_row(self) -> dict[str, Any]:
        """Return the rise and its goal as a dict for JSON."""
        reach = f"from {self.counts[0]:,} to {self.counts[-1]:,} {self.axis}"
        return {"name": f"{self.name}, {reach}: rise", "value": round(self.rise, 3), "under": 2.0}


def curves(agents: Sequence[int], worlds: Sequence[int]) -> Iterator[Curve]:
    """Yield the curves; all envs exist at the same time, so that their rounds can alternate."""
    n, e = tuple(agents), tuple(worlds)
    yield Curve("ParallelEnv", "agents", n, [parallel_play(MultiGridEnv(_config(count))) for count in n])
    yield Curve("vector env, one world", "agents", n, [_vector_play(1, _config(count)) for count in n])
    yield Curve("vector env, one world, view", "agents", n, [_vector_play(1, _config(count, "view")) for count in n])
    yield Curve("one agent each", "worlds", e, [_vector_play(count, _config(1)) for count in e])
    yield Curve("8 agents each, view", "worlds", e, [_vector_play(count, _config(8, "view")) for count in e])


def _config(agents: int, *parts: Part) -> GridConfig:
    """Return a square grid of which the agents take about a tenth; they observe `agent` and `target` by default."""
    return restart_config(agents, max(5, math.ceil(math.sqrt(10 * agents))), *(parts or ("agent", "target")))


def _vector_play(worlds: int, config: GridConfig) -> Play:
    return vector_play(MultiGridVectorEnv(config, worlds))
