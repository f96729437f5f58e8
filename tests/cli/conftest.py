"""What the tests of the commands share: an empty folder to run in, and small films of trainings."""

import importlib.util

import pytest

import multigrid


@pytest.fixture(scope="session", autouse=True)
def announced():
    """Compile something, if need be, so that no command under test announces that it compiles the rules."""
    multigrid.GridWorldEnv().reset()


@pytest.fixture(scope="session", autouse=True)
def small_films():
    """Write the films of trainings in this process with a 25th of the pixels, which take most of a short training."""
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("stable_baselines3"):
            patch.setattr("multigrid.cli._train_report._PIXELS", 192)
        yield


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Run each test in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave out the GIF and the heat map, which take most of the time of a tiny training."""
    monkeypatch.setattr("multigrid.cli._train_report.write_films", lambda *_, **__: None)
