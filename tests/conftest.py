"""What every test shares: no window, no sound, and hypothesis without a stopwatch."""

import os
from pathlib import Path

# Before anything imports pygame, and whatever the surroundings say: tests must not open windows on somebody's screen.
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"  # the banner would stand in the output of every command under test

import pytest
from hypothesis import settings

# A first call may compile a kernel, which no deadline per example should count. The rest is hypothesis' own choice,
# which on CI is the same examples every time.
settings.register_profile("multigrid", parent=settings.default, deadline=None)
settings.load_profile("multigrid")


HEAVY_FILES = {
    "test_bench.py",
    "test_benchmarks.py",
    "test_cost.py",
    "test_doctests.py",
    "test_evaluate.py",
    "test_exhaustive.py",
    "test_figures.py",
    "test_files.py",
    "test_hostile_files.py",
    "test_hostile_generators.py",
    "test_hostile_models.py",
    "test_hostile_states.py",
    "test_kernel_cache.py",
    "test_large.py",
    "test_machine.py",
    "test_memory.py",
    "test_mutants.py",
    "test_odd_calls.py",
    "test_pages.py",
    "test_play_window.py",
    "test_readme.py",
    "test_replay_page.py",
    "test_results.py",
    "test_rollout.py",
    "test_sb3.py",
    "test_soak.py",
    "test_supersuit.py",
    "test_train.py",
    "test_window.py",
}
"""What `--light` leaves out, with every test_example_*.py and every test that is marked heavy."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever has the time ask for larger proofs, and .ci/run for less."""
    parser.addoption("--all-worlds", action="store_true", help="play every joint action in more and larger worlds")
    parser.addoption("--long", action="store_true", help="many more hostile cases, a longer soak, a million steps")
    parser.addoption(
        "--light", action="store_true", help="leave out what needs a learner, a browser, a display or minutes"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker of single tests that `--light` leaves out."""
    config.addinivalue_line("markers", "heavy: needs a learner, a browser, a display or minutes; not run by --light")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Under `--light`, do not so much as import the heavy files: their libraries are missing there."""
    name = collection_path.name
    return (config.getoption("--light") and (name in HEAVY_FILES or name.startswith("test_example_"))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under `--light`, leave out the tests that are marked heavy, and say how many there are."""
    if config.getoption("--light"):
        heavy = [item for item in items if item.get_closest_marker("heavy")]
        config.hook.pytest_deselected(items=heavy)
        items[:] = [item for item in items if item not in heavy]
