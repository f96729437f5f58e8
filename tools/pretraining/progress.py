"""The progress of a training, as a table with a row for each round."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping
from pathlib import Path

from multigrid._files import read_bytes, replace_file
from tools.pretraining.held_out import FIGURES

COLUMNS = ("round", "seconds", "loss", *FIGURES)


class Progress:
    """A CSV file with a row for each round.

    Its columns are *round*, counted from 1; *seconds* of the training so far; *loss*, the mean of the round; and the
    figures of `measure`, empty in rounds without a measurement.

    Rows that it has are kept, but for those of rounds that are repeated, and for what is no row, such as a last line
    that was cut off.

    Args:
        file: its path; it is written by the first call of `add`.
        num_rounds: the number of rounds that are done.
    """

    def __init__(self, file: Path, num_rounds: int) -> None:
        self._file = file
        self._rows = [row for row in _read(file) if int(row[0]) <= num_rounds]
        self._began = time.perf_counter() - (float(self._rows[-1][1]) if self._rows else 0.0)

    def add(self, number: int, loss: float, figures: Mapping[str, float]) -> None:
        """Add the row of a round, with the figures of `measure` or none."""
        seconds = time.perf_counter() - self._began
        measured = [str(figures.get(name, "")) for name in FIGURES]
        self._rows.append([str(number), f"{seconds:.1f}", f"{loss:.4f}", *measured])
        # The whole file, which is small, so that a loss of power leaves the old one or the new one.
        with replace_file(self._file) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([COLUMNS, *self._rows])


def _read(file: Path) -> list[list[str]]:
    """Return the rows of a file, without the names of columns and what is no row."""
    if not file.exists():
        return []
    # A line without an end was cut off, perhaps in the middle of a number.
    whole, _, _ = read_bytes(file).decode(errors="replace").rpartition("\n")
    return [row for line in whole.split("\n") if _is_row(row := line.split(","))]


def _is_row(row: list[str]) -> bool:
    if len(row) != len(COLUMNS) or not row[0].isdecimal():
        return False
    try:
        _ = [float(word) for word in (*row[1:3], *filter(None, row[3:]))]
    except ValueError:
        return False
    return True
