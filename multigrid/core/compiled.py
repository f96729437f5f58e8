"""How the kernels are compiled, kept, and, where Numba is missing, run by Python itself."""

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

__all__ = ["COMPILED", "announce_compilation", "inlined", "interpreted", "kernel", "unsigned"]

COMPILED: bool = numba is not None and not numba.config.DISABLE_JIT
"""Whether kernels are compiled; with NUMBA_DISABLE_JIT=1 they are not."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _sources() -> list[Path]:
    """All the files that kernels are made from: a constant imported from any of them is compiled in."""
    here = Path(__file__).parent
    others = ("actions.py", "parts.py", "_checks.py", "maps/components.py", "maps/flat.py")
    return [*sorted(here.glob("*.py")), *(here.parent / name for name in others)]


if COMPILED:
    from multigrid.core.kernel_cache import KernelCache, say
    from multigrid.core.uninterrupted import uninterrupted

    _CACHE = KernelCache(_sources(), Path(__file__).parent / "__pycache__")


def kernel(function: _Function) -> _Function:
    """Compile a function of the game, keeping the machine code for later processes."""
    return _compiled(function, forceinline=False)


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and into each of its callers: for the hot ones that have one caller."""
    return _compiled(function, forceinline=True)


def _compiled(function: _Function, *, forceinline: bool) -> _Function:
    if not COMPILED:
        return function
    dispatcher = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline)(function)
    dispatcher.compile = functools.partial(uninterrupted, dispatcher.compile)
    return _CACHE.keep(dispatcher)  # type: ignore[no-any-return]


if COMPILED:
    from numba.core import types as numba_types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def unsigned(_context: Any, index: Any) -> Any:
        """Return an index that is not negative, so that compiled code need not count from the end if it were.

        It is for brackets only: what it returns turns arithmetic with other integers into that of floats.
        """

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.cast(builder, arguments[0], signature.args[0], numba_types.uint64)

        return numba_types.uint64(index), codegen

else:

    def unsigned(index: Any) -> Any:
        """Return an index as it is."""
        return index


def interpreted(function: _Function, replace: Mapping[Any, Callable[..., Any]]) -> _Function:
    """Return a kernel that Python itself runs, its callees too, some of them replaced.

    Args:
        function: a kernel, compiled or not.
        replace: kernels by what stands in for them.
    """
    made: dict[int, Callable[..., Any]] = {id(old): new for old, new in replace.items()}

    def remake(original: Any) -> Callable[..., Any]:
        if id(original) not in made:
            plain = getattr(original, "py_func", original)
            scope = dict(plain.__globals__)
            made[id(original)] = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
            for name in plain.__code__.co_names:
                called = scope.get(name)
                plain_called = getattr(called, "py_func", called)
                if id(called) in made or (
                    isinstance(plain_called, types.FunctionType)
                    and plain_called.__module__.startswith(__package__ + ".")
                ):
                    scope[name] = remake(called)
        return made[id(original)]

    return remake(function)  # type: ignore[return-value]


@functools.cache
def announce_compilation() -> None:
    """Say on stderr, once a process, in one line, that the first step will take a while, if it will."""
    if COMPILED and _CACHE.is_empty:
        kept = "once for this version" if _CACHE.is_lasting else "in every process, for no cache folder can be written"
        say(f"compiling the rules of the game, {kept} ...")
