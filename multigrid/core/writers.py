"""Guards around the functions of a game that only read the world: they write parts, infos and metrics.

No exception leaves them, as `multigrid.core.wrappers` says.
"""

from __future__ import annotations

from typing import Any

from multigrid.core.arrays import Arrays
from multigrid.core.wrappers import RAISED
from multigrid.runtime.compiled import inlined, signed

_NAN = float("nan")


@inlined
def write_part(w: Arrays, e: int, part: Any, write: Any, number: int) -> None:
    """Write one of the game's parts by its function, whose number is given, into its array."""
    if part.shape[0] > 0:
        for i in range(w.location.shape[1]):
            try:
                write(w, w.hooks.own(w), signed(e), i, part[e, i])
            except Exception:  # noqa: BLE001, PERF203 - each is called, so that all rows are written
                w.hooks.fail(w, e, number, RAISED)


@inlined
def write_part_flat(  # noqa: PLR0917 - kernels have no keywords
    w: Arrays, e: int, i: int, out: Any, write: Any, number: int, has_cells: bool, is_signed: bool
) -> None:
    """Write one of the game's parts of agent i, cells or differences of cells scaled, into the flat vector."""
    try:
        write(w, w.hooks.own(w), signed(e), i, out)
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, number, RAISED)
    if has_cells:
        most = w.scaled.shape[1] - 1
        for k in range(out.shape[0]):
            # A number that is no cell of the grid is that of the last one, and NaN that of the first.
            cells = int(abs(out[k])) if abs(out[k]) <= most else most * int(abs(out[k]) > most)
            if out[k] >= 0:
                out[k] = w.scaled[k % 2, cells]
            elif is_signed:
                out[k] = -w.scaled[k % 2, cells]


@inlined
def write_info(w: Arrays, e: int, info: Any, read: Any, number: int) -> None:
    """Write one of the game's infos by its function, whose number is given, into its array."""
    for i in range(w.location.shape[1]):
        try:
            info[e, i] = read(w, w.hooks.own(w), signed(e), i)
        except Exception:  # noqa: BLE001, PERF203 - as `write_part`
            w.hooks.fail(w, e, number, RAISED)


@inlined
def write_metric(  # noqa: PLR0917 - kernels have no keywords
    w: Arrays, e: int, figures: Any, row: int, k: int, metric: Any, number: int
) -> None:
    """Write one of the game's metrics to a row of the figures."""
    try:
        # Numba's float() takes no bool.
        value = 1.0 * metric(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        value = _NAN
        w.hooks.fail(w, e, number, RAISED)
    for i in range(w.location.shape[1]):
        figures[row, k, i] = value
