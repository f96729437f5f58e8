"""The figures of the pretrained policy in docs/pretrained, docs/pretrained.md and README: those that were measured."""

import csv
import gzip
import hashlib
import json
import runpy
import statistics
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import multigrid
from benchmarks.page_parts import fill
from benchmarks.pogema.rows import read_rows
from multigrid.evaluation._estimates import wilson
from multigrid.policies import pretrained
from multigrid.policies._learned import FILE

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pretrained"
BENCHMARK = ROOT / "docs" / "benchmark"
ALONE, TALKING, SHIELDED = "pretrained", "pretrained-messages", "pretrained-shield"
TALKS = "pretrained policy, with messages"
FORMS = {SHIELDED: "with a shield", TALKING: "with messages", ALONE: "alone"}
SLOWEST_AND_FASTEST = {
    SHIELDED: ("random", "movingai"),
    TALKING: ("random", "movingai"),
    ALONE: ("warehouse-lists", "movingai"),
}
CONTENT = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
PAGE, README = (" ".join((ROOT / name).read_text("utf-8").split()) for name in ("docs/pretrained.md", "README.md"))


@pytest.fixture(scope="module")
def modules():
    """What measure_pretrained.py defines or imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield runpy.run_path(str(FOLDER / "measure_pretrained.py"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of this package in the benchmark, by kind."""
    files = {kind: tmp_path_factory.mktemp("rows") / f"{kind}.csv" for kind in ("mapf", "lmapf")}
    for kind, file in files.items():
        file.write_bytes(gzip.decompress((BENCHMARK / f"{kind}.csv.gz").read_bytes()))
    return {kind: read_rows(file) for kind, file in files.items()}


def is_said(words, *figures):
    """Fail unless the page has the words with these figures."""
    assert words.format(*figures) in PAGE


def test_figures_are_of_the_shipped_weights(modules):
    """Whoever changes the weights, or how they are measured, measures them again; figures.md shows all worlds."""
    assert CONTENT["weights"] == hashlib.sha256(FILE.read_bytes()).hexdigest()
    command = (FOLDER / "measure_pretrained.py").read_text(encoding="utf-8").encode()
    assert CONTENT["command"] == hashlib.sha256(command).hexdigest()
    text = (FOLDER / "figures.md").read_text(encoding="utf-8")
    assert fill(text, modules["make_parts"](CONTENT)) == text, "figures.md is old: run measure_pretrained.py --redraw"
    suite = [one for one in CONTENT["cells"] if one["suite"]]
    below = [one["map"] for one in suite for figures in one["policies"].values() if figures["csr"][0] < 1]
    assert (below, "90 for PIBT in maze-29x23, 20 for PIBT in maze-41x31" in text) == (
        ["maze-29x23", "maze-41x31"],
        True,
    )
    measured = [(cell["map"], cell["agents"], cell["on_target"]) for cell in CONTENT["cells"]]
    assert measured == [cell[:3] for cell in modules["list_cells"]()]
    worlds = json.loads((FOLDER / "acting.json").read_text(encoding="utf-8"))
    for name in worlds[0]["policies"]:
        found = [one["policies"][name] for one in worlds]
        csr = [f"{100 * one['csr'][0]:.0f}" for one in found[:2]]
        costs = [f"{found[k]['sum_of_costs'][0] / agents:.1f}" for k, agents in enumerate((48, 24))]
        rates = [f"{one['throughput'][0]:.2f}" for one in found[2:]]
        assert f"| {' | '.join((name, *map('; '.join, zip(csr, costs, strict=True)), *rates))} |" in text


def test_a_cell_is_what_its_episodes_are(modules, monkeypatch):
    """The CSR of a world is the share of episodes that are solved, counted here, and the command goes on after it."""
    monkeypatch.setitem(modules["measure"].__globals__, "_EPISODES", 3)
    config = modules["make_held_out"]("small, 6 x 5", 4, "stay")
    env, solved = multigrid.MultiGridEnv(config), 0.0
    for seed in range(3):
        observations, _ = env.reset(seed=seed)
        policy = pretrained(seed=seed)
        while env.agents:
            observations, *_ = env.step(policy(env, observations))
        solved += env.metrics()["csr"]
    assert modules["measure"](config)["pretrained"]["csr"][0] == round(solved / 3, 4)


