"""Take the kernels from the wheel, or compile and cache them; without Numba, Python runs them."""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable, Iterable
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


@functools.cache
def compiles_games() -> bool:
    """Return whether Numba compiles users' games, also where the wheel brings the rules; see `has_compiler`."""
    return JUST_IN_TIME or (_LIBRARY is not None and has_compiler())


def open_cache(sources: Iterable[Path], beside: Path, what: str) -> Any:
    """Return a `KernelCache`; or None, with a warning, if this Numba lacks what that needs."""
    try:
        from multigrid.runtime.kernel_cache import KernelCache
    except (ImportError, AttributeError) as error:
        import numba

        warnings.warn(
            f"multigrid compiles {what} in every process, in twice the time, for its cache does not know Numba "
            f"{numba.__version__} ({error}); install a version that multigrid was tested with",
            stacklevel=2,
        )
        return None
    return KernelCache(sources, beside, what)


@functools.cache
def _open_cache() -> Any:
    return open_cache(list_sources(), Path(__file__).parent / "__pycache__", "the rules of the game")


@functools.cache
def _open_cache_of_games() -> Any:
    """Return the cache of functions of the package's games, whose files the rules do not depend on."""
    folder = Path(__file__).parents[1] / "games"
    return open_cache([*list_sources(), *sorted(folder.rglob("*.py"))], folder / "__pycache__", "")


def compile_with(cache: Any, function: Callable[..., Any], *, forceinline: bool, allocates: bool = True) -> Any:
    """Return Numba's dispatcher of a function, with what `open_cache` returned.

    One that allocates no memory, nor returns any, is compiled faster.
    """
    if cache is None:
        import numba

        return numba.njit(nogil=True, error_model="numpy", forceinline=forceinline, _nrt=allocates)(function)
    from multigrid.runtime.kernel_cache import compile_cached

    return compile_cached(function, cache, forceinline=forceinline, allocates=allocates)


def compile_function(function: Callable[..., Any], *, forceinline: bool) -> Any:
    """Return Numba's dispatcher of a function of the rules, which allocates nothing, or of a game."""
    is_own = function.__module__.startswith(("multigrid.core.", "multigrid.runtime."))
    cache = _open_cache_of_games() if function.__module__.startswith("multigrid.games.") else _open_cache()
    return compile_with(cache, function, forceinline=forceinline, allocates=not is_own)


class Function:
    """A function of the rules, which runs as Python on `Arrays`, and which compiled code calls compiled.

    Nothing is compiled, nor is Numba imported, before that.

    Args:
        py_func: what Python runs.
        make: returns what compiled code calls: Numba's dispatcher, or an intrinsic.

    >>> @inlined
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double(4)
    8
    """

    __name__: str
    __qualname__: str

    def __init__(self, py_func: Callable[..., Any], make: Callable[[], Any]) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self._make = make

    def __call__(self, *arguments: Any) -> Any:
        """Let Python run the function."""
        return self.py_func(*arguments)

    def __reduce__(self) -> str:
        return self.__qualname__

    @functools.cached_property
    def compiled(self) -> Any:
        """What compiled code calls."""
        return self._make()

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from multigrid.runtime.table_types import find_type

        return find_type(self.compiled)


class Kernel(Function):
    """A function that Python calls, too: compiled with an address table, as Python with `Arrays`."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the function, as the first argument says."""
        function = self.py_func if hasattr(arguments[0], "hooks") else self.from_wheel or self.compiled
        return function(*arguments)

    @functools.cached_property
    def from_wheel(self) -> Any:
        """The function of the wheel that Python calls with arrays; None if there is none."""
        return getattr(_LIBRARY, f"{self.__module__}.{self.__name__}".replace(".", "_"), None)


class Bound:
    """A kernel of a set of rules, see `multigrid.runtime.tables.RULES`, that Python calls with address tables.

    The set "" is the rules of the built-in game. A call takes less time than one of Numba's dispatcher, for it does not
    look at the types of the arguments.
    """

    def __init__(self, kernel: Any, rules: str = "") -> None:
        self.__name__, self.py_func, self._kernel, self._rules = kernel.__name__, kernel.py_func, kernel, rules
        self.entry: Any = None if rules else kernel.from_wheel
        """The compiled function, which takes no arguments of other types; None before the first call."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel, compiled at the first call."""
        if self.entry is None:
            from multigrid.runtime.table_types import compile_entry

            self.entry = compile_entry(self._kernel.compiled, self._rules, arguments)
        return self.entry(*arguments)


def kernel(function: _Function) -> _Function:
    """Return a function of the game that Python calls, compiled; machine code is cached for later processes.

    Its first argument is an address table, or an array. Of the wheel's kernels, Python can only call these.
    """
    return _wrap(Kernel, function, forceinline=False)


def function(plain: _Function) -> _Function:
    """Compile a function as `kernel` does, for kernels to call."""
    return _wrap(Function, plain, forceinline=False)


def inlined(plain: _Function) -> _Function:
    """Compile a function as `function` does, and inline it; for hot functions with one caller."""
    return _wrap(Function, plain, forceinline=True)


def replaced(name: str) -> Callable[[_Function], _Function]:
    """Let compiled code call an intrinsic of `multigrid.runtime.intrinsics` in place of a function."""

    def wrap(plain: _Function) -> _Function:
        found: Any = Function(plain, lambda: getattr(importlib.import_module("multigrid.runtime.intrinsics"), name))
        return found if COMPILED else plain

    return wrap


def _wrap(kind: type[Function], plain: _Function, *, forceinline: bool) -> _Function:
    made: Any = kind(plain, functools.partial(compile_function, plain, forceinline=forceinline))
    return made if COMPILED else plain


def pack_table(table: Any) -> Any:
    """Return a table, int64 (fields, columns), in the form that the kernels of the wheel take."""
    return _LIBRARY.pack(table) if _LIBRARY else table


def find_plain(function: Any) -> Any:
    """Return the function that Python can run, of a compiled one or of one that is not compiled."""
    return getattr(function, "py_func", function)


@replaced("unsigned")
def unsigned(index: Any) -> Any:
    """Return an index unchanged."""
    return index


@replaced("signed")
def signed(index: Any) -> Any:
    """Return an index unchanged."""
    return index
