"""Arrays for the results of steps; their memory is reused once nothing refers to them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# Smaller arrays come from the C library's heap, larger ones take too much memory. Those of a million worlds of eight
# agents have up to 128 MB; to keep them makes a step a tenth faster.
_FEWEST_BYTES, _MOST_BYTES = 2**16, 2**28
_MOST_KEPT = 3  # under a name: a learner uses those of one or two steps while it plays the next one


class ResultArrays:
    """Arrays to return from calls: new ones, or the memory of earlier ones that nothing refers to any more.

    New memory for large arrays comes from the system, which clears it page by page: with a thousand worlds of eight
    agents and more, a step with new arrays takes more than twice as long. So large arrays of the last calls are kept,
    and callers get views of them. An array is overwritten only if its reference count shows that it has no view:
    variables, tensors and buffers refer to a view. If three are in use, a new one replaces the oldest. What a caller
    does to a view, such as setting its shape, does not change the array.

    ``write(target, source)`` copies an array into another one, or fills it with zeros if the source is None, as
    `multigrid.core.worlds.Worlds.write_array`.
    """

    def __init__(self, write: Callable[[NDArray[Any], NDArray[Any] | None], object]) -> None:
        self._write = write
        self._kept: dict[str, list[NDArray[Any]]] = {}

    def copier(self, name: str, array: NDArray[Any]) -> Callable[[], NDArray[Any]]:
        """Return a function that returns a copy of an array; each name is for arrays of one shape and dtype."""
        if not _is_kept(array):
            return array.copy  # the fastest for small arrays
        kept, write = self._kept.setdefault(name, []), self._write

        def copy() -> NDArray[Any]:
            unused = _find_unused(kept)
            if unused is None:
                return _keep(kept, np.array(array))
            write(unused, array)
            return unused

        return copy

    def zeros(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of zeros; each name is for arrays of one shape and dtype."""
        kept = self._kept.setdefault(name, [])
        unused = _find_unused(kept)
        if unused is None:
            array = np.zeros(shape, dtype)
            return _keep(kept, array) if _is_kept(array) else array
        assert (unused.shape, unused.dtype) == (shape, dtype), name
        self._write(unused, None)
        return unused


def _is_kept(array: NDArray[Any]) -> bool:
    return _CAN_COUNT and _FEWEST_BYTES <= array.nbytes <= _MOST_BYTES


def _keep(kept: list[NDArray[Any]], array: NDArray[Any]) -> NDArray[Any]:
    """Keep an array, in place of the oldest if three are kept, and return a view of it."""
    kept.append(array)
    del kept[:-_MOST_KEPT]
    return array[...]


def _find_unused(kept: list[NDArray[Any]]) -> NDArray[Any] | None:
    """Return a view of the first array that nothing but the list refers to; None if there is none."""
    for array in kept:
        if sys.getrefcount(array) == _UNUSED:
            return array[...]
    return None


def _count_unused(kept: list[NDArray[Any]]) -> int:
    """Return how many references `_find_unused` counts of an array that nothing but the list refers to."""
    for array in kept:
        return sys.getrefcount(array)
    raise AssertionError


_UNUSED = _count_unused([np.empty(0)]) if hasattr(sys, "getrefcount") else 0
_MOST_UNUSED = 3  # the list, the variable and the argument; a debugger that looks at this import may add more
# Without the global interpreter lock the counts are approximate, and not every Python has them.
_CAN_COUNT = 0 < _UNUSED <= _MOST_UNUSED and getattr(sys, "_is_gil_enabled", lambda: True)()
