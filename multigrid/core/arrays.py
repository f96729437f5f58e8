"""The arrays of E worlds, and the gate through which a kernel gets all of them at the price of one argument."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from multigrid.core.compiled import COMPILED

__all__ = [
    "LEFT",
    "NOBODY",
    "PARKED",
    "SCRATCH",
    "TRAVELLING",
    "Arrays",
    "allocate",
    "bytes_needed",
    "clean_scratch",
    "handle",
    "opened",
    "with_own_scratch",
]

TRAVELLING, PARKED, LEFT = range(3)
"""The status of an agent."""

NOBODY = -1
"""What stands in a cell without an agent."""

SCRATCH = ("occupant", "claimant", "seen", "wish", "refusal", "region_agents")
"""The arrays that a kernel works with, and that no two threads may share."""


class Arrays(NamedTuple):
    """The state of E worlds of N agents on M maps of W x H cells, what it is seen as, and room to work in.

    Observation parts that are not asked for have no rows (E is 0). *agent* and *target* need none: they are `location`
    and `goal`.
    """

    # What the worlds are made of.
    settings: NDArray[np.int64]  # (S,), as multigrid.core.rules numbers them
    regions: NDArray[np.int32]  # (M, W, H), 0 at walls, else the number of the connected region
    region_sizes: NDArray[np.int64]  # (M, R + 1), cells by region
    moves: NDArray[np.int8]  # (M, W, H, A), the outcome of each action in a cell, were nobody else there
    blocked: NDArray[np.uint8]  # (M, W + 2r, H + 2r), 1 at walls and outside, for views; or no rows
    layouts: NDArray[np.int64]  # (M, N, 4), x, y, target x, target y of every episode on a map; or no rows

    # The state, in full.
    streams: NDArray[np.uint64]  # (E, 6), see multigrid.core.pcg64
    map_index: NDArray[np.int64]  # (E,)
    steps: NDArray[np.int64]  # (E,), steps played in this episode; -1 before the first
    over: NDArray[np.bool_]  # (E,), the episode has ended for everyone
    location: NDArray[np.int64]  # (E, N, 2), kept where it was for an agent that has left
    goal: NDArray[np.int64]  # (E, N, 2), the targets
    status: NDArray[np.int8]  # (E, N), TRAVELLING, PARKED or LEFT
    arrivals: NDArray[np.int64]  # (E, N), how often the agent has arrived in this episode
    arrival_step: NDArray[np.int64]  # (E, N), the step of the last arrival; -1 before it, and after walking off again

    commits: NDArray[np.int64]  # (1,), how many resets and restores there have been, of any number of worlds each

    # What the last reset or step said.
    rewards: NDArray[np.float64]  # (E, N)
    terminated: NDArray[np.bool_]  # (E, N)
    truncated: NDArray[np.bool_]  # (E, N)
    endings: NDArray[np.int64]  # (E,), above 0 if somebody was terminated or truncated
    outcomes: NDArray[np.int64]  # (E, N)
    distances: NDArray[np.float64]  # (E, N), L1, in cells

    # What the agents see.
    others_part: NDArray[np.int64]  # (E, N, N - 1, 2)
    view_part: NDArray[np.uint8]  # (E, N, 3, 2r + 1, 2r + 1)
    walls_part: NDArray[np.uint8]  # (E, N, W, H)
    action_mask_part: NDArray[np.int8]  # (E, N, A)
    flat: NDArray[np.float32]  # (E, N, D), all parts in one, instead of the others
    flat_parts: NDArray[np.int64]  # (P,), which parts, as multigrid.core.observe numbers them
    scaled: NDArray[np.float32]  # (2, max(W, H)), each x, then each y, scaled to 0 .. 1
    flat_sizes: NDArray[np.int64]  # (P,), how many numbers each takes

    # The caller's actions, and scratch that every kernel leaves as it found it.
    actions: NDArray[np.int64]  # (E, N)
    occupant: NDArray[np.int32]  # (W, H), the agent in a cell, or -1
    claimant: NDArray[np.int32]  # (W, H), the first agent that asks for a cell, or -1
    seen: NDArray[np.uint8]  # (W + 2r, H + 2r), 1 at agents, for views; or no rows
    wish: NDArray[np.int64]  # (N, 2), the cell that an agent asks for
    refusal: NDArray[np.int64]  # (N,), why a request would be refused
    region_agents: NDArray[np.int64]  # (R + 1,), agents placed in a region


def allocate(**shapes: tuple[int, ...]) -> Arrays:
    """Return zeroed arrays of the given shapes, by field."""
    return Arrays(**{name: np.zeros(shapes[name], dtype) for name, dtype in _DTYPES.items()})


def bytes_needed(**shapes: tuple[int, ...]) -> int:
    """Return the bytes of arrays of the given shapes, by field."""
    return sum(math.prod(shapes[name]) * dtype.itemsize for name, dtype in _DTYPES.items())


def with_own_scratch(arrays: Arrays) -> Arrays:
    """Return the same arrays, save that the scratch is copied, for another thread to work with."""
    return arrays._replace(**{name: getattr(arrays, name).copy() for name in SCRATCH})


def clean_scratch(arrays: Arrays) -> None:
    """Bring the scratch to what every kernel finds and leaves it at."""
    for name in ("occupant", "claimant"):
        getattr(arrays, name).fill(NOBODY)
    arrays.seen.fill(0)
    arrays.region_agents.fill(0)


# NDArray[np.int64] is ndarray[shape, dtype[int64]].
_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(get_args(get_args(hint)[1])[0]) for name, hint in get_type_hints(Arrays).items()
}
_NDIMS = dict.fromkeys(Arrays._fields, 2) | {
    "settings": 1,
    "regions": 3,
    "moves": 4,
    "blocked": 3,
    "layouts": 3,
    "map_index": 1,
    "steps": 1,
    "over": 1,
    "endings": 1,
    "location": 3,
    "goal": 3,
    "others_part": 4,
    "view_part": 5,
    "walls_part": 4,
    "action_mask_part": 3,
    "flat": 3,
    "flat_parts": 1,
    "flat_sizes": 1,
    "refusal": 1,
    "region_agents": 1,
    "commits": 1,
}
_TABLE_WIDTH = 1 + max(_NDIMS.values())

# Extents that are equal in every array that has them, after the first: where the compiler sees that they are, it
# computes the place of an agent or of a cell once for all arrays. None is an array's own.
_EXTENTS: dict[str, tuple[str | int | None, ...]] = {
    **dict.fromkeys(("location", "goal"), ("N", 2)),
    **dict.fromkeys(("status", "arrivals", "arrival_step", "rewards", "terminated", "truncated"), ("N",)),
    **dict.fromkeys(("outcomes", "distances", "actions"), ("N",)),
    "layouts": ("N", 4),
    "others_part": ("N", None, 2),
    "view_part": ("N", 3, None, None),
    "action_mask_part": ("N", None),
    "regions": ("W", "H"),
    "moves": ("W", "H", None),
    **dict.fromkeys(("occupant", "claimant"), ("H",)),
    "wish": (2,),
}
_SHOWN_BY = {"N": ("location", 1), "W": ("regions", 1), "H": ("regions", 2)}


def handle(arrays: Arrays) -> Any:
    """Return what a kernel takes to `opened`: a table of the arrays' addresses and shapes, int64 (fields, 6).

    Handing thirty arrays to compiled code costs two microseconds a call, more than a step does. The table is good
    for as long as the arrays live. Interpreted kernels take the arrays themselves.
    """
    if not COMPILED:
        return arrays
    table = np.zeros((len(arrays), _TABLE_WIDTH), dtype=np.int64)
    for row, (name, array) in zip(table, arrays._asdict().items(), strict=True):
        assert array.flags.c_contiguous
        assert (array.dtype, array.ndim) == (_DTYPES[name], _NDIMS[name])
        for extent, named in zip(array.shape[1:], _EXTENTS.get(name, ()), strict=False):
            shown = getattr(arrays, _SHOWN_BY[named][0]).shape[_SHOWN_BY[named][1]] if isinstance(named, str) else named
            assert named is None or len(array) == 0 or extent == shown
        row[0] = array.ctypes.data
        row[1 : 1 + array.ndim] = array.shape
    return table


if COMPILED:
    from numba.core import cgutils, types
    from numba.core.datamodel import models
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model
    from numba.np.arrayobj import make_array, populate_array
    from numba.np.numpy_support import from_dtype

    class _ArraysType(types.Opaque):
        """What `Arrays` is to compiled code: the address of the table from `handle`."""

    register_model(_ArraysType)(models.OpaqueModel)
    _ARRAYS = _ArraysType("multigrid.core.arrays.Arrays")
    _ARRAY_TYPES = {name: types.Array(from_dtype(dtype), _NDIMS[name], "C") for name, dtype in _DTYPES.items()}

    @infer_getattr
    class _ArraysAttribute(AttributeTemplate):  # type: ignore[misc]
        key = _ArraysType

        def generic_resolve(self, _arrays: Any, name: str) -> Any:
            return _ARRAY_TYPES.get(name)

    @lower_getattr_generic(_ArraysType)  # type: ignore[untyped-decorator]
    def _arrays_getattr(context: Any, builder: Any, _type: Any, address: Any, name: str) -> Any:
        """Make an array, which owns nothing, of a row of the table."""
        cells = builder.bitcast(address, cgutils.intp_t.as_pointer())

        def cell(column: int, of: str = name) -> Any:
            place = Arrays._fields.index(of) * _TABLE_WIDTH + column
            value = builder.load(builder.gep(cells, [context.get_constant(types.intp, place)]))
            # A table never changes, so LLVM may load it once and keep it through any number of writes.
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return value

        def extent(axis: int, named: str | int | None) -> Any:
            if isinstance(named, int):
                return context.get_constant(types.intp, named)
            of, shown_by = (name, axis) if named is None else _SHOWN_BY[named]
            return cell(1 + shown_by, of)

        array_type = _ARRAY_TYPES[name]
        array = make_array(array_type)(context, builder)
        itemsize = context.get_constant(types.intp, _DTYPES[name].itemsize)
        named = (None, *_EXTENTS.get(name, (None,) * (array_type.ndim - 1)))
        shape = [extent(axis, named[axis]) for axis in range(array_type.ndim)]
        strides = [itemsize]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        populate_array(
            array,
            data=builder.inttoptr(cell(0), array.data.type),
            shape=cgutils.pack_array(builder, shape),
            strides=cgutils.pack_array(builder, strides),
            itemsize=itemsize,
            meminfo=None,
        )
        return array._getvalue()  # noqa: SLF001 - Numba's own way to get the value of what it builds

    @intrinsic  # type: ignore[untyped-decorator]
    def opened(_context: Any, table: Any) -> Any:
        """Return the `Arrays` that a table from `handle` stands for."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(data, context.get_value_type(_ARRAYS))

        return _ARRAYS(table), codegen

else:

    def opened(table: Any) -> Arrays:
        """Return the arrays, which interpreted kernels are handed as they are."""
        return cast("Arrays", table)
