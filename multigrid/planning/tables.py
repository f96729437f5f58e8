"""The graphs of a pool of maps and the distances to targets, each computed when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.compiled import kernel
from multigrid.planning.graph import NOWHERE, build_graph, fill_distances
from multigrid.runtime.arrays import LEFT

__all__ = ["States", "Tables"]

States: TypeAlias = Mapping[str, Any]
"""The states of E worlds, as `MultiGridVectorEnv.get_state` returns them."""

_MOST_BYTES = 2**28
_NO_SLOT = -1


class Tables:
    """The graphs of M maps, and tables of the distances to their cells, each computed when it is first needed.

    The tables take at most 256 MiB, unless `at_least` needs more; when they are full, all are dropped.

    Args:
        walls: bool (M, W, H), True at ``[x, y]`` for a wall.
        at_least: the number of tables that are needed at a time.

    >>> tables = Tables(np.array([[[False, True], [False, False]]]), at_least=1)
    >>> tables.build(np.array([0]))
    >>> rows = tables.find_rows(np.array([0]), np.array([2]))
    >>> tables.distances[rows].tolist()
    [[2, 1, 0]]
    """

    def __init__(self, walls: NDArray[np.bool_], at_least: int) -> None:
        num_maps, width, height = walls.shape
        num_cells = int((~walls).sum(axis=(1, 2)).max())
        self._walls = walls
        self._is_built = np.zeros(num_maps, bool)
        self.index: NDArray[np.int32] = np.full((num_maps, width, height), NOWHERE, np.int32)
        """int32 (M, W, H): the number of each cell, as in `Graph`, once `build` has built its map."""
        self.neighbours: NDArray[np.int32] = np.full((num_maps, num_cells, 5), NOWHERE, np.int32)
        """int32 (M, C, 5): the neighbours of each cell; C cells are as many as the largest map has."""
        self.degrees: NDArray[np.int32] = np.zeros((num_maps, num_cells), np.int32)
        """int32 (M, C): the number of other cells next to each cell."""
        count = min(num_maps * num_cells, max(at_least, _MOST_BYTES // (4 * num_cells)))
        # Memory that is not written to is not used.
        self.distances: NDArray[np.int32] = np.empty((count, num_cells), np.int32)
        """int32 (K, C): the tables."""
        self._slots = np.full(num_maps * num_cells, _NO_SLOT, np.int32)
        self._num_used = 0
        self._queue = np.empty(num_cells, np.int32)

    def build(self, maps: NDArray[np.int64]) -> None:
        """Build the graphs of some maps, unless they are built already.

        Args:
            maps: int64 (E,).
        """
        if self._is_built[maps].all():
            return
        for m in np.unique(maps[~self._is_built[maps]]).tolist():
            graph = build_graph(self._walls[m])
            num_cells = len(graph.cells)
            self.index[m] = graph.index
            self.neighbours[m, :num_cells] = graph.neighbours
            self.degrees[m, :num_cells] = (graph.neighbours != NOWHERE).sum(axis=1) - 1
            self._is_built[m] = True

    def locate(self, states: States) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the cells of agents and targets, and the rows of `distances` for these, int32 (E, N) each.

        The cell of an agent that has left is `NOWHERE`.

        Args:
            states: of E worlds.
        """
        maps = np.asarray(states["map_index"])[:, None]
        self.build(maps[:, 0])
        cells, goals = (
            self.index[maps, places[..., 0], places[..., 1]] for places in (states["location"], states["target"])
        )
        cells[states["status"] == LEFT] = NOWHERE
        rows = self.find_rows(np.repeat(maps, goals.shape[1], axis=1).ravel(), goals.ravel())
        return cells, goals, rows.reshape(goals.shape)

    def find_rows(self, maps: NDArray[np.int64], goals: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the rows of `distances` with the tables of some goals, of int32 (R,).

        Args:
            maps: int64 (R,), the map of each, which `build` has built.
            goals: int32 (R,), cells.
        """
        wanted = maps * self.neighbours.shape[1] + goals
        rows: NDArray[np.int32] = self._slots[wanted]
        if rows.min() != _NO_SLOT:
            return rows
        missing = np.unique(wanted[rows == _NO_SLOT])
        if self._num_used + len(missing) > len(self.distances):
            self._slots[:] = _NO_SLOT
            self._num_used = 0
            missing = np.unique(wanted)
        last = self._num_used + len(missing)
        self._slots[missing] = np.arange(self._num_used, last)
        _fill(self.neighbours, missing, self.distances[self._num_used : last], self._queue)
        self._num_used = last
        rows[:] = self._slots[wanted]
        return rows


@kernel
def _fill(neighbours: Any, wanted: Any, distances: Any, queue: Any) -> None:
    """Write the tables of some goals, each map * C + cell."""
    num_cells = neighbours.shape[1]
    for k in range(wanted.shape[0]):
        fill_distances(neighbours[wanted[k] // num_cells], wanted[k] % num_cells, distances[k], queue)
