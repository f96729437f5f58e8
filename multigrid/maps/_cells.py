"""Which cells of a map reach one another, and over how many moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import MOVES

WALL = 0
"""The label of a wall; components are numbered from 1."""

UNREACHABLE = np.iinfo(np.int64).max
"""The distance of a cell from which the target cannot be reached."""

NO_TARGET = -1
"""The value of both coordinates in the rows that fill up a shorter list of targets."""


class FlatMap:
    """A map as a flat list of cells with a rim of walls around it.

    So a search needs no bounds checks, and Python reads lists faster than arrays.

    >>> flat = FlatMap(np.array([[True, False, True]]))
    >>> flat.steps, flat.index(0, 2), flat.free[7]
    ([5, 1, -5, -1], 8, False)
    """

    def __init__(self, free: NDArray[np.bool_]) -> None:
        padded = np.pad(free, 1, constant_values=False)
        self.free: list[bool] = padded.ravel().tolist()
        """Whether each cell is free; a search may change it."""
        self.steps = [dx * padded.shape[1] + dy for dx, dy in MOVES]
        """What each of the four moves adds to the index of a cell."""
        self._shape: tuple[int, int] = padded.shape

    def index(self, x: int, y: int) -> int:
        """Return the index of the cell ``[x, y]`` in the list."""
        return (x + 1) * self._shape[1] + y + 1

    def grid(self, values: Any) -> NDArray[Any]:
        """Return a flat list or array of values as an array (W, H), without the rim."""
        grid: NDArray[Any] = np.array(values).reshape(self._shape)[1:-1, 1:-1].copy()
        return grid


def flood(unvisited: list[bool], start: int, steps: list[int]) -> Iterator[list[int]]:
    """Yield the cells that are 0, 1, 2, ... moves away from a cell; they become False in `unvisited`.

    >>> flat = FlatMap(np.array([[True, True], [False, True]]))
    >>> list(flood(flat.free, flat.index(0, 0), flat.steps))
    [[5], [6], [10]]
    """
    unvisited[start] = False
    front = [start]
    while front:
        yield front
        reached = []
        for cell in front:
            for step in steps:
                if unvisited[cell + step]:
                    unvisited[cell + step] = False
                    reached.append(cell + step)
        front = reached


def label_components(walls: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Label the connected components of free cells: int32 (W, H), numbered from 1 in the order of their first cells.

    >>> label_components(np.array([[False, True, False], [False, True, True]])).tolist()
    [[1, 0, 2], [1, 0, 0]]
    """
    flat = FlatMap(~walls)
    labels = np.full(len(flat.free), WALL, dtype=np.int32)
    component = WALL
    for start in np.flatnonzero(flat.free).tolist():
        if flat.free[start]:
            component += 1
            labels[list(chain.from_iterable(flood(flat.free, start, flat.steps)))] = component
    return flat.grid(labels)


def distances_to(components: NDArray[np.int32], target: tuple[int, int]) -> NDArray[np.int64]:
    """Return the number of moves from each cell to `target`: int64 (W, H), `UNREACHABLE` where no path leads to it.

    >>> distances_to(np.array([[1, 1], [0, 1], [1, 1]], dtype=np.int32), (0, 0))[[0, 0, 2, 2], [0, 1, 1, 0]].tolist()
    [0, 1, 3, 4]
    """
    flat = FlatMap(components != WALL)
    distances = [UNREACHABLE] * len(flat.free)
    for distance, cells in enumerate(flood(flat.free, flat.index(int(target[0]), int(target[1])), flat.steps)):
        for cell in cells:
            distances[cell] = distance
    return flat.grid(distances)
