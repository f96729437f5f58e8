"""Copies between addresses, for kernels that get no array."""

from __future__ import annotations

from typing import Any

from multigrid.runtime.compiled import JUST_IN_TIME

__all__ = ["clear_memory", "copy_memory"]

if JUST_IN_TIME:
    from numba.core import cgutils, types
    from numba.extending import intrinsic

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

else:
    # Python runs no kernel that has one of these.
    clear_memory = copy_memory = None
