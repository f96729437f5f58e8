"""Tables: how a kernel gets the arrays of a NamedTuple, all of them through one pointer.

A row of a table is the address and the shape of an array; that of a number is the number itself. Kernels read a table
by the names of its rows, as Python reads the NamedTuple.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from multigrid.parts import PartSpec, resolve_shape

_Fields = TypeVar("_Fields", bound=Any)


RULES: dict[str, Mapping[str, Any]] = {}
"""The hooks of each set of rules, functions and numbers, by name; those of the built-in game are that of ""."""


class OwnState(SimpleNamespace):
    """The arrays and options of a user's game, by name."""

    def _replace(self, **changes: Any) -> OwnState:
        return type(self)(**{**vars(self), **changes})


CONSTANT = "constant"
"""Marks an array that no kernel changes after the first one."""


PREPARED = "prepared"
"""Marks a constant array of a game, which compiled code cannot write into."""


KEPT = "kept"
"""Marks an array of a game's state that keeps its content when an episode begins."""


FIRST, NEXT = "beginnings of", "next"
"""Marks of arrays of a game's state, and how their names begin: as it was when the episode began, and that of the level
of the next episode."""


class Scratch(NamedTuple):
    """Marks scratch memory: each thread needs an array of its own."""

    clean: int | None
    """The content before and after each kernel call; None for any."""


SCRATCH = Scratch(None)
"""Marks an array of a game that is no state: every function may write it, and none may expect what it has."""


class Row(NamedTuple):
    """An array of a table, read from the annotation of a field, or a number, whose shape is ""."""

    dtype: np.dtype[Any]
    shape: str
    """Named extents, with spaces between them."""
    mark: object = None

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape.split())


def make_part_row(shape: str, part: PartSpec) -> Row:
    """Return the row of a part of observations, whose axes are one, after those of the agents."""
    return Row(np.dtype(part.dtype), f"{shape} {part.shape.replace(' ', '*')}", part)


def _read_row(hint: Any) -> Row:
    array, shape, *marks = get_args(hint)
    mark = (marks[0] if len(marks) == 1 else marks) if marks else None
    if isinstance(mark, PartSpec):
        return make_part_row(shape, mark)
    # NDArray[np.int64] is an alias of its own from NumPy 2.5 on, before that ndarray[shape, dtype[int64]].
    while inner := get_args(array):
        array = inner[-1]
    return Row(np.dtype(array), shape, mark)


