"""The progress bar of a training, and the metrics of a rollout."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from multigrid.config import GridConfig

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["COLUMNS", "INTERRUPTED", "RolloutCounts", "TrainingBar", "describe_row"]

INTERRUPTED = 130
"""The exit code of a training that Ctrl-C ended."""

COLUMNS = ("episodes", "success_rate", "mean_steps", "reward_per_step")
"""The columns of metrics.csv that `RolloutCounts` fills."""


class TrainingBar:
    """The progress bar of a training, in steps of all agents; `completed` of them were trained earlier."""

    def __init__(self, console: Console, total: int, completed: int = 0) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("training", total=total, completed=completed, figures="")

    def update(self, **state: Any) -> None:
        """Update `completed` (the steps so far), `figures` (the text beside the bar), or both."""
        self._progress.update(self._task, **state)

    def run(self, train: Callable[[], object]) -> int:
        """Show the bar while a function trains, and return 0, or `INTERRUPTED` if Ctrl-C ended it."""
        code = 0
        with self._progress:
            try:
                train()
            except KeyboardInterrupt:
                code = INTERRUPTED
        if code:
            self._progress.console.print("interrupted: saving what was learned; Ctrl-C again gives that up")
        return code


@dataclasses.dataclass
class RolloutCounts:
    """Sums over a rollout.

    Attributes:
        episodes: the episodes that ended.
        successes: those of them that were terminated, not truncated: with a *csr* of 1 (`multigrid.core.metrics`).
        steps: the steps of the episodes that ended.
        agent_steps: the steps of single agents, of all episodes.
        reward: the sum of the rewards of all agent steps.
    """

    episodes: int = 0
    successes: int = 0
    steps: int = 0
    agent_steps: int = 0
    reward: float = 0.0

    def metrics(self) -> dict[str, Any]:
        """Return the values of `COLUMNS`.

        >>> RolloutCounts(episodes=4, successes=3, steps=50, agent_steps=200, reward=3.5).metrics()
        {'episodes': 4, 'success_rate': 0.75, 'mean_steps': 12.5, 'reward_per_step': 0.0175}
        """
        ended = self.episodes or math.nan
        return {
            "episodes": self.episodes,
            "success_rate": round(self.successes / ended, 4),
            "mean_steps": round(self.steps / ended, 2),
            "reward_per_step": round(self.reward / self.agent_steps, 5),
        }


def describe_row(row: Mapping[str, Any], config: GridConfig) -> str:
    """Return a row of the metrics as the text beside the bar.

    >>> row = {"episodes": 4, "success_rate": 0.75, "mean_steps": 12.5, "reward_per_step": 0.0175}
    >>> describe_row(row, GridConfig())
    'success  75%  steps  12.5  reward/step 0.018'
    """
    figures = f"reward/step {row['reward_per_step']:.3f}"
    if row["episodes"] and config.on_target != "restart":
        figures = f"success {row['success_rate']:4.0%}  steps {row['mean_steps']:5.1f}  {figures}"
    return figures
