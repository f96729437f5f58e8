"""What both engines of ``multigrid train`` check of their flags, and tell of a training that is over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from multigrid.cli._figures import Panel, curve_figure, write_figure
from multigrid.cli._files import write_json
from multigrid.cli.rolling.intervals import Estimate, bootstrap, wilson
from multigrid.cli.train.held_out import HeldOut
from multigrid.config import GridConfig

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["INTERRUPTED", "LARGEST_SEED", "check_flags", "report", "write_evaluations"]

INTERRUPTED = 130
"""The exit code of a training that Ctrl-C cut short."""

LARGEST_SEED = 2**31 - 1


def check_flags(options: Any, **least: int) -> None:
    """Refuse what no engine can train.

    Args:
        options: the `TrainOptions` of an engine.
        least: the least values of flags that the other engine does not have, by their names.

    Raises:
        ValueError: a flag out of range.
    """
    both = {"steps": 1, "seed": 0, "copies": 1, "episodes": 1, "evaluations": 2}
    both |= {"rollout": 2, "batch_size": 2, "epochs": 1}
    for name, bound in {**both, **least}.items():
        if getattr(options, name) < bound:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(options, name)}; expected at least {bound}")
    if options.seed > LARGEST_SEED:
        raise ValueError(f"--seed is {options.seed}; expected at most {LARGEST_SEED}")
    if not options.learning_rate > 0:
        raise ValueError(f"--learning-rate is {options.learning_rate}; expected more than 0")
    if not 0 <= options.gamma <= 1:
        raise ValueError(f"--gamma is {options.gamma}; expected a number from 0 to 1")
    if min(options.hidden, default=1) < 1:
        raise ValueError(f"--hidden is {' '.join(map(str, options.hidden))}; expected layers of at least 1")
    if options.grid.max_cycles is None:
        raise ValueError("--max-cycles is None, but evaluations play every episode to its end; expected a number")


def write_evaluations(
    folder: Path, config: GridConfig, rows: Sequence[Mapping[str, Any]], evaluated: Sequence[tuple[int, HeldOut]]
) -> None:
    """Write evaluation.json and curve.png.

    Args:
        folder: where to.
        config: the world.
        rows: the metrics of each rollout.
        evaluated: the evaluations, each with the steps trained until then; first the one before, last the one after.
    """
    write_figure(folder / "curve.png", curve_figure(rows, _panels(config, evaluated)))
    during = [{"steps": steps, **dataclasses.asdict(held_out.summary())} for steps, held_out in evaluated]
    before, after = ({name: one[name] for name in one if name != "steps"} for one in (during[0], during[-1]))
    write_json(folder / "evaluation.json", {"before": before, "after": after, "during": during})


def report(console: Console, folder: Path, config: GridConfig, evaluated: Sequence[tuple[int, HeldOut]]) -> None:
    """Print the figures before and after, and where the outputs are; arguments as `write_evaluations` takes them."""
    before, after = (held_out.summary() for _, held_out in (evaluated[0], evaluated[-1]))
    if config.on_target == "restart":
        figures = f"arrivals of an agent in an episode: {before.mean_return:.1f} before, {after.mean_return:.1f} after"
    else:
        figures = (
            f"all agents arrived: {before.success_rate:.1%} of episodes before, {after.success_rate:.1%} after; "
            f"steps an episode: {before.mean_steps:.1f} before, {after.mean_steps:.1f} after"
        )
    console.print(f"{before.episodes} held-out episodes. {figures}", highlight=False, soft_wrap=True)
    console.print(Text(f"outputs in {folder}"), soft_wrap=True)


def _panels(config: GridConfig, evaluated: Sequence[tuple[int, HeldOut]]) -> list[Panel]:
    def panel(column: str, label: str, estimate: Callable[[HeldOut], Estimate], top: float | None = None) -> Panel:
        return Panel(column, label, [(steps, estimate(held_out)) for steps, held_out in evaluated], top)

    if config.on_target == "restart":
        return [panel("reward_per_step", "reward per step of an agent", lambda one: bootstrap(one.returns / one.steps))]
    return [
        panel(
            "success_rate", "episodes in which all arrived", lambda one: wilson(one.success.astype(np.float64)), 1.05
        ),
        panel("mean_steps", "steps of an episode", lambda one: bootstrap(one.steps)),
    ]
