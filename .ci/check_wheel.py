"""Check built distributions: everything that should be in them is, nothing else.

Every module of a wheel is imported from there; one with compiled kernels also plays, without Numba.

Usage: python .ci/check_wheel.py PATH...
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

# Run in a fresh interpreter, in a folder that is not the tree, with the wheel's contents alone on PYTHONPATH.
IMPORT_ALL = """
import importlib, pathlib, sys
home, *modules = sys.argv[1:]
for name in modules:
    try:
        file = importlib.import_module(name).__file__
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {foreign!r}:
            raise
        print(f"{{name}} needs {{error.name}}, which has an environment of its own: not imported here")
        continue
    if not pathlib.Path(file).is_relative_to(home):
        sys.exit(f"{{name}} was imported from {{file}}, not from the wheel")
"""
PLAY = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import gymnasium, pettingzoo
import multigrid
from multigrid.runtime.compiled import KERNELS
assert KERNELS == "ahead of time", KERNELS
env = multigrid.GridWorldEnv()
env.reset(seed=0)
for action in (0, 1, 2, 3):
    env.step(action)
for num_threads in (1, 2):
    envs = multigrid.vector_env(2000, num_agents=3, num_threads=num_threads)
    envs.reset(seed=0)
    for _ in range(20):
        envs.step(envs.action_space.sample())
    assert (envs._worlds._threads._pool is not None) == (num_threads == 2)
    envs.close()
"""
# A game is compiled by Numba also where the rules come with the wheel, and plays as Python runs it.
GAME = """
import os
import numpy as np
import multigrid
from multigrid import games
from multigrid.runtime.compiled import KERNELS
class Slippery(multigrid.Game):
    options = {"chance": 0.5}
    def place(w, s, e):
        for i in range(w.location.shape[1]):
            w.location[e, i, 0], w.location[e, i, 1] = i, 0
            w.target[e, i, 0], w.target[e, i, 1] = 4, i
    def begin(w, s, e):
        w.location[e, 0, 1] = games.draw_integer(w, e, 1, 4)
    def may_enter(w, s, e, i, x, y):
        return games.draw_float(w, e) < s.chance
def play():
    env = multigrid.vector_env(40, game=Slippery, num_agents=3, size=(5, 4))
    env.reset(seed=1)
    actions = np.random.default_rng(2).integers(0, 4, (30, 120))
    return env._worlds.rules.are_compiled, [env.step(each)[0]["agent"].tolist() for each in actions]
assert KERNELS == "ahead of time", KERNELS
played = play()
os.environ["MULTIGRID_CHECK"] = "1"
checked = play()
assert (played[0], checked[0]) == (True, False)
assert played[1] == checked[1]
"""
LIBRARY = "multigrid/runtime/_kernels." + ("pyd" if os.name == "nt" else "abi3.so")
BESIDE = ("benchmarks", "examples", "tests", "tools")  # in the sdist, and not in the wheel
FOREIGN = {
    *("agilerl", "benchmarl", "d3rlpy", "imitation", "momaland", "pufferlib", "ray", "skrl", "tensordict", "tianshou"),
    *("torchrl", "xuance"),
}


def main(path: Path) -> None:
    """Check a wheel or an sdist; exit with a sentence if something is wrong with it."""
    if path.suffix == ".whl":
        check_wheel(path)
    else:
        check_sdist(path)


def list_tree(folder: str) -> set[str]:
    """Return the files of a folder in the tree."""
    tree = Path(__file__).parents[1] / folder
    return {
        path.relative_to(tree.parent).as_posix()
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def check_sdist(path: Path) -> None:
    """Check that an sdist has all sources, and nothing that was compiled."""
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "pyproject.toml"}.union(*map(list_tree, ("multigrid", *BESIDE)))
    compiled = [name for name in packed if name.endswith((".so", ".o", ".pyc"))]
    if not wanted <= packed or compiled:
        sys.exit(f"{path.name} lacks {sorted(wanted - packed)} and should not have {compiled}")
    print(f"{path.name}: {len(packed)} files")


def check_wheel(wheel: Path) -> None:
    """Check the content of a wheel, and import it; play with the kernels that it brings, if it does."""
    is_pure = wheel.stem.endswith("-py3-none-any")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    packed = {name for name in names if ".dist-info/" not in name and not name.endswith("/")}
    wanted = list_tree("multigrid") | (set() if is_pure else {LIBRARY})
    if packed != wanted:
        sys.exit(f"{wheel.name} lacks {sorted(wanted - packed)} and should not have {sorted(packed - wanted)}")
    if "multigrid/py.typed" not in packed:
        sys.exit("multigrid/py.typed is missing: type checkers would not read the annotations")
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        sys.exit(f"{wheel.name} has no licence")
    with zipfile.ZipFile(wheel) as archive:
        # A former module raises an ImportError that says what takes its place.
        there = [name for name in packed if name.endswith(".py") and b"\nraise ImportError(" not in archive.read(name)]
    modules = sorted(name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in there)
    with tempfile.TemporaryDirectory() as folder:
        home, elsewhere = Path(folder).resolve() / "home", Path(folder) / "elsewhere"
        elsewhere.mkdir()
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]
        subprocess.run([*pip, str(home), str(wheel.resolve())], check=True)
        commands = [["-c", IMPORT_ALL.format(foreign=FOREIGN), str(home), *modules]]
        if not is_pure:
            commands += [["-W", "error", "-c", PLAY], ["-c", GAME]]
        for command in commands:
            around = {**os.environ, "PYTHONPATH": str(home)}
            subprocess.run([sys.executable, *command], check=True, cwd=elsewhere, env=around)
    print(f"{wheel.name}: {len(modules)} modules looked for in the wheel")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(Path(argument))
