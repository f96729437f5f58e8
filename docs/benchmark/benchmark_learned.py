"""Newer results of learned policies on the same instances, for the page.

`python docs/benchmark/benchmark_learned.py --ddg CLONE --hmagat CLONE` counts what they solve, from the rows in clones
of their repositories, and writes learned.json, which has these counts alone; `make_benchmark.py --redraw` then puts
them into the page. `SOURCES` has the commits.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from benchmark_rows import LABELS, PARTS, unpack
from benchmark_tables import TITLES, table
from benchmark_wins import LEARNED

from benchmarks.pogema.instances import folder_of
from benchmarks.pogema.published import Row
from multigrid.cli._files import write_json
from multigrid.evaluation._estimates import wilson

__all__ = ["FILE", "compare", "show_learned"]

FILE = Path(__file__).parent / "learned.json"
_SETS = ("random", "mazes", "movingai")
"""The sets whose instances are the same: maps, starts, targets and, but for HMAGAT, limits of steps."""

_Results: TypeAlias = dict[tuple[str, str, int], float]
"""The sum of costs for each set, map and number of agents; infinite without a solution."""


class _Source(NamedTuple):
    """Where the rows of algorithms are: the files of a set, by its name and its folder in the benchmark."""

    repository: str
    commit: str
    files: str


SOURCES = {
    "ddg": _Source("Cognitive-AI-Systems/MAPF-GPT-DDG", "dc8ddf26f89901da77024fca7036a0eb48b27faa", "{folder}/*.json"),
    "hmagat": _Source("aandreychuk/hmagat", "6adeef8b963d3b6eab042461a510679dd7a8db7c", "results/results_{set}.json"),
}
PAPERS = {
    "MAPF-GPT-DDG-2M": "Andreychuk et al., 2025, arXiv 2506.23793",
    "MAPF-GPT-85M, MAPF-GPT-2M": "Andreychuk et al., AAAI 2025, arXiv 2409.00134",
    "HMAGAT": "Jain et al., ICLR 2026, arXiv 2602.06733; agents communicate, PIBT is a shield, 256 steps in all sets",
    "SCRIMP": "Wang et al., 2023, arXiv 2303.00605; agents communicate; run again by the authors of MAPF-GPT-DDG",
    "EPH": "Tang et al., 2024, arXiv 2403.07559; agents communicate; one row is missing",
    "DCC": "Ma et al., 2021, arXiv 2109.05413; agents communicate; run again by the authors of MAPF-GPT-DDG",
}
"""The algorithms that learn, of those in the files."""

_HEAD = """\
## Newer results of learned policies

What learned policies solve, in percent, of the {instances:,} instances of {sets}: results that were published after \
those of the benchmark. Maps, starts and targets are the same; the newer rows of Warehouse are of other scenarios, and \
left out. The last two columns compare the learned policy of this package with each: the number of instances that only \
it solves : that only the other solves; then its sum of costs divided by the other's, the geometric mean over the \
instances that both solve.

"""
_NOTES = """\
{papers}

What they see differs. An agent of [the learned policy](../pretrained.md) sees 11 x 11 cells: the agents \
in them, which moves lead these nearer to their targets, and the targets in them. One of MAPF-GPT sees lengths of \
shortest paths in 11 x 11 cells, and of at most 13 agents the target, the last five actions and the next move on a \
shortest path. A shield coordinates all agents: with it, a policy is not decentralised.

The table is not complete. DMM-MICPO-3M (2026; CognitiveAISystems/DMM at commit 8fe3299), whose agents communicate, \
solves 122 of the 128 mazes with 64 agents, of which MAPF-GPT-DDG-2M solves 105; that repository also has rows of \
LC-MAPF (2026, arXiv 2605.07637). MAPF-World (2025, arXiv 2508.12087) and LaGAT (2025, arXiv 2510.17382) are not \
compared.

The rows are in {sources}. `python docs/benchmark/benchmark_learned.py {flags}` counts again.

