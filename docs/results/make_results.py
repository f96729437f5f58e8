"""Train, play held-out episodes, and write the table and the figure: `python docs/results/make_results.py`.

One network learns all cells of the table together: three maps with two, four and eight agents. Then it plays episodes
that it was not trained on, and random play and shortest paths play the very same layouts. Planners bound the smallest
sum of costs of each layout. Everything goes to docs/results: results.json has all figures, results.md the table,
results.svg the picture. The same command gives the same figures on the same machine with the same versions, apart from
the seconds.

`--quick` trains a single small cell for seconds, to see that all of it works. `--redraw` writes the table and the
picture anew from results.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from learner import Network, Sight, Training, num_seen, play_all, train
from page import POLICIES, picture, table

import multigrid
from multigrid._files import replace_file
from multigrid.cli._estimates import numbers_of
from multigrid.cli._figures import write_figure
from multigrid.cli._files import write_json
from multigrid.cli._models import make_policy_factory
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation._estimates import bootstrap, gap_of
from multigrid.evaluation._results import Evaluation
from multigrid.maps import random_map, warehouse
from multigrid.planning import Bounds, bounds

FOLDER = Path(__file__).parent
HELD_OUT = 1_000_000_000
"""The first seed of the held-out layouts, and of the held-out maps; those of training are far below."""
MAX_CYCLES = 64
MEASURES = ("csr", "isr", "sum_of_costs", "gap")
EXPANSIONS = 2_000
"""Of each search that bounds a layout. Expansions, and not seconds, so that the bounds are the same each time."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is trained and played."""

    maps: tuple[str, ...] = ("empty", "random", "warehouse")
    num_agents: tuple[int, ...] = (2, 4, 8)
    steps: int = 8_000_000
    """How many steps of agents each network is trained for, over all cells."""
    batch: int = 2048
    networks: int = 4
    """How many are trained, each with a seed of its own; held-out episode k is played by network k modulo these."""
    episodes: int = 200
    training_maps: int = 128
    held_out_maps: int = 200

    @property
    def cells(self) -> list[tuple[str, int]]:
        """Every map with every number of agents."""
        return [(name, count) for name in self.maps for count in self.num_agents]


QUICK = Plan(maps=("tiny",), num_agents=(2,), steps=40_000, batch=128, networks=2, episodes=10)

# Eight agents have the most to learn, and nothing is in the way on the empty map.
_ROWS = {2: 32, 4: 64, 8: 256}


def world(name: str, num_agents: int, plan: Plan, *, held_out: bool) -> GridConfig:
    """Return the world of a cell. Only the random maps differ between training and held-out episodes."""
    where: dict[str, Any]
    if name == "random":
        first, count = (HELD_OUT, plan.held_out_maps) if held_out else (0, plan.training_maps)
        where = {"walls": [random_map(11, 8, density=0.2, seed=first + index) for index in range(count)]}
    elif name == "warehouse":
        where = {"walls": warehouse(13, 9, shelf_length=3, shelf_height=1)}
    else:
        where = {"size": {"empty": (9, 7), "tiny": (5, 4)}[name]}
    return GridConfig(
        num_agents=num_agents,
        on_target="stay",
        allow_stay=True,
        max_cycles=MAX_CYCLES,
        observe=("view",),
        **where,
    )


