"""Maps as graphs of their free cells, and the distances to goals, for one map or a pool of maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS, MOVES
from multigrid.core.arrays import LEFT
from multigrid.planning._kernels import kernel

FAR = 2**30  # the distance to a goal that cannot be reached; two of them can be added without overflow
NOWHERE = -1  # in place of a cell: outside the grid, a wall, or where an agent is that has left
NUM_MOVES, NUM_COLUMNS = len(MOVES), len(DIRECTIONS)  # the columns of `Graph.neighbours` without and with *stay*
_MOST_BYTES = 2**28
_NARROWEST, _NARROW, _DEAD_END = 2, 1, 2
_NO_SLOT = -1

Ints: TypeAlias = NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """The free cells of a map, numbered 0 .. C - 1 in the order of ``np.argwhere(~walls)``, and their neighbours."""

    cells: NDArray[np.int64]  # int64 (C, 2): each cell's ``[x, y]``
    index: Ints  # int32 (W, H): the number of each cell, `NOWHERE` at walls
    neighbours: Ints  # int32 (C, 5): the cell after each `multigrid.Action`, `NOWHERE` into a wall or over the edge


def build_graph(walls: NDArray[np.bool_]) -> Graph:
    """Return the graph of a map's free cells; walls are bool (W, H)."""
    cells = np.argwhere(~walls)
    index = np.full(walls.shape, NOWHERE, dtype=np.int32)
    index[tuple(cells.T)] = np.arange(len(cells), dtype=np.int32)
    after = cells[:, None] + DIRECTIONS + 1
    neighbours = np.pad(index, 1, constant_values=NOWHERE)[after[..., 0], after[..., 1]]
    return Graph(cells, index, np.ascontiguousarray(neighbours))


@kernel
def _find_passages(neighbours: Any) -> Any:
    """Return of each cell, uint8 (C,), whether it is narrow (1) and in a dead end (2), as `Tables.passages`."""
    num_cells = neighbours.shape[0]
    codes, exits, stack = np.zeros(num_cells, np.uint8), np.zeros(num_cells, np.int32), np.empty(num_cells, np.int32)
    size = 0
    for cell in range(num_cells):
        for a in range(NUM_MOVES):
            exits[cell] += neighbours[cell, a] != NOWHERE
        if exits[cell] <= _NARROWEST:
            codes[cell] = _NARROW
        if exits[cell] <= 1:
            stack[size] = cell
            size += 1
    while size > 0:
        size -= 1
        cell = stack[size]
        codes[cell] |= np.uint8(_DEAD_END)
        for a in range(NUM_MOVES):
            other = neighbours[cell, a]
            if other != NOWHERE and codes[other] < _DEAD_END:
                exits[other] -= 1
                if exits[other] == 1:
                    stack[size] = other
                    size += 1
    return codes


def distance_tables(neighbours: Ints, goals: Ints) -> Ints:
    """Return the number of moves from each cell to each goal, int32 (N, C), `FAR` where it cannot be reached."""
    tables = np.empty((len(goals), len(neighbours)), np.int32)
    _fill(neighbours[None], goals.astype(np.int64), tables, np.empty(len(neighbours), np.int32))
    return tables


@kernel
def fill_distances(neighbours: Any, goal: int, distances: Any, queue: Any) -> None:
    """Write the number of moves from each cell to a goal, int32 (C,); the queue is scratch of the same form."""
    distances[:] = FAR
    distances[goal] = 0
    queue[0] = goal
    first, last = 0, 1
    while first < last:
        cell = queue[first]
        first += 1
        for a in range(NUM_MOVES):
            other = neighbours[cell, a]
            if other != NOWHERE and distances[other] == FAR:
                distances[other] = distances[cell] + 1
                queue[last] = other
                last += 1


Places: TypeAlias = tuple[Ints, Ints, Ints]  # cells, goals and the rows of the goals' distances, int32 (E, N) each


