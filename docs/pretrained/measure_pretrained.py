"""Measure the learned policy on held-out layouts: `python docs/pretrained/measure_pretrained.py`.

Plays worlds of the generators, whose maps no training has, and the scenarios of the suite; PIBT plays the same layouts.
Writes to docs/pretrained: figures.json has all figures, figures.md the tables, training.svg the curve of the training
runs, whose progress.csv files are in docs/pretrained/training. A world that figures.json has is not played again, so
that an interrupted command goes on; delete the file to measure everything anew. `--redraw` plays nothing.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import multigrid
from multigrid._files import replace_file
from multigrid.cli._figures import write_figure
from multigrid.cli._files import write_json
from multigrid.cli.rollout.policies import make_policy_factory
from multigrid.config import GridConfig, OnTarget
from multigrid.maps import maze, random_map, rooms, warehouse
from multigrid.policies import learned
from multigrid.policies.evaluation import Evaluation
from multigrid.policies.gaps import LowerBounds
from multigrid.rendering.palette import colours
from multigrid.scenarios import suite

FOLDER = Path(__file__).parent
POLICIES = {"pretrained-shield": "shielded", "pretrained": "alone", "pibt": "PIBT"}
"""What they are called by the command line, and what by the tables."""
MAP_SEED = 1_999_000_000
"""Of the held-out maps; those of trainings come from seeds of two numbers."""
_NUM_MAPS, _EPISODES, _SUITE_EPISODES, _SECONDS = 25, 100, 10, 0.2
_ONE_SHOT, _LIFELONG = ("csr", "gap"), ("throughput",)
_TITLES = {"csr": "CSR", "gap": "gap", "throughput": "throughput"}
_MAPS: dict[str, Callable[[np.random.Generator], NDArray[np.bool_]]] = {
    "random, 19 x 19": lambda generator: random_map(19, 19, 0.2, generator),
    "random, 31 x 27": lambda generator: random_map(31, 27, 0.25, generator),
    "maze, 19 x 19": lambda generator: maze(19, 19, generator, 0.25),
    "rooms, 21 x 17": lambda generator: rooms(21, 17, 4, generator),
    "warehouse, 33 x 25": lambda generator: warehouse(33, 25, seed=generator),
    "small, 6 x 5": lambda generator: random_map(6, 5, 0.3, generator),
}
_WORLDS: tuple[tuple[str, int, OnTarget], ...] = (
    *(("random, 19 x 19", agents, "stay") for agents in (8, 24, 48)),
    ("random, 31 x 27", 64, "stay"),
    *(("maze, 19 x 19", agents, "stay") for agents in (8, 24)),
    ("rooms, 21 x 17", 16, "stay"),
    ("warehouse, 33 x 25", 64, "stay"),
    ("small, 6 x 5", 4, "stay"),
    ("random, 19 x 19", 48, "restart"),
    ("maze, 19 x 19", 24, "restart"),
    ("warehouse, 33 x 25", 64, "restart"),
)


def make_world(kind: str, num_agents: int, on_target: OnTarget) -> GridConfig:
    """Return a world with held-out maps; episodes have 128 steps.

    >>> make_world("small, 6 x 5", 4, "stay").size
    (6, 5)
    """
    generator = np.random.default_rng(MAP_SEED)
    return GridConfig(
        walls=np.stack([_MAPS[kind](generator) for _ in range(_NUM_MAPS)]),
        num_agents=num_agents,
        collisions="soft",
        on_target=on_target,
        allow_stay=True,
        max_cycles=128,
        observe=("agent", "target"),
    )


def list_cells() -> Iterator[tuple[str, int, OnTarget, GridConfig | str]]:
    """Yield the rows of the tables: map, number of agents, rule, and a world or the scenario's name."""
    for kind, num_agents, on_target in _WORLDS:
        yield kind, num_agents, on_target, make_world(kind, num_agents, on_target)
    for name in suite.names():
        config = suite.get(name).config
        if config.allow_stay and config.on_target == "stay":
            yield name.rpartition("-")[0], config.num_agents, "stay", name


def measure(cell: GridConfig | str) -> dict[str, Any]:
    """Return the estimates of each policy's metrics in a world, or a scenario."""
    world = suite.get(cell).config if isinstance(cell, str) else cell
    names = _LIFELONG if world.on_target == "restart" else _ONE_SHOT
    bounds = LowerBounds(_SECONDS) if "gap" in names else None
    seeds = range(_SUITE_EPISODES if isinstance(cell, str) else _EPISODES)
    found = {}
    for policy in POLICIES:
        result = multigrid.evaluate(world, make_policy_factory(policy), seeds, per_episode=True, bounds=bounds)
        found[policy] = {name: _plain(result, name) for name in names}
    return found


def _plain(result: Evaluation, name: str) -> list[float | None]:
    return [None if np.isnan(value) else round(value, 4) for value in result[name]]


