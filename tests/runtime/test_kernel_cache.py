"""The folder of compiled kernels: whatever is in it, the result is right, at most one line is said, and it heals."""

import errno
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import AROUND
from multigrid.runtime.compiled import JUST_IN_TIME

if not JUST_IN_TIME:
    pytest.skip("Numba compiles nothing here", allow_module_level=True)

import numba

from multigrid.runtime import kernel_cache
from multigrid.runtime.kernel_cache import KernelCache

pytestmark = pytest.mark.heavy
SOURCES = [Path(__file__)]
needs_locks = pytest.mark.skipif(os.name == "nt", reason="processes wait for one another where there is fcntl")


def polynomial(number):
    """Something to compile."""
    return 3 * number * number + number - 5


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A folder for cache folders."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def another(function=polynomial):
    """Return a function as a process has it that starts now."""
    return KernelCache(SOURCES, Path("never")).enable_for(numba.njit(function))


def found(function, number=7):
    """Call the function, which must return what Python does; return whether it was found in the cache."""
    assert function(number) == function.py_func(number)
    return sum(function.stats.cache_hits.values()) == 1


def kernels(base):
    """Return the files that hold compiled code."""
    return sorted(base.glob("multigrid-*/*.kernel"))


@pytest.fixture
def kept(base, capfd):
    """The file of the polynomial, compiled by an earlier process, which had nothing to say."""
    assert not found(another())
    (file,) = kernels(base)
    assert capfd.readouterr().err == ""
    return file


def assert_one_line(printed, folder, *words):
    """Check that one line has been said, with the folder and the words in it."""
    assert printed.out == ""
    assert re.fullmatch(r"multigrid: [^\n]*\n", printed.err)
    assert all(word in printed.err for word in (f"the cache folder {folder} ", *words))


def test_what_one_process_compiles_the_next_one_finds(kept, capfd):
    """Nothing is compiled twice, by one signature each, and nothing is said."""
    assert found(another())
    other = another()
    assert not found(other, 7.5)
    assert found(another(), 7.5)
    assert len(kernels(kept.parent.parent)) == 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("place", "changed"),
    [
        ("_VERSIONS", "cpython-311-numba0.99.0"),
        ("llvmlite.__version__", "0.99"),
        ("np.__version__", "9.9"),
        ("numba.config.BOUNDSCHECK", 1),
        ("numba.config.OPT", 1),
        ("numba.config.CPU_NAME", "generic"),
    ],
)
def test_what_others_compiled_is_left_to_them(kept, capfd, monkeypatch, place, changed):
    """Other versions, settings and processors share a folder: each finds its own, and nobody loses anything."""
    cache = KernelCache(SOURCES, Path("never"))
    assert not cache.is_empty
    with monkeypatch.context() as patched:
        patched.setattr(f"multigrid.runtime.kernel_cache.{place}", changed)
        cache = KernelCache(SOURCES, Path("never"))
        assert cache.is_empty  # so that the compilation is announced
        assert not found(cache.enable_for(numba.njit(polynomial)))
        assert found(another())
        assert not cache.is_empty
    assert len(kernels(kept.parent.parent)) == 2
    assert found(another())
    assert capfd.readouterr().err == ""


def test_numba_writes_no_log_unless_it_is_told_to(base, caplog):
    """Where the root logger shows everything, compiling adds nothing of Numba's, unless its logger has a level."""
    log = logging.getLogger("numba")
    level = log.level
    try:
        with caplog.at_level(logging.DEBUG):
            log.setLevel(logging.NOTSET)
            found(another())
            assert not [record for record in caplog.records if record.name.startswith("numba")]
            log.setLevel(logging.DEBUG)
            found(another(), 7.5)
            assert [record for record in caplog.records if record.name.startswith("numba")]
    finally:
        log.setLevel(level)


def test_functions_that_look_alike_are_kept_apart(base):
    """Two functions of a module may have one name: their line is part of the key; one with a closure is not kept."""
    functions = [
        lambda number: number + 1,
        lambda number: number + 2,
    ]
    for is_known in (False, True):
        assert [found(another(function)) for function in functions] == [is_known] * 2
    before = kernels(base)

    def adding(term):
        return lambda number: number + term

    assert [found(another(adding(term))) for term in (1, 2, 2)] == [False, False, False]
    assert kernels(base) == before


