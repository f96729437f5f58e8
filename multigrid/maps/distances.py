"""Distances between cells around the walls of a map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.maps.components import WALL
from multigrid.maps.flat import FlatMap, flood

__all__ = ["UNREACHABLE", "distances_to"]

UNREACHABLE = np.iinfo(np.int64).max
"""The distance of a cell from which the target cannot be reached."""


def distances_to(components: NDArray[np.int32], target: tuple[int, int]) -> NDArray[np.int64]:
    """Return the number of moves from each cell to a target, around walls and through agents.

    Args:
        components: int32 (W, H), 0 at a wall.
        target: ``[x, y]``, a free cell.

    Returns:
        int64 (W, H), `UNREACHABLE` at walls and in other components.

    >>> distances_to(np.array([[1, 1], [0, 1], [1, 1]], dtype=np.int32), (0, 0))[[0, 0, 2, 2], [0, 1, 1, 0]].tolist()
    [0, 1, 3, 4]
    """
    flat = FlatMap(components != WALL)
    distances = [UNREACHABLE] * len(flat.free)
    for distance, cells in enumerate(flood(flat.free, flat.index(int(target[0]), int(target[1])), flat.steps)):
        for cell in cells:
            distances[cell] = distance
    return flat.grid(distances)
