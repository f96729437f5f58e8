"""Improve a plan by large-neighbourhood search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.core.rules import ON_TARGET_RULES, STAY
from multigrid.planning.compiled import kernel
from multigrid.planning.graph import NOWHERE
from multigrid.planning.neighbourhoods import improve, make_group
from multigrid.planning.random_numbers import make_generator
from multigrid.planning.search import Rule, count_costs
from multigrid.planning.timetable import FOREVER, Timetable, enter, make_timetable, remove

_MOST_BYTES = 2**30


class Improver:
    """A plan that large-neighbourhood search improves.

    Args:
        neighbours: int32 (C, 5), as in `Graph`.
        distances: int32 (N, C), as `distance_tables` returns them.
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
        self._team = (neighbours, distances, np.arange(len(goals), dtype=np.int32), goals)
        self._on_target, self._rule, self._goals = on_target, ON_TARGET_RULES.index(on_target), goals
        self._horizon = FOREVER if horizon is None else horizon
        self._group = make_group(len(goals))
        self._generator = make_generator(seed)
        self._table: Timetable | None = None

    def load(self, paths: NDArray[np.int32]) -> bool:
        """Load the plan to improve, int32 (T + 1, N); return False if that would need too much memory."""
        steps = len(paths) - 1
        if self._table is None or self._table.paths.shape[1] <= steps:
            if 8 * len(self._team[0]) * (steps + 2) > _MOST_BYTES:
                return False
            self._table = make_timetable(self._team, self._rule, steps, self._generator, horizon=self._horizon)
        else:
            _remove_all(self._table)
        there = paths == self._goals
        self._table.paths[:, : steps + 1] = paths.T
        # An agent that never leaves its target is there from the beginning on.
        self._table.costs[:] = np.where(there.all(axis=0), 0, count_costs(paths, self._goals, self._on_target))
        _enter_all(self._table)
        return True

    def run(self, count: int) -> tuple[int, bool]:
        """Search the paths of `count` groups again; return `count`, and False, as `run_chunks` expects it."""
        assert self._table is not None
        improve(self._table, None, self._group, count)
        return count, False

    def costs(self) -> NDArray[np.int64]:
        """Return the cost of each agent, int64 (N,), as `count_costs` does."""
        assert self._table is not None
        costs: NDArray[np.int64] = np.maximum(self._table.costs, int(self._rule == STAY))
        return costs

    def paths(self) -> NDArray[np.int32]:
        """Return the plan, int32 (T + 1, N)."""
        assert self._table is not None
        steps = int(self.costs().max())
        after = np.arange(steps + 1)[:, None] > self._table.costs
        rest = np.where(self._on_target == "leave", NOWHERE, self._goals)
        return np.where(after, rest, self._table.paths[:, : steps + 1].T).astype(np.int32)


@kernel
def _enter_all(table: Timetable) -> None:
    for agent in range(table.goals.shape[0]):
        enter(table, agent)


@kernel
def _remove_all(table: Timetable) -> None:
    for agent in range(table.goals.shape[0]):
        remove(table, agent)
