"""Compile the kernels and cache them; without Numba, Python runs them."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

try:
    import numba
except ImportError:
    numba = None
    warnings.warn(
        "Numba is not installed: multigrid plays the same game, interpreted, about a hundred times slower. "
        'To compile it: pip install "numba"',
        stacklevel=2,
    )

__all__ = [
    "COMPILED",
    "announce_compilation",
    "compile_cached",
    "inlined",
    "kernel",
    "list_sources",
    "make_interpreted",
    "unsigned",
]

COMPILED: bool = numba is not None and not numba.config.DISABLE_JIT
"""Whether kernels are compiled; with NUMBA_DISABLE_JIT=1 they are not."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def list_sources() -> list[Path]:
    """Return the files that core's kernels depend on, including those of the constants that they import.

    >>> any(path.name == "rules.py" for path in list_sources())
    True
    """
    here = Path(__file__).parent
    others = ("actions.py", "parts.py", "_checks.py", "maps/components.py", "maps/flat.py")
    return [*sorted(here.glob("*.py")), *(here.parent / name for name in others)]


if COMPILED:
    from multigrid.core.kernel_cache import KernelCache, print_message
    from multigrid.core.uninterrupted import run_uninterrupted

    _CACHE = KernelCache(list_sources(), Path(__file__).parent / "__pycache__")


def kernel(function: _Function) -> _Function:
    """Compile a function of the game, and cache the machine code for later processes."""
    return compile_cached(function, _CACHE, forceinline=False) if COMPILED else function


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and inline it; for hot functions with one caller."""
    return compile_cached(function, _CACHE, forceinline=True) if COMPILED else function


def compile_cached(function: _Function, cache: KernelCache, *, forceinline: bool) -> _Function:
    """Compile a function when it is first called, and keep the machine code in a cache.

    Args:
        function: the function.
        cache: where its machine code is kept.
        forceinline: whether to inline it into its callers.
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline)(function)
    dispatcher.compile = functools.partial(run_uninterrupted, dispatcher.compile)
    return cache.enable_for(dispatcher)  # type: ignore[no-any-return]


if COMPILED:
    from numba.core import types as numba_types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def unsigned(_context: Any, index: Any) -> Any:
        """Return an index as unsigned, which saves compiled code the check for negative ones.

        For subscripts only: arithmetic of its result with signed integers gives floats.
        """

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.cast(builder, arguments[0], signature.args[0], numba_types.uint64)

        return numba_types.uint64(index), codegen

else:

    def unsigned(index: Any) -> Any:
        """Return an index unchanged."""
        return index


def make_interpreted(function: _Function, replace: Mapping[Any, Callable[..., Any]]) -> _Function:
    """Return a copy of a kernel that Python runs, with copies of its callees.

    Args:
        function: a kernel, compiled or not.
        replace: the replacements of some callees.
    """
    copies: dict[int, Callable[..., Any]] = {id(old): new for old, new in replace.items()}

    def copy_function(original: Any) -> Callable[..., Any]:
        if id(original) not in copies:
            plain = getattr(original, "py_func", original)
            scope = dict(plain.__globals__)
            copies[id(original)] = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
            for name in plain.__code__.co_names:
                called = scope.get(name)
                plain_called = getattr(called, "py_func", called)
                if id(called) in copies or (
                    isinstance(plain_called, types.FunctionType)
                    and plain_called.__module__.startswith(__package__ + ".")
                ):
                    scope[name] = copy_function(called)
        return copies[id(original)]

    return copy_function(function)  # type: ignore[return-value]


@functools.cache
def announce_compilation() -> None:
    """Print to stderr that the kernels must be compiled, once a process, if that is so."""
    if COMPILED and _CACHE.is_empty:
        how = (
            "once for this version" if _CACHE.is_persistent else "in every process, for no cache folder can be written"
        )
        print_message(f"compiling the rules of the game, {how} ...")
