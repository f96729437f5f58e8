"""Checks of rows that a user gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from multigrid._checks import check_int, is_int, shorten

INSTANCE = ("set", "map", "seed", "agents")
"""The keys of a row that name its instance."""

_LEAST = {"seed": 0, "agents": 1}
_EXPECTED = "expected dicts as multigrid.benchmark.published and play return them"


def check_rows(rows: Any, *names: str) -> list[dict[str, Any]]:
    """Return rows as a list, if they are dicts with some keys that name things."""
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes | Mapping):
        raise TypeError(f"rows are of type {type(rows).__name__}; {_EXPECTED}, in a list")
    checked = list(rows)
    for index, row in enumerate(checked):
        if not isinstance(row, dict):
            raise TypeError(f"row {index} is {shorten(row)}; {_EXPECTED}")
        for name in names:
            if name not in row:
                raise ValueError(f"row {index} has no {name!r}; {_EXPECTED}")
            if name in _LEAST:
                check_int(f"{name!r} of row {index}", row[name], _LEAST[name])
            elif not isinstance(row[name], str):
                raise TypeError(f"{name!r} of row {index} is {shorten(row[name])}; expected a text")
        if "kind" in names and row["kind"] not in ("mapf", "lmapf"):
            raise ValueError(f"'kind' of row {index} is {shorten(row['kind'])}; expected 'mapf' or 'lmapf'")
    return checked


def get_number(row: Mapping[str, Any], name: str, *, above: float | None = None, most: float = math.inf) -> float:
    """Return a number of a row."""
    value = row.get(name)
    what = f"the row of {row.get('algorithm')} for {tuple(row.get(key) for key in INSTANCE)}"
    if value is None:
        raise ValueError(f"{what} has no {name!r}, which is needed here; expected a number")
    if isinstance(value, bool) or not (isinstance(value, float) or is_int(value)):
        raise TypeError(f"{what} has {shorten(value)} as {name!r}; expected a number")
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not math.isfinite(number) or number < 0 or (above is not None and number <= above) or number > most:
        least = "of at least 0" if above is None else f"above {above:g}"
        limit = f", and at most {most:g}" if most < math.inf else ""
        raise ValueError(f"{what} has {shorten(value)} as {name!r}; expected a number {least}{limit}")
    return number
