"""Tables in compiled code, whose type is `TableType`: attributes are the arrays and numbers of the rows.

The type of the arrays of worlds names a set of rules, a key of `RULES`. Its attribute `hooks` has the functions of that
set as attributes, which the compiler finds by type: calls are as direct as those of global functions.

Importing this module imports Numba, as `multigrid.runtime.intrinsics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import typeof
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

from multigrid.runtime.tables import RULES

_TABLES = ("address_table", "states")
"""The arguments of kernels that are address tables."""


class TableType(types.Opaque):
    """The type of a table in compiled code: its address."""

    def __init__(self, name: str, rows: tuple[Any, ...], rules: str = "") -> None:
        self.rows = rows
        self.rules = rules
        self.by_name = {row[0]: row for row in rows}
        # Caches of machine code know a type by its name.
        super().__init__(f"{name}@{rules}" if rules else name)

    @property
    def key(self) -> Any:
        """What makes two types equal."""
        return self.name, self.rows

    def find_row(self, name: str) -> Any:
        """Return Numba's type of a row: an array, or a number."""
        _, _, dtype, is_read_only, extents = self.by_name[name]
        number = from_dtype(np.dtype(dtype))
        return types.Array(number, len(extents), "C", readonly=is_read_only) if extents else number


register_model(TableType)(models.OpaqueModel)


@infer_getattr
class _TableAttribute(AttributeTemplate):  # type: ignore[misc]
    key = TableType

    def generic_resolve(self, table: TableType, name: str) -> Any:
        if name == "hooks":
            return HooksType(table.rules)
        return table.find_row(name) if name in table.by_name else None


