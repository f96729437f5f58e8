"""The figures of the learned policy in docs/pretrained, docs/pretrained.md and README: those that were measured."""

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
from benchmarks.pogema.rows import read_rows
from multigrid.evaluation._estimates import wilson
from multigrid.policies import pretrained
from multigrid.policies._learned import FILE
from tools.pretraining.imitation import Settings

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pretrained"
BENCHMARK = ROOT / "docs" / "benchmark"
ALONE, SHIELDED, PIBT = "pretrained", "pretrained-shield", "pibt"
LABELS = {SHIELDED: "learned policy, shielded", ALONE: "learned policy", PIBT: "PIBT"}
SETS = ("Performance", "Out-of-Distribution", "Cooperation")
CONTENT = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
FACTS = json.loads((BENCHMARK / "benchmark.json").read_text(encoding="utf-8"))
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


def means_of(rows, figure):
    """The mean of a figure by set, number of agents and algorithm."""
    values = defaultdict(list)
    for row in rows:
        values[row["set"], row["agents"], row["algorithm"]].append(row[figure])
    return {key: statistics.mean(found) for key, found in values.items()}


def is_said(words, *figures):
    """Fail unless the page has the words with these figures."""
    assert words.format(*figures) in PAGE


def test_figures_are_of_the_shipped_weights(modules):
    """Whoever changes the weights, or how they are measured, measures them again; figures.md shows all worlds."""
    assert CONTENT["weights"] == hashlib.sha256(FILE.read_bytes()).hexdigest()
    command = (FOLDER / "measure_pretrained.py").read_text(encoding="utf-8").encode()
    assert CONTENT["command"] == hashlib.sha256(command).hexdigest()
    tables = modules["make_tables"](CONTENT, modules["read_runs"](FOLDER / "training"))
    assert tables == (FOLDER / "figures.md").read_text(encoding="utf-8")
    measured = [(cell["map"], cell["agents"], cell["on_target"]) for cell in CONTENT["cells"]]
    assert measured == [cell[:3] for cell in modules["list_cells"]()]
    assert [len(one["policies"]) for one in CONTENT["acting"]] == [2 * len(modules["ACTING"])] * 4


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


def test_curves_have_the_measured_rounds(modules):
    """The figure of the training has a line for each run and way of acting, over the measured rounds."""
    runs = modules["read_runs"](FOLDER / "training")
    ends = {name: rows[-1]["round"] for name, rows in runs.items()}
    assert ends == {"seed 0": "220", "seed 1": "73", "seed 2": "73", "seed 3": "73"}
    axes = modules["draw_training"](runs).axes[0]
    assert len(axes.lines) == 2 * len(runs)
    first = next(row for row in runs["seed 0"] if row["mazes-24-shield"])
    line = axes.lines[2 * list(runs).index("seed 0")]
    assert line.get_xydata()[0].tolist() == [int(first["round"]), float(first["mazes-24-shield"])]


def test_the_table_has_the_scores_of_the_benchmark():
    """A row has the scores of both kinds of path finding."""
    mapf, lmapf = ([FACTS[kind]["joint"]["own"][score] for score in SETS] for kind in ("mapf", "lmapf"))
    for label in LABELS.values():
        is_said(f"| {label} | {' | '.join(f'{by_name[label]:.2f}' for by_name in (*mapf, *lmapf))} |")
    for name, words in (("SCRIMP", "SCRIMP, published"), ("DCC", "DCC, published; 206 of its rows are missing")):
        is_said(f"| {words} | {' | '.join(f'{by_name[name]:.2f}' for by_name in mapf)} | | | |")
    for name, words in (("Follower", "published"), ("MATS-LP", "published; many rows are missing")):
        is_said(f"| {name}, {words} | | | | {' | '.join(f'{by_name[name]:.2f}' for by_name in lmapf)} |")
    figures = [by_name["LaCAM* (1 s)"] for by_name in mapf] + [by_name["windowed planning"] for by_name in lmapf]
    is_said("| planners: LaCAM* with 1 s; windowed planning |" + " {:.2f} |" * 6, *figures)
    dropped = [FACTS["mapf"]["joint"]["drop"][score][LABELS[name]] for name in (ALONE, SHIELDED) for score in SETS]
    words = "the learned policy has Performance {:.2f}, Out-of-Distribution {:.2f} and Cooperation {:.2f}; "
    is_said(words + "with a shield {:.2f}, {:.2f} and {:.2f}.", *dropped)


