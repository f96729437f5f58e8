"""Report the metrics of a rollout as a table or as JSON."""

from __future__ import annotations

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
from multigrid.policies.evaluation import MEASURES
from multigrid.policies.intervals import Estimate

__all__ = ["print_report", "summarize"]

_FRACTIONS = ("success", "csr", "isr", "throughput")


def print_report(results: list[WorldResult], options: RolloutOptions) -> None:
    """Print the means and their intervals to standard output, as a table or as JSON."""
    console = Console(soft_wrap=True)
    if options.json:
        console.file.write(json.dumps(summarize(results, options), indent=2) + "\n")
        return
    console.print(_table(results, options))


def _table(results: list[WorldResult], options: RolloutOptions) -> Table:
    """Return a table with a row for each measure of a single world, or with a row for each of several worlds."""
    episodes = "1 episode" if options.episodes == 1 else f"{options.episodes} episodes"
    of_each = "" if len(results) == 1 else " of each world"
    # Text, because the names of folders and worlds may look like rich's markup.
    title = Text(f"{options.policy}: {episodes}{of_each}, mean [95 % confidence interval]", "bold")
    table = Table(title=title, title_justify="left")
    names = [name for name in MEASURES if not all(math.isnan(result.estimates[name].mean) for result in results)]
    if len(results) == 1:
        table.add_column(Text(results[0].world.name))
        table.add_column("mean", justify="right")
        table.add_column("interval", justify="right")
        for name in names:
            table.add_row(_title(name), *_format(name, results[0].estimates[name]))
        return table
    table.add_column("world", no_wrap=True)
    # Success equals the cooperative success rate where both are defined.
    names_once = [name for name in names if name != "csr"]
    for name in names_once:
        both = name == "success" and "csr" in names
        short = LABELS[name].short if name in LABELS else name
        table.add_column("success (CSR)" if both else short, justify="right")
    for result in results:
        # The only space is between the mean and its interval, so that a narrow terminal breaks lines there.
        cells = (_format(name, result.estimates[name], digits=2, between="\N{EN DASH}") for name in names_once)
        table.add_row(Text(result.world.name), *map(" ".join, cells))
    return table


def _title(name: str) -> str:
    if name == "success":
        return "success: all agents arrived"
    label = LABELS[name]
    return f"{label.short}: {re.split('[:,]', label.meaning)[0]}"


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
