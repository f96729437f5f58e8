"""docs/benchmark: the page belongs to its rows, its code runs, and what is missing is said."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from multigrid.benchmark import Line
from multigrid.benchmark._rows import read_rows
from multigrid.evaluation._estimates import UNDEFINED, Estimate

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "benchmark"
PAGE = FOLDER / "benchmark.md"
PARTS = ("mapf", "mapf-10s", "bounds", "lmapf")
FIGURES = ("success.svg", "gap.svg", "throughput.svg")

Command = Callable[..., int]


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What make_benchmark.py defines or imports."""
    monkeypatch.syspath_prepend(FOLDER)
    return runpy.run_path(str(FOLDER / "make_benchmark.py"))


@pytest.fixture
def make(modules: dict[str, Any], clone: Path, tmp_path: Path) -> Callable[..., str]:
    """Run the command on the clone, and return the page."""

    def run(*flags: str) -> str:
        where = ("--work", str(tmp_path / "work"), "--output", str(tmp_path / "page"))
        assert (
            modules["main"](["--data", str(clone), *where, "--machine", "a toaster", "--sets", "puzzles", *flags]) == 0
        )
        return (tmp_path / "page" / "benchmark.md").read_text(encoding="utf-8")

    return run


def cut(file: Path, lines: int) -> None:
    """Keep the first lines of a file, and the beginning of the next, as a killed run leaves it."""
    content = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(content[:lines]) + content[lines][:9])


def find_code(text: str) -> list[str]:
    """The Python blocks of a page."""
    return [token.content for token in MarkdownIt("commonmark").parse(text) if token.info == "python"]


def row_of(page: str, heading: str, name: str) -> list[str]:
    """The cells after the name in a row of the first table after a heading."""
    line = re.search(rf"^\| {re.escape(name)} \|.*$", page.partition(f"\n{heading}\n")[2], re.MULTILINE)
    assert line, f"there is no row {name} after {heading}"
    return [cell.strip() for cell in line[0].split("|")[2:-1]]


