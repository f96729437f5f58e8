"""benchmarks.pogema reads rows of newer learned policies, and leaves out those of other instances."""

import gzip
import importlib
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import pogema
from benchmarks.pogema.learned import SOURCES, list_sums
from tiny_clone import result, sums_of

MODULE = importlib.import_module("benchmarks.pogema.learned")
RESULTS = Path(__file__).parents[4] / "shared" / "learned-results"
ROWS = Path(__file__).parents[3] / "docs" / "benchmark" / "mapf.csv.gz"
MAZES, WAREHOUSE = "02-mazes/Mine.json", "03-warehouse/Mine.json"
PROVEN = {("mazes", name, 0, agents): 10.0 * agents for name in ("one", "two") for agents in (8, 16)}
PROVEN |= {("warehouse", "hall", seed, 32): 500.0 for seed in (0, 1)}


def found(cost, csr=1.0):
    """The metrics of a result."""
    return {"CSR": csr, "ISR": csr, "SoC": cost, "makespan": 30, "ep_length": 30, "runtime": 0.5}


def list_results():
    """The results of a policy, by file: in mazes at the bound and above it, with 80 agents, too; in a warehouse."""
    mazes = [("one", 8, found(80.0)), ("two", 8, found(70.0, 0.0)), ("one", 16, found(200.0)), ("one", 80, found(1.0))]
    return {
        MAZES: [result("Mine", agents, metrics, map_name=name) for name, agents, metrics in mazes],
        WAREHOUSE: [result("Mine", 32, found(600.0), seed=seed) for seed in (0, 1)],
    }


def write(folder, results):
    """Write a clone of "ddg", and return it."""
    for path, rows in results.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(json.dumps(rows), encoding="utf-8")
    return folder


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """A clone of "ddg" whose files are the known ones."""
    folder = write(tmp_path / "newer", list_results())
    sums = sums_of(folder)
    monkeypatch.setattr(MODULE, "list_sums", lambda source: sums)
    return folder


def test_newer_results_are_rows(newer):
    """A result has its instance, also where all share the seed or map; other numbers of agents are left out."""
    first, *_, last = rows = pogema.learned(newer, "ddg", PROVEN)
    assert first == {
        "kind": "mapf", "set": "mazes", "map": "one", "seed": 0, "agents": 8, "algorithm": "Mine",
        "csr": 1.0, "isr": 1.0, "sum_of_costs": 80.0, "makespan": 30.0, "throughput": None,
        "steps": 30.0, "seconds": 0.5, "collisions": None,
    }  # fmt: skip
    assert (last["map"], last["seed"]) == ("hall", 1)
    assert [(row["set"], row["agents"]) for row in rows] == [("mazes", 8)] * 2 + [("mazes", 16)] + [
        ("warehouse", 32)
    ] * 2
    assert pogema.learned(newer, "ddg", PROVEN, sets=["warehouse"]) == rows[3:]
    assert pogema.find_others(newer, "ddg", PROVEN) == {}


def test_rows_with_more_agents_than_the_benchmark_has(newer):
    """Where there are bounds of such instances, the rows of a set's file that have as many agents are tested, too."""
    proven = {**PROVEN, ("mazes-dense", "one", 0, 80): 1.0}
    rows = pogema.learned(newer, "ddg", proven)
    assert [(row["set"], row["agents"], row["sum_of_costs"]) for row in rows[5:]] == [("mazes-dense", 80, 1.0)]
    assert rows[:5] == pogema.learned(newer, "ddg", PROVEN)
    assert pogema.learned(newer, "ddg", proven, sets=["mazes-dense"]) == rows[5:]
    proven["mazes-dense", "one", 0, 80] = 2.0
    wrong = {MAZES: "1 of 1 rows cost less than a proven bound"}
    assert pogema.find_others(newer, "ddg", proven) == wrong
    with pytest.raises(ValueError, match="bounds has none for the set 'mazes-dense'"):
        pogema.learned(newer, "ddg", PROVEN, sets=["mazes-dense"])


def test_a_source_without_known_sums(tmp_path):
    """Such a clone is read where no check is asked for, and its algorithms have the names of their files."""
    folder = write(
        tmp_path, {f"raw_results/01_pogema_benchmark/data/{path}": rows for path, rows in list_results().items()}
    )
    mine = folder / "raw_results" / "01_pogema_benchmark" / "data" / MAZES
    mine.rename(mine.with_name("Own-3M.json"))
    with pytest.raises(pogema.DataError, match="sums of the files of CognitiveAISystems/DMM are not known"):
        pogema.learned(folder, "dmm", PROVEN)
    rows = pogema.learned(folder, "dmm", PROVEN, check=False)
    assert Counter(row["algorithm"] for row in rows) == {"Own-3M": 3, "Mine": 2}


