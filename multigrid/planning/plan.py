"""Plans: the joint actions, their costs, and a lower bound on the costs of any plan."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.search import Status

__all__ = ["Plan"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The result of `solve`. If no plan was found, its arrays, its sum of costs and its makespan are None.

    The cost of an agent is the step of its arrival, as `multigrid.core.metrics` counts it. For a problem in the middle
    of an episode, steps are counted from the present state, and agents that have parked or left cost nothing.
    """

    status: Status
    """*optimal*: no plan has a smaller sum of costs; *feasible*: one may have; *unsolvable*: it is proven that there is
    no plan; *unknown*: no plan was found, but there may be one."""
    actions: NDArray[np.int8] | None
    """int8 (T, N): the `multigrid.Action` of each agent in each step. After an agent has parked or left, its actions
    have no effect; they are *stay*, or 0 where agents cannot stay."""
    cells: NDArray[np.int64] | None
    """int64 (T + 1, N, 2): the cell of each agent before the first step and after each step; [-1, -1] once it has
    left."""
    sum_of_costs: int | None
    """The sum of the agents' arrival steps."""
    makespan: int | None
    """The step of the last arrival, T."""
    lower_bound: int
    """No plan has a smaller sum of costs. If the status is *unsolvable*, the number means nothing."""
    seconds: float
    """The time of the search, without the time to load kernels and to play the plan."""
    expansions: int
    """The number of expansions: for "pibt" steps, for "lacam" configurations or groups of agents whose paths are
    searched again, for "cbs" nodes of a tree or joint states."""
    method: str
    """The method, as `solve` takes it."""

    @property
    def gap(self) -> float:
        """The sum of costs over the lower bound, minus 1: 0.1 is at most 10 % above the optimum; NaN without a plan."""
        if self.sum_of_costs is None:
            return np.nan
        return self.sum_of_costs / self.lower_bound - 1 if self.lower_bound else 0.0

    def __repr__(self) -> str:
        rest = f"lower_bound={self.lower_bound}, seconds={self.seconds:.3f}, expansions={self.expansions}"
        costs = "" if self.actions is None else f"sum_of_costs={self.sum_of_costs}, makespan={self.makespan}, "
        return f"Plan({self.status!r}, {costs}{rest}, method={self.method!r})"
