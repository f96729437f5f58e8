"""A training with RLlib under way: its rollouts, evaluations and checkpoints, and what it leaves behind."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from multigrid._files import new_folder
from multigrid.cli._files import write_rows
from multigrid.cli.train.held_out import HeldOut, play_episodes
from multigrid.cli.train.report import INTERRUPTED, report, write_evaluations
from multigrid.cli.train.rllib_options import PROGRAM, RLlibOptions
from multigrid.config import GridConfig
from multigrid.integrations.rllib import NAME, agent_modules, drawn_actions

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.core.rl_module.rl_module import RLModule
    from rich.console import Console

__all__ = ["Run", "last_checkpoint"]

_COLUMNS = ("iteration", "steps", "episodes", "success_rate", "mean_steps", "reward_per_step", "env_runners", "seconds")
_SUMS = ("episodes", "successes", "steps", "agent_steps", "reward")


class Run:
    """A training under way, and what it has brought so far."""

    def __init__(self, folder: Path, algorithm: Algorithm, options: RLlibOptions, console: Console, steps: int) -> None:
        self._folder, self._algorithm, self._options, self._console = folder, algorithm, options, console
        self._rows: list[dict[str, Any]] = []
        self._evaluated: list[tuple[int, HeldOut]] = []
        self._steps = steps

    def play(self) -> int:
        """Train to the end, or until Ctrl-C, and return the exit code."""
        options, code = self._options, 0
        marks = iter(np.linspace(self._steps, options.steps, options.evaluations)[1:-1])
        mark = next(marks, np.inf)
        self._evaluate()
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
        figures = (TextColumn("{task.fields[figures]}"), TimeRemainingColumn())
        with Progress(*columns, *figures, console=self._console) as progress:
            task = progress.add_task("training", total=options.steps, completed=self._steps, figures="")
            began = time.perf_counter()
            try:
                for number in itertools.count(1):
                    if self._steps >= options.steps:
                        break
                    row = self._rolled_out(time.perf_counter() - began)
                    progress.update(task, completed=self._steps, figures=_told(row, options.grid))
                    if mark <= self._steps < options.steps:
                        self._evaluate()
                    while mark <= self._steps:
                        mark = next(marks, np.inf)
                    if options.checkpoint_every and number % options.checkpoint_every == 0:
                        self._save()
            except KeyboardInterrupt:
                code = INTERRUPTED
        if code:
            self._console.print("interrupted: saving what was learned; Ctrl-C again gives that up")
        self._save()
        self._evaluate()
        self._finish()
        return code

    def _rolled_out(self, seconds: float) -> dict[str, Any]:
        """Play and learn from one rollout, and return its row of the metrics."""
        began = time.perf_counter()
        while True:
            result = self._algorithm.train()
            sampled = result.get("env_runners", {})
            # RLlib's sum of nothing, where no episode has ended, is NaN.
            counts = {name: float(np.nan_to_num(sampled.get(NAME, {}).get(name, 0))) for name in _SUMS}
            if counts["agent_steps"]:
                break
            time.sleep(1)  # all env runners are lost, and made anew as soon as there is room
        self._steps += int(sampled["num_env_steps_sampled"]) * self._options.grid.num_agents
        ended = counts["episodes"] or np.nan
        group = self._algorithm.env_runner_group
        row = {
            "iteration": result["training_iteration"],
            "steps": self._steps,
            "episodes": int(counts["episodes"]),
            "success_rate": round(counts["successes"] / ended, 4),
            "mean_steps": round(counts["steps"] / ended, 2),
            "reward_per_step": round(counts["reward"] / counts["agent_steps"], 5),
            "env_runners": group.num_healthy_remote_env_runners(),
            "seconds": round(seconds + time.perf_counter() - began, 2),
        }
        self._rows.append(row)
        return row

    def _evaluate(self) -> None:
        modules = agent_modules(self._algorithm)
        held_out = _play_held_out(modules, self._options.grid, range(self._options.episodes))
        self._evaluated.append((self._steps, held_out))

    def _save(self) -> None:
        """Save the metrics, and a checkpoint, which has a temporary name until it is whole."""
        write_rows(self._folder / "metrics.csv", _COLUMNS, self._rows)
        checkpoint = self._folder / "checkpoints" / f"{self._steps:012}"
        if checkpoint.exists():
            return
        with new_folder(checkpoint) as temporary:
            self._algorithm.save_to_path(str(temporary.absolute()))

    def _finish(self) -> None:
        write_evaluations(self._folder, self._options.grid, self._rows, self._evaluated)
        report(self._console, self._folder, self._options.grid, self._evaluated)


def last_checkpoint(folder: Path) -> tuple[Path, int]:
    """Return the last checkpoint of a run, and the steps that it was trained for, which are its name.

    Raises:
        ValueError: there is none.
    """
    found = sorted(path for path in (folder / "checkpoints").glob("[0-9]*") if path.is_dir())
    if not found:
        raise ValueError(f"--resume is {folder}, which has no checkpoint in it; expected a run of {PROGRAM}")
    return found[-1], int(found[-1].name)


def _play_held_out(modules: Mapping[str, RLModule], config: GridConfig, seeds: Sequence[int]) -> HeldOut:
    """Play one episode for each seed, as `play_held_out` of `held_out` does, each agent with its module."""

    def choose(asked: list[dict[str, Any]], draw: np.random.Generator) -> list[int]:
        agents = [agent for seen in asked for agent in seen]
        return drawn_actions(modules, agents, [seen[agent] for seen in asked for agent in seen], draw)

    return play_episodes(config, seeds, choose)


def _told(row: Mapping[str, Any], config: GridConfig) -> str:
    figures = f"reward/step {row['reward_per_step']:.3f}  env runners {row['env_runners']}"
    if row["episodes"] and config.on_target != "restart":
        figures = f"success {row['success_rate']:4.0%}  steps {row['mean_steps']:5.1f}  {figures}"
    return figures
