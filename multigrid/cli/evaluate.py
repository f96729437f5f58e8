"""``multigrid evaluate``: compare policies on the same episodes."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import tyro
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from multigrid.cli import _episodes as episodes
from multigrid.cli._cross_play import play_pairs
from multigrid.cli._episodes import EpisodeOptions, play_episode
from multigrid.cli._files import check_new, check_writable, write_rows
from multigrid.cli._models import make_policy_factory
from multigrid.cli._progress import ProgressBar
from multigrid.evaluation import Difference, Evaluation, LowerBounds


@dataclasses.dataclass(frozen=True)
class EvaluateOptions(EpisodeOptions):
    """Compare policies: all play the same episodes, and the first one is compared with each other one.

    The policies stand before the flags. The worlds are a scenario, scenarios of the suite, or the grid that the flags
    describe, on maps or without; if trained models take part, the defaults of these flags are those of the first
    model's training. Episode i is seeded alike for all policies, so it has the same layout.

    An agent that does not arrive costs all steps of the episode. Intervals are Wilson's for success and CSR, and
    percentile bootstraps over episodes for other metrics. A difference is the first policy's value minus another's, the
    mean over pairs of episodes with equal seeds, with a bootstrap interval; those of costs and gaps are over the
    episodes that both policies solved. The table also counts the pairs in which
    the first policy's value is higher, lower or equal.
    """

    program: ClassVar[str] = "multigrid evaluate"

    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")] = ()
    """random, shortest-path; the planners pibt, windowed and lacam; the pretrained policy (pretrained,
    pretrained-messages, pretrained-shield); or folders of runs of ``multigrid train``. Of a model only weights are
    read; no code in it is run."""
    output: Path | None = None
    """A CSV file that does not exist yet, for the metrics of each episode."""
    cross_play: tuple[str, ...] = ()
    """In place of the comparison: let each of these policies play with each, in each seat, and print the matrix of the
    team's returns, self-play, cross-play and the gap between them. A folder of multigrid.policies.write_pool is all of
    its policies."""
    metric: str | None = None
    """With --cross-play: a metric to show in place of the team's return, such as isr, or score in Overcooked."""
    picture: Path | None = None
    """With --cross-play: an SVG file that does not exist yet, for the matrix."""


class _Comparison(NamedTuple):
    """The results of all policies in a world, by policy."""

    name: str
    num_agents: int
    evaluations: Mapping[str, Evaluation]

    @property
    def differences(self) -> dict[str, dict[str, Difference]]:
        """The first policy's values minus those of each other one."""
        (_, first), *others = self.evaluations.items()
        return {policy: first.difference(evaluation) for policy, evaluation in others}


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return compare(parse_evaluate(arguments), Console(stderr=True))


def compare(options: EvaluateOptions, console: Console) -> int:
    """Play all episodes with each policy, print the comparison, write the file that the options name, and return 0."""
    _check(options)
    if options.cross_play:
        return play_pairs(options, console)
    # Load the weights before the world is created: a description of a huge world is rejected if they do not fit it.
    game = options.grid.game
    factories = {policy: make_policy_factory(policy, game) for policy in options.policies}
    given = episodes.find_worlds(options)
    worlds = {name: episodes.let_wait(config, options.policies) for name, config in given.items()}
    fitted = {
        name: {one: episodes.fit_world(name, config, one) for one in factories} for name, config in worlds.items()
    }
    seeds = range(options.seed, options.seed + options.episodes)
    bar, total = ProgressBar(console, MofNCompleteColumn()), len(worlds) * len(factories) * options.episodes
    with bar.shown(), bar.doing("playing", total) as update:
        results = []
        for name, by_policy in fitted.items():
            update(description=name)
            # Shared, so that each layout has one bound.
            bounds, evaluations = None if options.gap is None else LowerBounds(options.gap), {}
            for policy, config in by_policy.items():
                measures = []
                for seed in seeds:
                    update(advance=1)
                    measures.append(play_episode(name, config, factories[policy], seed, bounds=bounds).measures)
                evaluations[policy] = Evaluation(config, seeds, measures)
            results.append(_Comparison(name, worlds[name].num_agents, evaluations))
    try:
        if options.output is not None:
            rows = [
                {"world": result.name, "num_agents": result.num_agents, "policy": policy, "seed": seed}
                | episodes.measures_in_csv(measures)
                for result in results
                for policy, evaluation in result.evaluations.items()
                for seed, measures in zip(evaluation.seeds, evaluation.episodes, strict=True)
            ]
            write_rows(options.output, list(rows[0]), rows)
            console.print(Text(f"episodes in {options.output}"), soft_wrap=True)
    finally:
        _print_report(results, options)
    episodes.tell_stay(console, given, worlds)
    without = {policy for by_policy in fitted.values() for policy, one in by_policy.items() if not one.allow_stay}
    if without and any(config.allow_stay for config in worlds.values()):
        line = f"Trained without the action stay, and playing without it: {', '.join(sorted(without))}."
        console.print(Text(line), soft_wrap=True)
    return 0


