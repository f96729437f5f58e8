"""``multigrid rollout``: play episodes with a policy, report metrics, and write films, recordings and figures."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from multigrid._files import replace_file
from multigrid.cli import _episodes as episodes
from multigrid.cli._episodes import EpisodeResult, RolloutOptions, play_episode
from multigrid.cli._files import WriteErrors, check_new, check_writable, staged_folder, write_json, write_rows
from multigrid.cli._models import make_policy_factory
from multigrid.cli._progress import ProgressBar
from multigrid.config import GridConfig
from multigrid.datasets._recipe import find_spec, recipe_of_episodes
from multigrid.datasets._writer import DatasetWriter, find_folder, open_writer
from multigrid.envs import spaces
from multigrid.evaluation import Evaluation, LowerBounds
from multigrid.policies._baselines import BUILT_IN, PolicyFactory
from multigrid.rendering.svg import animated_svg, describe_large
from multigrid.scenarios import save
from multigrid.wrappers import standard_config


class _World(NamedTuple):
    """All episodes of a world, by seed; only the first ``--keep`` of them have arrays and recordings."""

    name: str
    episodes: list[EpisodeResult]
    estimates: Evaluation
    heat: Any  # a `multigrid.cli._figures.HeatMap`, whose module needs Matplotlib; None if no figures are written

    @property
    def about(self) -> dict[str, Any]:
        return {"num_agents": self.estimates.config.num_agents}


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return rollout(episodes.parse_episodes(RolloutOptions, arguments), Console(stderr=True))


def rollout(options: RolloutOptions, console: Console) -> int:
    """Play all episodes, print the metrics, write the files that the options name, and return 0."""
    episodes.check_episodes(options)
    # Load the weights before the world is created: a description of a huge world is rejected if they do not fit it.
    factory = make_policy_factory(options.policy, options.grid.game)
    found = episodes.find_worlds(options)
    worlds = {name: episodes.fit_world(name, config, options.policy) for name, config in found.items()}
    if options.dataset is not None:
        worlds = _fit_dataset(worlds, options.policy)
    check_new(options.output)
    if options.kinds:
        check_writable("--output", options.output, parent="rollouts")
    # A missing library is reported before any episode is played.
    for module, kinds in {"_figures": {"figures"}, "_films": {"gif", "mp4"}}.items():
        if kinds & options.kinds:
            importlib.import_module(f"multigrid.cli.{module}")
    results: list[_World] = []
    try:
        _play(worlds, factory, options, console, results)
        if options.dataset is not None:
            console.print(Text(f"dataset {options.dataset} in {find_folder(options.dataset)}"), soft_wrap=True)
    finally:
        # A dataset that cannot be finished takes nothing else with it.
        if len(results) == len(worlds):
            _report(results, options, console)
    return 0


def _report(results: Sequence[_World], options: RolloutOptions, console: Console) -> None:
    """Write the other files, and print the metrics, even if a file cannot be written."""
    try:
        if options.kinds:
            console.print(Text(f"outputs in {_write_outputs(results, options)}"), soft_wrap=True)
    finally:
        _print_report(results, options)


def _play(
    worlds: Mapping[str, GridConfig],
    factory: PolicyFactory,
    options: RolloutOptions,
    console: Console,
    results: list[_World],
) -> None:
    """Play all worlds, append what was played to `results`, and write the dataset if there is one."""
    bar, total = ProgressBar(console, MofNCompleteColumn()), len(worlds) * options.episodes
    with _open_dataset(worlds, options) as writer, bar.shown(), bar.doing("playing", total) as update:
        for name, config in worlds.items():
            update(description=name)
            heat: Any = None
            if "figures" in options.kinds:
                from multigrid.cli._figures import HeatMaps

                heat = HeatMaps()
            bounds = None if options.gap is None else LowerBounds(options.gap)
            played: list[EpisodeResult] = []
            for number in range(options.episodes):
                keep = number < options.keep
                watch = heat is not None or (keep and bool(options.kinds & episodes.FILMS))
                record = keep and "record" in options.kinds
                given: dict[str, Any] = {"watch": watch, "record": record, "bounds": bounds, "writer": writer}
                result = play_episode(name, config, factory, options.seed + number, **given)
                if heat is not None:
                    heat.add(result.episode)
                # Whole episodes of large worlds take much memory.
                played.append(result if keep else result._replace(episode=None))
                update(advance=1)
            estimates = Evaluation(config, [one.seed for one in played], [one.measures for one in played])
            results.append(_World(name, played, estimates, None if heat is None else heat.most_played()))


def _fit_dataset(worlds: Mapping[str, GridConfig], policy: str) -> dict[str, GridConfig]:
    """Return the single world of a dataset, with the observations to record: the standard form or the policy's own."""
    if len(worlds) != 1:
        names = ", ".join([*worlds][:3]) + ", ..." * (len(worlds) > 3)
        raise ValueError(f"--dataset holds the episodes of one world, but there are {len(worlds)}: {names}; name one")
    ((name, config),) = worlds.items()
    # A trained model has its own observations, and so has a single agent with the rules of multigrid/GridWorld-v0.
    keeps = policy not in BUILT_IN or find_spec(config) is not None
    return {name: config if keeps else standard_config(config)}


