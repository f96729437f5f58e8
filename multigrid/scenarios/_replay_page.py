"""Show recorded episodes as pages for a browser or a notebook, and as animated pictures."""

from __future__ import annotations

import dataclasses
import functools
import html
import warnings
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from multigrid._checks import shorten
from multigrid._files import distinguish_paths, path_parts, replace_file
from multigrid.game import Game
from multigrid.rendering._episode import Episode
from multigrid.rendering.replay import replay_page
from multigrid.rendering.svg import animated_svg, compare_svg, describe_large, still_svg
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios._worlds import find_scenario
from multigrid.scenarios.tracing import trace_episode

Source: TypeAlias = str | PathLike[str] | Scenario | Episode | RecordEpisode
"""A recorded episode, or the path or the name of a scenario that holds one."""

_FRAME_HEIGHT = 820


class Replay:
    """A page or a picture of an episode, or of two episodes side by side; `show_episode` returns it.

    As the value of a notebook's cell, it is displayed as the page, in an iframe.

    Raises:
        TypeError: an argument is not a `multigrid.rendering._episode.Episode`.
        ValueError: the two episodes have equal names, or different layouts; the message says what differs.
    """

    def __init__(self, episode: Episode, other: Episode | None = None) -> None:
        for name, one in (("episode", episode), ("other", episode if other is None else other)):
            if not isinstance(one, Episode):
                raise TypeError(f"{name} is of type {type(one).__name__}; expected an Episode: see show_episode")
        if other is not None:
            if other.name == episode.name:
                called = f"both episodes are called {shorten(other.name)}"
                raise ValueError(f"{called}; expected two names, see show_episode")
            if difference := _find_difference(episode, other):
                raise ValueError(
                    f"{episode.name!r} and {other.name!r} are not of one layout: {difference}; expected equal walls, "
                    "starts and targets. Show each by itself: `multigrid replay FILE` or show_episode(...)"
                )
        self.episode = episode
        self.other = other

    @functools.cached_property
    def html(self) -> str:
        """The HTML of the page, in ASCII; it needs no other file and no network. Equal episodes give equal pages."""
        return replay_page(self.episode, self.other)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file. An existing file is replaced, as a whole or not at all.

        Raises:
            OSError: the file cannot be written.
        """
        self._write(path, self.html)

    def save_svg(self, path: str | PathLike[str], *, step: int | None = None, **options: Any) -> None:
        """Write a picture to a file: the animated episode, or its state after one step.

        Browsers play animations of more than a megabyte slowly; for these, a warning names formats that play well.

        Args:
            path: the file; an existing one is replaced.
            step: from 0, the state after the reset, to the last step; None for the animation.
            options: those of `still_svg`, `animated_svg`, or for two episodes `compare_svg`, in
                `multigrid.rendering.svg`.

        Raises:
            TypeError: an option is unknown.
            ValueError: the step or an option is out of range; or there are two episodes, which have no still picture.
            OSError: the file cannot be written.
        """
        if self.other is None:
            svg = animated_svg(self.episode, **options) if step is None else still_svg(self.episode, step, **options)
        elif step is None:
            svg = compare_svg({self.episode.name: self.episode, self.other.name: self.other}, **options)
        else:
            raise ValueError(
                f"step is {shorten(step)}, but there are two episodes, which have no still picture; expected None for "
                "their animation, or one episode: show_episode(...) of each"
            )
        self._write(path, svg)
        if step is None and (warning := describe_large(str(path), svg)):
            warnings.warn(warning, stacklevel=2)

    def _write(self, path: str | PathLike[str], text: str) -> None:
        with replace_file(Path(path)) as temporary:
            temporary.write_bytes(text.encode())

    def __repr__(self) -> str:
        shown = [episode for episode in (self.episode, self.other) if episode is not None]
        names, steps = [repr(one.name) for one in shown], [str(one.num_steps) for one in shown]
        return f"<Replay of {' and '.join(names)}, {' and '.join(steps)} steps>"

    def _repr_html_(self) -> str:
        # The iframe separates the page's style and script from the notebook's.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="Replay" sandbox="allow-scripts" allowfullscreen '
            f'width="100%" height="{_FRAME_HEIGHT}" style="border: 0; border-radius: 12px"></iframe>'
        )


def show_episode(source: Source, other: Source | None = None, *, game: type[Game] | None = None) -> Replay:
    """Return a recorded episode as a page, for a notebook or a file; or two of one layout, side by side and in step.

    Args:
        source: the path of a scenario file; the name of a scenario of the suite, if no file has this name; a
            scenario with actions; an episode; or a `RecordEpisode`.
        other: another one, to show beside it. It has the same walls, starts, and targets or lists of targets; the rules
            may differ. The titles of two files are their names without suffix or, if these are equal, the parts of
            their paths that differ.
        game: the game of the files, as for `multigrid.scenarios.load`.

    Raises:
        TypeError: a source is something else.
        ValueError: the file holds no scenario, there is no recorded episode, or it cannot be reproduced; or the two
            recordings have different layouts.
        OSError: a file cannot be read.

    >>> page = show_episode("empty-9x7-2")
    >>> page
    <Replay of 'empty-9x7-2', 6 steps>
    >>> page.html[:15]
    '<!doctype html>'
    >>> show_episode("empty-9x7-2", "empty-9x7-2")
    <Replay of 'empty-9x7-2 (1)' and 'empty-9x7-2 (2)', 6 and 6 steps>
    >>> show_episode("empty-9x7-2", "maze-9x7-2")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: 'empty-9x7-2' and 'maze-9x7-2' are not of one layout: cell ... is a wall in only one of them; ...

    See the page "Watching" (docs/watching.md in the source).
    """
    episode = _trace(source, game)
    if other is None:
        return Replay(episode)
    beside = _trace(other, game, "other")
    name, other_name = distinguish_paths(
        path_parts(source) if isinstance(source, str | PathLike) else (episode.name,),
        path_parts(other) if isinstance(other, str | PathLike) else (beside.name,),
    )
    return Replay(dataclasses.replace(episode, name=name), dataclasses.replace(beside, name=other_name))


def _trace(source: Source, game: type[Game] | None, argument: str = "source") -> Episode:
    if isinstance(source, Episode):
        return source
    if isinstance(source, RecordEpisode):
        source = source.scenario("episode")
    elif isinstance(source, str | PathLike):
        source = find_scenario(source, game)
    if isinstance(source, Scenario):
        return trace_episode(source)
    raise TypeError(
        f"{argument} is of type {type(source).__name__}; expected the path of a scenario file, a name of the suite, a "
        "Scenario, an Episode, or a RecordEpisode, which records what an environment plays"
    )


def _find_difference(one: Episode, other: Episode) -> str | None:
    """Return what differs between the layouts of two episodes, or None."""
    if one.walls.shape != other.walls.shape:
        sizes = [f"{width} x {height}" for width, height in (one.walls.shape, other.walls.shape)]
        return f"the grids have {' and '.join(sizes)} cells"
    if (different := np.argwhere(one.walls != other.walls)).size:
        return f"cell {different[0].tolist()} is a wall in only one of them"
    if one.config.num_agents != other.config.num_agents:
        return f"there are {one.config.num_agents} and {other.config.num_agents} agents"
    pairs = {"starts at": (one.agents[0], other.agents[0]), "goes to": (one.targets[0], other.targets[0])}
    for verb, (cells, others) in pairs.items():
        for agent in np.flatnonzero((cells != others).any(axis=1)):
            return f"agent_{agent} {verb} {cells[agent].tolist()} and {others[agent].tolist()}"
    lists = [episode.config.target_lists for episode in (one, other)]
    first, second = (None if cells is None else cells.tolist() for cells in lists)
    return None if first == second else "the lists of targets differ"
