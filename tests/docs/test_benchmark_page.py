"""docs/benchmark: the page belongs to its rows, its code runs, and what is missing is said."""

import gzip
import hashlib
import json
import re
import runpy
import shutil
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from benchmarks.pogema.rows import read_rows
from benchmarks.pogema.scores import Line
from multigrid.evaluation._estimates import UNDEFINED, Estimate

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "benchmark"
PAGE = (FOLDER / "benchmark.md").read_text(encoding="utf-8")
TOKENS = MarkdownIt("commonmark").parse(PAGE)
PARTS = ("mapf", "mapf-10s", "bounds", "lmapf")
FIGURES = ("success.svg", "gap.svg", "throughput.svg")


@pytest.fixture(scope="module")
def modules():
    """What make_benchmark.py defines or imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield runpy.run_path(str(FOLDER / "make_benchmark.py"))


@pytest.fixture(scope="module")
def committed(modules):
    """The committed rows, and the figures of benchmark.json."""
    return modules["read"](FOLDER)


@pytest.fixture
def make(modules, clone, tmp_path):
    """Run the command on the clone, and return the page."""

    def run(*flags):
        flags = ("--work", tmp_path / "work", "--output", tmp_path / "page", "--long-every", 1, *flags)
        words = ["--data", clone, "--machine", "a toaster", "--sets", "puzzles", *flags]
        assert modules["main"]([str(word) for word in words]) == 0
        return (tmp_path / "page" / "benchmark.md").read_text(encoding="utf-8")

    return run


def row_of(page, heading, name):
    """The cells after the name in a row of the first table after a heading."""
    line = re.search(rf"^\| {re.escape(name)} \|.*$", page.partition(f"\n{heading}\n")[2], re.MULTILINE)
    assert line, f"there is no row {name} after {heading}"
    return [cell.strip() for cell in line[0].split("|")[2:-1]]


def test_the_page_is_of_the_rows(modules, committed):
    """The committed page is what the command makes of the committed rows, to which benchmark.json belongs."""
    rows, facts = committed
    for name in PARTS:
        content = gzip.decompress((FOLDER / f"{name}.csv.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == facts["rows"][name], f"{name}.csv.gz has other rows"
    page = modules["make_page"](rows, facts, modules["make_lines"](rows, facts))
    assert page == PAGE, "benchmark.md is old: run make_benchmark.py --redraw"
    # Several processes write rows in any order; the packed file is the same.
    assert modules["pack"](rows["lmapf"][::-1]) == modules["pack"](rows["lmapf"])


def test_what_is_committed(committed):
    """Rows, figures and page are there, small, and nothing of the benchmark's own but means; all links lead to them."""
    packed = {f"{name}.csv.gz" for name in PARTS}
    made = packed | {*FIGURES, "benchmark.json", "learned.json", "benchmark.md"}
    assert {path.name for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".py"} == made
    assert sum((FOLDER / name).stat().st_size for name in packed) < 2_000_000
    children = [child for token in TOKENS for child in token.children or []]
    links = {str(child.attrs[name]) for child in children for name in ("href", "src") if name in child.attrs}
    assert {*FIGURES, *packed} <= links
    assert all((FOLDER / link).is_file() for link in links)
    _, facts = committed
    assert facts["commit"] == "3303133"
    for kind in ("mapf", "lmapf"):
        lines = facts[kind]["lines"]
        assert len({(line["set"], line["agents"], line["algorithm"]) for line in lines}) == len(lines) < 100


