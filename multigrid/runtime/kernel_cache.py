"""Cache compiled kernels in a folder; a kernel whose file is damaged is compiled again.

Numba's own cache does not check its files, so a truncated one makes all later processes fail. Here each file has one
compiled kernel after its digest, and is used only if the digest matches.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import multiprocessing
import os
import pickle
import re
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from multigrid.runtime.digests import LOCAL
from multigrid.runtime.dispatchers import KernelDispatcher, find_rules, load_linked
from multigrid.runtime.sources import digest_sources
from multigrid.runtime.uninterrupted import check_stopped

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf
except ImportError:  # Windows
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

_Function = TypeVar("_Function", bound=Callable[..., Any])

_VERSIONS = f"{sys.implementation.cache_tag}-numba{numba.__version__}"
_FOLDER_NAME = re.compile(r"multigrid-(?P<versions>.+-numba.+)-[0-9a-f]{16}")
_DIGEST_SIZE = hashlib.sha256().digest_size
_MONTH = 30 * 24 * 3600.0
_POLL, _PATIENCE = 0.02, 300.0
"""Seconds between two looks whether another process has compiled a kernel, and until this one compiles it, too."""
# The settings of Numba that change compiled code and are not in its description of the machine.
_SETTINGS = (
    *("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML", "LLVM_REFPRUNE_PASS"),
    *("LLVM_REFPRUNE_FLAGS", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES", "DEBUG_NRT", "NRT_STATS"),
    *("ENABLE_PROFILING", "USE_LLVMLITE_MEMORY_MANAGER", "USING_SVML"),
)
_NUMBA_LOG = logging.getLogger("numba")


def print_message(line: str) -> None:
    """Print a line to stderr, after the package's name; do nothing if that is closed or its disk is full."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"multigrid: {line}\n")


