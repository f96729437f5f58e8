"""Draw episodes as SVG files, animated by style sheets, for papers, slides and READMEs."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, shorten
from multigrid._palette import Colour, contrast, hexadecimal, legible, parse_colour, rim
from multigrid.actions import Outcome
from multigrid.rendering._episode import Episode
from multigrid.rendering._scene import HELD, Badge, Mark, place_arrow

__all__ = ["animated_svg", "compare_svg", "describe_large", "still_svg"]

# In pixels: the longer side of a picture, the longest of a large grid, and the width of a comparison.
_LONGER_SIDE, _LONGEST_SIDE, _LONGEST_COMPARISON = 640, 1280, 920
_LARGEST_CELL, _LARGEST_COMPARED, _READABLE_CELL, _SMALLEST_CELL = 40, 64, 20, 3
_FLOOR: Colour = (255, 255, 255)
_WALL, _LINE, _EDGE = "#46464e", "#c9cbd0", "#a9acb3"
_INK, _BAD = "#1f232b", "#c1121f"
_PALE = 0.4
_LARGE = 1_000_000  # Browsers play larger animations slowly.
_FONT = "system-ui,sans-serif"
# Captions are as far from white as from a dark page.
_CAPTION_STYLE = f'font-family="{_FONT}" text-anchor="middle" fill="#767b83"'
_CAPTION, _CAPTION_HEIGHT = 15, 30
_NUMBERS_FROM, _LINES_FROM = 16, 5
# In pixels: the line below a picture, and its letters.
_LINE_HEIGHT, _SAID = 22, 14
# XML cannot represent these.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def animated_svg(
    episode: Episode, *, seconds_per_step: float = 0.4, pause: float = 2.0, cell: int | None = None
) -> str:
    """Return an SVG that plays an episode in a loop, with a pause at its end.

    Agents glide from cell to cell, and are pale while they are delayed; a target carries its agent's number, and is
    filled while that agent stands on it. If from some step on nothing new happens, the animation ends a few steps
    later, and says so. The SVG has no script, so it also plays in an ``<img>``. With the browser setting for reduced
    motion, it shows the state after the reset.

    Args:
        episode: the episode.
        seconds_per_step: the duration of a step.
        pause: the seconds for which the last state is shown.
        cell: the side of a cell in pixels; by default the longer side of the picture has about 640 pixels, or
            of a large grid at most 1,280.

    Raises:
        ValueError: an argument is out of range.

    >>> import multigrid.scenarios
    >>> from multigrid.scenarios.tracing import trace_episode
    >>> animated_svg(trace_episode(multigrid.scenarios.get("empty-9x7-2"))).count("@keyframes")
    4
    """
    episode = episode.until(episode.last_shown)
    clock = _start_clock(episode.num_steps, seconds_per_step, pause)
    return _draw(_View(episode, 0, _side(episode, cell), clock))


def compare_svg(episodes: Mapping[str, Episode], *, seconds_per_step: float = 0.4, pause: float = 2.0) -> str:
    """Return an SVG that plays episodes beside one another in a loop, each under its caption; see `animated_svg`.

    Args:
        episodes: by caption, from left to right; each ends as in `animated_svg`, and then waits for the longest one.
        seconds_per_step: the duration of a step.
        pause: the seconds for which the last state is shown.

    Raises:
        ValueError: there is no episode, or an argument is out of range.

    >>> import multigrid.scenarios
    >>> from multigrid.scenarios.tracing import trace_episode
    >>> episode = trace_episode(multigrid.scenarios.get("empty-9x7-2"))
    >>> compare_svg({"once": episode, "again": episode}).count("<circle")
    4
    """
    if not episodes:
        raise ValueError("there are no episodes; expected at least one")
    episodes = {caption: episode.until(episode.last_shown) for caption, episode in episodes.items()}
    clock = _start_clock(max(episode.num_steps for episode in episodes.values()), seconds_per_step, pause)
    columns = sum(episode.walls.shape[0] for episode in episodes.values())
    side = max(_SMALLEST_CELL, min(_LARGEST_COMPARED, _LONGEST_COMPARISON // columns))
    left, height, panels = 0, 0, []
    fitting = (_fit_letters(name, _CAPTION, side * one.walls.shape[0]) for name, one in episodes.items())
    style = f'{_CAPTION_STYLE} font-size="{min(fitting, key=float)}"'
    for caption, episode in episodes.items():
        width = side * episode.walls.shape[0]
        panels += [
            f'<text x="{_number(left + width / 2)}" y="20" {style}>{_escape(caption)}</text>',
            f'<g transform="translate({left} {_CAPTION_HEIGHT})">',
            *_picture(_View(episode, 0, side, clock)),
            "</g>",
        ]
        left, height = left + width + side, max(height, side * episode.walls.shape[1])
    lines = [clock.style(), *panels] if clock else panels
    return _document(left - side, height + _CAPTION_HEIGHT, " and ".join(episodes), lines)


def still_svg(episode: Episode, step: int, *, cell: int | None = None) -> str:
    """Return an SVG of the state of an episode after a step, 0 to T; `cell` is as in `animated_svg`.

    Raises:
        ValueError: an argument is out of range.

    >>> import multigrid.scenarios
    >>> from multigrid.scenarios.tracing import trace_episode
    >>> still_svg(trace_episode(multigrid.scenarios.get("empty-9x7-2")), 3).count("<circle")
    2
    """
    if not is_int(step) or not 0 <= step <= episode.num_steps:
        raise ValueError(f"step is {shorten(step)}; expected 0 to {episode.num_steps}")
    return _draw(_View(episode, step, _side(episode, cell), None))


def _start_clock(num_steps: int, seconds_per_step: float, pause: float) -> _Clock | None:
    """Return a clock for this number of steps, or None for 0 steps."""
    if not 0 < seconds_per_step < np.inf:
        raise ValueError(f"seconds_per_step is {shorten(seconds_per_step)}; expected a number of seconds")
    if not 0 <= pause < np.inf:
        raise ValueError(f"pause is {shorten(pause)}; expected a number of seconds")
    return _Clock(seconds_per_step, num_steps * seconds_per_step + pause) if num_steps else None


class _Clock:
    """Collect the animations of a picture."""

    def __init__(self, seconds_per_step: float, total: float) -> None:
        self._share = 100 * seconds_per_step / total
        self.total = total
        self.rules: list[str] = []

    def frames(self, steps: NDArray[np.int64], describe: Callable[[int], str]) -> str:
        """Add keyframes, which begin at step 0, and return their name."""
        name = f"k{len(self.rules)}"
        # The last value holds until the end.
        marks = [*((step * self._share, describe(step)) for step in steps.tolist()), (100, describe(int(steps[-1])))]
        frames = "".join(f"{_number(percent)}%{{{text}}}" for percent, text in marks)
        self.rules.append(f"@keyframes {name}{{{frames}}}")
        return name

    def style(self) -> str:
        return (
            f"<style>.g,.j{{animation:{_number(self.total)}s linear infinite}}.j{{animation-timing-function:step-end}}"
            f"{''.join(self.rules)}@media(prefers-reduced-motion:reduce){{.g,.j{{animation:none!important}}}}</style>"
        )


class _View(NamedTuple):
    """The state after a step, and, with a clock, the animation that begins there."""

    episode: Episode
    step: int
    side: int
    clock: _Clock | None


def _draw(view: _View) -> str:
    episode, _, side, clock = view
    width, height = (side * length for length in episode.walls.shape)
    # The picture adds the animations to the clock.
    picture, ending = _picture(view), _ending(view, height)
    line = _LINE_HEIGHT if ending else 0
    floor = f'<rect y="{height}" width="{width}" height="{line}" fill="{hexadecimal(_FLOOR)}"/>'
    lines = [*([clock.style()] if clock else []), *([floor, ending] if ending else []), *picture]
    return _document(width, height + line, episode.name, [f"<desc>{episode.verdict.text}</desc>", *lines])


def _document(width: int, height: int, title: str, lines: Sequence[str]) -> str:
    """Return an SVG of this size in pixels."""
    box = f'viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {box} role="img">'
    return "\n".join([head, f"<title>{_escape(title)}</title>", *lines, "</svg>\n"])


def _escape(text: str) -> str:
    return html.escape(_UNWRITABLE.sub(chr(0xFFFD), text))


def _picture(view: _View) -> list[str]:
    """Return the elements of a grid with its agents."""
    episode, step, side, _ = view
    palette = [legible(colour, _FLOOR) for colour in episode.colours]
    present = np.flatnonzero(episode.present[step]).tolist()
    squares = [_target(view, agent, palette[agent]) for agent in present if episode.config.has_targets]
    discs = [_agent(view, agent, palette[agent]) for agent in present]
    letters = f'font-family="{_FONT}" font-weight="600" font-size="{_number(0.36 * side)}"'
    outline = f'text-anchor="middle" stroke-width="{_number(0.045 * side)}"'
    marks = [_mark(view, mark, shown) for mark, shown in episode.marked.items()]
    return [_ground(episode, side), f"<g {letters} {outline}>", *marks, *squares, *discs, "</g>"]


def _ending(view: _View, height: int) -> str:
    """Return a line below the picture with the verdict, which appears at the step from which nothing new happens."""
    episode, step, _, clock = view
    repetition = episode.repetition
    if repetition is None or (clock is None and step < repetition.step):
        return ""
    text, width = episode.verdict.text, episode.walls.shape[0] * view.side
    names = _play(clock, np.unique([0, repetition.step]), lambda at: f"opacity:{int(at > 0)}")
    return (
        f'<text x="2" y="{height + 15}" font-family="{_FONT}" font-weight="600" '
        f'font-size="{_fit_letters(text, _SAID, width)}" fill="{_BAD}"{_animate("j", names)}>{text}</text>'
    )


def _fit_letters(text: str, size: float, width: int) -> str:
    """Return the font size, at most `size`, with which a text fits a width; letters are about 0.6 times as wide."""
    return _number(min(size, width / (0.6 * max(1, len(text)))))


def _ground(episode: Episode, side: int) -> str:
    columns, rows = episode.walls.shape
    width, height = side * columns, side * rows
    lines = "".join(f"M{side * x} 0V{height}" for x in range(1, columns))
    lines += "".join(f"M0 {side * y}H{width}" for y in range(1, rows))
    strength = min(1, (side - _LINES_FROM + 1) / 16)
    parts = [f'<rect width="{width}" height="{height}" fill="#fff"/>']
    if side >= _LINES_FROM:
        parts.append(f'<path d="{lines}" stroke="{_LINE}" stroke-opacity="{_number(strength)}"/>')
    walls = []
    for y in range(rows):
        # Adjacent walls of a row are one rectangle.
        row = np.concatenate([[False], episode.walls[:, y], [False]])
        for begin, end in np.flatnonzero(np.diff(row)).reshape(-1, 2).tolist():
            walls.append(f"M{side * begin} {side * y}h{side * (end - begin)}v{side}H{side * begin}z")
    if walls:
        parts.append(f'<path d="{"".join(walls)}" fill="{_WALL}"/>')
    parts.append(f'<path d="M.5.5H{width - 0.5}V{height - 0.5}H.5z" fill="none" stroke="{_EDGE}"/>')
    return "\n".join(parts)


def _mark(view: _View, mark: Mark, shown: NDArray[np.bool_]) -> str:
    _, step, side, clock = view
    names = _play(clock, _changes(shown), lambda at: f"opacity:{int(shown[at])}")
    x, y = (side * place for place in mark.cell)
    square = f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="{mark.colour}"/>'
    ink = hexadecimal(contrast(parse_colour(mark.colour)))
    place = f'x="{_number(x + side / 2)}" y="{_number(y + 0.63 * side)}"'
    letter = f'<text {place} fill="{ink}">{_escape(mark.letter)}</text>' * (side >= _NUMBERS_FROM and mark.letter != "")
    return f'<g opacity="{int(shown[step])}"{_animate("j", names)}>{square}{letter}</g>'


def _target(view: _View, agent: int, colour: Colour) -> str:
    episode, step, side, clock = view
    cells, settled = episode.targets[:, agent], episode.settled[:, agent]
    moves = _play(clock, _changes(cells), lambda at: _translate(cells[at], side))
    turns = _play(clock, _changes(settled), lambda at: f"fill-opacity:{_opacity(settled[at])}")
    jumps = _animate("j", moves + turns)
    x, y = (cells[step] * side).tolist()
    inset, size = _number(0.1 * side), _number(0.8 * side)
    square = (
        f'<rect x="{inset}" y="{inset}" width="{size}" height="{size}" rx="{_number(0.2 * side)}" '
        f'transform="translate({x} {y})" fill="{hexadecimal(colour)}" fill-opacity="{_opacity(settled[step])}" '
        f'stroke="{hexadecimal(colour)}" stroke-width="{_number(0.05 * side)}"{jumps}/>'
    )
    if side >= _NUMBERS_FROM:
        middle, base = _number(side / 2), _number(0.63 * side)
        square += (
            f'<text x="{middle}" y="{base}" transform="translate({x} {y})" fill="{_INK}"{_animate("j", moves)}>'
            f"{agent}</text>"
        )
    fading = _fading(episode, agent, clock)
    return f"<g{_animate('g', fading)}>{square}</g>" if fading else square


def _agent(view: _View, agent: int, colour: Colour) -> str:
    episode, step, side, clock = view
    cells = episode.agents[:, agent]
    # The steps at which a motion changes, and the step at which the last motion ends.
    knots = _changes(np.diff(cells, axis=0, append=cells[-1:]))
    names = _play(clock, knots, lambda at: _translate(cells[at], side)) + _fading(episode, agent, clock)
    x, y = (cells[step] * side).tolist()
    middle, hue, ink = _number(side / 2), hexadecimal(colour), hexadecimal(contrast(colour))
    delayed = episode.outcomes[:, agent] == Outcome.DELAYED
    # While a step is played, the agent looks as after it.
    delayed = np.append(delayed[1:], False) if clock else delayed
    pales = _play(clock, _changes(delayed), lambda at: f"fill-opacity:{_PALE if delayed[at] else 1}")
    darkens = _play(clock, _changes(delayed), lambda at: f"fill:{_INK if delayed[at] else ink}")
    outline = f'fill="{hue}" stroke="{hexadecimal(rim(colour))}"' + f' fill-opacity="{_PALE}"' * bool(delayed[step])
    disc = f'<circle cx="{middle}" cy="{middle}" r="{_number(0.32 * side)}" {outline}{_animate("j", pales)}/>'
    place = f'x="{middle}" y="{_number(0.63 * side)}" fill="{_INK if delayed[step] else ink}"'
    number = f"<text {place}{_animate('j', darkens)}>{agent}</text>" * (side >= _NUMBERS_FROM)
    badges = "".join(_badge(view, badge, shown) for badge, shown in episode.badged.items() if badge.agent == agent)
    return f'<g transform="translate({x} {y})"{_animate("g", names)}>{disc}{number}{badges}</g>'


def _badge(view: _View, badge: Badge, shown: NDArray[np.bool_]) -> str:
    _, step, side, clock = view
    names, parts = _play(clock, _changes(shown), lambda at: f"opacity:{int(shown[at])}"), []
    if badge.direction is not None:
        corners = " ".join(f"{_number(side * x)},{_number(side * y)}" for x, y in place_arrow(badge.direction))
        parts.append(f'<polygon points="{corners}" fill="{_INK}" stroke="{hexadecimal(_FLOOR)}"/>')
    if badge.colour:
        left, top, width = (side * one for one in HELD)
        ink, length = hexadecimal(contrast(parse_colour(badge.colour))), _number(width)
        place = f'x="{_number(left)}" y="{_number(top)}" width="{length}" height="{length}" rx="{_number(width / 6)}"'
        parts.append(f'<rect {place} fill="{badge.colour}" stroke="{ink}"/>')
        if badge.letter and side >= _NUMBERS_FROM:
            place = f'x="{_number(left + width / 2)}" y="{_number(top + 0.8 * width)}"'
            size = f'font-size="{_number(0.8 * width)}"'
            parts.append(f'<text {place} {size} fill="{ink}">{_escape(badge.letter)}</text>')
    return f'<g opacity="{int(shown[step])}" stroke-width="1"{_animate("j", names)}>{"".join(parts)}</g>'


def _fading(episode: Episode, agent: int, clock: _Clock | None) -> list[str]:
    """Return the animation in which an agent or its target disappears during the agent's last move."""
    present = episode.present[:, agent]
    left = np.flatnonzero(~present)[:1]
    return _play(clock, np.array([0, *(left - 1), *left]), lambda at: f"opacity:{int(present[at])}")


