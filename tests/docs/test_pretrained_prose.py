"""The figures in the text of docs/pretrained.md and README: those of the committed rows and results."""

import csv
import gzip
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from multigrid.benchmark import read_rows
from tools.pretraining.imitation import Settings

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
BENCHMARK = ROOT / "docs" / "benchmark"
ALONE, SHIELDED, PIBT = "pretrained", "pretrained-shield", "pibt"
LABELS = {SHIELDED: "learned policy, shielded", ALONE: "learned policy", PIBT: "PIBT"}
SETS = ("Performance", "Out-of-Distribution", "Cooperation")

Means = dict[tuple[str, int, str], float]


def read_page(path):
    """The words of a page, with one space between any two."""
    return " ".join(path.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def page():
    """docs/pretrained.md."""
    return read_page(ROOT / "docs" / "pretrained.md")


@pytest.fixture(scope="module")
def facts():
    """The figures of the benchmark in which files of the benchmark take part."""
    return json.loads((BENCHMARK / "benchmark.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The rows of this package, as CSV."""
    folder = tmp_path_factory.mktemp("rows")
    for kind in ("mapf", "lmapf"):
        (folder / f"{kind}.csv").write_bytes(gzip.decompress((BENCHMARK / f"{kind}.csv.gz").read_bytes()))
    return folder


def read_means(file, figure):
    """The mean of a figure by set, number of agents and algorithm."""
    values = defaultdict(list)
    for row in read_rows(file):
        values[row["set"], row["agents"], row["algorithm"]].append(row[figure])
    return {key: statistics.mean(found) for key, found in values.items()}


def percents(means, others, name, other, sets):
    """By how many percent an algorithm's mean is above another's, for each set and number of agents."""
    return [
        100 * mean / others[where, agents, other] - 100
        for (where, agents, algorithm), mean in means.items()
        if algorithm == name and where in sets
    ]


def span(values):
    """The smallest and the largest, without decimals."""
    return f"{min(values):.0f} to {max(values):.0f} %"


def test_the_table_has_the_scores_of_the_benchmark(page, facts):
    """A row has the scores of both kinds of path finding."""
    mapf, lmapf = ([facts[kind]["joint"]["own"][score] for score in SETS] for kind in ("mapf", "lmapf"))
    for label in LABELS.values():
        figures = [f"{by_name[label]:.2f}" for by_name in (*mapf, *lmapf)]
        assert f"| {label} | {' | '.join(figures)} |" in page
    for name, words in (("SCRIMP", "SCRIMP, published"), ("DCC", "DCC, published; 206 of its rows are missing")):
        assert f"| {words} | {' | '.join(f'{by_name[name]:.2f}' for by_name in mapf)} | | | |" in page
    for name, words in (("Follower", "published"), ("MATS-LP", "published; many rows are missing")):
        assert f"| {name}, {words} | | | | {' | '.join(f'{by_name[name]:.2f}' for by_name in lmapf)} |" in page
    figures = [f"{by_name['LaCAM* (1 s)']:.2f}" for by_name in mapf]
    figures += [f"{by_name['windowed planning']:.2f}" for by_name in lmapf]
    assert f"| planners: LaCAM* with 1 s; windowed planning | {' | '.join(figures)} |" in page
    rest = [[facts["mapf"]["joint"]["drop"][score][LABELS[name]] for score in SETS] for name in (ALONE, SHIELDED)]
    words = "the learned policy has Performance {:.2f}, Out-of-Distribution {:.2f} and Cooperation {:.2f}; "
    assert (words + "with a shield {:.2f}, {:.2f} and {:.2f}.").format(*rest[0], *rest[1]) in page


def test_the_policy_stands_beside_newer_ones(page, unpacked):
    """The page's table is that of the benchmark's page, README has its shares, and Warehouse is apart."""
    table = (BENCHMARK / "benchmark.md").read_text(encoding="utf-8").partition("## Newer results")[2]
    table = table.partition("\n## ")[0]
    lines = [line.split(" | ")[:5] for line in table.splitlines() if re.match(r"\| [*\w]", line)]
    assert [line[0] for line in lines[:4:3]] == ["| **learned policy, shielded**", "| **learned policy**"]
    assert " ".join(f"{' | '.join(line)} |" for line in lines) in page
    shares = {line[0].strip("|* "): line[4].partition(" ")[0] for line in lines}
    words = "**{} %** of 2,048 instances of the POGEMA benchmark are solved by [the policy that comes with the package]"
    readme = read_page(ROOT / "README.md")
    assert words.format(shares[LABELS[ALONE]]) in readme
    others = "MAPF-GPT-2M solves {MAPF-GPT-2M} %, MAPF-GPT-DDG-2M {MAPF-GPT-DDG-2M} %.".format_map(shares)
    assert others in readme
    assert f"the policy solves {shares[LABELS[SHIELDED]]} %" in readme
    rows = [row for row in read_rows(unpacked / "mapf.csv") if row["set"] == "warehouse"]
    solved = [[row["csr"] for row in rows if row["algorithm"] == name] for name in (ALONE, SHIELDED, PIBT)]
    words = "alone the policy solves {:.0f} % of its 768 instances, with a shield {:.0f} %, PIBT {:.0f} %"
    assert words.format(*(100 * statistics.mean(found) for found in solved)) in page


def test_the_network_and_its_training(page):
    """The sizes are those of the shipped file; rounds, time and seeds those of the recorded trainings."""
    file = ROOT / "multigrid" / "policies" / "pretrained.npz"
    with np.load(file) as weights:
        layers = [weights[name].shape[-1] for name in ("ground", "second", "third")]
        many, kinds = sum(weights[name].size for name in weights), {weights[name].dtype.name for name in weights}
    assert kinds == {"float16"}
    assert (
        "then dense layers of {}, {} and {} units; {:.1f} million weights as float16, {:.1f} MB compressed".format(
            *layers, many / 1e6, file.stat().st_size / 1e6
        )
        in page
    )
    ends = [read_last_line(ROOT / "docs" / "pretrained" / "training" / f"seed-{seed}.csv") for seed in range(4)]
    settings = Settings()
    assert ends[0]["round"] == settings.rounds
    assert f": {settings.rounds} rounds of {settings.labels:,} labels." in page
    assert f"{round(ends[0]['seconds'] / 600) * 10} minutes on two cores" in page
    assert {round(settings.rounds / end["round"]) for end in ends[1:]} == {3}
    said = []
    for name, form in (("mazes-24", "{:.0f}"), ("random-48-lifelong", "{:.2f}")):
        for column in (name, f"{name}-shield"):
            values = [end[column] * (1 if "lifelong" in name else 100) for end in ends]
            said.append(f"{form} to {form}".format(min(values[1:]), max(values[1:])))
            said.append(form.format(values[0]))
    mazes = "mazes with 24 agents {0} % alone and {2} % with a shield (seed 0: {1} and {3} %)"
    lifelong = "lifelong random maps with 48 agents {4} and {6} arrivals a step ({5} and {7})"
    assert f"{mazes}, {lifelong}.".format(*said) in page


def read_last_line(file):
    """The figures of the last round of a training."""
    with file.open(encoding="utf-8") as lines:
        *_, last = csv.DictReader(lines)
    return {name: float(value) for name, value in last.items()}


def test_lifelong_comparisons(page, facts, unpacked):
    """The shares by which arrivals are more or fewer than Follower's and PIBT's are those of the rows."""
    own = read_means(unpacked / "lmapf.csv", "throughput")
    lines = facts["lmapf"]["lines"]
    published = {
        (one["set"], one["agents"], one["algorithm"]): one["throughput"][0] for one in lines if "throughput" in one
    }
    inside, puzzles = ("random", "mazes", "movingai"), ("puzzles",)
    more = [percents(own, published, ALONE, "Follower", sets) for sets in (inside, puzzles)]
    assert (
        f"{span(more[0])} more arrivals than Follower's published rows in Random, Mazes and MovingAI, "
        f"and {span(more[1])} more in Puzzles"
    ) in page
    more = [percents(own, own, SHIELDED, PIBT, sets) for sets in ((*inside, "warehouse"), puzzles)]
    assert f"With a shield it has {span(more[0])} more than PIBT outside Puzzles, and {span(more[1])} more in" in page
    fewer = [
        100 - 100 * own[name, agents, ALONE] / own[name, agents, PIBT]
        for name, agents in (("random", 64), ("mazes", 64), ("movingai", 256))
    ]
    assert "(Random, 64: {:.0f} % fewer; Mazes, 64: {:.0f} %; MovingAI, 256: {:.0f} %)".format(*fewer) in page


def test_decisions_a_second(page, unpacked):
    """The speed is that of the rows with 64 agents: all agents' steps by all seconds, in thousands."""
    rows = [row for row in read_rows(unpacked / "mapf.csv") if row["agents"] == 64]
    played = [[row for row in rows if row["algorithm"] == name] for name in (ALONE, SHIELDED)]
    speeds = [64 * sum(row["steps"] for row in some) / sum(row["seconds"] for row in some) for some in played]
    words = (
        "{:,.0f} decisions a second on one core in the benchmark's instances with 64 agents, with a shield {:,.0f} |"
    )
    assert words.format(*(round(speed, -3) for speed in speeds)) in page


def test_failures(page, unpacked):
    """What is solved of crowded mazes and of puzzles is what the rows say."""
    solved = {key: 100 * share for key, share in read_means(unpacked / "mapf.csv", "csr").items()}
    mazes = [solved["mazes", 64, name] for name in (ALONE, SHIELDED)]
    assert "with 64, {:.0f} % are solved alone and {:.0f} % with a shield".format(*mazes) in page
    assert "with 64 agents it solves {:.0f} % alone and {:.0f} % with a shield".format(*mazes) in page
    puzzles = [solved["puzzles", agents, name] for name in (ALONE, PIBT) for agents in (2, 3, 4)]
    words = "it solves {:.0f}, {:.0f} and {:.0f} % with 2, 3 and 4 agents, PIBT {:.0f}, {:.0f} and {:.0f} %"
    assert words.format(*puzzles) in page


def test_held_out_layouts_and_ways_to_act(page):
    """What is solved on held-out layouts, and by each way to act, is what was measured."""
    content = json.loads((ROOT / "docs" / "pretrained" / "figures.json").read_text(encoding="utf-8"))
    solved = {
        (cell["map"], cell["agents"], name): 100 * figures["csr"][0]
        for cell in content["cells"]
        if cell["on_target"] == "stay"
        for name, figures in cell["policies"].items()
    }
    alone = [solved["random, 19 x 19", agents, ALONE] for agents in (8, 24, 48)]
    words = "it solves alone {:.0f} % of 100 episodes with 8 and with 24 agents and {:.0f} % with 48; with a shield all"
    assert words.format(*alone[1:]) in page
    assert alone[0] == alone[1]
    assert {solved["random, 19 x 19", agents, SHIELDED] for agents in (8, 24, 48)} == {100}
    assert f"64 agents it solves {solved['warehouse, 33 x 25', 64, ALONE]:.0f} % alone" in page
    maze, lifelong = content["acting"][1]["policies"], content["acting"][2]["policies"]
    said = [
        (round(100 * maze[f"{form}, {way}"]["csr"][0]), f"{lifelong[f'{form}, {way}']['throughput'][0]:.2f}")
        for form in ("alone", "shielded")
        for way in ("always 1: the network's probabilities", "always 0.2", "as shipped")
    ]
    assert (
        "solve {} % of the mazes with 24 agents and have {} arrivals a step on lifelong random maps with 48; always at "
        "0.2, {} % and {}; as shipped, with a temperature that rises, {} % and {}. With a shield it is {} % and {}; "
        "{} % and {}; {} % and {}."
    ).format(*(value for pair in said for value in pair)) in page
