"""The rows of a measurement, kept in a file, so that a measurement can continue after an interruption."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

__all__ = ["Row", "RowsError", "append_row", "read_rows"]


class RowsError(Exception):
    """A file does not hold rows of this measurement; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Row:
    """The result of one task.

    Attributes:
        measure: what was measured.
        set: the set of the instance, or the size of the world.
        agents: the number of agents.
        instance: the name of the instance, or the seed of the world.
        limit: the time limit of the search in seconds, 0 without a limit.
        status: the status of the plan, or *played*.
        figure: the sum of costs, the throughput, or another number, see the functions of
            `benchmarks.planning.measures`; None without a plan.
        bound: no plan has a smaller sum of costs; None if there is no plan.
        published: the published sum of costs or throughput; None if the published algorithm has no solution.
        seconds: the time of the search by the clock; the mean processor time of a step; or another time, see there.
        worst: the seconds of processor time of the longest step.
        cpu: the seconds of processor time for all that the task did.
    """

    measure: str
    set: str
    agents: int
    instance: str
    limit: float
    status: str
    figure: float | None = None
    bound: float | None = None
    published: float | None = None
    seconds: float | None = None
    worst: float | None = None
    cpu: float | None = None

    @property
    def key(self) -> tuple[str, str, int, str]:
        """The fields by which a row differs from all others."""
        return self.measure, self.set, self.agents, self.instance


_COLUMNS = tuple(field.name for field in dataclasses.fields(Row))


def append_row(file: Path, row: Row) -> None:
    """Append a row to a file, which is created if it does not exist."""
    with file.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if lines.tell() == 0:
            writer.writerow(_COLUMNS)
        writer.writerow(_format(value) for value in dataclasses.astuple(row))


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a file, none if it does not exist; remove an incomplete last line from it.

    Raises:
        RowsError: the file holds something else.
    """
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        text = lines.read()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8", newline="")
    try:
        return list(_parse(whole))
    except (ValueError, TypeError) as error:
        raise RowsError(f"{file} does not hold rows of this measurement: {error}; name another folder") from error


def _format(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _parse(text: str) -> Iterator[Row]:
    types = get_type_hints(Row)
    for number, words in enumerate(csv.reader(text.splitlines())):
        if number == 0:
            if tuple(words) != _COLUMNS:
                raise ValueError(f"its columns are {', '.join(words)}")
            continue
        if len(words) != len(_COLUMNS):
            raise ValueError(f"line {number + 1} has {len(words)} columns")
        yield Row(**{name: _convert(types[name], word) for name, word in zip(_COLUMNS, words, strict=True)})


def _convert(kind: Any, word: str) -> Any:
    if kind in {str, int}:
        return kind(word)
    return float(word) if word or kind is float else None
