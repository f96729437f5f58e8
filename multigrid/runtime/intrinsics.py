"""What Numba has no function for: atomic cells of int64, copies between addresses, indices of a known sign.

Importing this module imports Numba. Where the wheel brings the kernels, it is imported by the first game of a user.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


def _at_cell(emit: Callable[..., Any], result: Any, array: Any, num_values: int = 0) -> Any:
    """Return the signature of an operation on a cell, with some int64 values, and the code from `emit`."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, (array, row, column, *values) = signature.args[0], arguments
        made = make_array(array_type)(context, builder, array)
        address = cgutils.get_item_pointer(context, builder, array_type, made, (row, column))
        done = emit(builder, address, *values)
        return context.get_dummy_value() if result is types.void else done

    return result(array, types.intp, types.intp, *[types.int64] * num_values), codegen


@intrinsic  # type: ignore[untyped-decorator]
def load(_context: Any, array: Any, _row: Any, _column: Any) -> Any:
    """Return a cell of an int64 array (acquire); all writes before the matching `store` are visible afterwards."""
    return _at_cell(lambda builder, address: builder.load_atomic(address, "acquire", 8), types.int64, array)


@intrinsic  # type: ignore[untyped-decorator]
def store(_context: Any, array: Any, _row: Any, _column: Any, _value: Any) -> Any:
    """Write a cell of an int64 array (release), after all earlier writes."""
    return _at_cell(lambda builder, *to: builder.store_atomic(*to[::-1], "release", 8), types.void, array, 1)


@intrinsic  # type: ignore[untyped-decorator]
def add(_context: Any, array: Any, _row: Any, _column: Any, _value: Any) -> Any:
    """Add to a cell of an int64 array, after all earlier writes."""
    return _at_cell(lambda builder, *to: builder.atomic_rmw("add", *to, "acq_rel"), types.void, array, 1)


@intrinsic  # type: ignore[untyped-decorator]
def exchange_if(_context: Any, array: Any, _row: Any, _column: Any, _old: Any, _new: Any) -> Any:
    """Write *new* to a cell of an int64 array if it holds *old*, in one operation; return whether it did."""

    def emit(builder: Any, address: Any, old: Any, new: Any) -> Any:
        return builder.extract_value(builder.cmpxchg(address, old, new, "acq_rel", "acquire"), 1)

    return _at_cell(emit, types.boolean, array, 2)


if os.name == "posix":
    # With more threads than cores, a waiting thread must let the others run.
    yield_core: Any = types.ExternalFunction("sched_yield", types.intc())
else:

    @intrinsic  # type: ignore[untyped-decorator]
    def yield_core(_context: Any) -> Any:
        """Do nothing: other systems have another function."""

        def codegen(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
            return context.get_constant(types.intc, 0)

        return types.intc(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def pause(_context: Any) -> Any:
    """Tell the processor that a loop waits, on x86."""

    def codegen(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if builder.module.triple.startswith("x86_64"):
            kind = ir.FunctionType(ir.VoidType(), ())
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), ())
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def copy_memory(_context: Any, _to: Any, _source: Any, _count: Any) -> Any:
    """Copy a number of bytes from an address to another one; they must not overlap."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        to, source = (builder.inttoptr(address, cgutils.voidptr_t) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def clear_memory(_context: Any, _to: Any, _count: Any) -> Any:
    """Fill a number of bytes from an address on with zeros."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        cgutils.memset(builder, builder.inttoptr(arguments[0], cgutils.voidptr_t), arguments[1], 0)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def unsigned(_context: Any, index: Any) -> Any:
    """Return an index as unsigned, which saves compiled code the check for negative ones.

    For subscripts only: arithmetic of its result with signed integers gives floats.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[0], signature.args[0], types.uint64)

    return types.uint64(index), codegen


@intrinsic  # type: ignore[untyped-decorator]
def signed(_context: Any, index: Any) -> Any:
    """Return an index as a signed integer, which the compiler knows not to be negative."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.cast(builder, arguments[0], signature.args[0], types.int64)
        builder.assume(builder.icmp_signed(">=", value, value.type(0)))
        return value

    return types.int64(index), codegen
