"""Terminals, pipes and disks that cannot take what a command prints: its files are written, and nothing is raised."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import AROUND, read_rows
from multigrid.cli import main, show_all

WORLD = "--size 4 3 --episodes 8"
EVALUATE = f"evaluate shortest-path random {WORLD} --output"


@pytest.fixture
def show_on(monkeypatch):
    """A function that puts a file in the place of standard output or error, and returns it."""

    def put(name, path, encoding="utf-8"):
        stream = open(path, "w", encoding=encoding)  # noqa: PTH123, SIM115 - may be a descriptor; the test closes it
        monkeypatch.setattr(sys, name, stream)
        return stream

    return put


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp932"])
@pytest.mark.parametrize(
    "command",
    [
        EVALUATE + " rows.csv",
        pytest.param(f"rollout {WORLD} --output out", marks=pytest.mark.heavy),  # draws with Matplotlib
        "train --help",
        "--help",
    ],
)
def test_an_encoding_lacks_characters(encoding, command, show_on):
    """What an encoding lacks becomes ASCII; tables keep their width; the files are those of any other terminal."""
    shown, said, helps = Path("shown.txt"), Path("said.txt"), contextlib.suppress(SystemExit)
    with show_on("stdout", shown, encoding), show_on("stderr", said, encoding), helps:
        assert main(command.split()) == 0
    shown, said = (path.read_text(encoding) for path in (shown, said))
    assert shown
    assert not {"?", "\\"} & {*shown.replace("\\n", ""), *said}
    if "evaluate" in command:
        assert "[0.68-1.00]" in shown
        assert len({len(line) for line in shown.splitlines() if line.startswith(("|", "+"))}) == 2
        assert len(read_rows(Path("rows.csv"))) == 16
    if "rollout" in command:
        assert Path("out/metrics.json").is_file()


def test_characters_become_ascii(show_on):
    """Signs and drawings have substitutes of one column; letters are escaped, for other letters name another file."""
    signs, drawings = "\u2013\u2212\u00d7\u2022\u00b7", "\u2500\u2503\u253c\u256e\u2588\u2591\u28fe"
    characters = f"{signs}{drawings}\u2026\u2192\u00e9\u4e2d\udce9"
    with show_on("stdout", "shown.txt", "ascii") as stream:
        with show_all("multigrid"):
            sys.stdout.write(characters)
        assert sys.stdout is stream
        with pytest.raises(UnicodeEncodeError):
            stream.write(characters)
    assert Path("shown.txt").read_bytes() == b"--x*.-|++##*...->\\xe9\\u4e2d\xe9"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full disk to write to")
@pytest.mark.parametrize(
    "command", [EVALUATE + " rows.csv", f"rollout {WORLD} --record --output out", "evaluate --help"]
)
def test_a_full_disk_is_named(command, show_on):
    """Standard output on a full disk gives one line and the code 1, after the files are written."""
    with show_on("stdout", "/dev/full"), show_on("stderr", "said.txt"), pytest.raises(SystemExit, match="1"):
        main(command.split())
    *_, last = Path("said.txt").read_text().splitlines()
    assert last == f"multigrid {command.split()[0]}: standard output cannot be written: No space left on device"
    assert {Path("rows.csv"), Path("out")} & {*Path().iterdir()} or "--help" in command


@pytest.mark.parametrize(("flag", "joined"), [("--output rows.csv", False), ("--json", True)])
def test_a_reader_has_seen_enough(flag, joined):
    """A pipe that its reader has closed, of one stream or of both, is left alone: no traceback, and the usual code."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "multigrid", *f"evaluate random {WORLD} {flag}".split()]
    error = writing if joined else subprocess.PIPE
    done = subprocess.run(command, stdout=writing, stderr=error, env=AROUND, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, None if joined else b"episodes in rows.csv\n")
    if not joined:
        assert len(read_rows(Path("rows.csv"))) == 8


def test_streams_that_are_no_files(monkeypatch):
    """A stream of the caller's own stays in place, and a closed standard output takes what is printed."""
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    assert main(["--help"]) == 0
    assert own.getvalue().startswith("usage: multigrid COMMAND")
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["--help"]) == 0
    assert sys.stdout is None


@pytest.mark.heavy
@pytest.mark.usefixtures("no_pictures")
def test_a_training_survives_its_terminal(show_on):
    """A training whose messages cannot be written goes on to its end."""
    tiny = "--steps 64 --copies 2 --rollout 8 --batch-size 16 --epochs 1 --hidden 8 --episodes 2 --evaluations 2"
    reading, writing = os.pipe()
    os.close(reading)
    with show_on("stderr", writing):
        assert main(["train", *tiny.split(), "--size", "5", "4", "--max-cycles", "12", "--folder", "run"]) == 0
    assert Path("run/model.zip").is_file()
