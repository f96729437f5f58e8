"""The advice that a missing library gives."""

import importlib.metadata
import json
from pathlib import Path

import pytest

from helpers import run_python
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
        (None, ""),
        ({"url": "file:///wheels/m.whl", "archive_info": {}}, " @ file:///wheels/m.whl"),
        (
            {"url": "https://host/m.git", "vcs_info": {"vcs": "git", "commit_id": "83d0"}},
            " @ git+https://host/m.git@83d0",
        ),
    ],
    ids=["index", "file", "repository"],
)
def test_what_was_installed_is_named(origin, address, tmp_path, monkeypatch):
    """Beside other packages, the command installs from where pip found this one."""

    class Found:
        def read_text(self, name):
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Found())
    assert install_command("train", tmp_path / "multigrid") == f'pip install "multigrid-marl[train]{address}"'


def test_nothing_is_installed(tmp_path, monkeypatch):
    """Where pip knows of no such package, the command names the index."""

    def find(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", find)
    assert install_command("rllib", tmp_path / "multigrid") == 'pip install "multigrid-marl[rllib]"'


IMPORT = """
import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {library!r}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Hidden())
sys.modules.setdefault("torch", sys)  # it is not what is missing, and takes seconds
try:
    import multigrid.integrations.{module}
except ModuleNotFoundError as error:
    print(error.name, error)
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