def gather(file: Path) -> dict[str, Any]:
    """Measure what the file lacks, and return its content; it is written after each world."""
    weights = hashlib.sha256(learned.FILE.read_bytes()).hexdigest()
    content = json.loads(file.read_text()) if file.exists() else {"weights": weights, "cells": []}
    if content["weights"] != weights:
        raise SystemExit(f"{file} is of other weights: delete it")
    known = {tuple(cell[name] for name in ("map", "agents", "on_target")) for cell in content["cells"]}
    for kind, num_agents, on_target, cell in list_cells():
        if (kind, num_agents, on_target) not in known:
            one = {"map": kind, "agents": num_agents, "on_target": on_target, "suite": isinstance(cell, str)}
            content["cells"].append({**one, "policies": measure(cell)})
            write_json(file, content)
            sys.stderr.write(f"{kind}, {num_agents} agents, {on_target}\n")
    return content


def make_tables(content: Mapping[str, Any]) -> str:
    """Return figures.md."""
    cells = content["cells"]
    parts = [_HEAD]
    for title, is_suite, names in (
        ("Held-out maps of the generators", False, _ONE_SHOT),
        ("Lifelong, held-out maps of the generators", False, _LIFELONG),
        ("The suite", True, _ONE_SHOT),
    ):
        chosen = [one for one in cells if one["suite"] == is_suite and names[0] in one["policies"]["pretrained"]]
        parts += [f"## {title}", "", *_table(chosen, names), ""]
    return "\n".join(parts)


def _table(cells: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    head = [
        "map",
        "agents",
        *(f"{name.replace('csr', 'CSR')}, {label}" for name in names for label in POLICIES.values()),
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for cell in cells:
        figures = [_show(cell["policies"][policy][name], name) for name in names for policy in POLICIES]
        lines.append([cell["map"], str(cell["agents"]), *figures])
    return [f"| {' | '.join(line)} |" for line in lines]


def _show(estimate: Sequence[float | None], name: str) -> str:
    mean, low, high = estimate
    if mean is None:
        return ""
    factor, digits = (1, 2) if name == "throughput" else (100, 0 if name == "csr" else 1)
    said = f"{factor * mean:.{digits}f}"
    return said if low is None or high is None else f"{said} [{factor * low:.{digits}f}, {factor * high:.{digits}f}]"


_HEAD = """\
# The learned policy on held-out layouts

Made by `python docs/pretrained/measure_pretrained.py`. "soft" collisions and 128 steps on the generators' maps, 100 \
episodes each; the suite's scenarios have its rules and steps, and 10 episodes each, between which only the policy's \
seed differs. **CSR**: the share of episodes that are solved, in percent, with Wilson's 95 % interval. **Gap**: by how \
many percent the sum of costs is above a proven bound, over the solved episodes, with a 95 % bootstrap interval. \
**Throughput**: arrivals a step.
"""


def draw_training(runs: Mapping[str, Sequence[Mapping[str, str]]]) -> Figure:
    """Draw what was solved over the minutes of each training run.

    Args:
        runs: the rows of each progress.csv, by name.
    """
    shown = {"mazes-24": "mazes, 24 agents: solved", "random-48-lifelong": "random, 48 agents: arrivals a step"}
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    for axes, (name, title) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        for (run, rows), colour in zip(runs.items(), colours(len(runs)), strict=True):
            measured = [row for row in rows if row[name]]
            minutes = [float(row["seconds"]) / 60 for row in measured]
            for suffix, dashes in (("-shield", "-"), ("", "--")):
                label = f"{run}, {'shielded' if suffix else 'alone'}"
                values = [float(row[name + suffix]) for row in measured]
                axes.plot(minutes, values, dashes, color=[part / 255 for part in colour], linewidth=1.4, label=label)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("minutes on two cores", fontsize=9.5)
        axes.set_ylim(0, None)
        axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5, length=2.5)
    figure.axes[-1].legend(frameon=False, fontsize=8.5)
    return figure


def read_runs() -> dict[str, list[dict[str, str]]]:
    """Return the rows of the progress of each training run."""
    runs = {}
    for file in sorted((FOLDER / "training").glob("*.csv")):
        with file.open(newline="") as lines:
            runs[file.stem.replace("-", " ")] = list(csv.DictReader(lines))
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the files."""
    parser = argparse.ArgumentParser(description="Measure the learned policy on held-out layouts.")
    parser.add_argument("--redraw", action="store_true", help="play nothing")
    file = FOLDER / "figures.json"
    content = json.loads(file.read_text()) if parser.parse_args(arguments).redraw else gather(file)
    with replace_file(FOLDER / "figures.md") as temporary:
        temporary.write_text(make_tables(content), encoding="utf-8")
    write_figure(FOLDER / "training.svg", draw_training(read_runs()))


if __name__ == "__main__":
    main()
