"""What relative scores do not say: success, and the gap to a proven bound, by number of agents."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from multigrid.benchmark.checks import INSTANCE, check_rows, get_number
from multigrid.benchmark.published import OTHER_SCENARIOS, Row
from multigrid.benchmark.scores import instance_of
from multigrid.evaluation.estimates import UNDEFINED, Estimate, bootstrap, estimate_gap, gap_of, wilson


class Line(NamedTuple):
    """The results of an algorithm with one number of agents of a set; estimates are NaN where they are undefined."""

    kind: str
    """"mapf" or "lmapf"."""
    set: str
    """The set."""
    agents: int
    """The number of agents."""
    algorithm: str
    """The algorithm."""
    instances: int
    """How many instances it has rows for."""
    unsolvable: int
    """How many of these have no solution, as a search has proven."""
    csr: Estimate
    """The share of instances that it solved, with Wilson's interval."""
    isr: Estimate
    """The mean share of agents that reached their targets, with a bootstrap interval."""
    throughput: Estimate
    """The mean number of arrivals a step, with a bootstrap interval."""
    gap: Estimate
    """Of the instances that it solved and that have a proven bound, the mean of the sum of costs divided by the bound,
    less 1, with a bootstrap interval."""
    bounded: int
    """The number of instances that the gap is the mean of."""
    seconds: float
    """The mean seconds of computing; those of other machines cannot be compared."""


def find_bounds(rows: Sequence[Row]) -> dict[tuple[Any, ...], float]:
    """Return the largest proven lower bound of the sum of costs of each instance of the kind "mapf".

    Args:
        rows: dicts as `multigrid benchmark` writes them; rows without "lower_bound", such as published ones, have none.

    Returns:
        {(set, map, seed, agents): bound}.

    Raises:
        TypeError, ValueError: a row is no dict, does not name its kind and instance, or has a bound that is no number.

    >>> one = {"kind": "mapf", "set": "puzzles", "map": "puzzle-00", "seed": 0, "agents": 2}
    >>> find_bounds([{**one, "lower_bound": 7.0}, {**one, "lower_bound": 8.0}, {**one, "lower_bound": None}])
    {('puzzles', 'puzzle-00', 0, 2): 8.0}
    """
    bounds: dict[tuple[Any, ...], float] = {}
    for row in check_rows(rows, "kind", *INSTANCE):
        bound = 0.0 if row.get("lower_bound") is None else get_number(row, "lower_bound")
        if row["kind"] == "mapf" and bound > 0:
            bounds[instance_of(row)] = max(bound, bounds.get(instance_of(row), bound))
    return bounds


def summarize(rows: Sequence[Row]) -> list[Line]:
    """Return a line for each kind, set, number of agents and algorithm, in the order in which they come.

    An instance's bound is the largest one of any row; it is used for all algorithms, published rows too, but for those
    that belong to other scenarios.

    Args:
        rows: dicts as `multigrid.benchmark.published` returns them; rows of `multigrid benchmark` also have "status",
            of a plan, and "lower_bound".

    Raises:
        TypeError, ValueError: a row is no dict, does not name its kind, instance and algorithm, or has a value that is
            no number.

    >>> one = {"kind": "mapf", "set": "puzzles", "map": "puzzle-00", "agents": 2, "algorithm": "A", "isr": 1.0}
    >>> rows = [{**one, "seed": seed, "csr": 1.0, "sum_of_costs": 9.0, "lower_bound": 6.0} for seed in (0, 1)]
    >>> line = summarize(rows)[0]
    >>> line.csr.mean, line.gap
    (1.0, Estimate(mean=0.5, low=nan, high=nan))
    """
    rows = check_rows(rows, "kind", *INSTANCE, "algorithm")
    bounds = find_bounds(rows)
    unsolvable = {instance_of(row) for row in rows if row["kind"] == "mapf" and row.get("status") == "unsolvable"}
    groups: dict[tuple[str, str, int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["set"], row["agents"], row["algorithm"]), []).append(row)
    lines = []
    for key, found in groups.items():
        gaps = [_find_gap(row, bounds) for row in found]
        seconds = [get_number(row, "seconds") for row in found if row.get("seconds") is not None]
        lines.append(
            Line(
                *key,
                instances=len(found),
                unsolvable=sum(key[0] == "mapf" and instance_of(row) in unsolvable for row in found),
                csr=_estimate(found, "csr"),
                isr=_estimate(found, "isr"),
                throughput=_estimate(found, "throughput"),
                gap=estimate_gap(gaps),
                bounded=sum(not math.isnan(gap) for gap in gaps),
                seconds=statistics.fmean(seconds) if seconds else math.nan,
            )
        )
    return lines


def _find_gap(row: Row, bounds: Mapping[tuple[Any, ...], float]) -> float:
    """Return the gap of a row; NaN without a solution or a bound."""
    is_other = row.get("multigrid") is None and (row["kind"], row["set"]) in OTHER_SCENARIOS
    bound = None if is_other or row["kind"] != "mapf" else bounds.get(instance_of(row))
    success = math.nan if bound is None else get_number(row, "csr", most=1)
    if bound is None or not success:
        return math.nan
    return gap_of({"success": success, "sum_of_costs": get_number(row, "sum_of_costs", above=0)}, bound)


def _estimate(rows: Sequence[Row], name: str) -> Estimate:
    """Return the mean of a metric and its interval; undefined unless all rows have it."""
    given = [row.get(name) for row in rows]
    if any(value is None or (isinstance(value, float) and math.isnan(value)) for value in given):
        return UNDEFINED
    values = [get_number(row, name, most=math.inf if name == "throughput" else 1.0) for row in rows]
    return (wilson if name == "csr" else bootstrap)(np.array(values, dtype=np.float64))
