"""The scores of the POGEMA benchmark (Skrynnik et al., ICLR 2025), computed from rows as its own script computes them.

- *Performance* ("random" and "mazes"), *Out-of-Distribution* ("movingai") and *Cooperation* ("puzzles"): the mean over
  instances of a ratio: the smallest sum of costs of any algorithm divided by the algorithm's own, 0 without a solution;
  for lifelong rows, its own throughput divided by the largest one. Instances that nobody solves are left out.
- *Pathfinding* ("pathfinding"): the same for makespans, where an agent without success has taken all steps.
- *Scalability* ("warehouse"): with r(n) the mean seconds for each of n agents (and for each step until the last
  arrival, but for lifelong rows), the mean of r(n) / r(m) over all n < m, at most 1. It depends on the machine.
- *Coordination* ("random" and "mazes"): 1 - collisions / (steps x agents), of rows that have both. The published figure
  is of other rows, which are not in the clone.

All but the last two are relative: they change with the algorithms that take part.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from benchmarks.pogema.instances import Kind
from benchmarks.pogema.published import INSTANCE, Row, check_rows, get_number
from multigrid._checks import check_name
from multigrid.evaluation._estimates import UNDEFINED, Estimate, bootstrap, estimate_gap, gap_of, wilson

Missing: TypeAlias = Literal["drop", "own"]
"""What to do with an instance for which an algorithm has no row: *drop* it for all algorithms, as POGEMA's script does,
or let each algorithm's score be the mean over its *own* rows."""

_Table: TypeAlias = dict[tuple[Any, ...], dict[str, Row]]
"""The rows of each algorithm, by instance."""

_RELATIVE = {"Performance": ("random", "mazes"), "Out-of-Distribution": ("movingai",)}
_RELATIVE |= {"Cooperation": ("puzzles",), "Pathfinding": ("pathfinding",)}
_SCALED, _COORDINATED = ("warehouse",), ("random", "mazes")


def scores(rows: Sequence[Row], *, missing: Missing = "drop") -> dict[str, dict[str, float]]:
    """Return each algorithm's scores.

    Args:
        rows: dicts as `benchmarks.pogema.published` returns them, of one kind, at most one for an algorithm and an
            instance.
        missing: "drop" leaves out instances for which an algorithm with rows in these sets has none; "own" takes the
            mean over the rows that an algorithm has.

    Returns:
        {score: {algorithm: float}}, with the algorithms that have rows in the score's sets, in the order of the rows;
        scores without such an algorithm are left out. A score without an instance is NaN.

    Raises:
        TypeError: a row is no dict, or a value has another type.
        ValueError: rows of two kinds, two rows for one algorithm and instance, or a row without a value that is needed.

    >>> one = {"kind": "mapf", "set": "puzzles", "map": "puzzle-00", "seed": 0, "agents": 2, "csr": 1.0}
    >>> rows = [{**one, "algorithm": "A", "sum_of_costs": 8.0}, {**one, "algorithm": "B", "sum_of_costs": 10.0}]
    >>> scores(rows)
    {'Cooperation': {'A': 1.0, 'B': 0.8}}
    """
    check_name("missing", missing, get_args(Missing))
    rows = check_rows(rows, "kind", *INSTANCE, "algorithm")
    kinds = {row["kind"] for row in rows}
    if len(kinds) > 1:
        raise ValueError(f"the rows are of the kinds {' and '.join(sorted(kinds))}; expected one")
    kind: Kind = kinds.pop() if kinds else "mapf"
    found = {}
    for score, sets in _RELATIVE.items():
        ratios = list_ratios(rows, score, kind, missing)
        found[score] = {name: _mean(ratios.get(name, [])) for name in _list_algorithms(rows, sets)}
    table = _tabulate(rows, _SCALED, missing)
    found["Scalability"] = {name: _scale(table, name, kind) for name in _list_algorithms(rows, _SCALED)}
    found["Coordination"] = _coordinate(rows)
    return {score: by_algorithm for score, by_algorithm in found.items() if by_algorithm}


