"""Files are there as a whole or not at all: beside other writers, on a full disk, through kill -9 and planted links."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import multigrid
from helpers import AROUND, names
from multigrid import maps, scenarios
from multigrid._files import create_folder, replace_file
from multigrid.cli._figures import write_figure
from multigrid.cli._files import staged_folder, write_json, write_rows
from multigrid.cli._films import write_gif, write_mp4
from multigrid.scenarios._replay_page import Replay
from multigrid.scenarios.tracing import trace_episode

pytestmark = pytest.mark.heavy

LENGTH = 300_000
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody replace a file that somebody reads")
# Writes a path over and over with one letter, and says so each time.
WRITER = """
import sys
from pathlib import Path
from multigrid._files import replace_file

path, letter, times, length = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.stdin.readline()
for _ in range(times):
    with replace_file(path) as temporary, temporary.open("w") as file:
        for _ in range(10):
            file.write(letter * (length // 10))
            file.flush()
    print("written", flush=True)
"""


def writer(path: Path, letter: str, times: int) -> subprocess.Popen[str]:
    """A process that writes when it gets a line."""
    command = [sys.executable, "-c", WRITER, str(path), letter, str(times), str(LENGTH)]
    return subprocess.Popen(command, env=AROUND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def begin(process: subprocess.Popen[str]) -> None:
    """Let a writer write."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def put(path: Path, text: str) -> None:
    """Write a file by way of `replace_file`."""
    with replace_file(path) as temporary:
        temporary.write_text(text)


@POSIX
def test_two_processes_write_one_path(tmp_path: Path) -> None:
    """All of 120 writes by two processes succeed, whoever reads meanwhile gets a whole file, and nothing else stays."""
    path = tmp_path / "model.zip"
    path.write_text("a" * LENGTH)
    writers = [writer(path, letter, 60) for letter in "bc"]
    for one in writers:
        begin(one)
    read = set()
    while any(one.poll() is None for one in writers):
        content = path.read_text()
        assert (len(content), len(set(content))) == (LENGTH, 1)
        read.add(content[0])
    for one in writers:
        said, _ = one.communicate()
        assert (one.returncode, said.count("written")) == (0, 60)
    assert read >= {"b", "c"}
    assert list(tmp_path.iterdir()) == [path]


@POSIX
def test_a_killed_writer_leaves_the_file_whole(tmp_path: Path) -> None:
    """After kill -9 the file is an old one or a new one, and what else lies there is hidden and in nobody's way."""
    path, moments = tmp_path / "model.zip", np.random.default_rng(0)
    for letter in "abcd":
        process = writer(path, letter, 10**9)
        begin(process)
        assert process.stdout is not None
        for _ in range(moments.integers(1, 12)):
            process.stdout.readline()
        process.kill()
        process.communicate()
        content = path.read_text()
        assert (len(content), set(content)) == (LENGTH, {letter})
        assert all(name.startswith(".") for name in names(tmp_path) if name != path.name)
    put(path, "whole")
    assert path.read_text() == "whole"


@POSIX
def test_no_planted_link_is_followed(tmp_path: Path) -> None:
    """A link at the path is replaced, one at a guessed temporary name is left, and the target of neither changes."""
    secret, path = tmp_path / "secret", tmp_path / "run" / "curve.png"
    secret.write_text("theirs")
    path.parent.mkdir()
    guessed = path.with_name(".curve.part.png")
    guessed.symlink_to(secret)
    path.symlink_to(secret)
    put(path, "mine")
    assert (path.is_symlink(), path.read_text()) == (False, "mine")
    assert (guessed.is_symlink(), secret.read_text()) == (True, "theirs")
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    put(path, "mine")
    assert names(tmp_path) == ["run", "secret"]
    assert path.read_text() == "mine"


@POSIX
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """When there is no room for the new bytes, the error says so, the old file is whole, and nothing else stays."""
    import resource

    path = tmp_path / "metrics.json"
    write_json(path, ["old"])
    before, allowed = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    # The disk of a process that may write no more than this to a file.
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, allowed[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_json(path, list(range(10_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


EPISODE = trace_episode(scenarios.get("maze-9x7-2"))
WRITERS: dict[str, Callable[[Path], Any]] = {
    "figure.png": lambda path: write_figure(path, Figure()),
    "film.gif": lambda path: write_gif(path, [EPISODE], 4),
    "film.mp4": lambda path: write_mp4(path, EPISODE, 4),
    "metrics.csv": lambda path: write_rows(path, ("a", "b"), [{"a": 1, "b": 2}]),
    "metrics.json": lambda path: write_json(path, ["new"]),
    "one.map": lambda path: maps.save_map(path, EPISODE.walls),
    "one.scen": lambda path: maps.save_scenario(path, []),
    "page.html": lambda path: Replay(EPISODE).save(path),
    "picture.svg": lambda path: Replay(EPISODE).save_svg(path),
    "scenario.json": lambda path: scenarios.save(scenarios.get("maze-9x7-2"), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_replaces_a_file_as_a_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before all bytes are on the disk leaves the old file, and nothing else; then the file is replaced."""
    path = tmp_path / name
    path.write_text("old")

    def press(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", press)
        with pytest.raises(KeyboardInterrupt):
            WRITERS[name](path)
    assert (names(tmp_path), path.read_text()) == ([name], "old")
    WRITERS[name](path)
    assert names(tmp_path) == [name]
    assert path.read_bytes() != b"old"


def test_the_temporary_file_is_empty_hidden_and_of_a_random_name(tmp_path: Path) -> None:
    """It lies in the folder of the path, has its suffix, and two for one path have two names."""
    path = tmp_path / "one.scen"
    with replace_file(path) as first, replace_file(path) as second:
        assert first != second
        for temporary in (first, second):
            assert (temporary.parent, temporary.suffix, temporary.read_bytes()) == (tmp_path, ".scen", b"")
            assert temporary.name.startswith(".")
            temporary.write_text("new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_may_replace_the_temporary_file(tmp_path: Path) -> None:
    """Where it removes the file and makes another of that name, that one takes the path's place."""
    with replace_file(tmp_path / "film.gif") as temporary:
        temporary.unlink()
        temporary.write_text("new")
        temporary.chmod(0o444)
    assert (tmp_path / "film.gif").read_text() == "new"
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "film.gif") as temporary:
        temporary.unlink()
    assert (tmp_path / "film.gif").read_text() == "new"


def test_the_bytes_are_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is flushed before it is moved, so that no crash of the machine leaves the name without the bytes."""
    done, fsync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: done.append(os.fstat(file).st_size) or fsync(file))
    monkeypatch.setattr(Path, "replace", lambda self, target: done.append("moved") or replace(self, target))
    put(tmp_path / "one", "12345")
    assert done == [5, "moved"]


@POSIX
def test_the_umask_counts(tmp_path: Path) -> None:
    """A file and a folder get the mode that any new one gets."""
    before = os.umask(0o027)
    try:
        put(tmp_path / "one", "")
        with create_folder(tmp_path / "two"):
            pass
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("one", "two")] == [0o640, 0o750]


@POSIX
@pytest.mark.parametrize("kind", ["folder", "link to a folder", "pipe", "link to a device"])
def test_what_is_no_file_is_not_replaced(kind: str, tmp_path: Path) -> None:
    """A folder, a pipe or a device at the path, or a link to one, is refused before anything is written."""
    path = tmp_path / "out.html"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path if "folder" in kind else "/dev/null")
    before = path.lstat().st_ino
    with pytest.raises(OSError, match=r"out\.html exists and is not a regular file; expected"), replace_file(path):
        raise AssertionError("nothing may be written")
    assert path.lstat().st_ino == before
    assert list(tmp_path.iterdir()) == [path]


def fill(folder: Path) -> None:
    """Put two files in a folder, one of them deep."""
    (folder / "deep").mkdir()
    (folder / "deep" / "one").write_text("1")
    (folder / "two").write_text("2")


def test_a_new_folder_appears_in_one_step(tmp_path: Path) -> None:
    """Its name is free until all is in it, and nothing else stays; parents are made."""
    path = tmp_path / "runs" / "out"
    with create_folder(path) as temporary:
        fill(temporary)
        assert names(path.parent) == [temporary.name]
        assert temporary.name.startswith(".")
    assert sorted(one.relative_to(path).as_posix() for one in path.rglob("*")) == ["deep", "deep/one", "two"]
    assert names(path.parent) == ["out"]


@pytest.mark.parametrize("content", ["file", "folder", "link"])
def test_a_taken_folder_is_left_alone(content: str, tmp_path: Path) -> None:
    """What got the name meanwhile stays as it is, the error names it, and the temporary folder is gone."""
    path = tmp_path / "out"

    def meet() -> None:
        with create_folder(path) as temporary:
            fill(temporary)
            if content == "file":
                path.write_text("theirs")
            elif content == "link":
                path.symlink_to(tmp_path / "nowhere")
            else:
                path.mkdir()
                (path / "theirs").write_text("theirs")

    with pytest.raises(FileExistsError, match=r"out exists already and is left alone"):
        meet()
    assert names(tmp_path) == ["out"]
    assert content != "folder" or names(path) == ["theirs"]


@POSIX
@pytest.mark.parametrize("name", ["m" * 251 + ".csv", "m" * 255, "m." + "g" * 253, "\U0001f30d" * 62 + ".gif"], ids=len)
def test_the_longest_names(name: str, tmp_path: Path) -> None:
    """A name as long as the system allows is written, and of a folder with a longer one nothing is begun."""
    put(tmp_path / name, "1")
    with create_folder(tmp_path / "m" / name):
        pass
    assert names(tmp_path) == sorted(["m", name])
    with pytest.raises(OSError, match="too long"), create_folder(tmp_path / f"{name}mmmm"):
        raise AssertionError("nothing may be written")
    assert names(tmp_path) == sorted(["m", name])


@pytest.mark.parametrize("folder", [None, "out"])
def test_a_staged_folder_that_fails_leaves_nothing(
    folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the hidden folder nor the reserved one stays; of what others put there, nothing is removed."""
    monkeypatch.chdir(tmp_path)
    named = None if folder is None else Path(folder)
    folders: list[Path] = []

    def stage(reason: type[BaseException] | None) -> None:
        with staged_folder(named, "rollouts") as (stage, made):
            fill(stage)
            folders[:] = stage, made
            if reason is not None:
                raise reason
            made.mkdir(exist_ok=True)
            put(made / "theirs", "theirs")

    with pytest.raises(KeyboardInterrupt):
        stage(KeyboardInterrupt)
    assert [path for path in Path().rglob("*") if path.name != "rollouts"] == []
    with pytest.raises(FileExistsError, match="exists already and is left alone"):
        stage(None)
    assert names(folders[1]) == ["theirs"]
    assert not folders[0].exists()


# Files of the package itself, of Python, of the system, and of the cache, which nobody else writes. In
# benchmarks/pogema it is the list of sums; `Clone.read_text`, which is called there, reads with `_files`.
OWN = {
    "_files.py",
    "runtime/kernel_cache.py",
    "runtime/sources.py",
    "integrations/extras.py",
    "rendering/replay.py",
    "scenarios/_suite.py",
    "pogema/clone.py",
    "pogema/published.py",
}


def test_files_of_users_are_read_up_to_a_limit() -> None:
    """Only `_files` reads what a user names: a pipe there does not hang, and no endless file fills the memory."""
    root, beside = Path(multigrid.__file__).parent, Path(__file__).parents[1] / "benchmarks"
    reading = set()
    for path in (*root.rglob("*.py"), *(beside / "pogema").glob("*.py")):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            mode = ast.unparse(call.args[-1]) if call.args else "'r'"
            is_method = isinstance(call.func, ast.Attribute)
            if (is_method and name in ("read_text", "read_bytes")) or (name == "open" and mode[:2] == "'r"):
                reading.add(path.relative_to(root if path.is_relative_to(root) else beside).as_posix())
    assert "pogema/clone.py" in reading
    assert reading - OWN == set()
