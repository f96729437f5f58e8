"""Show recorded episodes as pages for a browser or a notebook, and as animated pictures."""

from __future__ import annotations

import functools
import html
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from multigrid._files import replace_file
from multigrid.rendering.replay import replay_page
from multigrid.rendering.scene import Episode
from multigrid.rendering.svg import animated_svg, describe_large, still_svg
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios.suite import find_scenario
from multigrid.scenarios.tracing import trace_episode

__all__ = ["Replay", "show_episode"]

_FRAME_HEIGHT = 820


class Replay:
    """A page or a picture of an episode; `show_episode` returns it.

    As the value of a notebook's cell, it is displayed as the page, in an iframe.
    """

    def __init__(self, episode: Episode) -> None:
        self.episode = episode

    @functools.cached_property
    def html(self) -> str:
        """The HTML of the page, in ASCII; it needs no other file and no network. Equal episodes give equal pages."""
        return replay_page(self.episode)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file. An existing file is replaced, as a whole or not at all.

        Raises:
            OSError: the file cannot be written.
        """
        self._write(path, self.html)

    def save_svg(self, path: str | PathLike[str], *, step: int | None = None, **options: Any) -> None:
        """Write a picture to a file: the animated episode, or its state after one step.

        Browsers play animations of more than a megabyte slowly; a warning then names what plays well.

        Args:
            path: the file; an existing one is replaced.
            step: from 0, the state after the reset, to the last step; None for the animation.
            options: with a step, "cell" of `multigrid.rendering.svg.still_svg`; without, "seconds_per_step", "pause"
                and "cell" of `multigrid.rendering.svg.animated_svg`.

        Raises:
            TypeError: an option is unknown.
            ValueError: the step or an option is out of range.
            OSError: the file cannot be written.
        """
        svg = animated_svg(self.episode, **options) if step is None else still_svg(self.episode, step, **options)
        self._write(path, svg)
        if step is None and (said := describe_large(str(path), svg)):
            warnings.warn(said, stacklevel=2)

    def _write(self, path: str | PathLike[str], text: str) -> None:
        with replace_file(Path(path)) as temporary:
            temporary.write_bytes(text.encode())

    def __repr__(self) -> str:
        return f"<Replay of {self.episode.name!r}, {self.episode.num_steps} steps>"

    def _repr_html_(self) -> str:
        # The iframe separates the page's style and script from the notebook's.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="Replay" sandbox="allow-scripts" allowfullscreen '
            f'width="100%" height="{_FRAME_HEIGHT}" style="border: 0; border-radius: 12px"></iframe>'
        )


def show_episode(source: str | PathLike[str] | Scenario | Episode | RecordEpisode) -> Replay:
    """Return a recorded episode as a page, for a notebook or a file.

    Args:
        source: the path of a scenario file; the name of a scenario of the suite, if no file has this name; a
            scenario with actions; an episode; or a `RecordEpisode`.

    Raises:
        TypeError: the source is something else.
        ValueError: the file holds no scenario, there is no recorded episode, or it cannot be reproduced.
        OSError: the file cannot be read.

    >>> page = show_episode("empty-9x7-2")
    >>> page
    <Replay of 'empty-9x7-2', 6 steps>
    >>> page.html[:15]
    '<!doctype html>'
    """
    if isinstance(source, Episode):
        return Replay(source)
    if isinstance(source, RecordEpisode):
        return Replay(trace_episode(source.scenario("episode")))
    if isinstance(source, Scenario):
        return Replay(trace_episode(source))
    if isinstance(source, str | PathLike):
        return Replay(trace_episode(find_scenario(source)))
    raise TypeError(
        f"source is of type {type(source).__name__}; expected the path of a scenario file, a name of the suite, a "
        "Scenario, an Episode, or a RecordEpisode, which records what an environment plays"
    )


def replay(source: str | PathLike[str] | Scenario | Episode | RecordEpisode) -> Replay:
    """Call `show_episode`; this is its deprecated name."""
    warnings.warn(
        "multigrid.replay is deprecated and goes with the next release; use multigrid.show_episode",
        DeprecationWarning,
        stacklevel=2,
    )
    return show_episode(source)
