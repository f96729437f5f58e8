"""Where a command takes a scenario: a file, or the name of one of the suite."""

import pygame
import pytest

from multigrid import GridConfig
from multigrid.cli import main, play
from multigrid.scenarios import Scenario, load, save

NAME = "empty-9x7-2"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty folder, and a window on no display in which a game ends after one step."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")

    def step(controller, screen, ticks_per_second):
        controller.handle(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_RIGHT, mod=0))

    monkeypatch.setattr(play, "show", step)
    return tmp_path


def run(command, source):
    """Run a command, and return its exit code."""
    flags = {
        "play": ["--scenario", source, "--record", "out.json"],
        "rollout": ["--scenario", source, "--episodes", "1", "--record", "--output", "out"],
        "replay": [source, "--output", "out.html"],
    }
    return main([command, *flags[command]])


def played_name(home, command):
    """The name in what the command has written."""
    if command == "replay":
        return NAME if NAME in (home / "out.html").read_text() else None
    (path,) = home.glob("out.json" if command == "play" else "out/*-0.json")
    return load(path).name.removesuffix("-0")


@pytest.mark.parametrize("command", ["play", "rollout", "replay"])
def test_a_name_of_the_suite_is_taken(command, home, capsys):
    """Without a file of this name, the scenario of the suite is played, also beside a folder of this name."""
    (home / NAME).mkdir()
    assert run(command, NAME) == 0
    assert played_name(home, command) == NAME


@pytest.mark.parametrize("command", ["play", "rollout", "replay"])
def test_an_existing_file_wins(command, home, capsys):
    """A file that has the name of a scenario of the suite is read: here it is another one, without a recording."""
    save(Scenario("mine", GridConfig(walls="a..A", max_cycles=9)), home / NAME)
    code = run(command, NAME)
    if command == "replay":
        assert (code, "scenario 'mine' has no actions" in capsys.readouterr().err) == (2, True)
    else:
        assert (code, played_name(home, command)) == (0, "mine")


@pytest.mark.parametrize("command", ["play", "rollout", "replay"])
def test_what_is_neither_is_refused_naming_both(command, home, capsys):
    """The one line says that there is no such file, and which names the suite has; nothing is written."""
    assert run(command, "empty-9x7") == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"multigrid {command}: there is no file 'empty-9x7', nor a scenario of this name in the suite"
    )
    assert (said.count("\n"), NAME in said) == (1, True)
    assert list(home.iterdir()) == []
