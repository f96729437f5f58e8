"""Terminals and pipes that cannot take what a command prints."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import AROUND, read_rows
from multigrid.cli import main

WORLD = "--size 4 3 --episodes 8"


@pytest.mark.parametrize("encoding", ["ascii", "cp437"])
@pytest.mark.parametrize(
    "command", [f"evaluate shortest-path random {WORLD} --output rows.csv", "train --help", "--help"]
)
def test_an_encoding_lacks_characters(encoding, command, monkeypatch):
    """Characters that an encoding lacks become question marks; files are written, and the stream is left as it was."""
    with open("shown.txt", "w", encoding=encoding) as stream, contextlib.suppress(SystemExit):  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(command.split()) == 0
        with pytest.raises(UnicodeEncodeError):
            stream.write("\u4e2d")
    assert Path("shown.txt").read_text(encoding)
    if "evaluate" in command:
        assert len(read_rows(Path("rows.csv"))) == 16


@pytest.mark.parametrize(("flag", "joined"), [("--output rows.csv", False), ("--json", True)])
def test_a_reader_has_seen_enough(flag, joined):
    """On a pipe that its reader has closed, a command ends with the code 1 and without a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "multigrid", *f"evaluate random {WORLD} {flag}".split()]
    error = writing if joined else subprocess.PIPE
    done = subprocess.run(command, stdout=writing, stderr=error, env=AROUND, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, None if joined else b"episodes in rows.csv\n")
    if not joined:
        assert len(read_rows(Path("rows.csv"))) == 8


def test_streams_that_are_no_files(monkeypatch):
    """A stream of the caller's own is written to."""
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    assert main(["--help"]) == 0
    assert own.getvalue().startswith("usage: multigrid COMMAND")
