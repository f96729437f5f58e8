"""Take the kernels from the wheel, or compile and cache them; without Numba, Python runs them."""

from __future__ import annotations

import functools
import importlib
import os
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from multigrid.runtime.sources import digest_sources, list_sources

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Settings with which users ask for other machine code than that of the wheel.
_SETTINGS = ("MULTIGRID_JIT", "NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
OFF = ("", "0")
"""The values of an environment variable that is not set."""


@functools.cache
def has_compiler() -> bool:
    """Return whether Numba compiles kernels when they are first called; with NUMBA_DISABLE_JIT=1 it does not.

    The first call warns if Numba is not installed.
    """
    try:
        import numba
    except ImportError:
        what = "the planners give" if _LIBRARY else "multigrid gives"
        warnings.warn(
            f"Numba is not installed: {what} the same results, interpreted, about a hundred times slower. "
            'To compile: pip install "numba"',
            stacklevel=2,
        )
        return False
    return not numba.config.DISABLE_JIT


def _load_library() -> Any:
    """Return the module with the kernels that the wheel brings; None if there is none for these sources."""
    if any(os.environ.get(name, "") not in OFF for name in _SETTINGS):
        return None
    try:
        library = importlib.import_module("multigrid.runtime._kernels")
    except ImportError:
        return None
    return library if digest_sources(list_sources()) == library.SOURCES else None


_LIBRARY = _load_library()

KERNELS: str = "ahead of time" if _LIBRARY else "just in time" if has_compiler() else "interpreted"
"""How kernels were compiled: "ahead of time", in the wheel; "just in time", by Numba; or "interpreted", not at all.

With MULTIGRID_JIT=1 in the environment, Numba compiles them also where the wheel brings them.
"""
JUST_IN_TIME: bool = KERNELS == "just in time"
"""Whether Numba compiles the kernels."""
COMPILED: bool = KERNELS != "interpreted"
"""Whether kernels are compiled, in one way or the other."""

_PLAIN: dict[int, Callable[..., Any]] = {}
"""The function that Python can run, by the id of the one from the wheel."""

if JUST_IN_TIME:
    from multigrid.runtime.kernel_cache import KernelCache, compile_cached

    _CACHE = KernelCache(list_sources(), Path(__file__).parent / "__pycache__", "the rules of the game")


def kernel(function: _Function) -> _Function:
    """Return a function of the game, compiled; Numba's machine code is cached for later processes.

    Of the wheel's kernels, Python can only call those that the package itself calls.
    """
    if JUST_IN_TIME:
        return compile_cached(function, _CACHE, forceinline=False)
    compiled: Any = _LIBRARY.KERNELS.get(f"{function.__module__}.{function.__name__}") if _LIBRARY else None
    if compiled is None:
        return function
    _PLAIN[id(compiled)] = function
    return compiled  # type: ignore[no-any-return]


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and inline it; for hot functions with one caller."""
    return compile_cached(function, _CACHE, forceinline=True) if JUST_IN_TIME else function


def pack_table(table: Any) -> Any:
    """Return a table, int64 (fields, columns), in the form that compiled kernels take."""
    return _LIBRARY.pack(table) if _LIBRARY else table


if JUST_IN_TIME:
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
    """Return a copy of a kernel for Python to run, with copies of its callees, or what `replace` has for them."""
    copies: dict[int, Callable[..., Any]] = {id(old): new for old, new in replace.items()}

    def copy_function(original: Any) -> Callable[..., Any]:
        if id(original) not in copies:
            plain = _find_plain(original)
            scope = dict(plain.__globals__)
            copies[id(original)] = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
            for name in plain.__code__.co_names:
                called = scope.get(name)
                plain_called = _find_plain(called)
                if id(called) in copies or (
                    isinstance(plain_called, types.FunctionType)
                    and plain_called.__module__.startswith(("multigrid.core.", "multigrid.runtime."))
                ):
                    scope[name] = copy_function(called)
        return copies[id(original)]

    return copy_function(function)  # type: ignore[return-value]


def _find_plain(function: Any) -> Any:
    return _PLAIN.get(id(function), getattr(function, "py_func", function))
