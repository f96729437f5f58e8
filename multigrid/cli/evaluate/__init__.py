"""``multigrid evaluate``: compare policies on the same episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from multigrid.cli._files import write_rows
from multigrid.cli.evaluate.options import EvaluateOptions, check_options, parse_evaluate
from multigrid.cli.evaluate.report import WorldResult, list_rows, print_report
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.policies import PolicyFactory, make_policy_factory
from multigrid.cli.rollout.worlds import find_worlds, fit_world
from multigrid.policies import Policy
from multigrid.policies.evaluation import evaluate
from multigrid.policies.gaps import LowerBounds

__all__ = ["EvaluateOptions", "compare", "main"]

# The seconds for a bound that nobody reads.
_MOMENT = 1e-3


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return compare(parse_evaluate(arguments), Console(stderr=True))


def compare(options: EvaluateOptions, console: Console) -> int:
    """Play all episodes with each policy, print the comparison, write the file that the options name, and return 0.

    Raises:
        ValueError: an option is out of range, two exclude one another, or a policy cannot play in a world.
        OSError: a file cannot be read or written.
    """
    check_options(options)
    # Load the weights before the world is created: a description of a huge world is rejected if they do not fit it.
    factories = {policy: make_policy_factory(policy) for policy in options.policies}
    worlds = find_worlds(options)
    fitted = [{policy: fit_world(world, policy) for policy in factories} for world in worlds]
    for by_policy in fitted:
        _check_rules(by_policy, factories, with_bounds=options.gap is not None)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("playing", total=len(worlds) * len(factories) * options.episodes)
        results = []
        for world, by_policy in zip(worlds, fitted, strict=True):
            progress.update(task, description=world.name)
            results.append(_play_world(world, by_policy, factories, options, lambda: progress.advance(task)))
    print_report(results, options)
    if options.output is not None:
        rows = list_rows(results)
        write_rows(options.output, list(rows[0]), rows)
        console.print(Text(f"episodes in {options.output}"), soft_wrap=True)
    return 0


def _check_rules(
    by_policy: Mapping[str, NamedConfig], factories: Mapping[str, PolicyFactory], *, with_bounds: bool
) -> None:
    """Play one step with each policy: rules that a planner does not support are refused before all is played."""
    bounds = LowerBounds(_MOMENT) if with_bounds else None
    for policy, world in by_policy.items():
        config = dataclasses.replace(world.config, max_cycles=1)
        evaluate(config, factories[policy], [0], per_episode=True, bounds=bounds)


def _play_world(
    world: NamedConfig,
    by_policy: Mapping[str, NamedConfig],
    factories: Mapping[str, PolicyFactory],
    options: EvaluateOptions,
    advance: Callable[[], None],
) -> WorldResult:
    """Play the episodes of a world with each policy; call `advance` for each episode."""
    seeds = range(options.seed, options.seed + options.episodes)
    # Shared, so that each layout has one bound.
    bounds = None if options.gap is None else LowerBounds(options.gap)
    evaluations = {}
    for policy, fitted in by_policy.items():

        def make(seed: int, factory: PolicyFactory = factories[policy]) -> Policy:
            advance()
            return factory(seed)

        evaluations[policy] = evaluate(fitted.config, make, seeds, per_episode=True, bounds=bounds)
    return WorldResult(world, evaluations)
