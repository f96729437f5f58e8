"""Measure all cases in alternation, so that a slow moment of the machine affects all of them, and judge the goals.

A ratio is the median over rounds: in a round, both of what it compares are measured soon after one another.
"""

from __future__ import annotations

import dataclasses
import math
import platform
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.progress import track

from benchmarks.speed import starts
from benchmarks.speed.cases import (
    COPYING,
    EIGHT,
    EIGHT_VIEW,
    FLOOR,
    GAMES,
    GRID_WORLDS,
    REWARDED,
    SET_MANY,
    SET_ONE,
    VARIED,
    Case,
    Curve,
    busy_cores,
    count_cores,
    local_cases,
    one_map,
    thread_cases,
)
from multigrid.integrations.extras import list_versions
from multigrid.runtime.compiled import KERNELS

if TYPE_CHECKING:
    from rich.console import Console

C_NANOSECONDS = {
    GRID_WORLDS: 2.4,
    EIGHT: 5.0,
    EIGHT_VIEW: 15.0,
    "vector env, 64 x 64": 18.8,
    "vector env, 16,384 x 8": 5.6,
}
"""Nanoseconds per agent-step of the fastest C that was found for the rules, see docs/speed.md, by the name of the case.

It was measured on one core of a Zen 3 at 3.24 GHz.
"""
LIMITS = [
    *((f"{name}, over copying", name, name + COPYING, most) for name, most in zip(C_NANOSECONDS, (6.0, 4.0, 7.0))),  # noqa: B905 - the first three
    ("GridWorldEnv.step, over its floor", "GridWorldEnv.step", f"GridWorldEnv.step{FLOOR}", 2.3),
    ("ParallelEnv, N = 8, over its floor", "ParallelEnv, N = 8", f"ParallelEnv, N = 8{FLOOR}", 1.5),
    ("ParallelEnv, N = 64, over its floor", "ParallelEnv, N = 64", f"ParallelEnv, N = 64{FLOOR}", 1.3),
    (f"{SET_ONE}, over a step", SET_ONE, "ParallelEnv, N = 8", 5.0),
    (f"{SET_MANY}, over a step", SET_MANY, EIGHT, 10.0),
    *((f"{name}, over the built-in game", name, EIGHT, most) for name, most in zip(GAMES, (1.6, 1.4), strict=True)),
    *((f"{name}, over one map", name, one_map(steps), most) for name, (_, steps, most) in VARIED.items()),
    (f"{REWARDED}, over none", REWARDED, EIGHT, 2.0),
]
"""The most times the cost of another case that a case should cost: the name of the ratio, both cases, and the goal."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        rounds: how often each case is played.
        seconds: how long a round lasts.
        startups: how many new Python processes are timed.
        agents: the numbers of agents on the scaling curves.
        worlds: the numbers of worlds on the scaling curves.
        thorough: whether to measure cold starts, which take long.
    """

    rounds: int
    seconds: float
    startups: int
    agents: tuple[int, ...]
    worlds: tuple[int, ...]
    thorough: bool


FULL = Effort(31, 0.05, 7, (1, 4, 16, 64, 256, 1024, 4096), (1, 10, 100, 1000, 10_000, 100_000), thorough=True)
QUICK = Effort(7, 0.015, 3, (1, 64, 4096), (1, 1000, 100_000), thorough=False)


def measure(effort: Effort, console: Console) -> dict[str, Any]:
    """Measure this package and return what `python -m benchmarks --json` prints.

    Args:
        effort: how much to measure.
        console: where to show the progress.
    """
    with console.status("making all environments"):
        cases = prepare(local_cases())
    play_rounds(cases, effort, console)
    # Two threads and one: on the cores as they are, and while all of them are busy.
    quiet = prepare(thread_cases(busy=False))
    play_rounds(quiet, effort, console)
    busy = prepare(thread_cases(busy=True))
    with busy_cores():
        play_rounds(busy, effort, console)
    with console.status("starting up"):
        times = starts.startup_times(effort.startups)
        times += starts.cold_start_times() if effort.thorough else []
    content = {
        "machine": describe_machine(),
        "rounds": effort.rounds,
        "thorough": effort.thorough,
        "steps": step_rows([*cases, *quiet, *busy]),
        "copying": copying_rows(cases),
        "limits": limit_rows(cases),
        "starts": times,
        "memory": starts.memory_per_world(),
    }
    return {**content, "goals": goal_rows(content)}


def prepare(cases: Iterable[Case]) -> list[Case]:
    """Return the cases, once played, which compiles what is not compiled yet."""
    prepared = list(cases)
    for case in prepared:
        case.play(0.0)
    return prepared


def play_rounds(cases: Sequence[Case], effort: Effort, console: Console) -> None:
    """Play each case once a round, and append its costs."""
    for _ in track(range(effort.rounds), "measuring", console=console, disable=console.quiet, transient=True):
        for case in cases:
            case.measure(effort.seconds)


