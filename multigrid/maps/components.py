"""Which cells can reach one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS

__all__ = ["WALL", "label_components"]

WALL = 0
"""The label of a wall; regions are numbered from 1."""


def label_components(walls: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Label the connected regions of free cells, two cells being neighbours when one move joins them.

    Args:
        walls: bool (W, H), True at a wall.

    Returns:
        int32 (W, H): 0 at walls; 1, 2, ... in the order of each region's first cell ``[x, y]``.

    >>> label_components(np.array([[False, True, False], [False, True, True]])).tolist()
    [[1, 0, 2], [1, 0, 0]]
    """
    width, height = walls.shape
    # Flood fill over a flat list with a rim of walls: no bounds to check, and plain ints are what Python is quick at.
    stride = height + 2
    padded = np.ones((width + 2, stride), dtype=bool)
    padded[1:-1, 1:-1] = walls
    unvisited = (~padded).ravel().tolist()
    labels = np.zeros(padded.size, dtype=np.int32)
    neighbours = [int(dx * stride + dy) for dx, dy in DIRECTIONS if dx or dy]
    region = WALL
    for start in np.flatnonzero(~padded.ravel()).tolist():
        if not unvisited[start]:
            continue
        region += 1
        unvisited[start] = False
        cells = [start]
        for cell in cells:
            for step in neighbours:
                if unvisited[cell + step]:
                    unvisited[cell + step] = False
                    cells.append(cell + step)
        labels[cells] = region
    grid: NDArray[np.int32] = labels.reshape(padded.shape)[1:-1, 1:-1].copy()
    return grid
