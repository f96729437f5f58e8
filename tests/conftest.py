"""What every test shares: no window, no sound, and hypothesis without a stopwatch."""

import os

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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever has the time ask for the larger proof of tests/test_exhaustive.py."""
    parser.addoption("--all-worlds", action="store_true", help="play every joint action in more and larger worlds")
