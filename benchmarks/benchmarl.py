"""``python -m benchmarks.benchmarl``: BenchMARL's collection, on the native vector env and through PettingZoo.

Needs the environment of .ci/recipes/benchmarl.txt.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from benchmarl.algorithms import MappoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment
from benchmarl.models.mlp import MlpConfig
from rich.console import Console
from rich.progress import track
from torchrl.envs import EnvBase, PettingZooWrapper

import multigrid
from benchmarks.speed.measuring import describe_machine
from examples.benchmarl_mappo import experiment_config
from multigrid import GridConfig
from multigrid._files import replace_file
from multigrid.cli._options import parse
from multigrid.integrations.benchmarl import LogMetrics, MultiGridTask
from multigrid.wrappers import StandardParallel, standard_config

GOAL = 15.0
"""How many times as fast as through PettingZoo the native collection should be."""

CONFIG = GridConfig(size=8, num_agents=8, reward="shared", max_cycles=64)


@dataclasses.dataclass(frozen=True)
class CollectionOptions:
    """Measure how fast BenchMARL collects, in agent-steps per CPU second, on one thread and without any training.

    Both tasks are the same world of eight agents on 8 x 8 cells, with the same policy, a MAPPO of 64-64 nets, and the
    same observations, action masks and state. They take turns, a batch each.
    """

    rounds: int = 15
    """How many batches each collects."""
    worlds: int = 64
    """The number of worlds of each."""
    output: Path | None = None
    """Write the figures to this JSON file, too."""


class PettingZooTask(PettingZooClass):  # type: ignore[misc] # mypy has no types of BenchMARL
    """BenchMARL's task of PettingZoo environments, for one that PettingZoo does not have."""

    def get_env_fun(
        self,
        num_envs: int,
        continuous_actions: bool,  # noqa: FBT001 - as BenchMARL calls it
        seed: int | None,
        device: Any,
    ) -> Callable[[], EnvBase]:
        """Return a function that makes one environment, of which BenchMARL plays `num_envs` in turn."""
        del num_envs, continuous_actions

        def make() -> EnvBase:
            env = StandardParallel(multigrid.parallel_env(standard_config(CONFIG)))
            return PettingZooWrapper(env, return_state=True, categorical_actions=True, seed=seed, device=device)

        return make

    def has_state(self) -> bool:
        """Return True."""
        return True

    def supports_discrete_actions(self) -> bool:
        """Return True."""
        return True


def collections(task: Any, frames: int, worlds: int, folder: str, callbacks: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the batches that an experiment of a task collects, of `frames` steps of its worlds."""
    config = experiment_config("mappo", frames * 10**6, folder, episodes=1)
    config.on_policy_n_envs_per_worker, config.on_policy_collected_frames_per_batch = worlds, frames
    config.evaluation = False
    model = MlpConfig.get_from_yaml()
    model.num_cells = [64, 64]
    experiment = Experiment(task, MappoConfig.get_from_yaml(), model, seed=0, config=config, callbacks=list(callbacks))
    yield from experiment.collector


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, print, and return the exit code: 1 if the goal is missed."""
    options = parse(CollectionOptions, arguments, "python -m benchmarks.benchmarl")
    torch.set_num_threads(1)
    # Steps of a batch: enough of them that its fixed costs do not count.
    tasks = {
        "native": (MultiGridTask("native", CONFIG), 64, [LogMetrics()]),
        "pettingzoo": (PettingZooTask("pettingzoo", {"max_cycles": CONFIG.max_cycles}), 4, []),
    }
    rates: dict[str, list[float]] = {name: [] for name in tasks}
    with tempfile.TemporaryDirectory() as folder:
        running = {
            name: (collections(task, steps * options.worlds, options.worlds, folder, callbacks), steps)
            for name, (task, steps, callbacks) in tasks.items()
        }
        for batches, _ in running.values():
            next(batches)  # the first one makes the environments
        for _ in track(range(options.rounds), "collecting", console=Console(stderr=True)):
            for name, (batches, steps) in running.items():
                start = time.process_time()
                next(batches)
                rates[name].append(steps * options.worlds * CONFIG.num_agents / (time.process_time() - start))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratios = [one / other for one, other in zip(rates["native"], rates["pettingzoo"], strict=True)]
    content = {
        "machine": describe_machine(),
        "versions": {name: metadata.version(name) for name in ("benchmarl", "torchrl", "tensordict", "torch")},
        "worlds": options.worlds,
        "agents": CONFIG.num_agents,
        "rounds": options.rounds,
        "agent_steps_per_cpu_second": medians,
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "goal": GOAL,
    }
    if options.output is not None:
        with replace_file(options.output) as temporary:
            temporary.write_text(json.dumps(content, indent=2) + "\n")
    sys.stdout.write(json.dumps(content, indent=2) + "\n")
    return 0 if content["ratio"] >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