class Tables:
    """The graphs of M maps, and tables of the distances to their cells, each computed when it is first needed.

    The tables take at most 256 MiB, unless `at_least` needs more; when they are full, all are dropped. States with
    walls are of drawn maps: map m is that of state m, and what was computed is dropped where the map changed.
    """

    def __init__(self, walls: NDArray[np.bool_], at_least: int) -> None:
        self._arguments = walls, at_least
        num_maps, width, height = walls.shape
        num_cells = int((~walls).sum(axis=(1, 2)).max())
        self._walls = walls
        self._is_built = np.zeros(num_maps, bool)
        # The graphs, which `build` fills in: int32 (M, W, H) and (M, C, 5), as in `Graph`, and (M, C), the number of
        # other cells next to each cell. C is the number of cells of the largest map.
        self.index: Ints = np.full((num_maps, width, height), NOWHERE, np.int32)
        self.neighbours: Ints = np.full((num_maps, num_cells, 5), NOWHERE, np.int32)
        self.degrees: Ints = np.zeros((num_maps, num_cells), np.int32)
        # uint8 (M, C): 1 for cells with at most two others next to them, plus 2 for those in dead ends, which are
        # neither on a cycle of cells nor between two cycles.
        self.passages: NDArray[np.uint8] = np.zeros((num_maps, num_cells), np.uint8)
        count = min(num_maps * num_cells, max(at_least, _MOST_BYTES // (4 * num_cells)))
        # Rows that are never written take no memory.
        self.distances: Ints = np.empty((count, num_cells), np.int32)  # int32 (K, C): the tables
        self._slots = np.full(num_maps * num_cells, _NO_SLOT, np.int32)
        self._num_used = 0
        self._queue = np.empty(num_cells, np.int32)

    def __reduce__(self) -> tuple[Any, ...]:
        # All the rest can be computed again, and takes much memory.
        return type(self), self._arguments

    def build(self, maps: NDArray[np.int64]) -> None:
        """Build the graphs of some maps, int64 (E,), unless they are built already."""
        if self._is_built[maps].all():
            return
        for m in np.unique(maps[~self._is_built[maps]]).tolist():
            graph = build_graph(self._walls[m])
            num_cells = len(graph.cells)
            self.index[m], self.neighbours[m, :num_cells] = graph.index, graph.neighbours
            self.degrees[m, :num_cells] = (graph.neighbours != NOWHERE).sum(axis=1) - 1
            self.passages[m, :num_cells] = _find_passages(graph.neighbours)
            self._is_built[m] = True

    def locate(self, states: Mapping[str, Any]) -> Places:
        """Return the cells of agents (`NOWHERE` for those that have left), of targets, and the rows of `distances`."""
        if "walls" in states:
            self._replace_maps(states["walls"])
        maps = np.asarray(states["map_index"])[:, None]
        self.build(maps[:, 0])
        location, target = states["location"], states["target"]
        cells = self.index[maps, location[..., 0], location[..., 1]]
        goals = self.index[maps, target[..., 0], target[..., 1]]
        cells[states["status"] == LEFT] = NOWHERE
        # The targets of agents that are absent from an episode are [0, 0], which may be a wall.
        goals[goals == NOWHERE] = 0
        rows = self.find_rows(np.repeat(maps, goals.shape[1], axis=1).ravel(), goals.ravel())
        return cells, goals, rows.reshape(goals.shape)

    def _replace_maps(self, walls: NDArray[np.bool_]) -> None:
        is_other = (walls != self._walls).any(axis=(1, 2))
        if is_other.any():
            self._walls = walls.copy()
            self._is_built[is_other] = False
            self._slots.reshape(len(walls), -1)[is_other] = _NO_SLOT

    def find_rows(self, maps: NDArray[np.int64], goals: Ints) -> Ints:
        """Return the rows of `distances` for some goals, int32 (R,), given their maps, which are built."""
        wanted = maps * self.neighbours.shape[1] + goals
        rows: Ints = self._slots[wanted]
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