def flip_machine_code(file):
    """Flip a bit in the middle of the machine code."""
    content = bytearray(file.read_bytes())
    begin = content.index(b"\x7fELF") if b"\x7fELF" in content else 0
    content[begin + (len(content) - begin) // 4] ^= 4
    file.write_bytes(content)


def replace_by_another(file):
    """Put the compiled code of another signature where the file was."""
    assert not found(another(), 7.5)
    (other,) = set(kernels(file.parent.parent)) - {file}
    shutil.copy(other, file)


DAMAGE = {
    "empty": lambda file: file.write_bytes(b""),
    "truncated": lambda file: os.truncate(file, file.stat().st_size * 2 // 3),
    "one byte short": lambda file: os.truncate(file, file.stat().st_size - 1),
    "machine code": flip_machine_code,
    "folder": lambda file: (file.unlink(), file.mkdir()),
    "another's": replace_by_another,
    "link to itself": lambda file: (file.unlink(), file.symlink_to(file)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_compiled_again(kept, capfd, damage):
    """The result is right, one line names the folder, and the next process finds all in order."""
    DAMAGE[damage](kept)
    capfd.readouterr()
    assert not found(another())
    assert_one_line(capfd.readouterr(), kept.parent, kept.name)
    assert found(another())
    assert capfd.readouterr().err == ""


def test_what_numba_cannot_load_is_compiled_again(kept, capfd, monkeypatch):
    """A file that is undamaged and of no use all the same is no error either."""
    kept.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(kernel_cache, "dumps", lambda _: b"not a pickle")
        assert not found(another())
    assert not found(another())
    assert_one_line(capfd.readouterr(), kept.parent, kept.name)
    assert found(another())


@pytest.mark.parametrize(
    ("name", "code"),
    [("read_bytes", errno.EIO), ("open", errno.EROFS), ("replace", errno.ENOSPC), ("mkdir", errno.EACCES)],
)
def test_what_cannot_be_read_or_written_is_no_error(kept, capfd, monkeypatch, name, code):
    """The code is compiled and used, one line says why it is not found or kept, and no half of a file is left."""
    original = getattr(Path, name)

    def fail(path, *arguments, **options):
        if kept.parent in path.parents or name == "mkdir":
            raise OSError(code, os.strerror(code))
        return original(path, *arguments, **options)

    monkeypatch.setattr(Path, name, fail)
    monkeypatch.setattr(KernelCache, "folder", kept.parent)
    if name != "read_bytes":
        kept.unlink()
    function = another()
    assert not found(function)
    assert_one_line(capfd.readouterr(), kept.parent, os.strerror(code))
    function(7.5)
    assert capfd.readouterr().err == ""
    assert name == "read_bytes" or {path.name for path in kept.parent.iterdir()} <= {"compiling"}


RESULT = "print(polynomial(7), dict(polynomial.stats.cache_hits) != {})"


def script(tmp_path, text):
    """Write a program with a kernel of its own, and return its path."""
    path = tmp_path / "program.py"
    path.write_text(
        "import sys, numba\n"
        "from pathlib import Path\n"
        "from multigrid.runtime import kernel_cache\n"
        "cache = kernel_cache.KernelCache([Path(__file__)], Path('never'))\n"
        "polynomial = cache.enable_for(numba.njit(lambda number: 3 * number * number + number - 5))\n" + text
    )
    return path


def run(path, base):
    """Start a program that keeps its kernels in a folder."""
    environment = {**AROUND, "NUMBA_CACHE_DIR": str(base)}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, str(path)], env=environment, text=True, **streams)


def test_where_nothing_can_be_created(base, capfd):
    """Without any folder the code is compiled, and the announcement, which knows it, is all that is said."""
    base.write_text("a file, where folders should be")
    cache = KernelCache(SOURCES, Path("never"), "the polynomials")
    assert (cache.is_empty, cache.is_persistent, cache.folder) == (True, False, None)
    assert not found(cache.enable_for(numba.njit(polynomial)))
    said = "multigrid: compiling the polynomials, in every process, for no cache folder can be written ...\n"
    assert capfd.readouterr().err == said


def test_a_folder_that_can_only_be_read_is_read(kept, capfd, monkeypatch):
    """What another user has compiled into a folder is found by those who must not write there."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    cache = KernelCache(SOURCES, Path("never"))
    assert found(cache.enable_for(numba.njit(polynomial)))
    assert (cache.folder, cache.is_persistent, cache.is_empty) == (kept.parent, False, False)
    assert capfd.readouterr().err == ""


def test_a_closed_stderr_is_no_error(kept, monkeypatch):
    """What is to be said is lost where stderr is missing, closed, or on the disk that is full."""

    class Full:
        def write(self, _text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    closed = Path(os.devnull).open("w")  # noqa: SIM115 - closed at once
    closed.close()
    for stream in (None, closed, Full()):
        kept.write_bytes(b"")
        monkeypatch.setattr(sys, "stderr", stream)
        assert not found(another())


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_process_that_is_killed_leaves_no_harm(tmp_path, base):
    """Killed before the file has its name: the next one compiles again, and says nothing."""
    path = script(
        tmp_path,
        "import os, signal\n"
        "if sys.stdin.readline() == 'die\\n':\n"
        "    Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n" + RESULT,
    )
    killed = run(path, base)
    killed.communicate("die\n", timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert kernels(base) == []
    assert run(path, base).communicate("live\n", timeout=120) == ("149 False\n", "")
    assert len(kernels(base)) == 1


@needs_locks
def test_one_process_compiles_and_the_others_wait(tmp_path, base):
    """Of processes that need one kernel at once, one compiles it and the others then load it, also if one is killed."""
    path = script(
        tmp_path,
        "save = kernel_cache._FunctionCache.save_overload\n"
        "def wait(*arguments):\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    save(*arguments)\n"
        "kernel_cache._FunctionCache.save_overload = wait\n" + RESULT,
    )
    killed = run(path, base)
    assert killed.stdout.readline() == "ready\n"
    processes = [run(path, base) for _ in range(3)]
    time.sleep(2)
    assert [process.poll() for process in processes] == [None] * 3
    killed.kill()
    killed.communicate()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate(timeout=120)[0] for process in processes]
    assert sorted(printed) == ["149 True\n", "149 True\n", "ready\n149 False\n"]


def test_processes_that_compile_at_once(tmp_path, base):
    """Where there are no locks, two processes that write one file at once get their results, and leave a good one."""
    path = script(
        tmp_path,
        "kernel_cache._HAS_LOCKS = False\n"
        "replace = Path.replace\n"
        "def wait(*arguments):\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    return replace(*arguments)\n"
        "Path.replace = wait\n" + RESULT,
    )
    processes = [run(path, base) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.communicate("go\n", timeout=120) == ("149 False\n", "")
    assert len(kernels(base)) == 1
    assert run(path, base).communicate(timeout=120) == ("149 True\n", "")
    assert len(list(kernels(base)[0].parent.iterdir())) == 1


OLD = f"multigrid-{kernel_cache._VERSIONS}-0123456789abcdef"
OTHER = "multigrid-cpython-39-numba0.59.1-0123456789abcdef"


def create(base, name, *, days=0):
    """Create a cache folder that was opened some days ago."""
    folder = base / name
    folder.mkdir(parents=True)
    (folder / "step-1-2.kernel").write_bytes(b"something")
    os.utime(folder, (time.time() - days * 24 * 3600,) * 2)


def test_of_sources_that_are_gone_nothing_is_left(base, monkeypatch):
    """Beside the sources, a new folder replaces those of other sources; those of another Python are left to it."""
    create(base, OLD)
    create(base, OTHER)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    folder = KernelCache(SOURCES, base).folder
    assert {path.name for path in base.iterdir()} == {folder.name, OTHER}


def test_what_was_opened_this_month_stays(base):
    """A new folder replaces those opened a month ago; to open one that is there marks it, and removes nothing."""
    create(base, OLD, days=29)
    create(base, OTHER, days=31)
    create(base / "and", OTHER, days=31)
    folder = KernelCache(SOURCES, Path("never")).folder
    assert {path.name for path in base.iterdir()} == {folder.name, OLD, "and"}
    assert (base / "and" / OTHER).exists()
    os.utime(folder, (0, 0))
    create(base, OTHER, days=31)
    assert KernelCache(SOURCES, Path("never")).folder == folder
    assert time.time() - folder.stat().st_mtime < 3600
    assert (base / OTHER).exists()


def test_what_is_not_ours_stays(base, tmp_path):
    """Folders and files of other names stay, and a link with such a name, with what lies behind it."""
    create(tmp_path, "elsewhere", days=31)
    create(base, "multigrid-notes", days=31)
    (base / OLD).write_text("a file")
    (base / OTHER).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    for name in (OLD, OTHER):
        os.utime(base / name, (0, 0), follow_symlinks=False)
    folder = KernelCache(SOURCES, Path("never")).folder
    assert {path.name for path in base.iterdir()} == {folder.name, "multigrid-notes", OLD, OTHER}
    assert (tmp_path / "elsewhere" / "step-1-2.kernel").exists()


def test_a_folder_that_is_removed_in_use_comes_again(base, capfd):
    """Whoever removes the folder of a living process, with rm for one, does no harm."""
    function = another()
    assert not found(function)
    shutil.rmtree(base)
    function(7.5)
    assert found(another(), 7.5)
    assert capfd.readouterr().err == ""
