"""The tables of a measurement, one for each planner: what was measured, and which goals are reached."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from benchmarks.planning.rows import Row
from benchmarks.pogema import SETS
from benchmarks.pogema.published import OTHER_SCENARIOS

__all__ = ["Line", "format_table", "list_lines"]

Totals: TypeAlias = Mapping[tuple[str, str, int], int]
"""The number of instances of each measure, set and number of agents."""

_FIRST_PLAN, _STEP, _PLAN, _LABELS = 5.0, 0.0005, 0.1, 3e6
_BESIDE_RHCR = ("random", "mazes")
_MOST_COSTS, _MOST_SECONDS, _LEAST_THROUGHPUT, _LONGEST_STEP = 1.03, 10.0, 0.95, 1.0
_LEAST_PROVEN = {
    ("random", 8): 0.95,
    ("random", 16): 0.95,
    ("random", 24): 0.70,
    ("mazes", 8): 0.90,
    ("mazes", 16): 0.60,
}


_SPEED, _LACAM, _CBS, _WINDOWED, _PUBLISHED = "Speed", "LaCAM*", "CBS", "Windowed planning", "Published results"
_WORLD = ("set", "agents", "instances")
_SUMS = ("instances", "solved", "LaCAM's", "optimal", "without a plan")


class _Part(NamedTuple):
    """A table: its columns, and what is said above it."""

    columns: tuple[str, ...]
    text: str


_PARTS = {
    _SPEED: _Part(
        ("what", "seeds", "figure", "goal"),
        """\
Generated worlds, a fifth of the cells walls. *Seeds*: those measured / all.
""",
    ),
    _LACAM: _Part(
        (*_WORLD, "solved", "LaCAM's", "optimal", "costs", "longest, s"),
        f"""\
A search ends after {{limit:g}} s. *Costs*: the sum of costs divided by LaCAM's, over the instances that both solve.
Goals: as many solved instances as the published LaCAM, each in at most {_MOST_SECONDS:g} s; *costs* of at most
{_MOST_COSTS}. Warehouse has no published rows of the same scenarios.
""",
    ),
    _CBS: _Part(
        (*_WORLD, "proven, %", "goal, %", "without a plan", "longest, s"),
        """\
*Proven*: that the plan is optimal, or that there is none, within {limit:g} s. *Goal*: the least percentage.
""",
    ),
    _WINDOWED: _Part(
        (*_WORLD, "throughput", "ratio", "longest, ms"),
        f"""\
*Ratio*: the throughput divided by the published one of RHCR, in Warehouse by PIBT's, on the same episodes. *Longest*:
of the steps. Goals: a ratio of at least {_LEAST_THROUGHPUT}, in Warehouse above 1; at most {_LONGEST_STEP:g} s a step.
""",
    ),
    _PUBLISHED: _Part(
        ("search", "comparisons", "below the bound"),
        """\
Goal: no published sum of costs is below a proven bound. Without Warehouse.
""",
    ),
}
"""The tables, in their order."""


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a table.

    Attributes:
        part: the title of the table.
        cells: what stands in its columns.
        goals: of each goal, the column that shows whether it is reached, and whether it is.
        limit: the time limit of the search in seconds, 0 without a limit.
    """

    part: str
    cells: tuple[str, ...]
    goals: tuple[tuple[int, bool], ...]
    limit: float = 0.0


