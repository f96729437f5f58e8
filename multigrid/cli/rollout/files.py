"""The files of a rollout. They appear all at once: an interrupted rollout leaves none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multigrid._files import replaced
from multigrid.cli._figures import Series, heat_figure, sweep_figure, write_figure
from multigrid.cli._files import staged_folder, write_json, write_rows
from multigrid.cli._films import write_gif_film, write_mp4
from multigrid.cli.rolling.intervals import MEASURES
from multigrid.cli.rollout.worlds import Played
from multigrid.rendering.svg import animated_svg
from multigrid.scenarios import save

if TYPE_CHECKING:
    from multigrid.cli.rollout import RolloutOptions, Told

__all__ = ["leave"]

_COLUMNS = ("world", "num_agents", "seed", "steps", *MEASURES)


def leave(told: list[Told], options: RolloutOptions, kinds: frozenset[str], summary: dict[str, Any]) -> Path:
    """Write the files of these kinds into a new folder, and return it.

    Raises:
        FileExistsError: the folder exists already.
    """
    with staged_folder(options.output, "rollouts") as (stage, folder):
        write_json(stage / "metrics.json", summary)
        write_rows(stage / "episodes.csv", _COLUMNS, [row for one in told for row in _rows(one)])
        for one in told:
            for played in one.episodes[: options.keep]:
                _leave_episode(stage, played, options, kinds)
        if "figures" in kinds:
            for one in told:
                episodes = f"{one.heat.episodes} episode{'s' * (one.heat.episodes != 1)}"
                title = f"{one.world.name}, {options.policy}, {episodes}"
                write_figure(stage / f"{one.world.name}-heat.{options.figure_format}", heat_figure(one.heat, title))
            if len({one.world.config.num_agents for one in told}) > 1:
                figure = sweep_figure(_series(told), f"{options.policy}, {options.episodes} episodes each, 95 % CI")
                write_figure(stage / f"by-number-of-agents.{options.figure_format}", figure)
    return folder


def _rows(told: Told) -> list[dict[str, Any]]:
    where = {"world": told.world.name, "num_agents": told.world.config.num_agents}
    return [
        {**where, "seed": played.seed, "steps": played.steps}
        | {name: "" if math.isnan(value) else repr(value) for name, value in played.measures.items()}
        for played in told.episodes
    ]


def _leave_episode(stage: Path, played: Played, options: RolloutOptions, kinds: frozenset[str]) -> None:
    if played.recording is not None:
        save(played.recording, stage / f"{played.recording.name}.json")
    if played.episode is None:
        return
    name = played.episode.name
    if "gif" in kinds:
        write_gif_film(stage / f"{name}.gif", played.episode, options.fps, options.trails)
    if "mp4" in kinds:
        write_mp4(stage / f"{name}.mp4", played.episode, options.fps, options.trails)
    if "svg" in kinds:
        with replaced(stage / f"{name}.svg") as temporary:
            temporary.write_text(animated_svg(played.episode, seconds_per_step=1 / options.fps), encoding="utf-8")


def _series(told: list[Told]) -> list[Series]:
    """A line for each kind of world: the part of its name before the first hyphen."""
    kinds: dict[str, list[Told]] = {}
    for one in told:
        kinds.setdefault(one.world.name.split("-")[0], []).append(one)
    return [
        Series(
            name,
            [one.world.config.num_agents for one in members],
            [one.estimates for one in members],
        )
        for name, members in kinds.items()
    ]
