"""Improve a plan by large-neighbourhood search: search the paths of a few agents again, around those of the others.

Li, Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search", IJCAI 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.core.rules import ON_TARGET_RULES, STAY
from multigrid.planning.compiled import borrowed, inlined, kernel
from multigrid.planning.graph import NOWHERE
from multigrid.planning.groups import Group, make_group, pick_group
from multigrid.planning.random_numbers import draw_below, make_generator
from multigrid.planning.search import Rule, count_costs
from multigrid.planning.timetable import FOREVER, NO_PATH, Timetable, enter, find_path, make_timetable, remove

__all__ = ["Improver"]

_LARGEST_GROUP = 16
# The price of each step after the horizon, larger than what can be saved before it.
_PENALTY = 10_000
_MOST_BYTES = 2**30


class Improver:
    """A plan that large-neighbourhood search improves.

    Args:
        neighbours: int32 (C, 5), as in `multigrid.planning.graph.Graph`.
        distances: int32 (N, C), as `multigrid.planning.graph.distance_tables` returns them.
        goals: int32 (N,).
        on_target: the rule.
        horizon: the largest makespan of a plan, or None. A plan that is loaded may have a larger one, which is then
            reduced at any price.
        seed: seeds the choices of groups.
    """

    def __init__(
        self,
        neighbours: NDArray[np.int32],
        distances: NDArray[np.int32],
        goals: NDArray[np.int32],
        *,
        on_target: Rule,
        horizon: int | None,
        seed: int,
    ) -> None:
        self._problem = (neighbours, distances, goals)
        self._on_target = on_target
        self._rule = ON_TARGET_RULES.index(on_target)
        self._horizon = FOREVER if horizon is None else horizon
        self._group = make_group(len(goals))
        self._old_paths = np.empty((_LARGEST_GROUP, 1), np.int32)
        self._generator = make_generator(seed)
        self._table: Timetable | None = None

    def load(self, paths: NDArray[np.int32]) -> bool:
        """Load the plan to improve, int32 (T + 1, N); return False if that would need too much memory."""
        steps, num_agents = len(paths) - 1, paths.shape[1]
        num_cells = len(self._problem[0])
        if self._table is None or self._table.paths.shape[1] <= steps:
            if 8 * num_cells * (steps + 2) > _MOST_BYTES:
                return False
            self._table = make_timetable(*self._problem, self._rule, steps)
            self._old_paths = np.empty((_LARGEST_GROUP, steps + 1), np.int32)
        else:
            for agent in range(num_agents):
                remove(self._table, agent)
        there = paths == self._problem[2]
        costs = count_costs(paths, self._problem[2], self._on_target)
        self._table.paths[:, : steps + 1] = paths.T
        # An agent that never leaves its target is there from the beginning on.
        self._table.arrivals[:] = np.where(there.all(axis=0), 0, costs)
        for agent in range(num_agents):
            enter(self._table, agent)
        return True

    def run(self, count: int) -> tuple[int, bool]:
        """Search the paths of `count` groups again; return `count`, and False, as `run_chunks` expects it."""
        assert self._table is not None
        _improve(self._table, self._group, self._old_paths, self._horizon, self._generator, count)
        return count, False

    def costs(self) -> NDArray[np.int64]:
        """Return the cost of each agent, int64 (N,), as `count_costs` does."""
        assert self._table is not None
        costs: NDArray[np.int64] = np.maximum(self._table.arrivals, int(self._rule == STAY)).astype(np.int64)
        return costs

    def paths(self) -> NDArray[np.int32]:
        """Return the plan, int32 (T + 1, N)."""
        assert self._table is not None
        table = self._table
        steps = int(self.costs().max())
        paths = np.ascontiguousarray(table.paths[:, : steps + 1].T)
        after = np.arange(steps + 1)[:, None] > table.arrivals
        rest = np.where(self._on_target == "leave", NOWHERE, self._problem[2])
        return np.where(after, rest, paths).astype(np.int32)


@kernel
def _improve(table: Timetable, group: Group, old_paths: Any, horizon: int, generator: Any, count: int) -> None:
    table, group = borrowed(table), borrowed(group)
    largest = min(old_paths.shape[0], table.goals.shape[0])
    for _ in range(count):
        # Small groups are searched more often: they take less time.
        most = 1 + draw_below(generator, 1 + draw_below(generator, largest))
        pick_group(table, group, most, generator)
        _replan(table, group, old_paths, horizon, generator)


@kernel
def _replan(table: Timetable, group: Group, old_paths: Any, horizon: int, generator: Any) -> None:
    """Search the paths of a group one after the other; restore the old paths if the sum of costs would rise."""
    size = group.size[0]
    old_arrivals = np.empty(size, np.int32)
    left = 0
    for k in range(size):
        other = draw_below(generator, size - k) + k
        group.members[k], group.members[other] = group.members[other], group.members[k]
        agent = group.members[k]
        old_arrivals[k] = table.arrivals[agent]
        old_paths[k, : old_arrivals[k] + 1] = table.paths[agent, : old_arrivals[k] + 1]
        left += _price(old_arrivals[k], horizon) - _price(table.distances[agent, table.paths[agent, 0]], horizon)
        remove(table, agent)
    found = 0
    while found < size:
        agent = group.members[found]
        start = table.paths[agent, 0]
        shortest = _price(table.distances[agent, start], horizon)
        limit = min(_latest(left + shortest, horizon), table.paths.shape[1] - 1)
        arrival = find_path(table, agent, start, limit)
        if arrival == NO_PATH:
            break
        left -= _price(arrival, horizon) - shortest
        table.arrivals[agent] = arrival
        enter(table, agent)
        found += 1
    if found < size:
        for k in range(found):
            remove(table, group.members[k])
        for k in range(size):
            agent = group.members[k]
            table.arrivals[agent] = old_arrivals[k]
            table.paths[agent, : old_arrivals[k] + 1] = old_paths[k, : old_arrivals[k] + 1]
            enter(table, agent)


@inlined
def _price(arrival: int, horizon: int) -> Any:
    return arrival + _PENALTY * max(arrival - horizon, 0)


@inlined
def _latest(price: int, horizon: int) -> Any:
    """Return the latest arrival whose price is not higher."""
    return price if price <= horizon else horizon + (price - horizon) // (1 + _PENALTY)