@pytest.mark.parametrize("path", [MAZES, WAREHOUSE])
def test_files_of_another_commit_are_refused(newer, tmp_path, path):
    """A file that differs in one byte, or is missing, is named, with the expected clone; so is a wrong folder."""
    wanted = "expected a clone of Cognitive-AI-Systems/MAPF-GPT-DDG at commit dc8ddf2"
    name = path.rpartition("/")[2]
    (newer / path).write_bytes((newer / path).read_bytes() + b"\n")
    with pytest.raises(pogema.DataError, match=f"{name} differs from the file of the repository: .*{wanted}"):
        pogema.learned(newer, "ddg", PROVEN)
    (newer / path).unlink()
    with pytest.raises(pogema.DataError, match=f"{name} is missing; {wanted}"):
        pogema.learned(newer, "ddg", PROVEN)
    for folder, wrong in ((newer / "nowhere", "nowhere is no folder"), (tmp_path / "empty", "empty has no results")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(pogema.DataError, match=f"{wrong}; {wanted}"):
            pogema.learned(folder, "ddg", PROVEN, check=False)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda rows: rows[0]["metrics"].update(SoC=79.0), "1 of 3 rows cost less than a proven bound"),
        (lambda rows: rows[1]["env_grid_search"].update(map_name="three"), "1 of 3 rows name no instance of the set"),
        (lambda rows: rows[2]["env_grid_search"].update(seed=1), "1 of 3 rows name no instance of the set"),
    ],
)
def test_files_of_other_instances_are_left_out(newer, change, wrong):
    """One solution below the proven bound, or one result of no instance, excludes a file, and no other of its set."""
    results = list_results()
    change(results[MAZES])
    results["02-mazes/Other.json"] = list_results()[MAZES][:1]
    write(newer, results)
    assert pogema.find_others(newer, "ddg", PROVEN, check=False) == {MAZES: wrong}
    for sets in (None, ["warehouse", "mazes"]):
        rows = pogema.learned(newer, "ddg", PROVEN, sets=sets, check=False)
        assert sorted((row["set"], row["agents"]) for row in rows) == [("mazes", 8)] + [("warehouse", 32)] * 2


def test_results_without_a_seed(newer):
    """Where the instances of a set have several seeds, a result without one is of no instance."""
    results = list_results()
    for one in results[WAREHOUSE]:
        one["env_grid_search"].pop("seed")
    write(newer, results)
    wrong = {WAREHOUSE: "2 of 2 rows name no instance of the set"}
    assert pogema.find_others(newer, "ddg", PROVEN, check=False) == wrong


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda rows: rows[0].pop("env_grid_search"), r"number 0\) .* no field 'env_grid_search'"),
        (lambda rows: rows[1]["metrics"].pop("CSR"), r"number 1\) .* lacks CSR, or SoC"),
        (lambda rows: rows[0]["metrics"].pop("SoC"), r"number 0\) .* lacks CSR, or SoC"),
        (lambda rows: rows[1]["metrics"].update(SoC="many"), "SoC is 'many'"),
        (lambda rows: rows.append(rows[1]), r"two results for \('mazes', 'two', 0, 8\)"),
    ],
)
def test_a_result_that_is_not_as_expected_is_named(newer, change, wrong):
    """A result without an instance or metrics, with another metric, or given twice is refused, with its file."""
    results = list_results()
    change(results[MAZES])
    write(newer, results)
    with pytest.raises(pogema.DataError, match=f"Mine.json has .*{wrong}"):
        pogema.learned(newer, "ddg", PROVEN, check=False)


def test_names_and_bounds_that_do_not_exist(newer):
    """An unknown source or set, a set that a source lacks, and bounds without a set are refused."""
    for call, wrong in (
        (lambda: pogema.learned(newer, "gdd", PROVEN), "source is 'gdd'"),
        (lambda: pogema.learned(newer, "ddg", PROVEN, sets=["maze"]), "set is 'maze'"),
        (lambda: pogema.learned(newer, "ddg", PROVEN, sets=["puzzles"]), "puzzles has no results; expected a clone"),
        (lambda: pogema.find_others(newer, "ddg", {}), "bounds has none for the set 'mazes'"),
    ):
        with pytest.raises(ValueError, match=wrong):
            call()


def test_the_rows_of_the_sources_are_of_the_benchmark(tmp_path):
    """Of the real files, whose sums are known, one has rows without seeds; no row of the others is below a bound."""
    if not RESULTS.is_dir():
        pytest.skip("the files of the newer results are not beside this checkout")
    (tmp_path / "rows.csv").write_bytes(gzip.decompress(ROWS.read_bytes()))
    proven = pogema.find_bounds(pogema.read_rows(tmp_path / "rows.csv"))
    shutil.copytree(RESULTS / "hmagat", tmp_path / "hmagat" / "results")
    apart = {"ddg": {"03-warehouse/EPH.json": "768 of 768 rows name no instance of the set"}, "hmagat": {}}
    sets = {"random", "mazes", "warehouse", "movingai"}
    for source, folder, count, names in (
        ("ddg", RESULTS / "mapf-gpt-ddg", 18_943, sets),
        ("hmagat", tmp_path / "hmagat", 3_072, sets | {"random-dense", "mazes-dense"}),
    ):
        assert pogema.find_others(folder, source, proven) == apart[source]
        rows = pogema.learned(folder, source, proven)
        assert (len(rows), {row["set"] for row in rows}) == (count, names)
    assert {name for name in SOURCES if list_sums(name)} == set(apart)
