"""Draw the window of ``multigrid play``: the world and, below it, lines of text."""

from __future__ import annotations

import math
from typing import NamedTuple

import pygame

from multigrid._palette import Colour
from multigrid.actions import Outcome
from multigrid.cli._play_session import Session, find_idle, find_own_keys, find_ways
from multigrid.config import GridConfig
from multigrid.rendering._frame import Painter, readable_size
from multigrid.rendering._text import draw_text, line_height, text_width

_INK, _PAPER, _SURROUNDINGS = (31, 35, 43), (255, 255, 255), (236, 238, 242)
# The background and the colour of the text, by the state of the episode.
_LOOKS: dict[str, tuple[Colour, Colour]] = {
    "going on": (_PAPER, _INK),
    "arrived": ((20, 119, 74), _PAPER),
    "out of time": ((253, 236, 206), (122, 66, 8)),
}
_MARGIN, _TEXT = 12, 19
_BAND = 3  # the lines that say what the state of the episode is
_LARGEST_PANEL = 0.6
_LEAST_WIDTH = 432


def figures(session: Session) -> list[tuple[str, str]]:
    """Return the figures below the picture, as pairs of a name and a value."""
    limit, state, steered = session.config.max_cycles, session.state, session.steered
    shown = [
        ("agent", f"{steered} of {session.num_agents}"),
        ("step", f"{session.steps}" if limit is None else f"{session.steps} / {limit}"),
        ("last move", Outcome(state["outcomes"][steered]).name.lower() if session.steps else "none yet"),
        ("reward", f"{state['rewards'][steered]:.3g}"),
        ("total", f"{session.totals[steered]:.3g}"),
        ("distance", f"{state['distances'][steered]:.0f}"),
    ]
    return [pair for pair in shown if pair[0] != "distance" or session.config.has_targets]


class Headline(NamedTuple):
    """The state of the episode, "going on", "arrived" or "out of time", and the three lines of the status band."""

    kind: str
    first: str
    second: str
    third: str


def headline(session: Session, *, running: bool) -> Headline:
    """Return the state of the episode, and what the status band says about it."""
    num_agents = session.num_agents
    if not session.over:
        others = f"   others: {session.others}" if num_agents > 1 else ""
        now = "Time runs" if running else "Your move"
        return Headline("going on", session.note or now, session.goal, f"{session.name}{others}")
    metrics, steps = session.metrics(), f"{session.steps} step{'s' * (session.steps != 1)}"
    again = "N: another layout   R: the same again   F: save a recording"
    if not session.config.has_targets:
        rewards = f"Rewards: {session.totals.sum():.3g}, of all agents together"
        return Headline("out of time", f"The end, after {steps}", session.note or rewards, again)
    if session.config.on_target == "restart":
        arrivals = int(session.state["arrivals"].sum())
        first = f"The end, after {steps}: {arrivals} arrival{'s' * (arrivals != 1)}"
        return Headline("out of time", first, session.note or f"{metrics['throughput']:.3g} arrivals a step", again)
    costs = f"{metrics['sum_of_costs']:.0f} steps until arrival, of all agents together" if num_agents > 1 else ""
    if session.out_of_time:
        arrived = f"{int(metrics['success'].sum())} of {num_agents} arrived"
        return Headline("out of time", f"Out of time after {steps}: {arrived}", session.note or costs, again)
    who = f": {'both' if num_agents == 2 else f'all {num_agents}'} agents arrived" if num_agents > 1 else ""
    return Headline("arrived", f"Solved in {steps}{who}", session.note or costs or "The disc is on the square", again)


def keys(session: Session) -> list[tuple[str, str]]:
    """Return the available keys, as pairs of a key and its effect."""
    named = {"Arrows": "", "WASD": "move", "X": "stay"}
    named |= {key.upper(): name.replace("_", " ") for key, (_, name) in find_own_keys(session.config).items()}
    named |= {"Tab": "agent", "Space": "run or pause", "R": "restart", "N": "next", "F": "save", "Esc": "quit"}
    useful = dict.fromkeys(("Arrows", "WASD"), find_ways(session.config) != {})
    useful |= {"X": find_idle(session.config) is not None, "Tab": session.config.num_agents > 1}
    return [(key, effect) for key, effect in named.items() if useful.get(key, True)]


