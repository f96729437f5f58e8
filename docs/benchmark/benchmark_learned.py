"""The whole field in one table: policies of this package and published ones on the same instances, for the pages.

`python docs/benchmark/benchmark_learned.py --data CLONE --ddg CLONE --hmagat CLONE ...` counts what published policies
reach, from the rows in clones of their repositories, and writes learned.json, which has these figures alone;
`make_benchmark.py` then puts them into the pages. `benchmarks.pogema.learned.SOURCES` has the commits. Where a clone is
missing, or lacks sets, the figures that learned.json has of them stay; without learned.json, all are counted anew.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from benchmark_rows import LABELS, PARTS, label, label_of, packed_name, unpack
from benchmark_tables import TITLES, show, table

from benchmarks.pogema import SETS as ALL_SETS
from benchmarks.pogema import find_bounds, learned, published
from benchmarks.pogema.instances import DENSE, folder_of
from benchmarks.pogema.learned import SOURCES, list_sums
from benchmarks.pogema.published import Row
from benchmarks.pogema.scores import instance_of, list_ratios
from multigrid.cli._files import write_json
from multigrid.evaluation._estimates import Estimate, bootstrap, wilson

FILE = Path(__file__).parent / "learned.json"
TRAININGS = FILE.with_name(packed_name("trainings"))
"""The rows of other trainings of the pretrained policy, which were played once."""
SCORED = ("random", "mazes", "movingai")
"""The sets whose sums of costs make the scores."""
SETS = (*SCORED, "warehouse")
"""The sets of the whole field."""
PAIRS = {"pairs": SCORED, "pairs, warehouse": ("warehouse",)}
"""The sets of each table of pairs, by its name in learned.json and on the page."""
AGAINST = "DMM-MICPO-3M"
"""The algorithm with which the table of the sets with more agents compares costs."""
_IN_DENSE = ("lacam", *(f"pretrained{form}" for form in ("-shield", "-messages", "")), "pibt", AGAINST, "HMAGAT")
"""The algorithms of that table, in its order."""
_SCORES = ("Performance", "Out-of-Distribution")
_DENSE = ("mazes", (48, 64))
"""The set and numbers of agents that have a column of their own: the hardest ones."""
_LEAST_SHARE = 0.8
"""Tables of pairs have the published algorithms that solve at least this share."""
_DIGITS = 6
_PARTIAL = " †"

_Costs: TypeAlias = dict[tuple[Any, ...], float]
"""The sum of costs for each instance; infinite without a solution within the steps of the set."""
_Counts: TypeAlias = dict[str, dict[str, list[int]]]
"""Of each set and number of agents, how many instances are solved, and how many have a row."""


class _About(NamedTuple):
    """What is known of an algorithm."""

    year: str
    weights: str
    sees: str
    """The cells in sight."""
    coordination: str
    source: str = ""
    """Of a published algorithm: a name in `SOURCES`, or "data", the benchmark itself."""


OWN = {
    "pretrained": _About("2026", "2.0 M", "11 x 11", "none"),
    "pretrained-messages": _About("2026", "2.0 M", "11 x 11", "messages"),
    "pretrained-shield": _About("2026", "2.0 M", "11 x 11", "shield"),
    "pibt": _About("2022", "none", "all", "central"),
    "lacam": _About("2023", "none", "all", "central"),
}
"""The algorithms of this package; those without rows have no line."""
_SIGHTS = {"all": "", "near": ", seen agents' targets", "own": ", own target"}
"""What agents of a training see of targets."""
OTHERS = {
    "DMM-MICPO-3M": _About("2026", "3 M", "11 x 11", "messages", "dmm"),
    "DMM-MICPO-08M": _About("2026", "0.8 M", "11 x 11", "messages", "dmm"),
    "DMM-3M": _About("2026", "3 M", "11 x 11", "messages", "dmm"),
    "DMM-08M": _About("2026", "0.8 M", "11 x 11", "messages", "dmm"),
    "LC-MAPF-3M": _About("2026", "3 M", "11 x 11", "messages", "dmm"),
    "MAGAT+": _About("2026", "not stated", "not stated", "messages", "dmm"),
    "MAPF-GPT-DDG-2M": _About("2025", "2 M", "11 x 11", "none", "ddg"),
    "MAPF-GPT-85M": _About("2025", "85 M", "11 x 11", "none", "ddg"),
    "MAPF-GPT-2M": _About("2025", "2 M", "11 x 11", "none", "ddg"),
    "HMAGAT": _About("2026", "1 M", "11 x 11", "messages, shield", "hmagat"),
    "SCRIMP, run again": _About("2023", "not stated", "3 x 3", "messages", "ddg"),
    "EPH": _About("2024", "not stated", "9 x 9", "messages", "ddg"),
    "DCC, run again": _About("2021", "not stated", "9 x 9", "messages", "ddg"),
    "RAILGUN": _About("2025", "not stated", "all", "central", "railgun"),
    "LaCAM": _About("2023", "none", "all", "central", "data"),
    "SCRIMP": _About("2023", "not stated", "3 x 3", "messages", "data"),
    "DCC": _About("2021", "not stated", "9 x 9", "messages", "data"),
}
"""The published ones. Sources also have others' results; an algorithm's are those of its own source."""
_AGAIN = ", run again"
_FORMS = ("pretrained", "pretrained-messages", "pretrained-shield")
_COMPARED = (*_FORMS, "lacam")
_MEASURED = (f"{TITLES[_DENSE[0]]}, {' / '.join(map(str, _DENSE[1]))} agents", *_SCORES)


class Field(NamedTuple):
    """What the tables of the whole field show."""

    figures: Mapping[str, Any]
    """The content of learned.json."""
    sizes: Mapping[str, int]
    """The number of instances of each set."""
    own: Mapping[str, Any]
    """The figures of the algorithms of this package, by what the pages call them."""
    trainings: Mapping[str, Any]
    """Those of other trainings, in `SCORED`."""
    abouts: Mapping[str, _About]
    """What is known of all algorithms but other trainings."""


def read_field(rows: Sequence[Row], facts: Mapping[str, Any]) -> Field | None:
    """Return what the tables show; None for other rows than those of learned.json.

    Args:
        rows: the own rows of the kind "mapf".
        facts: the content of benchmark.json.
    """
    figures = json.loads(FILE.read_text(encoding="utf-8"))
    if figures["rows"] != facts["rows"]["mapf"]:
        return None
    trainings = unpack(TRAININGS)
    every = _describe_own([*rows, *trainings], figures["least"], facts["mapf"]["steps"])
    abouts = {_name(name, rows): about for name, about in OWN.items()} | OTHERS
    others = {_name(row["algorithm"], []) for row in trainings}
    return Field(
        figures,
        {name: sum(facts["mapf"]["sizes"][name].values()) for name in SETS},
        {name: one for name, one in every.items() if name not in others},
        {name: one for name, one in every.items() if name in others},
        abouts,
    )


def show_field(field: Field) -> list[str]:
    """Return the table of the whole field."""
    every = {**field.own, **field.figures["algorithms"]}
    total = sum(field.sizes.values())
    rows = []
    for name in _sort(every, total):
        solved, *measured = _list_cells(every[name], total)
        rows.append([_show_about(name, field, total), solved, _percent(every[name]["solved"], "warehouse"), *measured])
    return table(["algorithm", "solved", TITLES["warehouse"], *_MEASURED], rows)


def show_pairs(field: Field, pairs: str) -> list[str]:
    """Return one of the tables `PAIRS` of algorithms of this package beside published ones."""
    total = sum(field.sizes.values())
    algorithms = {name: one for name, one in field.figures["algorithms"].items() if one.get(pairs)}
    compared = [name for name in next(iter(algorithms.values()))[pairs] if name in field.own]
    rows = [
        [_keep_whole(name), *(_show_pair(*algorithms[name][pairs][who]) for who in compared)]
        for name in _sort(algorithms, total)
        if _share(algorithms[name], total) >= _LEAST_SHARE
    ]
    return table(["against", *map(show, compared)], rows)


def show_dense(field: Field) -> list[str]:
    """Return the table of the sets with more agents than the benchmark has."""
    cells = {
        f"{TITLES[folder_of(name).partition('-')[2]]}, {agents}": by_algorithm
        for name, by_agents in field.figures["dense"].items()
        for agents, by_algorithm in by_agents.items()
    }
    names = [name for name in _IN_DENSE if any(name in cell for cell in cells.values())]
    rows = []
    for name in names:
        solved = [_show_share(*cell[name]["solved"]) if name in cell else "" for cell in cells.values()]
        given = [cell.get(name, {}).get("ratio") for cell in cells.values()]
        ratios = ["" if ratio is None else "{:.2f} [{:.2f}, {:.2f}]".format(*ratio) for ratio in given]
        title = _keep_whole(name) if name in OTHERS else show(label(name, float(name == "lacam")))
        rows.append([title, *solved, *ratios])
    head = [*(f"solved: {title}" for title in cells), *(f"costs: {title}" for title in cells)]
    return table(["algorithm", *head], rows)


def _show_share(solved: int, played: int) -> str:
    share = [f"{100 * part:.1f}" for part in wilson(np.repeat([1.0, 0.0], [solved, played - solved]))]
    return f"{share[0]} [{share[1]}, {share[2]}]"


def _show_pair(ours: int, theirs: int, ratio: float | None) -> str:
    return f"{ours} : {theirs}" + ("" if ratio is None else f"; {ratio:.2f}")


def show_trainings(field: Field) -> list[str]:
    """Return the table of the forms of the pretrained policy and of other trainings."""
    shown = {name: field.own[name] for name in map(LABELS.get, _FORMS) if name in field.own} | dict(field.trainings)
    shown = {name: {**one, "solved": {part: one["solved"][part] for part in SCORED}} for name, one in shown.items()}
    total = sum(field.sizes[name] for name in SCORED)
    rows = [
        [show(name) if name in field.own else name, *_list_cells(shown[name], total)] for name in _sort(shown, total)
    ]
    return table(["form or training", "solved", *_MEASURED], rows)


def _keep_whole(name: str) -> str:
    """Return a name with hyphens where no line ends: the table is so full that names would be broken there."""
    return name.replace("-", "\N{NON-BREAKING HYPHEN}")


def _name(algorithm: str, rows: Iterable[Row]) -> str:
    """Return what the page calls an own algorithm, or a training.

    >>> _name("near-1-73", [])
    "seed 1, 73 rounds, seen agents' targets"
    """
    sight, *numbers = algorithm.split("-")
    if sight in _SIGHTS:
        return "seed {}, {} rounds".format(*numbers) + _SIGHTS[sight]
    return next((label_of(row) for row in rows if row["algorithm"] == algorithm), label(algorithm, 0.0))


def _sort(every: Mapping[str, Any], total: int) -> list[str]:
    """Return the names, that of the algorithm that solves the most first."""
    return sorted(every, key=lambda name: -_share(every[name], total))


def _show_about(name: str, field: Field, total: int) -> str:
    """Return a name with its mark, and below it what is known of the algorithm."""
    about, figures = field.abouts[name], field.own.get(name) or field.figures["algorithms"][name]
    is_partial = _sum_counts(figures["solved"])[1] < total
    weights = {"none": "no weights", "not stated": "weights not stated"}.get(about.weights, f"{about.weights} weights")
    sees = {"all": "sees all", "not stated": "window not stated"}.get(about.sees, f"window {about.sees}")
    how = {"none": "no coordination"}.get(about.coordination, about.coordination)
    known = f"{about.year}, {weights}, {sees}, {how}".replace(" x ", "\N{NO-BREAK SPACE}x\N{NO-BREAK SPACE}")
    title = (show(name) if name in field.own else _keep_whole(name)) + _PARTIAL * is_partial
    return f"{title}<br><small>{known}</small>"


def _share(one: Mapping[str, Any], total: int) -> float:
    solved, played = _sum_counts(one["solved"])
    # What has few rows comes last.
    return solved / played if 2 * played > total else 0.0


def _sum_counts(counts: _Counts) -> tuple[int, int]:
    cells = [cell for by_agents in counts.values() for cell in by_agents.values()]
    return sum(solved for solved, _ in cells), sum(played for _, played in cells)


def _percent(counts: _Counts, name: str) -> str:
    """Return the share of a set's instances that are solved; "" without rows."""
    solved, played = _sum_counts({name: counts.get(name, {})})
    return f"{100 * solved / played:.1f}" if played else ""


