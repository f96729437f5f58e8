"""Helpers that tests of several folders share."""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multigrid.scenarios
from multigrid.testing import frozen

AROUND = {**os.environ, "PYTHONPATH": f"{Path(multigrid.__file__).parents[1]}{os.pathsep}{Path(__file__).parents[1]}"}
"""The environment of a Python in another process that imports the package under test, and what lies beside it."""

WALLS = """
    .......#...
    .##.#..#.#.
    .#..#....#.
    ...##.##...
    .#......#..
"""
"""A map with corridors in which agents meet, not square and not symmetric."""


def crossed(*axes: Sequence[Any]) -> list[Any]:
    """Return the rows of a product, to parametrize with: a few, where each value comes, and the rest for `--long`.

    Those few are as many as the longest axis is long; along it, the shorter ones begin again.
    """
    longest = max(axes, key=len)
    rows = []
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        number = places[axes.index(longest)]
        is_rest = any(place != number % len(axis) for axis, place in zip(axes, places, strict=True))
        values = (axis[place] for axis, place in zip(axes, places, strict=True))
        rows.append(pytest.param(*values, marks=[pytest.mark.long] * is_rest))
    return rows


def run_python(*arguments: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in another process, to its end, and return its exit code and output as text."""
    keywords = {"env": AROUND, "capture_output": True, "text": True, "timeout": 300, **keywords}
    return subprocess.run([sys.executable, *arguments], check=False, **keywords)


FINISH = """
import pathlib, pickle, sys
import multigrid
from helpers import finish

for config, state, observations, policy in pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()):
    env = multigrid.parallel_env(config)
    env.reset(seed=9)
    env.set_state(state)
    print(finish(env, policy, observations))
"""
"""Prints what `finish` returns of pickled policies, each in an environment that is set to a state."""


def finish(env: Any, policy: Any, observations: Any) -> list[dict[str, int]]:
    """Return a policy's actions to the end of the episode, and in the next one."""
    chosen = []
    for _ in range(2):
        while env.agents:
            chosen.append(policy(env, observations))
            observations, *_ = env.step(chosen[-1])
        observations, _ = env.reset()
    return chosen


def check_pickles(makes: Sequence[Any], config: multigrid.GridConfig, folder: Path) -> list[int]:
    """Assert that pickled policies act in another process as they do here; return the sizes of the pickles.

    They are pickled before their first step, after it, and in mid-episode.
    """
    cases, expected, sizes = [], [], []
    for make in makes:
        for steps in (0, 1, 7):
            env, policy = multigrid.parallel_env(config), make()
            observations, _ = env.reset(seed=5)
            for _ in range(steps):
                observations, *_ = env.step(policy(env, observations))
            cases.append(pickle.dumps((config, env.get_state(), observations, policy)))
            sizes.append(len(pickle.dumps(policy)))
            expected.append(str(finish(env, policy, observations)))
    path = folder / "policies"
    path.write_bytes(pickle.dumps([pickle.loads(one) for one in cases]))
    ended = run_python("-c", FINISH, str(path), cwd=Path(__file__).parent)
    assert ended.stdout.splitlines() == expected, ended.stderr
    return sizes


