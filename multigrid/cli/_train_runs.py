"""The run folder, checkpoints, metrics, evaluations and the progress bar of a training.

A checkpoint is a folder RUN/checkpoints/STEPS, where STEPS is the number of steps trained, in twelve digits. It appears
when it is complete. A process that is killed loses the training since the last checkpoint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import TaskProgressColumn, TextColumn
from rich.text import Text

from multigrid._files import create_folder, remove_unfinished
from multigrid.cli._files import Unwritten, check_new, check_writable, make_folder, write_json, write_rows
from multigrid.cli._held_out import Act, HeldOut, play_held_out
from multigrid.cli._progress import ProgressBar
from multigrid.cli._train_logs import Log
from multigrid.cli._train_options import TrainOptions, describe, read_run
from multigrid.config import GridConfig
from multigrid.game import Game
from multigrid.games._files import game_flag
from multigrid.integrations.training import SUMMED
from multigrid.scenarios._stored_config import one_line

if TYPE_CHECKING:
    from rich.console import Console

# The columns of metrics.csv that `RolloutCounts` fills.
_COLUMNS = ("episodes", "success_rate", "mean_steps", "reward_per_step")
KEPT = 3  # the number of checkpoints that stay

_CHECKPOINTS = "checkpoints"
_ROW, _EVALUATION = "row.", "evaluation."
_RESULTS = ("success", "steps", "returns", "isr")  # the arrays of `HeldOut`


def open_run(options: TrainOptions) -> Path:
    """Return the folder of a run, new or to be resumed, with a config.json that has the flags and the versions."""
    if options.resume is None:
        check_new(options.folder)
        check_writable("--folder", options.folder, parent="runs")
        folder = make_folder(options.folder)
        write_json(folder / "config.json", describe(options))
        return folder
    check_writable("--resume", options.resume)
    remove_unfinished(options.resume)
    remove_unfinished(options.resume / _CHECKPOINTS)
    flags = dataclasses.replace(options, folder=None, resume=None, game=None, option=())
    if flags != read_run(options.resume, options.grid.game):
        write_json(options.resume / "config.json", describe(flags))
    return options.resume


def resume_command(folder: Path, game: type[Game] | None) -> str:
    """Return the command that continues a run."""
    return f"multigrid train --resume {shlex.quote(str(folder))}{game_flag(game)}"


def print_headline(console: Console, folder: Path, options: TrainOptions, steps: int, done: int) -> None:
    """Print the agents, the map, the number of steps and the folder of a training."""
    count, rest = options.grid.num_agents, f"{steps - done:,} more" if done else f"{steps:,}"
    line = f"training {count} agent{'s' * (count != 1)} on {options.world_name} for {rest} steps in {folder}"
    console.print(Text(line), soft_wrap=True)


@contextlib.contextmanager
def resumable(console: Console, folder: Path, game: type[Game] | None) -> Iterator[None]:
    """Print how to continue a run if an error, a signal or Ctrl-C ends it."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit):
        # After SIGHUP the terminal is gone, and a pipe may be.
        with contextlib.suppress(OSError):
            console.print(Text(f"to continue: {resume_command(folder, game)}"), soft_wrap=True)
        raise


def find_last(run: Path | None) -> tuple[Path | None, int]:
    """Return the last checkpoint of a run to resume, or None, and the steps trained until then."""
    last = None if run is None else max(_list(run / _CHECKPOINTS), default=None)
    return last, 0 if last is None else int(last.name)


@contextlib.contextmanager
def restoring(checkpoint: Path) -> Iterator[None]:
    """Raise a ValueError for any error of the block, because libraries raise a dozen kinds for malformed bytes."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{checkpoint} cannot be restored: {type(error).__name__}: {one_line(error)}. "
            "Delete this folder to continue from the checkpoint before it"
        ) from error


def _list(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir() and path.name.isdecimal())


@dataclasses.dataclass
class Curve:
    """A row of numbers for each rollout, all with the same columns, and the steps and results of each evaluation."""

    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    evaluations: list[tuple[int, HeldOut]] = dataclasses.field(default_factory=list)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return by name an array (R,) for each column of R rows, and arrays (M, K) for M evaluations of K episodes."""
        columns = self.rows[0] if self.rows else {}
        arrays = {_ROW + column: np.array([row[column] for row in self.rows]) for column in columns}
        arrays[f"{_EVALUATION}trained"] = np.array([trained for trained, _ in self.evaluations], dtype=np.int64)
        for name in _RESULTS if self.evaluations else ():
            arrays[_EVALUATION + name] = np.array([getattr(one, name) for _, one in self.evaluations])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Curve:
        """Return the curve whose `to_arrays` returned these arrays; arrays with other names are ignored."""
        columns = {name.removeprefix(_ROW): array.tolist() for name, array in arrays.items() if name.startswith(_ROW)}
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        trained = arrays[f"{_EVALUATION}trained"].tolist()
        if not trained:
            return cls(rows)
        results = zip(*(arrays[_EVALUATION + name] for name in _RESULTS), strict=True)
        return cls(rows, [(steps, HeldOut(*values)) for steps, values in zip(trained, results, strict=True)])


