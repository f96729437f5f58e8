"""What the tests of the commands share: an empty folder to run in."""

from pathlib import Path

import pytest

import multigrid


@pytest.fixture(scope="session", autouse=True)
def announced() -> None:
    """Create an environment, so that no command under test announces that it compiles the rules."""
    multigrid.GridWorldEnv()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
