"""Train, play held-out episodes, and write the table and the figure: `python docs/results/make_results.py`.

One network learns all cells of the table together: three maps with two, four and eight agents. Then it plays episodes
that it was not trained on, and random play and shortest paths play the very same layouts. Everything goes to
docs/results: results.json has all figures, results.md the table, results.svg the picture. The same command gives the
same figures on the same machine with the same versions, apart from the seconds.

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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from learner import Network, Sight, Training, num_seen, play_all, train
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

import multigrid
from multigrid._files import replace_file
from multigrid.cli._figures import write_figure
from multigrid.cli._files import write_json
from multigrid.cli.rollout.play import NamedConfig, play_episode
from multigrid.cli.rollout.policies import make_policy_factory
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.maps import random_map, warehouse
from multigrid.policies.evaluation import estimate_measures
from multigrid.policies.intervals import bootstrap
from multigrid.rendering.palette import colours

FOLDER = Path(__file__).parent
HELD_OUT = 1_000_000_000
"""The first seed of the held-out layouts, and of the held-out maps; those of training are far below."""
MAX_CYCLES = 64
POLICIES = {"random": "random play", "shortest-path": "shortest paths", "trained": "trained policy"}
"""What they are called by the command line, and what by the table."""
MEASURES = {"csr": "CSR", "isr": "ISR", "sum_of_costs": "sum of costs"}

_BLUE, _ORANGE, _GREEN = ("#{:02x}{:02x}{:02x}".format(*colour) for colour in colours(3))
_LOOKS = {"random": (_ORANGE, "^"), "shortest-path": (_GREEN, "s"), "trained": (_BLUE, "o")}

_PREFACE = """\
# Learned results

Made by `python docs/results/make_results.py` with multigrid {multigrid} (rules {rules}), torch {torch}, NumPy {numpy} \
and Python {python}. Training took {training_seconds} seconds of one processor core, playing {playing_seconds}.

{trained_by} from {steps:,} steps of agents (training seeds: {training_seeds}) to play all these cells, by PPO with \
shared weights ([learner.py](learner.py)). Each row of the table is over {episodes} held-out episodes, of seeds \
{first} to {last}: the same layouts for all. The trained policy is {who}; its actions are drawn, not the likeliest \
taken.

All play under `on_target="stay"`, `collisions="symmetric"` and `allow_stay=True`, with {max_cycles} steps: an episode \
is a success when all agents stand on their targets at once. Maps: *empty*, 9 x 7 cells; *random*, 11 x 8 with a fifth \
of the cells walls, {training_maps} maps in training and {held_out_maps} others held out; *warehouse*, 13 x 9, one map \
with shelves of 3 x 1 and aisles one cell wide.

- **CSR**, the success rate: the share of episodes in which all agents succeed; 95% interval by Wilson's score.
- **ISR**: the share of agents that stand on their targets in the end; 95% bootstrap over episodes.
- **Sum of costs**: steps until each agent stands on its target for good, all steps for one that does not, summed over \
agents; 95% bootstrap over episodes. *Least* is the mean sum of shortest ways, which no plan can undercut.

The intervals are of the episodes, not of the training: another training seed gives another network.
"""
_DIFFERENCES = """\
By how much the CSR of the trained policy is above that of shortest paths, on the same layouts (95% bootstrap of the \
paired differences), and what it is for each network over the episodes that it played:
"""
_WORDS = {2: "Two", 3: "Three", 4: "Four"}


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

    def tell(done: float, reward: float) -> None:
        seconds = time.process_time() - begun
        sys.stderr.write(f"network {seed}: {done:.0%} after {seconds:.0f} s, {reward:.4f} reward a step\n")

    network = train(configs, rows, Training(plan.steps, seed, batch=plan.batch), tell)
    return network.state_dict(), time.process_time() - begun


def played(
    plan: Plan, name: str, num_agents: int, weights: Sequence[Mapping[str, torch.Tensor]]
) -> tuple[dict[str, list[dict[str, float]]], list[float], float]:
    """Return the measures of a cell's held-out episodes by policy, their least costs, and the seconds it took."""
    torch.set_num_threads(1)
    begun = time.process_time()
    config = world(name, num_agents, plan, held_out=True)
    seeds = range(HELD_OUT, HELD_OUT + plan.episodes)
    told = {
        policy: [play_episode(NamedConfig(name, config), make_policy_factory(policy), seed).measures for seed in seeds]
        for policy in ("random", "shortest-path")
    }
    told["trained"] = [{} for _ in seeds]
    for number, one in enumerate(weights):
        network = Network(num_seen(config), config.num_actions)
        network.load_state_dict(one)
        told["trained"][number :: len(weights)] = play_all(network, config, seeds[number :: len(weights)])
    return told, least_costs(config, seeds), time.process_time() - begun


