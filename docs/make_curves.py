"""Draw the curves of trainings: ``python docs/make_curves.py overcooked``, from docs/games/curves/overcooked.json.

With folders of runs of ``multigrid train``, LAYOUT-SEED, the file is first written from them.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from multigrid.cli._figures import write_figure

GAMES = Path(__file__).parent / "games"


def main() -> None:
    """Read runs if there are some, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="of the file in docs/games/curves, and of the picture")
    parser.add_argument("runs", nargs="*", type=Path, help="folders of runs")
    options = parser.parse_args()
    path = GAMES / "curves" / f"{options.name}.json"
    if options.runs:
        path.write_text(json.dumps(read_runs(options.runs), indent=None) + "\n", encoding="utf-8")
    write_figure(GAMES / f"{options.name}_curve.svg", draw_curves(json.loads(path.read_text(encoding="utf-8"))))


def read_runs(runs: list[Path]) -> dict[str, dict[str, Any]]:
    """Return by task and seed the score of each evaluation, and by task the steps until then."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for run in sorted(runs):
        task, _, seed = run.name.rpartition("-")
        during = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))["during"]
        found[task]["steps"] = [one["steps"] for one in during]
        found[task][seed] = [round(one["score"], 2) for one in during]
    return found


def draw_curves(curves: dict[str, dict[str, Any]]) -> Figure:
    """Return a figure with a line for each task, the mean over seeds, and the range of the seeds."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    for task, (steps, *seeds) in ((task, one.values()) for task, one in curves.items()):
        (line,) = axes.plot(steps, np.mean(seeds, axis=0), linewidth=1.8, label=task)
        axes.fill_between(steps, np.min(seeds, axis=0), np.max(seeds, axis=0), color=line.get_color(), alpha=0.18, lw=0)
    axes.set(xlabel="steps of both agents together", ylabel="score of an episode", ylim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _position: f"{value / 1e6:g}M" if value else "0")
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    main()
