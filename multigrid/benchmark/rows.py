"""The rows of a run, in a file to which they are appended as they come.

The file is CSV, with a line for each algorithm and instance. What an interrupted or killed process has written stays; a
last line that was cut off is dropped.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from multigrid._files import read_bytes
from multigrid.benchmark.published import Row
from multigrid.benchmark.scores import instance_of

__all__ = ["COLUMNS", "RowFile", "check_limits", "join_rows", "key_of", "read_rows"]

_TEXTS = frozenset({"kind", "set", "map", "algorithm", "status", "multigrid", "python", "numba"})
_COUNTS = frozenset({"seed", "agents", "rules"})
COLUMNS = (
    *("kind", "set", "map", "seed", "agents", "algorithm", "status", "csr", "isr", "sum_of_costs", "makespan"),
    *("throughput", "steps", "lower_bound", "seconds", "time_limit", "multigrid", "rules", "python", "numba"),
)
"""The columns, which are the keys of `multigrid.benchmark.published` and: *status*, of a plan, or "played";
*lower_bound*, which no plan's sum of costs is below; *time_limit*, the seconds that a search could take, 0 without one;
and the versions of this package, its rules, Python and Numba ("" where it is missing)."""


def key_of(row: Row) -> tuple[Any, ...]:
    """Return what no two rows of a file share: the kind, the instance and the algorithm."""
    return row["kind"], *instance_of(row), row["algorithm"]


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a file, without a last line that was cut off; none if there is no file.

    Raises:
        ValueError: the file holds something else, or two rows for one algorithm and instance.
        OSError: the file cannot be read.
    """
    if not file.exists():
        return []
    content = read_bytes(file)
    whole = content[: content.rfind(b"\n") + 1]
    rows: list[Row] = []
    try:
        for number, words in enumerate(csv.reader(io.StringIO(whole.decode(), newline=""))):
            if number == 0:
                if tuple(words) != COLUMNS:
                    raise ValueError(f"its columns are {', '.join(words)[:200]}")  # noqa: TRY301 - one of many
            else:
                rows.append({name: _parse(name, word) for name, word in zip(COLUMNS, words, strict=True)})
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{file} does not hold rows of `multigrid benchmark`: {error}; name another folder") from error
    if len({key_of(row) for row in rows}) != len(rows):
        raise ValueError(f"{file} holds two rows for one algorithm and instance; delete one of them")
    return rows


def join_rows(*runs: Sequence[Row]) -> list[Row]:
    """Return the rows of several runs; of the rows for one algorithm and instance, the first.

    Raises:
        ValueError: an algorithm had another time limit in another run.

    >>> one = {"kind": "mapf", "set": "puzzles", "map": "puzzle-00", "agents": 2, "algorithm": "A", "time_limit": 1.0}
    >>> rows = [{**one, "seed": seed} for seed in range(3)]
    >>> len(join_rows(rows[:2], rows[1:]))
    3
    """
    joined: dict[tuple[Any, ...], Row] = {}
    limits: dict[tuple[str, str], float] = {}
    for row in (row for rows in runs for row in rows):
        check_limits([row], limits)
        limits[row["kind"], row["algorithm"]] = row["time_limit"]
        joined.setdefault(key_of(row), row)
    return list(joined.values())


def check_limits(rows: Sequence[Row], limits: dict[tuple[str, str], float]) -> None:
    """Raise a ValueError if a row had another time limit than the given one for its kind and algorithm."""
    for row in rows:
        limit = limits.get((row["kind"], row["algorithm"]), row["time_limit"])
        if limit != row["time_limit"]:
            raise ValueError(
                f"{row['algorithm']} has rows with a time limit of {row['time_limit']:g} s and of {limit:g} s; "
                "give the same limit, or name another folder"
            )


class RowFile:
    """A file of rows, opened to append to it; what `read_rows` would drop is cut away.

    Args:
        file: its path; it is made if there is none.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, file: Path) -> None:
        end = read_bytes(file).rfind(b"\n") + 1 if file.exists() else 0
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            os.ftruncate(self._descriptor, end)
            if end == 0:
                self._write(COLUMNS)
        except BaseException:
            self.close()
            raise

    def append(self, row: Row) -> None:
        """Append a row; it is in the file when this returns."""
        self._write([_format(row[name]) for name in COLUMNS])

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, words: Sequence[str]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(words)
        content = line.getvalue().encode()
        # In one call, so that a signal cannot come in the middle of a line.
        while content:
            content = content[os.write(self._descriptor, content) :]


def _format(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _parse(name: str, word: str) -> Any:
    if name in _TEXTS:
        return word
    if name in _COUNTS:
        return int(word)
    return float(word) if word else None
