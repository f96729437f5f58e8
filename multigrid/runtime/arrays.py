"""The arrays of E worlds, and their address table: the one pointer from which a kernel reads where they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from multigrid.parts import PARTS, Part, PartSpec, resolve_shape
from multigrid.runtime.compiled import COMPILED, JUST_IN_TIME, pack_table

TRAVELLING, PARKED, LEFT = range(3)
"""The status of an agent."""

NOBODY = -1
"""The entry of a cell without an agent."""

RANDOM = -1
"""Stands for the index of a random map."""

Int8: TypeAlias = NDArray[np.int8]
Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
UInt8: TypeAlias = NDArray[np.uint8]
UInt64: TypeAlias = NDArray[np.uint64]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Bool: TypeAlias = NDArray[np.bool_]

_CONSTANT = "constant"


class _Scratch(NamedTuple):
    """Marks scratch memory: each thread needs an array of its own."""

    clean: int | None
    """The content before and after each kernel call; None for any."""


class Arrays(NamedTuple):
    """The arrays of E worlds; each line gives a dtype and named extents.

    N agents in each world, on one of M maps of W x H cells with up to C - 1 components; A actions; S words of a random
    stream; a view of r cells each way; P parts of D numbers in a flat observation; L the longer side; lists of up to T
    targets. The arrays of parts that are not observed are empty, and so are `layouts` where the maps show no agents,
    and those of lists while no world has any. The parts *agent* and *target* are `location` and `target`.
    """

    # The description of the worlds.
    settings: Annotated[Int64, "6"]  # as multigrid.core.rules numbers them
    components: Annotated[Int32, "M W H", _CONSTANT]  # 0 at walls, else the number of the connected component
    component_sizes: Annotated[Int64, "M C", _CONSTANT]  # cells by component
    moves: Annotated[Int8, "M W H A", _CONSTANT]  # the outcome of each action in a cell, ignoring other agents
    blocked: Annotated[UInt8, "M W+2r H+2r", _CONSTANT]  # 1 at walls and outside, for views
    layouts: Annotated[Int64, "M N 4", _CONSTANT]  # x, y, target x, target y of every episode on a map
    layout_lists: Annotated[Int64, "M N T 2", _CONSTANT]  # their lists of targets, as `target_lists`

    # The state, in full.
    streams: Annotated[UInt64, "E S"]  # see multigrid.runtime.pcg64
    map_index: Annotated[Int64, "E"]
    steps: Annotated[Int64, "E"]  # steps played in this episode; -1 before the first
    episode_over: Annotated[Bool, "E"]  # the episode has ended for everyone
    location: Annotated[Int64, "E N 2"]  # the last one for an agent that has left
    target: Annotated[Int64, "E N 2"]
    status: Annotated[Int8, "E N"]  # TRAVELLING, PARKED or LEFT
    arrivals: Annotated[Int64, "E N"]  # how often the agent has arrived in this episode
    arrival_step: Annotated[Int64, "E N"]  # the step of the last arrival; -1 before it, and under *stay* off the target
    target_lists: Annotated[Int64, "E N T 2"]  # each agent's targets in order, then rows of NO_TARGET
    list_lengths: Annotated[Int64, "E N"]  # how many targets that are; 0 without lists

    commits: Annotated[Int64, "1"]  # the number of calls that reset or restored worlds

    # The results of the last reset or step.
    rewards: Annotated[Float64, "E N"]
    terminated: Annotated[Bool, "E N"]
    truncated: Annotated[Bool, "E N"]
    num_ended: Annotated[Int64, "E"]  # how many agents were terminated or truncated
    outcomes: Annotated[Int64, "E N"]
    distances: Annotated[Float64, "E N"]  # L1, in cells
    arrived: Annotated[Int64, "E N"]  # 1 if the last step has raised `arrivals`, else 0

    # The observations, written by multigrid.core.observe; a part is a row of numbers for each agent.
    outdated: Annotated[Bool, "E"]  # the world has changed since its observations were written
    others_part: Annotated[NDArray[Any], "E N", PARTS["others"]]
    offset_part: Annotated[NDArray[Any], "E N", PARTS["offset"]]
    view_part: Annotated[NDArray[Any], "E N", PARTS["view"]]
    walls_part: Annotated[NDArray[Any], "E N", PARTS["walls"]]
    action_mask_part: Annotated[NDArray[Any], "E N", PARTS["action_mask"]]
    flat: Annotated[Float32, "E N D"]  # all parts but the action mask in one, instead of them
    written_parts: Annotated[Int64, "P", _CONSTANT]  # which parts observations are written of, by index in PARTS
    flat_sizes: Annotated[Int64, "P", _CONSTANT]  # the numbers in each part, where they are in one
    scaled: Annotated[Float32, "2 L", _CONSTANT]  # each x, then each y, scaled to 0 .. 1

    actions: Annotated[Int64, "E N"]  # the caller's

    # In these, the cell (x, y) has the index x * H + y.
    occupant: Annotated[Int32, "W*H", _Scratch(NOBODY)]  # the agent in a cell, or NOBODY
    first_requester: Annotated[Int32, "W*H", _Scratch(NOBODY)]  # the first agent that asks for a cell, or NOBODY
    own_cell: Annotated[Int64, "N", _Scratch(None)]  # the cell that an agent is in
    requested: Annotated[Int64, "N", _Scratch(None)]  # the cell that an agent asks for

    agent_grid: Annotated[UInt8, "W+2r H+2r", _Scratch(0)]  # 1 at agents, for views
    refusal_reason: Annotated[Int64, "N", _Scratch(None)]  # why a request would be refused
    component_agents: Annotated[Int64, "C", _Scratch(0)]  # agents placed in a component


STATE_PARTS: dict[Part, str] = {"agent": "location", "target": "target"}
"""The parts that are the state itself, with their arrays."""
PART_ARRAYS: dict[Part, str] = {part: f"{part}_part" for part in PARTS} | STATE_PARTS
"""The array of each part of an observation that is not flattened."""


class _Row(NamedTuple):
    """A row of the table, read from the annotation of a field."""

    dtype: np.dtype[Any]
    shape: str
    mark: object


def _read_row(hint: Any) -> _Row:
    array, shape, *marks = get_args(hint)
    mark = marks[0] if marks else None
    if isinstance(mark, PartSpec):
        return _Row(np.dtype(mark.dtype), f"{shape} {mark.shape.replace(' ', '*')}", mark)
    # NDArray[np.int64] is an alias of its own from NumPy 2.5 on, before that ndarray[shape, dtype[int64]].
    while inner := get_args(array):
        array = inner[-1]
    return _Row(np.dtype(array), shape, mark)


_TABLE = {name: _read_row(hint) for name, hint in get_type_hints(Arrays, include_extras=True).items()}
SCRATCH = {name: row.mark.clean for name, row in _TABLE.items() if isinstance(row.mark, _Scratch)}
"""The scratch arrays, with their content before and after each kernel call; None for any."""
CONSTANT = tuple(name for name, row in _TABLE.items() if row.mark == _CONSTANT)
"""The arrays that no kernel of the game changes."""
_DTYPES = {name: row.dtype for name, row in _TABLE.items()}
_NDIMS = {name: len(row.shape.split()) for name, row in _TABLE.items()}
_TABLE_WIDTH = 1 + max(_NDIMS.values())

# N, W and H are read from one array for all, so the compiler knows that they are equal, and computes the offset of an
# agent or a cell once. Not for the first axis; None stands for an array's own extent.
_EXTENT_SOURCES = {"N": ("location", 1), "W": ("components", 1), "H": ("components", 2)}
_EXTENTS: dict[str, tuple[str | int | None, ...]] = {
    name: tuple(int(one) if one.isdigit() else one if one in _EXTENT_SOURCES else None for one in row.shape.split()[1:])
    for name, row in _TABLE.items()
}


def make_arrays(extents: Mapping[str, int], empty: Collection[str]) -> Arrays:
    """Return zeroed arrays, given the numbers for the extents in `Arrays`, and the names of those not needed."""
    shapes = _resolve_shapes(extents, empty)
    return Arrays(**{name: np.zeros(shapes[name], dtype) for name, dtype in _DTYPES.items()})


def bytes_needed(extents: Mapping[str, int], empty: Collection[str]) -> int:
    """Return the number of bytes that `make_arrays` allocates."""
    shapes = _resolve_shapes(extents, empty)
    return sum(math.prod(shapes[name]) * dtype.itemsize for name, dtype in _DTYPES.items())


def _resolve_shapes(extents: Mapping[str, int], empty: Collection[str]) -> dict[str, tuple[int, ...]]:
    return {
        name: (0,) * _NDIMS[name] if name in empty else resolve_shape(row.shape, extents)
        for name, row in _TABLE.items()
    }


def copy_scratch(arrays: Arrays) -> Arrays:
    """Return the same arrays with a copy of the scratch, for another thread."""
    return arrays._replace(**{name: getattr(arrays, name).copy() for name in SCRATCH})


def clean_scratch(arrays: Arrays) -> None:
    """Fill the scratch with the content that kernels expect."""
    for name, clean in SCRATCH.items():
        if clean is not None:
            getattr(arrays, name).fill(clean)


def check_static(arrays: Arrays, before: dict[str, bytes]) -> dict[str, bytes]:
    """Check that the scratch is clean and that the constant arrays have the bytes in `before`, by name; return these.

    The first call gets {}, and a later one what the first one returned.
    """
    for name, clean in SCRATCH.items():
        assert clean is None or (getattr(arrays, name) == clean).all(), f"{name} is not clean"
    found = {name: getattr(arrays, name).tobytes() for name in CONSTANT}
    for name, content in before.items():
        assert found[name] == content, f"{name} has changed"
    return found


def pack(arrays: Arrays) -> Any:
    """Return a table of the arrays' addresses and shapes for a kernel to `unpack`.

    Passing forty arrays to compiled code takes two microseconds, more than a step. The table is valid while the arrays
    exist. For interpreted kernels the arrays are returned as they are.
    """
    if not COMPILED:
        return arrays
    address_table = np.zeros((len(arrays), _TABLE_WIDTH), dtype=np.int64)
    for row, (name, array) in zip(address_table, arrays._asdict().items(), strict=True):
        assert array.flags.c_contiguous
        assert (array.dtype, array.ndim) == (_DTYPES[name], _NDIMS[name])
        for extent, named in zip(array.shape[1:], _EXTENTS[name], strict=True):
            of, axis = _EXTENT_SOURCES.get(str(named), ("", 0))
            shown = getattr(arrays, of).shape[axis] if of else named
            assert named is None or len(array) == 0 or extent == shown
        row[0] = array.ctypes.data
        row[1 : 1 + array.ndim] = array.shape
    return pack_table(address_table)


if JUST_IN_TIME:
    from numba.core import cgutils, types
    from numba.core.datamodel import models
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model
    from numba.np.arrayobj import make_array, populate_array
    from numba.np.numpy_support import from_dtype

    class _ArraysType(types.Opaque):
        """The type of `Arrays` in compiled code: a pointer to the table that `pack` returned."""

    register_model(_ArraysType)(models.OpaqueModel)
    _ARRAYS = _ArraysType("multigrid.runtime.arrays.Arrays")
    _ARRAY_TYPES = {name: types.Array(from_dtype(dtype), _NDIMS[name], "C") for name, dtype in _DTYPES.items()}

    @infer_getattr
    class _ArraysAttribute(AttributeTemplate):  # type: ignore[misc]
        key = _ArraysType

        def generic_resolve(self, _arrays: Any, name: str) -> Any:
            return _ARRAY_TYPES.get(name)

    @lower_getattr_generic(_ArraysType)  # type: ignore[untyped-decorator]
    def _arrays_getattr(context: Any, builder: Any, _type: Any, address: Any, name: str) -> Any:
        """Return the array that a row of the table describes."""
        cells = builder.bitcast(address, cgutils.intp_t.as_pointer())

        def cell(column: int, of: str = name) -> Any:
            offset = Arrays._fields.index(of) * _TABLE_WIDTH + column
            value = builder.load(builder.gep(cells, [context.get_constant(types.intp, offset)]))
            # A table never changes, so LLVM need not load it again after writes.
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return value

        def extent(axis: int, named: str | int | None) -> Any:
            if isinstance(named, int):
                return context.get_constant(types.intp, named)
            of, shown_by = (name, axis) if named is None else _EXTENT_SOURCES[named]
            return cell(1 + shown_by, of)

        array_type = _ARRAY_TYPES[name]
        array = make_array(array_type)(context, builder)
        itemsize = context.get_constant(types.intp, _DTYPES[name].itemsize)
        named = (None, *_EXTENTS[name])
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
    def unpack(_context: Any, address_table: Any) -> Any:
        """Return the `Arrays` of a table that `pack` returned."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(data, context.get_value_type(_ARRAYS))

        return _ARRAYS(address_table), codegen

else:

    def unpack(address_table: Any) -> Arrays:
        """Return the arrays, which `pack` returned as they are."""
        return cast("Arrays", address_table)
