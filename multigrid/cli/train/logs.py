"""The logs of a training: TensorBoard's event files and runs of Weights & Biases (``--log``).

A value is logged under its name and the steps that were trained, of all agents together:

- ``evaluation/...``, over held-out episodes: ``csr``, ``isr``, ``sum_of_costs``, ``makespan`` and ``throughput``, the
  means of `multigrid.core.metrics`, ``mean_steps`` and ``mean_return``.
- ``rollout/...``, over the training episodes that ended in a rollout: the same metrics, ``mean_steps`` and
  ``episodes``, their number; and ``reward_per_step``, over all steps of an agent.
- ``learner/...``, of the last update of the weights: ``policy_loss``, ``value_loss``, ``entropy`` and
  ``explained_variance``.

All values are also in the file logged.jsonl, from which a resumed run restores what a logger lacks.

Undefined values are not logged: the throughput unless `on_target` is *restart*, the other metrics if it is, and the
means of a rollout in which no episode ended.
Rollouts with ``--vectorizer supersuit``, whose infos have no metrics, log ``csr`` alone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from multigrid._checks import shorten
from multigrid._files import read_bytes, replace_file
from multigrid.cli._files import write_json
from multigrid.cli.train.held_out import HeldOut

__all__ = ["TENSORBOARD", "Log", "import_loggers", "open_log"]

TENSORBOARD = "tensorboard"
"""The folder of TensorBoard's files, in that of the run."""

_MODULES = {"tensorboard": "torch.utils.tensorboard", "wandb": "wandb"}
_JOURNAL, _WANDB_RUN = "logged.jsonl", "wandb.json"
_PROJECT = "multigrid"

_Point = tuple[int, dict[str, float]]
"""A number of steps, and the values by name."""


class _Logger(Protocol):
    """A destination of logged values."""

    def write(self, steps: int, values: Mapping[str, float]) -> None:
        """Write all values of a number of steps, which is larger than that of the call before."""

    def flush(self) -> None:
        """Write everything to the disk, if that can be done."""

    def close(self, code: int, steps: int, values: Mapping[str, float]) -> None:
        """End the log of a training with an exit code, and with values that a resumed run would log again."""


def import_loggers(names: Sequence[str]) -> None:
    """Import the libraries of some loggers.

    Raises:
        ModuleNotFoundError: one is not installed.
    """
    for name in names:
        importlib.import_module(_MODULES[name])


@contextlib.contextmanager
def open_log(names: Sequence[str], folder: Path, first: int) -> Iterator[Log]:
    """Open the logs of a training, new or resumed, and close them at the end.

    Args:
        names: "tensorboard", "wandb" or both.
        folder: of the run; it has a config.json.
        first: the least number of steps for which values will be logged. What an earlier process has logged for these
            is replaced in TensorBoard and in the files of offline runs of Weights & Biases. Points on its server
            cannot be replaced, so they stay and are not logged again.

    Raises:
        ValueError: logged.jsonl is damaged.
        ConnectionError: Weights & Biases cannot be reached, or there is no login.
    """
    loggers: list[_Logger] = []
    log, code, before = Log(loggers), 1, list[_Point]()
    try:
        if names:
            journal = _Journal(folder / _JOURNAL, first)
            loggers.append(journal)
            before = journal.points
        if "tensorboard" in names:
            loggers.append(_TensorBoard(folder / TENSORBOARD, before))
        if "wandb" in names:
            loggers.append(_WeightsAndBiases(folder, before))
        yield log
        code = log.code
    finally:
        log.close(code)


class Log:
    """Log the values of a training to several loggers; the values of one number of steps are written together.

    Attributes:
        code: the exit code of a training that raises nothing.
    """

    def __init__(self, loggers: Sequence[_Logger] = ()) -> None:
        self._loggers = loggers
        self._steps, self._values = 0, dict[str, float]()
        self.code = 0

    def evaluation(self, steps: int, held_out: HeldOut) -> None:
        """Log the results of held-out episodes."""
        summary = held_out.summary()
        means = {name: summary[name] for name in ("mean_steps", "mean_return")}
        self._add(steps, "evaluation", {**held_out.metrics, **means})

    def rollout(self, steps: int, means: Mapping[str, float]) -> None:
        """Log the training episodes that ended in a rollout, as `RolloutCounts.means` returns them."""
        self._add(steps, "rollout", means)

    def learner(self, steps: int, values: Mapping[str, float]) -> None:
        """Log values of the learner."""
        self._add(steps, "learner", values)

    def _add(self, steps: int, section: str, values: Mapping[str, float]) -> None:
        if steps != self._steps:
            self._write()
            self._steps = steps
        named = {f"{section}/{name}": float(value) for name, value in values.items()}
        self._values |= {name: value for name, value in named.items() if math.isfinite(value)}

    def _write(self) -> None:
        if self._values:
            for logger in self._loggers:
                logger.write(self._steps, self._values)
            self._values = {}

    def flush(self) -> None:
        """Write everything to the disk, as before a checkpoint from which a run may continue."""
        self._write()
        for logger in self._loggers:
            logger.flush()

    def close(self, code: int) -> None:
        """End the logs with an exit code."""
        with contextlib.ExitStack() as stack:
            for logger in self._loggers:
                stack.callback(self._close, logger, code)
            if code == 0:
                self._write()

    def _close(self, logger: _Logger, code: int) -> None:
        logger.close(code, self._steps, self._values)


