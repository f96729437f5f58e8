"""Measure the parts of a step of one world, and print them as JSON, in microseconds: ``python docs/measure_parts.py``.

A step, CPython's floor of it, its kernel ("rules"), and for a ParallelEnv reading the actions, and making Python's ints
and floats of rewards and infos ("numbers"): medians over rounds in which each is measured once.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

import multigrid
from benchmarks.speed.cases import CROWDS
from benchmarks.speed.floors import GridWorldFloor, ParallelFloor
from multigrid import GridWorldEnv
from multigrid.runtime.compiled import KERNELS

ROUNDS, SECONDS = 40, 0.01


def main() -> None:
    """Print the figures."""
    rows = [{"name": "`GridWorldEnv`", **measure(grid_world_parts())}]
    rows += [
        {"name": f"`ParallelEnv`, {agents} agents", **measure(parallel_parts(agents, size))}
        for agents, size in CROWDS[:2]
    ]
    sys.stdout.write(json.dumps({"kernels": KERNELS, "rows": rows}))


def grid_world_parts() -> dict[str, Callable[[], Any]]:
    """Return the parts of a step of a GridWorldEnv."""
    env = GridWorldEnv()
    floor = GridWorldFloor(env)
    env.reset(seed=0)
    turns = itertools.cycle(range(4))
    return {"step": lambda: env.step(next(turns)), "floor": lambda: floor.step(next(turns)), "rules": env._worlds.step}


def parallel_parts(agents: int, size: int) -> dict[str, Callable[[], Any]]:
    """Return the parts of a step of a ParallelEnv whose episodes have no end."""
    options: Any = {"num_agents": agents, "size": size, "observe": ("agent", "target"), "on_target": "restart"}
    env = multigrid.parallel_env(max_cycles=None, **options)
    floor = ParallelFloor(env)
    env.reset(seed=0)
    names, arrays = env.agents, (env._rewards, env._distances, env._outcomes, env._arrived)
    rounds = [{name: (k + i) % 4 for i, name in enumerate(names)} for k in range(4)]
    turns = itertools.cycle(rounds)
    return {
        "step": lambda: env.step(next(turns)),
        "floor": lambda: floor.step(next(turns)),
        "rules": env._worlds.step,
        "actions": lambda: env._write_actions(names, next(turns)),
        "numbers": lambda: [array.tolist() for array in arrays],
    }


def measure(parts: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the microseconds of a call of each."""
    timers = {name: timeit.Timer(part) for name, part in parts.items()}
    counts = {name: max(1, int(100 * SECONDS / timer.timeit(100))) for name, timer in timers.items()}
    times = [{name: timer.timeit(counts[name]) / counts[name] for name, timer in timers.items()} for _ in range(ROUNDS)]
    return {name: round(1e6 * statistics.median(one[name] for one in times), 3) for name in parts}


if __name__ == "__main__":
    main()
