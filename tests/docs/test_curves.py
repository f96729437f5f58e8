"""The tables of trainings: the pages show what the committed curves end with."""

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
FORAGING = "Foraging-2s-8x8-2p-2f-coop-v3"
STUDENT = 2.776
"""The 97.5 % quantile of Student's t for five values."""


def read(path):
    """The content of a JSON file of the docs."""
    return json.loads((DOCS / path).read_text(encoding="utf-8"))


def page(path):
    """The text of a page."""
    return (DOCS / path).read_text(encoding="utf-8")


def span(values, digits):
    """The mean, and the lowest and the highest value."""
    return "{:.{d}f} ({:.{d}f} to {:.{d}f})".format(np.mean(values), np.min(values), np.max(values), d=digits)


def test_benchmarl():
    """Each algorithm has five trainings on each world; a cell of the page has their mean and Student's interval."""
    figures, text = read("benchmarl/figures.json"), page("how_to/benchmarl.md")
    assert set(figures) == {"random-9x7-2", "maze-9x7-2", "warehouse-9x7-2", "corridor"}
    for name, by_algorithm in figures.items():
        cells = []
        for algorithm in ("ippo", "mappo", "qmix", "vdn"):
            last = np.array([by_algorithm[algorithm][str(seed)]["csr"][-1] for seed in range(5)])
            mean, half = last.mean(), STUDENT * last.std(ddof=1) / 5**0.5
            low, high = (100 * np.clip(end, 0, 1) for end in (mean - half, mean + half))
            cells.append(f"{100 * mean:.0f} %" + f" ({low:.0f} to {high:.0f})" * bool(low < high))
        assert f"| {name} | {' | '.join(cells)} |\n" in text


def test_foraging():
    """A cell has the mean over five seeds of the last whole point; trainings differ in seed and memory alone."""
    text, flags = page("games/foraging.md"), []
    for arm, ends in (("recurrent", [1_966_080]), ("feed-forward", [1_966_080, 3_932_160, 7_864_320])):
        runs = [read(f"games/curves/{FORAGING}-{arm}-{seed}.json") for seed in range(5)]
        flags += [run["flags"] | {"seed": 0, "feed_forward": False} for run in runs]
        given = [(run["flags"]["seed"], run["flags"]["feed_forward"]) for run in runs]
        assert given == [(seed, arm == "feed-forward") for seed in range(5)]
        for end in ends:
            assert f"| {span([dict(run['curve'])[end] for run in runs], 2)} |" in text
    assert all(one == flags[0] for one in flags)


def test_minigrid():
    """A row has a task, the numbers of agents and of seeds, and the means after two numbers of steps."""
    text, runs = page("games/minigrid.md"), read("games/curves/minigrid.json")["runs"]
    for task, agents in (("Empty-8x8", 1), ("Empty-8x8", 2), ("DoorKey-8x8", 1), ("DoorKey-8x8", 2)):
        curves = [one["returns"] for one in runs if (one["task"], one["agents"]) == (task, agents)]
        cells = [task, agents, len(curves)]
        for steps in (200_000, 800_000):
            found = [next((value for at, value in curve if at >= 0.98 * steps), np.nan) for curve in curves]
            cells.append("not run" if np.isnan(found).any() else span(found, 2))
        assert f"| {' | '.join(map(str, cells))} |" in text


def test_overcooked():
    """A row has the mean over seeds of the last evaluation."""
    text = page("games/overcooked.md")
    for layout, (_, *seeds) in ((name, curve.values()) for name, curve in read("games/curves/overcooked.json").items()):
        assert f"| `{layout}` | {len(seeds)} | {span([one[-1] for one in seeds], 0)} |" in text
