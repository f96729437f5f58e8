"""The tables of the page, in Markdown: a row for each algorithm, a column for each number of agents."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmark_facts import RELATIVE, least_costs
from benchmark_rows import LABELS, PARTS, label, label_of

from benchmarks.pogema.published import Row
from benchmarks.pogema.scores import Line, find_bounds, instance_of

TITLES = {
    "random": "Random",
    "mazes": "Mazes",
    "warehouse": "Warehouse",
    "movingai": "MovingAI",
    "puzzles": "Puzzles",
    "pathfinding": "Pathfinding",
    "warehouse-lists": "Warehouse, lists",
    "random-dense": "denser Random",
    "mazes-dense": "denser Mazes",
}
GROUPS = (("random",), ("mazes",), ("warehouse",), ("movingai",), ("puzzles", "pathfinding"))
"""The sets that share tables; cells.csv has the lists of Warehouse, and the sets with more agents."""

UNSHOWN = (LABELS["random"], label("lacam", 10.0))
"""Algorithms that the tables of this page leave out; cells.csv has them."""
_ELSEWHERE = (*UNSHOWN, LABELS["shortest-path"], "SCRIMP", "DCC")
"""Those that the tables by number of agents leave out: the table of the whole field has the published ones."""

_PARTIAL = " †"
_PUBLISHED = ("LaCAM", "SCRIMP", "DCC", "RHCR", "MATS-LP", "Follower")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> list[str]:
    """Return the lines of a table; the first columns are texts, the others numbers, aligned at the right."""
    aligned = ["---"] * texts + ["---:"] * (len(head) - texts)
    return [f"| {' | '.join(cells)} |" for cells in (head, aligned, *rows)]


def order(algorithms: Iterable[str]) -> list[str]:
    """Return own algorithms, those of `LABELS` in their order, then the published ones."""
    labels = list(LABELS.values())

    def place(name: str) -> tuple[int, int, str]:
        if name in _PUBLISHED:
            return 2, _PUBLISHED.index(name), ""
        plain = name.partition(" (")[0]
        return (0, labels.index(plain), name) if plain in labels else (1, 0, name)

    return sorted(dict.fromkeys(algorithms), key=place)


def success_table(lines: Sequence[Line], group: Sequence[str], facts: Mapping[str, Any]) -> list[str]:
    """Return a table of the CSR in percent of some sets, by number of agents; none if there are no rows.

    A mark says that an algorithm has fewer instances than another one of the column.

    Args:
        lines: of one kind.
        group: the sets.
        facts: those of the kind.
    """
    sizes = {(name, int(agents)): size for name in group for agents, size in facts["sizes"].get(name, {}).items()}
    found = {
        (line.algorithm, line.set, line.agents): line
        for line in lines
        if line.set in group and line.algorithm not in _ELSEWHERE
    }
    most = {
        place: max((line.instances for key, line in found.items() if key[1:] == place), default=0) for place in sizes
    }
    rows = []
    for algorithm in order(name for name, *_ in found):
        own = [found.get((algorithm, *place)) for place in sizes]
        partial = [line is not None and line.instances < most[place] for line, place in zip(own, sizes, strict=True)]
        whole_row = all(is_partial for line, is_partial in zip(own, partial, strict=True) if line is not None)
        cells = [
            "" if line is None else f"{100 * line.csr.mean:.0f}" + _PARTIAL * (is_partial and not whole_row)
            for line, is_partial in zip(own, partial, strict=True)
        ]
        rows.append([show(algorithm) + _PARTIAL * whole_row, *cells])
    if not rows:
        return []
    several = len(group) > 1
    head = [f"{TITLES[name]}, {agents}" if several else str(agents) for name, agents in sizes]
    title = "agents" if several else f"{TITLES[group[0]]}, agents"
    return [*table([title, *head], rows), ""]


def scores_table(by_missing: Mapping[str, Mapping[str, Mapping[str, float | None]]], own: Sequence[str]) -> list[str]:
    """Return a table of scores; a score that changes with the way of counting missing rows has two columns.

    Args:
        by_missing: the scores, for "drop" and "own".
        own: the own algorithms, which are bold.
    """
    columns: dict[str, Mapping[str, float | None]] = {}
    for score in (score for score in RELATIVE if score in by_missing["drop"]):
        columns[score] = by_missing["drop"][score]
        if by_missing["own"][score] != by_missing["drop"][score]:
            columns[f"{score}, all its rows"] = by_missing["own"][score]
    known = dict.fromkeys(name for by_algorithm in columns.values() for name in by_algorithm)
    names = [name for name in known if name not in UNSHOWN]
    names.sort(key=lambda name: [-(by_algorithm.get(name) or 0.0) for by_algorithm in columns.values()])
    rows = [
        [_embolden(name) if name in own else name, *(_number(values.get(name), ".3f") for values in columns.values())]
        for name in names
    ]
    return [*table(["algorithm", *columns], rows), ""]


def played_table(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any]) -> list[str]:
    """Return a table of what was played, with the mean seconds of an instance."""
    lines = []
    for part in PARTS:
        played = facts[part.kind]["played"][part.name]
        known = dict.fromkeys([label_of(row) for row in rows[part.name]])
        for algorithm in order(known):
            counts = played[algorithm].values()
            seconds = [row["seconds"] for row in rows[part.name] if label_of(row) == algorithm]
            mean = f"{statistics.fmean(seconds):.3g}"
            sizes = facts[part.kind]["sizes"]
            lines.append([part.what, algorithm, _cover(played[algorithm], sizes), _of(counts), mean])
    return [*table(["kind", "algorithm", "instances", "number", "seconds per instance"], lines, texts=3), ""]


def bounds_table(rows: Sequence[Row], facts: Mapping[str, Any]) -> list[str]:
    """Return a table of what was proven, by set, and of published LaCAM's results beside it.

    Args:
        rows: the own rows of the kind "mapf".
        facts: those of the page.
    """
    bounds, least = find_bounds(rows), least_costs(rows)
    best: dict[tuple[Any, ...], float] = {}
    for row in rows:
        if row["csr"]:
            best[instance_of(row)] = min(row["sum_of_costs"], best.get(instance_of(row), math.inf))
    unsolvable = {instance_of(row) for row in rows if row["status"] == "unsolvable"}
    proven: dict[str, Counter[str]] = {}
    for key in dict.fromkeys(map(instance_of, rows)):
        found = proven.setdefault(key[0], Counter())
        found["optimal"] += key in best and best[key] == bounds.get(key)
        found["raised"] += key not in unsolvable and key in least and bounds.get(key, 0.0) > least[key]
    lines = []
    for name, sizes in facts["mapf"]["sizes"].items():
        found, published = proven.get(name, Counter()), facts["lacam"].get(name)
        equal = "" if published is None else str(sum(one.get("equal", 0) for one in published.values()))
        lines.append([TITLES[name], str(sum(sizes.values())), str(found["optimal"]), str(found["raised"]), equal])
    head = ("set", "instances", "optimum known", "bound above shortest paths", "LaCAM at the bound")
    return [*table(head, lines), ""]


def _cover(by_set: Mapping[str, Sequence[Any]], sizes: Iterable[str]) -> str:
    """Say which instances were played, of the sets `sizes`."""
    steps = {step for _, _, step in by_set.values()}
    without = ", ".join(TITLES[name] for name in sizes if name not in by_set)
    if len(steps) == 1 and None not in steps:
        said = "all" if steps == {1} else f"every {ordinal(steps.pop())} scenario"
        return said + (f" but those of {without}" if without else "")
    parts = []
    for name, (count, total, step) in by_set.items():
        said = f"{count:,} of {total:,}" if step is None else "all" if step == 1 else f"every {ordinal(step)} scenario"
        parts.append(f"{TITLES[name]}: {said}")
    return ("**incomplete**: " if None in steps else "") + ", ".join(parts)


def _of(counts: Iterable[Sequence[Any]]) -> str:
    played, total = (sum(column) for column in list(zip(*counts, strict=True))[:2])
    return f"{played:,}" if played == total else f"{played:,} of {total:,}"


def ordinal(number: int) -> str:
    """Return a number as 2nd or 8th.

    >>> ordinal(2), ordinal(13)
    ('2nd', '13th')
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def show(algorithm: str) -> str:
    """Return the name of an algorithm, bold if it is one of this package."""
    return algorithm if algorithm in _PUBLISHED else _embolden(algorithm)


def _embolden(algorithm: str) -> str:
    r"""Return a name in bold.

    >>> _embolden("LaCAM* (1 s)")
    '**LaCAM\\* (1 s)**'
    """
    return "**{}**".format(algorithm.replace("*", r"\*"))


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
