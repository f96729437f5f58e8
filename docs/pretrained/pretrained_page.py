"""The tables of figures.md, and the figure training.svg, from the progress of the training runs.

The tables are from figures.json and, of many agents, from scale.csv, which has the policy's episodes, and scale.json,
which has statistics of published rows.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from multigrid._palette import colours

_Runs: TypeAlias = Mapping[str, Sequence[Mapping[str, str]]]
"""The rows of each progress.csv, by name."""

SCALE = Path(__file__).parent / "scale.csv", Path(__file__).parent / "scale.json"
"""The episodes with many agents, and the geometric means of others' sums of costs on the same scenarios of each map."""

_FORMS = {"shield": "with a shield", "messages": "with messages"}
_COLUMNS = {"pretrained-shield": "shield", "pretrained-messages": "messages", "pretrained": "alone", "pibt": "PIBT"}


def read_runs(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of the progress of each training run."""
    runs = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as lines:
            runs[file.stem.replace("-", " ")] = list(csv.DictReader(lines))
    return runs


def make_parts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of figures.md by their names."""
    worlds = [one for one in content["cells"] if not one["suite"]]
    once = [one for one in worlds if "csr" in one["policies"]["pretrained"]]
    lifelong = [one for one in worlds if "throughput" in one["policies"]["pretrained"]]
    return {
        "once": _table(once, ("csr", "gap")),
        "lifelong": _table(lifelong, ("throughput",)),
        "suite": _tabulate_suite([one for one in content["cells"] if one["suite"]]),
        "scale": tabulate_scale(*SCALE),
    }


def tabulate_scale(episodes: Path, published: Path) -> str:
    """Return the table of maps with many agents: what is solved, and the costs divided by each published algorithm's.

    A form of the policy without episodes on a map has no line.

    Args:
        episodes: of the form of scale.csv.
        published: of the form of scale.json.
    """
    with episodes.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    maps = json.loads(published.read_text(encoding="utf-8"))["maps"]
    others = list(next(iter(maps.values()))["costs"])
    head = ["map", "agents", "the policy", "solved", *(f"costs to {name}" for name in others)]
    lines_of_table = [head, ["---", "---:", "---", *["---:"] * (len(head) - 3)]]
    for name, one in maps.items():
        for form, title in _FORMS.items():
            own = [row for row in rows if (row["scenario"].rpartition("-random-")[0], row["form"]) == (name, form)]
            if not own:
                continue
            solved = [int(row["sum_of_costs"]) for row in own if row["solved"] == "1"]
            line = [name, f"{one['agents']:,}", title, f"{len(solved)} of {len(own)}"]
            # The others solve all scenarios; the ratio of costs is of all of them, too.
            is_whole = len(solved) == len(own) == one["scenarios"]
            mean = statistics.geometric_mean(solved) if is_whole else 0.0
            line += [f"{mean / one['costs'][other]:.2f}" if is_whole else "" for other in others]
            lines_of_table.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines_of_table)


def _tabulate_suite(suite: Sequence[Mapping[str, Any]]) -> str:
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for one in suite:
        kinds.setdefault(one["map"].partition("-")[0], []).append(one["policies"])
    lines = [["map", "scenarios", *_COLUMNS.values()], ["---", *["---:"] * (1 + len(_COLUMNS))]]
    for kind, found in kinds.items():
        means = [float(np.mean([one[policy]["gap"][0] for one in found])) for policy in _COLUMNS]
        lines.append([kind, str(len(found)), *(_show([mean], "gap") for mean in means)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(cells: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    head = [
        "map",
        "agents",
        *(f"{name.replace('csr', 'CSR')}, {label}" for name in names for label in _COLUMNS.values()),
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for cell in cells:
        figures = [_show(cell["policies"][policy][name], name) for name in names for policy in _COLUMNS]
        lines.append([cell["map"], str(cell["agents"]), *figures])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