def read_rows(fields: type[Any]) -> dict[str, Row]:
    """Return the rows by name of a NamedTuple class whose fields are annotated with dtype, extents, and maybe a mark.

    >>> class Doors(NamedTuple):
    ...     cell: Annotated[np.ndarray[Any, np.dtype[np.int64]], "E 2"]
    >>> read_rows(Doors)
    {'cell': Row(dtype=dtype('int64'), shape='E 2', mark=None)}
    """
    hints = get_type_hints(fields, include_extras=True)
    return {name: _read_row(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}


class Table(Generic[_Fields]):
    """The rows of a NamedTuple, or of another object with arrays and numbers as attributes.

    Args:
        name: what tells the table's type in compiled code from others.
        make: creates the object from keywords.
        rows: the rows, by name.
        sources: for an extent that several arrays have, one of them and its axis, from which kernels read it, so that
            the compiler knows that all are equal, and computes the offset of an agent or a cell once. Not for the first
            axis.
        items: single numbers of arrays of one axis that kernels read by names of their own, each an array and an index.

    >>> rows = {"cell": Row(np.dtype(np.int64), "E 2"), "is_open": Row(np.dtype(np.bool_), "E")}
    >>> Table("doors", dict, rows).allocate({"E": 3})["cell"].shape
    (3, 2)
    """

    def __init__(
        self,
        name: str,
        make: Callable[..., _Fields],
        rows: Mapping[str, Row],
        sources: Mapping[str, tuple[str, int]] | None = None,
        items: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.name, self._items = name, dict(items or {})
        self._make = make
        self.rows = dict(rows)
        self.constant = tuple(name for name, row in self.rows.items() if row.mark in {CONSTANT, PREPARED})
        """The arrays that no kernel changes."""
        self.scratch = {name: row.mark.clean for name, row in self.rows.items() if isinstance(row.mark, Scratch)}
        """The scratch arrays, with their content before and after each kernel call; None for any."""
        self.arrays = tuple(name for name, row in self.rows.items() if row.shape)
        """The rows that are arrays, not numbers."""
        self.state = tuple(name for name in self.arrays if self.rows[name].mark in {None, KEPT})
        """The arrays of the state: those without a mark, and those that are kept."""
        self.saved = (*self.state, *(name for name in self.arrays if self.rows[name].mark == FIRST))
        """The arrays of saved states: those of the state, and if it is kept, what they were when the episode began."""
        self.cleared = tuple(name for name in self.state if self.rows[name].mark is None)
        """The arrays of the state that are 0 when an episode begins."""
        self.width = 1 + max((row.ndim for row in self.rows.values()), default=0)
        """The number of columns: an address, and a shape."""
        self._sources = dict(sources or {})
        # A number, the name of an extent in `sources`, or None for an array's own extent.
        self._extents: dict[str, tuple[str | int | None, ...]] = {
            name: (None, *(_read_extent(one, self._sources) for one in row.shape.split()[1:]))
            for name, row in self.rows.items()
        }

    @functools.cached_property
    def described(self) -> tuple[Any, ...]:
        """What compiled code depends on: for each row name, place, dtype, whether it is read-only, and extents.

        The place of an item is that of its array, and its index.
        """
        places = {name: index * self.width for index, name in enumerate(self.rows)}
        described: list[Any] = []
        for name, row in self.rows.items():
            extents: list[tuple[str, int]] = []
            for axis, extent in enumerate(self._extents[name][: row.ndim]):
                if isinstance(extent, int):
                    extents.append(("is", extent))
                else:
                    source, of_axis = (name, axis) if extent is None else self._sources[extent]
                    extents.append(("at", places[source] + 1 + of_axis))
            described.append((name, places[name], row.dtype.str, row.mark == PREPARED, tuple(extents)))
        for name, (array, index) in self._items.items():
            described.append((name, (places[array], index), self.rows[array].dtype.str, False, ()))
        return tuple(described)

    def _resolve_shapes(self, extents: Mapping[str, int], empty: Collection[str]) -> dict[str, tuple[int, ...]]:
        return {
            name: (0,) * row.ndim if name in empty else resolve_shape(row.shape, extents)
            for name, row in self.rows.items()
        }

    def allocate(self, extents: Mapping[str, int], empty: Collection[str] = ()) -> _Fields:
        """Return zeroed arrays, given the numbers for the named extents, and the names of those not needed."""
        shapes = self._resolve_shapes(extents, empty)
        return self._make(**{name: np.zeros(shapes[name], row.dtype) for name, row in self.rows.items()})

    def count_bytes(self, extents: Mapping[str, int], empty: Collection[str] = ()) -> int:
        """Return the number of bytes that `allocate` takes."""
        shapes = self._resolve_shapes(extents, empty)
        return sum(math.prod(shapes[name]) * row.dtype.itemsize for name, row in self.rows.items())

    def copy(self, arrays: _Fields, names: Collection[str]) -> _Fields:
        """Return the same arrays, with copies of those that are named."""
        copied: _Fields = arrays._replace(**{name: getattr(arrays, name).copy() for name in names})
        return copied

    def clean_scratch(self, arrays: _Fields) -> None:
        """Fill the scratch with the content that kernels expect."""
        for name, clean in self.scratch.items():
            if clean is not None:
                getattr(arrays, name).fill(clean)

    def check_static(self, arrays: _Fields, before: Mapping[str, bytes]) -> dict[str, bytes]:
        """Check that the scratch is clean and that the constant arrays have the bytes in `before`, by name.

        Return these. The first call gets {}, and a later one what the first one returned.
        """
        for name, clean in self.scratch.items():
            assert clean is None or (getattr(arrays, name) == clean).all(), f"{name} is not clean"
        found = {name: getattr(arrays, name).tobytes() for name in self.constant}
        for name, content in before.items():
            assert found[name] == content, f"{name} has changed"
        return found

    def write_addresses(self, arrays: _Fields) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the addresses and shapes of arrays, int64 (rows, columns), which are valid while they exist.

        A number is in the place of its address, as 64 bits.
        """
        table = np.zeros((len(self.rows), self.width), dtype=np.int64)
        for line, (name, row) in zip(table, self.rows.items(), strict=True):
            array = getattr(arrays, name)
            if not row.shape:
                line[:1].view(row.dtype if row.dtype.itemsize == line.itemsize else line.dtype)[0] = array
                continue
            assert array.flags.c_contiguous
            assert (array.dtype, array.ndim) == (row.dtype, row.ndim)
            for extent, named in zip(array.shape, self._extents[name], strict=True):
                of, axis = self._sources.get(str(named), ("", 0))
                shown = getattr(arrays, of).shape[axis] if of else named
                assert named is None or len(array) == 0 or extent == shown
            line[0] = array.ctypes.data
            line[1 : 1 + array.ndim] = array.shape
        return table


def _read_extent(extent: str, sources: Collection[str]) -> str | int | None:
    if extent.isdigit():
        return int(extent)
    return extent if extent in sources else None