"""


def show_learned(rows: Sequence[Row], digest: str) -> list[str]:
    """Return the section of the page.

    Args:
        rows: the own rows of the kind "mapf".
        digest: their SHA-256 sum; without a section for other rows than those that learned.json was made with.
    """
    learned = json.loads(FILE.read_text(encoding="utf-8"))
    if learned["rows"] != digest:
        return []
    sets = [TITLES[name] for name in _SETS]
    head = ["", *sets, "all, with Wilson's 95 % interval", *(LABELS[name] for name in LEARNED)]
    sources = (f"{one.repository} at commit {one.commit[:7]}" for one in SOURCES.values())
    return [
        _HEAD.format(
            instances=len(_own_results(rows, LEARNED[0])), sets=" and ".join([", ".join(sets[:-1]), sets[-1]])
        ),
        *table(head, _list_cells(learned["algorithms"], rows)),
        "",
        _NOTES.format(
            papers="\n".join(f"- {name}: {paper}." for name, paper in PAPERS.items()),
            sources=" and ".join(sources),
            flags=" ".join(f"--{name} CLONE" for name in SOURCES),
        ),
    ]


def _list_cells(algorithms: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the rows of the table, the best first."""
    own = {f"**{LABELS[name]}**": _own_results(rows, name) for name in (*LEARNED, "pibt")}
    counts = {name: _count(results, results) for name, results in own.items()}
    counts |= {name: one["solved"] for name, one in algorithms.items()}
    for name, by_set in sorted(counts.items(), key=lambda item: -sum(part[0] for part in item[1].values())):
        solved, played = (sum(column) for column in zip(*by_set.values(), strict=True))
        share = [f"{100 * part:.1f}" for part in wilson(np.repeat([1.0, 0.0], [solved, played - solved]))]
        cells = [f"{100 * part[0] / part[1]:.1f}" for part in by_set.values()]
        pairs = [algorithms[name][who] for who in LEARNED] if name in algorithms else []
        compared = [f"{ours} : {theirs}; {ratio:.2f}" for ours, theirs, ratio in pairs]
        yield [name, *cells, f"{share[0]} [{share[1]}, {share[2]}]", *(compared or [""] * len(LEARNED))]


def _read_results(folder: Path, source: _Source) -> dict[str, _Results]:
    """Return the results of each algorithm in a clone."""
    found: dict[str, _Results] = {}
    for name in _SETS:
        for file in folder.glob(source.files.format(set=name, folder=Path(folder_of(name)).name)):
            for row in json.loads(file.read_text(encoding="utf-8")):
                place, metrics = row["env_grid_search"], row["metrics"]
                cost = metrics["SoC"] if metrics["CSR"] == 1 else math.inf
                found.setdefault(row["algorithm"], {})[name, place["map_name"], place["num_agents"]] = cost
    return found


def _own_results(rows: Sequence[Row], algorithm: str) -> _Results:
    """Return the results of an own algorithm."""
    return {
        (row["set"], row["map"], row["agents"]): row["sum_of_costs"] if row["csr"] else math.inf
        for row in rows
        if row["algorithm"] == algorithm and row["set"] in _SETS
    }


def _count(results: _Results, known: _Results) -> dict[str, list[int]]:
    """Return of each set how many of the known instances are solved, and how many have a result."""
    of_set = {name: [results[key] < math.inf for key in known if key[0] == name and key in results] for name in _SETS}
    return {name: [sum(solved), len(solved)] for name, solved in of_set.items()}


def compare(own: _Results, theirs: _Results) -> list[float]:
    """Return how many instances only the own policy solves, how many only the other, and how the costs compare.

    The last number is the geometric mean, over the instances that both solve, of the own sum of costs by the other's.

    >>> own = {("mazes", "maze-0", agents): cost for agents, cost in ((8, 20.0), (16, math.inf), (24, 9.0))}
    >>> compare(own, {("mazes", "maze-0", 8): 10.0, ("mazes", "maze-0", 16): 50.0, ("mazes", "maze-0", 32): 7.0})
    [0, 1, 2.0]
    """
    pairs = [(own[key], theirs[key]) for key in own if key in theirs]
    ratios = [ours / other for ours, other in pairs if max(ours, other) < math.inf]
    alone = [sum(pair[who] < math.inf == pair[1 - who] for pair in pairs) for who in (0, 1)]
    return [*alone, round(statistics.geometric_mean(ratios), 4)]


def main() -> None:
    """Count, and write learned.json."""
    parser = argparse.ArgumentParser(description="Count what learned policies solve on the same instances.")
    for name, source in SOURCES.items():
        what = f"a clone of {source.repository} at commit {source.commit}"
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="CLONE", help=what)
    folders = vars(parser.parse_args())
    rows = unpack(FILE.parent / f"{PARTS[0].name}.csv.gz")
    own = {name: _own_results(rows, name) for name in LEARNED}
    found = {name: one for key, source in SOURCES.items() for name, one in _read_results(folders[key], source).items()}
    algorithms = {
        name: {"solved": _count(found[name], own[LEARNED[0]])}
        | {who: compare(results, found[name]) for who, results in own.items()}
        for name in ", ".join(PAPERS).split(", ")
    }
    facts = json.loads((FILE.parent / "benchmark.json").read_text(encoding="utf-8"))
    write_json(FILE, {"rows": facts["rows"]["mapf"], "algorithms": algorithms})


if __name__ == "__main__":
    main()
