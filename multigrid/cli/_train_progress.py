"""The progress bar of a training, and the metrics of a rollout."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.progress import TaskProgressColumn, TextColumn

from multigrid.cli._progress import ProgressBar
from multigrid.cli._train_runs import Curve
from multigrid.config import GridConfig
from multigrid.integrations.training import SUMMED

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
"""The exit code of a training that Ctrl-C ended."""

COLUMNS = ("episodes", "success_rate", "mean_steps", "reward_per_step")
"""The columns of metrics.csv that `RolloutCounts` fills."""


class TrainingBar(ProgressBar):
    """The progress bar of a training, with figures of the policy beside it."""

    def __init__(self, console: Console) -> None:
        columns = TaskProgressColumn(), TextColumn("{task.fields[figures]}", markup=False)
        super().__init__(console, *columns, is_logged=True)
        self._state: dict[str, Any] = {}
        self._update: Callable[..., None] | None = None

    def update(self, **state: Any) -> None:
        """Update `completed` (the steps so far), `figures` (the text beside the bar), or both."""
        self._state |= state
        if self._update is not None:
            self._update(**self._state)

    def run(self, train: Callable[[], object], total: int, done: int) -> int:
        """Call a function that trains from `done` to `total` steps of all agents, and return the exit code.

        It is 0, or `INTERRUPTED` if Ctrl-C ended the training, which is printed at once.
        """
        with self.doing("training", total, done) as update:
            self._update = update
            self.update()
            try:
                train()
            except KeyboardInterrupt:
                self._console.print("interrupted: saving and evaluating what was learned; Ctrl-C again gives that up")
                return INTERRUPTED
            finally:
                self._update = None
        return 0


@dataclasses.dataclass
class RolloutCounts:
    """Sums over a rollout.

    Attributes:
        episodes: the episodes that ended.
        successes: those of them that were terminated, not truncated: with a *csr* of 1 (`multigrid.core.metrics`).
        steps: the steps of the episodes that ended.
        isr, sum_of_costs, makespan, throughput: sums of these metrics over the episodes that ended, NaN if unknown.
        agent_steps: the steps of single agents, of all episodes.
        reward: the sum of the rewards of all agent steps.
    """

    episodes: int = 0
    successes: int = 0
    steps: int = 0
    isr: float = 0.0
    sum_of_costs: float = 0.0
    makespan: float = 0.0
    throughput: float = 0.0
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

    def means(self, config: GridConfig) -> dict[str, float]:
        """Return the values of a log; of the metrics, those that `on_target` defines. NaN if no episode ended.

        >>> counts = RolloutCounts(episodes=4, successes=3, steps=50, agent_steps=200, reward=3.5, isr=3.5)
        >>> means = counts.means(GridConfig())
        >>> means["csr"], means["isr"], means["mean_steps"], means["reward_per_step"]
        (0.75, 0.875, 12.5, 0.0175)
        """
        ended = self.episodes or math.nan
        rates = {"csr": self.successes / ended, **{name: getattr(self, name) / ended for name in SUMMED}}
        lifelong = config.on_target == "restart"
        defined = {name: rate for name, rate in rates.items() if (name == "throughput") == lifelong}
        rewards = self.reward / (self.agent_steps or math.nan)
        return {**defined, "episodes": self.episodes, "mean_steps": self.steps / ended, "reward_per_step": rewards}


def describe_curve(curve: Curve, config: GridConfig) -> str:
    """Return the text beside the bar: the last evaluation, and the reward in the last rollout.

    The success of the episodes that ended within a rollout is not in it: at first only short episodes end, which are
    the successful ones.

    >>> describe_curve(Curve([{"reward_per_step": 0.0175}]), GridConfig())
    'reward/step 0.018'
    """
    figures = []
    if curve.evaluations and config.on_target != "restart":
        summary = curve.evaluations[-1][1].summary()
        figures.append(f"success {summary['success_rate']:4.0%}  ISR {summary['isr']:4.0%}")
    if curve.rows:
        figures.append(f"reward/step {curve.rows[-1]['reward_per_step']:.3f}")
    return "  ".join(figures)