def test_the_page_is_of_the_rows(modules: dict[str, Any]) -> None:
    """The committed page is what the command makes of the committed rows, to which benchmark.json belongs."""
    rows, facts = modules["read"](FOLDER)
    for name in PARTS:
        content = gzip.decompress((FOLDER / f"{name}.csv.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == facts["rows"][name], f"{name}.csv.gz has other rows"
    page = modules["make_page"](rows, facts, modules["make_lines"](rows, facts))
    assert page == PAGE.read_text(encoding="utf-8"), "benchmark.md is old: run make_benchmark.py --redraw"


def test_nothing_else_is_committed() -> None:
    """Rows, figures and page are there, none of the benchmark's own files is, and all rows take less than 2 MB."""
    made = {f"{name}.csv.gz" for name in PARTS} | {*FIGURES, "benchmark.json", "learned.json", "benchmark.md"}
    assert {path.name for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".py"} == made
    assert sum((FOLDER / f"{name}.csv.gz").stat().st_size for name in PARTS) < 2_000_000


def test_links_lead_somewhere() -> None:
    """Each link and picture of the page is a file beside it."""
    links = [
        str(child.attrs[name])
        for token in MarkdownIt("commonmark").parse(PAGE.read_text(encoding="utf-8"))
        for child in token.children or []
        for name in ("href", "src")
        if name in child.attrs
    ]
    assert {*FIGURES, *(f"{name}.csv.gz" for name in PARTS)} <= set(links)
    assert all((FOLDER / link).is_file() for link in links)


def test_the_code_of_the_page_runs(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader gets the rows, and the scores of a policy of one's own beside the published ones."""
    reading, playing = find_code(PAGE.read_text(encoding="utf-8"))
    for file in FOLDER.glob("*.csv.gz"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(reading, names)  # noqa: S102 - the page is ours, and this is what a reader does with it
    assert {row["algorithm"] for row in names["rows"]} == {
        *("random", "shortest-path", "pibt", "pretrained", "pretrained-shield", "lacam")
    }
    exec(playing.replace('"CLONE"', repr(str(clone))), {})  # noqa: S102
    # Of bay with two agents all have rows: PIBT needs 4 steps in sum, Other 29, and LaCAM has no solution.
    printed = capsys.readouterr().out
    assert printed == "{'mine': 1.0, 'LaCAM': 0.0, 'Other': 0.13793103448275862}\n"


def test_wins_are_counted(modules: dict[str, Any]) -> None:
    """A solution beats none, a smaller sum of costs a larger one; other scenarios, and other policies, do not count."""
    place = {"map": "m", "seed": 0, "time_limit": 0.0}

    def row(number: int, algorithm: str, csr: float, cost: float, name: str = "mazes") -> dict[str, Any]:
        figures = {"csr": csr, "sum_of_costs": cost, "throughput": cost}
        return {**place, "set": name, "agents": number, "algorithm": algorithm, **figures}

    mine = [(1.0, 9.0), (1.0, 8.0), (0.0, 5.0), (0.0, 5.0), (1.0, 30.0)]
    theirs = [(1.0, 8.0), (1.0, 9.0), (1.0, 9.0), (0.0, 4.0), (0.0, 4.0)]
    own = [row(number, "pretrained", *one) for number, one in enumerate(mine)]
    own += [row(0, "pretrained", 1.0, 1.0, "warehouse"), row(0, "pibt", 1.0, 1.0)]
    others = [row(number, "Other", *one) for number, one in enumerate(theirs)] + [row(7, "Other", 1.0, 1.0)]
    others += [row(0, "Other", 0.0, 9.0, "warehouse")]
    count = modules["gather"].__globals__["count_wins"]
    assert count("mapf", own, others) == {"learned policy": {"Other": [2, 2, 1]}}
    # In lifelong instances the largest throughput wins, whatever the rates.
    assert count("lmapf", own, others) == {"learned policy": {"Other": [3, 2, 0]}}


def test_newer_results_are_counted(modules: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows of two clones, those of the instances count: how many are solved, by whom alone, and at what cost."""
    learned = modules["make_page"].__globals__["show_learned"].__globals__
    rows = [row for row in modules["read"](FOLDER)[0]["mapf"] if row["set"] == "mazes" and row["agents"] in (8, 64)]
    costs = {(row["map"], row["agents"]): row["sum_of_costs"] for row in rows if row["algorithm"] == "pretrained"}
    solved = {(row["map"], row["agents"]) for row in rows if row["algorithm"] == "pretrained" and row["csr"]}
    # Each algorithm solves all with twice the costs, but for one that the own policy solves.
    results = [
        {
            "metrics": {"CSR": float(key != min(solved)), "SoC": 2 * cost},
            "env_grid_search": {"map_name": key[0], "num_agents": key[1]},
        }
        for key, cost in {**costs, ("no such maze", 8): 1.0}.items()
    ]
    for name in ", ".join(learned["PAPERS"]).split(", "):
        file = tmp_path / ("results/results_mazes.json" if name == "HMAGAT" else f"02-mazes/{name}.json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps([{**result, "algorithm": name} for result in results]), encoding="utf-8")
    committed = json.loads(learned["FILE"].read_text(encoding="utf-8"))
    monkeypatch.setattr("sys.argv", ["", "--ddg", str(tmp_path), "--hmagat", str(tmp_path)])
    written: dict[str, Any] = {}
    monkeypatch.setitem(learned, "write_json", lambda _, content: written.update(content))
    learned["main"]()
    assert (written["rows"], list(written["algorithms"])) == (committed["rows"], list(committed["algorithms"]))
    for one in written["algorithms"].values():
        assert one["solved"] == {"random": [0, 0], "mazes": [len(costs) - 1, len(costs)], "movingai": [0, 0]}
        assert one["pretrained"] == [1, len(costs) - len(solved), 0.5]


def test_the_page_has_the_newer_results(modules: dict[str, Any]) -> None:
    """The section belongs to the committed rows, with other rows there is none, and LaCAM* has its losses counted."""
    rows, facts = modules["read"](FOLDER)
    page = PAGE.read_text(encoding="utf-8")
    alone = [row["csr"] for row in rows["mapf"] if row["algorithm"] == "pretrained" and row["set"] == "mazes"]
    share = f"{100 * sum(alone) / len(alone):.1f}"
    assert row_of(page, "## Newer results of learned policies", "**learned policy**")[1] == share
    show = modules["make_page"].__globals__["show_learned"]
    assert show(rows["mapf"], facts["rows"]["mapf"][::-1]) == []
    wins, losses, ties = facts["mapf"]["wins"]["LaCAM* (1 s)"]["LaCAM"]
    assert f"beats the published LaCAM in {wins:,} of {wins + losses + ties:,} instances" in page
    assert f"in {losses} the published LaCAM has the smaller sum of costs, and {ties} are ties" in page


def test_a_whole_run(make: Callable[..., str], modules: dict[str, Any], tmp_path: Path) -> None:
    """The command plays all parts; the page has success, gaps, throughput and scores as they can be counted by hand."""
    page = make("--long-every", "1")
    assert "incomplete" not in page
    assert "†" not in page.partition("## Success")[2].partition("## Costs")[2].partition("| agents")[2]
    assert "Machine: a toaster." in page
    counts = {name: len(read_rows(tmp_path / "work" / name / "rows.csv")) for name in PARTS}
    assert counts == {"mapf": 36, "mapf-10s": 6, "bounds": 6, "lmapf": 18}
    # LaCAM solves hall and not bay with two agents, and both with three and four.
    assert row_of(page, "## Success", "LaCAM") == ["50 [9, 91]", "100 [34, 100]", "100 [34, 100]"]
    assert row_of(page, "## Success", r"**LaCAM\* (1 s)**") == ["100 [34, 100]"] * 3
    assert row_of(page, "## Costs", "**CBS (1 s)**") == ["0.0"] * 3
    assert row_of(page, "## Lifelong path finding", "RHCR")[0] == "0.25"
    again = make("--long-every", "1", "--page-only")
    assert again == page


def test_what_is_missing_is_said(make: Callable[..., str], tmp_path: Path) -> None:
    """A page of a killed run names the algorithms that lack rows; the same command plays these alone."""
    page = make("--long-every", "1")
    rows = tmp_path / "work" / "mapf" / "rows.csv"
    before = rows.read_bytes()
    cut(rows, 32)
    shutil.rmtree(tmp_path / "work" / "lmapf")
    partial = make("--page-only")
    (said,) = re.findall(r"^\*\*This page is incomplete\*\*: .*$", partial, re.MULTILINE)
    assert "windowed planning (LMAPF) has no rows" in said
    assert re.search(r"PIBT \(MAPF\) has 5 of 6 rows", said)
    assert "CBS" not in said
    assert "†" in row_of(partial, "## Success", "**PIBT**")[2]
    assert row_of(partial, "## What is played", "MAPF | PIBT")[1:3] == ["**incomplete**: Puzzles: 5 of 6", "5 of 6"]
    assert make("--long-every", "1").partition("## Success")[2] == page.partition("## Success")[2]
    assert rows.read_bytes().startswith(b"".join(before.splitlines(keepends=True)[:32]))


def test_a_sample_is_named(make: Callable[..., str]) -> None:
    """Where every second scenario is played, the page says so, marks the results, and does not call them incomplete."""
    page = make("--bound-every", "2", "--long-every", "2")
    assert "incomplete" not in page
    assert row_of(page, "## What is played", "bounds | CBS (1 s)")[1:3] == ["every 2nd scenario", "3 of 6"]
    assert row_of(page, "## Success", "**CBS (1 s)** †") == ["100 [21, 100]"] * 3


def test_redraw_needs_no_clone(make: Callable[..., str], modules: dict[str, Any], tmp_path: Path) -> None:
    """`--redraw` writes the same bytes again, figures too, from what lies beside the page."""
    make("--long-every", "1")
    folder = tmp_path / "page"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == len(PARTS) + len(FIGURES) + 2
    shutil.rmtree(tmp_path / "clone")
    shutil.rmtree(tmp_path / "work")
    assert modules["main"](["--redraw", "--output", str(folder)]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_order_of_rows_does_not_matter(modules: dict[str, Any]) -> None:
    """Several processes write rows in any order; the packed file is the same."""
    rows = modules["unpack"](FOLDER / "lmapf.csv.gz")
    assert modules["pack"](rows[::-1]) == modules["pack"](rows)


def test_figures_draw_what_the_lines_say(modules: dict[str, Any]) -> None:
    """A point stands at the number of agents and the mean; gaps of fewer than five instances are left out."""

    def line(agents: int, mean: float, bounded: int) -> Line:
        gap = Estimate(mean, mean - 0.1, mean + 0.1)
        return Line("mapf", "mazes", agents, "DCC", 9, 0, UNDEFINED, UNDEFINED, UNDEFINED, gap, bounded, 0.0)

    figure = modules["draw_gaps"]([line(16, 0.5, 5), line(8, 0.25, 9), line(24, 2.0, 4)])
    drawn = {axes.get_title(): axes.lines for axes in figure.axes if axes.lines}
    ((points,),) = drawn.values()
    assert list(drawn) == ["Mazes"]
    assert points.get_xydata().tolist() == [[8.0, 25.0], [16.0, 50.0]]


def test_flags_that_are_needed(modules: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a clone, a folder and a machine nothing is played or written."""
    with pytest.raises(SystemExit) as stopped:
        modules["main"](["--data", "clone", "--work", "folder"])
    assert stopped.value.code == 2
    assert "--machine" in capsys.readouterr().err


def test_figures_of_published_rows_are_facts_alone() -> None:
    """benchmark.json has means and counts of the published rows, and no row of theirs."""
    facts = json.loads((FOLDER / "benchmark.json").read_text(encoding="utf-8"))
    assert facts["commit"] == "3303133"
    for kind in ("mapf", "lmapf"):
        lines = facts[kind]["lines"]
        assert len({(line["set"], line["agents"], line["algorithm"]) for line in lines}) == len(lines) < 100
