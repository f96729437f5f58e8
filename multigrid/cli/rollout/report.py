"""Report the metrics of a rollout as a table or as JSON."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import multigrid
from multigrid.cli.rollout.options import RolloutOptions
from multigrid.cli.rollout.play import WorldResult
from multigrid.core.metrics import LABELS
from multigrid.core.rules import RULES_VERSION
from multigrid.policies.intervals import Estimate

__all__ = ["print_report", "summarize"]

_FRACTIONS = ("success", "csr", "isr", "throughput", "gap")
# The characters between two columns of a table.
_BORDER = 3


def print_report(results: list[WorldResult], options: RolloutOptions) -> None:
    """Print the means and their intervals to standard output, as a table or as JSON."""
    console = Console(soft_wrap=True)
    if options.json:
        console.file.write(json.dumps(summarize(results, options), indent=2) + "\n")
        return
    for table in _tables(results, options, console.width):
        console.print(table)


def _tables(results: list[WorldResult], options: RolloutOptions, width: int) -> list[Table]:
    """Return a table with a row for each measure of a single world; of several worlds, tables with a row for each."""
    # Success equals the cooperative success rate, and has one row or column for both.
    shown = [name for name in results[0].estimates if name != "csr"]
    names = [name for name in shown if not all(math.isnan(result.estimates[name].mean) for result in results)]
    if len(results) > 1:
        return _tables_of_worlds(results, options, names, width)
    table = Table(title=_title(options, "", width), title_justify="left")
    table.add_column(Text(results[0].world.name))
    table.add_column("mean", justify="right")
    table.add_column("interval", justify="right")
    for name in names:
        table.add_row(": ".join(_label(name)), *_format(name, results[0].estimates[name]))
    return [table]


def _tables_of_worlds(results: list[WorldResult], options: RolloutOptions, names: list[str], width: int) -> list[Table]:
    """Return tables with a row for each world, each with as many measures as fit into the terminal."""
    worlds = [result.world.name for result in results]
    cells = {name: [_label(name)[0]] for name in names}
    for name, result in itertools.product(names, results):
        cells[name].append(" ".join(_format(name, result.estimates[name], 2, "\N{EN DASH}")).strip())
    # A column needs its longest word: a cell breaks at the space before its interval, and nowhere else.
    least = {name: max(len(word) for cell in column for word in cell.split()) for name, column in cells.items()}
    whole = {name: max(map(len, column)) for name, column in cells.items()}
    room = width - max(map(len, ["world", *worlds])) - _BORDER - 1
    widths = whole if sum(whole.values()) + _BORDER * len(whole) <= room else least
    tables: list[Table] = []
    for group in _split(widths, room):
        title = _title(options, " of each world", width) if not tables else None
        table = Table(title=title, title_justify="left")
        table.add_column("world", no_wrap=True)
        for name in group:
            table.add_column(cells[name][0], justify="right", width=widths[name])
        for index, world in enumerate(worlds, start=1):
            table.add_row(Text(world), *(cells[name][index] for name in group))
        tables.append(table)
    return tables


def _split(widths: dict[str, int], room: int) -> list[list[str]]:
    """Split columns into groups, each with as many as there is room for, and with one at least.

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


def _title(options: RolloutOptions, of_each: str, width: int) -> Text:
    """Return the title of the first table, in two lines if it is wider than the terminal."""
    episodes = "1 episode" if options.episodes == 1 else f"{options.episodes} episodes"
    played, figures = f"{options.policy}: {episodes}{of_each},", "mean [95 % confidence interval]"
    # Text, because the names of folders and worlds may look like rich's markup.
    return Text(f"{played}{' ' if len(played) + len(figures) < width else chr(10)}{figures}", "bold")


def _label(name: str) -> tuple[str, str]:
    """Return the short name and the meaning of a measure."""
    if name == "gap":
        return "gap", "share of the sum of costs above the bound, where all arrived"
    if name == "success":
        return f"success ({LABELS['csr'].short})", "all agents arrived"
    return LABELS[name].short, re.split("[:,]", LABELS[name].meaning)[0]


def _format(name: str, estimate: Estimate, digits: int = 3, between: str = ", ") -> tuple[str, str]:
    """Return a mean and its interval as text."""
    if math.isnan(estimate.mean):
        return "-", ""
    form = f".{digits}f" if name in _FRACTIONS else ".1f"
    if math.isnan(estimate.low):
        return format(estimate.mean, form), ""
    return format(estimate.mean, form), f"[{estimate.low:{form}}{between}{estimate.high:{form}}]"


def summarize(results: list[WorldResult], options: RolloutOptions) -> dict[str, Any]:
    """Return the options and the metrics as a dict for JSON, with None for undefined metrics."""
    return {
        "policy": options.policy,
        "seed": options.seed,
        "episodes": options.episodes,
        "rules": RULES_VERSION,
        "multigrid": multigrid.__version__,
        "worlds": [
            {
                "name": result.world.name,
                "num_agents": result.world.config.num_agents,
                "metrics": {name: _numbers(estimate) for name, estimate in result.estimates.items()},
            }
            for result in results
        ],
    }


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in estimate._asdict().items()}
