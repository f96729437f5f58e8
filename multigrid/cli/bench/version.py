"""Play rounds of what one version of this package measures of itself, as they are asked for on standard input.

Usage: python version.py FOLDER EFFORT

FOLDER contains the version's ``multigrid/``; EFFORT is ``{"seconds": 0.015, "agents": [1], "worlds": [1]}``. The first
line out names what can be played: ``["GridWorldEnv", "ParallelEnv, 64 agents", "starts", "rest"]``. From then on a line
with a name plays a round of it, and is answered by a line of figures, of which less is better:
``{"GridWorldEnv": 1.84}``. *starts* are the times to start up; *rest* is memory, and what follows from the rounds
played so far. The end of the input ends the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

Play: TypeAlias = Callable[[float], tuple[float, int]]

# What this thread computes takes no longer where other programs compute too. Windows counts it in ticks of 16 ms.
_CLOCK = time.perf_counter if os.name == "nt" else time.thread_time


def main(folder: str, effort: str) -> None:
    """Make everything, play it once, and then what is asked for."""
    answers = sys.stdout
    # Instead of the folder of this file, whose modules would hide others of the same name.
    sys.path[0] = folder
    with contextlib.redirect_stdout(sys.stderr):
        plays = _plays(**json.loads(effort))
        _answer(answers, list(plays))
        for line in sys.stdin:
            _answer(answers, plays[line.strip()]())


def _plays(seconds: float, agents: list[int], worlds: list[int]) -> dict[str, Callable[[], dict[str, float]]]:
    from multigrid.cli.bench.contenders import local_contenders
    from multigrid.cli.bench.report import limit_rows
    from multigrid.cli.bench.scaling import curves
    from multigrid.cli.bench.starts import memory_per_world, start_times

    contenders, scaling = list(local_contenders()), list(curves(agents, worlds))
    cases: list[tuple[str, Play, list[float]]] = [(one.name, one.play, one.costs) for one in contenders]
    for curve in scaling:
        curve.costs = [[] for _ in curve.plays]
        for count, play, costs in zip(curve.counts, curve.plays, curve.costs, strict=True):
            cases.append((f"{curve.name}, {count:,} {curve.axis}", play, costs))
    for _, play, _ in cases:
        play(0.0)  # compiles what is not compiled yet

    def starts() -> dict[str, float]:
        return {row["name"]: row["seconds"] for row in start_times(1)}

    def rest() -> dict[str, float]:
        memory = {f"memory, {row['name']}": row["bytes"] for row in memory_per_world()}
        limits = limit_rows(contenders, scaling)
        return memory | {row["name"]: row["value"] if "under" in row else 1 / row["value"] for row in limits}

    return {name: partial(_cost, name, play, costs, seconds) for name, play, costs in cases} | {
        "starts": starts,
        "rest": rest,
    }


def _cost(name: str, play: Play, costs: list[float], seconds: float) -> dict[str, float]:
    """Play a round; note and return the microseconds that a step of one agent took."""
    before = _CLOCK()
    _, agent_steps = play(seconds)
    costs.append(1e6 * (_CLOCK() - before) / agent_steps)
    return {name: costs[-1]}


def _answer(stream: Any, content: Any) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