class _Journal:
    """A file with a line of JSON for each number of steps, whose lines before `first` stay."""

    def __init__(self, path: Path, first: int) -> None:
        self._path = path
        self.points: list[_Point] = [] if first == 0 or not path.exists() else list(_read_points(path, first))
        with replace_file(path) as temporary:
            temporary.write_text("".join(map(_format_point, self.points)), encoding="utf-8")

    def write(self, steps: int, values: Mapping[str, float]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_format_point((steps, dict(values))))

    def flush(self) -> None:
        pass

    def close(self, code: int, steps: int, values: Mapping[str, float]) -> None:
        pass


def _read_points(path: Path, first: int) -> Iterator[_Point]:
    for line in read_bytes(path).decode("utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):
            return  # cut off when its process was killed
        try:
            point = json.loads(line)
            steps, values = point["steps"], point["values"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} has the line {shorten(line)}; expected steps and values: delete the file to go on without it"
            ) from error
        if steps < first:
            yield steps, values


def _format_point(point: _Point) -> str:
    steps, values = point
    return json.dumps({"steps": steps, "values": values}) + "\n"


class _TensorBoard:
    def __init__(self, folder: Path, before: Sequence[_Point]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # Earlier files may lack points, or have some that are trained again: the new file has all of them.
        if folder.exists():
            shutil.rmtree(folder)
        self._writer: Any = SummaryWriter(str(folder))
        for point in before:
            self.write(*point)

    def write(self, steps: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, steps)

    def flush(self) -> None:
        self._writer.flush()

    def close(self, code: int, steps: int, values: Mapping[str, float]) -> None:  # noqa: ARG002 - without a code
        self.write(steps, values)
        self._writer.close()


class _WeightsAndBiases:
    """A run of Weights & Biases; its id and files are in the run folder.

    The environment variables of ``wandb`` apply: WANDB_MODE, WANDB_PROJECT, WANDB_ENTITY, WANDB_NAME and others.
    """

    def __init__(self, folder: Path, before: Sequence[_Point]) -> None:
        import wandb

        path = folder / _WANDB_RUN
        run_id = json.loads(read_bytes(path))["id"] if path.exists() else None
        earlier = [] if run_id is None else list((folder / "wandb").glob(f"offline-run-*-{run_id}"))
        try:
            self._run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", _PROJECT),
                name=os.environ.get("WANDB_NAME", folder.absolute().name),
                id=run_id,
                resume=None if run_id is None else "allow",
                dir=str(folder.absolute()),  # its service keeps the folder in which it was started
                config=json.loads(read_bytes(folder / "config.json")),
                settings=wandb.Settings(console="off"),  # the progress bar would fill its log
            )
        except wandb.Error as error:
            raise ConnectionError(
                f"--log wandb: {error} Set WANDB_MODE=offline to log to the run folder alone, for `wandb sync`"
            ) from error
        write_json(path, {"id": self._run.id})
        if self._run.offline:
            # Of a killed process, the last values are missing in its file: the new file has all of them.
            for one in earlier:
                shutil.rmtree(one)
            self._next = 0
        else:
            self._next = int(self._run.starting_step)
        for point in before:
            self.write(*point)

    def write(self, steps: int, values: Mapping[str, float]) -> None:
        if steps >= self._next:
            self._run.log(dict(values), step=steps, commit=True)

    def flush(self) -> None:
        """Do nothing: the service process of ``wandb`` writes the values."""

    def close(self, code: int, steps: int, values: Mapping[str, float]) -> None:  # noqa: ARG002 - without steps
        # Not in the history, where the resumed run could not replace them.
        self._run.summary.update(dict(values))
        self._run.finish(exit_code=code)
