"""Who is better, instance by instance: policies of this package and each published algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark_rows import label_of

from benchmarks.pogema import Kind
from benchmarks.pogema.published import OTHER_SCENARIOS, Row
from benchmarks.pogema.scores import instance_of

LEARNED = ("pretrained-shield", "pretrained")
_COMPARED = (*LEARNED, "lacam", "windowed")


def count_wins(kind: Kind, own: Sequence[Row], others: Sequence[Row]) -> dict[str, dict[str, list[int]]]:
    """Return of each compared policy and published algorithm the numbers of wins, losses and ties.

    Of two that solve an instance, the one with the smaller sum of costs wins; one that does not solve it loses to one
    that does. In a lifelong instance, the larger throughput wins. Sets whose published rows are of other scenarios are
    left out.

    Args:
        kind: of the rows.
        own: the rows of this package.
        others: the published rows.

    >>> one = {"set": "mazes", "map": "maze-0", "seed": 0, "agents": 8, "time_limit": 0.0}
    >>> own = [{**one, "algorithm": "pretrained", "csr": 1.0, "sum_of_costs": 70.0}]
    >>> others = [{**one, "algorithm": "DCC", "csr": 0.0, "sum_of_costs": 64.0}]
    >>> count_wins("mapf", own, others)
    {'pretrained policy, alone': {'DCC': [1, 0, 0]}}
    """
    found: dict[str, dict[str, list[int]]] = {}
    for name in _COMPARED:
        own_rows = [row for row in own if row["algorithm"] == name]
        values = {instance_of(row): _value(kind, row) for row in own_rows if (kind, row["set"]) not in OTHER_SCENARIOS}
        for row in others:
            value = values.get(instance_of(row))
            if value is None:
                continue
            counts = found.setdefault(label_of(own_rows[0]), {}).setdefault(row["algorithm"], [0, 0, 0])
            theirs = _value(kind, row)
            counts[0 if value > theirs else 1 if value < theirs else 2] += 1
    return found


def _value(kind: Kind, row: Mapping[str, Any]) -> float:
    """Return what is larger for the better one."""
    if kind == "lmapf":
        return float(row["throughput"])
    return -float(row["sum_of_costs"]) if row["csr"] else -float("inf")
