"""The logs of a training: TensorBoard's event files and runs of Weights & Biases (``--log``).

A value is logged under its name and the steps that were trained, of all agents together:

- ``evaluation/...``, over held-out episodes: ``csr``, ``isr``, ``sum_of_costs``, ``makespan`` and ``throughput``, the
  means of `multigrid.core.metrics`, ``mean_steps`` and ``mean_return``.
- ``rollout/...``, over the training episodes that ended in a rollout: the same metrics, ``mean_steps`` and
  ``episodes``, their number; and ``reward_per_step``, over all steps of an agent.
- ``learner/...``, of the last update of the weights: ``policy_loss``, ``value_loss``, ``entropy`` and
  ``explained_variance``.

All values are also in the file logged.jsonl, from which a resumed run restores values that a logger lacks.

Undefined values are not logged: the throughput unless `on_target` is *restart*, the other metrics if it is, and the
means of a rollout in which no episode ended. Rollouts with ``--vectorizer supersuit``, whose infos have no metrics, log
only ``csr``.
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
from typing import Any

from multigrid._checks import shorten
from multigrid._files import read_bytes, replace_file
from multigrid.cli._files import write_json
from multigrid.cli._held_out import HeldOut

# Names in the folder of the run.
TENSORBOARD, _JOURNAL, _WANDB_RUN = "tensorboard", "logged.jsonl", "wandb.json"


def import_loggers(names: Sequence[str]) -> None:
    """Import the libraries of some loggers."""
    for name in names:
        importlib.import_module({"tensorboard": "torch.utils.tensorboard"}.get(name, name))


@contextlib.contextmanager
def open_log(names: Sequence[str], folder: Path, first: int) -> Iterator[Log]:
    """Open the logs of a training, new or resumed, and close them at the end.

    Values of an earlier process, from `first` steps on, are replaced in TensorBoard and in the files of offline runs of
    Weights & Biases. Points on its server cannot be replaced, so they stay and are not logged again.
    """
    log, code = Log(), 1
    try:
        if names:
            log.open(names, folder, first)
        yield log
        code = log.code
    finally:
        log.close(code)


class Log:
    """Log the values of a training; the values of one number of steps are written together."""

    def __init__(self) -> None:
        self.code = 0  # the exit code of a training that raises nothing
        self._steps, self._values = 0, dict[str, float]()
        self._journal: Path | None = None
        self._board: Any = None  # a writer of TensorBoard
        self._run: Any = None  # of Weights & Biases
        self._next = 0  # the first number of steps that the run lacks

    def open(self, names: Sequence[str], folder: Path, first: int) -> None:
        """Open the files and the loggers, which get the earlier points of the run."""
        self._journal = folder / _JOURNAL
        points = list(_read_points(self._journal, first)) if first > 0 and self._journal.exists() else []
        with replace_file(self._journal) as temporary:
            temporary.write_text("".join(_format_point(*point) for point in points), encoding="utf-8")
        if "tensorboard" in names:
            from torch.utils.tensorboard import SummaryWriter

            # Earlier files may lack points, or have points that are trained again; the new file has all points.
            if (folder / TENSORBOARD).exists():
                shutil.rmtree(folder / TENSORBOARD)
            self._board = SummaryWriter(str(folder / TENSORBOARD))
        if "wandb" in names:
            self._run, self._next = _open_wandb(folder)
        for point in points:
            self._send(*point)

    def evaluation(self, steps: int, held_out: HeldOut) -> None:
        """Log the results of held-out episodes."""
        means = {"mean_steps": held_out.steps.mean(), "mean_return": held_out.returns.mean()}
        self.add(steps, "evaluation", {**held_out.metrics, **means})

    def add(self, steps: int, section: str, values: Mapping[str, float]) -> None:
        """Log the values of a section: "evaluation", "rollout" or "learner"."""
        if steps != self._steps:
            self._write()
            self._steps = steps
        named = {f"{section}/{name}": float(value) for name, value in values.items()}
        self._values |= {name: value for name, value in named.items() if math.isfinite(value)}

    def _write(self) -> None:
        if self._values and self._journal is not None:
            with self._journal.open("a", encoding="utf-8") as file:
                file.write(_format_point(self._steps, self._values))
            self._send(self._steps, self._values)
        self._values = {}

    def _send(self, steps: int, values: Mapping[str, float]) -> None:
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, steps)
        if self._run is not None and steps >= self._next:
            self._run.log(dict(values), step=steps, commit=True)

    def flush(self) -> None:
        """Write all values to the disk, before a checkpoint from which a run may continue."""
        self._write()
        if self._board is not None:
            self._board.flush()  # the service process of wandb writes by itself

    def close(self, code: int) -> None:
        """End the logs with an exit code. After an interruption, the last values are not in the journal."""
        if code == 0:
            self._write()
        run, self._run = self._run, None
        try:
            if self._board is not None:
                self._send(self._steps, self._values)
                self._board.close()
        finally:
            if run is not None:
                # They are not in the history, because the resumed run could not replace them there.
                run.summary.update(self._values)
                run.finish(exit_code=code)


def _read_points(path: Path, first: int) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield the steps and the values of the lines of a journal with fewer steps than `first`."""
    for line in read_bytes(path).decode("utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):
            return  # the process was killed while it wrote the line
        try:
            point = json.loads(line)
            steps, values = point["steps"], point["values"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} has the line {shorten(line)}; expected steps and values: delete the file to go on without it"
            ) from error
        if steps < first:
            yield steps, values


def _format_point(steps: int, values: Mapping[str, float]) -> str:
    return json.dumps({"steps": steps, "values": values}) + "\n"


def _open_wandb(folder: Path) -> tuple[Any, int]:
    """Return a run of Weights & Biases with its files in the folder, and the first number of steps that it lacks."""
    import wandb

    path = folder / _WANDB_RUN
    run_id = json.loads(read_bytes(path))["id"] if path.exists() else None
    earlier = [] if run_id is None else list((folder / "wandb").glob(f"offline-run-*-{run_id}"))
    try:
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "multigrid"),
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
    write_json(path, {"id": run.id})
    if not run.offline:
        return run, int(run.starting_step)
    # The file of a killed process lacks its last values; the new file has all values.
    for one in earlier:
        shutil.rmtree(one)
    return run, 0