@dataclasses.dataclass
class RolloutCounts:
    """Sums over a rollout's ended episodes, NaN if unknown; `agent_steps` and `reward` are over all of its steps."""

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
        """Return the values of `_COLUMNS`."""
        ended, rewards = self.episodes or math.nan, self.reward / self.agent_steps
        means = round(self.successes / ended, 4), round(self.steps / ended, 2), round(rewards, 5)
        return dict(zip(_COLUMNS, (self.episodes, *means), strict=True))

    def means(self, config: GridConfig) -> dict[str, float]:
        """Return the values to log, with only the metrics that `on_target` defines. NaN if no episode ended."""
        ended, lifelong = self.episodes or math.nan, config.on_target == "restart"
        rates = {"csr": self.successes / ended, **{name: getattr(self, name) / ended for name in SUMMED}}
        defined = {name: rate for name, rate in rates.items() if (name == "throughput") == lifelong}
        defined = defined if config.has_targets else {}
        rewards = self.reward / (self.agent_steps or math.nan)
        return {**defined, "episodes": self.episodes, "mean_steps": self.steps / ended, "reward_per_step": rewards}


def training_bar(console: Console) -> ProgressBar:
    """Return the progress bar of a training, with figures of the policy beside it."""
    figures = TextColumn("{task.fields[figures]}", markup=False)
    return ProgressBar(console, TaskProgressColumn(), figures, is_logged=True)


class Training:
    """A training in progress: its results so far, its log, its checkpoints and its bar."""

    def __init__(self, folder: Path, options: TrainOptions, bar: ProgressBar) -> None:
        self.folder, self.options, self.bar = folder, options, bar
        self.log, self.curve, self.unwritten = Log(), Curve(), Unwritten()
        self.last = 0  # the steps until the last checkpoint
        self._hidden, self._began = () if options.grid.has_targets else ("success_rate",), 0.0
        self.update_bar: Callable[..., None] = lambda **_: None  # takes `completed`, the steps, and `figures`, a text

    def run(self, train: Callable[[], object], total: int, done: int) -> int:
        """Train from `done` to `total` steps of all agents, and return the exit code, 130 after Ctrl-C."""
        # Seconds continue from those of the run before its resumption.
        self._began = time.perf_counter() - (self.curve.rows[-1]["seconds"] if self.curve.rows else 0.0)
        with self.bar.doing("training", total, done) as self.update_bar:
            self.update_bar(figures=self._describe())
            try:
                train()
            except KeyboardInterrupt:
                said = "interrupted: saving and evaluating what was learned; Ctrl-C again gives that up"
                self.bar.console.print(said)
                return 130
        return 0

    def add_rollout(self, steps: int, counts: RolloutCounts) -> None:
        """Add a row to the metrics, and log it."""
        seconds = round(time.perf_counter() - self._began, 2)
        row = {"steps": steps, **counts.metrics(), "seconds": seconds}
        self.curve.rows.append({name: value for name, value in row.items() if name not in self._hidden})
        self.log.add(steps, "rollout", counts.means(self.options.grid))
        self.update_bar(completed=steps, figures=self._describe())

    def evaluate(self, steps: int, act: Act) -> None:
        """Evaluate after so many steps, unless that has been done."""
        if self.curve.evaluations and self.curve.evaluations[-1][0] >= steps:
            return
        options = self.options
        with self.bar.doing(f"evaluating after {steps:,} steps", options.grid.max_cycles) as update:
            held_out = play_held_out(options.grid, range(options.episodes), act, update)
        self.curve.evaluations.append((steps, held_out))
        self.log.evaluation(steps, held_out)
        self.update_bar(figures=self._describe())

    def is_due(self, steps: int) -> bool:
        """Return whether a multiple of ``--checkpoint-every`` has been passed since the last checkpoint."""
        every = self.options.checkpoint_every
        return every > 0 and steps // every > self.last // every

    def save(self, steps: int, write: Callable[[Path], None]) -> None:
        """Save the metrics and a checkpoint, whose files `write` writes; delete checkpoints that are too old."""
        if self.last == steps:
            return
        self.log.flush()
        path = self.folder / _CHECKPOINTS / f"{steps:012}"
        with self.bar.doing(f"saving a checkpoint after {steps:,} steps"):
            try:
                with create_folder(path) as temporary:
                    write(temporary)
            except OSError as error:
                failed = f"the checkpoint {path} cannot be written, and the training has stopped: {error}"
                raise OSError(failed) from error
            self.last = steps
            for old in _list(path.parent)[:-KEPT]:
                # Renamed first, so that a process that is killed here leaves no incomplete checkpoint.
                hidden = old.with_name(f".{old.name}.old")
                with contextlib.suppress(OSError):
                    old.rename(hidden)
                shutil.rmtree(hidden, ignore_errors=True)
            self.write_rows()

    def write_rows(self) -> None:
        """Write metrics.csv."""
        names = [name for name in ("steps", *_COLUMNS, "seconds") if name not in self._hidden]
        write_rows(self.folder / "metrics.csv", names, self.curve.rows)

    def _describe(self) -> str:
        """Return the text beside the bar: the last evaluation, and the reward in the last rollout."""
        # Success in training is omitted: early on only short episodes end, and those are the successful ones.
        figures, rows = [], self.curve.rows
        summary = self.curve.evaluations[-1][1].summary() if self.curve.evaluations else {}
        if "isr" in summary:
            figures.append(f"success {summary['success_rate']:4.0%}  ISR {summary['isr']:4.0%}")
        if summary and self.options.grid.game is not None:
            figures.append(f"return {summary['mean_return']:.3f}")
        if rows:
            figures.append(f"reward/step {rows[-1]['reward_per_step']:.3f}")
        return "  ".join(figures)