def describe_machine() -> dict[str, Any]:
    """Return the versions of Python, of the system and of the libraries, the number of cores, and the kernels' form."""
    versions = list_versions("numpy", "numba", "gymnasium", "pettingzoo")
    facts = {"python": platform.python_version(), "system": platform.platform(), "cores": count_cores()}
    return {**facts, "kernels": KERNELS if KERNELS == "interpreted" else f"compiled {KERNELS}", **versions}


def spread(values: Sequence[float]) -> float:
    """Return half the distance between the quartiles, relative to the median; 0 for a single value.

    >>> spread([1.0, 2.0, 2.0, 2.0, 3.0])
    0.25
    """
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / (2 * middle)


def step_rows(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return a row for each case; its ratio is None where the case that it is compared with was not measured."""
    by_name = {case.name: case for case in cases}
    rows = []
    for case in cases:
        other = by_name.get(case.against)
        ratios = None if other is None else case.ratios(other)
        rows.append(
            {
                "group": case.group,
                "name": case.name,
                "against": case.against,
                "microseconds_per_agent_step": round(case.microseconds, 6),
                "spread": round(spread(case.costs), 4),
                "ratio": None if ratios is None else round(statistics.median(ratios), 4),
                "ratio_spread": None if ratios is None else round(spread(ratios), 4),
                "goal": case.goal,
            }
        )
    return rows


def copying_rows(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return a row for each vector env whose copying is measured: bytes and nanoseconds per agent-step."""
    by_name = {case.name: case for case in cases if case.costs}
    rows = []
    for name, c_nanoseconds in C_NANOSECONDS.items():
        if name in by_name and name + COPYING in by_name:
            step, copying = by_name[name], by_name[name + COPYING]
            times = {"copying": round(1000 * copying.microseconds, 3), "step": round(1000 * step.microseconds, 3)}
            ratio = round(statistics.median(copying.ratios(step)), 4)
            rows.append({"name": name, "bytes": copying.row_bytes, **times, "ratio": ratio, "c": c_nanoseconds})
    return rows


def limit_rows(cases: Sequence[Case], curves: Sequence[Curve] = ()) -> list[dict[str, Any]]:
    """Return a row for each ratio with a goal: the median over rounds, its spread, and the most that it should be."""
    by_name = {case.name: case for case in cases if case.costs}
    rows: list[dict[str, Any]] = []
    for name, costly, cheap, most in LIMITS:
        if costly in by_name and cheap in by_name:
            ratios = by_name[cheap].ratios(by_name[costly])
            figures = {"value": round(statistics.median(ratios), 4), "spread": round(spread(ratios), 4)}
            rows.append({"name": name, **figures, "under": most})
    for curve in curves:
        first, *_, last = curve.cases
        name = f"{curve.name}, from {first:,} to {last:,} {curve.axis}: rise"
        rows.append({"name": name, "value": round(curve.rise, 3), "under": 2.0})
    return rows


def goal_rows(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each figure that has a goal: name, value, unit, spread, "under" or "over" the goal, verdict.

    Args:
        content: what was measured, by the names of `measure`.
    """
    rows = [
        {"name": row["name"], "value": row["ratio"], "spread": row["ratio_spread"], "over": row["goal"]}
        for row in content["steps"]
        if row["goal"] is not None and row["ratio"] is not None
    ]
    rows += content["limits"]
    rows += [
        {"name": row["name"], "value": row["seconds"], "unit": "s", "under": row["goal"]}
        for row in content.get("starts", ())
        if row["goal"] is not None
    ]
    return [{"unit": "x", "spread": None, **row, "verdict": judge(row)} for row in rows]


def judge(row: dict[str, Any]) -> str:
    """Return whether a value reaches its goal, and by what share of the goal it is better or worse.

    >>> judge({"value": 4.6, "under": 4.0}), judge({"value": 2.0, "over": 1.6})
    ('missed by 15%', 'reached by 25%')
    """
    share = 1 - row["value"] / row["under"] if "under" in row else row["value"] / row["over"] - 1
    size = f"{abs(share):.0%}" if abs(share) >= 0.005 or share == 0 else "<1%"
    return f"{'reached' if share >= 0 else 'missed'} by {size}"


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the innermost two values that enclose the median with at least 95 % probability, and that probability.

    The ends are order statistics (Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010,
    chapter 2): values are taken as independent, and nothing is assumed about their distribution.

    >>> median_interval([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0, 8.0])
    (1.5, 8.0, 0.9609375)
    """
    ordered, n = sorted(values), len(values)
    k, outside = 0, 2 / 2**n
    while outside + 2 * math.comb(n, k + 1) / 2**n <= 0.05:
        k += 1
        outside += 2 * math.comb(n, k) / 2**n
    return ordered[k], ordered[n - 1 - k], 1 - outside
