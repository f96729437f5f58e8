"""The table of a measurement: each goal, the figure that was measured, and the number of instances."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks.planning.rows import Row
from benchmarks.pogema import SETS
from benchmarks.pogema.published import OTHER_SCENARIOS

__all__ = ["Line", "format_table", "list_lines"]

Totals: TypeAlias = Mapping[tuple[str, str, int], int]
"""The number of instances of each measure, set and number of agents."""

_FIRST_PLAN, _STEP, _PLAN, _LABELS = 5.0, 0.0005, 0.1, 3e6
_BESIDE_RHCR = ("random", "mazes")
_MOST_COSTS, _LEAST_THROUGHPUT, _LONGEST_STEP = 1.03, 0.95, 1.0
_LEAST_PROVEN = {
    ("random", 8): 0.95,
    ("random", 16): 0.95,
    ("random", 24): 0.70,
    ("mazes", 8): 0.90,
    ("mazes", 16): 0.60,
}


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        name: the measure, set and number of agents.
        instances: the number of measured instances, and of all.
        figure: what was measured.
        goal: what is to be reached.
        reached: whether the figure reaches the goal.
    """

    name: str
    instances: str
    figure: str
    goal: str
    reached: bool


def list_lines(rows: Sequence[Row], totals: Totals) -> Iterator[Line]:
    """Yield a line for each goal of the rows, sorted by measure, set and number of agents."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.measure, row.set, row.agents), []).append(row)
    kinds = list(_JUDGES)
    order = {name: k for k, name in enumerate(SETS)}
    pibt = {key[1:]: groups.pop(key) for key in list(groups) if key[0] == "lifelong pibt"}
    for key in sorted(groups, key=lambda key: (kinds.index(key[0]), order.get(key[1], 0), key[2])):
        title, judge = _JUDGES[key[0]]
        size = "1,024 worlds x 8" if key[0] == "expert" else f"{key[2]:,}"
        name = f"{title}: {key[1]}, {size} agent{'s' * (key[2] != 1)}"
        many = f"{len(groups[key])} of {totals.get(key, len(groups[key]))}"
        compared = _compare_with_pibt(groups[key], pibt.get(key[1:], []) if key[0] == "lifelong windowed" else [])
        for part, figure, goal, reached in itertools.chain(judge(groups[key]), compared):
            yield Line(name + part, many, figure, goal, reached)
    known = [row for row in rows if row.measure in {"cbs", "lacam"} and ("mapf", row.set) not in OTHER_SCENARIOS]
    solved = [row for row in known if row.published is not None]
    if solved:
        broken = [
            f"{row.set} {row.instance} with {row.agents}"
            for row in solved
            if row.status == "unsolvable" or (row.published or 0) < (row.bound or 0)
        ]
        figure = f"{len(broken)}: {', '.join(broken)}" if broken else "0"
        yield Line("published sums of costs below a bound", str(len(solved)), figure, "none", not broken)


def format_table(lines: Sequence[Line]) -> str:
    """Return lines as a table in Markdown.

    >>> print(format_table([Line("a step", "3 of 3", "0.2 ms", "under 0.5 ms", True)]))
    | what | instances | figure | goal | |
    | --- | --- | --- | --- | --- |
    | a step | 3 of 3 | 0.2 ms | under 0.5 ms | reached |
    <BLANKLINE>
    1 of 1 goals are reached.
    """
    table = ["| what | instances | figure | goal | |", "| --- | --- | --- | --- | --- |"]
    for line in lines:
        verdict = "reached" if line.reached else "**missed**"
        table.append(f"| {line.name} | {line.instances} | {line.figure} | {line.goal} | {verdict} |")
    reached = sum(line.reached for line in lines)
    return "\n".join([*table, "", f"{reached} of {len(lines)} goals are reached."])


_Judged: TypeAlias = Iterator[tuple[str, str, str, bool]]


def _judge_pibt(rows: Sequence[Row]) -> _Judged:
    step, plan = max(_figures(rows)), max(row.seconds or 0.0 for row in rows)
    yield ", a step", f"{1e3 * step:.3g} ms", f"under {1e3 * _STEP:g} ms", step < _STEP
    yield ", 64 steps with all tables", f"{1e3 * plan:.3g} ms", f"under {1e3 * _PLAN:g} ms", plan < _PLAN


def _judge_expert(rows: Sequence[Row]) -> _Judged:
    speed = min(_figures(rows))
    yield "", f"{speed / 1e6:.3g} M agent-steps/s", f"at least {_LABELS / 1e6:g} M", speed >= _LABELS


def _judge_crowd(rows: Sequence[Row]) -> _Judged:
    found = _figures(rows)
    figure = f"{max(found):.3g} s" if len(found) == len(rows) else f"{len(rows) - len(found)} without a plan"
    reached = len(found) == len(rows) and max(found) < _FIRST_PLAN
    yield "", figure, f"under {_FIRST_PLAN:g} s", reached


def _judge_proofs(rows: Sequence[Row]) -> _Judged:
    first = rows[0]
    share = _LEAST_PROVEN.get((first.set, first.agents), 1.0)
    optimal, unsolvable = (sum(row.status == status for row in rows) for status in ("optimal", "unsolvable"))
    # A puzzle is also decided by a proof that it has no plan; instances of other sets always have one.
    proven = optimal + unsolvable
    figure = f"{optimal} optimal, {unsolvable} unsolvable, {proven / len(rows):.1%}; {_mean_seconds(rows)}"
    yield "", figure, f"at least {share:.0%} within {first.limit:g} s", proven >= share * len(rows)


def _judge_plans(rows: Sequence[Row]) -> _Judged:
    ours = sum(row.figure is not None for row in rows)
    theirs = sum(row.published is not None for row in rows)
    pairs = [(row.figure, row.published) for row in rows if row.figure is not None and row.published is not None]
    own, other = (sum(costs) for costs in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    ratio = own / other if other else 1.0
    optimal = sum(row.status == "optimal" for row in rows)
    figure = f"{ours} solved, {optimal} of them optimal; costs {ratio:.3f}; {_mean_seconds(rows)}"
    goal = f"at least {theirs} solved, costs at most {_MOST_COSTS} of LaCAM's, within 10 s"
    in_time = max(row.limit for row in rows) <= 10
    yield "", figure, goal, ours >= theirs and ratio <= _MOST_COSTS and in_time


def _judge_windowed(rows: Sequence[Row]) -> _Judged:
    own, worst = statistics.mean(_figures(rows)), max(row.worst or 0.0 for row in rows)
    if rows[0].set in _BESIDE_RHCR:
        ratio = own / statistics.mean(row.published or 0.0 for row in rows)
        goal = f"at least {_LEAST_THROUGHPUT} of RHCR's"
        yield ", throughput", f"{own:.3f}, {ratio:.3f} of RHCR's", goal, ratio >= _LEAST_THROUGHPUT
    figure = f"{1e3 * statistics.mean(row.seconds or 0.0 for row in rows):.3g} ms, the longest {worst:.3g} s"
    yield ", time of a step", figure, f"at most {_LONGEST_STEP:g} s", worst <= _LONGEST_STEP


def _compare_with_pibt(rows: Sequence[Row], pibt: Sequence[Row]) -> _Judged:
    """Compare the throughput with PIBT's on the instances that both have played."""
    played = {row.instance: row for row in pibt}
    both = [row for row in rows if row.instance in played]
    if both:
        own, other = (statistics.mean(_figures(some)) for some in (both, [played[row.instance] for row in both]))
        yield ", throughput", f"{own:.3f}, PIBT {other:.3f}", "more than PIBT's", own > other


_JUDGES: dict[str, tuple[str, Callable[[Sequence[Row]], _Judged]]] = {
    "pibt": ("PIBT", _judge_pibt),
    "expert": ("batch expert", _judge_expert),
    "crowd": ("first plan of LaCAM*", _judge_crowd),
    "lacam": ("LaCAM*", _judge_plans),
    "cbs": ("CBS", _judge_proofs),
    "lifelong windowed": ("lifelong, windowed", _judge_windowed),
}


def _figures(rows: Sequence[Row]) -> list[float]:
    return [row.figure for row in rows if row.figure is not None]


def _mean_seconds(rows: Sequence[Row]) -> str:
    seconds = [row.seconds or 0.0 for row in rows]
    return f"{statistics.mean(seconds):.3g} s, at most {max(seconds):.3g} s"
