"""Report the metrics of a rollout as a table or as JSON."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import multigrid
from multigrid.cli._estimates import defined_names, format_estimate, label_of, numbers_of, tables_by_row, title_of
from multigrid.cli.rollout.options import EpisodeOptions, RolloutOptions
from multigrid.cli.rollout.play import WorldResult
from multigrid.core.rules import RULES_VERSION

__all__ = ["describe_episodes", "print_report", "summarize"]


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
    if len(results) > 1:
        title = title_of(options.policy, options.episodes, " of each world", width)
        return tables_by_row("world", {result.world.name: result.estimates for result in results}, title, width)
    (result,) = results
    table = Table(title=title_of(options.policy, options.episodes, "", width), title_justify="left")
    table.add_column(Text(result.world.name))
    table.add_column("mean", justify="right")
    table.add_column("interval", justify="right")
    for name in defined_names([result.estimates]):
        table.add_row(": ".join(label_of(name)), *format_estimate(name, result.estimates[name]))
    return [table]


def summarize(results: list[WorldResult], options: RolloutOptions) -> dict[str, Any]:
    """Return the options and the metrics as a dict for JSON, with None for undefined metrics."""
    return {
        "policy": options.policy,
        **describe_episodes(options),
        "worlds": [
            {
                "name": result.world.name,
                "num_agents": result.world.config.num_agents,
                "metrics": {name: numbers_of(estimate) for name, estimate in result.estimates.items()},
            }
            for result in results
        ],
    }


def describe_episodes(options: EpisodeOptions) -> dict[str, Any]:
    """Return for JSON which episodes were played, and by which versions."""
    return {
        "seed": options.seed,
        "episodes": options.episodes,
        "rules": RULES_VERSION,
        "multigrid": multigrid.__version__,
    }