def parse_evaluate(arguments: Sequence[str]) -> EvaluateOptions:
    """Parse the flags."""
    policies = tuple(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
    options = episodes.parse_episodes(EvaluateOptions, arguments)
    if options.policies != policies:
        raise ValueError(f"{' '.join(options.policies)} came after a flag; name the policies before the flags")
    return options


def _check(options: EvaluateOptions) -> None:
    """Raise a ValueError if an option is out of range, or an OSError if the file cannot be written."""
    policies = options.cross_play or options.policies
    if not policies:
        raise ValueError("no policy is named; expected one or more, such as: multigrid evaluate shortest-path pibt")
    comparison = {"POLICY": options.policies or None, "--output": options.output, "--gap": options.gap}
    pairs = {"--metric": options.metric, "--picture": options.picture}
    for flag, value in (comparison if options.cross_play else pairs).items():
        if value is not None:
            raise ValueError(
                f"{flag} is {'not for' if options.cross_play else 'for'} --cross-play; leave out one of them"
            )
    for policy in policies:
        if policies.count(policy) > 1:
            raise ValueError(f"{policy} comes twice; expected each policy once")
    episodes.check_episodes(options)
    for flag, path in {"--output": options.output, "--picture": options.picture}.items():
        check_new(path)
        if path is not None:
            check_writable(flag, path.parent, path.name)
            if not path.parent.is_dir():
                raise FileNotFoundError(f"there is no folder {path.parent}; make it first")


def _print_report(results: list[_Comparison], options: EvaluateOptions) -> None:
    """Print the comparison to standard output, as tables or as JSON."""
    console = Console()
    if options.json:
        console.out(json.dumps(_summarize(results, options), indent=2), highlight=False)
        return
    for result in results:
        title = episodes.title_of(result.name, options.episodes)
        console.print(episodes.table_by_row("policy", result.evaluations, title))
        names = episodes.defined_names(result.evaluations.values())
        for policy, differences in result.differences.items():
            title = f"{options.policies[0]} minus {policy}, {episodes.TITLE}"
            table = episodes.make_table(title, "metric", "difference", "pairs", "higher", "lower", "equal")
            for name in names:
                one = differences[name]
                cells = *episodes.format_estimate(name, one.estimate, 2, sign="+"), "*" * one.excludes_zero
                counts = map(str, (one.episodes, one.higher, one.lower, one.ties))
                table.add_row(episodes.label_of(name)[0], Text(" ".join(filter(None, cells))), *counts)
            console.print(table)
    if len(options.policies) > 1:
        console.print("* 0 is excluded. Costs and gaps: episodes that both policies solved.", soft_wrap=True)


def _summarize(results: list[_Comparison], options: EvaluateOptions) -> dict[str, Any]:
    """Return the options, the metrics and the differences as a dict for JSON, with None for undefined numbers."""
    worlds = [
        {
            "name": result.name,
            "num_agents": result.num_agents,
            "metrics": {policy: episodes.list_numbers(evaluation) for policy, evaluation in result.evaluations.items()},
            "differences": {
                policy: {
                    name: episodes.numbers_of(one.estimate)
                    | {"episodes": one.episodes, "higher": one.higher, "lower": one.lower, "ties": one.ties}
                    for name, one in differences.items()
                }
                for policy, differences in result.differences.items()
            },
        }
        for result in results
    ]
    return {"policies": options.policies, **episodes.describe_episodes(options), "worlds": worlds}