def _open_dataset(
    worlds: Mapping[str, GridConfig], options: RolloutOptions
) -> contextlib.AbstractContextManager[DatasetWriter | None]:
    """Open a writer of the episodes of the one world, or return None without ``--dataset``."""
    if options.dataset is None:
        return contextlib.nullcontext()
    ((name, config),) = worlds.items()
    recipe = recipe_of_episodes(config, options.policy, options.seed, options.episodes)
    check_writable("--dataset", find_folder(options.dataset))
    pair = spaces.observation_space(config), spaces.action_space(config)
    return open_writer(options.dataset, recipe, pair, f"{name}, played by {options.policy}")


def _print_report(results: Sequence[_World], options: RolloutOptions) -> None:
    """Print means and intervals as JSON, or as a table with a row for each metric or, of several worlds, each world."""
    console = Console()
    if options.json:
        console.out(json.dumps(_summarize(results, options), indent=2), highlight=False)
    elif len(results) > 1:
        title = episodes.title_of(options.policy, options.episodes, " of each world")
        console.print(episodes.table_by_row("world", {one.name: one.estimates for one in results}, title))
    else:
        ((name, _, estimates, _),) = results
        table = episodes.make_table(episodes.title_of(options.policy, options.episodes), name, "mean", "interval")
        for measure in episodes.defined_names([estimates]):
            table.add_row(": ".join(episodes.label_of(measure)), *episodes.format_estimate(measure, estimates[measure]))
        console.print(table)


def _summarize(results: Sequence[_World], options: RolloutOptions) -> dict[str, Any]:
    """Return the options and the metrics as a dict for JSON, with None for undefined metrics."""
    worlds = [{"name": one.name, **one.about, "metrics": episodes.list_numbers(one.estimates)} for one in results]
    return {"policy": options.policy, **episodes.describe_episodes(options), "worlds": worlds}


def _write_outputs(results: Sequence[_World], options: RolloutOptions) -> Path:
    """Write the files that the options select to a new folder, and return the folder."""
    unwritten = WriteErrors()
    with staged_folder(options.output, "rollouts") as (stage, folder):
        with unwritten.noting("metrics.json"):
            write_json(stage / "metrics.json", _summarize(results, options))
        with unwritten.noting("episodes.csv"):
            rows = [
                {"world": one.name, **one.about, "seed": episode.seed, "steps": episode.steps}
                | episodes.measures_in_csv(episode.measures)
                for one in results
                for episode in one.episodes
            ]
            write_rows(stage / "episodes.csv", list(rows[0]), rows)
        for result in results:
            for episode in result.episodes[: options.keep]:
                _write_episode(stage, episode, options, unwritten)
        if "figures" in options.kinds:
            _write_figures(stage, results, options, unwritten)
    if unwritten:
        raise OSError(f"{folder} has all files but {unwritten}")
    return folder


def _write_episode(stage: Path, result: EpisodeResult, options: RolloutOptions, unwritten: WriteErrors) -> None:
    if result.recording is not None:
        file = f"{result.recording.name}.json"
        with unwritten.noting(file):
            save(result.recording, stage / file)
    if result.episode is None:
        return
    name = result.episode.name
    look: dict[str, Any] = {"trails": options.trails, "pixels": options.pixels, "smooth": options.smooth}
    if {"gif", "mp4"} & options.kinds:
        from multigrid.cli import _films as films

        if "gif" in options.kinds:
            with unwritten.noting(f"{name}.gif"):
                films.write_gif(stage / f"{name}.gif", [result.episode], options.fps, **look)
        if "mp4" in options.kinds:
            with unwritten.noting(f"{name}.mp4"):
                films.write_mp4(stage / f"{name}.mp4", result.episode, options.fps, **look)
    if "svg" in options.kinds:
        svg = animated_svg(result.episode, seconds_per_step=1 / options.fps)
        with unwritten.noting(f"{name}.svg"), replace_file(stage / f"{name}.svg") as temporary:
            temporary.write_text(svg, encoding="utf-8")
        if said := describe_large(f"{name}.svg", svg):
            sys.stderr.write(f"multigrid rollout: {said}\n")


def _write_figures(stage: Path, results: Sequence[_World], options: RolloutOptions, unwritten: WriteErrors) -> None:
    from multigrid.cli._figures import Series, heat_figure, sweep_figure, write_figure

    kinds: dict[str, Series] = {}  # by the part of worlds' names before the first hyphen
    for result in results:
        kind, count = result.name.split("-")[0], result.heat.episodes
        series = kinds.setdefault(kind, Series(kind, [], []))
        series.num_agents.append(result.about["num_agents"])
        series.estimates.append(result.estimates)
        file = f"{result.name}-heat.{options.figure_format}"
        title = f"{result.name}, {options.policy}, {count} episode{'s' * (count != 1)}"
        with unwritten.noting(file):
            write_figure(stage / file, heat_figure(result.heat, title))
    if len({count for one in kinds.values() for count in one.num_agents}) > 1:
        file = f"by-number-of-agents.{options.figure_format}"
        title = f"{options.policy}, {options.episodes} episodes each, 95 % CI"
        with unwritten.noting(file):
            write_figure(stage / file, sweep_figure(list(kinds.values()), title))
