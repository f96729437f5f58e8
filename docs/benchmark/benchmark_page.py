"""The pages of docs/benchmark: results, ablations and provenance, from the rows and benchmark.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from benchmark_cells import CELLS
from benchmark_facts import read_lines
from benchmark_learned import read_field, show_field, show_losses, show_sources, show_trainings
from benchmark_notes import list_notes
from benchmark_rows import LABELS, PARTS, label, label_rows, packed_name
from benchmark_tables import (
    GROUPS,
    LEAST_SOLVED,
    TITLES,
    Measure,
    bounds_table,
    estimate_table,
    ordinal,
    played_table,
    scores_table,
    show,
    wins_table,
)

from benchmarks.pogema import Kind
from benchmarks.pogema.published import Row
from benchmarks.pogema.scores import Line, instance_of, summarize
from multigrid.evaluation._estimates import wilson

__all__ = ["PAGES", "make_lines", "make_pages"]

PAGES = ("benchmark.md", "ablations.md", "provenance.md")

_HEAD = """\
# The POGEMA benchmark

The POGEMA benchmark (Skrynnik et al., ICLR 2025) has {mapf:,} instances of multi-agent path finding (MAPF) and \
{lmapf:,} lifelong ones (LMAPF). This page compares the planners, baselines and pretrained policy of this package with \
the {num_published} algorithms whose results the benchmark publishes, and with newer ones. [Ablations](ablations.md) \
compares forms, trainings and baselines by number of agents; [provenance](provenance.md) says what is proven and how \
the rows were made.

![The share of instances that are solved, by number of agents](success.svg)

"""
_ABLATIONS = """\
# POGEMA benchmark: ablations

The forms of the pretrained policy, its other trainings, and the planners and baselines of this package, on the \
instances of [the results](benchmark.md).

"""
_PROVENANCE = """\
# POGEMA benchmark: provenance

What is proven of the instances of [the results](benchmark.md), where published rows are from, what to know before \
comparing, and how the rows of this package were made.

"""
_SUCCESS = """\
## Success

