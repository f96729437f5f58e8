"""Maps as graphs of their free cells, and the distances to goals."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS, MOVES
from multigrid.planning.compiled import kernel

__all__ = ["FAR", "NOWHERE", "Graph", "build_graph", "distance_tables", "fill_distances"]

FAR = 2**30
"""The distance to a goal that cannot be reached; two of them can be added without overflow."""

NOWHERE = -1
"""In place of a cell: outside the grid, a wall, or where an agent is that has left."""

_NUM_MOVES = len(MOVES)


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """The free cells of a map, numbered 0 .. C - 1 in the order of ``np.argwhere(~walls)``, and their neighbours.

    >>> graph = build_graph(np.array([[False, True], [False, False]]))
    >>> graph.cells.tolist(), graph.neighbours[1].tolist()
    ([[0, 0], [1, 0], [1, 1]], [-1, 2, 0, -1, 1])
    """

    cells: NDArray[np.int64]
    """int64 (C, 2): each cell's ``[x, y]``."""
    index: NDArray[np.int32]
    """int32 (W, H): the number of each cell, `NOWHERE` at walls."""
    neighbours: NDArray[np.int32]
    """int32 (C, 5): the cell after each `multigrid.Action`, `NOWHERE` for a move into a wall or over the edge."""


def build_graph(walls: NDArray[np.bool_]) -> Graph:
    """Return the graph of a map's free cells.

    Args:
        walls: bool (W, H), True at a wall.

    >>> build_graph(np.array([[False, True], [False, False]])).index.tolist()
    [[0, -1], [1, 2]]
    """
    cells = np.argwhere(~walls)
    index = np.full(walls.shape, NOWHERE, dtype=np.int32)
    index[tuple(cells.T)] = np.arange(len(cells), dtype=np.int32)
    after = cells[:, None] + DIRECTIONS + 1
    neighbours = np.pad(index, 1, constant_values=NOWHERE)[after[..., 0], after[..., 1]]
    return Graph(cells, index, np.ascontiguousarray(neighbours))


@kernel
def distance_tables(neighbours: Any, goals: Any) -> Any:
    """Return the number of moves from each cell to each goal, as if there were no other agents.

    Args:
        neighbours: int32 (C, 5), as in `Graph`.
        goals: int32 (N,), the cells of the goals.

    Returns:
        int32 (N, C), `FAR` where the goal cannot be reached.

    >>> graph = build_graph(np.array([[False, True], [False, False]]))
    >>> distance_tables(graph.neighbours, np.array([2, 0], np.int32)).tolist()
    [[2, 1, 0], [0, 1, 2]]
    """
    num_cells = neighbours.shape[0]
    tables = np.empty((goals.shape[0], num_cells), np.int32)
    queue = np.empty(num_cells, np.int32)
    for i in range(goals.shape[0]):
        fill_distances(neighbours, goals[i], tables[i], queue)
    return tables


@kernel
def fill_distances(neighbours: Any, goal: int, distances: Any, queue: Any) -> None:
    """Write the number of moves from each cell to a goal.

    Args:
        neighbours: int32 (C, 5), as in `Graph`.
        goal: a cell.
        distances: int32 (C,), is overwritten.
        queue: int32 (C,), scratch.
    """
    distances[:] = FAR
    distances[goal] = 0
    queue[0] = goal
    first, last = 0, 1
    while first < last:
        cell = queue[first]
        first += 1
        for a in range(_NUM_MOVES):
            other = neighbours[cell, a]
            if other != NOWHERE and distances[other] == FAR:
                distances[other] = distances[cell] + 1
                queue[last] = other
                last += 1
