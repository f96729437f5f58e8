"""What the page needs besides the rows: all figures in which files of the benchmark take part, and what was played."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from benchmark_rows import PARTS, format_rows, label_of, label_rows

from benchmarks.pogema import Instance, Kind, read_instances
from benchmarks.pogema.clone import COMMIT, REPOSITORY
from benchmarks.pogema.instances import SINGLE
from benchmarks.pogema.published import Row, published
from benchmarks.pogema.scores import Line, find_bounds, instance_of, scores, summarize
from multigrid.evaluation._estimates import Estimate

RELATIVE = ("Performance", "Out-of-Distribution", "Cooperation", "Pathfinding")
"""The scores that are shown: those that depend neither on the machine nor on figures that are not in the clone."""
_COMPARED = {"mapf": ("LaCAM", "SCRIMP", "DCC"), "lmapf": ("RHCR", "MATS-LP", "Follower")}
"""The published algorithms in the tables by number of agents: the searches, and the best of those that learn."""
_COUNTS = ("set", "agents", "algorithm", "instances", "bounded")
_DIGITS = 6
_JUDGED = ("pretrained-shield", "pretrained", "lacam", "windowed")
"""The policies that are compared instance by instance."""


def gather(rows: Mapping[str, Sequence[Row]], data: Path, sets: Sequence[str]) -> dict[str, Any]:
    """Return the figures, ready for JSON.

    Args:
        rows: those of each part.
        data: the clone.
        sets: the sets of the page.
    """
    facts: dict[str, Any] = {
        "repository": REPOSITORY,
        "commit": COMMIT,
        "rows": {part.name: hashlib.sha256(format_rows(rows[part.name])).hexdigest() for part in PARTS},
    }
    for kind in get_args(Kind):
        names = [name for name in sets if kind == "mapf" or name not in SINGLE]
        instances = {name: read_instances(data, name, kind) for name in names}
        others = published(data, kind, sets=sets)
        played = {part.name: _cover(rows[part.name], instances) for part in PARTS if part.kind == kind}
        facts[kind] = {
            "sizes": {name: _count_agents(found) for name, found in instances.items()},
            "steps": {name: found[0].steps for name, found in instances.items()},
            "played": played,
            **_score(rows[kind], others, played[kind]),
            "wins": count_wins(kind, rows[kind], others),
            "lines": _describe_lines(label_rows(rows, kind), _restrict(others, rows[kind]), _COMPARED[kind]),
        }
        if kind == "mapf":
            facts["lacam"] = _compare(label_rows(rows, kind), others)
    return facts


def read_lines(facts: Mapping[str, Any]) -> list[Line]:
    """Return the lines of the published rows."""
    lines = []
    for kind in get_args(Kind):
        for one in facts[kind]["lines"]:
            # JSON has no NaN.
            estimates = {
                name: Estimate(*(math.nan if value is None else value for value in one.get(name, [None] * 3)))
                for name in ("csr", "isr", "throughput", "gap")
            }
            place = {name: one[name] for name in _COUNTS}
            lines.append(Line(kind=kind, **place, unsolvable=0, **estimates, seconds=math.nan))
    return lines


def least_costs(rows: Iterable[Row]) -> dict[tuple[Any, ...], float]:
    """Return the sum of shortest paths of each instance: the bound in the rows of those that do not search."""
    return {
        instance_of(row): row["lower_bound"]
        for row in rows
        if row["status"] == "played" and row["lower_bound"] is not None
    }


def _count_agents(instances: Sequence[Instance]) -> dict[str, int]:
    return {str(agents): count for agents, count in Counter(one.num_agents for one in instances).items()}


def _cover(rows: Sequence[Row], instances: Mapping[str, Sequence[Instance]]) -> dict[str, Any]:
    """Return of each algorithm and set with rows how many instances are played, of how many, and a sample's step."""
    played: dict[str, dict[str, set[tuple[Any, ...]]]] = {}
    for row in rows:
        by_set = played.setdefault(label_of(row), {name: set() for name in instances})
        if row["set"] in by_set:
            by_set[row["set"]].add(instance_of(row)[1:])
    return {
        algorithm: {
            name: [len(found), len(instances[name]), _find_step(found, instances[name])]
            for name, found in by_set.items()
            if found
        }
        for algorithm, by_set in played.items()
    }


