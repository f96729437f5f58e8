"""The cells of the tables by number of agents, each with its interval and its instances: cells.csv."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import get_args

from benchmark_tables import order

from benchmarks.pogema import SETS, Kind
from benchmarks.pogema.scores import Line
from multigrid.evaluation._estimates import Estimate

CELLS = "cells.csv"
_MEASURES = {"mapf": ("csr", "gap"), "lmapf": ("throughput",)}
_ENDS = ("", "_low", "_high")
_COLUMNS = (
    *("kind", "set", "agents", "algorithm", "instances", "gap_instances"),
    *(measure + end for measures in _MEASURES.values() for measure in measures for end in _ENDS),
)
_DIGITS = 6


def format_cells(lines: Sequence[Line]) -> str:
    """Return the results of each algorithm by kind, set and number of agents as CSV.

    Shares are not in percent. A value that is undefined, or has no interval, is empty.

    >>> no = Estimate(math.nan, math.nan, math.nan)
    >>> half = Estimate(0.5, 0.09453121, 0.9)
    >>> text = format_cells([Line("mapf", "mazes", 8, "PIBT", 2, 0, half, no, no, Estimate(0.25, *no[1:]), 1, 0.1)])
    >>> print(text.splitlines()[0].removesuffix(",throughput,throughput_low,throughput_high"))
    kind,set,agents,algorithm,instances,gap_instances,csr,csr_low,csr_high,gap,gap_low,gap_high
    >>> print(text.splitlines()[1])
    mapf,mazes,8,PIBT,2,1,0.5,0.094531,0.9,0.25,,,,,
    """
    kinds, sets, names = list(get_args(Kind)), list(SETS), order(line.algorithm for line in lines)

    def place(line: Line) -> tuple[int, int, int, int]:
        return kinds.index(line.kind), sets.index(line.set), line.agents, names.index(line.algorithm)

    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for line in sorted(lines, key=place):
        cell: dict[str, object] = {name: getattr(line, name) for name in _COLUMNS[:5]}
        measures = _MEASURES[line.kind]
        if "gap" in measures:
            cell["gap_instances"] = line.bounded
        for measure in measures:
            cell |= _describe(measure, getattr(line, measure))
        writer.writerow(cell)
    return text.getvalue()


def _describe(measure: str, estimate: Estimate) -> dict[str, float]:
    return {
        measure + end: round(value, _DIGITS)
        for end, value in zip(_ENDS, estimate, strict=True)
        if not math.isnan(value)
    }