def list_ratios(
    rows: Sequence[Row], score: str, kind: Kind = "mapf", missing: Missing = "own"
) -> dict[str, list[float]]:
    """Return the ratios of each algorithm whose mean is one of the relative scores, one for each instance.

    >>> one = {"kind": "mapf", "set": "mazes", "map": "maze-0", "seed": 0, "agents": 2, "csr": 1.0}
    >>> rows = [{**one, "algorithm": "A", "sum_of_costs": 8.0}, {**one, "algorithm": "B", "sum_of_costs": 10.0}]
    >>> list_ratios(rows, "Performance")
    {'A': [1.0], 'B': [0.8]}
    """
    compare = _RATIOS[kind] if score != "Pathfinding" else _compare_makespans
    ratios: dict[str, list[float]] = {}
    for by_name in _tabulate(rows, _RELATIVE[score], missing).values():
        for algorithm, ratio in compare(by_name).items():
            ratios.setdefault(algorithm, []).append(ratio)
    return ratios


def count_missing(rows: Sequence[Row]) -> dict[tuple[str, str], int]:
    """Return for how many instances of a set an algorithm has no row, but another algorithm has one.

    Returns:
        {(set, algorithm): count}, for algorithms that have some, but not all rows of the set.

    Raises:
        TypeError, ValueError: a row is no dict, or does not name its instance and algorithm.

    >>> one = {"set": "puzzles", "map": "puzzle-00", "seed": 0, "agents": 2}
    >>> count_missing([{**one, "algorithm": "A"}, {**one, "seed": 1, "algorithm": "A"}, {**one, "algorithm": "B"}])
    {('puzzles', 'B'): 1}
    """
    counts: dict[tuple[str, str], int] = {}
    rows = check_rows(rows, *INSTANCE, "algorithm")
    for name in dict.fromkeys(row["set"] for row in rows):
        played: dict[str, set[object]] = {}
        for row in rows:
            if row["set"] == name:
                played.setdefault(row["algorithm"], set()).add(instance_of(row))
        everything = set().union(*played.values())
        counts |= {(name, one): len(everything - own) for one, own in played.items() if everything - own}
    return counts


def instance_of(row: Mapping[str, Any]) -> tuple[str, str, int, int]:
    """Return the set, map, seed and number of agents of a row."""
    return row["set"], row["map"], row["seed"], row["agents"]


def _list_algorithms(rows: Sequence[Row], sets: Collection[str]) -> list[str]:
    return list(dict.fromkeys(row["algorithm"] for row in rows if row["set"] in sets))


def _tabulate(rows: Sequence[Row], sets: Collection[str], missing: Missing) -> _Table:
    """Return the rows of some sets by instance; with "drop", only of instances for which all algorithms have a row."""
    table: _Table = {}
    for row in rows:
        if row["set"] in sets:
            by_algorithm = table.setdefault(instance_of(row), {})
            if row["algorithm"] in by_algorithm:
                raise ValueError(f"there are two rows of {row['algorithm']} for {instance_of(row)}; expected one")
            by_algorithm[row["algorithm"]] = row
    count = len(_list_algorithms(rows, sets))
    return {key: found for key, found in table.items() if missing == "own" or len(found) == count}


def _compare_costs(found: dict[str, Row]) -> dict[str, float]:
    """Return each algorithm's ratio; an empty dict if no algorithm has a solution."""
    costs = {name: get_number(row, "sum_of_costs", above=0) for name, row in found.items() if get_number(row, "csr")}
    return {name: min(costs.values()) / costs[name] if name in costs else 0.0 for name in found if costs}


def _compare_throughputs(found: dict[str, Row]) -> dict[str, float]:
    throughputs = {name: get_number(row, "throughput") for name, row in found.items()}
    best = max(throughputs.values())
    return {name: throughput / best for name, throughput in throughputs.items() if best}


def _compare_makespans(found: dict[str, Row]) -> dict[str, float]:
    makespans = {name: get_number(row, "makespan", above=0) for name, row in found.items()}
    return {name: min(makespans.values()) / makespan for name, makespan in makespans.items()}


_RATIOS = {"mapf": _compare_costs, "lmapf": _compare_throughputs}


