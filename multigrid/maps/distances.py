"""How far the cells of a map are from one of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS
from multigrid.maps.components import WALL

__all__ = ["UNREACHABLE", "distances_to"]

UNREACHABLE = np.iinfo(np.int64).max
"""The distance of cells from which there is no way."""


def distances_to(regions: NDArray[np.int32], goal: tuple[int, int]) -> NDArray[np.int64]:
    """Return how many moves each cell is away from one of them, around walls and through agents.

    Args:
        regions: int32 (W, H), 0 at a wall.
        goal: ``[x, y]``, a free cell.

    Returns:
        int64 (W, H), `UNREACHABLE` at walls and in other regions.

    >>> distances_to(np.array([[1, 1], [0, 1], [1, 1]], dtype=np.int32), (0, 0))[[0, 0, 2, 2], [0, 1, 1, 0]].tolist()
    [0, 1, 3, 4]
    """
    # Plain ints in a flat list with a rim of walls, as in multigrid.maps.components.
    stride = regions.shape[1] + 2
    padded = np.pad(regions, 1, constant_values=WALL)
    distances = np.where(padded.ravel() == WALL, -1, UNREACHABLE).tolist()
    first = (int(goal[0]) + 1) * stride + int(goal[1]) + 1
    distances[first] = 0
    steps = [int(dx * stride + dy) for dx, dy in DIRECTIONS if dx or dy]
    wave = [first]
    for cell in wave:
        further = distances[cell] + 1
        for step in steps:
            if distances[cell + step] == UNREACHABLE:
                distances[cell + step] = further
                wave.append(cell + step)
    grid = np.array(distances, dtype=np.int64).reshape(padded.shape)
    grid[grid < 0] = UNREACHABLE
    inner: NDArray[np.int64] = grid[1:-1, 1:-1].copy()
    return inner
