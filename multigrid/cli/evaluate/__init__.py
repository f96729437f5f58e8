"""``multigrid evaluate``: compare policies on the same episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from multigrid.cli._files import write_rows
from multigrid.cli._progress import ProgressBar
from multigrid.cli.evaluate.options import EvaluateOptions, check_options, parse_evaluate
from multigrid.cli.evaluate.report import WorldResult, list_rows, print_report
from multigrid.cli.rollout.play import NamedConfig
from multigrid.cli.rollout.policies import PolicyFactory, make_policy_factory
from multigrid.cli.rollout.worlds import find_worlds, fit_world, let_wait
from multigrid.evaluation.estimates import LowerBounds
from multigrid.evaluation.playing import evaluate
from multigrid.policies import Policy

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
    given = find_worlds(options)
    worlds = [let_wait(world, options.policies) for world in given]
    fitted = [{policy: fit_world(world, policy) for policy in factories} for world in worlds]
    bar, total = ProgressBar(console, MofNCompleteColumn()), len(worlds) * len(factories) * options.episodes
    with bar.shown(), bar.doing("playing", total) as update:
        for by_policy in fitted:
            _check_rules(by_policy, factories, with_bounds=options.gap is not None)
        results = []
        for world, by_policy in zip(worlds, fitted, strict=True):
            update(description=world.name)
            results.append(_play_world(world, by_policy, factories, options, lambda: update(advance=1)))
    print_report(results, options)
    _print_actions(console, given, worlds, fitted)
    if options.output is not None:
        rows = list_rows(results)
        write_rows(options.output, list(rows[0]), rows)
        console.print(Text(f"episodes in {options.output}"), soft_wrap=True)
    return 0


def _print_actions(
    console: Console,
    given: Sequence[NamedConfig],
    worlds: Sequence[NamedConfig],
    fitted: Sequence[Mapping[str, NamedConfig]],
) -> None:
    """Print which policies play without the action stay, and whether it was added, if that is so."""
    lines = []
    if any(before != after for before, after in zip(given, worlds, strict=True)):
        lines.append("Agents can stay, as with --allow-stay: one of the policies lets them wait.")
    can_stay = any(world.config.allow_stay for world in worlds)
    without = {name for by_policy in fitted for name, world in by_policy.items() if not world.config.allow_stay}
    if can_stay and without:
        lines.append(f"Trained without the action stay, and playing without it: {', '.join(sorted(without))}.")
    for line in lines:
        console.print(Text(line), soft_wrap=True)


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
