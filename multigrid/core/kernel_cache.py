"""Compiled kernels in a folder, for later processes: whatever happens to its files, they are at worst compiled again.

Numba's own cache trusts its files, so one that is cut short fails every process from then on. Here each file holds one
compiled kernel behind a digest of it, and is used only if the digest is right.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from multigrid.core.uninterrupted import stop_here

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
except ImportError:  # Windows
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

__all__ = ["KernelCache", "say"]

_Dispatcher = TypeVar("_Dispatcher")

_MADE_BY = f"{sys.implementation.cache_tag}-numba{numba.__version__}"
# Version 0.1 named its folders by the digest alone, and kept Numba's own files in them.
_FOLDER_NAME = re.compile(r"multigrid-((?P<made_by>.+-numba.+)-)?[0-9a-f]{16}")
_FILE_NAME = re.compile(r"in_use|.+\.kernel(\.[0-9a-f]+\.tmp)?|.+\.nb[ic](\.tmp\.[0-9a-f]+)?")
_DIGEST_SIZE = hashlib.sha256().digest_size
_HOUR, _MONTH = 3600.0, 30 * 24 * 3600.0
# Those of Numba's settings that change what it compiles, beside the ones in its description of the machine.
_SETTINGS = (
    *("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML", "LLVM_REFPRUNE_PASS"),
    *("LLVM_REFPRUNE_FLAGS", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES", "DEBUG_NRT", "NRT_STATS"),
    *("ENABLE_PROFILING", "USE_LLVMLITE_MEMORY_MANAGER", "USING_SVML"),
)


def say(line: str) -> None:
    """Write a line to stderr, unless that is closed, or a file on a disk that is full.

    Args:
        line: what to say, without the name of the package.

    >>> say("compiling ...")  # to stderr: multigrid: compiling ...
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"multigrid: {line}\n")


class KernelCache:
    """A folder of compiled kernels, which any number of processes may use at once.

    Nothing is read or written before it is asked for or the first kernel is called.

    Args:
        sources: the files that the kernels are made from. An edit in any of them makes a new folder.
        beside: where folders are, if NUMBA_CACHE_DIR is not set and this can be written.

    >>> cache = KernelCache([Path(numba.__file__)], Path("__pycache__"))
    >>> cache.is_lasting
    True
    """

    def __init__(self, sources: Iterable[Path], beside: Path) -> None:
        self.is_lasting = True
        """Whether later processes find what is compiled in this one, as far as is known."""
        self._beside = beside
        self._complained = False
        try:
            self.sources = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
        except OSError:  # imported from a zip file
            self.sources = ""

    def keep(self, dispatcher: _Dispatcher) -> _Dispatcher:
        """Return a function that Numba compiles, kept from then on, and found by later processes.

        One with a closure is not kept, for what is in it may differ between processes.

        Args:
            dispatcher: what `numba.njit` returned.

        >>> cache = KernelCache([Path(numba.__file__)], Path("__pycache__"))
        >>> increase = cache.keep(numba.njit(lambda number: number + 1))
        """
        compiled: Any = dispatcher
        if compiled.py_func.__closure__ is None:
            compiled._cache = _Entries(self, compiled)  # noqa: SLF001 - what Numba's enable_caching() does
        return dispatcher

    @functools.cached_property
    def folder(self) -> Path | None:
        """The folder, created if need be; one that can only be read, if that is all there is; else None."""
        name, readable = f"multigrid-{_MADE_BY}-{self.sources}", None
        for base in self._bases() if self.sources else []:
            with contextlib.suppress(OSError):
                folder = base.absolute() / name
                try:
                    self._open(folder)
                except FileNotFoundError:  # another process has just removed it
                    self._open(folder)
                return folder
            with contextlib.suppress(OSError):
                if readable is None and any(base.joinpath(name).glob("*.kernel")):
                    readable = base.absolute() / name
        self.is_lasting = False
        return readable

    def _bases(self) -> Sequence[Path]:
        if numba.config.CACHE_DIR:
            return [Path(numba.config.CACHE_DIR)]
        bases = [self._beside]
        with contextlib.suppress(RuntimeError):  # a user without a home folder
            bases.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "multigrid")
        return bases

    def _open(self, folder: Path) -> None:
        """Find or create the folder, and mark it as in use for as long as this process lives."""
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError
        in_use = os.open(folder / "in_use", os.O_RDWR | os.O_CREAT, 0o666)
        if _HAS_LOCKS:
            # Fails where the file system has no locks, and while another process removes the folder.
            with contextlib.suppress(OSError):
                flock(in_use, LOCK_SH | LOCK_NB)  # until the process ends
        else:
            os.close(in_use)
        with contextlib.suppress(OSError):  # another user's
            os.utime(folder / "in_use")
        for temporary in folder.glob("*.tmp"):  # of processes that were killed
            with contextlib.suppress(OSError):
                if temporary.lstat().st_mtime < time.time() - _HOUR:
                    temporary.unlink()
        if is_new:
            _remove_old(folder.parent, except_for=folder.name, are_own=folder.parent == self._beside.absolute())

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been compiled for this machine yet."""
        try:
            return self.folder is None or not any(self.folder.glob(f"*-{_short(_machine().encode())}-*.kernel"))
        except OSError:
            return True

    def complain(self, line: str, path: Path, error: Exception) -> None:
        """Say what is wrong with the folder, if nothing was wrong before in this process.

        Args:
            line: what to say.
            path: the file that it is about.
            error: why.

        >>> cache = KernelCache([Path(numba.__file__)], Path("__pycache__"))
        >>> cache.complain("this cannot be kept", Path("step.kernel"), OSError("the disk is full"))  # to stderr
        """
        if not self._complained:
            self._complained = True
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            say(f"{line} ({path.name}: {reason})")


class _Entries:
    """The compiled code of one function, by signature: what a `numba.core.caching._Cache` is to a dispatcher.

    Numba calls it while it holds the lock of its compiler.
    """

    def __init__(self, cache: KernelCache, dispatcher: Any) -> None:
        self._cache = cache
        self._function = dispatcher.py_func

    @property
    def cache_path(self) -> Path | None:
        return self._cache.folder

    def enable(self) -> None:
        """Do nothing: what Numba would switch is always on."""

    disable = flush = enable

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        stop_here()
        target_context.refresh()
        if self._cache.folder is None:
            return None
        path, key = self._path(self._cache.folder, signature), self._key(signature)
        try:
            content = _read(path)
            if content[:_DIGEST_SIZE] != _digest(key, content[_DIGEST_SIZE:]):
                raise ValueError("the file is damaged")  # noqa: TRY301
            reduced = pickle.loads(content[_DIGEST_SIZE:])  # noqa: S301 - as it was written
            return CompileResult._rebuild(target_context, *reduced)  # noqa: SLF001 - as Numba's own cache does
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever is in the file, the kernel can be compiled
            _discard(path)
            self._cache.complain(f"compiling again what cannot be used of the cache folder {path.parent}", path, error)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled for a signature, if that is possible."""
        if (
            self._cache.folder is None
            or compiled.library.has_dynamic_globals
            or not all(lifted.can_cache for lifted in compiled.lifted)
        ):
            return
        path, key = self._path(self._cache.folder, signature), self._key(signature)
        try:
            content = dumps(compiled._reduce())  # noqa: SLF001 - as Numba's own cache does
            _write(path, _digest(key, content) + content)
        except Exception as error:  # noqa: BLE001 - the kernel is compiled, and can be called
            self._cache.is_lasting = False
            self._cache.complain(f"what is compiled cannot be kept in the cache folder {path.parent}", path, error)

    def _key(self, signature: Any) -> bytes:
        """Return what must be the same where a file is written and where it is read."""
        code = self._function.__code__
        function = (self._function.__module__, self._function.__qualname__, code.co_firstlineno)
        return repr((*function, str(signature), self._cache.sources, _machine())).encode()

    def _path(self, folder: Path, signature: Any) -> Path:
        name = re.sub(r"\W", "", self._function.__name__)
        return folder / f"{name}-{_short(_machine().encode())}-{_short(self._key(signature))}.kernel"


