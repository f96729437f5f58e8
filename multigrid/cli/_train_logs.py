"""The log of a training: TensorBoard's event files (``--log tensorboard``).

A value is logged under its name and the steps that were trained, of all agents together:

- ``evaluation/...``, over held-out episodes: ``csr``, ``isr``, ``sum_of_costs``, ``makespan`` and ``throughput``, the
  means of `multigrid.core.metrics`, ``mean_steps`` and ``mean_return``.
- ``rollout/...``, over the training episodes that ended in a rollout: the same metrics, ``mean_steps`` and
  ``episodes``, their number; and ``reward_per_step``, over all steps of an agent.
- ``learner/...``, of the last update of the weights: ``policy_loss``, ``value_loss``, ``entropy`` and
  ``explained_variance``.

A resumed run hides the points that are trained again, by the ``purge_step`` of TensorBoard's writer.

Undefined values are not logged: the throughput unless `on_target` is *restart*, the other metrics if it is, and the
means of a rollout in which no episode ended. Rollouts with ``--vectorizer supersuit``, whose infos have no metrics, log
only ``csr``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multigrid.cli._held_out import HeldOut

TENSORBOARD = "tensorboard"
"""The name of the log in the folder of the run."""


class Log:
    """Log the values of a training in its folder; without a folder, nothing.

    Earlier points of the run, from `first` steps on, are hidden.
    """

    def __init__(self, folder: Path | None = None, first: int = 0) -> None:
        self._board: Any = None  # a writer of TensorBoard
        if folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / TENSORBOARD), purge_step=first)

    def evaluation(self, steps: int, held_out: HeldOut) -> None:
        """Log the results of held-out episodes."""
        means = {"mean_steps": held_out.steps.mean(), "mean_return": held_out.returns.mean()}
        self.add(steps, "evaluation", {**held_out.metrics, **means})

    def add(self, steps: int, section: str, values: Mapping[str, float]) -> None:
        """Log the values of a section: "evaluation", "rollout" or "learner"."""
        for name, value in values.items() if self._board is not None else ():
            if math.isfinite(value):
                self._board.add_scalar(f"{section}/{name}", value, steps)

    def flush(self) -> None:
        """Write all values to the disk, before a checkpoint from which a run may continue."""
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        """End the log."""
        if self._board is not None:
            self._board.close()