def least_costs(config: GridConfig, seeds: Sequence[int]) -> list[float]:
    """Return, for each layout, the sum of the agents' shortest ways: no sum of costs is less."""
    envs = multigrid.vector_env(len(seeds), config)
    envs.reset(seed=list(seeds))
    return Sight(config).ways(envs.get_state()).sum(axis=1).astype(float).tolist()


def results(plan: Plan, jobs: int) -> dict[str, Any]:
    """Train and play all of it, in so many processes, and return everything that is told."""
    context = get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
        seeds = range(1, plan.networks + 1)
        networks = [pool.submit(trained, plan, seed) for seed in seeds]
        weights, training_seconds = zip(*(future.result() for future in networks), strict=True)
        cells = [pool.submit(played, plan, *cell, weights) for cell in plan.cells]
        told = [future.result() for future in cells]
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
        "processor_seconds": {
            "training": [round(seconds) for seconds in training_seconds],
            "playing": round(sum(seconds for *_, seconds in told)),
        },
        "cells": [
            {"map": name, "num_agents": count, **_cell(*one[:2], plan.networks)}
            for (name, count), one in zip(plan.cells, told, strict=True)
        ],
    }


def _cell(told: Mapping[str, list[dict[str, float]]], least: list[float], networks: int) -> dict[str, Any]:
    csr = {policy: np.array([one["csr"] for one in episodes]) for policy, episodes in told.items()}
    return {
        "policies": {
            policy: {name: found[name]._asdict() for name in MEASURES}
            for policy, found in ((policy, estimate_measures(told[policy])) for policy in POLICIES)
        },
        "least_sum_of_costs": bootstrap(np.array(least))._asdict(),
        "trained_csr_minus_shortest_path": bootstrap(csr["trained"] - csr["shortest-path"])._asdict(),
        "trained_csr_by_network": [float(csr["trained"][number::networks].mean()) for number in range(networks)],
    }


def table(told: Mapping[str, Any]) -> str:
    """Return results.md."""
    figures = ["| map | agents | policy | CSR | ISR | sum of costs | least |", "|---|---|---|---|---|---|---|"]
    for cell in told["cells"]:
        least = f"{cell['least_sum_of_costs']['mean']:.1f}"
        figures += [
            f"| {cell['map']} | {cell['num_agents']} | {POLICIES[policy]} | {_written(by_name['csr'], 3)} | "
            f"{_written(by_name['isr'], 3)} | {_written(by_name['sum_of_costs'], 1)} | {least} |"
            for policy, by_name in cell["policies"].items()
        ]
    differences = ["| map | agents | difference | CSR of each network |", "|---|---|---|---|"]
    differences += [
        f"| {cell['map']} | {cell['num_agents']} | {_written(cell['trained_csr_minus_shortest_path'], 3, '+')} | "
        f"{', '.join(f'{csr:.2f}' for csr in cell['trained_csr_by_network'])} |"
        for cell in told["cells"]
    ]
    return "\n".join([_PREFACE.format(**_said(told)), *figures, "", _DIFFERENCES, *differences, ""])


def _said(told: Mapping[str, Any]) -> dict[str, Any]:
    networks, seconds = told["plan"]["networks"], told["processor_seconds"]
    first, last = told["held_out_seeds"]
    return {
        **told["plan"],
        **told["versions"],
        "max_cycles": told["max_cycles"],
        "training_seconds": " + ".join(map(str, seconds["training"])),
        "playing_seconds": seconds["playing"],
        "training_seeds": ", ".join(map(str, told["training"]["seed"])),
        "trained_by": "One network learned"
        if networks == 1
        else f"{_WORDS.get(networks, networks)} networks learned, each",
        "who": "that network" if networks == 1 else f"network k modulo {networks} in episode k",
        "first": first,
        "last": last,
    }


