"""Plans: joint actions, and what is known about how good they are."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.search import Status

__all__ = ["Plan"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The answer to a problem. Without a plan, its arrays, its sum of costs and its makespan are None.

    Costs are those of `multigrid.core.metrics`; in the middle of an episode, those from now on, without the agents that
    have parked or left.
    """

    status: Status
    """*optimal*: there is no smaller sum of costs; *feasible*: there may be; *unsolvable*: there is no plan; *unknown*:
    none was found."""
    actions: NDArray[np.int8] | None
    """int8 (T, N): the `multigrid.Action` of each agent in each step. Those of agents that have parked or left are
    ignored when the plan is played: they are *stay* where there is such an action, else 0."""
    cells: NDArray[np.int64] | None
    """int64 (T + 1, N, 2): the cells before the first step and after each one, [-1, -1] for an agent that has left."""
    sum_of_costs: int | None
    """The sum of the agents' arrival steps."""
    makespan: int | None
    """The step of the last arrival, T."""
    lower_bound: int
    """No plan has a smaller sum of costs; without meaning if there is none."""
    seconds: float
    """How long the search took."""
    expansions: int
    """How many nodes it expanded; what a node is depends on the method."""
    method: str
    """The method."""

    @property
    def gap(self) -> float:
        """By how much the sum of costs can be above the smallest one, as a share of it; NaN without a plan."""
        if self.sum_of_costs is None:
            return np.nan
        return self.sum_of_costs / self.lower_bound - 1 if self.lower_bound else 0.0

    def __repr__(self) -> str:
        rest = f"lower_bound={self.lower_bound}, seconds={self.seconds:.3f}, expansions={self.expansions}"
        costs = "" if self.actions is None else f"sum_of_costs={self.sum_of_costs}, makespan={self.makespan}, "
        return f"Plan({self.status!r}, {costs}{rest}, method={self.method!r})"
