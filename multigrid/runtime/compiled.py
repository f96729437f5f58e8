"""Take the kernels from the wheel, or compile and cache them; without Numba, Python runs them."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import types
import warnings
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from multigrid.runtime.sources import digest_sources, list_sources

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Settings with which users ask for other machine code than that of the wheel.
_SETTINGS = ("MULTIGRID_JIT", "NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
_LIBRARIES = {*sys.stdlib_module_names, "numba", "numpy"}  # Numba itself knows those of their functions that it knows
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
        what = "planners and games of your own give" if _LIBRARY else "multigrid gives"
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

_INLINED: set[int] = set()
"""The ids of functions that are inlined, where Numba has not compiled them."""


@functools.cache
def compiles_games() -> bool:
    """Return whether Numba compiles users' games, also where the wheel brings the rules; see `has_compiler`."""
    return JUST_IN_TIME or (_LIBRARY is not None and has_compiler())


@functools.cache
def _open_cache() -> Any:
    from multigrid.runtime.kernel_cache import KernelCache

    return KernelCache(list_sources(), Path(__file__).parent / "__pycache__", "the rules of the game")


def _compile(function: _Function, *, forceinline: bool) -> _Function:
    from multigrid.runtime.kernel_cache import compile_cached

    return compile_cached(function, _open_cache(), forceinline=forceinline, allocates=not is_own(function))


def kernel(function: _Function) -> _Function:
    """Return a function of the game, compiled; Numba's machine code is cached for later processes.

    Of the wheel's kernels, Python can only call those that the package itself calls.
    """
    if JUST_IN_TIME:
        return _compile(function, forceinline=False)
    compiled: Any = _LIBRARY.KERNELS.get(f"{function.__module__}.{function.__name__}") if _LIBRARY else None
    if compiled is None:
        return function
    _PLAIN[id(compiled)] = function
    return compiled  # type: ignore[no-any-return]


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and inline it; for hot functions with one caller."""
    if JUST_IN_TIME:
        return _compile(function, forceinline=True)
    _INLINED.add(id(function))
    return function


def compile_copy(copy: _Function, original: Any) -> _Function:
    """Compile a copy of a kernel as the original was, or inlined if that is None; only where Numba compiles."""
    is_inlined = original is None or (
        original.targetoptions.get("forceinline", False) if JUST_IN_TIME else id(original) in _INLINED
    )
    return _compile(copy, forceinline=is_inlined)


def pack_table(table: Any) -> Any:
    """Return a table, int64 (fields, columns), in the form that compiled kernels take."""
    return _LIBRARY.pack(table) if _LIBRARY else table


if JUST_IN_TIME:
    from multigrid.runtime.intrinsics import signed as signed  # noqa: PLC0414 - what mypy takes for exported
    from multigrid.runtime.intrinsics import unsigned as unsigned  # noqa: PLC0414
else:

    def unsigned(index: Any) -> Any:
        """Return an index unchanged."""
        return index

    def signed(index: Any) -> Any:
        """Return an index unchanged."""
        return index


def make_interpreted(function: _Function, replace: Mapping[Any, Callable[..., Any]]) -> _Function:
    """Return a copy of a kernel for Python to run, with copies of its callees, or what `replace` has for them."""
    copies: dict[int, Callable[..., Any]] = {id(old): new for old, new in replace.items()}

    def copy_function(original: Any) -> Callable[..., Any]:
        if id(original) not in copies:
            plain = find_plain(original)
            scope = dict(plain.__globals__)
            copies[id(original)] = types.FunctionType(
                plain.__code__, scope, plain.__name__, plain.__defaults__, plain.__closure__
            )
            names = list_names(plain)
            scope |= {name: copy_value(scope[name], names) for name in names if name in scope}
        return copies[id(original)]

    def copy_value(called: Any, names: Collection[str]) -> Any:
        plain = find_plain(called)
        is_users = isinstance(plain, types.FunctionType) and (plain is not called or "@" in plain.__qualname__)
        if id(called) in copies or is_own(plain) or is_users:
            return copy_function(called)
        return copy_module(called, names, copy_value, {})

    return copy_function(function)  # type: ignore[return-value]


def list_names(plain: Callable[..., Any]) -> list[str]:
    """Return the names of globals and attributes in a function's code, in its order."""
    codes = [plain.__code__]
    for code in codes:
        # Up to Python 3.11, a comprehension is a function of its own.
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return list(dict.fromkeys(name for code in codes for name in code.co_names))


def copy_module(found: Any, names: Collection[str], copy: Callable[..., Any], done: dict[int, Any]) -> Any:
    """Return a copy of a module with copies of what it has by some names; all else, and a library, as it is.

    `done` has the copies of modules, which may import one another, by the id of the original.
    """
    if not isinstance(found, types.ModuleType) or found.__name__.partition(".")[0] in _LIBRARIES:
        return found
    if id(found) not in done:
        module = done[id(found)] = types.ModuleType(found.__name__)
        vars(module).update(vars(found))
        for name, value in [(name, getattr(found, name)) for name in names if hasattr(found, name)]:
            is_module = isinstance(value, types.ModuleType)
            vars(module)[name] = copy_module(value, names, copy, done) if is_module else copy(value, names)
    return done[id(found)]


def is_own(found: Any) -> bool:
    """Return whether something is a plain function of the rules."""
    return isinstance(found, types.FunctionType) and found.__module__.startswith(
        ("multigrid.core.", "multigrid.runtime.")
    )


def find_plain(function: Any) -> Any:
    """Return the function that Python can run, of a compiled one or of one that is not compiled."""
    return _PLAIN.get(id(function), getattr(function, "py_func", function))