def _scale(table: _Table, algorithm: str, kind: Kind) -> float:
    """Return by how much the seconds for each agent grow with the number of agents."""
    seconds: dict[int, list[float]] = {}
    for found in table.values():
        if algorithm in found and found[algorithm].get("seconds") is not None:
            row = found[algorithm]
            steps = 1.0 if kind == "lmapf" else get_number(row, "makespan", above=0)
            seconds.setdefault(row["agents"], []).append(get_number(row, "seconds") / steps)
    by_agent = [statistics.fmean(seconds[agents]) / agents for agents in sorted(seconds)]
    ratios = [fewer / more if more else math.nan for fewer, more in itertools.combinations(by_agent, 2)]
    return min(1.0, _mean(ratios)) if ratios else math.nan


def _coordinate(rows: Sequence[Row]) -> dict[str, float]:
    shares: dict[str, list[float]] = {}
    for row in rows:
        if row["set"] in _COORDINATED and row.get("collisions") is not None and row.get("steps"):
            share = get_number(row, "collisions") / (get_number(row, "steps") * row["agents"])
            shares.setdefault(row["algorithm"], []).append(share)
    return {algorithm: 1 - _mean(values) for algorithm, values in shares.items()}


def _mean(values: Collection[float]) -> float:
    return statistics.fmean(values) if values else math.nan


class Line(NamedTuple):
    """The results of an algorithm with one number of agents of a set; estimates are NaN where they are undefined."""

    kind: str
    set: str
    agents: int
    algorithm: str
    instances: int
    """The number of instances for which it has a row."""
    unsolvable: int
    """The number of these that provably have no solution."""
    csr: Estimate
    """The share of instances that it solved, with Wilson's interval."""
    isr: Estimate
    """The mean share of agents that reached their targets, with a bootstrap interval."""
    throughput: Estimate
    """The mean number of arrivals a step, with a bootstrap interval."""
    gap: Estimate
    """The mean of the sum of costs divided by the bound, minus 1, over the instances that it solved and that have a
    proven bound, with a bootstrap interval."""
    bounded: int
    """The number of these instances."""
    seconds: float
    """The mean seconds of computing; they cannot be compared between machines."""


def find_bounds(rows: Sequence[Row]) -> dict[tuple[Any, ...], float]:
    """Return the largest proven lower bound of the sum of costs of each instance of the kind "mapf".

    Args:
        rows: dicts as `play` returns them; rows without "lower_bound", as published ones, have no bound.

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
    """Return a line for each kind, set, number of agents and algorithm, in the order of the rows.

    An instance's bound is the largest bound in any of its rows. It is used for all algorithms, published ones, too.

    Args:
        rows: dicts as `benchmarks.pogema.published` returns them; rows of `play` also have "status", of a plan, and
            "lower_bound".

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
        csr, isr, throughput = (_estimate(found, name) for name in ("csr", "isr", "throughput"))
        proven = sum(key[0] == "mapf" and instance_of(row) in unsolvable for row in found)
        bounded = sum(not math.isnan(gap) for gap in gaps)
        counts, gap = (len(found), proven), estimate_gap(gaps)
        lines.append(Line(*key, *counts, csr, isr, throughput, gap, bounded, _mean(seconds)))
    return lines


def _find_gap(row: Row, bounds: Mapping[tuple[Any, ...], float]) -> float:
    """Return the gap of a row; NaN without a solution or a bound."""
    bound = bounds.get(instance_of(row)) if row["kind"] == "mapf" else None
    if bound is None or not (success := get_number(row, "csr", most=1)):
        return math.nan
    return gap_of({"success": success, "sum_of_costs": get_number(row, "sum_of_costs", above=0)}, bound)


def _estimate(rows: Sequence[Row], name: str) -> Estimate:
    """Return the mean of a metric and its interval; undefined unless all rows have it."""
    given = [row.get(name) for row in rows]
    if any(value is None or (isinstance(value, float) and math.isnan(value)) for value in given):
        return UNDEFINED
    values = [get_number(row, name, most=math.inf if name == "throughput" else 1.0) for row in rows]
    return (wilson if name == "csr" else bootstrap)(np.array(values, dtype=np.float64))
