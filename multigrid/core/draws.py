"""Random draws for the functions of a game, from the stream of its world."""

from __future__ import annotations

from typing import Any

from multigrid.core.arrays import LEFT, Arrays
from multigrid.maps._cells import WALL
from multigrid.runtime.compiled import function, inlined
from multigrid.runtime.pcg64 import draw_integer as draw_below
from multigrid.runtime.pcg64 import next_float

_MOST = 2**32
_DRAWS_A_CELL = 64
# Where NumPy shuffles a part of all integers, instead of drawing until they differ.
_MOST_FOUND, _SHARE_SHUFFLED = 10_000, 50


@function
def draw_integer(w: Arrays, e: int, low: int, high: int) -> Any:
    """Draw an integer from low .. high - 1, as ``Generator.integers(low, high)``; ValueError if there is none."""
    if not 0 < high - low < _MOST or low >= high:
        raise ValueError("draw_integer(w, e, low, high): expected low < high, and at most 2**32 - 1 between them")
    return low + draw_below(w.streams, e, high - low)


@function
def draw_float(w: Arrays, e: int) -> Any:
    """Draw a number from 0 to below 1, as ``Generator.random()``."""
    return next_float(w.streams, e)


@function
def is_present(w: Arrays, e: int, i: int) -> bool:
    """Return whether agent i takes part in the episode and has not left it."""
    return bool(w.status[e, i] != LEFT)


@function
def is_free(w: Arrays, e: int, x: int, y: int) -> bool:
    """Return whether a cell is inside the grid, no wall, can reach another one, and has no agent."""
    if x < 0 or y < 0 or x >= w.components.shape[1] or y >= w.components.shape[2]:
        return False
    component = w.components[w.map_index[e], x, y]
    if component == WALL or w.component_sizes[w.map_index[e], component] < 2:
        return False
    for i in range(w.location.shape[1]):
        if w.location[e, i, 0] == x and w.location[e, i, 1] == y and is_present(w, e, i):
            return False
    return True


@function
def draw_free_cell(w: Arrays, e: int) -> tuple[int, int]:
    """Draw x, then y, until `is_free` holds for the cell; ValueError if it holds for none in many draws."""
    width, height = w.components.shape[1], w.components.shape[2]
    for _ in range(_DRAWS_A_CELL * width * height):
        x, y = draw_below(w.streams, e, width), draw_below(w.streams, e, height)
        if is_free(w, e, x, y):
            return x, y
    raise ValueError("draw_free_cell(w, e): there is no free cell")


@function
def shuffle(w: Arrays, e: int, values: Any) -> None:
    """Shuffle an array of one axis in place, as ``Generator.shuffle``."""
    if values.ndim != 1:
        raise ValueError("shuffle(w, e, values): expected an array of one axis")
    mask = 0
    while mask < values.shape[0] - 1:
        mask = 2 * mask + 1
    for last in range(values.shape[0] - 1, 0, -1):
        while mask // 2 >= last:
            mask //= 2
        other = draw_below(w.streams, e, _MOST) & mask
        while other > last:
            other = draw_below(w.streams, e, _MOST) & mask
        _swap(values, last, other)


@inlined
def _swap(values: Any, one: int, other: int) -> None:
    kept = values[one]
    values[one] = values[other]
    values[other] = kept


@function
def choose(w: Arrays, e: int, values: Any, high: int) -> None:
    """Draw different integers below `high` into an array of one axis, as ``Generator.choice(high, n, replace=False)``.

    Raises ValueError if the array has more than `high` elements.
    """
    size = values.shape[0]
    if values.ndim != 1 or not size <= high < _MOST:
        raise ValueError("choose(w, e, values, high): expected an array of one axis, of at most high elements")
    if high > _MOST_FOUND and size > high // _SHARE_SHUFFLED:
        _shuffle_tail(w, e, values, high)
        return
    for k in range(size):
        last = high - size + k
        drawn = draw_below(w.streams, e, last + 1)
        for j in range(k):
            if values[j] == drawn:
                drawn = last
        values[k] = drawn
    # Here NumPy draws in another way than in its `shuffle`.
    for last in range(size - 1, 0, -1):
        _swap(values, last, draw_below(w.streams, e, last + 1))


@function
def _shuffle_tail(w: Arrays, e: int, values: Any, high: int) -> None:
    """Do as `choose`: shuffle the end of 0 .. high - 1, without these in memory."""
    size = values.shape[0]
    # Swap k, of the places high - 1 - k and below, is drawn at the end of the array.
    for k in range(size):
        values[size - 1 - k] = draw_below(w.streams, e, high - k)
    for last in range(size - 1, -1, -1):
        place, k = values[size - 1 - last], last
        while k > 0:
            k -= 1
            if values[size - 1 - k] == place:
                place = high - 1 - k
        values[size - 1 - last] = place
