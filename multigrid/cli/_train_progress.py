"""What the trainings of both engines share: the progress bar, the metrics of a rollout, evaluations and checkpoints."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import TaskProgressColumn, TextColumn

from multigrid.cli._files import Unwritten, write_rows
from multigrid.cli._held_out import Act, play_held_out
from multigrid.cli._progress import ProgressBar
from multigrid.cli._train_logs import Log
from multigrid.cli._train_options import TrainOptions
from multigrid.cli._train_runs import Checkpoints, Curve
from multigrid.config import GridConfig
from multigrid.integrations.training import SUMMED

if TYPE_CHECKING:
    from rich.console import Console

# The columns of metrics.csv that `RolloutCounts` fills.
COLUMNS = ("episodes", "success_rate", "mean_steps", "reward_per_step")


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
        """Train from `done` to `total` steps of all agents, and return the exit code, 130 after Ctrl-C."""
        with self.doing("training", total, done) as update:
            self._update = update
            self.update()
            try:
                train()
            except KeyboardInterrupt:
                self._console.print("interrupted: saving and evaluating what was learned; Ctrl-C again gives that up")
                return 130
            finally:
                self._update = None
        return 0


@dataclasses.dataclass
class RolloutCounts:
    """Sums over the episodes that ended in a rollout, NaN if unknown; steps and rewards of agents are of all episodes.

    >>> counts = RolloutCounts(episodes=4, successes=3, steps=50, agent_steps=200, reward=3.5, isr=3.5)
    >>> means = counts.means(GridConfig())
    >>> means["csr"], means["isr"], means["mean_steps"], means["reward_per_step"]
    (0.75, 0.875, 12.5, 0.0175)
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
        """Return the values of `COLUMNS`."""
        ended = self.episodes or math.nan
        return {
            "episodes": self.episodes,
            "success_rate": round(self.successes / ended, 4),
            "mean_steps": round(self.steps / ended, 2),
            "reward_per_step": round(self.reward / self.agent_steps, 5),
        }

    def means(self, config: GridConfig) -> dict[str, float]:
        """Return the values of a log; of the metrics, those that `on_target` defines. NaN if no episode ended."""
        ended = self.episodes or math.nan
        rates = {"csr": self.successes / ended, **{name: getattr(self, name) / ended for name in SUMMED}}
        lifelong = config.on_target == "restart"
        defined = {name: rate for name, rate in rates.items() if (name == "throughput") == lifelong}
        rewards = self.reward / (self.agent_steps or math.nan)
        return {**defined, "episodes": self.episodes, "mean_steps": self.steps / ended, "reward_per_step": rewards}


class Training:
    """A training in progress: its results so far, its log, its checkpoints and its bar."""

    def __init__(self, folder: Path, options: TrainOptions, bar: TrainingBar, columns: Sequence[str]) -> None:
        self.folder, self.options, self.bar = folder, options, bar
        self.log, self.curve, self.unwritten = Log(), Curve(), Unwritten()
        self.began = 0.0
        self._columns = columns
        self.checkpoints = Checkpoints(folder, options.checkpoint_every, last=0)

    def start_clock(self) -> None:
        """Begin to measure the time of the training, to which that before a resumption is added."""
        self.began = time.perf_counter() - (self.curve.rows[-1]["seconds"] if self.curve.rows else 0.0)

    def add_rollout(self, steps: int, counts: RolloutCounts, **columns: Any) -> None:
        """Add a row to the metrics, and log it."""
        seconds = round(time.perf_counter() - self.began, 2)
        self.curve.rows.append({"steps": steps, **counts.metrics(), **columns, "seconds": seconds})
        self.log.rollout(steps, counts.means(self.options.grid))
        self.bar.update(completed=steps, figures=self._describe())

    def evaluate(self, steps: int, act: Act) -> None:
        """Evaluate after so many steps, unless that has been done."""
        if self.curve.evaluations and self.curve.evaluations[-1][0] >= steps:
            return
        options = self.options
        with self.bar.doing(f"evaluating after {steps:,} steps", options.grid.max_cycles) as tell:
            held_out = play_held_out(options.grid, range(options.episodes), act, tell)
        self.curve.evaluations.append((steps, held_out))
        self.log.evaluation(steps, held_out)
        self.bar.update(figures=self._describe())

    def save(self, steps: int, write: Callable[[Path], None]) -> None:
        """Save the metrics, and a checkpoint, whose files `write` writes, unless the last one has the same steps."""
        if self.checkpoints.last != steps:
            self.log.flush()
            with self.bar.doing(f"saving a checkpoint after {steps:,} steps"):
                self.checkpoints.save(steps, write)
                write_rows(self.folder / "metrics.csv", self._columns, self.curve.rows)

    def write_curve(self) -> None:
        """Write the metrics, the evaluations and their figure."""
        from multigrid.cli._train_report import write_evaluations

        with self.unwritten.noting("metrics.csv"):
            write_rows(self.folder / "metrics.csv", self._columns, self.curve.rows)
        with self.unwritten.noting("evaluation.json or curve.png"):
            write_evaluations(self.folder, self.options.grid, self.curve)

    def report(self, console: Console, code: int) -> int:
        """Print the results, and return the exit code."""
        from multigrid.cli._train_report import print_report

        print_report(console, self.folder, self.options.grid, self.curve.evaluations, finished=code == 0)
        return self.unwritten.report(console, self.folder) or code

    def _describe(self) -> str:
        """Return the text beside the bar: the last evaluation, and the reward in the last rollout.

        It has no success of the training's episodes: at first only short ones end, which are the successful ones.
        """
        figures, rows = [], self.curve.rows
        if self.curve.evaluations and self.options.grid.on_target != "restart":
            summary = self.curve.evaluations[-1][1].summary()
            figures.append(f"success {summary['success_rate']:4.0%}  ISR {summary['isr']:4.0%}")
        if rows:
            figures.append(f"reward/step {rows[-1]['reward_per_step']:.3f}")
        if rows and "env_runners" in rows[-1]:
            figures.append(f"env runners {rows[-1]['env_runners']}")
        return "  ".join(figures)
