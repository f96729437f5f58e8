"""Measure the pretrained policy with many agents: `python docs/pretrained/measure_scale.py MAP [SCENARIO ...]`.

Plays scenarios, files of the form .scen, with all of their agents; without any, random layouts on the map. Prints a
line for each episode: whether all agents arrived, the sum of costs, the number of steps, and the actions of single
agents that the policy chose in a second of processor time. The last line is the peak of the process's memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import multigrid
from multigrid.maps import load_map, load_scenario
from multigrid.policies import pretrained


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
    options = parser.parse_args(arguments)
    form: dict[str, Any] = {"shield": True} if options.shield else {"messages": 2}
    walls = load_map(options.map)
    for name, num_agents, seed, layout in list_layouts(options):
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
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB\n")


if __name__ == "__main__":
    main()
