"""Check a built wheel: everything that should be in it is, nothing else, and every module imports from there.

Usage: python .ci/check_wheel.py path/to/the.whl
"""

import os
import subprocess
import sys
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
FOREIGN = {
    *("agilerl", "benchmarl", "d3rlpy", "imitation", "momaland", "pufferlib", "ray", "skrl", "tensordict", "tianshou"),
    *("torchrl", "xuance"),
}


def main(wheel: Path) -> None:
    """Check one wheel; exit with a sentence if something is wrong with it."""
    tree = Path(__file__).parents[1] / "multigrid"
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(tree.parent).as_posix()
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if packed != wanted:
        sys.exit(f"{wheel.name} lacks {sorted(wanted - packed)} and should not have {sorted(packed - wanted)}")
    if "multigrid/py.typed" not in packed:
        sys.exit("multigrid/py.typed is missing: type checkers would not read the annotations")

    modules = sorted(
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in packed if name.endswith(".py")
    )
    with tempfile.TemporaryDirectory() as folder:
        home, elsewhere = Path(folder).resolve() / "home", Path(folder) / "elsewhere"
        elsewhere.mkdir()
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]
        subprocess.run([*pip, str(home), str(wheel.resolve())], check=True)
        subprocess.run(
            [sys.executable, "-c", IMPORT_ALL.format(foreign=FOREIGN), home, *modules],
            check=True,
            cwd=elsewhere,
            env={**os.environ, "PYTHONPATH": str(home)},
        )
    print(f"{wheel.name}: {len(modules)} modules looked for in the wheel")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
