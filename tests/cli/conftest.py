"""What the tests of the commands share: an empty folder to run in, commands with their outputs, and small films."""

import importlib.util
import json
import re

import pytest

import multigrid
from multigrid import GridConfig
from multigrid.cli import main
from multigrid.scenarios import Scenario, save


@pytest.fixture(scope="session", autouse=True)
def announced():
    """Compile something, if need be, so that no command under test announces that it compiles the rules."""
    multigrid.GridWorldEnv().reset()


@pytest.fixture(scope="session", autouse=True)
def small_films():
    """Write the films of trainings in this process with a 25th of the pixels, which take most of a short training."""
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("stable_baselines3"):
            patch.setattr("multigrid.cli._train_sb3._PIXELS", 192)
        yield


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Run each test in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave out the GIF and the heat map, which take most of the time of a tiny training."""
    monkeypatch.setattr("multigrid.cli._train_sb3.write_films", lambda *_, **__: None)


@pytest.fixture
def run(capsys):
    """A function that runs a command and returns what it prints."""

    def call(command, *words):
        capsys.readouterr()
        assert main([*command.split(), *words]) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def shown(run):
    """A function that runs a command and returns what it prints as JSON."""
    return lambda command, *words: json.loads(run(command, *words, "--json"))


@pytest.fixture
def refused(capsys):
    """A function that runs a command which is to end with the code 2 and one line that has the complaint."""

    def call(command, complaint):
        capsys.readouterr()
        assert main(command.split()) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n")) == ("", 1), printed.err
        assert printed.err.startswith(f"multigrid {command.split()[0]}: ")
        assert re.search(complaint, printed.err), printed.err

    return call


@pytest.fixture
def saved():
    """A function that saves a scenario of a picture, by default two corridors, and returns the name of the file.

    In the corridors a needs three steps, b needs two, and there is no other way.
    """

    def write(picture="a..A.\n#####\nb.B##", **settings):
        save(Scenario("by hand", GridConfig(walls=picture, **{"max_cycles": 20, **settings})), "by-hand.json")
        return "by-hand.json"

    return write


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a short training of three agents on a grid of 5 x 4, to be played and not changed."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    tiny = "--steps 64 --copies 2 --rollout 8 --batch-size 16 --epochs 1 --hidden 8 --episodes 2 --evaluations 2"
    world = "--size 5 4 --num-agents 3 --observe agent target view --view-radius 1 --max-cycles 12 --on-target leave"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multigrid.cli._train_sb3.write_films", lambda *_, **__: None)
        assert main(["train", *tiny.split(), *world.split(), "--folder", str(folder)]) == 0
    return str(folder)