def trained(plan: Plan, seed: int) -> tuple[dict[str, torch.Tensor], float]:
    """Return the weights of a network, and how many seconds of a processor its training took."""
    torch.set_num_threads(1)
    begun = time.process_time()
    configs = [world(*cell, plan, held_out=False) for cell in plan.cells]
    rows = [_ROWS[count] // (2 if name == "empty" else 1) for name, count in plan.cells]

    def report(done: float, reward: float) -> None:
        seconds = time.process_time() - begun
        sys.stderr.write(f"network {seed}: {done:.0%} after {seconds:.0f} s, {reward:.4f} reward a step\n")

    network = train(configs, rows, Training(plan.steps, seed, batch=plan.batch), report)
    return network.state_dict(), time.process_time() - begun


class Played(NamedTuple):
    """The held-out episodes of a cell."""

    policies: dict[str, Evaluation]
    """The metrics of each policy, with its gap."""
    least: list[float]
    """The sum of the shortest ways of each layout."""
    bounds: list[Bounds]
    """Of the smallest sum of costs of each layout."""
    seconds: tuple[float, float]
    """Of a processor: how long playing took, and how long the bounds."""


def played(plan: Plan, name: str, num_agents: int, weights: Sequence[Mapping[str, torch.Tensor]]) -> Played:
    """Play the held-out episodes of a cell, and bound their layouts."""
    torch.set_num_threads(1)
    begun = time.process_time()
    config = world(name, num_agents, plan, held_out=True)
    seeds = range(HELD_OUT, HELD_OUT + plan.episodes)
    episodes = {
        policy: list(multigrid.evaluate(config, make_policy_factory(policy), seeds, per_episode=True).episodes)
        for policy in ("random", "shortest-path")
    }
    episodes["trained"] = [{} for _ in seeds]
    for number, one in enumerate(weights):
        network = Network(num_seen(config), config.num_actions)
        network.load_state_dict(one)
        episodes["trained"][number :: len(weights)] = play_all(network, config, seeds[number :: len(weights)])
    least = least_costs(config, seeds)
    seconds = time.process_time() - begun
    found = bounded(config, seeds)
    both_seconds = seconds, time.process_time() - begun - seconds
    policies = {policy: Evaluation(config, seeds, _with_gaps(episodes[policy], found)) for policy in POLICIES}
    return Played(policies, least, found, both_seconds)


def _with_gaps(episodes: Sequence[Mapping[str, float]], found: Sequence[Bounds]) -> list[dict[str, float]]:
    return [{**one, "gap": gap_of(one, bound.lower)} for one, bound in zip(episodes, found, strict=True)]


def bounded(config: GridConfig, seeds: Sequence[int]) -> list[Bounds]:
    """Return the bounds of the smallest sum of costs of each layout; infinite where it has no solution in time."""
    env = MultiGridEnv(config)
    found = []
    for seed in seeds:
        env.reset(seed=seed)
        found.append(bounds(env, time_limit=None, max_expansions=EXPANSIONS))
    return found


def least_costs(config: GridConfig, seeds: Sequence[int]) -> list[float]:
    """Return, for each layout, the sum of the agents' shortest ways: no sum of costs is less."""
    envs = multigrid.vector_env(len(seeds), config)
    envs.reset(seed=list(seeds))
    return Sight(config).ways(envs.get_state()).sum(axis=1).astype(float).tolist()


def results(plan: Plan, jobs: int) -> dict[str, Any]:
    """Train and play all of it, in so many processes, and return all figures."""
    context = get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
        seeds = range(1, plan.networks + 1)
        networks = [pool.submit(trained, plan, seed) for seed in seeds]
        weights, training_seconds = zip(*(future.result() for future in networks), strict=True)
        cells = [pool.submit(played, plan, *cell, weights) for cell in plan.cells]
        parts = [future.result() for future in cells]
    return {
        "versions": {
            "multigrid": multigrid.__version__,
            "rules": RULES_VERSION,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "plan": dataclasses.asdict(plan),
        "training": dataclasses.asdict(Training(plan.steps, seed=0, batch=plan.batch)) | {"seed": list(seeds)},
        "held_out_seeds": [HELD_OUT, HELD_OUT + plan.episodes - 1],
        "max_cycles": MAX_CYCLES,
        "max_expansions": EXPANSIONS,
        "processor_seconds": {
            "training": [round(seconds) for seconds in training_seconds],
            "playing": round(sum(one.seconds[0] for one in parts)),
            "bounds": round(sum(one.seconds[1] for one in parts)),
        },
        "cells": [
            {"map": name, "num_agents": count, **_cell(one, plan.networks)}
            for (name, count), one in zip(plan.cells, parts, strict=True)
        ],
    }


def _cell(result: Played, networks: int) -> dict[str, Any]:
    trained, shortest = result.policies["trained"], result.policies["shortest-path"]
    csr = np.array([one["csr"] for one in trained.episodes])
    return {
        "policies": {
            policy: {name: numbers_of(one[name]) for name in MEASURES} for policy, one in result.policies.items()
        },
        "least_sum_of_costs": numbers_of(bootstrap(np.array(result.least))),
        "layouts": _layouts(result.bounds),
        "trained_csr_minus_shortest_path": numbers_of(trained.difference(shortest)["csr"].estimate),
        "trained_csr_by_network": [float(csr[number::networks].mean()) for number in range(networks)],
    }


def _layouts(found: Sequence[Bounds]) -> dict[str, int]:
    return {
        "optimum_known": sum(one.lower == one.upper < np.inf for one in found),
        "unsolvable": sum(one.lower == np.inf for one in found),
    }


def main() -> None:
    """Make the results, and write them."""
    parser = argparse.ArgumentParser(description="Train, play held-out episodes, and write the table and the figure.")
    parser.add_argument("--quick", action="store_true", help="one small cell for seconds, to see that all of it works")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes work at once")
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER", help="where the files go")
    parser.add_argument("--redraw", action="store_true", help="write table and picture again, from results.json")
    options = parser.parse_args()
    if options.quick and options.output == FOLDER:
        parser.error("--quick would write over the results; give it another folder with --output")
    options.output.mkdir(parents=True, exist_ok=True)
    if options.redraw:
        result = json.loads((options.output / "results.json").read_text(encoding="utf-8"))
    else:
        result = results(QUICK if options.quick else Plan(), options.jobs)
        write_json(options.output / "results.json", result)
    with replace_file(options.output / "results.md") as temporary:
        temporary.write_text(table(result), encoding="utf-8")
    write_figure(options.output / "results.svg", picture(result))


if __name__ == "__main__":
    main()
