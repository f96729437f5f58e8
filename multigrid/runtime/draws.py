"""Random draws for the functions of a game, from the stream of its world."""

from __future__ import annotations

from typing import Any

from multigrid.maps._cells import WALL
from multigrid.runtime.arrays import LEFT, Arrays
from multigrid.runtime.compiled import kernel
from multigrid.runtime.pcg64 import draw_integer as draw_below
from multigrid.runtime.pcg64 import next_float

_MOST = 2**32
_DRAWS_A_CELL = 64


@kernel
def draw_integer(w: Arrays, e: int, low: int, high: int) -> Any:
    """Draw an integer from low .. high - 1, as ``Generator.integers(low, high)``; ValueError if there is none."""
    if not 0 < high - low < _MOST or low >= high:
        raise ValueError("draw_integer(w, e, low, high): expected low < high, and at most 2**32 - 1 between them")
    return low + draw_below(w.streams, e, high - low)


@kernel
def draw_float(w: Arrays, e: int) -> Any:
    """Draw a number from 0 to below 1, as ``Generator.random()``."""
    return next_float(w.streams, e)


@kernel
def is_free(w: Arrays, e: int, x: int, y: int) -> bool:
    """Return whether a cell is inside the grid, no wall, can reach another one, and has no agent."""
    if x < 0 or y < 0 or x >= w.components.shape[1] or y >= w.components.shape[2]:
        return False
    component = w.components[w.map_index[e], x, y]
    if component == WALL or w.component_sizes[w.map_index[e], component] < 2:
        return False
    for i in range(w.location.shape[1]):
        if w.location[e, i, 0] == x and w.location[e, i, 1] == y and w.status[e, i] != LEFT:
            return False
    return True


@kernel
def draw_free_cell(w: Arrays, e: int) -> tuple[int, int]:
    """Draw x, then y, until `is_free` holds for the cell; ValueError if it holds for none in many draws."""
    width, height = w.components.shape[1], w.components.shape[2]
    for _ in range(_DRAWS_A_CELL * width * height):
        x, y = draw_below(w.streams, e, width), draw_below(w.streams, e, height)
        if is_free(w, e, x, y):
            return x, y
    raise ValueError("draw_free_cell(w, e): there is no free cell")


@kernel
def shuffle(w: Arrays, e: int, values: Any) -> None:
    """Shuffle an array of one axis in place: from its end on, each value changes places with one up to it."""
    if values.ndim != 1:
        raise ValueError("shuffle(w, e, values): expected an array of one axis")
    for last in range(values.shape[0] - 1, 0, -1):
        other = draw_below(w.streams, e, last + 1)
        kept = values[last]
        values[last] = values[other]
        values[other] = kept