QUICKER_BENCH = """
import dataclasses, sys
from benchmarks import __main__ as command
command.QUICK = dataclasses.replace(command.QUICK, rounds=3, startups=1)
sys.exit(command.main(sys.argv[1:]))
"""
"""Runs ``python -m benchmarks``, whose ``--quick`` plays three rounds and starts Python once: half the time."""
HIDE = """
import sys

class Hidden:
    def find_spec(self, name, *_):
        if name in {!r}:
            raise ModuleNotFoundError("not installed", name=name)

sys.meta_path.insert(0, Hidden())
{}
from multigrid.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run_without(
    missing: Sequence[str], *arguments: str, before: str = "", **keywords: Any
) -> subprocess.CompletedProcess[str]:
    """Run ``multigrid`` in another process in which these libraries cannot be imported, after a line of Python."""
    return run_python("-c", HIDE.format(tuple(missing), before), *arguments, **keywords)


def interrupt_multigrid(*arguments: str, after: str, cwd: Path) -> tuple[int, str]:
    """Run ``multigrid`` as a terminal does, press Ctrl-C once it has printed `after`; return exit code and output."""
    process = subprocess.Popen(
        [sys.executable, "-m", "multigrid", *arguments],
        cwd=cwd,
        env={**AROUND, "FORCE_COLOR": "1", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # What a shell starts in the background ignores Ctrl-C, and so does all that it starts: the tests may be such.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads hold a lock here
    )
    assert process.stdout is not None
    printed, deadline = b"", time.monotonic() + 120
    while after.encode() not in printed:
        assert time.monotonic() < deadline, printed.decode()
        printed += os.read(process.stdout.fileno(), 4096)
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    return process.returncode, (printed + rest).decode()


def run_in_terminal(command: Sequence[str], columns: int = 80, **keywords: Any) -> tuple[str, int]:
    """Run a command in a pseudo-terminal, and return what the terminal got, and the exit code."""
    import fcntl  # not on Windows
    import termios

    terminal, end = os.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, **keywords)
    os.close(end)
    printed = b""
    with contextlib.suppress(OSError):  # Linux's way to say that the other end is closed
        while chunk := os.read(terminal, 4096):
            printed += chunk
    os.close(terminal)
    return printed.decode(), process.wait()


def _sizes(space: Any) -> Any:
    """How many actions a space has, or with messages how many numbers for the action and each bit."""
    return space.nvec if hasattr(space, "nvec") else space.n


def record_random_play(env: multigrid.MultiGridEnv, seed: int, steps: int) -> multigrid.scenarios.RecordEpisode:
    """Record an episode of up to `steps` random joint actions, which the seed of its reset decides."""
    recorder, random = multigrid.scenarios.RecordEpisode(env), np.random.default_rng(seed)
    recorder.reset(seed=seed)
    for _ in range(steps):
        drawn = {agent: random.integers(_sizes(env.action_space(agent))) for agent in recorder.agents}
        recorder.step(drawn)
    return recorder


def find_recipe_tests(name: str = "") -> list[Path]:
    """Return the files of tests that need the environment of a recipe, or of any."""
    folders = [Path(__file__).parents[1] / folder for folder in ("tests", "benchmarks", "examples")]
    return [path for folder in folders for path in folder.rglob(f"recipes/test_{name}*.py")]


def names(folder: Path) -> list[str]:
    """Return the sorted names of all files in a folder, hidden ones too."""
    return sorted(path.name for path in folder.iterdir())


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV file with a row of names."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_pixels(path: Path) -> np.ndarray:
    """Read a PNG: int64 (height, width, 3)."""
    from PIL import Image

    with Image.open(path) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB"), dtype=np.int64)


def read_gif(path: Path) -> tuple[dict[str, Any], list[np.ndarray], list[int]]:
    """Read a GIF: what it says of itself, int64 (height, width, 3) for each frame, and how long each is shown in ms."""
    from PIL import Image

    pictures, durations = [], []
    with Image.open(path) as image:
        assert image.format == "GIF"
        for index in range(image.n_frames):
            image.seek(index)
            pictures.append(np.asarray(image.convert("RGB"), dtype=np.int64))
            durations.append(image.info["duration"])
        return image.info, pictures, durations


def same(one: Any, other: Any, where: str = "") -> None:
    """Fail unless two values are alike to the bit, however nested."""
    assert frozen(one) == frozen(other), where


def address(array: np.ndarray) -> int:
    """Where the elements of an array begin."""
    return int(array.__array_interface__["data"][0])


def arrays_in(value: Any) -> list[np.ndarray]:
    """Return all arrays in what a call returned."""
    return [part for part in parts_in(value) if isinstance(part, np.ndarray)]


def parts_in(value: Any) -> list[Any]:
    """Return all dicts, lists and arrays in what a call returned; of tuples, which cannot change, only the content."""
    if isinstance(value, np.ndarray):
        return [value, *parts_in(value.tolist())[1:]] if value.dtype == object else [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    own = [value] if isinstance(value, dict | list) else []
    return own + [part for one in inner for part in parts_in(one)]


def spoil(value: Any) -> None:
    """Overwrite all arrays, and empty all dicts and lists, in what a call returned."""
    for part in parts_in(value):
        if isinstance(part, np.ndarray):
            part.fill(None if part.dtype == object else 1)
        else:
            part.clear()
