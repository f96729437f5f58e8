"""Draw docs/games/minigrid_curve.svg, the returns of trainings that docs/games/curves/minigrid.json has.

Run: python docs/make_curves.py
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

GAMES = Path(__file__).parent / "games"
COLOURS = {("Empty-8x8", 1): "#56b4e9", ("Empty-8x8", 2): "#0072b2", ("DoorKey-8x8", 1): "#e69f00"}
COLOURS[("DoorKey-8x8", 2)] = "#d55e00"


def main() -> None:
    """Draw the mean over the seeds of each task and number of agents, and the range between the lowest and highest."""
    runs = json.loads((GAMES / "curves" / "minigrid.json").read_text(encoding="utf-8"))["runs"]
    mpl.rcParams["svg.hashsalt"], mpl.rcParams["svg.fonttype"] = "minigrid", "none"
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.add_subplot()
    for (task, agents), colour in COLOURS.items():
        curves = [one["returns"] for one in runs if (one["task"], one["agents"]) == (task, agents)]
        length = min(map(len, curves))
        points = np.array([curve[:length] for curve in curves])
        steps, returns = points[0, :, 0] / 1e6, points[..., 1]
        axes.fill_between(steps, returns.min(axis=0), returns.max(axis=0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(steps, returns.mean(axis=0), color=colour, label=f"{task}, {agents} agent{'s' * (agents > 1)}")
    axes.set(xlabel="million steps of all agents", ylabel="return", ylim=(0, 1))
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(GAMES / "minigrid_curve.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
