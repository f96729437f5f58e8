"""Draw docs/central: `python docs/central/make_curve.py`, a minute or two on one core.

The learning curves of QMIX and of its rivals in `examples.qmix`, with equal nets, rewards, worlds and steps,
go to curve.svg and, as numbers, to curve.json; give_way.svg is the map, and how it is solved. `--grid` tries other
settings of independent learning instead, as long, and writes grid.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import multigrid
from examples.qmix import MAP, main
from multigrid import Action
from multigrid._files import replace_file
from multigrid.cli._figures import write_figure
from multigrid.scenarios import RecordEpisode

FOLDER = Path(__file__).parent
LEARNERS = 6
RUNS = {
    "QMIX: the state in training": {"method": "qmix"},
    "VDN: a sum, without the state": {"method": "vdn"},
    "independent, 1-step targets": {"method": "iql", "n_step": 1},
    "independent, 3-step targets": {"method": "iql", "n_step": 3},
    "independent, 10-step targets": {"method": "iql", "n_step": 10},
}


GRID = [
    {"method": "iql", "n_step": n_step, "learning_rate": rate, "gamma": gamma}
    for n_step in (1, 10)
    for rate in (1e-3, 1e-2)
    for gamma in (0.9, 0.97)
]
# On screen y grows downwards: Action.DOWN leads into the lay-by.
GIVING_WAY = (Action.DOWN, Action.RIGHT, Action.RIGHT, Action.UP, Action.RIGHT)


def draw_map(path: Path) -> None:
    """Play the solution of five steps, and write it as an animated SVG."""
    env = RecordEpisode(multigrid.parallel_env(walls=MAP, reward="shared"))
    env.reset(seed=0)
    for action in GIVING_WAY:
        env.step({"agent_0": action, "agent_1": Action.RIGHT})
    multigrid.show_episode(env).save_svg(path)


def grid(path: Path, **settings: int) -> None:
    """Train three independent learners with each setting of the grid, and write how many give way in the end."""
    found = []
    for run in GRID:
        result = main(**({"learners": 3, "checks": 1} | run | settings))
        found.append(run | {"learners": 3, "solved": int(result["after"].sum())})
        with replace_file(path) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")


def curves(folder: Path, **settings: int) -> dict[str, dict[str, list[float]]]:
    """Train all, and write curve.json after each: steps, and the success of each learner at each of them."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, run in RUNS.items():
        result = main(**({"learners": LEARNERS, "checks": 15} | run | settings))
        found[name] = {"steps": result["steps"].tolist(), "success": result["success"].tolist()}
        with replace_file(folder / "curve.json") as temporary:
            temporary.write_text(json.dumps(found) + "\n")
    return found


def figure(found: dict[str, dict[str, list[float]]]) -> Figure:
    """Draw the mean over learners, and a band of one standard error around it."""
    drawn = Figure(figsize=(7.5, 4), layout="constrained")
    axes = drawn.subplots()
    for (name, curve), dashes in zip(found.items(), ("-", "--", "-.", ":", (0, (5, 1))), strict=False):
        success = np.array(curve["success"])
        mean, error = success.mean(1), success.std(1, ddof=1) / success.shape[1] ** 0.5
        label = f"{name} ({success[-1].sum():.0f} of {success.shape[1]} in the end)"
        (line,) = axes.plot(curve["steps"], mean, label=label, linestyle=dashes)
        band = np.clip(mean - error, 0, 1), np.clip(mean + error, 0, 1)
        axes.fill_between(curve["steps"], *band, color=line.get_color(), alpha=0.2, linewidth=0)
    learners = np.array(next(iter(found.values()))["success"]).shape[1]
    axes.set(xlabel="steps of each of 32 worlds", ylabel="greedy play: both arrive", ylim=(-0.03, 1.03))
    axes.set_title(f"Who gives way? Mean and standard error of {learners} learners each", loc="left")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.04), fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw docs/central.")
    parser.add_argument("--output", type=Path, default=FOLDER)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--grid", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.grid:
        grid(options.output / "grid.json", steps=options.steps)
    else:
        draw_map(options.output / "give_way.svg")
        write_figure(options.output / "curve.svg", figure(curves(options.output, steps=options.steps)))
