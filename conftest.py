"""What every test shares: no window, no sound, and hypothesis without a stopwatch."""

import ast
import math
import os
from pathlib import Path

# Before anything imports pygame, and whatever the surroundings say: tests must not open windows on somebody's screen.
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"  # the banner would stand in the output of every command under test

import sys

import pytest
from hypothesis import settings

from multigrid.core import calls
from multigrid.runtime import sharing

# A test may edit a module twice in a second, which its bytecode does not tell apart.
sys.dont_write_bytecode = True

# A first call may compile a kernel, which no deadline per example should count. The rest is hypothesis' own choice,
# which on CI is the same examples every time.
settings.register_profile("multigrid", parent=settings.default, deadline=None)
settings.load_profile("multigrid")

# Worlds of a few agents are played by all threads in the tests, always, so that few are enough to find what threads
# break.
calls._FEWEST_AGENTS_THREADED = 0
sharing._TRIAL = math.inf


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the POGEMA benchmark with a set of two puzzles, whose sums are known."""
    # Most tests need neither this nor what it imports.
    from tiny_clone import trust, write_clone

    folder = write_clone(tmp_path / "clone")
    trust(folder, monkeypatch)
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever has the time ask for larger proofs, and .ci/run for less."""
    parser.addoption("--all-worlds", action="store_true", help="play every joint action in more and larger worlds")
    parser.addoption("--long", action="store_true", help="many more hostile cases, whole products")
    parser.addoption(
        "--light", action="store_true", help="leave out what needs a learner, a browser, a display or minutes"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers of tests that are left out, and keep the order of the files under `pytest -n`."""
    config.addinivalue_line("markers", "slow: in a folder of `SLOW`; run by `-m slow`, or where its folder is named")
    config.addinivalue_line("markers", "long: run by `--long` alone; something smaller proves the same every day")
    config.addinivalue_line("markers", "heavy: needs a learner, a browser, a display or minutes; not run by --light")
    # A folder or a file on the command line is played whole. Processes of pytest-xdist get this expression.
    given = config.option.markexpr
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and "slow" not in given:
        config.option.markexpr = f"({given}) and not slow" if given else "not slow"
    # pytest-xdist would play files with few tests last, among them those that take minutes, and one process would wait.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Under `--light`, do not so much as import the files that are marked heavy: their libraries are missing there."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return (config.getoption("--light") and is_test and is_marked_heavy(collection_path)) or None


def is_marked_heavy(path: Path) -> bool:
    """Whether a file, which is read and not run, marks all its tests with ``pytestmark = pytest.mark.heavy``."""
    marks = [
        node.value
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return any(ast.unparse(node) == "pytest.mark.heavy" for mark in marks for node in ast.walk(mark))


SLOW = {"docs", "games", "mutation", "planning", "player", "site", "training"}
"""Folders in tests/ whose tests take minutes: documents, the site, users' games, searches, trainings, mutants."""


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders; leave out what is heavy under `--light` and long without `--long`."""
    for item in items:
        if SLOW & set(item.path.relative_to(config.rootpath).parts[1:-1]):
            item.add_marker("slow")
    left_out = ["heavy"] if config.getoption("--light") else []
    left_out += [] if config.getoption("--long") else ["long"]
    out = {item for item in items if any(item.get_closest_marker(name) for name in left_out)}
    config.hook.pytest_deselected(items=list(out))
    items[:] = [item for item in items if item not in out]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each `batch` the first and the last but one of some cases of the module, of which `--long` has more."""
    if "batch" in metafunc.fixturenames:
        module = metafunc.module
        count = module.LONG_CASES if metafunc.config.getoption("--long") else module.CASES
        batches = [(first, min(first + module.BATCH, count)) for first in range(0, count, module.BATCH)]
        metafunc.parametrize("batch", batches, ids=lambda batch: f"{batch[0]}-{batch[1] - 1}")