def _find_step(found: set[tuple[Any, ...]], instances: Sequence[Instance]) -> int | None:
    """Return the K for which every K-th scenario was played, with all numbers of agents; None if there is none."""
    numbers = dict.fromkeys(one.num_agents for one in instances)
    scenarios = [(one.map, one.seed) for one in instances if one.num_agents == next(iter(numbers))]
    for step in range(1, len(scenarios) + 1):
        if found == {(*scenario, agents) for scenario in scenarios[::step] for agents in numbers}:
            return step
    return None


def _score(own: Sequence[Row], others: Sequence[Row], played: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores of the published rows, and with own algorithms that have whole sets or regular samples.

    Args:
        own: of one part.
        others: the published rows.
        played: what `_cover` returns for the part.
    """
    steps = {name: {step for _, _, step in by_set.values()} for name, by_set in played.items()}
    # Algorithms with another sample than the others are left out, and so are those that were interrupted.
    common = Counter(next(iter(found)) for found in steps.values() if len(found) == 1).most_common(1)
    step = common[0][0] if common else None
    regular = [name for name, found in steps.items() if found == {step} and step is not None]
    whole = [{**row, "algorithm": label_of(row)} for row in own if label_of(row) in regular]
    shared = _select(others, whole)
    return {
        "published": {missing: _round_scores(scores(others, missing=missing)) for missing in ("drop", "own")},
        "joint": {
            missing: _round_scores(scores([*whole, *shared], missing=missing)) if whole else {}
            for missing in ("drop", "own")
        },
        "joint_every": step,
    }


def _restrict(others: Sequence[Row], own: Sequence[Row]) -> list[Row]:
    """Return the published rows of the instances that own rows have, and all those of sets without own rows."""
    names = {row["set"] for row in own}
    return [*_select(others, own), *(row for row in others if row["set"] not in names)]


def _select(others: Sequence[Row], own: Sequence[Row]) -> list[Row]:
    """Return the published rows of the instances that own rows have."""
    known = {instance_of(row) for row in own}
    return [row for row in others if instance_of(row) in known]


def _round_scores(found: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {
        score: {algorithm: _round(value) for algorithm, value in found[score].items()}
        for score in RELATIVE
        if score in found
    }


def _describe_lines(own: Sequence[Row], others: Sequence[Row], shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return the lines of published algorithms, with the bounds that own rows have proven."""
    compared = [row for row in others if row["algorithm"] in shown]
    described = []
    for line in summarize([*own, *compared]):
        if line.algorithm in shown:
            one: dict[str, Any] = {name: getattr(line, name) for name in _COUNTS}
            for name in ("csr", "throughput", "gap"):
                if not math.isnan(getattr(line, name).mean):
                    one[name] = [_round(value) for value in getattr(line, name)]
            described.append(one)
    return described


def _compare(own: Sequence[Row], others: Sequence[Row]) -> dict[str, Any]:
    """Compare the published sums of costs of LaCAM with the bounds, by set and number of agents."""
    bounds = find_bounds(own)
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in others:
        bound = bounds.get(instance_of(row))
        if row["algorithm"] != "LaCAM" or not row["csr"] or bound is None:
            continue
        found = counts.setdefault(row["set"], {}).setdefault(str(row["agents"]), Counter())
        cost = row["sum_of_costs"]
        found["equal" if cost == bound else "above" if cost > bound else "below"] += 1
    return counts


def _round(value: float) -> float | None:
    return None if math.isnan(value) else round(value, _DIGITS)


def count_wins(kind: Kind, own: Sequence[Row], others: Sequence[Row]) -> dict[str, dict[str, list[int]]]:
    """Return of each compared policy and published algorithm the numbers of wins, losses and ties.

    Of two that solve an instance, the one with the smaller sum of costs wins; one that does not solve it loses to one
    that does. In a lifelong instance, the larger throughput wins.

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
    for name in _JUDGED:
        own_rows = [row for row in own if row["algorithm"] == name]
        values = {instance_of(row): _value(kind, row) for row in own_rows}
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