def test_the_code_of_the_page_runs(clone, tmp_path, monkeypatch, capsys):
    """A reader gets the rows, and the scores of a policy of one's own beside the published ones."""
    reading, playing = [token.content for token in TOKENS if token.info == "python"]
    for file in FOLDER.glob("*.csv.gz"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(reading, names)  # noqa: S102 - the page is ours, and this is what a reader does with it
    expected = {"random", "shortest-path", "pibt", "pretrained", "pretrained-shield", "lacam"}
    assert {row["algorithm"] for row in names["rows"]} == expected
    exec(playing.replace('"CLONE"', repr(str(clone))), {})  # noqa: S102
    # Of bay with two agents all have rows: PIBT needs 4 steps in sum, Other 29, and LaCAM has no solution.
    assert capsys.readouterr().out == "{'mine': 1.0, 'LaCAM': 0.0, 'Other': 0.13793103448275862}\n"


def test_wins_are_counted(modules):
    """A solution beats none, a smaller sum of costs a larger one; other scenarios, and other policies, do not count."""

    def row(agents, algorithm, csr, cost, where="mazes"):
        row = {"map": "m", "seed": 0, "time_limit": 0.0, "set": where, "agents": agents, "algorithm": algorithm}
        return {**row, "csr": csr, "sum_of_costs": cost, "throughput": cost}

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


def test_newer_results_are_counted(modules, committed, tmp_path, monkeypatch):
    """Of the rows of two clones, those of the instances count: how many are solved, by whom alone, and at what cost."""
    learned = modules["make_page"].__globals__["show_learned"].__globals__
    rows = [row for row in committed[0]["mapf"] if row["set"] == "mazes" and row["agents"] in (8, 64)]
    own = {(row["map"], row["agents"]): row for row in rows if row["algorithm"] == "pretrained"}
    solved = {key for key, row in own.items() if row["csr"]}
    costs = {key: row["sum_of_costs"] for key, row in own.items()} | {("no such maze", 8): 1.0}
    # Each algorithm solves all with twice the costs, but for one that the own policy solves.
    results = [
        {"metrics": {"CSR": float(key != min(solved)), "SoC": 2 * cost}}
        | {"env_grid_search": {"map_name": key[0], "num_agents": key[1]}}
        for key, cost in costs.items()
    ]
    for name in ", ".join(learned["PAPERS"]).split(", "):
        file = tmp_path / ("results/results_mazes.json" if name == "HMAGAT" else f"02-mazes/{name}.json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps([{**result, "algorithm": name} for result in results]), encoding="utf-8")
    expected = json.loads(learned["FILE"].read_text(encoding="utf-8"))
    monkeypatch.setattr("sys.argv", ["", "--ddg", str(tmp_path), "--hmagat", str(tmp_path)])
    written = {}
    monkeypatch.setitem(learned, "write_json", lambda _, content: written.update(content))
    learned["main"]()
    assert (written["rows"], list(written["algorithms"])) == (expected["rows"], list(expected["algorithms"]))
    for one in written["algorithms"].values():
        assert one["solved"] == {"random": [0, 0], "mazes": [len(own) - 1, len(own)], "movingai": [0, 0]}
        assert one["pretrained"] == [1, len(own) - len(solved), 0.5]


def test_the_page_has_the_newer_results(modules, committed):
    """The section belongs to the committed rows, with other rows there is none, and LaCAM* has its losses counted."""
    rows, facts = committed
    alone = [row["csr"] for row in rows["mapf"] if row["algorithm"] == "pretrained" and row["set"] == "mazes"]
    share = f"{100 * sum(alone) / len(alone):.1f}"
    assert row_of(PAGE, "## Newer results of learned policies", "**learned policy**")[1] == share
    show = modules["make_page"].__globals__["show_learned"]
    assert show(rows["mapf"], facts["rows"]["mapf"][::-1]) == []
    wins, losses, ties = facts["mapf"]["wins"]["LaCAM* (1 s)"]["LaCAM"]
    assert f"beats the published LaCAM in {wins:,} of {wins + losses + ties:,} instances" in PAGE
    assert f"in {losses} the published LaCAM has the smaller sum of costs, and {ties} are ties" in PAGE


def test_a_whole_run(make, modules, clone, tmp_path):
    """The page has what can be counted by hand; it is made again without playing, and names what a killed run lacks."""
    page, work, output = make(), tmp_path / "work", tmp_path / "page"
    assert "incomplete" not in page
    assert "†" not in page.partition("## Success")[2].partition("## Costs")[2].partition("| agents")[2]
    assert "Machine: a toaster." in page
    counts = {name: len(read_rows(work / name / "rows.csv")) for name in PARTS}
    assert counts == {"mapf": 36, "mapf-10s": 6, "bounds": 6, "lmapf": 18}
    # LaCAM solves hall and not bay with two agents, and both with three and four.
    assert row_of(page, "## Success", "LaCAM") == ["50 [9, 91]", "100 [34, 100]", "100 [34, 100]"]
    assert row_of(page, "## Success", r"**LaCAM\* (1 s)**") == ["100 [34, 100]"] * 3
    assert row_of(page, "## Costs", "**CBS (1 s)**") == ["0.0"] * 3
    assert row_of(page, "## Lifelong path finding", "RHCR")[0] == "0.25"
    assert make("--page-only") == page
    # `--redraw` needs no clone: it writes the same bytes, figures too, from what lies beside the page.
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    assert len(before) == len(PARTS) + len(FIGURES) + 2
    clone.rename(tmp_path / "away")
    work.rename(tmp_path / "work away")
    assert modules["main"](["--redraw", "--output", str(output)]) == 0
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    # A killed run has written half a line, and nothing of the last part; the same command plays these alone.
    (tmp_path / "away").rename(clone)
    (tmp_path / "work away").rename(work)
    rows = (work / "mapf" / "rows.csv").read_bytes().splitlines(keepends=True)
    (work / "mapf" / "rows.csv").write_bytes(b"".join(rows[:32]) + rows[32][:9])
    shutil.rmtree(work / "lmapf")
    partial = make("--page-only")
    (said,) = re.findall(r"^\*\*This page is incomplete\*\*: .*$", partial, re.MULTILINE)
    assert "windowed planning (LMAPF) has no rows" in said
    assert re.search(r"PIBT \(MAPF\) has 5 of 6 rows", said)
    assert "CBS" not in said
    assert "†" in row_of(partial, "## Success", "**PIBT**")[2]
    assert row_of(partial, "## What is played", "MAPF | PIBT")[1:3] == ["**incomplete**: Puzzles: 5 of 6", "5 of 6"]
    assert make().partition("## Success")[2] == page.partition("## Success")[2]
    assert (work / "mapf" / "rows.csv").read_bytes().startswith(b"".join(rows[:32]))


def test_a_sample_is_named(make):
    """Where every second scenario is played, the page says so, marks the results, and does not call them incomplete."""
    page = make("--bound-every", 2, "--long-every", 2)
    assert "incomplete" not in page
    assert row_of(page, "## What is played", "bounds | CBS (1 s)")[1:3] == ["every 2nd scenario", "3 of 6"]
    assert row_of(page, "## Success", "**CBS (1 s)** †") == ["100 [21, 100]"] * 3


def test_figures_draw_what_the_lines_say(modules):
    """A point stands at the number of agents and the mean; gaps of fewer than five instances are left out."""
    lines = []
    for agents, mean, bounded in ((16, 0.5, 5), (8, 0.25, 9), (24, 2.0, 4)):
        gap = Estimate(mean, mean - 0.1, mean + 0.1)
        lines.append(Line("mapf", "mazes", agents, "DCC", 9, 0, *[UNDEFINED] * 3, gap, bounded, 0.0))
    drawn = {axes.get_title(): axes.lines for axes in modules["draw_gaps"](lines).axes if axes.lines}
    ((points,),) = drawn.values()
    assert list(drawn) == ["Mazes"]
    assert points.get_xydata().tolist() == [[8.0, 25.0], [16.0, 50.0]]


def test_flags_that_are_needed(modules, capsys):
    """Without a clone, a folder and a machine nothing is played or written."""
    with pytest.raises(SystemExit) as stopped:
        modules["main"](["--data", "clone", "--work", "folder"])
    assert stopped.value.code == 2
    assert "--machine" in capsys.readouterr().err
