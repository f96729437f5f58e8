"""What a step of one agent costs as agents and worlds become more."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from multigrid.cli.bench.cases import playing_at_once, playing_together, restarting
from multigrid.config import GridConfig, Part
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = ["AGENTS", "WORLD_COUNTS", "Curve", "curves"]

AGENTS = (1, 4, 16, 64, 256, 1024, 4096)
WORLD_COUNTS = (1, 10, 100, 1000, 10_000, 100_000)


@dataclasses.dataclass
class Curve:
    """The costs of one thing at growing counts.

    Attributes:
        name: what it is.
        axis: what is counted, "agents" or "worlds".
        counts: how many.
        plays: for each count, plays for some seconds; returns the seconds that it took and the steps of an agent.
        costs: for each count, the microseconds that a step of one agent took, by round.
    """

    name: str
    axis: str
    counts: tuple[int, ...]
    plays: list[Callable[[float], tuple[float, int]]]
    costs: list[list[float]] = dataclasses.field(default_factory=list)

    def measure(self, seconds: float) -> None:
        """Play a round at every count."""
        self.costs = self.costs or [[] for _ in self.plays]
        for play, costs in zip(self.plays, self.costs, strict=True):
            took, agent_steps = play(seconds)
            costs.append(1e6 * took / agent_steps)

    @property
    def microseconds(self) -> list[float]:
        """The median costs."""
        return [statistics.median(costs) for costs in self.costs]

    @property
    def rise(self) -> float:
        """How far the cost rises again, once the price of a call is shared by many: the highest after the lowest."""
        costs = self.microseconds
        lowest = costs.index(min(costs))
        return max(costs[lowest:]) / costs[lowest]

    def row(self) -> dict[str, Any]:
        """What JSON tells of it."""
        costs = [round(cost, 6) for cost in self.microseconds]
        return {"name": self.name, "axis": self.axis, "counts": self.counts, "microseconds_per_agent_step": costs}


def curves(agents: Sequence[int], worlds: Sequence[int]) -> Iterator[Curve]:
    """Make what the curves are measured on; all of it stays, so that rounds can go around."""
    n, e = tuple(agents), tuple(worlds)
    yield Curve("ParallelEnv", "agents", n, [playing_together(MultiGridEnv(_config(count))) for count in n])
    yield Curve("vector env, one world", "agents", n, [_vector(1, _config(count)) for count in n])
    yield Curve("vector env, one world, view", "agents", n, [_vector(1, _config(count, "view")) for count in n])
    yield Curve("one agent each", "worlds", e, [_vector(count, _config(1)) for count in e])
    yield Curve("8 agents each, view", "worlds", e, [_vector(count, _config(8, "view")) for count in e])


def _config(agents: int, *parts: Part) -> GridConfig:
    """A grid of which the agents take about a tenth; `agent` and `target`, unless there are parts."""
    return restarting(agents, max(5, math.ceil(math.sqrt(10 * agents))), *(parts or ("agent", "target")))


def _vector(worlds: int, config: GridConfig) -> Callable[[float], tuple[float, int]]:
    return playing_at_once(MultiGridVectorEnv(config, worlds))
