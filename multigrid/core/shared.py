"""Numbers through which threads tell one another something, in the order in which it was told."""

from __future__ import annotations

import platform
from typing import Any

from multigrid.core.compiled import COMPILED

__all__ = ["load", "pause", "store"]

if COMPILED:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    def _address(context: Any, builder: Any, array_type: Any, array: Any, cell: Any) -> Any:
        made = make_array(array_type)(context, builder, array)
        return cgutils.get_item_pointer(context, builder, array_type, made, cell)

    @intrinsic  # type: ignore[untyped-decorator]
    def load(_context: Any, array: Any, _row: Any, _column: Any) -> Any:
        """Return a cell of an int64 array; with it comes whatever was written before the `store` that it is from."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, *cell = arguments
            return builder.load_atomic(_address(context, builder, signature.args[0], array, cell), "acquire", 8)

        return types.int64(array, types.intp, types.intp), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def store(_context: Any, array: Any, _row: Any, _column: Any, _value: Any) -> Any:
        """Write a cell of an int64 array after all that was written before."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, *cell, value = arguments
            builder.store_atomic(value, _address(context, builder, signature.args[0], array, cell), "release", 8)
            return context.get_dummy_value()

        return types.void(array, types.intp, types.intp, types.int64), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def pause(_context: Any) -> Any:
        """Let the processor rest for a moment, where it knows how to."""

        def codegen(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
            if platform.machine() in ("x86_64", "AMD64"):
                kind = ir.FunctionType(ir.VoidType(), ())
                builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), ())
            return context.get_dummy_value()

        return types.void(), codegen

else:

    def load(array: Any, row: int, column: int) -> int:
        """Return a cell, as all is in order under Python's lock."""
        return int(array[row, column])

    def store(array: Any, row: int, column: int, value: int) -> None:
        """Write a cell."""
        array[row, column] = value

    def pause() -> None:
        """Do nothing."""
