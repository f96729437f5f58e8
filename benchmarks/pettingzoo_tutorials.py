"""Run the scripts of PettingZoo's tutorials with multigrid: ``python -m benchmarks.pettingzoo_tutorials CLONE``.

CLONE is a clone of PettingZoo's repository, of which nothing is copied here. Each script runs in a process and a folder
of its own, with another `make` and with fewer steps, as the table below says, and with nothing else changed.
docs/pettingzoo_tutorials.md has the scripts that need other libraries.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMAGE, VECTOR = 'observe="rgb"', "flatten=True"
MASKED = 'flatten=True, observe=("offset", "others", "action_mask")'
TUTORIALS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "CleanRL/cleanrl.py": (f"{IMAGE}, size=8", {"max_cycles = 125": "max_cycles = 30"}, ()),
    "CleanRL/cleanrl_advanced.py": (IMAGE, {}, ("--total-timesteps", "256", "--num-steps", "32")),
    "SB3/kaz/sb3_kaz_vector.py": (VECTOR, {"steps=81_920": "steps=2_048", "num_games=10": "num_games=2"}, ()),
    "SB3/pistonball/sb3_pistonball_vector.py": (IMAGE, {"steps=40_960 * 2": "steps=2_048"}, ()),
    "SB3/connect_four/sb3_connect_four_action_mask.py": (
        MASKED,
        {"steps=20_480": "steps=2_048", "num_games=100, render_mode=None": "num_games=4, render_mode=None"},
        (),
    ),
}
"""The options, the texts that are replaced, and the arguments of each script."""

_IMPORT = "from pettingzoo import make\n"
_MAKE = """import pettingzoo
import multigrid


def make(api, _id, **given):
    chosen = {{name: given[name] for name in ("render_mode", "max_cycles") if name in given}}
    return pettingzoo.make(api, "multigrid/MultiGrid-v0", {options}, **chosen)
"""


def run(clone: Path, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the tutorials in a folder; raise ValueError if it is not the one that was tried."""
    options, changes, arguments = TUTORIALS[name]
    source = (clone / "tutorials" / name).read_text(encoding="utf-8")
    for old, new in {_IMPORT: _MAKE.format(options=options), **changes}.items():
        if old not in source:
            raise ValueError(f"{name} has no {old!r}; expected the scripts of PettingZoo 1.27")
        source = source.replace(old, new)
    script = folder / Path(name).name
    script.write_text(source, encoding="utf-8")
    env = {**os.environ, "SDL_VIDEODRIVER": "dummy", "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run(  # noqa: S603 - scripts of a clone that the user names
        [sys.executable, script.name, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def main(arguments: list[str]) -> int:
    """Run all scripts, print whether each has run to its end, and return how many have not."""
    failed = 0
    for name in TUTORIALS:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            done = run(Path(arguments[0]), name, Path(folder))
        failed += done.returncode != 0
        verdict = "ran" if done.returncode == 0 else f"failed:\n{done.stderr}"
        sys.stdout.write(f"{name}, {time.perf_counter() - begin:.0f} s: {verdict}\n")
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
