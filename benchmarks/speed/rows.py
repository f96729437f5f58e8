"""The figures of cases as rows for JSON: their times, and their ratios to baselines and to what limits them.

A ratio is the median over rounds: in a round, both of what it compares are measured soon after one another.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.speed.cases import (
    GAMES,
    GRID_WORLDS,
    REWARDED,
    SET_MANY,
    SET_ONE,
    VARIED,
    WORLDS,
    Case,
    copying_name,
    floor_name,
    one_map_name,
    spread,
    vector_name,
)
from benchmarks.speed.scaling import Curve

__all__ = ["C_NANOSECONDS", "C_SOURCE", "copying_rows", "limit_rows", "step_rows"]

_EIGHT, _VIEW = vector_name(WORLDS, 8), vector_name(WORLDS, 8, ", view")

C_NANOSECONDS = {GRID_WORLDS: 2.4, _EIGHT: 5.0, _VIEW: 15.0, vector_name(64, 64): 18.8, vector_name(16_384, 8): 5.6}
"""Nanoseconds per agent-step of the fastest C that was found for the rules, by the name of the case."""

C_SOURCE = "measured on one core of a Zen 3 at 3.24 GHz, docs/speed.md"

_MOST_COPIES = {GRID_WORLDS: 6.0, _EIGHT: 4.0, _VIEW: 7.0}
_MOST_FLOORS = {"GridWorldEnv.step": 2.3, "ParallelEnv, N = 8": 1.5, "ParallelEnv, N = 64": 1.3}
"""How many times the floor each step may cost."""


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
                "agent_steps_per_second": round(1e6 / case.microseconds),
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
        if name in by_name and copying_name(name) in by_name:
            step, copying = by_name[name], by_name[copying_name(name)]
            ratios = copying.ratios(step)
            rows.append(
                {
                    "name": name,
                    "bytes": copying.row_bytes,
                    "copying": round(1000 * copying.microseconds, 3),
                    "step": round(1000 * step.microseconds, 3),
                    "ratio": round(statistics.median(ratios), 4),
                    "spread": round(spread(ratios), 4),
                    "c": c_nanoseconds,
                }
            )
    return rows


def limit_rows(cases: Sequence[Case], curves: Sequence[Curve] = ()) -> list[dict[str, Any]]:
    """Return a row for each ratio with a goal: the median over rounds, its spread, and the most or least it should be.

    Args:
        cases: the cases that were measured; of a case that only one of two versions has, there is nothing to compare.
        curves: the scaling curves that were measured.
    """
    by_name = {case.name: case for case in cases if case.costs}
    rows: list[dict[str, Any]] = []

    def add(name: str, costly: str, cheap: str, **goal: float) -> None:
        if costly in by_name and cheap in by_name:
            ratios = by_name[cheap].ratios(by_name[costly])
            figures = {"value": round(statistics.median(ratios), 4), "spread": round(spread(ratios), 4)}
            rows.append({"name": name, **figures, **goal})

    for name, most in _MOST_COPIES.items():
        add(f"{name}, over copying", name, copying_name(name), under=most)
    for name, most in _MOST_FLOORS.items():
        add(f"{name}, over its floor", name, floor_name(name), under=most)
    for name, step, most in ((SET_ONE, "ParallelEnv, N = 8", 5.0), (SET_MANY, _EIGHT, 10.0)):
        add(f"{name}, over a step", name, step, under=most)
    for name, most in zip(GAMES, (1.6, 1.4), strict=True):
        add(f"{name}, over the built-in game", name, _EIGHT, under=most)
    for name, (_, steps, most) in VARIED.items():
        add(f"{name}, over one map", name, one_map_name(steps), under=most)
    add(f"{REWARDED}, over none", REWARDED, _EIGHT, under=2.0)
    return rows + [curve.rise_row() for curve in curves]
