"""``python -m benchmarks.planning``: the speed of the planners, in processor time of one core.

Costs, success and throughput on the POGEMA benchmark are those of ``python -m benchmarks.pogema``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console

from benchmarks.speed.report import print_table
from multigrid import planning
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.maps import random_map

_ROUNDS, _STEPS, _WORLDS = 9, 64, 1024
_MOST_SECONDS, _SECONDS_BETWEEN = 10.0, 0.5


def main() -> int:
    """Measure, print a table with the goals, and return the exit code: 1 if a goal is missed."""
    step, plan = time_pibt()
    labels, first = count_labels(), time_first_plan()
    rows = [
        ("PIBT, 512 agents on 64 x 64, a step", f"{1e3 * step:.3g} ms", "under 0.5 ms", step < 0.0005),
        (f"the same, {_STEPS} steps with all tables of distances", f"{1e3 * plan:.3g} ms", "under 100 ms", plan < 0.1),
        ("expert, 1,024 worlds of 8 agents on 16 x 16", f"{labels / 1e6:.3g} M/s", "at least 3 M/s", labels >= 3e6),
        ("LaCAM*, 1,000 agents on 256 x 256, the first plan", f"{first:.3g} s", "under 5 s", first < 5),
    ]
    cells = [(name, figure, goal, "reached" if reached else "missed") for name, figure, goal, reached in rows]
    print_table(Console(), "a fifth of the cells walls", ("figure", "goal", ""), cells)
    return 0 if all(reached for *_, reached in rows) else 1


def make_world(size: int, agents: int, steps: int | None = None) -> MultiGridEnv:
    """Return a world on a random map, which was reset."""
    walls = random_map(size, size, density=0.2, seed=0)
    env = MultiGridEnv(GridConfig(walls=walls, num_agents=agents, on_target="stay", allow_stay=True, max_cycles=steps))
    env.reset(seed=0)
    return env


def time_pibt() -> tuple[float, float]:
    """Return the seconds of a step of PIBT, and of a whole plan, with the tables of distances."""
    worlds = {steps: make_world(64, 512, steps) for steps in (1, _STEPS)}

    def play(steps: int) -> float:
        return _time(lambda: planning.solve(worlds[steps], "pibt", time_limit=None))[0]

    play(1)
    one, plan = (statistics.median(play(steps) for _ in range(_ROUNDS)) for steps in (1, _STEPS))
    return (plan - one) / (_STEPS - 1), plan


def count_labels() -> float:
    """Return the actions that the batch expert gives in a second, the median over steps."""
    config = make_world(16, 8, _STEPS).config
    envs, seconds = MultiGridVectorEnv(config, num_worlds=_WORLDS), []
    envs.reset(seed=0)
    planning.expert(envs)
    for _ in range(_STEPS):
        taken, actions = _time(lambda: planning.expert(envs))
        seconds.append(taken)
        envs.step(actions)
    return envs.num_envs / statistics.median(seconds)


def time_first_plan() -> float:
    """Solve with more and more time until there is a plan; return the seconds of the last call."""
    world = make_world(256, 1000)
    planning.solve(world, "lacam", time_limit=0.0)
    limit = 0.0
    while limit < _MOST_SECONDS:
        limit += _SECONDS_BETWEEN
        seconds, plan = _time(lambda: planning.solve(world, "lacam", time_limit=limit))  # noqa: B023 - called here
        if plan.actions is not None:
            return seconds
    return float("inf")


def _time(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


if __name__ == "__main__":
    sys.exit(main())
