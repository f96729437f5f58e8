"""Maps as flat lists of cells, for searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import MOVES

__all__ = ["FlatMap", "flood"]


class FlatMap:
    """A map as a flat list of cells with a rim of walls around it.

    A search needs no bounds checks, and Python reads lists faster than arrays.

    Args:
        free: bool (W, H), True at a free cell.

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
    """Yield the cells that are 0, 1, 2, ... moves away from a cell, as long as there are any.

    Args:
        unvisited: True at the cells to search, as in `FlatMap.free`; set to False at those that are yielded.
        start: the index of the first cell.
        steps: what each move adds to an index.

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
