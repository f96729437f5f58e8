"""What a rollout leaves: a table or JSON, and files, all at once: an interrupted rollout writes none."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigrid._files import replace_file
from multigrid.cli._episodes import EpisodeResult, RolloutOptions, describe_episodes
from multigrid.cli._estimates import defined_names, format_estimate, label_of, numbers_of, tables_by_row, title_of
from multigrid.cli._files import Unwritten, staged_folder, write_json, write_rows
from multigrid.evaluation import Evaluation
from multigrid.rendering.svg import animated_svg, describe_large
from multigrid.scenarios import save

if TYPE_CHECKING:
    from multigrid.cli._figures import Series

_COLUMNS = ("world", "num_agents", "seed", "steps")


@dataclasses.dataclass(frozen=True)
class WorldEpisodes:
    """All episodes of a world."""

    name: str
    """The name of the world."""
    episodes: list[EpisodeResult]
    """The episodes, ordered by seed; only the first ``--keep`` of them have arrays and recordings."""
    estimates: Evaluation
    """The mean of each measure, with its confidence interval."""
    heat: Any
    """A `multigrid.cli._figures.HeatMap`, or None if no figures are written. Its module needs Matplotlib: typed Any."""

    @property
    def num_agents(self) -> int:
        """The number of agents."""
        return self.estimates.config.num_agents


def print_report(results: Sequence[WorldEpisodes], options: RolloutOptions) -> None:
    """Print the means and their intervals to standard output, as a table or as JSON."""
    console = Console(soft_wrap=True)
    if options.json:
        console.file.write(json.dumps(summarize(results, options), indent=2) + "\n")
        return
    for table in _tables(results, options, console.width):
        console.print(table)


def _tables(results: Sequence[WorldEpisodes], options: RolloutOptions, width: int) -> list[Table]:
    """Return a table with a row for each measure of a single world; of several worlds, tables with a row for each."""
    if len(results) > 1:
        title = title_of(options.policy, options.episodes, " of each world", width)
        return tables_by_row("world", {result.name: result.estimates for result in results}, title, width)
    (result,) = results
    table = Table(title=title_of(options.policy, options.episodes, "", width), title_justify="left")
    table.add_column(Text(result.name))
    table.add_column("mean", justify="right")
    table.add_column("interval", justify="right")
    for name in defined_names([result.estimates]):
        table.add_row(": ".join(label_of(name)), *format_estimate(name, result.estimates[name]))
    return [table]


def summarize(results: Sequence[WorldEpisodes], options: RolloutOptions) -> dict[str, Any]:
    """Return the options and the metrics as a dict for JSON, with None for undefined metrics."""
    return {
        "policy": options.policy,
        **describe_episodes(options),
        "worlds": [
            {
                "name": result.name,
                "num_agents": result.num_agents,
                "metrics": {name: numbers_of(estimate) for name, estimate in result.estimates.items()},
            }
            for result in results
        ],
    }


def import_libraries(kinds: Collection[str]) -> None:
    """Import the libraries that these kinds of files need."""
    if "figures" in kinds:
        importlib.import_module("multigrid.cli._figures")
    if "gif" in kinds or "mp4" in kinds:
        importlib.import_module("multigrid.cli._films")


def write_outputs(results: Sequence[WorldEpisodes], options: RolloutOptions) -> Path:
    """Write the files that the options select to a new folder, and return the folder."""
    unwritten = Unwritten()
    with staged_folder(options.output, "rollouts") as (stage, folder):
        with unwritten.noting("metrics.json"):
            write_json(stage / "metrics.json", summarize(results, options))
        with unwritten.noting("episodes.csv"):
            columns = (*_COLUMNS, *results[0].episodes[0].measures)
            write_rows(stage / "episodes.csv", columns, [row for result in results for row in _rows(result)])
        for result in results:
            for episode in result.episodes[: options.keep]:
                _write_episode(stage, episode, options, unwritten)
        if "figures" in options.kinds:
            _write_figures(stage, results, options, unwritten)
    if unwritten:
        raise OSError(f"{folder} has all files but {unwritten}")
    return folder


def _rows(result: WorldEpisodes) -> list[dict[str, Any]]:
    world = {"world": result.name, "num_agents": result.num_agents}
    return [
        {**world, "seed": episode.seed, "steps": episode.steps}
        | {name: "" if math.isnan(value) else repr(value) for name, value in episode.measures.items()}
        for episode in result.episodes
    ]


def _write_episode(stage: Path, result: EpisodeResult, options: RolloutOptions, unwritten: Unwritten) -> None:
    if result.recording is not None:
        file = f"{result.recording.name}.json"
        with unwritten.noting(file):
            save(result.recording, stage / file)
    if result.episode is None:
        return
    name = result.episode.name
    look: dict[str, Any] = {"trails": options.trails, "pixels": options.pixels, "smooth": options.smooth}
    if "gif" in options.kinds:
        from multigrid.cli._films import write_gif

        with unwritten.noting(f"{name}.gif"):
            write_gif(stage / f"{name}.gif", [result.episode], options.fps, **look)
    if "mp4" in options.kinds:
        from multigrid.cli._films import write_mp4

        with unwritten.noting(f"{name}.mp4"):
            write_mp4(stage / f"{name}.mp4", result.episode, options.fps, **look)
    if "svg" in options.kinds:
        svg = animated_svg(result.episode, seconds_per_step=1 / options.fps)
        with unwritten.noting(f"{name}.svg"), replace_file(stage / f"{name}.svg") as temporary:
            temporary.write_text(svg, encoding="utf-8")
        if said := describe_large(f"{name}.svg", svg):
            sys.stderr.write(f"multigrid rollout: {said}\n")


def _write_figures(
    stage: Path, results: Sequence[WorldEpisodes], options: RolloutOptions, unwritten: Unwritten
) -> None:
    from multigrid.cli._figures import heat_figure, sweep_figure, write_figure

    for result in results:
        assert result.heat is not None
        episodes = f"{result.heat.episodes} episode{'s' * (result.heat.episodes != 1)}"
        file = f"{result.name}-heat.{options.figure_format}"
        with unwritten.noting(file):
            write_figure(stage / file, heat_figure(result.heat, f"{result.name}, {options.policy}, {episodes}"))
    if len({result.num_agents for result in results}) > 1:
        file = f"by-number-of-agents.{options.figure_format}"
        with unwritten.noting(file):
            figure = sweep_figure(_series(results), f"{options.policy}, {options.episodes} episodes each, 95 % CI")
            write_figure(stage / file, figure)


def _series(results: Sequence[WorldEpisodes]) -> list[Series]:
    """Return a series for each kind of world: the worlds whose names are equal before the first hyphen."""
    from multigrid.cli._figures import Series

    kinds: dict[str, list[WorldEpisodes]] = {}
    for result in results:
        kinds.setdefault(result.name.split("-")[0], []).append(result)
    return [
        Series(name, [one.num_agents for one in members], [one.estimates for one in members])
        for name, members in kinds.items()
    ]
