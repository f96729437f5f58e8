"""How the kernels are compiled, kept, and, where Numba is missing, run by Python itself."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
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
    return [*sorted(here.glob("*.py")), here.parent / "actions.py", here.parent / "regions.py"]


def _writable_folder() -> Path | None:
    """Return the folder for this version of the kernels, or None where nothing can be written.

    Numba notices an edit only in the file of the kernel itself, not in the files of those it calls, so the folder's
    name is a digest of them all, and of the versions without which the folder would be of no use.
    """
    made_by = f"{sys.implementation.cache_tag} {numba.__version__}".encode()
    digest = hashlib.sha256(b"".join([made_by, *(path.read_bytes() for path in _sources())])).hexdigest()[:16]
    chosen = numba.config.CACHE_DIR
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for base in [Path(chosen)] if chosen else [Path(__file__).parent / "__pycache__", home / "multigrid"]:
        folder = base / f"multigrid-{digest}"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


_FOLDER = _writable_folder() if COMPILED else None


@contextlib.contextmanager
def _numba_cache_dir(folder: Path) -> Iterator[None]:
    """Numba reads the setting when a function is decorated, and only then."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(function: _Function) -> _Function:
    """Compile a function of the game, keeping the machine code for later processes."""
    return _compiled(function, forceinline=False)


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and into each of its callers: for the hot ones that have one caller."""
    return _compiled(function, forceinline=True)


def _compiled(function: _Function, *, forceinline: bool) -> _Function:
    if not COMPILED:
        return function
    compile_ = functools.partial(numba.njit, nogil=True, error_model="numpy", forceinline=forceinline)
    if _FOLDER is not None:
        # Numba raises RuntimeError where it finds no place for its files after all.
        with contextlib.suppress(RuntimeError), _numba_cache_dir(_FOLDER):
            return compile_(cache=True)(function)  # type: ignore[no-any-return]
    return compile_()(function)  # type: ignore[no-any-return]


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
    if COMPILED and (_FOLDER is None or not any(_FOLDER.rglob("*.nbi"))):
        kept = "once for this version" if _FOLDER else "in every process, for no cache folder can be written"
        sys.stderr.write(f"multigrid: compiling the rules of the game, {kept} ...\n")
