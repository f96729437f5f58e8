"""Measure startup times (imports, first environments, resets, seeds) and the memory of a world."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.cases import restart_config
from benchmarks.speed.kernels import AHEAD_OF_TIME, JUST_IN_TIME, kernel_form
from multigrid.config import GridConfig
from multigrid.core.worlds import Worlds
from multigrid.envs.parallel import MultiGridEnv
from multigrid.runtime import pcg64

__all__ = ["cold_start_times", "memory_per_world", "startup_times"]

_LIBRARIES = "import gymnasium, pettingzoo"
_PACKAGE = "import multigrid"
_FIRST_ENVIRONMENT = "env = multigrid.GridWorldEnv(); env.reset(seed=0); env.step(0)"
_COLD = {
    "GridWorldEnv": _FIRST_ENVIRONMENT,
    "parallel_env": "env = multigrid.parallel_env(); env.reset(seed=0); env.step({'agent_0': 0, 'agent_1': 0})",
    "vector_env": "env = multigrid.vector_env(4); env.reset(seed=0); env.step([0] * 8)",
}
"""The first step of each kind of environment."""

_MOST_FIRST = {AHEAD_OF_TIME: 0.25}
"""Seconds that a first environment, reset and step may take, by form of the kernels; 2 for the others."""
_MOST_COLD = 15.0


def startup_times(repeats: int) -> list[dict[str, Any]]:
    """Measure startup times; return a row for each: its name, the median in seconds, and the goal to stay under.

    Args:
        repeats: the number of new Python processes, and of slow measurements in this one.
    """
    return [*_time_imports(repeats), _time_pool_resets(), _time_seeding(repeats)]


def cold_start_times() -> list[dict[str, Any]]:
    """Return a row for each kind of environment: the seconds of CPU until its first step, with nothing compiled yet.

    There is no row unless Numba compiles the kernels.
    """
    if kernel_form() != JUST_IN_TIME:
        return []
    rows = []
    for name, statement in _COLD.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds = _time_in_new_python(f"{_PACKAGE}; {statement}", _LIBRARIES, "process_time", folder)
        rows.append(_row(f"{name}, a cold start, of CPU", [seconds], _MOST_COLD))
    return rows


def _time_imports(repeats: int) -> list[dict[str, Any]]:
    """Time statements in new Python processes."""
    statements = (_LIBRARIES, f"{_LIBRARIES}; {_PACKAGE}", f"{_PACKAGE}; {_FIRST_ENVIRONMENT}")
    seconds: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(repeats):
        for statement, times in seconds.items():
            times.append(_time_in_new_python(statement, "" if _LIBRARIES in statement else _LIBRARIES))
    libraries, both, first = seconds.values()
    return [
        _row("importing gymnasium and pettingzoo", libraries, None),
        _row("what importing multigrid adds", [this - other for this, other in zip(both, libraries, strict=True)], 0.1),
        _row("then a first env, reset and step", first, _MOST_FIRST.get(kernel_form(), 2.0)),
    ]


def _time_in_new_python(statement: str, before: str, clock: str = "perf_counter", cache: str | None = None) -> float:
    """Return the seconds that a statement takes in a new Python.

    Args:
        statement: the statement.
        before: the statement that precedes it.
        clock: the function of the module `time` that measures it.
        cache: the folder for compiled kernels, instead of the usual one.
    """
    code = f"import time\n{before}\nbefore = time.{clock}()\n{statement}\nprint(time.{clock}() - before)"
    env = {**os.environ, "NUMBA_CACHE_DIR": cache} if cache else None
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)  # noqa: S603 - our own
    return float(done.stdout)


def _time_pool_resets() -> dict[str, Any]:
    maps = np.random.default_rng(0).random((1000, 64, 64)) < 0.2
    env = MultiGridEnv(GridConfig(walls=maps, num_agents=16))
    env.reset(seed=0)
    return _row("a reset, 16 agents, one of 1,000 maps of 64 x 64", _time_calls(env.reset, 200), 0.001)


def _time_seeding(repeats: int) -> dict[str, Any]:
    seeds = np.arange(100_000, dtype=np.uint64)
    # NumPy's own generators take 7 microseconds each.
    return _row("seeding 100,000 worlds", _time_calls(lambda: pcg64.seed_streams(seeds), repeats), 0.7)


def _time_calls(call: Callable[[], Any], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return times


def _row(name: str, times: list[float], goal: float | None) -> dict[str, Any]:
    return {"name": name, "seconds": round(statistics.median(times), 6), "goal": goal}


def memory_per_world() -> list[dict[str, Any]]:
    """Return a row for each world: its name, and the bytes that one more such world adds to the arrays of many."""
    configs = {
        "one agent on 5 x 5": restart_config(1, 5, "agent", "target"),
        "8 agents on 16 x 16": restart_config(8, 16, "agent", "target"),
        "8 agents on 16 x 16, view": restart_config(8, 16, "view"),
        "64 agents on 32 x 32": restart_config(64, 32, "agent", "target"),
    }
    few, more = 10, 1010
    return [
        {"name": name, "bytes": (_count_bytes(config, more) - _count_bytes(config, few)) // (more - few)}
        for name, config in configs.items()
    ]


def _count_bytes(config: GridConfig, num_worlds: int) -> int:
    arrays: Iterable[NDArray[Any]] = Worlds(config, num_worlds).arrays
    return sum(array.nbytes for array in arrays if array is not None)