@lower_getattr_generic(TableType)  # type: ignore[untyped-decorator]
def _table_getattr(context: Any, builder: Any, table: TableType, address: Any, name: str) -> Any:
    """Return the array, or the number, that a row of the table describes."""
    if name == "hooks":
        return context.get_dummy_value()
    cells = builder.bitcast(address, cgutils.intp_t.as_pointer())

    def cell(place: int) -> Any:
        value = builder.load(builder.gep(cells, [context.get_constant(types.intp, place)]))
        # A table never changes, so LLVM need not load it again after writes.
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    _, place, dtype, _, extents = table.by_name[name]
    array_type = table.find_row(name)
    if isinstance(place, tuple):
        numbers = builder.inttoptr(cell(place[0]), context.get_value_type(array_type).as_pointer())
        return builder.load(builder.gep(numbers, [context.get_constant(types.intp, place[1])]))
    if not extents:
        if isinstance(array_type, types.Boolean):
            return builder.icmp_unsigned("!=", cell(place), context.get_constant(types.intp, 0))
        return builder.bitcast(cell(place), context.get_value_type(array_type))
    array = make_array(array_type)(context, builder)
    itemsize = context.get_constant(types.intp, np.dtype(dtype).itemsize)
    shape = [context.get_constant(types.intp, at) if kind == "is" else cell(at) for kind, at in extents]
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(
        array,
        data=builder.inttoptr(cell(place), array.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()  # noqa: SLF001 - Numba's own way to get the value of what it builds


def compile_entry(dispatcher: Any, rules: str, arguments: Sequence[Any]) -> Any:
    """Compile a kernel for a set of rules, and return what Python calls with arguments as these: in C order."""
    names = dispatcher.py_func.__code__.co_varnames
    signature = tuple(
        AddressTableType(rules) if rules and name in _TABLES else _find_argument_type(typeof(argument))
        for name, argument in zip(names, arguments, strict=False)
    )
    dispatcher.compile(signature)
    return dispatcher.overloads[signature].entry_point


def _find_argument_type(found: Any) -> Any:
    return types.Array(found.dtype, found.ndim, "C") if isinstance(found, types.Array) else found


class HooksType(types.Opaque):
    """The type of the attribute `hooks` of a table, which has no value."""

    def __init__(self, rules: str) -> None:
        self.rules = rules
        super().__init__(f"Hooks({rules})")


register_model(HooksType)(models.OpaqueModel)


@infer_getattr
class _HooksAttribute(AttributeTemplate):  # type: ignore[misc]
    key = HooksType

    def generic_resolve(self, hooks: HooksType, name: str) -> Any:
        return find_type(RULES[hooks.rules][name]) if name in RULES[hooks.rules] else None


@lower_getattr_generic(HooksType)  # type: ignore[untyped-decorator]
def _hooks_getattr(context: Any, builder: Any, hooks: HooksType, _value: Any, name: str) -> Any:
    """Return a number as a constant; a function has no value."""
    found = RULES[hooks.rules][name]
    return context.get_constant_generic(builder, find_type(found), found)


def find_type(value: Any) -> Any:
    """Return Numba's type of a function or a number."""
    typing = cpu_target.typing_context
    typing.refresh()
    return typing.resolve_value_type(value)


def make_type(table: Any, rules: str = "") -> TableType:
    """Return the type of a table's address, for a set of rules."""
    return TableType(table.name, table.described, rules)


class AddressTableType(types.Array):
    """The type of an address table of a set of rules: that of any such array but for its name."""

    def __init__(self, rules: str) -> None:
        self.rules = rules
        super().__init__(types.int64, 2, "C", name=f"address_table@{rules}")

    @property
    def key(self) -> Any:
        """What makes two types equal."""
        return self.name

    @property
    def mangling_args(self) -> Any:
        """What the names of functions in machine code have, which processes load that have compiled other rules."""
        return self.name, ()

    def can_convert_to(self, _typing: Any, _other: Any) -> None:
        """Return that no other type takes its values: functions are compiled for each set of rules."""

    def __repr__(self) -> str:
        return str(self.name)


register_model(AddressTableType)(models.ArrayModel)


def make_unpack(table: Any) -> Any:
    """Return a function for kernels that returns the arrays of an address table, int64 (rows, columns)."""

    @intrinsic  # type: ignore[untyped-decorator]
    def unpack(_context: Any, address_table: Any) -> Any:
        table_type = make_type(table, getattr(address_table, "rules", ""))

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(data, context.get_value_type(table_type))

        return table_type(address_table), codegen

    return unpack


def make_follow(table: Any, following: Any) -> Any:
    """Return a function for kernels that returns the arrays of the table whose addresses follow those of another.

    It gets what the function of `make_unpack` returned for the other one.
    """
    place, following_type = len(table.rows) * table.width, make_type(following)

    @intrinsic  # type: ignore[untyped-decorator]
    def follow(_context: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            cells = builder.bitcast(arguments[0], cgutils.intp_t.as_pointer())
            behind = builder.gep(cells, [context.get_constant(types.intp, place)])
            return builder.bitcast(behind, context.get_value_type(following_type))

        return following_type(address), codegen

    return follow


def _change_worlds(table: Any, names: Any, num_given: int, change: Callable[..., None]) -> Any:
    """Return a function for kernels that changes a world's part of some arrays, given tables and worlds by turns.

    `names` has tuples of the names of an array in each of the tables given.
    """
    table_type = make_type(table)
    rows = [[table_type.by_name[name] for name in by_table] for by_table in names]

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        cells = [builder.bitcast(one, cgutils.intp_t.as_pointer()) for one in arguments[::2]]

        def cell(k: int, place: int) -> Any:
            return builder.load(builder.gep(cells[k], [context.get_constant(types.intp, place)]))

        for by_table in rows:
            _, _, dtype, _, extents = by_table[0]
            size = context.get_constant(types.intp, np.dtype(dtype).itemsize)
            for kind, at in extents[1:]:
                size = builder.mul(size, context.get_constant(types.intp, at) if kind == "is" else cell(0, at))
            starts = [
                builder.inttoptr(builder.add(cell(k, by_table[k][1]), builder.mul(world, size)), cgutils.voidptr_t)
                for k, world in enumerate(arguments[1::2])
            ]
            change(builder, starts, size)
        return context.get_dummy_value()

    if num_given == 1:

        @intrinsic  # type: ignore[untyped-decorator]
        def clear(_context: Any, _arrays: Any, _world: Any) -> Any:
            return types.void(table_type, types.intp), emit

        return clear

    @intrinsic  # type: ignore[untyped-decorator]
    def copy(_context: Any, _arrays: Any, _world: Any, _given: Any, _at: Any) -> Any:
        return types.void(table_type, types.intp, table_type, types.intp), emit

    return copy


def make_clear_world(table: Any) -> Any:
    """Return a function for kernels that fills a world's part of the arrays of a table with zeros."""
    names = [(name,) for name in table.cleared]
    return _change_worlds(table, names, 1, lambda builder, starts, size: cgutils.memset(builder, *starts, size, 0))


def make_copy_world(table: Any, names: Any) -> Any:
    """Return a function for kernels that copies a world's part of some arrays from others, of another table like it."""
    return _change_worlds(table, names, 2, lambda builder, starts, size: cgutils.raw_memcpy(builder, *starts, size, 1))
