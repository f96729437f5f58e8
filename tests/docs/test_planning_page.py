"""The figures of the planners in docs/planning.md: those of the rows that a command measured."""

import csv
import json
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = ("figure", "published", "seconds", "limit")
with (DOCS / "planning" / "measured" / "rows.csv").open(newline="") as lines:
    ROWS = [
        SimpleNamespace(
            **row | {name: float(row[name]) if row[name] else None for name in NUMBERS}, number=int(row["agents"])
        )
        for row in csv.DictReader(lines)
    ]
KNOWN = json.loads((DOCS / "benchmark" / "benchmark.json").read_text(encoding="utf-8"))
PAGE = " ".join((DOCS / "planning.md").read_text(encoding="utf-8").split())


def select(measure, *sets):
    """The rows of a measure, of some sets or of all."""
    return [row for row in ROWS if row.measure == measure and (not sets or row.set in sets)]


def groups(rows):
    """The rows by their set and number of agents."""
    keys = sorted({(row.set, row.number) for row in rows})
    return {key: [row for row in rows if (row.set, row.number) == key] for key in keys}


def test_speeds_and_throughputs():
    """The times of PIBT and LaCAM*, the actions of `expert` and the arrivals of lifelong play are those of the rows."""
    (pibt,), (expert,), (crowd,) = (select(name) for name in ("pibt", "expert", "crowd"))
    words = "| {:.3g} ms a step; {:.3g} ms for 64 steps, including all tables of distances |"
    assert words.format(1e3 * pibt.figure, 1e3 * pibt.seconds) in PAGE
    assert f"| {expert.figure / 1e6:.3g} million actions a second |" in PAGE
    assert f"| {crowd.figure:.3g} s to the first plan |" in PAGE
    played = groups(select("lifelong windowed", "random", "mazes")).values()
    ratios = [sum(row.figure for row in group) / sum(row.published for row in group) for group in played]
    assert f"| {min(ratios):.3f} to {max(ratios):.3f} times the published throughput of RHCR |" in PAGE
    own, pibt = (groups(select(f"lifelong {name}"))["warehouse-lists", 192] for name in ("windowed", "pibt"))
    words = "| {:.2f} arrivals a step; PIBT: {:.2f} |"
    assert words.format(*(statistics.mean(row.figure for row in rows) for rows in (own, pibt))) in PAGE


def test_plans():
    """What LaCAM* solves in a second and at which costs, and what CBS decides, is what the rows say."""
    plans, proofs = select("lacam"), select("cbs")
    assert ({row.limit for row in plans}, {row.limit for row in proofs}) == ({1.0}, {10.0})
    ratios = []
    for (name, _), group in groups(plans).items():
        if name != "warehouse-lists":  # which has no published rows
            assert sum(row.figure is not None for row in group) == sum(row.published is not None for row in group)
            both = [row for row in group if row.figure is not None and row.published is not None]
            ratios.append(sum(row.figure for row in both) / sum(row.published for row in both))
    assert f"sums of costs {min(ratios):.2f} to {max(ratios):.2f} times the published ones. " in PAGE
    losses = KNOWN["mapf"]["wins"]["LaCAM* (1 s)"]["LaCAM"][1]
    assert f"it solves 11 more, and has a larger sum of costs in {losses} |" in PAGE
    cells = groups(proofs).items()
    proven = {key: 100 * statistics.mean(row.status == "optimal" for row in group) for key, group in cells}
    random = [proven["random", agents] for agents in (8, 16, 24)]
    assert "24 agents | {:.0f} %, {:.0f} % and {:.0f} % proven optimal |".format(*random) in PAGE
    mazes = [proven["mazes", agents] for agents in (8, 16)]
    assert "Mazes: 8 and 16 agents | {:.0f} % and {:.0f} % proven optimal |".format(*mazes) in PAGE
    assert {row.status for row in select("cbs", "puzzles")} == {"optimal", "unsolvable"}
