"""The real clone of the benchmark, and the command on a small one."""

import re
from pathlib import Path

import pytest

from benchmarks.pogema.command import main

REAL = Path(__file__).parents[4] / "shared" / "pogema-benchmark"


@pytest.fixture
def real():
    """The benchmark's own files, which lie beside some checkouts."""
    if not REAL.is_dir():
        pytest.skip("the benchmark's files are not beside this checkout")
    return REAL


@pytest.fixture
def run(clone):
    """A function that runs the command on the small clone's puzzles, and returns its exit code."""
    return lambda *flags: main([*map(str, ("--data", clone, "--sets", "puzzles", *flags))])


@pytest.fixture
def refused(run, capsys):
    """A function that runs the command, which is to end with the code 2 and one line that has the complaint."""

    def call(complaint, *flags):
        capsys.readouterr()
        assert run(*flags) == 2
        printed = capsys.readouterr().err
        assert (printed.startswith("python -m benchmarks.pogema: "), printed.count("\n")) == (True, 1), printed
        assert re.search(complaint, printed), printed

    return call
