"""Measure startup times (imports, first environments, resets, seeds) and the memory of a world."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.cli.bench.cases import restart_config
from multigrid.config import GridConfig
from multigrid.core import pcg64
from multigrid.core.worlds import Worlds
from multigrid.envs.parallel import MultiGridEnv

__all__ = ["memory_per_world", "startup_times"]

_LIBRARIES = "import gymnasium, pettingzoo"
_PACKAGE = "import multigrid"
_FIRST_ENVIRONMENT = "import multigrid; multigrid.GridWorldEnv().reset(seed=0)"


def startup_times(repeats: int) -> list[dict[str, Any]]:
    """Measure startup times; return a row for each: its name, the median in seconds, and the goal to stay under.

    Args:
        repeats: the number of new Python processes, and of slow measurements in this one.
    """
    return [*_time_imports(repeats), _time_pool_resets(), _time_seeding(repeats)]


def _time_imports(repeats: int) -> list[dict[str, Any]]:
    """Time statements in new Python processes."""
    timed = "import time; before = time.perf_counter(); {}; print(time.perf_counter() - before)"
    seconds: dict[str, list[float]] = {statement: [] for statement in (_LIBRARIES, _PACKAGE, _FIRST_ENVIRONMENT)}
    for _ in range(repeats):
        for statement, times in seconds.items():
            command = [sys.executable, "-c", timed.format(statement)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own
            times.append(float(printed))
    added = [package - libraries for package, libraries in zip(seconds[_PACKAGE], seconds[_LIBRARIES], strict=True)]
    return [
        _row("importing gymnasium and pettingzoo", seconds[_LIBRARIES], None),
        _row("what importing multigrid adds", added, 0.1),
        _row("importing it, and a first environment", seconds[_FIRST_ENVIRONMENT], 2.0),
    ]


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
    return sum(array.nbytes for array in arrays)
