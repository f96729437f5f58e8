"""Measure the pretrained policy with many agents: `python docs/pretrained/measure_scale.py MAP [SCENARIO ...]`.

Plays scenarios, files of the form .scen, with all of their agents; without any, random layouts on the map. Prints a
line for each episode: whether all agents arrived, the sum of costs, the number of steps, and the actions of single
agents that the policy chose in a second of processor time. The last line is the peak of the process's memory.

`--file FILE` also appends the episodes of scenarios to a file of the form of scale.csv, which the tables of figures.md
are of; a scenario that it has for this form of the policy is not played again.
"""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import multigrid
from multigrid.maps import load_map, load_scenario
from multigrid.planning._graph import build_graph, distance_tables
from multigrid.policies import pretrained

COLUMNS = ("scenario", "agents", "form", "limit", "solved", "sum_of_costs", "shortest_paths", "steps")
"""The columns of the file: the scenario's name; "shield" or "messages"; the largest number of steps; 1 if all agents
arrived; and the sum of the agents' shortest paths, which is a bound of the costs."""


def read_episodes(file: Path) -> list[dict[str, str]]:
    """Return the rows of the file."""
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def append(file: Path, row: Sequence[object]) -> None:
    """Append a row to the file, which gets its columns first if it is new."""
    is_new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerows([COLUMNS, row] if is_new else [row])


def sum_shortest_paths(walls: NDArray[np.bool_], agents: Sequence[Any], targets: Sequence[Any]) -> int:
    """Return the sum of the lengths of shortest paths; an agent that starts on its target has a cost of 1."""
    graph = build_graph(walls)
    starts, goals = (graph.index[tuple(np.array(cells).T)] for cells in (agents, targets))
    away = distance_tables(graph.neighbours, goals)[np.arange(len(starts)), starts]
    return int(np.maximum(away, 1).sum())


def list_layouts(options: argparse.Namespace) -> Iterator[tuple[str, int, int, dict[str, Any] | None]]:
    """Yield the name, the number of agents, the seed and the layout of each episode."""
    for file in options.scenarios:
        rows = load_scenario(file)
        layout = {"agents": [row.start for row in rows], "targets": [row.goal for row in rows]}
        yield file.stem, len(rows), 0, layout
    for seed in range(0 if options.scenarios else options.layouts):
        yield f"random layout {seed}", options.agents, seed, None


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and print what was measured."""
    parser = argparse.ArgumentParser(description="Measure the pretrained policy with many agents.")
    parser.add_argument("map", type=Path)
    parser.add_argument("scenarios", type=Path, nargs="*")
    parser.add_argument("--agents", type=int, default=409, help="of random layouts")
    parser.add_argument("--layouts", type=int, default=20, help="the number of random layouts")
    parser.add_argument("--steps", type=int, default=1000, help="the largest number of steps")
    parser.add_argument("--shield", action="store_true", help="with a shield; otherwise with two rounds of messages")
    parser.add_argument("--file", type=Path, help="the CSV file to which episodes of scenarios are appended")
    options = parser.parse_args(arguments)
    form: dict[str, Any] = {"shield": True} if options.shield else {"messages": 2}
    walls, form_name = load_map(options.map), "shield" if options.shield else "messages"
    known = set()
    if options.file is not None and options.file.exists():
        known = {(row["scenario"], row["form"]) for row in read_episodes(options.file)}
    for name, num_agents, seed, layout in list_layouts(options):
        if (name, form_name) in known:
            continue
        rules: dict[str, Any] = {"on_target": "stay", "collisions": "soft", "allow_stay": True, "observe": ("agent",)}
        env = multigrid.parallel_env(walls=walls, num_agents=num_agents, max_cycles=options.steps, **rules)
        observations, _ = env.reset(seed=seed, options=layout)
        pretrained(**form)(env, observations)  # to compile the kernels
        policy, seconds, steps = pretrained(seed=seed, **form), 0.0, 0
        while env.agents:
            before = time.process_time()
            actions = policy(env, observations)
            seconds += time.process_time() - before
            observations, *_ = env.step(actions)
            steps += 1
        metrics: Any = env.metrics()
        figures = f"csr {metrics['csr']:.0f}, costs {metrics['sum_of_costs']:.0f}, {steps} steps"
        sys.stdout.write(f"{name}, {num_agents} agents: {figures}, {num_agents * steps / seconds:.0f} a second\n")
        if options.file is not None and layout is not None:
            figures = (metrics["csr"], metrics["sum_of_costs"], sum_shortest_paths(walls, **layout), steps)
            append(options.file, (name, num_agents, form_name, options.steps, *map(int, figures)))
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB\n")


if __name__ == "__main__":
    main()
