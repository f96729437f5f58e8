"""Play rounds of the benchmark of one version of this package, as standard input requests them.

Usage: python version.py FOLDER EFFORT

FOLDER contains the version's ``multigrid/``; EFFORT is ``{"seconds": 0.015, "agents": [1], "worlds": [1]}``. The first
line on standard output lists the names of rounds: ``["GridWorldEnv", "ParallelEnv, 64 agents", "starts", "rest"]``.
Each line on standard input is one of these names, and the answer is a line of figures, where less is better:
``{"GridWorldEnv": 1.84}``. *starts* are startup times; *rest* is memory, and figures computed from the rounds played so
far. The end of standard input ends the program.

FOLDER may contain an older version than this file. The measurements are those of its own ``benchmarks/speed``, or of
``multigrid/cli/bench``, where older versions have them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

Play: TypeAlias = Callable[[float], tuple[float, int]]

# The CPU time of this thread excludes other programs. Windows counts it in ticks of 16 ms, too coarse for a round.
_CLOCK = time.perf_counter if os.name == "nt" else time.thread_time


def main(folder: str, effort: str) -> None:
    """Prepare all rounds, then play those that standard input names."""
    answers = sys.stdout
    # Replaces the folder of this file, whose modules would hide others of the same names.
    sys.path[0] = folder
    with contextlib.redirect_stdout(sys.stderr):
        plays = _make_plays(**json.loads(effort))
        _answer(answers, list(plays))
        for line in sys.stdin:
            _answer(answers, plays[line.strip()]())


def _make_plays(seconds: float, agents: list[int], worlds: list[int]) -> dict[str, Callable[[], dict[str, float]]]:
    package = "benchmarks.speed" if Path("benchmarks", "speed").is_dir() else "multigrid.cli.bench"
    names = ("cases", "scaling", "startup", "rows")
    of_cases, of_curves, startup, rows = (importlib.import_module(f"{package}.{name}") for name in names)
    cases, scaling = list(of_cases.local_cases()), list(of_curves.curves(agents, worlds))
    plays: list[tuple[str, Play, list[float]]] = [(case.name, case.play, case.costs) for case in cases]
    for curve in scaling:
        curve.costs = [[] for _ in curve.plays]
        for count, play, costs in zip(curve.counts, curve.plays, curve.costs, strict=True):
            plays.append((f"{curve.name}, {count:,} {curve.axis}", play, costs))
    for _, play, _ in plays:
        play(0.0)  # compiles what is not compiled yet

    def starts() -> dict[str, float]:
        return {row["name"]: row["seconds"] for row in startup.startup_times(1)}

    def rest() -> dict[str, float]:
        memory = {f"memory, {row['name']}": row["bytes"] for row in startup.memory_per_world()}
        limits = rows.limit_rows(cases, scaling)
        return memory | {row["name"]: row["value"] if "under" in row else 1 / row["value"] for row in limits}

    return {name: partial(_play, name, play, costs, seconds) for name, play, costs in plays} | {
        "starts": starts,
        "rest": rest,
    }


def _play(name: str, play: Play, costs: list[float], seconds: float) -> dict[str, float]:
    """Play a round; append and return the microseconds per agent-step."""
    before = _CLOCK()
    _, agent_steps = play(seconds)
    costs.append(1e6 * (_CLOCK() - before) / agent_steps)
    return {name: costs[-1]}


def _answer(stream: Any, content: Any) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