def list_lines(rows: Sequence[Row], totals: Totals) -> Iterator[Line]:
    """Yield the lines of the tables, sorted by measure, set and number of agents."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.measure, row.set, row.agents), []).append(row)
    kinds = list(_JUDGES)
    order = {name: k for k, name in enumerate(SETS)}
    pibt = {key[1:]: groups.pop(key) for key in list(groups) if key[0] == "lifelong pibt"}
    for key in sorted(groups, key=lambda key: (kinds.index(key[0]), order.get(key[1], 0), key[2])):
        many = f"{len(groups[key])} / {totals.get(key, len(groups[key]))}"
        yield from _JUDGES[key[0]](groups[key], many, pibt.get(key[1:], []))
    known = [row for row in rows if row.published is not None and ("mapf", row.set) not in OTHER_SCENARIOS]
    for measure, search in {"lacam": _LACAM, "cbs": _CBS}.items():
        solved = [row for row in known if row.measure == measure]
        broken = [
            f"{row.set} {row.instance} with {row.agents}"
            for row in solved
            if row.status == "unsolvable" or (row.published or 0) < (row.bound or 0)
        ]
        figure = f"{len(broken)}: {', '.join(broken)}" if broken else "0"
        if solved:
            yield Line(_PUBLISHED, (search, str(len(solved)), figure), ((2, not broken),))


def format_table(lines: Sequence[Line]) -> str:
    """Return the lines as tables in Markdown, with a row for each set; a line that misses a goal has its own row.

    >>> print(format_table([Line("Speed", ("a step", "3 / 3", "0.2 ms", "under 0.1 ms"), ((2, False),))]))
    ## Speed
    <BLANKLINE>
    Generated worlds, a fifth of the cells walls. *Seeds*: those measured / all.
    <BLANKLINE>
    | what | seeds | figure | goal |
    | --- | ---: | ---: | ---: |
    | a step | 3 / 3 | 0.2 ms **missed** | under 0.1 ms |
    <BLANKLINE>
    0 of 1 goals are reached.
    """
    text = []
    for title, part in _PARTS.items():
        found = [line for line in lines if line.part == title]
        if found:
            said = part.text.format(limit=max(line.limit for line in found))
            text += [f"## {title}\n", *([said] if said else []), f"| {' | '.join(part.columns)} |"]
            text += [f"| --- |{' ---: |' * (len(part.columns) - 1)}", *map(_format, _join_sets(found, part)), ""]
    goals = [reached for line in lines for _, reached in line.goals]
    return "\n".join([*text, f"{sum(goals)} of {len(goals)} goals are reached."])


def _join_sets(lines: Sequence[Line], part: _Part) -> Iterator[Line]:
    if part.columns[: len(_WORLD)] != _WORLD:
        yield from lines
        return
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        misses = not all(reached for _, reached in line.goals)
        groups.setdefault((line.cells[0], line.cells[1] if misses else ""), []).append(line)
    for group in groups.values():
        columns = zip(part.columns, zip(*(line.cells for line in group), strict=True), strict=True)
        goals = tuple(goal for line in group for goal in line.goals)
        yield Line(group[0].part, tuple(_join(column, cells) for column, cells in columns), goals)


def _join(column: str, cells: Sequence[str]) -> str:
    """Return the cell of a set: a sum, a maximum or a range, as its column requires."""
    filled = [cell for cell in cells if cell]
    if column in _SUMS:
        numbers = (map(int, cell.split(" / ")) for cell in filled)
        return " / ".join(str(sum(group)) for group in zip(*numbers, strict=True))
    if len(set(filled)) < 2:
        return "".join(filled[:1])
    least, most = min(filled, key=float), max(filled, key=float)
    return most if column.startswith("longest") else f"{least} to {most}"


def _format(line: Line) -> str:
    missed = {column for column, reached in line.goals if not reached}
    cells = [cell + " **missed**" * (column in missed) for column, cell in enumerate(line.cells)]
    return f"| {' | '.join(cells)} |"


_Judged: TypeAlias = Iterator[Line]


def _measured(name: str, many: str, figure: str, goal: str, *, reached: bool) -> Line:
    return Line(_SPEED, (name, many, figure, goal), ((2, reached),))


def _judge_pibt(rows: Sequence[Row], many: str, _pibt: Sequence[Row]) -> _Judged:
    step, plan = max(_figures(rows)), max(row.seconds or 0.0 for row in rows)
    name = f"PIBT: {rows[0].set}, {rows[0].agents:,} agents"
    yield _measured(f"{name}, a step", many, f"{1e3 * step:.3g} ms", f"under {1e3 * _STEP:g} ms", reached=step < _STEP)
    figure, goal = f"{1e3 * plan:.3g} ms", f"under {1e3 * _PLAN:g} ms"
    yield _measured("the same, 64 steps with all tables of distances", many, figure, goal, reached=plan < _PLAN)


def _judge_expert(rows: Sequence[Row], many: str, _pibt: Sequence[Row]) -> _Judged:
    speed = min(_figures(rows))
    figure, goal = f"{speed / 1e6:.3g} M agent-steps/s", f"at least {_LABELS / 1e6:g} M"
    name = f"batch expert: {rows[0].set}, 1,024 worlds x {rows[0].agents} agents"
    yield _measured(name, many, figure, goal, reached=speed >= _LABELS)


def _judge_crowd(rows: Sequence[Row], many: str, _pibt: Sequence[Row]) -> _Judged:
    found = _figures(rows)
    figure = f"{max(found):.3g} s" if len(found) == len(rows) else f"{len(rows) - len(found)} without a plan"
    reached = len(found) == len(rows) and max(found) < _FIRST_PLAN
    name = f"first plan of LaCAM*: {rows[0].set}, {rows[0].agents:,} agents"
    yield _measured(name, many, figure, f"under {_FIRST_PLAN:g} s", reached=reached)


def _judge_proofs(rows: Sequence[Row], many: str, _pibt: Sequence[Row]) -> _Judged:
    first = rows[0]
    share = _LEAST_PROVEN.get((first.set, first.agents), 1.0)
    optimal, unsolvable = (sum(row.status == status for row in rows) for status in ("optimal", "unsolvable"))
    # A puzzle is also decided by a proof that it has no plan; instances of other sets always have one.
    proven = optimal + unsolvable
    shares = f"{100 * proven / len(rows):.1f}", f"{100 * share:.0f}"
    cells = (first.set, str(first.agents), many, *shares, str(unsolvable), _find_longest(rows))
    yield Line(_CBS, cells, ((3, proven >= share * len(rows)),), first.limit)


def _judge_plans(rows: Sequence[Row], many: str, _pibt: Sequence[Row]) -> _Judged:
    first = rows[0]
    ours = sum(row.figure is not None for row in rows)
    theirs = sum(row.published is not None for row in rows)
    pairs = [(row.figure, row.published) for row in rows if row.figure is not None and row.published is not None]
    own, other = (sum(costs) for costs in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    ratio = own / other if other else 1.0
    optimal = sum(row.status == "optimal" for row in rows)
    in_time = (7, max(row.limit for row in rows) <= _MOST_SECONDS)
    if ("mapf", first.set) in OTHER_SCENARIOS:
        counts, goals = (str(ours), "", str(optimal), ""), (in_time,)
    else:
        counts = str(ours), str(theirs), str(optimal), f"{ratio:.3f}"
        goals = (3, ours >= theirs), (6, ratio <= _MOST_COSTS), in_time
    cells = (first.set, str(first.agents), many, *counts, _find_longest(rows))
    yield Line(_LACAM, cells, goals, first.limit)


def _judge_windowed(rows: Sequence[Row], many: str, pibt: Sequence[Row]) -> _Judged:
    first = rows[0]
    own, worst = statistics.mean(_figures(rows)), max(row.worst or 0.0 for row in rows)
    goals, ratio = [(5, worst <= _LONGEST_STEP)], ""
    if first.set in _BESIDE_RHCR:
        share = own / statistics.mean(row.published or 0.0 for row in rows)
        goals, ratio = [*goals, (4, share >= _LEAST_THROUGHPUT)], f"{share:.3f}"
    played = {row.instance: row for row in pibt}
    # Only the instances that both have played are compared.
    if both := [row for row in rows if row.instance in played]:
        ours, other = (statistics.mean(_figures(some)) for some in (both, [played[row.instance] for row in both]))
        goals, ratio = [*goals, (4, ours > other)], f"{ours / other:.3f}"
    cells = (first.set, str(first.agents), many, f"{own:.3f}", ratio, f"{1e3 * worst:.3g}")
    yield Line(_WINDOWED, cells, tuple(goals))


_JUDGES: dict[str, Callable[[Sequence[Row], str, Sequence[Row]], _Judged]] = {
    "pibt": _judge_pibt,
    "expert": _judge_expert,
    "crowd": _judge_crowd,
    "lacam": _judge_plans,
    "cbs": _judge_proofs,
    "lifelong windowed": _judge_windowed,
}


def _figures(rows: Sequence[Row]) -> list[float]:
    return [row.figure for row in rows if row.figure is not None]


def _find_longest(rows: Sequence[Row]) -> str:
    return f"{max(row.seconds or 0.0 for row in rows):.3g}"