class Screen:
    """Draw a session on a surface of any size: the lines of text at their own height, and the picture in the rest."""

    def __init__(self) -> None:
        self._painter: tuple[GridConfig, int, Painter] | None = None  # the last one, for a configuration and a size

    @staticmethod
    def first_size(session: Session) -> tuple[int, int]:
        """Return the width and the height of a new window, in pixels."""
        config = session.config
        side = readable_size(config) / max(config.width, config.height)
        width = max(round(config.width * side), _LEAST_WIDTH)
        panel = _height(len(_list_lines(session, width, running=False)))
        # A flat world gets extra height; otherwise the text would exceed its share and lose the keys.
        return width, panel + max(round(config.height * side), math.ceil(panel * (1 / _LARGEST_PANEL - 1)))

    def draw(self, surface: pygame.Surface, session: Session, *, running: bool) -> None:
        """Draw the picture, the mark of the player's agent, and as many lines of text as there is room for."""
        width, height = surface.get_size()
        lines = _list_lines(session, width, running=running)
        while lines and _height(len(lines)) > _LARGEST_PANEL * height:
            lines.pop()
        top = height - _height(len(lines)) if lines else height
        surface.fill(_SURROUNDINGS)
        self._draw_picture(surface, session, width, top)
        ground, ink = _LOOKS[headline(session, running=running).kind]
        surface.fill(_PAPER, pygame.Rect(0, top, width, height - top))
        surface.fill(ground, pygame.Rect(0, top, width, _height(_BAND) - _MARGIN - 3))
        for number, line in enumerate(lines):
            colour = ink if number < _BAND else _INK
            while len(line) > 4 and text_width(line, _TEXT) > width - 2 * _MARGIN:
                line = line[:-4] + "..."  # noqa: PLW2901 - until it fits
            surface.blit(draw_text(line, _TEXT, colour), (_MARGIN, top + _height(number) - _MARGIN))

    def _draw_picture(self, surface: pygame.Surface, session: Session, width: int, height: int) -> None:
        config, scene = session.config, session.scene()
        longer = max(config.width, config.height)
        size = int(min(width / config.width, height / config.height) * longer) // 2 * 2
        if size < 16:
            return
        if self._painter is None or self._painter[0] is not config or self._painter[1] != size:
            self._painter = config, size, Painter(config, size)
        painter, side = self._painter[2], size / longer
        across, down = painter.size
        left, top = (width - across) // 2, (height - down) // 2
        drawn = painter.surface(scene)
        if scene.look.seen is not None:  # a picture of the game's own, in which cells may be anywhere
            place = drawn.get_rect().fit(pygame.Rect(0, 0, width, height))
            surface.blit(pygame.transform.smoothscale(drawn, place.size), place)
            return
        surface.blit(drawn, (left, top))
        if session.over and config.has_targets and not session.out_of_time and config.on_target != "restart":
            thick = min(max(3, round(0.08 * side)), 8)
            pygame.draw.rect(surface, _LOOKS["arrived"][0], pygame.Rect(left, top, across, down), width=thick)
        if config.num_agents > 1 and session.present[session.steered]:
            marked = ((scene.targets, 0.035), (scene.agents, 0.075))
            for cells, weight in marked if config.has_targets else marked[1:]:
                x, y = cells[session.steered].tolist()
                middle = left + (x + 0.5) * side, top + (y + 0.5) * side
                _draw_corners(surface, middle, max(0.94 * side, 14.0), max(2, round(weight * side)))


def _draw_corners(surface: pygame.Surface, middle: tuple[float, float], side: float, weight: int) -> None:
    """Mark a cell by its four corners, dark with a light rim, so that they are visible on every background."""
    square = pygame.Rect(0, 0, round(side), round(side))
    square.center = round(middle[0]), round(middle[1])
    arm = max(round(0.26 * side), weight + 2)
    for colour, rim in ((_PAPER, 1), (_INK, 0)):
        for wide, high in ((arm, weight), (weight, arm)):
            for left in (square.left, square.right - wide):
                for top in (square.top, square.bottom - high):
                    surface.fill(colour, pygame.Rect(left, top, wide, high).inflate(2 * rim, 2 * rim))


def _list_lines(session: Session, width: int, *, running: bool) -> list[str]:
    """Return what the state of the episode is, the figures, and the keys, as many lines at each step."""
    figured = [f"{name}: {value}" for name, value in figures(session)]
    lines = [*headline(session, running=running)[1:], "   ".join(figured[:3]), "   ".join(figured[3:])]
    for number, pair in enumerate(keys(session)):
        text = " ".join(pair).strip()
        longer = f"{lines[-1]}   {text}"
        if number and text_width(longer, _TEXT) <= width - 2 * _MARGIN:
            lines[-1] = longer
        else:
            lines.append(text)
    return lines


def _height(num_lines: int) -> int:
    """Return the height of lines of text with a margin above and below, in pixels."""
    return num_lines * (line_height(_TEXT) + 5) + 2 * _MARGIN
