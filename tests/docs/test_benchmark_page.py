"""docs/benchmark: the pages belong to their rows, their code runs, and what is missing is said."""

import csv
import gzip
import hashlib
import json
import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

from benchmarks.page_parts import fill
from benchmarks.pogema.command import main as benchmark
from benchmarks.pogema.instances import UNPUBLISHED
from benchmarks.pogema.rows import read_rows
from benchmarks.pogema.scores import Line
from multigrid.evaluation._estimates import UNDEFINED, Estimate, bootstrap

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "docs" / "benchmark"
FORMS = {
    "pretrained": "pretrained policy, alone",
    "pretrained-messages": "pretrained policy, with messages",
    "pretrained-shield": "pretrained policy, with a shield",
}
ALONE = FORMS["pretrained"]
NAMES = ("benchmark.md", "ablations.md", "provenance.md")
PAGES = {name: (FOLDER / name).read_text(encoding="utf-8") for name in NAMES}
RESULTS, ABLATIONS, PROVENANCE = PAGES.values()
TOKENS = {name: MarkdownIt("commonmark").parse(text) for name, text in PAGES.items()}
PARTS = ("mapf", "mapf-10s", "bounds", "lmapf")
LEARNED = ["pretrained", "pretrained-messages", "pretrained-shield"]
PLAYED = {
    "mapf": ["--policy", "random", "shortest-path", "pibt", *LEARNED, "lacam"],
    "mapf-10s": ["--policy", "lacam", "--time-limit", "10"],
    "bounds": ["--policy", "cbs"],
    "lmapf": ["--kind", "lmapf", "--policy", "random", "shortest-path", "pibt", *LEARNED[::2], "windowed"],
}
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
    """Play on the clone, run the command, and return the pages, one after the other."""

    def run(*, every=1):
        output, rest = tmp_path / "page", ["--data", clone, "--sets", "puzzles"]
        for part, flags in PLAYED.items():
            sample = ["--every", every] if part in ("bounds", "mapf-10s") else []
            words = [*rest, "--output", tmp_path / "work" / part, "--resume", *flags, *sample]
            assert benchmark([str(word) for word in words]) == 0
        modules["main"]([str(word) for word in [*rest, "--work", tmp_path / "work", "--output", output]])
        return "\n".join((output / name).read_text(encoding="utf-8") for name in NAMES)

    return run


def row_of(page, heading, name):
    """The cells after the name in a row of the first table after a heading."""
    line = re.search(rf"^\| {re.escape(name)} \|.*$", page.partition(f"\n{heading}\n")[2], re.MULTILINE)
    assert line, f"there is no row {name} after {heading}"
    return [cell.strip() for cell in line[0].split("|")[2:-1]]


