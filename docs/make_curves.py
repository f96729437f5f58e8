"""Draw the returns of trainings that docs/games/curves has: ``python docs/make_curves.py``.

Each line is the mean over the seeds of a group, in the range between the lowest and the highest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from multigrid._palette import colours, hexadecimal
from multigrid.cli._figures import write_figure

GAMES = Path(__file__).parent / "games"
MEMORY = "Foraging-2s-8x8-2p-2f-coop-v3"


def read(name: str) -> Any:
    """Return the content of a file in docs/games/curves."""
    return json.loads((GAMES / "curves" / f"{name}.json").read_text(encoding="utf-8"))


def read_minigrid() -> dict[str, list[Any]]:
    """Return the curves of each task and number of agents: pairs of steps and a return."""
    found: dict[str, list[Any]] = {}
    for run in read("minigrid")["runs"]:
        label = f"{run['task']}, {run['agents']} agent{'s' * (run['agents'] > 1)}"
        found.setdefault(label, []).append(run["returns"])
    return found


def read_overcooked() -> dict[str, list[Any]]:
    """Return the curves of each layout."""
    by_layout = {layout: list(curve.values()) for layout, curve in read("overcooked").items()}
    return {
        layout: [list(zip(steps, one, strict=True)) for one in seeds] for layout, (steps, *seeds) in by_layout.items()
    }


def read_memory() -> dict[str, list[Any]]:
    """Return the curves of agents with a memory and without."""
    arms = {"with a memory": "recurrent", "without": "feed-forward"}
    return {label: [read(f"{MEMORY}-{arm}-{seed}")["curve"] for seed in range(5)] for label, arm in arms.items()}


def draw_curves(groups: dict[str, list[Any]], measured: str) -> Figure:
    """Return a figure with a line for each group, as far as all of its curves go."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    for (label, curves), colour in zip(groups.items(), colours(len(groups)), strict=True):
        points = np.array([curve[: min(map(len, curves))] for curve in curves])
        steps, values, shade = points[0, :, 0] / 1e6, points[..., 1], hexadecimal(colour)
        axes.fill_between(steps, values.min(axis=0), values.max(axis=0), color=shade, alpha=0.2, linewidth=0)
        axes.plot(steps, values.mean(axis=0), color=shade, label=label)
    axes.set(xlabel="million steps of all agents", ylabel=measured, ylim=(0, None))
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return figure


def main() -> None:
    """Draw the figures."""
    write_figure(GAMES / "minigrid_curve.svg", draw_curves(read_minigrid(), "return"))
    write_figure(GAMES / "overcooked_curve.svg", draw_curves(read_overcooked(), "score of an episode"))
    write_figure(GAMES / "foraging_memory.svg", draw_curves(read_memory(), "return"))


if __name__ == "__main__":
    main()