def test_the_forms_stand_beside_newer_ones(rows):
    """The first table is of the rows and of learned.json; README has the shares without Warehouse."""
    names, played = ("random", "mazes", "warehouse", "movingai"), defaultdict(list)
    for row in rows["mapf"]:
        played[row["algorithm"], row["set"], row["agents"]].append(row["csr"])
    counts = {
        form: {one: {k[2]: (sum(csr), len(csr)) for k, csr in played.items() if k[:2] == (name, one)} for one in names}
        for name, form in FORMS.items()
    }
    learned = json.loads((BENCHMARK / "learned.json").read_text(encoding="utf-8"))["algorithms"]
    for published in ("DMM-MICPO-3M", "MAPF-GPT-DDG-2M"):
        solved = learned[published]["solved"]
        counts[published] = {one: {int(agents): pair for agents, pair in solved[one].items()} for one in names}
    pairs = learned["DMM-MICPO-3M"]["pairs"]
    costs = (
        f"{pairs[name][2]:.2f}" for name in (TALKS, "pretrained policy, with a shield", "pretrained policy, alone")
    )
    is_said("are {} times as large with messages, {} times with a shield and {} times alone", *costs)
    speeds, shares = {form: speed_of(rows, name) for name, form in FORMS.items()}, {}
    for form, parts in counts.items():
        each = [[sum(column) for column in zip(*one.values(), strict=True)] for one in parts.values()]
        solved, total = (int(sum(column)) for column in zip(*each, strict=True))
        share, low, high = (f"{100 * part:.1f}" for part in wilson(np.repeat([1.0, 0.0], [solved, total - solved])))
        assert total == 2816
        shares[form] = share
        many = ", ".join(f"{100 * parts['mazes'][agents][0] / parts['mazes'][agents][1]:.0f}" for agents in (48, 64))
        cells = [f"{share} [{low}, {high}]", *(f"{100 * a / b:.1f}" for a, b in each), many, speeds.get(form, "")]
        is_said("| " + " ".join(f"{' | '.join((form, *cells))} |".split()))
    ranges = [[speed_of(rows, name, one) for one in ends] for name, ends in SLOWEST_AND_FASTEST.items()]
    words = "range from {} to {} with a shield, {} to {} with two rounds of messages, and {} to {} alone;"
    is_said(words, *(end for ends in ranges for end in ends))
    solved = f"**{shares['alone']} %** of 2,816 instances of the POGEMA benchmark are solved by"
    assert f"{solved} [the pretrained policy]" in README
    assert f"with messages {shares['with messages']} %, with a shield {shares['with a shield']} %" in README
    assert f"MAPF-GPT-DDG-2M solves {shares['MAPF-GPT-DDG-2M']} % without messages" in README
    fewer, there = (
        f"{100 - 100 / published[TALKS][2]:.0f} %" for published in (pairs, learned["DMM-MICPO-3M"]["pairs, warehouse"])
    )
    assert (
        f"DMM-MICPO-3M {shares['DMM-MICPO-3M']} % with messages, in {fewer} fewer steps than ours (Warehouse {there})"
        in README
    )


def speed_of(rows, name, where=None):
    """The decisions a second of an algorithm in instances with 64 agents, or those of a set, to a thousand."""
    played = [row for row in rows["mapf"] if row["agents"] == 64 and row["algorithm"] == name]
    played = [row for row in played if row["set"] != "warehouse"]
    played = [row for row in played if where in {None, row["set"]}]
    return f"{round(64 * sum(row['steps'] for row in played) / sum(row['seconds'] for row in played), -3):,.0f}"


def test_other_trainings(rows):
    """What the policy solves with three seeds and with less in sight is what the rows say, with the seeds' interval."""
    solved = defaultdict(list)
    with gzip.open(BENCHMARK / "trainings.csv.gz", "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            solved[row["algorithm"]].append(float(row["csr"]))
    own = [row for row in rows["mapf"] if row["set"] in ("random", "mazes", "movingai") and row["algorithm"] == ALONE]
    solved[ALONE] = [row["csr"] for row in own]
    assert {len(csr) for csr in solved.values()} == {2048}
    share = {name: 100 * statistics.mean(csr) for name, csr in solved.items()}
    seeds = [share[name] for name in (ALONE, "all-1-220", "all-2-220")]
    is_said("seeds 0, 1 and 2 solve {:.1f}, {:.1f} and {:.1f} % of the 2,048 instances", *seeds)
    # The quantile of Student's t distribution with two degrees of freedom.
    mean, half = statistics.mean(seeds), 4.3027 * statistics.stdev(seeds) / 3**0.5
    is_said("on average {:.1f} % [{:.1f}, {:.1f}] (95 % t interval over seeds)", mean, mean - half, mean + half)
    words = "Without Warehouse, ours solves {:.1f}, {:.1f} and {:.1f} % alone, with three training seeds."
    assert words.format(*seeds) in README
    less = [share[name] for name in ("all-1-73", "near-1-73", "own-1-73")]
    is_said("Trained for a third of the rounds, seed 1 solves {:.1f} %; trained without the targets of agents", less[0])
    is_said("outside the window, {:.1f} %; without others' targets and the moves that lead there, {:.1f} %.", *less[1:])
