"""The rows and evaluations of a training so far, and their form in checkpoints."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.cli.train.held_out import HeldOut

__all__ = ["Curve"]

_ROW, _EVALUATION = "row.", "evaluation."
# The arrays of `HeldOut`.
_RESULTS = ("success", "steps", "returns", "isr")


@dataclasses.dataclass
class Curve:
    """The metrics of the rollouts, and the evaluations."""

    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """A row of numbers for each rollout, all with the same columns."""
    evaluations: list[tuple[int, HeldOut]] = dataclasses.field(default_factory=list)
    """Pairs of the steps trained so far and the results, in ascending order; all are of equally many episodes."""

    @property
    def seconds(self) -> float:
        """The duration of the training until the last row, without the time between a stop and a resumption."""
        return float(self.rows[-1]["seconds"]) if self.rows else 0.0

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return one-dimensional arrays of R rows and two-dimensional ones of M evaluations, by name.

        >>> curve = Curve([{"steps": 64, "seconds": 0.5}, {"steps": 128, "seconds": 1.0}])
        >>> curve.to_arrays()["row.seconds"].tolist()
        [0.5, 1.0]
        >>> Curve.from_arrays(curve.to_arrays()) == curve
        True
        """
        columns = self.rows[0] if self.rows else {}
        arrays = {_ROW + column: np.array([row[column] for row in self.rows]) for column in columns}
        arrays[f"{_EVALUATION}trained"] = np.array([trained for trained, _ in self.evaluations], dtype=np.int64)
        if self.evaluations:
            for name in _RESULTS:
                arrays[_EVALUATION + name] = np.array([getattr(one, name) for _, one in self.evaluations])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Curve:
        """Return the curve from which `to_arrays` made the arrays; other names are ignored.

        Raises:
            LookupError, ValueError: an array is missing, or is longer than another.
        """
        columns = {name.removeprefix(_ROW): array.tolist() for name, array in arrays.items() if name.startswith(_ROW)}
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        trained = arrays[f"{_EVALUATION}trained"].tolist()
        if not trained:
            return cls(rows)
        by_result = [arrays[_EVALUATION + name] for name in _RESULTS]
        results = [HeldOut(*values) for values in zip(*by_result, strict=True)]
        return cls(rows, list(zip(trained, results, strict=True)))
