"""The rows of a run, in a file to which they are appended as they come.

The file is CSV, with a line for each algorithm and instance. What an interrupted or killed process has written stays; a
last line that was cut off is dropped. One process at a time can have it open to write.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from typing_extensions import Self

from benchmarks.pogema.published import INSTANCE, Row, check_rows, get_number
from benchmarks.pogema.scores import instance_of
from multigrid._files import read_bytes

_TEXTS = frozenset({"kind", "set", "map", "algorithm", "status", "multigrid", "python", "numba"})
_COUNTS = frozenset({"seed", "agents", "rules"})
COLUMNS = (
    *("kind", "set", "map", "seed", "agents", "algorithm", "status", "csr", "isr", "sum_of_costs", "makespan"),
    *("throughput", "steps", "lower_bound", "seconds", "time_limit", "multigrid", "rules", "python", "numba"),
)
"""The columns: the keys of `benchmarks.pogema.published` except "collisions", and *status*, the status of a plan, or
"played"; *lower_bound* of the sum of costs; *time_limit*, the seconds that a search could take, 0 without one; and the
versions of this package, its rules, Python and Numba ("" where it is missing)."""

# A pipe would otherwise wait for a reader; Windows has neither the second flag nor such pipes.
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


if sys.platform == "win32":
    import msvcrt

    _FAR = 2**30

    def _lock(descriptor: int) -> None:
        # The locked byte lies behind all rows: others could not read it.
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

    _IS_TAKEN: type[OSError] = PermissionError

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _IS_TAKEN = BlockingIOError


def key_of(row: Row) -> tuple[Any, ...]:
    """Return the kind, the instance and the algorithm, which no two rows of a file share."""
    return row["kind"], *instance_of(row), row["algorithm"]


def read_rows(file: str | PathLike[str]) -> list[Row]:
    """Return the rows of a file that `play` or ``python -m benchmarks.pogema`` has written.

    Rows are dicts with the keys `benchmarks.pogema.COLUMNS`. A last line that was cut off, because its process was
    killed, is left out.

    Args:
        file: the path, such as FOLDER/rows.csv.

    Raises:
        ValueError: the file holds something else, or two rows for one algorithm and instance.
        OSError: the file cannot be read.
    """
    file = Path(file)
    content = read_bytes(file)
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = csv.reader(io.StringIO(whole.decode(), newline=""))
        if (columns := tuple(next(lines, COLUMNS))) != COLUMNS:
            raise ValueError(f"its columns are {', '.join(columns)[:200]}, not {', '.join(COLUMNS)}")  # noqa: TRY301 - one of many
        rows = [{name: _parse(name, word) for name, word in zip(COLUMNS, line, strict=True)} for line in lines]
        check_rows(rows, "kind", *INSTANCE, "algorithm")
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{file} does not hold rows of `benchmarks.pogema`: {error}; name another folder") from error
    if len({key_of(row) for row in rows}) != len(rows):
        raise ValueError(f"{file} holds two rows for one algorithm and instance; delete one of them")
    return rows


def join_rows(*runs: Sequence[Row]) -> list[Row]:
    """Return the rows of several runs; of several rows for one algorithm and instance, only the first.

    Raises:
        TypeError: a row is no dict, or a value has another type.
        ValueError: a row does not name its kind, instance and algorithm; or rows were played with other time limits, or
            under another version of the rules, than rows before.

    >>> one = {"kind": "mapf", "set": "puzzles", "map": "puzzle-00", "agents": 2, "algorithm": "A", "time_limit": 1.0}
    >>> rows = [{**one, "seed": seed} for seed in range(3)]
    >>> len(join_rows(rows[:2], rows[1:]))
    3
    """
    joined: dict[tuple[Any, ...], Row] = {}
    limits: dict[tuple[str, str], float] = {}
    rules = None
    for row in (row for rows in runs for row in check_rows(rows, "kind", *INSTANCE, "algorithm")):
        check_runs([row], limits, rules)
        if row.get("time_limit") is not None:
            limits[row["kind"], row["algorithm"]] = get_number(row, "time_limit")
        rules = row.get("rules", rules)
        joined.setdefault(key_of(row), row)
    return list(joined.values())


def check_runs(rows: Iterable[Row], limits: Mapping[tuple[str, str], float], rules: int | None) -> None:
    """Raise a ValueError if rows were played with other time limits, or under other rules, than those given."""
    for row in rows:
        if rules is not None and row.get("rules", rules) != rules:
            raise ValueError(
                f"rows were played under the versions {row['rules']} and {rules} of the rules; name another folder, "
                "so that they stay apart"
            )
        own = None if row.get("time_limit") is None else get_number(row, "time_limit")
        limit = limits.get((row["kind"], row["algorithm"]), own)
        if own is not None and own != limit:
            raise ValueError(
                f"{row['algorithm']} has rows with a time limit of {own:g} s and of {limit:g} s; give the same limit, "
                "or name another folder"
            )


class RowFile:
    """A file of rows, locked while it is open, and the rows that it had; a last line that was cut off is removed."""

    rows: list[Row]

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, _FLAGS, 0o666)
        try:
            _claim(self._descriptor, file)
            self.rows = read_rows(file)
            end = read_bytes(file).rfind(b"\n") + 1
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

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _write(self, words: Sequence[str]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(words)
        content = line.getvalue().encode()
        end = os.fstat(self._descriptor).st_size
        try:
            # Mostly in one call, so that a signal cannot come in the middle of a line.
            while content:
                content = content[os.write(self._descriptor, content) :]
        except BaseException:
            # The next row must not begin in an incomplete line.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, end)
            raise


def _claim(descriptor: int, file: Path) -> None:
    """Lock a file until it is closed; do nothing on file systems without locks."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise ValueError(f"{file} is no regular file; name another")
    try:
        _lock(descriptor)
    except _IS_TAKEN as error:
        said = f"another run writes to {file}; wait until it has ended, or name another folder"
        raise BlockingIOError(said) from error
    except OSError:
        return


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
