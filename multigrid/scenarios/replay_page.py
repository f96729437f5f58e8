"""Recordings to look at: one page for the browser, a notebook's cell, or an animated picture."""

from __future__ import annotations

import functools
import html
from os import PathLike
from pathlib import Path
from typing import Any

from multigrid._files import replaced
from multigrid.rendering.episode import Episode
from multigrid.rendering.replay import replay_page
from multigrid.rendering.svg import animated_svg
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios.suite import find_scenario
from multigrid.scenarios.watching import watch

__all__ = ["Replay", "replay"]

_FRAME_HEIGHT = 820


class Replay:
    """An episode to look at; what `replay` returns.

    In a notebook it shows itself, as the page in a frame of its own.

    Args:
        episode: what happened.
    """

    def __init__(self, episode: Episode) -> None:
        self.episode = episode

    @functools.cached_property
    def html(self) -> str:
        """The page, in ASCII: no other file and no network is needed to open it. The same episode gives the same."""
        return replay_page(self.episode)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page, under a temporary name that then takes the file's place.

        Raises:
            OSError: the file cannot be written.
        """
        self._write(path, self.html)

    def save_svg(self, path: str | PathLike[str], **options: Any) -> None:
        """Write an animated picture, as `multigrid.rendering.svg.animated_svg` draws it.

        Args:
            path: where to.
            options: "seconds_per_step", "pause" and "cell", as there.

        Raises:
            ValueError: an option is out of range.
            OSError: the file cannot be written.
        """
        self._write(path, animated_svg(self.episode, **options))

    def _write(self, path: str | PathLike[str], text: str) -> None:
        with replaced(Path(path)) as temporary:
            temporary.write_bytes(text.encode())

    def __repr__(self) -> str:
        return f"<Replay of {self.episode.name!r}, {self.episode.num_steps} steps>"

    def _repr_html_(self) -> str:
        # The frame keeps the page's style and script apart from the notebook's.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="Replay" sandbox="allow-scripts" width="100%" '
            f'height="{_FRAME_HEIGHT}" style="border: 0; border-radius: 12px"></iframe>'
        )


def replay(source: str | PathLike[str] | Scenario | Episode | RecordEpisode) -> Replay:
    """Return a recorded episode as something to look at: a page, a notebook's cell, or an animated picture.

    Args:
        source: the path of a scenario file, or the name of a scenario of the suite where there is no such file; or a
            scenario with actions, an episode, or an environment in a `RecordEpisode`.

    Raises:
        TypeError: it is something else.
        ValueError: the file holds no scenario, nothing has been recorded, or the recording does not play again.
        OSError: the file cannot be read.

    >>> shown = replay("empty-9x7-2")
    >>> shown
    <Replay of 'empty-9x7-2', 6 steps>
    >>> shown.html[:15]
    '<!doctype html>'
    """
    if isinstance(source, Episode):
        return Replay(source)
    if isinstance(source, RecordEpisode):
        return Replay(watch(source.scenario("episode")))
    if isinstance(source, Scenario):
        return Replay(watch(source))
    if isinstance(source, str | PathLike):
        return Replay(watch(find_scenario(source)))
    raise TypeError(
        f"source is of type {type(source).__name__}; expected the path of a scenario file, a name of the suite, a "
        "Scenario, an Episode, or a RecordEpisode, which records what an environment plays"
    )
