"""Measure the pretrained policy on held-out layouts: `python docs/pretrained/measure_pretrained.py`.

Plays worlds of the generators, whose maps no training has, and the scenarios of the suite; PIBT plays the same layouts.
Writes to docs/pretrained: figures.json has all figures, figures.md the tables, training.svg the curve of the training
runs, whose progress.csv files are in docs/pretrained/training. A world that figures.json has is not played again, so
that an interrupted command goes on; delete the file to measure everything anew. `--redraw` plays nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pretrained_page import draw_training, make_parts, read_runs

import multigrid
from benchmarks.page_parts import fill_page
from multigrid import scenarios
from multigrid.cli._figures import write_figure
from multigrid.cli._files import write_json
from multigrid.cli._models import make_policy_factory
from multigrid.config import GridConfig, OnTarget
from multigrid.evaluation._estimates import LowerBounds
from multigrid.evaluation._results import Evaluation
from multigrid.maps import WallComponents, generate, maze, random_map, rooms, warehouse
from multigrid.policies import _learned
from tools.pretraining.worlds import make_world

FOLDER = Path(__file__).parent
POLICIES = ("pretrained-shield", "pretrained-messages", "pretrained", "pibt")
"""Those that play."""
MAP_SEED = 1_999_000_000
"""Of the held-out maps; those of trainings come from seeds of two numbers."""
_NUM_MAPS, _EPISODES, _SUITE_EPISODES, _SECONDS = 25, 100, 10, 0.2
_ONE_SHOT, _LIFELONG = ("csr", "gap"), ("throughput",)
_MAPS: dict[str, Callable[[np.random.Generator], NDArray[np.bool_]]] = {
    "random, 19 x 19": lambda generator: random_map(19, 19, 0.2, generator),
    "random, 31 x 27": lambda generator: random_map(31, 27, 0.25, generator),
    "maze, 19 x 19": lambda generator: maze(19, 19, generator, 0.25),
    "grown maze, 19 x 19": lambda generator: generate(WallComponents((19, 19)), int(generator.integers(2**31))),
    "rooms, 21 x 17": lambda generator: rooms(21, 17, 4, generator),
    "warehouse, 33 x 25": lambda generator: warehouse(33, 25, seed=generator),
    "small, 6 x 5": lambda generator: random_map(6, 5, 0.3, generator),
}
_WORLDS: tuple[tuple[str, int, OnTarget], ...] = (
    *(("random, 19 x 19", agents, "stay") for agents in (8, 24, 48)),
    ("random, 31 x 27", 64, "stay"),
    *(("maze, 19 x 19", agents, "stay") for agents in (8, 24)),
    *(("grown maze, 19 x 19", agents, "stay") for agents in (32, 48, 64)),
    ("rooms, 21 x 17", 16, "stay"),
    ("warehouse, 33 x 25", 64, "stay"),
    ("small, 6 x 5", 4, "stay"),
    ("random, 19 x 19", 48, "restart"),
    ("maze, 19 x 19", 24, "restart"),
    ("warehouse, 33 x 25", 64, "restart"),
)


def make_held_out(kind: str, num_agents: int, on_target: OnTarget) -> GridConfig:
    """Return a world with held-out maps; episodes have 128 steps.

    >>> make_held_out("small, 6 x 5", 4, "stay").size
    (6, 5)
    """
    generator = np.random.default_rng(MAP_SEED)
    return make_world(np.stack([_MAPS[kind](generator) for _ in range(_NUM_MAPS)]), num_agents, on_target)


def list_cells() -> Iterator[tuple[str, int, OnTarget, GridConfig | str]]:
    """Yield the rows of the tables: map, number of agents, rule, and a world or the scenario's name."""
    for kind, num_agents, on_target in _WORLDS:
        yield kind, num_agents, on_target, make_held_out(kind, num_agents, on_target)
    for name in scenarios.names():
        config = scenarios.get(name).config
        if config.allow_stay and config.on_target == "stay":
            yield name.rpartition("-")[0], config.num_agents, "stay", name


def measure(cell: GridConfig | str) -> dict[str, Any]:
    """Return the estimates of each policy's metrics in a world, or a scenario."""
    world = scenarios.get(cell).config if isinstance(cell, str) else cell
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
    own = {
        name: hashlib.sha256(part).hexdigest()
        for name, part in (("weights", _learned.FILE.read_bytes()), ("command", Path(__file__).read_text().encode()))
    }
    content = json.loads(file.read_text()) if file.exists() else {**own, "cells": []}
    if differing := [name for name in own if content[name] != own[name]]:
        raise SystemExit(f"{file} is of another version of the {' and the '.join(differing)}: delete it")
    known = {tuple(cell[name] for name in ("map", "agents", "on_target")) for cell in content["cells"]}
    for kind, num_agents, on_target, cell in list_cells():
        if (kind, num_agents, on_target) not in known:
            one = {"map": kind, "agents": num_agents, "on_target": on_target, "suite": isinstance(cell, str)}
            content["cells"].append({**one, "policies": measure(cell)})
            write_json(file, content)
            sys.stderr.write(f"{kind}, {num_agents} agents, {on_target}\n")
    return content


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the files."""
    parser = argparse.ArgumentParser(description="Measure the pretrained policy on held-out layouts.")
    parser.add_argument("--redraw", action="store_true", help="play nothing")
    file = FOLDER / "figures.json"
    content = json.loads(file.read_text()) if parser.parse_args(arguments).redraw else gather(file)
    fill_page(FOLDER / "figures.md", make_parts(content))
    write_figure(FOLDER / "training.svg", draw_training(read_runs(FOLDER / "training")))


if __name__ == "__main__":
    main()