class KernelCache:
    """A folder of compiled kernels, which any number of processes may use at once.

    Nothing is read or written before `folder` is read or the first kernel is called.

    Args:
        sources: the files that the kernels depend on; after an edit of one, another folder is used.
        beside: the parent of the folder, if NUMBA_CACHE_DIR is not set and this is writable.
        what: what the kernels are, such as "the planners", for a message when they are compiled; "" for no message.

    >>> cache = KernelCache([Path(numba.__file__)], Path("__pycache__"))
    >>> cache.is_persistent
    True
    """

    def __init__(self, sources: Iterable[Path], beside: Path, what: str = "") -> None:
        self.is_persistent = True
        """Whether later processes can load what this one compiles; False after a failed write."""
        self._beside = beside
        self._has_warned, self._what, self.shown = False, what, set[str]()
        self._locks: int | None = None
        self._locked: int | None = None
        self._depth = threading.local()
        self.sources = digest_sources(sources)

    def enable_for(self, dispatcher: _Function) -> _Function:
        """Make Numba load and save the compiled code of what `numba.njit` returned, and return that.

        A function with a closure is not cached, for the values in it may differ between processes.
        """
        compiled: Any = dispatcher
        if compiled.py_func.__closure__ is None:
            compiled._cache = _FunctionCache(self, compiled)  # noqa: SLF001 - what Numba's enable_caching() does
        return dispatcher

    @functools.cached_property
    def folder(self) -> Path | None:
        """The folder, created if necessary; if none is writable, a readable one; else None."""
        name, readable = f"multigrid-{_VERSIONS}-{self.sources}", None
        for base in self._bases() if self.sources else []:
            with contextlib.suppress(OSError):
                folder = base.absolute() / name
                self._open(folder)
                return folder
            with contextlib.suppress(OSError):
                if readable is None and any(base.joinpath(name).glob("*.kernel")):
                    readable = base.absolute() / name
        self.is_persistent = False
        return readable

    def _bases(self) -> Sequence[Path]:
        if numba.config.CACHE_DIR:
            return [Path(numba.config.CACHE_DIR)]
        bases = [self._beside]
        with contextlib.suppress(RuntimeError):  # a user without a home folder
            bases.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "multigrid")
        return bases

    def _open(self, folder: Path) -> None:
        """Create the folder if necessary, and then remove those that it replaces."""
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError
        with contextlib.suppress(OSError):  # another user's
            os.utime(folder)
        if is_new:
            _remove_old(folder, are_own=folder.parent == self._beside.absolute())

    @property
    def is_empty(self) -> bool:
        """Whether there is no compiled kernel for this machine yet."""
        try:
            return self.folder is None or not any(self.folder.glob(f"*-{_short_digest(_machine().encode())}-*.kernel"))
        except OSError:
            return True

    def lock(self, key: bytes) -> None:
        """Let no other process compile a kernel, nor those that it calls, until `unlock`; wait for one that does.

        A process that ends loses the lock, and no child has it.
        """
        if self._locked is not None or self.folder is None or not _HAS_LOCKS:
            return
        place, end = _find_place(key), time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):  # a folder that can only be read, or a file system without locks
            if self._locks is None:
                self._locks = os.open(self.folder / "compiling", os.O_RDWR | os.O_CREAT, 0o666)
            while time.monotonic() < end:
                with contextlib.suppress(BlockingIOError, PermissionError):
                    lockf(self._locks, LOCK_EX | LOCK_NB, 1, place)
                    self._locked = place
                    return
                check_stopped()
                time.sleep(_POLL)

    def unlock(self, place: int | None) -> None:
        """Let other processes compile what was locked at a place, see `_find_place`."""
        if place is not None and place == self._locked and self._locks is not None:
            self._locked = None
            with contextlib.suppress(OSError):
                lockf(self._locks, LOCK_UN, 1, place)

    def watch(self, compile_function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what compiles a function and, before it, those that it calls; then let other processes compile."""
        depth = getattr(self._depth, "count", 0)
        self._depth.count = depth + 1
        try:
            return compile_function(*arguments)
        finally:
            self._depth.count = depth
            if depth == 0:
                self.unlock(self._locked)

    def announce(self, rules: str) -> None:
        """Print a message before the first compilation for a set of rules, unless that is in a child process."""
        # Where every log is shown, as EPyMARL does, Numba would write megabytes about each function, for minutes.
        if _NUMBA_LOG.level == logging.NOTSET:
            _NUMBA_LOG.setLevel(logging.WARNING)
        what = rules.rpartition("-")[0] or self._what
        is_outermost = getattr(self._depth, "count", 0) <= 1
        is_new = what and what not in self.shown and is_outermost and multiprocessing.parent_process() is None
        if is_new and (rules or self.is_empty):
            how = ("in every process, for no cache folder can be written", "once for this version")[self.is_persistent]
            how = "in every process, for it reads objects of other libraries" if LOCAL in rules else how
            print_message(f"compiling {what}, {how} ...")
        self.shown.add(what)

    def warn_once(self, line: str, path: Path, error: Exception) -> None:
        """Print a message about a file in the folder, with the error; do nothing after the first call."""
        if not self._has_warned:
            self._has_warned = True
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            print_message(f"{line} ({path.name}: {reason})")


def compile_cached(function: _Function, cache: KernelCache, *, forceinline: bool, allocates: bool = True) -> _Function:
    """Compile a function when it is first called, and keep the machine code in a cache.

    One that allocates no memory, nor returns any, is compiled faster.
    """
    options = {"nopython": True, "nogil": True, "error_model": "numpy", "forceinline": forceinline, "_nrt": allocates}
    dispatcher: Any = KernelDispatcher(function, targetoptions=options)
    dispatcher.watch = cache.watch
    return cache.enable_for(dispatcher)  # type: ignore[no-any-return]


class _FunctionCache(NullCache):  # type: ignore[misc]
    """The cache of one function's compiled code, which Numba calls while holding its compiler lock."""

    def __init__(self, cache: KernelCache, dispatcher: Any) -> None:
        self._cache = cache
        self._dispatcher = dispatcher

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled code of a signature, or None."""
        compiled = self._load(signature, target_context)
        if compiled is None:
            self._cache.lock(self._key(signature))
            compiled = self._load(signature, target_context)
        if compiled is None:
            self._cache.announce(find_rules(signature))
        return compiled

    def _load(self, signature: Any, target_context: Any) -> Any:
        check_stopped()
        if self._cache.folder is None or self._is_local(signature):
            return None
        path, key = self._path(self._cache.folder, signature), self._key(signature)
        try:
            content = path.read_bytes()
            if content[:_DIGEST_SIZE] != _digest(key, content[_DIGEST_SIZE:]):
                raise ValueError("the file is damaged")  # noqa: TRY301
            target_context.refresh()
            reduced = pickle.loads(content[_DIGEST_SIZE:])  # noqa: S301 - as it was written
            if self._is_linked:
                return load_linked(target_context, reduced)
            return CompileResult._rebuild(target_context, *reduced)  # noqa: SLF001 - as Numba's own cache does
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 - the kernel can be compiled instead
            _discard(path)
            self._cache.warn_once(f"compiling again what cannot be used in the cache folder {path.parent}", path, error)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save the compiled code of a signature, if possible."""
        if (
            self._cache.folder is None
            or self._is_local(signature)
            or compiled.library.has_dynamic_globals
            or not all(lifted.can_cache for lifted in compiled.lifted)
        ):
            return
        path, key = self._path(self._cache.folder, signature), self._key(signature)
        try:
            content = dumps(compiled._reduce())  # noqa: SLF001 - as Numba's own cache does
            _write(path, _digest(key, content) + content)
        except Exception as error:  # noqa: BLE001 - the kernel can be called all the same
            self._cache.is_persistent = False
            self._cache.warn_once(f"compiled kernels cannot be kept in the cache folder {path.parent}", path, error)
        self._cache.unlock(_find_place(key))

    @property
    def _is_linked(self) -> bool:
        return getattr(self._dispatcher, "is_linked", False)

    def _is_local(self, signature: Any) -> bool:
        """Return whether no other process may use what is compiled, see `multigrid.runtime.digests.LOCAL`."""
        return LOCAL in f"{self._dispatcher.py_func.__qualname__} {signature}"

    def _key(self, signature: Any) -> bytes:
        """Return what identifies the compiled code: the function, the signature, the sources and the machine."""
        plain = self._dispatcher.py_func
        # The name of a user's function has a digest, with its line if that matters.
        line = 0 if "@" in plain.__qualname__ else plain.__code__.co_firstlineno
        function = (plain.__module__, plain.__qualname__, line, self._is_linked)
        return repr((*function, str(signature), self._cache.sources, _machine())).encode()

    def _path(self, folder: Path, signature: Any) -> Path:
        name = re.sub(r"\W", "", self._dispatcher.py_func.__name__)
        return folder / f"{name}-{_short_digest(_machine().encode())}-{_short_digest(self._key(signature))}.kernel"


def _machine() -> str:
    """Return what compiled code depends on besides its source: the processor, the versions, the settings of Numba."""
    versions = (_VERSIONS, getattr(sys, "abiflags", ""), llvmlite.__version__, np.__version__)
    settings = [str(getattr(numba.config, name, None)) for name in _SETTINGS]
    return repr((*versions, *settings, cpu_target.target_context.codegen().magic_tuple()))


def _find_place(key: bytes) -> int:
    """Return a number of 56 bits for a key, the byte of a file that is locked while its kernel is compiled."""
    return int.from_bytes(hashlib.sha256(key).digest()[:7], "big")


def _short_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _digest(key: bytes, content: bytes) -> bytes:
    return hashlib.sha256(b"%d %b%b" % (len(key), key, content)).digest()


def _write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, also when several processes write it."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)  # another process may have removed it
    try:
        with temporary.open("xb") as file:
            file.write(content)
        temporary.replace(path)
    except BaseException:
        _discard(temporary)
        raise


def _discard(path: Path) -> None:
    """Remove a file, or an empty folder in its place, if possible."""
    try:
        path.unlink()
    except OSError:
        with contextlib.suppress(OSError):
            path.rmdir()


def _remove_old(new: Path, *, are_own: bool) -> None:
    """Remove cache folders beside a new one: those opened a month ago, and in the package those of other sources.

    A process that still uses one compiles again what it has not loaded yet.
    """
    with contextlib.suppress(OSError):
        for folder in new.parent.iterdir():
            match = _FOLDER_NAME.fullmatch(folder.name)
            if match and folder != new:
                is_outdated = are_own and match["versions"] == _VERSIONS
                with contextlib.suppress(OSError):
                    if is_outdated or folder.lstat().st_mtime < time.time() - _MONTH:
                        shutil.rmtree(folder)