def _list_cells(one: Mapping[str, Any], total: int) -> list[str]:
    """Return the measured cells of a line."""
    solved, played = _sum_counts(one["solved"])
    whole = ""
    if 2 * played > total:
        whole = _show_share(solved, played)
    dense = [one["solved"].get(_DENSE[0], {}).get(str(agents), [0, 0]) for agents in _DENSE[1]]
    cells = " / ".join(f"{100 * part[0] / part[1]:.0f}" if part[1] else "-" for part in dense)
    scores = ["{:.3f} [{:.3f}, {:.3f}]".format(*one[name]) if name in one else "" for name in _SCORES]
    return [whole, cells, *scores]


def _describe_own(rows: Sequence[Row], least: Mapping[str, float], steps: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of the own algorithms, beside the smallest sums of costs of others."""
    described = _describe([*_select(rows, steps), *_read_least(least)])
    named = [*OWN, *(name for name in described if name.split("-")[0] in _SIGHTS)]
    return {_name(name, rows): described[name] for name in named if name in described}


def _read_least(least: Mapping[str, float]) -> list[Row]:
    """Return rows, of an algorithm "", of what `_find_least` has returned."""
    rows = []
    for text, cost in least.items():
        name, place, seed, agents = text.split()
        key = {"set": name, "map": place, "seed": int(seed), "agents": int(agents)}
        rows.append({**key, "algorithm": "", "csr": 1.0, "sum_of_costs": cost})
    return rows


def _select(rows: Iterable[Row], steps: Mapping[str, int], sets: Iterable[str] = SETS) -> list[Row]:
    """Return the rows of the field's sets, or others; what is solved after the steps of the set is not solved."""
    return [
        {**row, "csr": float(bool(row["csr"]) and (row["makespan"] or 0) <= steps[row["set"]])}
        for row in rows
        if row["set"] in sets
    ]


def _describe(rows: Sequence[Row]) -> dict[str, Any]:
    """Return of each algorithm what it solves, and its scores beside all the others in the rows."""
    counts: dict[str, _Counts] = {}
    for row in rows:
        by_set = counts.setdefault(row["algorithm"], {name: {} for name in SETS})
        cell = by_set[row["set"]].setdefault(str(row["agents"]), [0, 0])
        cell[0] += bool(row["csr"])
        cell[1] += 1
    found: dict[str, Any] = {algorithm: {"solved": by_set} for algorithm, by_set in counts.items()}
    for score in _SCORES:
        for algorithm, ratios in list_ratios(rows, score).items():
            # A score of one number of agents alone compares with nobody's.
            if len(ratios) > max(cell[1] for part in counts[algorithm].values() for cell in part.values()):
                found[algorithm][score] = _round(bootstrap(np.array(ratios)))
    return found


def _round(estimate: Estimate) -> list[float]:
    return [round(value, _DIGITS) for value in estimate]


def compare(own: _Costs, theirs: _Costs) -> list[float | None]:
    """Return how many instances only the own policy solves, how many only the other, and how the costs compare.

    The last number is the geometric mean, over the instances that both solve, of the own sum of costs by the other's;
    None if there are no such instances.

    >>> own = {("mazes", "maze-0", 0, agents): cost for agents, cost in ((8, 20.0), (16, math.inf), (24, 9.0))}
    >>> compare(
    ...     own, {("mazes", "maze-0", 0, 8): 10.0, ("mazes", "maze-0", 0, 16): 50.0, ("mazes", "maze-0", 0, 32): 7.0}
    ... )
    [0, 1, 2.0]
    """
    pairs = [(own[key], theirs[key]) for key in own if key in theirs]
    ratios = [ours / other for ours, other in pairs if max(ours, other) < math.inf]
    alone = [sum(pair[who] < math.inf == pair[1 - who] for pair in pairs) for who in (0, 1)]
    return [*alone, round(statistics.geometric_mean(ratios), 4) if ratios else None]


def _costs_of(rows: Iterable[Row], algorithm: str) -> _Costs:
    return {
        instance_of(row): row["sum_of_costs"] if row["csr"] else math.inf
        for row in rows
        if row["algorithm"] == algorithm
    }


def count(
    folders: Mapping[str, Path],
    rows: Sequence[Row],
    bounds: Sequence[Row],
    facts: Mapping[str, Any],
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the content of learned.json.

    Args:
        folders: a clone of the benchmark, as "data", and of each source of newer rows that is at hand.
        rows: the own rows of the kind "mapf".
        bounds: rows whose bounds are proven.
        facts: the content of benchmark.json.
        before: what this returned before, or {}. Its figures of algorithms and sets without rows in the clones stay.
    """
    steps, proven = facts["mapf"]["steps"], find_bounds([*rows, *bounds])
    original = published(folders["data"])
    newer: list[Row] = []
    for source, folder in folders.items():
        if source != "data":
            check = bool(list_sums(source))
            newer += _keep_own(learned(folder, source, proven, check=check), source)
    theirs = _select([*_keep_own(original, "data"), *newer], steps)
    dense = _select([*(row for row in rows if row["algorithm"] in OWN), *newer], steps, DENSE)
    own = [row for row in _select(rows, steps) if row["algorithm"] in OWN]
    known = _read_least(before.get("least", {}))
    described = _describe([*own, *theirs, *known])
    costs = {name: _costs_of(own, name) for name in OWN}
    algorithms = {}
    for name in OTHERS:
        kept, counted = before.get("algorithms", {}).get(name, {}), described.get(name, {"solved": {}})
        solved = {part: counted["solved"].get(part) or kept.get("solved", {}).get(part, {}) for part in SETS}
        algorithms[name] = {**kept, **counted, "solved": solved}
        for pairs, sets in PAIRS.items():
            others_costs = {key: cost for key, cost in _costs_of(theirs, name).items() if key[0] in sets}
            played = [who for who in _COMPARED if costs[who].keys() & others_costs.keys()]
            if played:
                algorithms[name][pairs] = {_name(who, rows): compare(costs[who], others_costs) for who in played}
    return {
        "rows": facts["rows"]["mapf"],
        "losses": _count_losses(rows, original),
        "algorithms": {name: one for name, one in algorithms.items() if any(one["solved"].values())},
        "dense": count_dense(dense, before.get("dense", {})),
        "least": _find_least(own, [*theirs, *known]),
    }


def count_dense(rows: Sequence[Row], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is solved in the sets with more agents, and the costs beside those of `AGAINST`.

    Args:
        rows: of these sets.
        before: what this returned before, or {}. What it has of algorithms without rows stays.

    Returns:
        {set: {number of agents: {algorithm: {"solved": [solved, rows], "ratio": [mean, low, high]}}}}. The ratio is the
        geometric mean of the sums of costs divided by the other's, over the instances that both solve, with a bootstrap
        interval; it is missing without rows of `AGAINST`.
    """
    found: dict[str, Any] = {}
    for name in DENSE:
        for agents in ALL_SETS[name]:
            cell = [row for row in rows if (row["set"], row["agents"]) == (name, agents)]
            costs = {algorithm: _costs_of(cell, algorithm) for algorithm in _IN_DENSE}
            counted = {algorithm: _count_cell(own, costs[AGAINST]) for algorithm, own in costs.items() if own}
            kept = before.get(name, {}).get(str(agents), {})
            known = [algorithm for algorithm in _IN_DENSE if algorithm in {**kept, **counted}]
            if known:
                by_algorithm = {one: {**kept.get(one, {}), **counted.get(one, {})} for one in known}
                found.setdefault(name, {})[str(agents)] = by_algorithm
    return found


def _count_cell(own: _Costs, theirs: _Costs) -> dict[str, Any]:
    cell: dict[str, Any] = {"solved": [sum(cost < math.inf for cost in own.values()), len(own)]}
    both = [key for key in own.keys() & theirs.keys() if max(own[key], theirs[key]) < math.inf]
    if both and own != theirs:
        logs = np.array([math.log(own[key] / theirs[key]) for key in sorted(both)])
        cell["ratio"] = [round(math.exp(value), _DIGITS) for value in bootstrap(logs)]
    return cell


def _keep_own(rows: Iterable[Row], source: str) -> list[Row]:
    """Return the rows of the algorithms whose source this is, by the names of `OTHERS`."""
    named = ({**row, "algorithm": name} for row in rows for name in (row["algorithm"], row["algorithm"] + _AGAIN))
    return [row for row in named if row["algorithm"] in OTHERS and OTHERS[row["algorithm"]].source == source]


def _find_least(own: Sequence[Row], theirs: Sequence[Row]) -> dict[str, float]:
    """Return the smallest sum of costs of others where it is smaller than any own one."""
    least: list[_Costs] = [{}, {}]
    for costs, rows in zip(least, (own, theirs), strict=True):
        for row in rows:
            if row["csr"]:
                key = instance_of(row)
                costs[key] = min(row["sum_of_costs"], costs.get(key, math.inf))
    return {" ".join(map(str, key)): cost for key, cost in least[1].items() if cost < least[0].get(key, math.inf)}


def _count_losses(rows: Iterable[Row], original: Iterable[Row]) -> dict[str, int]:
    """Return in how many instances of each set the published LaCAM has a smaller sum of costs than the own LaCAM*."""
    ours, theirs = _costs_of(rows, "lacam"), _costs_of(original, "LaCAM")
    return dict(Counter(key[0] for key, cost in theirs.items() if cost < ours.get(key, 0.0)))


def main() -> None:
    """Count, and write learned.json."""
    parser = argparse.ArgumentParser(description="Count what published policies reach on the same instances.")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="CLONE", help="a clone of the benchmark's repository"
    )
    for name, source in SOURCES.items():
        what = f"a clone of {source.repository} at commit {source.commit}"
        parser.add_argument(f"--{name}", type=Path, metavar="CLONE", help=what)
    folders = {name: path for name, path in vars(parser.parse_args()).items() if path is not None}
    folder = FILE.parent
    rows, bounds = (unpack(folder / f"{PARTS[place].name}.csv.gz") for place in (0, 2))
    facts = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
    before = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    write_json(FILE, count(folders, rows, bounds, facts, before))


if __name__ == "__main__":
    main()
