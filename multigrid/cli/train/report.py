"""Write the evaluations of a training and print its results, for both engines."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from rich.text import Text

from multigrid.cli._figures import Panel, curve_figure, write_figure
from multigrid.cli._files import write_json
from multigrid.cli.train.checkpoints import resume_command
from multigrid.cli.train.curve import Curve
from multigrid.cli.train.held_out import HeldOut
from multigrid.cli.train.logs import TENSORBOARD
from multigrid.config import GridConfig
from multigrid.policies.intervals import Estimate, bootstrap, wilson

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Evaluations", "panels", "print_finished", "print_report", "write_evaluations"]

Evaluations: TypeAlias = Sequence[tuple[int, HeldOut]]
"""Pairs of the steps trained so far and the results, from before the training to after it."""

_FILES = {
    "curve.png": "success on held-out episodes over the steps of training",
    "evaluation.gif": "held-out episodes, played by the trained agents",
    "comparison.svg": "the trained agents beside shortest paths, on one layout",
    "episode.json": "a recording of it",
    "heat.png": "where they go and where they are blocked",
    "evaluation.json": "the evaluations in numbers",
    "metrics.csv": "the rollouts in numbers",
    "model.zip": "the weights",
}


def write_evaluations(folder: Path, config: GridConfig, curve: Curve) -> None:
    """Write evaluation.json and curve.png."""
    summaries = [held_out.summary() for _, held_out in curve.evaluations]
    during = [{"steps": steps, **summary} for (steps, _), summary in zip(curve.evaluations, summaries, strict=True)]
    write_json(folder / "evaluation.json", {"before": summaries[0], "after": summaries[-1], "during": during})
    write_figure(folder / "curve.png", curve_figure(curve.rows, panels(config, curve.evaluations)))


def print_report(
    console: Console, folder: Path, config: GridConfig, evaluations: Evaluations, *, finished: bool
) -> None:
    """Print the results before and after the training, the files of the run folder, and the commands to go on with."""
    before, after = (held_out.summary() for _, held_out in (evaluations[0], evaluations[-1]))
    if config.on_target == "restart":
        figures = [
            f"arrivals of an agent in an episode: {before['mean_return']:.1f} before, {after['mean_return']:.1f} after"
        ]
    else:
        figures = [
            f"all agents arrived: {before['success_rate']:.1%} of episodes before, {after['success_rate']:.1%} after",
            f"steps an episode: {before['mean_steps']:.1f} before, {after['mean_steps']:.1f} after",
        ]
    # Short lines, which a terminal does not break within a number.
    for line in (f"{before['episodes']} held-out episodes", *figures):
        console.print(line, highlight=False, soft_wrap=True)
    _print_files(console, folder, finished=finished)


def print_finished(console: Console, folder: Path, steps: int) -> int:
    """Print that a run to be resumed has no steps left, and return the exit code 0."""
    lines = f"{folder} is finished: it has had its {steps:,} steps; a larger --steps continues it"
    console.print(Text(lines), soft_wrap=True)
    _print_files(console, folder, finished=True)
    return 0


def _print_files(console: Console, folder: Path, *, finished: bool) -> None:
    there = [name for name in _FILES if (folder / name).is_file()]
    width = max(map(len, there), default=0)
    lines = [f"files in {folder}:", *(f"  {name:{width}}  {_FILES[name]}" for name in there)]
    commands = []
    if "model.zip" in there:
        rollout = f"multigrid rollout --policy {shlex.quote(str(folder))}"
        commands.append((f"{rollout} --gif", "films of more episodes"))
        commands.append((f"multigrid replay {shlex.quote(str(folder / 'episode.json'))}", "a page for the browser"))
        commands.append((f"multigrid play --map {shlex.quote(str(folder))}", "take over an agent yourself"))
    if (folder / TENSORBOARD).is_dir():
        commands.append((f"tensorboard --logdir {shlex.quote(str(folder.parent))}", "the metrics of all runs there"))
    if not finished:
        commands.append((resume_command(folder), "continues from the last checkpoint"))
    width = max((len(command) for command, _ in commands), default=0)
    lines += ["next:"] * bool(commands) + [f"  {command:{width}}  {what}" for command, what in commands]
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def panels(config: GridConfig, evaluations: Evaluations) -> list[Panel]:
    """Return the panels of the curve.

    The training has a line for the reward only. Success and steps of the episodes that ended within a rollout would
    mislead: at first only short episodes end, which are the successful ones.
    """

    def estimates(estimate: Callable[[HeldOut], Estimate]) -> list[tuple[int, Estimate]]:
        return [(steps, estimate(held_out)) for steps, held_out in evaluations]

    reward = "reward per step of an agent"
    if config.on_target == "restart":
        return [Panel("reward_per_step", reward, estimates(lambda one: bootstrap(one.returns / one.steps)))]
    success = estimates(lambda one: wilson(one.success.astype(np.float64)))
    return [
        Panel(None, "episodes in which all arrived", success, 1.05, is_share=True),
        Panel(None, "steps of an episode", estimates(lambda one: bootstrap(one.steps))),
        Panel("reward_per_step", reward, []),
    ]
