"""Report a comparison of policies as tables, as JSON, and as rows of episodes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigrid.cli._estimates import (
    TITLE,
    defined_names,
    format_estimate,
    label_of,
    numbers_of,
    tables_by_row,
    title_of,
)
from multigrid.cli.evaluate.options import EvaluateOptions
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.report import describe_episodes
from multigrid.evaluation.results import Difference, Evaluation

__all__ = ["WorldResult", "list_rows", "print_report"]

_NOTE = "* 0 is excluded. Costs and gaps: episodes that both policies solved."


class WorldResult(NamedTuple):
    """The results in one world."""

    world: NamedConfig
    """The world."""
    evaluations: Mapping[str, Evaluation]
    """The evaluation of each policy, by name."""

    @property
    def differences(self) -> dict[str, dict[str, Difference]]:
        """The differences of each other policy to the first one, by name."""
        (_, first), *others = self.evaluations.items()
        return {policy: evaluation.difference(first) for policy, evaluation in others}


def print_report(results: list[WorldResult], options: EvaluateOptions) -> None:
    """Print the comparison to standard output, as tables or as JSON."""
    console = Console(soft_wrap=True)
    if options.json:
        console.file.write(json.dumps(_summarize(results, options), indent=2) + "\n")
        return
    for result in results:
        title = title_of(result.world.name, options.episodes, "", console.width)
        for table in tables_by_row("policy", result.evaluations, title, console.width):
            console.print(table)
        for table in _tables_of_differences(result):
            console.print(table)
    if len(options.policies) > 1:
        console.print(Text(_NOTE))


def _tables_of_differences(result: WorldResult) -> Iterator[Table]:
    """Yield a table for each policy but the first, with a row for each metric."""
    first = next(iter(result.evaluations))
    names = defined_names(result.evaluations.values())
    for policy, differences in result.differences.items():
        table = Table(title=Text(f"{policy} minus {first}, {TITLE}", "bold"), title_justify="left")
        table.add_column("metric")
        for head in ("difference", "pairs", "better", "worse", "equal"):
            table.add_column(head, justify="right", no_wrap=True)
        for name in names:
            one = differences[name]
            mark = " *" if one.excludes_zero else ""
            difference = " ".join(format_estimate(name, one.estimate, 2, sign="+")).strip() + mark
            table.add_row(label_of(name)[0], difference, *map(str, (one.episodes, one.wins, one.losses, one.ties)))
        yield table


def _summarize(results: list[WorldResult], options: EvaluateOptions) -> dict[str, Any]:
    """Return the options, the metrics and the differences as a dict for JSON, with None for undefined numbers."""
    return {
        "policies": options.policies,
        **describe_episodes(options),
        "worlds": [
            {
                "name": result.world.name,
                "num_agents": result.world.config.num_agents,
                "metrics": {
                    policy: {name: numbers_of(estimate) for name, estimate in evaluation.items()}
                    for policy, evaluation in result.evaluations.items()
                },
                "differences": {
                    policy: {name: _numbers_of_difference(one) for name, one in differences.items()}
                    for policy, differences in result.differences.items()
                },
            }
            for result in results
        ],
    }


def _numbers_of_difference(one: Difference) -> dict[str, float | None]:
    counts = {"episodes": one.episodes, "wins": one.wins, "losses": one.losses, "ties": one.ties}
    return {**numbers_of(one.estimate), **counts}


def list_rows(results: list[WorldResult]) -> list[dict[str, Any]]:
    """Return a row for each episode of each policy, with empty text for undefined metrics."""
    return [
        {"world": result.world.name, "num_agents": result.world.config.num_agents, "policy": policy, "seed": seed}
        | {name: "" if math.isnan(value) else repr(value) for name, value in measures.items()}
        for result in results
        for policy, evaluation in result.evaluations.items()
        for seed, measures in zip(evaluation.seeds, evaluation.episodes, strict=True)
    ]
