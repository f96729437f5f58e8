"""The figures of the planners in docs/planning.md: those of the rows that a command measured."""

import json
import statistics
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.planning.rows import read_rows
from benchmarks.planning.table import format_table, list_lines

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = DOCS / "planning" / "measured"


@pytest.fixture(scope="module")
def rows():
    """The committed rows."""
    return read_rows(MEASURED / "rows.csv")


@pytest.fixture(scope="module")
def page():
    """The words of docs/planning.md."""
    return " ".join((DOCS / "planning.md").read_text(encoding="utf-8").split())


def select(rows, measure, *sets):
    """The rows of a measure, of some sets or of all."""
    return [row for row in rows if row.measure == measure and (not sets or row.set in sets)]


def test_the_table_is_of_the_rows(rows):
    """table.md is what the command writes of rows.csv, with the numbers of instances that the benchmark has."""
    known = json.loads((DOCS / "benchmark" / "benchmark.json").read_text(encoding="utf-8"))
    kinds = {"lacam": "mapf", "cbs": "mapf", "lifelong windowed": "lmapf", "lifelong pibt": "lmapf"}
    totals = Counter(
        {
            (measure, name, int(agents)): many
            for measure, kind in kinds.items()
            for name, sizes in known[kind]["sizes"].items()
            for agents, many in sizes.items()
        }
        | {(row.measure, row.set, row.agents): 3 for row in rows if row.measure in {"pibt", "expert", "crowd"}}
    )
    table = format_table(list(list_lines(rows, totals)))
    assert f"\n\n{table}\n\n" in (MEASURED / "table.md").read_text(encoding="utf-8")


def test_speeds(rows, page):
    """The times of PIBT and LaCAM*, and the actions a second of `expert`, are those of the rows."""
    (pibt,), (expert,), (crowd,) = (select(rows, name) for name in ("pibt", "expert", "crowd"))
    step, plan = 1e3 * (pibt.figure or 0), 1e3 * (pibt.seconds or 0)
    assert f"| {step:.3g} ms a step; {plan:.3g} ms for 64 steps, with computing all tables of distances |" in page
    assert f"| {(expert.figure or 0) / 1e6:.3g} million actions a second |" in page
    assert f"| {crowd.figure:.3g} s to the first plan |" in page


def test_plans(rows, page):
    """What LaCAM* solves in a second and at which costs, and what CBS decides, is what the rows say."""
    plans = select(rows, "lacam")
    assert {row.limit for row in plans} == {1.0}
    # The published rows of Warehouse are of other scenarios.
    groups = {(row.set, row.agents) for row in plans if row.set != "warehouse"}
    ratios = []
    for key in groups:
        group = [row for row in plans if (row.set, row.agents) == key]
        assert [row.figure is not None for row in group].count(True) == sum(row.published is not None for row in group)
        both = [(row.figure, row.published) for row in group if row.figure is not None and row.published is not None]
        ratios.append(sum(own for own, _ in both) / sum(other for _, other in both))
    assert f"sums of costs {min(ratios):.2f} to {max(ratios):.2f} times the published ones. " in page
    facts = json.loads((DOCS / "benchmark" / "benchmark.json").read_text(encoding="utf-8"))["mapf"]
    losses = facts["wins"]["LaCAM* (1 s)"]["LaCAM"][1]
    assert f"it solves 11 more, and has a larger sum of costs in {losses} |" in page
    proofs = select(rows, "cbs")
    assert {row.limit for row in proofs} == {10.0}

    def proven(name, agents):
        group = [row for row in proofs if (row.set, row.agents) == (name, agents)]
        return 100 * statistics.mean(row.status == "optimal" for row in group)

    random = [proven("random", agents) for agents in (8, 16, 24)]
    assert "24 agents | {:.0f} %, {:.0f} % and {:.0f} % proven optimal |".format(*random) in page
    mazes = [proven("mazes", agents) for agents in (8, 16)]
    assert "Mazes: 8 and 16 agents | {:.0f} % and {:.0f} % proven optimal |".format(*mazes) in page
    assert {row.status for row in select(proofs, "cbs", "puzzles")} == {"optimal", "unsolvable"}


def test_throughputs(rows, page):
    """The throughputs of windowed planning, of RHCR and of PIBT are those of the rows."""
    played = select(rows, "lifelong windowed", "random", "mazes")
    ratios = []
    for key in {(row.set, row.agents) for row in played}:
        group = [row for row in played if (row.set, row.agents) == key]
        ratios.append(sum(row.figure or 0 for row in group) / sum(row.published or 0 for row in group))
    assert f"| {min(ratios):.3f} to {max(ratios):.3f} times the published throughput of RHCR |" in page
    own, pibt = (
        statistics.mean(row.figure or 0 for row in select(rows, name, "warehouse") if row.agents == 192)
        for name in ("lifelong windowed", "lifelong pibt")
    )
    assert f"| {own:.2f} arrivals a step; PIBT: {pibt:.2f} |" in page