def _play(clock: _Clock | None, steps: NDArray[np.int64], describe: Callable[[int], str]) -> list[str]:
    """Return the name of an animation with a style for each step, in a list; none for one step, or without a clock."""
    return [clock.frames(steps, describe)] if clock and len(steps) > 1 else []


def _changes(values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return 0 and the steps whose value differs from that of the step before."""
    differ = (values[1:] != values[:-1]).any(axis=tuple(range(1, values.ndim)))
    return np.concatenate([[0], np.flatnonzero(differ) + 1])


def _translate(cell: NDArray[np.int64], side: int) -> str:
    x, y = (cell * side).tolist()
    return f"transform:translate({x}px,{y}px)"


def _animate(kind: str, names: list[str]) -> str:
    return f' class="{kind}" style="animation-name:{",".join(names)}"' if names else ""


def _opacity(settled: np.bool_) -> str:
    return "1" if settled else ".2"


def _side(episode: Episode, cell: int | None) -> int:
    if cell is None:
        longer: int = max(episode.walls.shape)
        # In the larger picture of a large grid, numbers can be read.
        readable = min(_READABLE_CELL, _LONGEST_SIDE // longer)
        return max(_SMALLEST_CELL, readable, min(_LARGEST_CELL, _LONGER_SIDE // longer))
    if cell < 1:
        raise ValueError(f"cell is {cell}; expected at least 1 pixel")
    return cell


def describe_large(name: str, svg: str) -> str:
    """Return a warning that names formats that play better, if an animation has more than a megabyte, else "".

    >>> describe_large("small.svg", "<svg/>")
    ''
    """
    better = "the page that `multigrid replay` writes and the MP4 of `multigrid rollout --mp4` are smaller and smooth"
    return f"{name} has {len(svg) / 1e6:.1f} MB, which browsers play slowly; {better}" if len(svg) > _LARGE else ""


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
