"""Atomic reads and writes of int64 cells, for signalling between threads, and copies between addresses."""

from multigrid.runtime.compiled import JUST_IN_TIME

__all__ = ["add", "clear_memory", "copy_memory", "exchange_if", "load", "pause", "store", "yield_core"]

if JUST_IN_TIME:
    from multigrid.runtime.intrinsics import (
        add,
        clear_memory,
        copy_memory,
        exchange_if,
        load,
        pause,
        store,
        yield_core,
    )
else:
    # Python runs no kernel that has one of these.
    add, clear_memory, copy_memory, exchange_if, load, pause, store, yield_core = map(object.__new__, [object] * 8)
