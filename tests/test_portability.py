"""Where a system lacks what POSIX has, something else happens: docs/contributing/portability.md says what."""

import os
import signal
import types
from pathlib import Path
from unittest.mock import Mock

import pytest

from helpers import AROUND, run_python
from multigrid import _files
from multigrid.cli import _exit_on_signals


def test_files_without_posix_flags(tmp_path, monkeypatch):
    """On Windows files are written, an empty folder is replaced, and what is open elsewhere stays, with an error."""
    windows = {name: value for name, value in vars(os).items() if name != "O_NONBLOCK"}
    monkeypatch.setattr(_files, "os", types.SimpleNamespace(**windows | {"name": "nt"}))
    rename = Path.rename
    monkeypatch.setattr(Path, "rename", lambda self, to: to.mkdir() if to.exists() else rename(self, to))
    path = tmp_path / "new" / "one"
    path.parent.mkdir()
    with _files.create_folder(path.parent) as folder, _files.replace_file(folder / "one") as temporary:
        temporary.write_text("old")
    assert _files.read_bytes(path) == b"old"
    with pytest.raises(ValueError, match="is not a regular file"):
        _files.read_bytes(Path(os.devnull))
    monkeypatch.setattr(Path, "replace", Mock(side_effect=PermissionError("in use")))
    with pytest.raises(PermissionError, match="in use"), _files.replace_file(path):
        pass
    assert [one.read_text() for one in path.parent.iterdir()] == ["old"]


def test_signals_without_posix_names(monkeypatch):
    """Without SIGHUP, SIGTERM still ends a command."""
    monkeypatch.delattr(signal, "SIGHUP", raising=False)
    with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)), _exit_on_signals():
        signal.raise_signal(signal.SIGTERM)


KERNELS = """
import os, pathlib, sys, unittest.mock
sys.modules["fcntl"] = None  # so that importing it fails
import numba, multigrid.runtime.kernel_cache as cache
os.name, before = "nt", os.name
from multigrid.runtime.intrinsics import yield_core
os.name = before
if sys.argv[1:]:
    pathlib.Path.replace = unittest.mock.Mock(side_effect=PermissionError("in use"))
kernels = cache.KernelCache([pathlib.Path(cache.__file__)], pathlib.Path("never"))
square = kernels.enable_for(numba.njit(lambda number: number * number))
waited = numba.njit(lambda: yield_core())()
print(type(yield_core).__name__, waited, square(7), cache._HAS_LOCKS, sum(square.stats.cache_hits.values()))
"""


def test_kernels_without_locks_and_sched_yield(tmp_path):
    """Without fcntl compiled kernels are kept and found; where a file cannot be replaced, a line says so."""
    pytest.importorskip("numba")
    around = AROUND | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    done = [run_python("-c", KERNELS, *words, env=around) for words in (["refuse"], [], [])]
    assert [one.stdout for one in done] == [f"_Intrinsic 0 49 False {hits}\n" for hits in (0, 0, 1)], done
    assert "compiled kernels cannot be kept in the cache folder" in done[0].stderr
    assert [one.stderr for one in done[1:]] == ["", ""]