def _machine() -> str:
    """Return what compiled code depends on beside its source: the processor, the versions, the settings of Numba."""
    versions = (_MADE_BY, getattr(sys, "abiflags", ""), llvmlite.__version__, np.__version__)
    settings = [str(getattr(numba.config, name, None)) for name in _SETTINGS]
    return repr((*versions, *settings, cpu_target.target_context.codegen().magic_tuple()))


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _digest(key: bytes, content: bytes) -> bytes:
    return hashlib.sha256(b"%d %b%b" % (len(key), key, content)).digest()


def _read(path: Path) -> bytes:
    """Return a file's content; OSError for what is no file, a pipe for one, which would have no end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("not a file")
    return path.read_bytes()


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all, whoever writes it at the same time."""
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


def _remove_old(base: Path, *, except_for: str, are_own: bool) -> None:
    """Remove the cache folders that nobody uses: of sources that are no longer there, or for a month.

    Args:
        base: where they are.
        except_for: the name of the one that stays.
        are_own: whether it is the package's own, so that a folder of other sources is of no use to anybody.
    """
    with contextlib.suppress(OSError):
        for folder in base.iterdir():
            match = _FOLDER_NAME.fullmatch(folder.name)
            if match and folder.name != except_for and stat.S_ISDIR(folder.lstat().st_mode):
                outdated = are_own and _HAS_LOCKS and match["made_by"] in (None, _MADE_BY)
                with contextlib.suppress(OSError):
                    if outdated or _last_use(folder) < time.time() - _MONTH:
                        _remove(folder)


def _last_use(folder: Path) -> float:
    mark = folder / "in_use"
    files = [mark] if mark.exists() else [path for path in folder.rglob("*") if path.is_file()]
    return max([folder.lstat().st_mtime, *(max(it.st_atime, it.st_mtime) for it in map(Path.lstat, files))])


def _remove(folder: Path) -> None:
    """Remove a cache folder unless a process has it locked; what is not ours in it stays."""
    with contextlib.ExitStack() as held:
        if _HAS_LOCKS and (folder / "in_use").exists():
            mark = held.enter_context((folder / "in_use").open("rb+"))
            flock(mark, LOCK_EX | LOCK_NB)  # BlockingIOError where it is in use
        for parent, folders, files in os.walk(folder, topdown=False):
            for name in filter(_FILE_NAME.fullmatch, files):
                Path(parent, name).unlink(missing_ok=True)
            for name in folders:
                with contextlib.suppress(OSError):
                    Path(parent, name).rmdir()
        folder.rmdir()
