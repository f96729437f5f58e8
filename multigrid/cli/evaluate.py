"""``multigrid evaluate``: compare policies on the same episodes."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.table import Table
from rich.text import Text

from multigrid.cli._episodes import (
    EpisodeOptions,
    check_episodes,
    describe_episodes,
    find_worlds,
    fit_world,
    let_wait,
    parse_episodes,
)
from multigrid.cli._estimates import (
    TITLE,
    defined_names,
    format_estimate,
    label_of,
    numbers_of,
    tables_by_row,
    title_of,
)
from multigrid.cli._files import check_new, check_writable, write_rows
from multigrid.cli._models import make_policy_factory
from multigrid.cli._progress import ProgressBar
from multigrid.config import GridConfig
from multigrid.evaluation import Difference, Evaluation, LowerBounds, evaluate
from multigrid.policies import Policy
from multigrid.policies._named import PolicyFactory

_NOTE = "* 0 is excluded. Costs and gaps: episodes that both policies solved."
# The seconds for a bound that nobody reads.
_MOMENT = 1e-3


@dataclasses.dataclass(frozen=True)
class EvaluateOptions(EpisodeOptions):
    """Compare policies: all play the same episodes, and each is compared with the first one.

    The policies stand before the flags. The worlds are a scenario, scenarios of the suite, or the grid that the flags
    describe, on maps or without; if trained models take part, the defaults of these flags are those of the first
    model's training. Episode i is seeded alike for all policies, so it has the same layout.

    An agent that does not arrive costs all steps of the episode. Intervals are Wilson's for success and CSR, and
    percentile bootstraps over episodes for other metrics. The differences are means over pairs of episodes with equal
    seeds, with bootstrap intervals; those of costs and gaps are over the episodes that both policies solved.
    """

    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")] = ()
    """random, shortest-path; the planners pibt, windowed and lacam; the learned pretrained and pretrained-shield; or
    folders of runs of ``multigrid train``. Of a model only weights are read; no code in it is run."""
    output: Path | None = None
    """A CSV file that does not exist yet, for the metrics of each episode."""


class Comparison(NamedTuple):
    """The results of all policies in a world."""

    name: str
    """The name of the world."""
    num_agents: int
    """The number of agents."""
    evaluations: Mapping[str, Evaluation]
    """The evaluation of each policy, by name."""

    @property
    def differences(self) -> dict[str, dict[str, Difference]]:
        """The differences of each other policy to the first one, by name."""
        (_, first), *others = self.evaluations.items()
        return {policy: evaluation.difference(first) for policy, evaluation in others}


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return compare(parse_evaluate(arguments), Console(stderr=True))


def compare(options: EvaluateOptions, console: Console) -> int:
    """Play all episodes with each policy, print the comparison, write the file that the options name, and return 0."""
    _check(options)
    # Load the weights before the world is created: a description of a huge world is rejected if they do not fit it.
    factories = {policy: make_policy_factory(policy) for policy in options.policies}
    given = find_worlds(options)
    worlds = {name: let_wait(config, options.policies) for name, config in given.items()}
    fitted = {
        name: {policy: fit_world(name, config, policy) for policy in factories} for name, config in worlds.items()
    }
    bar, total = ProgressBar(console, MofNCompleteColumn()), len(worlds) * len(factories) * options.episodes
    with bar.shown(), bar.doing("playing", total) as update:
        for by_policy in fitted.values():
            _check_rules(by_policy, factories, with_bounds=options.gap is not None)
        results = []
        for name, by_policy in fitted.items():
            update(description=name)
            evaluations = _play_world(by_policy, factories, options, lambda: update(advance=1))
            results.append(Comparison(name, worlds[name].num_agents, evaluations))
    _print_report(results, options)
    _print_actions(console, given, worlds, fitted)
    if options.output is not None:
        rows = _list_rows(results)
        write_rows(options.output, list(rows[0]), rows)
        console.print(Text(f"episodes in {options.output}"), soft_wrap=True)
    return 0


def _print_actions(
    console: Console,
    given: Mapping[str, GridConfig],
    worlds: Mapping[str, GridConfig],
    fitted: Mapping[str, Mapping[str, GridConfig]],
) -> None:
    """Print which policies play without the action stay, and whether it was added, if that is so."""
    lines = []
    if given != worlds:
        lines.append("Agents can stay, as with --allow-stay: one of the policies lets them wait.")
    can_stay = any(config.allow_stay for config in worlds.values())
    without = {policy for by_policy in fitted.values() for policy, one in by_policy.items() if not one.allow_stay}
    if can_stay and without:
        lines.append(f"Trained without the action stay, and playing without it: {', '.join(sorted(without))}.")
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _check_rules(
    by_policy: Mapping[str, GridConfig], factories: Mapping[str, PolicyFactory], *, with_bounds: bool
) -> None:
    """Play one step with each policy: rules that a planner does not support are refused before all is played."""
    bounds = LowerBounds(_MOMENT) if with_bounds else None
    for policy, config in by_policy.items():
        evaluate(dataclasses.replace(config, max_cycles=1), factories[policy], [0], per_episode=True, bounds=bounds)


def _play_world(
    by_policy: Mapping[str, GridConfig],
    factories: Mapping[str, PolicyFactory],
    options: EvaluateOptions,
    advance: Callable[[], None],
) -> dict[str, Evaluation]:
    """Play the episodes of a world with each policy; call `advance` for each episode."""
    seeds = range(options.seed, options.seed + options.episodes)
    # Shared, so that each layout has one bound.
    bounds = None if options.gap is None else LowerBounds(options.gap)
    evaluations = {}
    for policy, config in by_policy.items():

        def make(seed: int, factory: PolicyFactory = factories[policy]) -> Policy:
            advance()
            return factory(seed)

        evaluations[policy] = evaluate(config, make, seeds, per_episode=True, bounds=bounds)
    return evaluations


def parse_evaluate(arguments: Sequence[str]) -> EvaluateOptions:
    """Parse the flags."""
    policies = tuple(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
    options = parse_episodes(EvaluateOptions, arguments, "multigrid evaluate", lambda given: given.get("policies", ()))
    if options.policies != policies:
        raise ValueError(f"{' '.join(options.policies)} came after a flag; name the policies before the flags")
    return options


def _check(options: EvaluateOptions) -> None:
    """Raise a ValueError if an option is out of range, or an OSError if the file cannot be written."""
    if not options.policies:
        raise ValueError("no policy is named; expected one or more, such as: multigrid evaluate shortest-path pibt")
    for policy in options.policies:
        if options.policies.count(policy) > 1:
            raise ValueError(f"{policy} comes twice; expected each policy once")
    check_episodes(options)
    check_new(options.output)
    if options.output is not None:
        check_writable("--output", options.output.parent, options.output.name)
        if not options.output.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {options.output.parent}; make it first")


def _print_report(results: list[Comparison], options: EvaluateOptions) -> None:
    """Print the comparison to standard output, as tables or as JSON."""
    console = Console(soft_wrap=True)
    if options.json:
        console.file.write(json.dumps(_summarize(results, options), indent=2) + "\n")
        return
    for result in results:
        title = title_of(result.name, options.episodes, "", console.width)
        for table in tables_by_row("policy", result.evaluations, title, console.width):
            console.print(table)
        for table in _tables_of_differences(result):
            console.print(table)
    if len(options.policies) > 1:
        console.print(Text(_NOTE))


def _tables_of_differences(result: Comparison) -> Iterator[Table]:
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


def _summarize(results: list[Comparison], options: EvaluateOptions) -> dict[str, Any]:
    """Return the options, the metrics and the differences as a dict for JSON, with None for undefined numbers."""
    return {
        "policies": options.policies,
        **describe_episodes(options),
        "worlds": [
            {
                "name": result.name,
                "num_agents": result.num_agents,
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


def _list_rows(results: list[Comparison]) -> list[dict[str, Any]]:
    """Return a row for each episode of each policy, with empty text for undefined metrics."""
    return [
        {"world": result.name, "num_agents": result.num_agents, "policy": policy, "seed": seed}
        | {name: "" if math.isnan(value) else repr(value) for name, value in measures.items()}
        for result in results
        for policy, evaluation in result.evaluations.items()
        for seed, measures in zip(evaluation.seeds, evaluation.episodes, strict=True)
    ]
