"""Files of rows: one process writes at a time, and a failure leaves whole rows of one version of the rules."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from benchmarks import pogema
from benchmarks.pogema import command
from benchmarks.pogema import rows as rows_module
from benchmarks.pogema.rows import RowFile, key_of
from helpers import AROUND
from multigrid import __version__
from multigrid.core.rules import RULES_VERSION
from tiny_clone import made_row

HOLD = """
import sys, time
from pathlib import Path
from benchmarks.pogema.rows import RowFile

with RowFile(Path(sys.argv[1])):
    print("open", flush=True)
    time.sleep(600)
"""


def written(folder, *rows):
    """The file of a folder with these rows."""
    folder.mkdir()
    with RowFile(folder / "rows.csv") as file:
        for row in rows:
            file.append(row)
    return folder / "rows.csv"


def test_one_process_writes_at_a_time(tmp_path, run, refused):
    """A second run into the folder is refused in one line and changes nothing; after a kill the next one goes on."""
    file = written(tmp_path / "out", made_row())
    flags = ("--output", file.parent, "--policy", "random", "--resume", "--agents", "2")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], env=AROUND, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "open\n"
        before = file.read_bytes()
        refused(f"another run writes to {file}; wait until it has ended", *flags)
        with pytest.raises(BlockingIOError, match="another run writes to"):
            pogema.play([], lambda env, observations: {}, "mine", file=file)
        assert file.read_bytes() == before
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        assert run(*flags) == 0
        assert len(pogema.read_rows(file)) == 3
    finally:
        holder.kill()
        holder.communicate(timeout=60)


def test_rows_that_came_before_the_lock_count(tmp_path, monkeypatch, run, capsys):
    """Rows that another run writes after this one has begun, and before it locks the file, are not played again."""
    flags = ("--policy", "random", "--agents", "2", "--output", tmp_path / "out")
    make = command._make_folder

    def finish_another(options):
        monkeypatch.setattr(command, "_make_folder", make)
        assert run(*flags, *["--resume"] * options.resume) == 0
        return make(options)

    monkeypatch.setattr(command, "_make_folder", finish_another)
    assert run(*flags) == 2
    assert "holds rows; --resume goes on with them" in capsys.readouterr().err
    monkeypatch.setattr(command, "_make_folder", finish_another)
    (tmp_path / "out" / "rows.csv").unlink()
    assert run("--resume", *flags) == 0
    assert len(pogema.read_rows(tmp_path / "out" / "rows.csv")) == 2


def test_where_files_have_no_locks_rows_are_written(tmp_path, monkeypatch):
    """A file system without locks is no reason to refuse."""

    def refuse(descriptor):
        raise OSError(errno.ENOLCK, f"no locks for {descriptor}")

    monkeypatch.setattr(rows_module, "_lock", refuse)
    assert pogema.read_rows(written(tmp_path / "out", made_row())) == [made_row()]


@pytest.mark.parametrize("kept", [0, 9])
def test_a_full_disk_leaves_whole_rows(kept, tmp_path, monkeypatch):
    """If a row is written in part, the file is as before, and the next row is whole."""
    file = written(tmp_path / "out", made_row())
    before, write = file.read_bytes(), os.write
    with RowFile(file) as rows_file:

        def fill(descriptor, content):
            if len(content) > kept > 0 and file.read_bytes() == before:
                return write(descriptor, content[:kept])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fill)
            with pytest.raises(OSError, match="No space left"):
                rows_file.append(made_row(1))
        assert file.read_bytes() == before
        rows_file.append(made_row(2))
    assert pogema.read_rows(file) == [made_row(), made_row(2)]


def test_rows_under_other_rules_are_kept_apart(tmp_path, refused):
    """Rows of another version of the rules are neither joined nor gone on with, and stay as they are."""
    old = written(tmp_path / "old", made_row(rules=RULES_VERSION - 1))
    new = written(tmp_path / "new", made_row(1))
    wrong = f"rows were played under the versions {RULES_VERSION - 1} and {RULES_VERSION} of the rules"
    before = old.read_bytes(), new.read_bytes()
    refused(wrong, "--policy", "pibt", "--output", old.parent, "--resume")
    refused(wrong, "--policy", "pibt", "--output", new.parent, "--resume", "--join", old.parent)
    with pytest.raises(ValueError, match=wrong):
        pogema.play([], lambda env, observations: {}, "mine", file=old)
    assert (old.read_bytes(), new.read_bytes()) == before
    with pytest.raises(ValueError, match="rows were played under the versions"):
        pogema.join_rows(pogema.read_rows(new), pogema.read_rows(old))


def test_rows_of_other_sets_stay(tmp_path, run):
    """What a folder has of other sets, kinds and versions stays there; a set that is named twice is played once."""
    others = [made_row(set="mazes", map="m"), made_row(kind="lmapf", throughput=0.5, csr=None, isr=None)]
    file = written(tmp_path / "out", *others)
    assert run("puzzles", "--policy", "random", "--agents", 3, "--resume", "--output", file.parent) == 0
    assert f"of several versions of multigrid: {__version__}, 1." in (tmp_path / "out" / "scores.md").read_text()
    rows, played = pogema.read_rows(file), [("bay", 0), ("hall", 1)]
    assert rows[:2] == others
    assert [key_of(row) for row in rows[2:]] == [("mapf", "puzzles", *one, 3, "random") for one in played]


def test_a_file_that_is_not_there(tmp_path):
    """Reading names a missing file; a folder or a pipe in its place is refused, without waiting for anybody."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        pogema.read_rows(tmp_path / "nowhere.csv")
    with pytest.raises(OSError, match=r"directory|denied"):
        RowFile(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="pipe is no regular file"):
            RowFile(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda text: "time,speed\n1,2\n", "its columns are time, speed"),
        (lambda text: text.replace("kind,set", "set,kind"), r"its columns are set, kind, .*, not kind, set"),
        (lambda text: text.rstrip("\n").rpartition(",")[0] + "\n", r".*(shorter|argument 2)"),
        (lambda text: text.replace(",2,pibt", ",two,pibt"), ".*two"),
        (lambda text: text.replace("mapf,puzzles", "maps,puzzles"), "'kind' of row 0 is 'maps'"),
        (lambda text: text.replace(",0,2,pibt", ",0,-2,pibt"), "'agents' of row 0 is -2"),
        (lambda text: text + text.partition("\n")[2], "two rows for one algorithm and instance"),
    ],
)
def test_a_changed_file_is_refused_and_stays(change, wrong, tmp_path):
    """Other columns, missing words, impossible values and doubled rows are refused, with the name of the file."""
    file = written(tmp_path / "out", made_row())
    text = change(file.read_text())
    assert text != file.read_text()
    file.write_text(text)
    for use in (pogema.read_rows, RowFile):
        with pytest.raises(ValueError, match=rf"rows\.csv (does not hold rows of `.*`:|holds) {wrong}"):
            use(file)
        assert file.read_text() == text