def test_the_policy_stands_beside_newer_ones(rows):
    """The page's table is of the rows and of learned.json, README has its shares, and Warehouse is apart."""
    names = ("random", "mazes", "movingai")
    counts = {}
    for algorithm, name in LABELS.items():
        own = {
            one: [row["csr"] for row in rows["mapf"] if (row["algorithm"], row["set"]) == (algorithm, one)]
            for one in names
        }
        counts[f"**{name}**"] = [(sum(csr), len(csr)) for csr in own.values()]
    for name, one in json.loads((BENCHMARK / "learned.json").read_text(encoding="utf-8"))["algorithms"].items():
        cells = [list(by_agents.values()) for by_agents in one["solved"].values()]
        # The benchmark's own rows, and what is not known in all sets, are not in this table.
        if name not in ("LaCAM", "SCRIMP", "DCC") and all(cells):
            counts[name.removesuffix(", run again")] = [tuple(map(sum, zip(*part, strict=True))) for part in cells]
    lines, shares = [], {}
    for name, parts in sorted(counts.items(), key=lambda item: -sum(solved for solved, _ in item[1])):
        solved, played = (int(sum(column)) for column in zip(*parts, strict=True))
        whole = [f"{100 * part:.1f}" for part in wilson(np.repeat([1.0, 0.0], [solved, played - solved]))]
        shares[name.strip("*")] = whole[0]
        each = " | ".join(f"{100 * part[0] / part[1]:.1f}" for part in parts)
        lines.append(f"| {name} | {each} | {whole[0]} [{whole[1]}, {whole[2]}] |")
    assert len(lines) == 10
    assert f"---:| {' '.join(lines)} The results of others" in PAGE
    solved = f"**{shares[LABELS[ALONE]]} %** of 2,048 instances of the POGEMA benchmark are solved by"
    assert f"{solved} [the policy that comes with the package]" in README
    assert "MAPF-GPT-2M solves {MAPF-GPT-2M} %, MAPF-GPT-DDG-2M {MAPF-GPT-DDG-2M} %.".format_map(shares) in README
    assert f"the policy solves {shares[LABELS[SHIELDED]]} %" in README
    played = [row for row in rows["mapf"] if row["set"] == "warehouse"]
    three = (ALONE, SHIELDED, PIBT)
    rates = [100 * statistics.mean(row["csr"] for row in played if row["algorithm"] == name) for name in three]
    is_said("alone the policy solves {:.0f} % of its 768 instances, with a shield {:.0f} %, PIBT {:.0f} %", *rates)


def test_the_network_and_its_training():
    """The sizes are those of the shipped file; rounds, time and seeds those of the recorded trainings."""
    with np.load(FILE) as weights:
        layers = [weights[name].shape[-1] for name in ("ground", "second", "third")]
        many, kinds = sum(weights[name].size for name in weights), {weights[name].dtype.name for name in weights}
    assert kinds == {"float16"}
    words = "then dense layers of {}, {} and {} units; {:.1f} million weights as float16, {:.1f} MB compressed"
    is_said(words, *layers, many / 1e6, FILE.stat().st_size / 1e6)
    ends, settings = [], Settings()
    for seed in range(4):
        with (FOLDER / "training" / f"seed-{seed}.csv").open(encoding="utf-8") as lines:
            *_, last = csv.DictReader(lines)
        ends.append({name: float(value) for name, value in last.items()})
    assert ends[0]["round"] == settings.rounds
    is_said(f": {settings.rounds} rounds of {settings.labels:,} labels.")
    is_said(f"{round(ends[0]['seconds'] / 600) * 10} minutes on two cores")
    assert {round(settings.rounds / end["round"]) for end in ends[1:]} == {3}
    said = []
    for name in ("mazes-24", "mazes-24-shield", "random-48-lifelong", "random-48-lifelong-shield"):
        first, *others = (end[name] * (1 if "lifelong" in name else 100) for end in ends)
        said += [min(others), max(others), first]
    mazes = "mazes with 24 agents {0:.0f} to {1:.0f} % alone and {3:.0f} to {4:.0f} % with a shield"
    mazes += " (seed 0: {2:.0f} and {5:.0f} %)"
    lifelong = "lifelong random maps with 48 agents {6:.2f} to {7:.2f} and {9:.2f} to {10:.2f} arrivals a step"
    is_said(f"{mazes}, {lifelong} ({{8:.2f}} and {{11:.2f}}).", *said)


