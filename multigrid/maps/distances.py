"""Distances between cells around the walls of a map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.maps.components import WALL
from multigrid.maps.flat import FlatMap, flood

__all__ = ["UNREACHABLE", "distances_to"]

UNREACHABLE = np.iinfo(np.int64).max
"""The distance of a cell from which the goal cannot be reached."""


def distances_to(regions: NDArray[np.int32], goal: tuple[int, int]) -> NDArray[np.int64]:
    """Return the number of moves from each cell to one of them, around walls and through agents.

    Args:
        regions: int32 (W, H), 0 at a wall.
        goal: ``[x, y]``, a free cell.

    Returns:
        int64 (W, H), `UNREACHABLE` at walls and in other regions.

    >>> distances_to(np.array([[1, 1], [0, 1], [1, 1]], dtype=np.int32), (0, 0))[[0, 0, 2, 2], [0, 1, 1, 0]].tolist()
    [0, 1, 3, 4]
    """
    flat = FlatMap(regions != WALL)
    distances = [UNREACHABLE] * len(flat.free)
    for distance, cells in enumerate(flood(flat.free, flat.index(int(goal[0]), int(goal[1])), flat.steps)):
        for cell in cells:
            distances[cell] = distance
    return flat.grid(distances)
