"""Startup times (imports, first environments, resets, seeds) and the memory of a world."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed.cases import restart_config
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import KERNELS

_LIBRARIES, _PACKAGE = "import gymnasium, pettingzoo", "import multigrid"
_COLD = {
    "GridWorldEnv": "env = multigrid.GridWorldEnv(); env.reset(seed=0); env.step(0)",
    "parallel_env": "env = multigrid.parallel_env(); env.reset(seed=0); env.step({'agent_0': 0, 'agent_1': 0})",
    "vector_env": "env = multigrid.vector_env(4); env.reset(seed=0); env.step([0] * 8)",
}
"""The first step of each kind of environment."""
_MOST_COLD, _MOST_FIRST = 15.0, 2.0


def startup_times(repeats: int) -> list[dict[str, Any]]:
    """Measure startup times; return a row for each: its name, the median in seconds, and the goal to stay under.

    Args:
        repeats: the number of new Python processes, and of slow measurements in this one.
    """
    first = f"{_PACKAGE}; {_COLD['GridWorldEnv']}"
    turns = [
        (time_python(_LIBRARIES), time_python(f"{_LIBRARIES}; {_PACKAGE}"), time_python(first, _LIBRARIES))
        for _ in range(repeats)
    ]
    libraries, both, firsts = (list(times) for times in zip(*turns, strict=True))
    maps = np.random.default_rng(0).random((1000, 64, 64)) < 0.2
    env, seeds = MultiGridEnv(GridConfig(walls=maps, num_agents=16)), np.arange(100_000, dtype=np.uint64)
    env.reset(seed=0)
    return [
        _row("importing gymnasium and pettingzoo", libraries, None),
        _row("what importing multigrid adds", [this - other for this, other in zip(both, libraries, strict=True)], 0.1),
        _row("then a first env, reset and step", firsts, _MOST_FIRST),
        _row("a reset, 16 agents, one of 1,000 maps of 64 x 64", _time_calls(env.reset, 200), 0.001),
        # NumPy's own generators take 7 microseconds each.
        _row("seeding 100,000 worlds", _time_calls(lambda: pcg64.seed_streams(seeds), repeats), 0.7),
    ]


def cold_start_times() -> list[dict[str, Any]]:
    """Return a row for each kind of environment: the seconds of CPU until its first step, with nothing compiled yet.

    There is no row unless Numba compiles the kernels.
    """
    rows = []
    for name, statement in _COLD.items() if KERNELS == "just in time" else ():
        with tempfile.TemporaryDirectory() as cache:
            seconds = time_python(f"{_PACKAGE}; {statement}", _LIBRARIES, "process_time", cache)
        rows.append(_row(f"{name}, a cold start, of CPU", [seconds], _MOST_COLD))
    return rows


def time_python(statement: str, before: str = "", clock: str = "perf_counter", cache: str | None = None) -> float:
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
    """Return a row for each world: its name, and the bytes that one more such world adds to a vector env of many."""
    configs = {
        "one agent on 5 x 5": restart_config(1, 5),
        "8 agents on 16 x 16": restart_config(8, 16),
        "8 agents on 16 x 16, view": restart_config(8, 16, "view"),
        "64 agents on 32 x 32": restart_config(64, 32),
    }
    few, more = 10, 1010
    return [
        {"name": name, "bytes": (count_bytes(config, more) - count_bytes(config, few)) // (more - few)}
        for name, config in configs.items()
    ]


def count_bytes(config: GridConfig, num_worlds: int) -> int:
    """Return the bytes that a vector env has allocated once it was reset."""
    tracemalloc.start()
    try:
        env = MultiGridVectorEnv(config, num_worlds)
        env.reset(seed=0)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
