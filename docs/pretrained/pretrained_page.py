"""The tables figures.md, from figures.json, and the figure training.svg, from the progress of the training runs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from multigrid.evaluation._estimates import wilson
from multigrid.rendering._palette import colours

__all__ = ["draw_training", "make_tables", "read_runs"]

_Runs: TypeAlias = Mapping[str, Sequence[Mapping[str, str]]]
"""The rows of each progress.csv, by name."""

_COLUMNS = {"pretrained-shield": "shield", "pretrained-messages": "messages", "pretrained": "alone", "pibt": "PIBT"}
_ACTING_HEAD = """\
## Ways to act

The scores of actions are divided by the temperature, and become probabilities. The one-shot columns have the CSR; \
then the mean cost of an agent, {steps} if it never arrives. The lifelong columns have the throughput.
"""
_HEAD = """\
# The pretrained policy on held-out layouts

The three forms of [the pretrained policy](../pretrained.md) and the planner PIBT, on the same layouts. **CSR**: the \
percentage of solved episodes. **Gap**: by how many percent the sum of costs is above a lower bound, proven in 0.2 s \
for each layout, on average over the episodes that the column's policy solves; compare the CSR, too. The benchmark's \
bounds are of longer searches. **Throughput**: arrivals per step. \
[figures.json](figures.json) has the 95 % intervals: Wilson's for the CSR, else bootstrap, or none where all values \
are equal. With {episodes} episodes, that of the CSR is {half} at 50, and {full} at 100.
"""
_SUITE_HEAD = """\
CSR: {csr}. With {episodes} episodes of each scenario, the interval of 100 is {full}. The table has the means of the \
gaps over the scenarios of a kind:
"""
_METHOD = """\
## How it was measured

`python docs/pretrained/measure_pretrained.py` plays {episodes} episodes of {steps} steps on 25 held-out maps for each \
row, under "soft" collisions, with `on_target` "stay" or, lifelong, "restart". Of each scenario of the suite with \
"stay", it plays {suite} episodes, with the scenario's own rules and start.
"""
_EPISODES, _SUITE_EPISODES, _STEPS = 100, 10, 128


def read_runs(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of the progress of each training run."""
    runs = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as lines:
            runs[file.stem.replace("-", " ")] = list(csv.DictReader(lines))
    return runs


def make_tables(content: Mapping[str, Any]) -> str:
    """Return figures.md."""
    cells = content["cells"]
    many = {
        "episodes": _EPISODES,
        "half": _interval(_EPISODES // 2, _EPISODES),
        "full": _interval(_EPISODES, _EPISODES),
    }
    parts = [_HEAD.format(**many)]
    suite = [one for one in cells if one["suite"]]
    for title, chosen, names in (
        ("Held-out maps of the generators", [one for one in cells if not one["suite"]], ("csr", "gap")),
        ("Lifelong, held-out maps of the generators", [one for one in cells if not one["suite"]], ("throughput",)),
        ("The suite", suite, ("gap",)),
    ):
        measured = [one for one in chosen if names[0] in one["policies"]["pretrained"]]
        lines = [_say_suite(suite), *_tabulate_suite(suite)] if chosen is suite else _table(measured, names)
        parts += [f"## {title}", "", *lines, ""]
    parts += [
        _ACTING_HEAD.format(steps=_STEPS),
        *_tabulate_acting(content["acting"]),
        "",
    ]
    parts += [_METHOD.format(episodes=_EPISODES, steps=_STEPS, suite=_SUITE_EPISODES)]
    return "\n".join(parts)


def _interval(solved: int, episodes: int) -> str:
    """Return Wilson's interval of a percentage."""
    _, low, high = wilson(np.repeat([1.0, 0.0], [solved, episodes - solved]))
    return f"[{100 * low:.0f}, {100 * high:.0f}]"


def _say_suite(suite: Sequence[Mapping[str, Any]]) -> str:
    """Say in which scenarios whose CSR is below 100."""
    lower = [
        f"{_show(one['policies'][policy]['csr'], 'csr')} for {label} in {one['map']}"
        for one in suite
        for policy, label in _COLUMNS.items()
        if one["policies"][policy]["csr"][0] < 1
    ]
    csr = f"{', '.join(lower)}; all others 100" if lower else "100 everywhere"
    return _SUITE_HEAD.format(episodes=_SUITE_EPISODES, csr=csr, full=_interval(_SUITE_EPISODES, _SUITE_EPISODES))


def _tabulate_suite(suite: Sequence[Mapping[str, Any]]) -> list[str]:
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for one in suite:
        kinds.setdefault(one["map"].partition("-")[0], []).append(one["policies"])
    lines = [["map", "scenarios", *_COLUMNS.values()], ["---", *["---:"] * (1 + len(_COLUMNS))]]
    for kind, found in kinds.items():
        means = [float(np.mean([one[policy]["gap"][0] for one in found])) for policy in _COLUMNS]
        lines.append([kind, str(len(found)), *(_show([mean], "gap") for mean in means)])
    return [f"| {' | '.join(line)} |" for line in lines]


def _tabulate_acting(acting: Sequence[Mapping[str, Any]]) -> list[str]:
    titles = [f"{one['map']}, {one['agents']} agents{', lifelong' * (one['on_target'] == 'restart')}" for one in acting]
    lines = [["temperature", *titles], ["---", *["---:"] * len(titles)]]
    for name in acting[0]["policies"]:
        cells = []
        for one in acting:
            figures = one["policies"][name]
            if one["on_target"] == "restart":
                cells.append(_show(figures["throughput"], "throughput"))
            else:
                cells.append(f"{_show(figures['csr'], 'csr')}; {figures['sum_of_costs'][0] / one['agents']:.1f}")
        lines.append([name, *cells])
    return [f"| {' | '.join(line)} |" for line in lines]


def _table(cells: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    head = [
        "map",
        "agents",
        *(f"{name.replace('csr', 'CSR')}, {label}" for name in names for label in _COLUMNS.values()),
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for cell in cells:
        figures = [_show(cell["policies"][policy][name], name) for name in names for policy in _COLUMNS]
        lines.append([cell["map"], str(cell["agents"]), *figures])
    return [f"| {' | '.join(line)} |" for line in lines]


def _show(estimate: Sequence[float | None], name: str) -> str:
    mean = estimate[0]
    if mean is None:
        return ""
    factor, digits = (1, 2) if name == "throughput" else (100, 0 if name == "csr" else 1)
    return f"{factor * mean:.{digits}f}"


def draw_training(runs: _Runs) -> Figure:
    """Draw what was solved over the rounds of each training run."""
    shown = {"mazes-24": "mazes, 24 agents: solved", "random-48-lifelong": "random, 48 agents: arrivals a step"}
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    for axes, (name, title) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        for (run, rows), colour in zip(runs.items(), colours(len(runs)), strict=True):
            measured = [row for row in rows if row[name]]
            rounds = [int(row["round"]) for row in measured]
            for suffix, dashes in (("-shield", "-"), ("", "--")):
                values = [float(row[name + suffix]) for row in measured]
                label = "_" if suffix else run
                axes.plot(rounds, values, dashes, color=[part / 255 for part in colour], linewidth=1.2, label=label)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("rounds (solid: with a shield, dashed: alone)", fontsize=9.5)
        axes.set_ylim(0, None)
        axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5, length=2.5)
    figure.axes[-1].legend(frameon=False, fontsize=8.5)
    return figure
