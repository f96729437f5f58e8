"""What stands for stubs that write the parts and the metrics of a user's game, as `multigrid.core.wrappers`."""

from __future__ import annotations

from typing import Any

from multigrid.core.wrappers import RAISED, fail
from multigrid.runtime.arrays import Arrays
from multigrid.runtime.compiled import signed

_NAN = float("nan")

hook: Any = None
own: Any = None
"""Returns the game's own arrays and options, given `Arrays`."""
find_part: Any = None
"""Returns the array of one part."""
following: Any = None
"""Writes the next part, or the next metric."""
NUMBER: int = 0
"""The number of a part or a metric."""
FAILURE: int = 0
"""The number of the function that writes or returns it, for `Arrays.failed`."""
IS_SIGNED: bool = False
HAS_CELLS: bool = False
"""Whether a part has cells, or differences of cells, which are scaled in a flat vector."""


def write_metric(w: Arrays, e: int, figures: Any, k: int) -> None:
    """Write one of the game's metrics, and those after it."""
    try:
        # Numba's float() takes no bool.
        value = 1.0 * hook(w, own(w), signed(e))
    except Exception:  # noqa: BLE001
        value = _NAN
        fail(w, e, FAILURE, RAISED)
    for i in range(w.location.shape[1]):
        figures[NUMBER, k, i] = value
    following(w, e, figures, k)


def write_part(w: Arrays, e: int) -> None:
    """Write one of the game's parts, and those after it."""
    part = find_part(own(w))
    if part.shape[0] > 0:
        for i in range(w.location.shape[1]):
            try:
                hook(w, own(w), signed(e), i, part[e, i])
            except Exception:  # noqa: BLE001, PERF203 - each is called, so that all rows are written
                fail(w, e, FAILURE, RAISED)
    following(w, e)


def write_part_flat(w: Arrays, e: int, i: int, part: int, out: Any) -> None:
    """Write one of the game's parts if it is the one that is meant, or else one of those after it."""
    if part == NUMBER:
        try:
            hook(w, own(w), signed(e), i, out)
        except Exception:  # noqa: BLE001
            fail(w, e, FAILURE, RAISED)
        if HAS_CELLS:
            most = w.scaled.shape[1] - 1
            for k in range(out.shape[0]):
                # A number that is no cell of the grid is that of the last one, and NaN that of the first.
                cells = int(abs(out[k])) if abs(out[k]) <= most else most * int(abs(out[k]) > most)
                if out[k] >= 0:
                    out[k] = w.scaled[k % 2, cells]
                elif IS_SIGNED:
                    out[k] = -w.scaled[k % 2, cells]
    else:
        following(w, e, i, part, out)