def _written(estimate: Mapping[str, float], digits: int, sign: str = "") -> str:
    form = f"{sign}.{digits}f"
    return f"{estimate['mean']:{form}} [{estimate['low']:{form}}, {estimate['high']:{form}}]"


def picture(told: Mapping[str, Any]) -> Figure:
    """Draw results.svg: CSR and the costs of an agent over the number of agents, a column for each map."""
    maps = list(dict.fromkeys(cell["map"] for cell in told["cells"]))
    figure = Figure(figsize=(1.2 + 2.3 * len(maps), 4.6), layout="constrained")
    all_axes = figure.subplots(2, len(maps), squeeze=False, sharex=True, sharey="row")
    lowest = min(cell["least_sum_of_costs"]["mean"] / cell["num_agents"] for cell in told["cells"])
    for column, name in enumerate(maps):
        cells = [cell for cell in told["cells"] if cell["map"] == name]
        counts = np.array([cell["num_agents"] for cell in cells])
        top, bottom = all_axes[:, column]
        _draw(top, cells, counts, lambda figures, _count: figures["csr"])
        _draw(bottom, cells, counts, lambda figures, count: _divided(figures["sum_of_costs"], count))
        least = [cell["least_sum_of_costs"]["mean"] for cell in cells] / counts
        bottom.plot(
            counts, least, color="#46464e", linestyle=":", linewidth=1.4, label="shortest ways (no plan needs less)"
        )
        top.set_title(name, fontsize=10)
        top.set_ylim(-0.03, 1.03)
        # By the logarithm: random play would squeeze the others into one line.
        bottom.set_yscale("log", base=2)
        bottom.set_ylim(lowest / 1.2, MAX_CYCLES * 1.15)
        bottom.yaxis.set_minor_locator(NullLocator())
        bottom.yaxis.set_major_formatter(lambda steps, _position: f"{steps:g}")
        bottom.set_xscale("log", base=2)
        bottom.set_xlim(counts[0] / 1.25, counts[-1] * 1.25)
        bottom.xaxis.set_major_locator(FixedLocator(counts.tolist()))
        bottom.xaxis.set_minor_locator(NullLocator())
        bottom.xaxis.set_major_formatter(lambda count, _position: f"{count:g}")
        bottom.set_xlabel("number of agents")
    all_axes[0, 0].set_ylabel("CSR (all agents succeed)")
    all_axes[1, 0].set_ylabel("cost of an agent (steps)")
    figure.legend(
        *all_axes[1, 0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=4, fontsize=9
    )
    return figure


def _draw(axes: Any, cells: list[Any], counts: NDArray[np.int64], figure_of: Callable[[Any, int], Any]) -> None:
    for index, (policy, name) in enumerate(POLICIES.items()):
        colour, mark = _LOOKS[policy]
        # Side by side, so that the intervals do not hide one another.
        where = counts * 1.04 ** (index - 1)
        told = [figure_of(cell["policies"][policy], cell["num_agents"]) for cell in cells]
        mean, low, high = (np.array([one[key] for one in told]) for key in ("mean", "low", "high"))
        axes.errorbar(
            where,
            mean,
            yerr=[mean - low, high - mean],
            color=colour,
            marker=mark,
            markersize=5,
            linewidth=1.5,
            elinewidth=1.2,
            capsize=2.5,
            label=name,
            clip_on=False,
            zorder=3,
        )
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _divided(estimate: Mapping[str, float], count: int) -> dict[str, float]:
    return {key: value / count for key, value in estimate.items()}


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
        told = json.loads((options.output / "results.json").read_text(encoding="utf-8"))
    else:
        told = results(QUICK if options.quick else Plan(), options.jobs)
        write_json(options.output / "results.json", told)
    with replace_file(options.output / "results.md") as temporary:
        temporary.write_text(table(told), encoding="utf-8")
    write_figure(options.output / "results.svg", picture(told))


if __name__ == "__main__":
    main()
