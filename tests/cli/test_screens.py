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


@pytest.mark.parametrize("command", ["--version", f"evaluate random {WORLD} --output rows.csv"])
def test_a_reader_has_seen_enough(command):
    """On a pipe that its reader has closed, a command ends with the code 1 and without a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "multigrid", *command.split()]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, env=AROUND, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"episodes in rows.csv\n" * ("rows.csv" in command))
    assert Path("rows.csv").exists() == ("rows.csv" in command)


def test_streams_that_are_no_files(monkeypatch):
    """A stream of the caller's own is written to."""
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    assert main(["--help"]) == 0
    assert own.getvalue().startswith("usage: multigrid COMMAND")