def test_lifelong_comparisons(rows):
    """The shares by which arrivals are more or fewer than Follower's and PIBT's are those of the rows."""
    own = means_of(rows["lmapf"], "throughput")
    lines = [one for one in FACTS["lmapf"]["lines"] if "throughput" in one]
    published = {(one["set"], one["agents"], one["algorithm"]): one["throughput"][0] for one in lines}

    def more(others, name, other, *sets):
        """By how many percent an algorithm's means are above another's: the smallest and the largest."""
        keys = [key for key in own if key[2] == name and key[0] in sets]
        values = [100 * own[key] / others[(*key[:2], other)] - 100 for key in keys]
        return f"{min(values):.0f} to {max(values):.0f} % more"

    inside = ("random", "mazes", "movingai")
    many, puzzles = more(published, ALONE, "Follower", *inside), more(published, ALONE, "Follower", "puzzles")
    is_said(f"{many} arrivals than Follower's published rows in Random, Mazes and MovingAI, and {puzzles} in Puzzles")
    many, puzzles = more(own, SHIELDED, PIBT, *inside, "warehouse"), more(own, SHIELDED, PIBT, "puzzles")
    is_said(f"With a shield it has {many} than PIBT outside Puzzles, and {puzzles} in")
    keys = [("random", 64), ("mazes", 64), ("movingai", 256)]
    fewer = [100 - 100 * own[(*key, ALONE)] / own[(*key, PIBT)] for key in keys]
    is_said("(Random, 64: {:.0f} % fewer; Mazes, 64: {:.0f} %; MovingAI, 256: {:.0f} %)", *fewer)


def test_speed_and_failures(rows):
    """What is decided a second with 64 agents, and solved of crowded mazes and of puzzles, is what the rows say."""
    speeds = []
    for name in (ALONE, SHIELDED):
        played = [row for row in rows["mapf"] if row["agents"] == 64 and row["algorithm"] == name]
        speeds.append(round(64 * sum(row["steps"] for row in played) / sum(row["seconds"] for row in played), -3))
    words = "{:,.0f} decisions a second on one core in the benchmark's instances with 64 agents, "
    is_said(words + "with a shield {:,.0f} |", *speeds)
    solved = {key: 100 * share for key, share in means_of(rows["mapf"], "csr").items()}
    mazes = [solved["mazes", 64, name] for name in (ALONE, SHIELDED)]
    is_said("with 64, {:.0f} % are solved alone and {:.0f} % with a shield", *mazes)
    is_said("with 64 agents it solves {:.0f} % alone and {:.0f} % with a shield", *mazes)
    puzzles = [solved["puzzles", agents, name] for name in (ALONE, PIBT) for agents in (2, 3, 4)]
    is_said("it solves {:.0f}, {:.0f} and {:.0f} % with 2, 3 and 4 agents, PIBT {:.0f}, {:.0f} and {:.0f} %", *puzzles)


def test_held_out_layouts_and_ways_to_act():
    """What is solved on held-out layouts, and by each way to act, is what was measured."""
    solved = {}
    for cell in (cell for cell in CONTENT["cells"] if cell["on_target"] == "stay"):
        solved |= {(cell["map"], cell["agents"], name): 100 * one["csr"][0] for name, one in cell["policies"].items()}
    few, some, many = (solved["random, 19 x 19", agents, ALONE] for agents in (8, 24, 48))
    words = "it solves alone {:.0f} % of 100 episodes with 8 and with 24 agents and {:.0f} % with 48; with a shield all"
    is_said(words, some, many)
    assert few == some
    assert {solved["random, 19 x 19", agents, SHIELDED] for agents in (8, 24, 48)} == {100}
    is_said("64 agents it solves {:.0f} % alone", solved["warehouse, 33 x 25", 64, ALONE])
    maze, lifelong = CONTENT["acting"][1]["policies"], CONTENT["acting"][2]["policies"]
    said = []
    for form in ("alone", "shielded"):
        for way in ("always 1: the network's probabilities", "always 0.2", "as shipped"):
            name = f"{form}, {way}"
            said.append(f"{100 * maze[name]['csr'][0]:.0f} % and {lifelong[name]['throughput'][0]:.2f}")
    said[0] = said[0].replace("% and", "% of the mazes with 24 agents and have")
    words = "solve {} arrivals a step on lifelong random maps with 48; always at 0.2, {}; as shipped, with a "
    is_said(words + "temperature that rises, {}. With a shield it is {}; {}; {}.", *said)
