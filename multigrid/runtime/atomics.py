"""Atomic reads and writes of int64 cells, for signalling between threads, and copies between addresses."""

from typing import Any

from multigrid.runtime.compiled import replaced

__all__ = ["add", "clear_memory", "copy_memory", "exchange_if", "load", "pause", "store", "yield_core"]


def _compiled_only(*_arguments: Any) -> Any:
    raise NotImplementedError  # Python runs no kernel that has one of these


add, clear_memory, copy_memory, exchange_if, load, pause, store, yield_core = (
    replaced(name)(_compiled_only) for name in __all__
)
