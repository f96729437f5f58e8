"""The advice that a missing library gives."""

import importlib.metadata
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import run_python
from multigrid.cli import _COMMANDS
from multigrid.integrations.extras import install_command

ROOT = Path(__file__).parents[2]


def test_a_checkout_is_named(tmp_path, monkeypatch):
    """From a checkout the command installs the checkout, which is `.` in its own folder."""
    monkeypatch.chdir(tmp_path)
    assert install_command("train") == f'pip install -e "{ROOT}[train]"'
    monkeypatch.chdir(ROOT)
    assert install_command("train") == 'pip install -e ".[train]"'


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        (importlib.metadata.PackageNotFoundError("multigrid-marl"), ""),
        (None, ""),
        ({"url": "file:///wheels/m.whl", "archive_info": {}}, " @ file:///wheels/m.whl"),
        ({"url": "https://h/m", "vcs_info": {"vcs": "git", "commit_id": "83d0"}}, " @ git+https://h/m@83d0"),
    ],
    ids=["nowhere", "index", "file", "repository"],
)
def test_what_was_installed_is_named(origin, address, tmp_path, monkeypatch):
    """Beside other packages, the command installs from where pip found this one, or else from the index."""

    def find(name):
        if isinstance(origin, Exception):
            raise origin
        return SimpleNamespace(read_text={"direct_url.json": origin and json.dumps(origin)}.get)

    monkeypatch.setattr(importlib.metadata, "distribution", find)
    assert install_command("train", tmp_path / "multigrid") == f'pip install "multigrid-marl[train]{address}"'


IMPORT = """
import sys
sys.modules.setdefault("torch", sys)  # it is not what is missing, and takes seconds
sys.modules[{library!r}] = None  # so that importing it fails
try:
    import multigrid.integrations.{module}
except ModuleNotFoundError as error:
    print(error.name.partition(".")[0], error)
"""


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [("sb3", "stable_baselines3", "train"), ("supersuit", "supersuit", "supersuit"), ("rllib", "ray", "rllib")],
)
def test_a_missing_library_says_how_to_install_it(module, library, extra):
    """Importing an integration without its library is an error with the command that installs it."""
    done = run_python("-W", "ignore:Numba is not installed", "-c", IMPORT.format(module=module, library=library))
    expected = f"{library} multigrid.integrations.{module} needs {library}, which is not installed: pip install -e "
    assert done.stdout.startswith(expected), done.stdout + done.stderr
    assert done.stdout.endswith(f'[{extra}]"\n')


FACES = """
import sys
sys.modules.update(rich=None, tyro=None)  # so that importing them fails
import gymnasium, multigrid
from multigrid.cli import _COMMANDS, main

env = multigrid.GridWorldEnv(render_mode="rgb_array")
env.reset(seed=0), env.step(0), env.render()
gymnasium.make("multigrid/GridWorld-v0").reset(seed=0)
parallel = multigrid.parallel_env(num_agents=3, size=(6, 4))
parallel.reset(seed=0), parallel.step(dict.fromkeys(parallel.agents, 1))
turns = multigrid.env(num_agents=2)
turns.reset(seed=0), turns.step(0)
vector = multigrid.vector_env(3, num_agents=2)
vector.reset(seed=0), vector.step(vector.action_space.sample() * 0)
assert main([]) == 0 and main(["--version"]) == 0
for command in _COMMANDS:
    assert main([command]) == 1
"""


def test_without_rich_and_tyro_only_commands_are_missing():
    """All interfaces work without rich and tyro; each command says in one line what to install, and exits with 1."""
    done = run_python("-W", "ignore:Numba is not installed", "-c", FACES)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(lines) == len(_COMMANDS)
    for command, line in zip(_COMMANDS, lines, strict=True):
        extra = "train" if command == "train" else "cli"
        words = rf"multigrid {command} needs (rich|tyro), which is not installed: pip install .*\[{extra}\]\S*"
        assert re.fullmatch(words, line), line