**CSR**: the percentage of instances in which all agents are on their targets at the end, after at most {steps}. \
Instances [without a solution](provenance.md#what-is-proven) count as unsolved. Published results are on the same \
instances, except in Warehouse. † marks results on fewer instances.

[{cells}]({cells}) has all cells by number of agents with instances and 95 % intervals (Wilson's for the CSR, else \
bootstrap over instances), and rows of random play and of longer searches. With {most} instances, the \
interval of the CSR is [{half}] at 50 %, and [{full}] at 100 %.

"""
_GAPS = """\
## Costs

![By how much the sum of costs is above a proven bound, by number of agents](gap.svg)

**Gap**: by how many percent the sum of costs is above the largest proven lower bound, on average over the instances \
that the algorithm solves. An algorithm that solves only easy instances has a small gap, so compare the CSR, too. ‡ \
marks means over fewer than {least} instances, which the figure leaves out. Published Warehouse rows have no gap. \
[The gaps by number of agents](ablations.md#costs-by-number-of-agents).

"""
_MARKED = """\
Gaps are in percent; see [the figure](benchmark.md#costs).

"""
_THROUGHPUT = """\
## Lifelong path finding

![The throughput by number of agents](throughput.svg)

**Throughput**: arrivals per step of all agents together{sample}. Episodes have {steps}. \
Published results of Warehouse, also in the figure, are of other scenarios. The pretrained policy with messages was \
not played. [The throughput by number of agents](ablations.md#throughput-by-number-of-agents).

"""
_BOUNDS = """\
## What is proven

The columns count instances, of {sizes}. The *bound* of an instance is the largest lower bound of its sum of costs \
that a search of this package has proven. *Optimum known*: a plan of this package costs as much. *LaCAM at the bound*: \
so does LaCAM's published plan.

"""
_SUM = """\
Of LaCAM's {compared:,} published solutions, without Warehouse, {equal:,} cost as much as the bound and are optimal; \
{above:,} cost more. {below}.{unsolvable}

"""
_SCORES = """\
## The benchmark's scores

*Performance* is over Random and Mazes, *Out-of-Distribution* over MovingAI, *Cooperation* over Puzzles. A MAPF score \
is a mean over instances: the smallest sum of costs of any algorithm, divided by the algorithm's own, or 0 without a \
solution. Instances that no algorithm solves are left out. *Pathfinding* is the same ratio for makespans, over the set \
Pathfinding; without a solution, the makespan is the number of steps played. An LMAPF score is the mean of the \
throughput divided by the largest. As in the benchmark's script, an instance counts only if every algorithm has a \
row; under *all its rows*, all rows of each algorithm count.

**These scores are relative**: they change with the algorithms that take part. [benchmark.json](benchmark.json) has \
those of the published rows alone. *Scalability* (of runtimes, which are of other machines) and *Coordination* \
(published for some algorithms only) are left out.

"""
_WINS = """\
## Instance by instance

{lacam}Wins / losses / ties, over the instances for which both have rows, without Warehouse. In MAPF, solving an \
instance beats not solving it, and of two solutions the one with the smaller sum of costs wins. In LMAPF, the larger \
throughput wins.

"""
_AGAINST_LACAM = """\
{own} beats the published LaCAM in {wins:,} of {compared:,} instances, by a smaller sum of costs or the only solution; \
in {losses:,} the published LaCAM has the smaller sum of costs{where}, and {ties:,} are ties.

"""
_COMPARE = """\
## Before you compare

"""
_ROWS = """\
## The rows

{files} have a line for each instance and algorithm of this package, with the columns of `benchmarks.pogema.COLUMNS`. \
There, `lacam` is LaCAM\\* and `pretrained` the pretrained policy. Published rows are in the clone.

```python
import gzip
import pathlib

from benchmarks.pogema import read_rows

file = pathlib.Path("mapf.csv")
file.write_bytes(gzip.decompress(pathlib.Path("{first}").read_bytes()))
rows = read_rows(file)
```

"""
_OWN_POLICY = """\
## Your own policy

```python
from benchmarks import pogema
from multigrid.planning import controller

policy = controller("pibt")  # instead: your own function of an environment and its observations
instances = pogema.read_instances("CLONE", "puzzles")
rows = pogema.play(instances, policy, "mine", file="mine.csv")
print(pogema.scores([*rows, *pogema.published("CLONE", sets=["puzzles"])])["Cooperation"])
```

CLONE is a clone of the benchmark, see [how it was made](provenance.md#how-it-was-made). With `file`, the same call \
continues after an interruption. `play` also takes options of the observations, such as \
`observe=("agent", "target", "view")`. [The command \
line](../planning.md#the-pogema-benchmark) plays a model of `multigrid train`.

"""
_MADE = """\
## How it was made

*Seconds per instance* is the mean computing time. Only searches have a time limit.

"""
_COMMAND = """\
Machine: {machine}. Versions: {versions}. In a checkout, this command plays the same instances, and \
continues after an interruption:

```text
python docs/benchmark/make_benchmark.py --data CLONE --work FOLDER --processes 2 --machine "TEXT"{flags}
```

CLONE is a clone of {repository} at commit {commit}. The command writes the three pages; for [the whole \
field](benchmark.md#the-whole-field) it needs the figures of `benchmark_learned.py`, too.
"""


_REST = "[The command](provenance.md#how-it-was-made) plays the rest."


def make_lines(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any]) -> list[Line]:
    """Return the results by number of agents, of this package and published."""
    return [*summarize(label_rows(rows, "mapf")), *summarize(label_rows(rows, "lmapf")), *read_lines(facts)]


def make_pages(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any], lines: Sequence[Line]) -> dict[str, str]:
    """Return the text of each of `PAGES`.

    Args:
        rows: those of each part.
        facts: the content of benchmark.json.
        lines: what `make_lines` returns.
    """
    field, described = read_field(rows["mapf"], facts), _describe(rows, facts)
    wins = {kind: facts[kind]["wins"] for kind in ("mapf", "lmapf")}
    results = [_HEAD.format(**described), *_say_missing(rows, facts), *(show_field(field) if field else [])]
    results += [_SUCCESS.format(steps=_say_steps(facts["mapf"]), **_say_intervals(facts["mapf"]))]
    results += _list_cells(lines, "csr", facts)
    results += [_GAPS.format(least=LEAST_SOLVED)]
    results += [_THROUGHPUT.format(steps=_say_steps(facts["lmapf"]), sample=_say_sample(facts["lmapf"])), _SCORES]
    for kind in ("mapf", "lmapf"):
        results += _show_scores(kind, facts[kind], {line.algorithm for line in summarize(label_rows(rows, kind))})
    results += [_OWN_POLICY]
    ablations = [_ABLATIONS, *(show_trainings(field) if field else [])]
    ablations += ["## Costs by number of agents", "", _MARKED, *_list_cells(lines, "gap", facts)]
    ablations += ["## Throughput by number of agents", "", *_list_cells(lines, "throughput", facts)]
    if any(wins.values()):
        ablations += [_WINS.format(lacam=_say_lacam(wins["mapf"], show_losses(facts["rows"]["mapf"])))]
        ablations += wins_table(wins)
    own = label_rows(rows, "mapf")
    provenance = [_PROVENANCE, _BOUNDS.format(sizes=_say_sizes(facts["mapf"])), *bounds_table(own, facts)]
    provenance += [*_sum_up(own, facts), *(show_sources(field) if field else [])]
    provenance += [_COMPARE, *(f"- {note}" for note in list_notes(facts)), "", *_say_rows(rows)]
    provenance += [_MADE, *played_table(rows, facts), _COMMAND.format(**described)]
    return {
        name: "".join(part if part.endswith("\n") else f"{part}\n" for part in text).rstrip("\n") + "\n"
        for name, text in zip(PAGES, (results, ablations, provenance), strict=True)
    }


def _list_cells(lines: Sequence[Line], measure: Measure, facts: Mapping[str, Any]) -> list[str]:
    """Return the tables of a measure by number of agents."""
    kind: Kind = "lmapf" if measure == "throughput" else "mapf"
    chosen = [line for line in lines if line.kind == kind]
    return [text for group in GROUPS for text in estimate_table(chosen, measure, group, facts[kind])]


def _describe(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any]) -> dict[str, Any]:
    versions = Counter(
        (row["multigrid"], row["rules"], row["python"], row["numba"]) for part in rows.values() for row in part
    )
    algorithms = {name for kind in ("mapf", "lmapf") for name in facts[kind]["algorithms"]}
    return {
        **{kind: sum(sum(sizes.values()) for sizes in facts[kind]["sizes"].values()) for kind in ("mapf", "lmapf")},
        "num_published": len(algorithms),
        **{name: facts[name] for name in ("repository", "commit", "machine")},
        "versions": "; ".join(
            f"multigrid {own} (rules {rules}), Python {python}, {f'Numba {numba}' if numba else 'without Numba'}"
            for own, rules, python, numba in sorted(versions)
        )
        or "none, nothing is played yet",
        "flags": _say_flags(facts),
    }


def _say_flags(facts: Mapping[str, Any]) -> str:
    """Return the flags that select the played scenarios, on a line of their own."""
    flags = ""
    for part, name in (("lmapf", "lifelong"), ("bounds", "bound"), ("mapf-10s", "long")):
        kind = "lmapf" if part == "lmapf" else "mapf"
        steps = {step for by_set in facts[kind]["played"][part].values() for _, _, step in by_set.values()}
        if len(steps) == 1 and not steps & {None, 1}:
            flags += f" --{name}-every {steps.pop()}"
    return f" \\\n   {flags}" if flags else ""


def _say_missing(rows: Mapping[str, Sequence[Row]], facts: Mapping[str, Any]) -> list[str]:
    """Say which parts are incomplete."""
    gaps = []
    for part in PARTS:
        played = facts[part.kind]["played"][part.name]
        total = sum(sum(sizes.values()) for sizes in facts[part.kind]["sizes"].values())
        known = {row["algorithm"] for row in rows[part.name]}
        gaps += [f"{label(name, 0.0)} ({part.what}) has no rows" for name in part.policies if name not in known]
        for algorithm, by_set in played.items():
            if None in (step for _, _, step in by_set.values()):
                count = sum(one[0] for one in by_set.values())
                gaps.append(f"{algorithm} ({part.what}) has {count:,} of {total:,} rows")
    if not gaps:
        return []
    return [f"**These pages are incomplete**: {'; '.join(gaps)}. {_REST}", ""]


def _say_steps(facts: Mapping[str, Any]) -> str:
    """Say how many steps an episode has in most sets, and in the others."""
    return _say_most({name: f"{steps:,}" for name, steps in facts["steps"].items()}, " steps")


def _say_most(by_set: Mapping[str, str], unit: str = "") -> str:
    """Say the most frequent value, and the others with their sets.

    >>> _say_most({"random": "128", "mazes": "128", "puzzles": "160"}, " steps")
    '128 steps (Puzzles 160)'
    """
    usual = Counter(by_set.values()).most_common(1)[0][0]
    others = [f"{TITLES[name]} {value}" for name, value in by_set.items() if value != usual]
    return f"{usual}{unit}" + (f" ({', '.join(others)})" if others else "")


def _say_intervals(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Say how wide the intervals of a rate are in cells of the usual size."""
    sizes = Counter(size for by_agents in facts["sizes"].values() for size in by_agents.values())
    most = sizes.most_common(1)[0][0]
    half, full = (wilson(np.repeat([1.0, 0.0], [solved, most - solved])) for solved in (most // 2, most))
    ends = {name: f"{100 * one.low:.0f}, {100 * one.high:.0f}" for name, one in (("half", half), ("full", full))}
    return {"cells": CELLS, "most": most, **ends}


def _say_sample(facts: Mapping[str, Any]) -> str:
    """Say of which scenarios the own rows are, if they are of a regular sample."""
    every = facts["joint_every"]
    return f", on every {ordinal(every)} scenario" if every not in (None, 1) else ""


def _say_sizes(facts: Mapping[str, Any]) -> str:
    """Say how many instances the sets have with each number of agents."""
    sizes = {name: " or ".join(map(str, sorted(set(found.values())))) for name, found in facts["sizes"].items()}
    return _say_most(sizes)


def _say_lacam(wins: Mapping[str, Mapping[str, Sequence[int]]], where: str) -> str:
    """Say how LaCAM* compares with the published LaCAM, if it was played."""
    found = [(name, by_other["LaCAM"]) for name, by_other in wins.items() if name.startswith(LABELS["lacam"])]
    return "".join(
        _AGAINST_LACAM.format(
            own=show(name), compared=sum(counts), wins=counts[0], losses=counts[1], ties=counts[2], where=where
        )
        for name, counts in found
    )


def _sum_up(own: Sequence[Row], facts: Mapping[str, Any]) -> list[str]:
    """Say what the table of bounds adds up to."""
    unsolvable = {instance_of(row) for row in own if row["status"] == "unsolvable"}
    places = sorted(Counter((name, agents) for name, _, _, agents in unsolvable).items())
    where = " and ".join(
        f"{count} instances of {TITLES[name]} with {agents} agents" for (name, agents), count in places
    )
    # Rows of these sets cannot be compared with the bounds of the scenarios in the clone.
    counted = [
        counts
        for name, by_agents in facts["lacam"].items()
        if name not in facts["faults"]["other_scenarios"]
        for counts in by_agents.values()
    ]
    equal, above, below = (sum(counts.get(what, 0) for counts in counted) for what in ("equal", "above", "below"))
    compared = equal + above + below
    return [
        _SUM.format(
            unsolvable=f" No plan exists within the step limit in {where}." if where else "",
            compared=compared,
            equal=equal,
            above=above,
            below=f"{below:,} cost less: these rows, or bounds, are wrong" if below else "None costs less",
        )
    ]


def _show_scores(kind: str, facts: Mapping[str, Any], own: set[str]) -> list[str]:
    name = kind.upper()
    if not facts["joint"]["drop"]:
        return [f"{name} scores are missing: no algorithm has whole sets, or a regular sample.", ""]
    return [f"### {name}{_say_sample(facts)}", "", *scores_table(facts["joint"], tuple(own))]


def _say_rows(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    files = [f"[{packed_name(name)}]({packed_name(name)})" for name in rows]
    return [_ROWS.format(files=", ".join(files), first=packed_name(PARTS[0].name))]
