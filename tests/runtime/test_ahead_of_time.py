"""Kernels from a wheel: they play as Numba's do, without Numba, and give way to sources that were changed."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import episode_digest
import multigrid
from helpers import run_python

pytestmark = [pytest.mark.heavy, pytest.mark.long]

ROOT = Path(multigrid.__file__).parents[1]
WHICH = "from multigrid.runtime.compiled import KERNELS; print(KERNELS)"
WITHOUT_NUMBA = "import runpy, sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; "
NO_NUMBA = """
import multigrid, sys
env = multigrid.vector_env(3, num_agents=2, size=(5, 4), on_target="restart", flatten=True)
env.reset(seed=1)
env.step(env.action_space.sample())
env.set_state(env.get_state())
multigrid.GridWorldEnv().reset(seed=1)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""
WRONG = """
import numpy as np
from multigrid import GridConfig
from multigrid.runtime import pcg64
from multigrid.core import rules
from multigrid.core.worlds import Worlds
world = Worlds(GridConfig(size=(4, 3), num_agents=2))
table, streams, seeds = world._address_table, np.zeros((3, 6), np.uint64), np.zeros(3, np.uint64)
calls = [
    (rules.step_worlds, (table, 0)),
    (rules.step_worlds, (table, 0, 1, 2)),
    (rules.step_worlds, (table, 0.0, 1)),
    (rules.step_worlds, (world.arrays, 0, 1)),
    (rules.step_worlds, (7, 0, 1)),
    (pcg64._seed, (streams, seeds.astype(np.int64))),
    (pcg64._seed, (streams, seeds[:, np.newaxis])),
    (pcg64._seed, (streams, seeds[::-1])),
    (pcg64._seed, (streams, seeds.tolist())),
]
for kernel, arguments in calls:
    try:
        kernel.from_wheel(*arguments)
    except (TypeError, ValueError) as error:
        print(type(error).__name__)
    else:
        print("no error")
assert not streams.any()
"""


def run(home, *arguments, said="", **variables):
    """Run Python with the package of a folder, and return what it printed; its last line of errors begins as given."""
    around = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "MULTIGRID_"))}
    done = run_python(*map(str, arguments), cwd=home, env={**around, "PYTHONPATH": str(home), **variables})
    assert done.stderr == "" if not said else done.stderr.splitlines()[-1].startswith(said)
    assert (done.returncode == 0) == (said == "")
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the package as the wheel for this platform brings it."""
    folder = tmp_path_factory.mktemp("wheel")
    # Not isolated: what it needs is installed.
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"})
    (wheel,) = folder.glob("*-cp310-abi3-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "home")
    return folder / "home"


def test_episodes_are_those_of_numba(home):
    """Without Numba, and with every warning an error, whole episodes under all rules are bit for bit the same."""
    script = f"runpy.run_path({episode_digest.__file__!r}, run_name='__main__')"
    assert run(home, "-W", "error", "-c", WITHOUT_NUMBA + script) == episode_digest.digest() + "\n"


def test_numba_is_not_imported(home):
    """Where Numba is installed, no env imports it."""
    assert run(home, "-W", "error", "-c", NO_NUMBA) == "[]\n"


def test_the_planners_alone_are_said_to_be_slow(home):
    """Without Numba a warning at the import of the planners speaks of them, for the game is compiled."""
    code = WITHOUT_NUMBA + "import warnings; warnings.simplefilter('error'); import multigrid.planning"
    run(home, "-c", code, said="UserWarning: Numba is not installed: planners and games of your own give")


@pytest.mark.parametrize(
    ("variables", "kernels"),
    [
        ({}, "ahead of time"),
        ({"MULTIGRID_JIT": "0", "NUMBA_DISABLE_JIT": ""}, "ahead of time"),
        ({"MULTIGRID_JIT": "1"}, "just in time"),
        ({"NUMBA_BOUNDSCHECK": "1"}, "just in time"),
        ({"NUMBA_DISABLE_JIT": "1"}, "interpreted"),
    ],
)
def test_settings_of_numba_are_followed(home, variables, kernels):
    """Who asks Numba for other machine code, or for none, gets that."""
    assert run(home, "-c", WHICH, **variables) == kernels + "\n"


def test_changed_sources_are_compiled_anew(home, tmp_path):
    """After an edit of a file that kernels are made from, those of the wheel are not used."""
    shutil.copytree(home, tmp_path / "home")
    path = tmp_path / "home" / "multigrid" / "actions.py"
    path.write_text(path.read_text() + "\n")
    assert run(tmp_path / "home", "-c", WHICH) == "just in time\n"


def test_wrong_arguments_are_refused(home):
    """An argument of another type, or one too few or too many, raises an error and writes nothing."""
    assert run(home, "-c", WRONG).split() == ["TypeError"] * 3 + ["ValueError"] * 2 + ["TypeError"] * 4


def test_the_wheel_is_whole(home):
    """The licence is inside; beside it and the compiled module, the wheel has the files of the sources alone."""
    (metadata,) = home.glob("*.dist-info")
    assert (metadata / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert "Root-Is-Purelib: false" in (metadata / "WHEEL").read_text()
    for path in (*ROOT.glob("multigrid/core/*.py"), *ROOT.glob("multigrid/runtime/*.py")):
        packed = home / path.relative_to(ROOT)
        assert hashlib.sha256(packed.read_bytes()).digest() == hashlib.sha256(path.read_bytes()).digest()
