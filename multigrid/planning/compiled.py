"""Compile the kernels of the planners, which have a cache of their own: only programs that plan wait for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from multigrid.runtime.compiled import has_compiler
from multigrid.runtime.sources import list_sources as list_sources_of_core

__all__ = ["COMPILED", "borrowed", "inlined", "kernel", "list_sources"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


COMPILED: bool = has_compiler()
"""Whether the planners' kernels are compiled; no wheel brings them compiled."""


def list_sources() -> list[Path]:
    """Return the files that the planners' kernels depend on: those of core's kernels, and the planners' own.

    >>> any(path.name == "graph.py" for path in list_sources())
    True
    """
    return [*list_sources_of_core(), *sorted(Path(__file__).parent.rglob("*.py"))]


if COMPILED:
    from multigrid.runtime.kernel_cache import KernelCache, compile_cached

    _CACHE = KernelCache(list_sources(), Path(__file__).parent / "__pycache__", "the planners")


def kernel(function: _Function) -> _Function:
    """Compile a function of a planner when it is first called; unlike core's kernels, it may allocate."""
    return compile_cached(function, _CACHE, forceinline=False) if COMPILED else function


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and inline it; for hot functions with one caller."""
    return compile_cached(function, _CACHE, forceinline=True) if COMPILED else function


if COMPILED:
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def borrowed(_context: Any, arrays: Any) -> Any:
        """Return a named tuple of arrays without its references to their memory, which the caller has to keep alive.

        Numba counts references atomically wherever a function takes an array, which takes longer than short functions
        themselves do.
        """

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (fields,) = arguments
            for k, field in enumerate(signature.args[0]):
                array = context.make_array(field)(context, builder, builder.extract_value(fields, k))
                array.meminfo = array.parent = array.meminfo.type(None)
                fields = builder.insert_value(fields, array._getvalue(), k)  # noqa: SLF001 - as in Numba's own code
            return fields

        return arrays(arrays), codegen

else:

    def borrowed(arrays: Any) -> Any:
        """Return a named tuple unchanged."""
        return arrays
