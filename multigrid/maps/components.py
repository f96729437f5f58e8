"""The connected components of a map: sets of cells that can reach one another."""

from __future__ import annotations

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from multigrid.maps.flat import FlatMap, flood

__all__ = ["NO_TARGET", "WALL", "label_components"]

WALL = 0
"""The label of a wall; components are numbered from 1."""

NO_TARGET = -1
"""Both coordinates in the rows of an array that follow the last target of a list."""


def label_components(walls: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Label the connected components of free cells; the neighbours of a cell are those one move away.

    Args:
        walls: bool (W, H), True at a wall.

    Returns:
        int32 (W, H): 0 at walls; 1, 2, ... in the order of each component's first cell ``[x, y]``.

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
