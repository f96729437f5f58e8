"""Print estimates of metrics in tables that fit into the terminal, and convert them for JSON."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from multigrid.core.metrics import DELAYS, DELAYS_LABEL, LABELS
from multigrid.evaluation._estimates import Estimate

# The contents of the cells of the tables.
TITLE = "mean [95 % confidence interval]"

# The metrics of large numbers, for which one decimal is enough.
_COUNTS = ("sum_of_costs", "makespan")
# The characters between two columns of a table.
_BORDER = 3


def defined_names(results: Collection[Mapping[str, Estimate]]) -> list[str]:
    """Return the metrics that are defined in at least one result, without "csr", which is the mean of "success"."""
    names = dict.fromkeys(name for result in results for name in result if name != "csr")
    return [name for name in names if not all(math.isnan(result[name].mean) for result in results)]


def make_table(title: Text, *columns: str | Text, **looks: Any) -> Table:
    """Return a table with a column of names and columns of numbers; `looks` are rich's options for the latter."""
    table = Table(title=title, title_justify="left")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right", **looks)
    return table


def tables_by_row(head: str, rows: Mapping[str, Mapping[str, Estimate]], title: Text, width: int) -> list[Table]:
    """Return tables with a row for each result, by name, each with as many metrics as fit into the terminal."""
    names = defined_names(rows.values())
    cells = {name: [label_of(name)[0]] for name in names}
    for name, result in itertools.product(names, rows.values()):
        cells[name].append(" ".join(format_estimate(name, result[name], 2, "\N{EN DASH}")).strip())
    # A column is at least as wide as its longest word: a cell breaks only at the space before its interval.
    least = {name: max(len(word) for cell in column for word in cell.split()) for name, column in cells.items()}
    whole = {name: max(map(len, column)) for name, column in cells.items()}
    room = width - max(map(len, [head, *rows])) - _BORDER - 1
    widths = whole if sum(whole.values()) + _BORDER * len(whole) <= room else least
    tables: list[Table] = []
    for group in _split(widths, room):
        table = Table(title=None if tables else title, title_justify="left")
        table.add_column(head, no_wrap=True)
        for name in group:
            table.add_column(cells[name][0], justify="right", width=widths[name])
        for index, row in enumerate(rows, start=1):
            table.add_row(Text(row), *(cells[name][index] for name in group))
        tables.append(table)
    return tables


def _split(widths: dict[str, int], room: int) -> list[list[str]]:
    """Split columns into groups, each with as many as there is room for, but at least one.

    >>> _split({"success": 11, "isr": 11, "makespan": 13}, room=30)
    [['success', 'isr'], ['makespan']]
    """
    groups: list[list[str]] = []
    for name in widths:
        if groups and sum(widths[one] + _BORDER for one in (*groups[-1], name)) <= room:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def title_of(subject: str, episodes: int, of_each: str, width: int) -> Text:
    """Return the title of a table, in two lines if it is wider than the terminal.

    >>> title_of("pibt", 20, " of each world", 80).plain
    'pibt: 20 episodes of each world, mean [95 % confidence interval]'
    """
    played = f"{subject}: {'1 episode' if episodes == 1 else f'{episodes} episodes'}{of_each},"
    # Text, because the names of folders and worlds may look like rich's markup.
    return Text(f"{played}{' ' if len(played) + len(TITLE) < width else chr(10)}{TITLE}", "bold")


def label_of(name: str) -> tuple[str, str]:
    """Return the short name and the meaning of a metric."""
    if name == "gap":
        return "gap", "sum of costs divided by the bound, minus 1, where all arrived"
    if name == "success":
        return f"success ({LABELS['csr'].short})", "all agents arrived"
    if name == "return":
        return "return", "the rewards of an agent in an episode"
    label = DELAYS_LABEL if name == DELAYS else LABELS.get(name)
    return (name, "a metric of the game") if label is None else (label.short, re.split("[:,]", label.meaning)[0])


def format_estimate(
    name: str, estimate: Estimate, digits: int = 3, between: str = ", ", sign: str = ""
) -> tuple[str, str]:
    """Return a mean and its interval as text; counts have one decimal, other metrics `digits`.

    >>> format_estimate("makespan", Estimate(7.25, 6.0, 8.5)), format_estimate("isr", Estimate(0.5, 0.25, 0.75), 2)
    (('7.2', '[6.0, 8.5]'), ('0.50', '[0.25, 0.75]'))
    """
    if math.isnan(estimate.mean):
        return "-", ""
    form = f"{sign}.1f" if name in _COUNTS else f"{sign}.{digits}f"
    if math.isnan(estimate.low):
        return format(estimate.mean, form), ""
    return format(estimate.mean, form), f"[{estimate.low:{form}}{between}{estimate.high:{form}}]"


def measures_in_csv(measures: Mapping[str, float]) -> dict[str, str]:
    """Return the metrics of an episode for CSV, with empty text for undefined ones."""
    return {name: "" if math.isnan(value) else repr(value) for name, value in measures.items()}


def list_numbers(estimates: Mapping[str, Estimate]) -> dict[str, dict[str, float | None]]:
    """Return the estimate of each metric for JSON, as `numbers_of` does."""
    return {name: numbers_of(estimate) for name, estimate in estimates.items()}


def numbers_of(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate for JSON, with None in place of NaN."""
    return {part: None if math.isnan(value) else value for part, value in estimate._asdict().items()}
