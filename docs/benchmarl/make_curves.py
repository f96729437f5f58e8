"""Train for docs/benchmarl: `python docs/benchmarl/make_curves.py`; `--draw` then draws the curves.

The training needs the environment of .ci/recipes/benchmarl.txt, the drawing matplotlib.

IPPO, MAPPO, QMIX and VDN of BenchMARL train on the corridor of docs/central and on three maps of the suite, five seeds
each, with the settings of `examples.benchmarl_mappo` and an entropy bonus. In the corridor agents observe
their surroundings, too. figures.json has the success of every evaluation and is written after each training; the same
command goes on with those that are missing, in 40 minutes of one core in all. curves.svg and table.md have means over
the seeds and 95 % intervals by Student's t, of the worlds that all algorithms have trained on with two seeds at least.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from examples.qmix import MAP
from multigrid import GridConfig
from multigrid._files import replace_file
from multigrid.scenarios import find_world

FOLDER = Path(__file__).parent
ALGORITHMS = ("ippo", "mappo", "qmix", "vdn")
SEEDS = range(5)
FRAMES, FRAMES_OF_CORRIDOR = 65536, 196_608
EPISODES = 200
ENTROPY = 0.02
"""The weight of the entropy bonus of IPPO and MAPPO; BenchMARL's default is 0."""
# By number of seeds: the 97.5 % quantile of Student's t with one degree of freedom less.
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}

MAPS = ("random-9x7-2", "maze-9x7-2", "warehouse-9x7-2")
SETTINGS: dict[str, Any] = {
    "on_target": "leave",
    "reward": "shared",
    "observe": ("agent", "target", "offset", "view", "others"),
    "allow_stay": False,
    "max_cycles": 48,
}


def make_worlds() -> dict[str, GridConfig]:
    """Return the worlds by name: two agents each."""
    observe = ("agent", "target", "view")
    corridor = GridConfig(walls=MAP, reward="shared", observe=observe, allow_stay=True, max_cycles=30)
    return {name: dataclasses.replace(find_world(name), **SETTINGS) for name in MAPS} | {"corridor": corridor}


def train(name: str, config: GridConfig, algorithm: str, seed: int) -> dict[str, Any]:
    """Train once; return the steps, and csr and isr on the held-out episodes at each of them."""
    import torch
    from benchmarl.experiment import Experiment
    from benchmarl.models.mlp import MlpConfig

    from examples import benchmarl_mappo
    from multigrid.integrations.benchmarl import LogMetrics, MultiGridTask

    torch.set_num_threads(1)
    model, log = MlpConfig.get_from_yaml(), LogMetrics()
    model.num_cells = [64, 64]
    frames = FRAMES_OF_CORRIDOR if name == "corridor" else FRAMES
    learner = benchmarl_mappo.ALGORITHMS[algorithm].get_from_yaml()
    if hasattr(learner, "entropy_coef"):
        learner.entropy_coef = ENTROPY
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        settings = benchmarl_mappo.experiment_config(algorithm, frames, folder, EPISODES)
        experiment = Experiment(MultiGridTask(name, config), learner, model, seed, settings, callbacks=[log])
        experiment.evaluate()
        experiment.run()
    history = {key: [round(row[key], 4) for row in log.history] for key in ("frames", "csr", "isr")}
    return history | {"cpu_seconds": round(time.process_time() - start, 1)}


def train_all(file: Path) -> None:
    """Train what is missing in figures.json, seed by seed, so that all curves grow together."""
    for seed in SEEDS:
        for name, config in make_worlds().items():
            for algorithm in ALGORITHMS:
                figures = read(file)
                if str(seed) in figures.get(name, {}).get(algorithm, {}):
                    continue
                row = train(name, config, algorithm, seed)
                figures.setdefault(name, {}).setdefault(algorithm, {})[str(seed)] = row
                with replace_file(file) as temporary:
                    temporary.write_text(json.dumps(figures, indent=1) + "\n")


def read(file: Path) -> dict[str, Any]:
    """Return the figures so far: {world: {algorithm: {seed: {"frames", "csr", "isr": lists}}}}."""
    figures: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return figures


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means over the seeds, (seeds, K) to (K,), and the ends of their 95 % intervals."""
    mean = values.mean(0)
    half = STUDENT[len(values)] * values.std(0, ddof=1) / len(values) ** 0.5
    return mean, np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)


def table(figures: dict[str, Any]) -> str:
    """Return the success after training as a table in Markdown."""
    lines = ["| | " + " | ".join(name.upper() for name in ALGORITHMS) + " |", "|---" * (1 + len(ALGORITHMS)) + "|"]
    for name, by_algorithm in figures.items():
        cells = []
        for algorithm in ALGORITHMS:
            last = np.array([[row["csr"][-1]] for row in by_algorithm[algorithm].values()])
            mean, low, high = (100 * float(value[0]) for value in interval(last))
            # Seeds that agree say nothing of how much other seeds would differ.
            cells.append(f"{mean:.0f} %" if low == high else f"{mean:.0f} % ({low:.0f} to {high:.0f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(figures: dict[str, Any]) -> Any:
    """Return a matplotlib figure with a panel for each world: means over the seeds, and bands of their intervals."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(10, 6.4), layout="constrained")
    panels = drawn.subplots(2, 2, sharey=True)
    for axes, (name, by_algorithm) in zip(panels.flat, figures.items(), strict=False):
        for algorithm, dashes in zip(ALGORITHMS, ("-", "--", "-.", ":"), strict=True):
            rows = list(by_algorithm[algorithm].values())
            frames = np.array(rows[0]["frames"]) / 1000
            mean, low, high = interval(np.array([row["csr"] for row in rows]))
            (line,) = axes.plot(frames, mean, label=algorithm.upper(), linestyle=dashes)
            axes.fill_between(frames, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.set_title(name, loc="left")
        axes.set_ylim(-0.03, 1.03)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("episodes in which all arrive")
    for axes in panels.flat:
        axes.set_xlabel("thousand steps of the worlds")
    panels[0, 0].legend(frameon=False)
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw docs/benchmarl.")
    parser.add_argument("--output", type=Path, default=FOLDER)
    parser.add_argument("--draw", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    figures_file = options.output / "figures.json"
    if options.draw:
        figures = {
            name: rows
            for name, rows in read(figures_file).items()
            if len(rows) == len(ALGORITHMS) and min(map(len, rows.values())) > 1
        }
        with replace_file(options.output / "table.md") as temporary:
            temporary.write_text(table(figures))
        from multigrid.cli._figures import write_figure

        write_figure(options.output / "curves.svg", draw(figures))
    else:
        train_all(figures_file)
