"""Write the evaluations of a training and print its results, for both engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.text import Text

from multigrid.cli._figures import Panel, curve_figure, write_figure
from multigrid.cli._files import write_json
from multigrid.cli.train.held_out import HeldOut
from multigrid.config import GridConfig
from multigrid.policies.intervals import Estimate, bootstrap, wilson

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Evaluations", "print_report", "write_evaluations"]

Evaluations: TypeAlias = Sequence[tuple[int, HeldOut]]
"""Pairs of the steps trained so far and the results, from before the training to after it."""


def write_evaluations(
    folder: Path, config: GridConfig, rows: Sequence[Mapping[str, Any]], evaluations: Evaluations
) -> None:
    """Write evaluation.json and curve.png; `rows` are the metrics of the rollouts."""
    write_figure(folder / "curve.png", curve_figure(rows, _panels(config, evaluations)))
    summaries = [held_out.summary() for _, held_out in evaluations]
    during = [{"steps": steps, **summary} for (steps, _), summary in zip(evaluations, summaries, strict=True)]
    write_json(folder / "evaluation.json", {"before": summaries[0], "after": summaries[-1], "during": during})


def print_report(console: Console, folder: Path, config: GridConfig, evaluations: Evaluations) -> None:
    """Print the results before and after the training, and the run folder."""
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
    console.print(Text(f"outputs in {folder}"), soft_wrap=True)


def _panels(config: GridConfig, evaluations: Evaluations) -> list[Panel]:
    def panel(column: str, label: str, estimate: Callable[[HeldOut], Estimate], top: float | None = None) -> Panel:
        return Panel(column, label, [(steps, estimate(held_out)) for steps, held_out in evaluations], top)

    if config.on_target == "restart":
        return [panel("reward_per_step", "reward per step of an agent", lambda one: bootstrap(one.returns / one.steps))]
    return [
        panel(
            "success_rate", "episodes in which all arrived", lambda one: wilson(one.success.astype(np.float64)), 1.05
        ),
        panel("mean_steps", "steps of an episode", lambda one: bootstrap(one.steps)),
    ]
