"""Measure the memory of a million worlds, and their step, in another process."""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.speed.cases import CROWDS, limited_config, spread
from benchmarks.speed.plays import sample_actions, spread_ends
from benchmarks.speed.processes import JsonProcess
from benchmarks.speed.rounds import play_round
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = ["FEW", "MANY", "main", "many_worlds_rows", "measure_worlds"]

FEW, MANY = 10_000, 1_000_000

_MOST_BYTES, _MOST_TIMES = 2.2e9, 1.2
_COMMAND = [sys.executable, "-c", "from benchmarks.speed.many_worlds import main; main()"]


def many_worlds_rows(rounds: int) -> list[dict[str, Any]]:
    """Measure in another process, which returns the memory to the system; return a row for each goal."""
    process = JsonProcess([*_COMMAND, str(rounds)], dict(os.environ))
    try:
        measured = process.read()
    finally:
        process.close()
    ratios = [many / few for few, many in zip(measured["few"], measured["many"], strict=True)]
    name, figures = f"{MANY:,} worlds of 8", {"value": statistics.median(ratios), "spread": spread(ratios)}
    rows = [{"name": f"{name}, a row, over {FEW:,}", **figures, "under": _MOST_TIMES}]
    if measured["bytes"] is not None:
        gigabytes = measured["bytes"] / 1e9
        rows.append({"name": f"{name}, memory", "value": gigabytes, "unit": "GB", "under": _MOST_BYTES / 1e9})
    return rows


def measure_worlds(few: int, many: int, rounds: int) -> dict[str, Any]:
    """Return the microseconds per agent-step of few and of many worlds, and the bytes that the many have needed."""
    agents, size = CROWDS[0]
    config = limited_config(agents, size)
    actions = {worlds: sample_actions(worlds * agents, config.num_actions)[0] for worlds in (few, many)}
    envs: dict[int, MultiGridVectorEnv[Any]] = {}
    before = None
    for worlds in (few, many):
        before = _read_memory("VmRSS")
        envs[worlds] = MultiGridVectorEnv(config, worlds)
        envs[worlds].reset(seed=0)
        spread_ends(envs[worlds])
        envs[worlds].step(actions[worlds])
    costs: dict[int, list[float]] = {few: [], many: []}
    for _ in range(rounds):
        seconds, calls = play_round(lambda: envs[many].step(actions[many]), 0.0)
        costs[many].append(1e6 * seconds / calls / len(actions[many]))
        seconds, calls = play_round(lambda: envs[few].step(actions[few]), seconds)
        costs[few].append(1e6 * seconds / calls / len(actions[few]))
    most = _read_memory("VmHWM")
    used = None if before is None or most is None else most - before
    return {"bytes": used, "few": costs[few], "many": costs[many]}


def _read_memory(name: str) -> int | None:
    """Return a figure of Linux about this process's memory, in bytes; None on other systems."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}:")]
    return 1024 * int(line.split()[1])


def main() -> None:
    """Measure as many rounds as the first argument says, and print what `measure_worlds` returns, in one line."""
    sys.stdout.write(json.dumps(measure_worlds(FEW, MANY, int(sys.argv[1]))) + "\n")
