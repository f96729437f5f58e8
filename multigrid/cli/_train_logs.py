"""The log of a training: TensorBoard's event files (``--log tensorboard``).

A value is logged under its name and the steps that were trained, of all agents together:

- ``evaluation/...``, over held-out episodes: ``csr``, ``isr``, ``sum_of_costs``, ``makespan`` and ``throughput``, the
  means of `multigrid.core.metrics`, ``mean_steps`` and ``mean_return``.
- ``rollout/...``, over the training episodes that ended in a rollout: the same metrics, ``mean_steps`` and
  ``episodes``, their number; and ``reward_per_step``, over all steps of an agent.
- ``learner/...``, of the last update of the weights: ``policy_loss``, ``value_loss``, ``entropy`` and
  ``explained_variance``.

All values are also in the file logged.jsonl, from which a resumed run restores the others.

Undefined values are not logged: the throughput unless `on_target` is *restart*, the other metrics if it is, and the
means of a rollout in which no episode ended. Rollouts with ``--vectorizer supersuit``, whose infos have no metrics, log
only ``csr``.
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from multigrid._checks import shorten
from multigrid._files import read_bytes, replace_file
from multigrid.cli._held_out import HeldOut

# Names in the folder of the run.
TENSORBOARD, _JOURNAL = "tensorboard", "logged.jsonl"


@contextlib.contextmanager
def open_log(folder: Path | None, first: int) -> Iterator[Log]:
    """Open the log of a training in its folder, or one that keeps nothing, and close it at the end.

    Values of an earlier process, from `first` steps on, are replaced, because they are trained again.
    """
    log = Log()
    try:
        if folder is not None:
            log.open(folder, first)
        yield log
    finally:
        log.close()


class Log:
    """Log the values of a training; the values of one number of steps are written together."""

    def __init__(self) -> None:
        self.finished = False  # whether the training has ended, and nothing of it is trained again
        self._steps, self._values = 0, dict[str, float]()
        self._journal: Path | None = None
        self._board: Any = None  # a writer of TensorBoard

    def open(self, folder: Path, first: int) -> None:
        """Open the files, with the earlier points of the run."""
        from torch.utils.tensorboard import SummaryWriter

        self._journal = folder / _JOURNAL
        points = list(_read_points(self._journal, first)) if first > 0 and self._journal.exists() else []
        with replace_file(self._journal) as temporary:
            temporary.write_text("".join(_format_point(*point) for point in points), encoding="utf-8")
        # Earlier files may lack points, or have points that are trained again; the new file has all points.
        if (folder / TENSORBOARD).exists():
            shutil.rmtree(folder / TENSORBOARD)
        self._board = SummaryWriter(str(folder / TENSORBOARD))
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
        for name, value in values.items():
            self._board.add_scalar(name, value, steps)

    def flush(self) -> None:
        """Write all values to the disk, before a checkpoint from which a run may continue."""
        self._write()
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        """End the log. After an interruption, the last values are not in the journal."""
        if self.finished:
            self._write()
        if self._board is not None:
            self._send(self._steps, self._values)
            self._board.close()


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