def test_the_pages_are_of_the_rows(modules, committed):
    """The committed pages are what the command makes of the committed rows, to which benchmark.json belongs."""
    rows, facts = committed
    for name in PARTS:
        content = gzip.decompress((FOLDER / f"{name}.csv.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == facts["rows"][name], f"{name}.csv.gz has other rows"
    lines = modules["make_lines"](rows, facts)
    for name, parts in modules["make_parts"](rows, facts, lines).items():
        assert fill(PAGES[name], parts) == PAGES[name], f"{name} is old: run make_benchmark.py"
    cells = modules["format_cells"](lines)
    assert cells == (FOLDER / "cells.csv").read_text(encoding="utf-8"), "cells.csv is old: run make_benchmark.py"
    # Several processes write rows in any order; the packed file is the same.
    assert modules["pack"](rows["lmapf"][::-1]) == modules["pack"](rows["lmapf"])


def test_what_is_committed(committed):
    """Rows, figures and pages are there, small, of the benchmark's own only means."""
    packed = {f"{name}.csv.gz" for name in PARTS}
    made = packed | {*FIGURES, *NAMES, "benchmark.json", "learned.json"}
    made |= {"trainings.csv.gz", "cells.csv"}
    assert {path.name for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".py"} == made
    assert sum((FOLDER / name).stat().st_size for name in packed) < 2_000_000
    _, facts = committed
    assert facts["commit"] == "3303133"
    for kind in ("mapf", "lmapf"):
        lines = facts[kind]["lines"]
        assert len({(line["set"], line["agents"], line["algorithm"]) for line in lines}) == len(lines) < 100


def test_the_code_of_the_pages_runs(clone, tmp_path, monkeypatch, capsys):
    """A reader gets the rows, and the scores of a policy of one's own beside the published ones."""
    code = {name: [token.content for token in tokens if token.info == "python"] for name, tokens in TOKENS.items()}
    ((playing,), none, (reading,)) = code.values()
    assert none == []
    for file in FOLDER.glob("*.csv.gz"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(reading, names)  # noqa: S102 - the pages are ours, and this is what a reader does with it
    expected = {"random", "shortest-path", "pibt", "pretrained", "pretrained-messages", "pretrained-shield", "lacam"}
    assert {row["algorithm"] for row in names["rows"]} == expected
    exec(playing.replace('"CLONE"', repr(str(clone))), {})  # noqa: S102
    # Of bay with two agents all have rows: PIBT needs 4 steps in sum, Other 29, and LaCAM has no solution.
    assert capsys.readouterr().out == "{'mine': 1.0, 'LaCAM': 0.0, 'Other': 0.13793103448275862}\n"


def test_wins_are_counted(modules):
    """A solution beats none, a smaller sum of costs a larger one; rows of one alone do not count."""

    def row(agents, algorithm, csr, cost, where="mazes"):
        row = {"map": "m", "seed": 0, "time_limit": 0.0, "set": where, "agents": agents, "algorithm": algorithm}
        return {**row, "csr": csr, "sum_of_costs": cost, "throughput": cost}

    mine = [(1.0, 9.0), (1.0, 8.0), (0.0, 5.0), (0.0, 5.0), (1.0, 30.0)]
    theirs = [(1.0, 8.0), (1.0, 9.0), (1.0, 9.0), (0.0, 4.0), (0.0, 4.0)]
    own = [row(number, "pretrained", *one) for number, one in enumerate(mine)]
    own += [row(0, "pretrained", 1.0, 1.0, "warehouse-lists"), row(0, "pibt", 1.0, 1.0)]
    others = [row(number, "Other", *one) for number, one in enumerate(theirs)] + [row(7, "Other", 1.0, 1.0)]
    others += [row(0, "Other", 0.0, 9.0, "warehouse")]
    count = modules["gather"].__globals__["count_wins"]
    assert count("mapf", own, others) == {ALONE: {"Other": [2, 2, 1]}}
    # In lifelong instances the largest throughput wins, whatever the rates.
    assert count("lmapf", own, others) == {ALONE: {"Other": [3, 2, 0]}}


def test_the_field_is_counted(modules, monkeypatch):
    """Counts, scores, pairs and losses are those of the field's sets and their steps; what has no rows now stays."""
    field = modules["make_parts"].__globals__["show_field"].__globals__

    def row(algorithm, agents, cost, where="mazes", **values):
        """A row of an instance that is solved if it has a cost."""
        one = {"kind": "mapf", "set": where, "map": "m", "seed": 0, "agents": agents, "algorithm": algorithm}
        solved = {"csr": float(cost is not None), "sum_of_costs": cost or 999.0, "makespan": 9.0}
        return {**one, **solved, "time_limit": 0.0, "lower_bound": None, **values}

    own = [row("pretrained", agents, cost) for agents, cost in ((8, 20.0), (16, None), (48, 30.0), (64, 90.0))]
    own += [row("lacam", agents, 12.0) for agents in (8, 16, 48)] + [row("random", 8, 1.0)]
    own += [row("lacam", 8, 5.0, "warehouse"), row("pretrained", 8, 6.0, "warehouse")]
    theirs = [row("EPH", 8, 10.0), row("EPH", 16, 24.0), row("EPH", 48, 20.0, makespan=41.0), row("Other", 8, 5.0)]
    theirs += [row("HMAGAT", 8, 12.0), row("HMAGAT", 48, 21.0, makespan=41.0)]
    original = [
        row("LaCAM", 8, 11.0),
        row("LaCAM", 16, None),
        row("LaCAM", 48, 12.0),
        row("LaCAM", 8, 4.0, "warehouse"),
    ]
    again = [row("DCC", 8, 40.0), row("LaCAM", 8, 3.0)]
    monkeypatch.setitem(field, "published", lambda folder: original)
    # What DMM's authors ran again is not counted.
    by_source = {"ddg": [*theirs, *again], "hmagat": theirs, "dmm": [row("DMM-3M", 8, 13.0), row("HMAGAT", 24, 1.0)]}
    monkeypatch.setitem(field, "learned", lambda folder, source, bounds, **options: by_source[source])
    facts = {"mapf": {"steps": dict.fromkeys(field["SETS"], 40)}, "rows": {"mapf": "sum"}}
    folders = dict.fromkeys(("data", "ddg", "hmagat", "dmm"), Path())
    found = field["count"](folders, own, [], facts, {})
    assert (found["rows"], found["losses"]) == ("sum", {"mazes": 1, "warehouse": 1})
    assert found["least"] == {"mazes m 0 8": 10.0, "warehouse m 0 8": 4.0}
    assert list(found["algorithms"]) == ["DMM-3M", "HMAGAT", "EPH", "DCC, run again", "LaCAM"]
    eph = found["algorithms"]["EPH"]
    empty = {name: {} for name in field["SETS"]}
    assert eph["solved"] == {**empty, "mazes": {"8": [1, 1], "16": [1, 1], "48": [0, 1]}}
    assert eph["pairs"] == {ALONE: [1, 1, 2.0], "LaCAM*": [1, 0, round((12 / 10 * 12 / 24) ** 0.5, 4)]}
    assert "pairs, warehouse" not in eph
    assert found["algorithms"]["LaCAM"]["pairs, warehouse"] == {ALONE: [0, 0, 1.5], "LaCAM*": [0, 0, 1.25]}
    assert eph["Performance"][0] == pytest.approx((1 + 12 / 24 + 0) / 3)
    assert "Out-of-Distribution" not in eph
    assert found["algorithms"]["LaCAM"]["Performance"][0] == pytest.approx((10 / 11 + 0 + 1) / 3, abs=1e-6)
    # Another clone has rows of one set alone; the other figures, and the smallest sums of costs, are as before.
    by_source["dmm"] = [row("DMM-3M", 8, 5.0, "warehouse")]
    again = field["count"](dict.fromkeys(("data", "dmm"), Path()), own, [], facts, found)
    assert (again["least"], again["algorithms"]["EPH"]) == (found["least"], eph)
    assert again["algorithms"]["LaCAM"] == found["algorithms"]["LaCAM"]
    before, dmm = (one["algorithms"]["DMM-3M"] for one in (found, again))
    assert dmm["solved"] == {**before["solved"], "warehouse": {"8": [1, 1]}}
    assert (dmm["pairs"], dmm["pairs, warehouse"]) == (before["pairs"], {ALONE: [0, 0, 1.2], "LaCAM*": [0, 0, 1.0]})


def tables_of(page, heading):
    """The tables in a section, each a list of rows of cells; names without emphasis, and with plain hyphens."""
    section = re.sub(r"\*\*|\\", "", page.partition(f"\n{heading}\n")[2].partition("\n## ")[0])
    texts = re.findall(r"(?:^\|.*\n)+", section.replace("\N{NON-BREAKING HYPHEN}", "-"), re.MULTILINE)
    tables = [[[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()] for text in texts]
    return [[head, *rows] for head, _, *rows in tables]


def test_denser_instances_are_counted(modules):
    """Solved instances and ratios of costs are those of the rows; what has no rows now stays."""
    field = modules["make_parts"].__globals__["show_field"].__globals__
    costs = {"pretrained": (20.0, 40.0, 9.0), "DMM-MICPO-3M": (10.0, 10.0, None), "Other": (1.0, 1.0, 1.0)}
    one = {"set": "mazes-dense", "seed": 0, "agents": 80}
    rows = [
        {**one, "map": str(k), "algorithm": name, "csr": float(cost is not None), "sum_of_costs": cost or 99.0}
        for name, found in costs.items()
        for k, cost in enumerate(found)
    ]
    rows.append({**rows[0], "agents": 81})
    before = {"mazes-dense": {"80": {"HMAGAT": {"solved": [1, 2], "ratio": [1.5, 1.0, 2.0]}}}}
    found = field["count_dense"](rows, before)["mazes-dense"]
    assert list(found) == ["80"]
    own, theirs, kept = (found["80"].pop(name) for name in ("pretrained", "DMM-MICPO-3M", "HMAGAT"))
    assert (found, theirs, kept) == ({"80": {}}, {"solved": [2, 3]}, before["mazes-dense"]["80"]["HMAGAT"])
    assert own == {"solved": [3, 3], "ratio": pytest.approx(list(np.exp(bootstrap(np.log([2.0, 4.0])))), abs=1e-6)}
    # Without the other's rows, the ratio of before stays.
    again = field["count_dense"](rows[:3], {"mazes-dense": {"80": {"pretrained": own}}})
    assert again == {"mazes-dense": {"80": {"pretrained": own}}}


def test_a_whole_run(make, modules, clone, tmp_path):
    """The tables have what can be counted by hand; without the clone, the same bytes are made of what was written."""
    page, work, output = make(), tmp_path / "work", tmp_path / "page"
    assert "incomplete" not in page
    counts = {name: len(read_rows(work / name / "rows.csv")) for name in PARTS}
    assert counts == {"mapf": 42, "mapf-10s": 6, "bounds": 6, "lmapf": 18}
    # LaCAM solves hall and not bay with two agents, and both with three and four.
    assert row_of(page, "## Success", "LaCAM") == ["50", "100", "100"]
    assert row_of(page, "## Success", r"**LaCAM\* (1 s)**") == ["100"] * 3
    with (output / "cells.csv").open(encoding="utf-8") as cells:
        known = {(cell["algorithm"], cell["agents"]): cell for cell in csv.DictReader(cells)}
    assert [float(known["CBS (1 s)", agents]["gap"]) for agents in "234"] == [0, 0, 0]
    assert float(known["RHCR", "2"]["throughput"]) == 0.25
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    assert len(before) == len(PARTS) + len(FIGURES) + len(NAMES) + 2
    clone.rename(tmp_path / "away")
    work.rename(tmp_path / "work away")
    modules["main"](["--output", str(output)])
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    # What is missing is marked.
    (tmp_path / "away").rename(clone)
    (tmp_path / "work away").rename(work)
    rows = (work / "mapf" / "rows.csv").read_bytes().splitlines(keepends=True)
    (work / "mapf" / "rows.csv").write_bytes(b"".join(rows[:32]))
    shutil.rmtree(work / "lmapf")
    words = ["--data", clone, "--sets", "puzzles", "--work", work, "--output", output]
    modules["main"]([str(word) for word in words])
    partial = (output / "benchmark.md").read_text(encoding="utf-8")
    assert "\N{DAGGER}" in row_of(partial, "## Success", "**PIBT**")[2]
    partial = (output / "provenance.md").read_text(encoding="utf-8")
    assert row_of(partial, "## How it was made", "MAPF | PIBT")[1:3] == ["**incomplete**: Puzzles: 5 of 6", "5 of 6"]


def test_a_sample_is_named(make):
    """Where every second scenario is played, the pages say so, and mark the results."""
    page = make(every=2)
    assert "incomplete" not in page
    assert row_of(page, "## How it was made", "bounds | CBS (1 s)")[1:3] == ["every 2nd scenario", "3 of 6"]
    assert row_of(page, "## Success", "**CBS (1 s)** \N{DAGGER}") == ["100"] * 3


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
    legends = [axes.get_legend() for axes in modules["draw_throughput"](lines).axes]
    assert legends == [None] * len(legends), "the legend names what is drawn"


def test_flags_that_are_needed(modules, capsys):
    """New rows and a clone go together."""
    with pytest.raises(SystemExit) as stopped:
        modules["main"](["--data", "clone"])
    assert stopped.value.code == 2
    assert "--data and --work go together" in capsys.readouterr().err


def test_the_text_has_the_figures_of_the_tables(committed):
    """What the pages say in words is what tables, rows and benchmark.json say."""
    table, *_ = tables_of(RESULTS, "## The whole field")
    solved = {line[0].partition("<br>")[0]: line[1].partition(" ")[0] for line in table[1:]}
    alone, messages, shield = (f"{solved[form]} %" for form in FORMS.values())
    assert f"solves {alone} alone, {messages} with messages and {shield} with a shield." in RESULTS
    best = "DMM-MICPO-3M with messages ({DMM-MICPO-3M} %) and MAPF-GPT-DDG-2M without ({MAPF-GPT-DDG-2M} %)"
    assert best.replace("{", "{0[").replace("}", "]}").format(solved) in RESULTS
    figures = json.loads((FOLDER / "learned.json").read_text(encoding="utf-8"))["algorithms"]
    for name in (name[:-2] for name in solved if name.endswith(" \N{DAGGER}") and name[:-2] in figures):
        counts = figures[name]["solved"]
        played = sum(cell[1] for by_agents in counts.values() for cell in by_agents.values())
        assert f"{name} {played:,}" in RESULTS
    theirs = figures["MAPF-GPT-DDG-2M"]
    said = "There, {} instances are solved by the policy alone and not by MAPF-GPT-DDG-2M, and {} the other way round"
    assert said.format(*theirs["pairs, warehouse"][ALONE]) in RESULTS
    assert "in Random, Mazes and MovingAI, {} and {}, too close".format(*theirs["pairs"][ALONE]) in RESULTS
    sizes = {kind: sum(sum(one.values()) for one in committed[1][kind]["sizes"].values()) for kind in ("mapf", "lmapf")}
    sizes["mapf"] -= sum(sum(committed[1]["mapf"]["sizes"][name].values()) for name in UNPUBLISHED)
    assert "for {mapf:,} instances of multi-agent path finding (MAPF) and {lmapf:,} lifelong".format(**sizes) in RESULTS
    counts = [one for by in committed[1]["lacam"].values() for one in by.values()]
    equal, above, below = (sum(one.get(what, 0) for one in counts) for what in ("equal", "above", "below"))
    assert f"Of LaCAM's {equal + above:,} published solutions, {equal:,} cost" in PROVENANCE
    assert (f"optimal; {above:,} cost more. None costs less." in PROVENANCE, below) == (True, 0)
