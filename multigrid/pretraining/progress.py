"""The progress of a training, as a table with a row for each round."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from multigrid._files import read_bytes, replace_file
from multigrid.pretraining.held_out import FIGURES

__all__ = ["Progress"]


class Progress:
    """A CSV file with a row for each round.

    Its columns are *round*, counted from 1; *seconds* of the training so far; `means`; and the figures of `measure`,
    empty in rounds without a measurement.

    Rows that it has are kept, but for those of rounds that are repeated, and for what is no row, such as a last line
    that was cut off.

    Args:
        file: its path; it is written by the first call of `add`.
        num_rounds: the number of rounds that are done.
        means: the names of the means of a round.
    """

    def __init__(self, file: Path, num_rounds: int, means: Sequence[str] = ("loss",)) -> None:
        self._file = file
        self._means = means
        self.columns = ("round", "seconds", *means, *FIGURES)
        """The names of the columns."""
        self._rows = [row for row in _read(file, len(means)) if int(row[0]) <= num_rounds]
        self._began = time.perf_counter() - (float(self._rows[-1][1]) if self._rows else 0.0)

    def add(self, number: int, means: Mapping[str, float], figures: Mapping[str, float]) -> None:
        """Add the row of a round.

        Args:
            number: of the round, from 1 on.
            means: of the round.
            figures: those of `measure`, or none.
        """
        seconds = time.perf_counter() - self._began
        measured = [str(figures.get(name, "")) for name in FIGURES]
        own = [f"{means[name]:.4f}" for name in self._means]
        self._rows.append([str(number), f"{seconds:.1f}", *own, *measured])
        # The whole file, which is small, so that a loss of power leaves the old one or the new one.
        with replace_file(self._file) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([self.columns, *self._rows])


def _read(file: Path, num_means: int) -> list[list[str]]:
    """Return the rows of a file, without the names of columns and what is no row."""
    if not file.exists():
        return []
    # A line without an end was cut off, perhaps in the middle of a number.
    whole, _, _ = read_bytes(file).decode(errors="replace").rpartition("\n")
    return [row for line in whole.split("\n") if _is_row(row := line.split(","), num_means)]


def _is_row(row: list[str], num_means: int) -> bool:
    if len(row) != 2 + num_means + len(FIGURES) or not row[0].isdecimal():
        return False
    first = 2 + num_means
    try:
        _ = [float(word) for word in (*row[1:first], *filter(None, row[first:]))]
    except ValueError:
        return False
    return True
