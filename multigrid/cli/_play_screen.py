"""Draw the window of ``multigrid play``: the world and, below it, the figures, the status band and the keys."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pygame

from multigrid._palette import Colour, colours, contrast
from multigrid.actions import Outcome
from multigrid.cli._play_session import Session
from multigrid.config import GridConfig
from multigrid.games._keys import find_idle, find_own_keys
from multigrid.rendering._frame import Painter, readable_size
from multigrid.rendering._text import draw_text, line_height, text_width

_INK, _GREY, _RULE = (31, 35, 43), (105, 112, 124), (214, 218, 225)
_PAPER, _SURROUNDINGS, _CAP = (255, 255, 255), (236, 238, 242), (246, 247, 249)
# The background and the text colour of the status band, by the state of the episode.
_BANDS: dict[str, tuple[Colour, Colour]] = {
    "going on": ((242, 244, 248), _INK),
    "arrived": ((20, 119, 74), (255, 255, 255)),
    "out of time": ((253, 236, 206), (122, 66, 8)),
}
_MARGIN = 12
_HEAD, _LABEL, _VALUE, _TEXT, _KEY = 24, 16, 24, 19, 17  # sizes of text
_STOP = (193, 18, 31)
_LARGEST_PANEL = 0.6
_LEAST_WIDTH = 432


def figures(session: Session) -> list[tuple[str, str]]:
    """Return the figures below the picture, as pairs of a name and a value."""
    limit, state, steered = session.config.max_cycles, session.state, session.steered
    shown = [
        ("agent", f"{steered} of {session.config.num_agents}"),
        ("step", f"{session.steps}" if limit is None else f"{session.steps} / {limit}"),
        ("reward", f"{state['rewards'][steered]:.3g}"),
        ("total", f"{session.totals[steered]:.3g}"),
        ("distance", f"{state['distances'][steered]:.0f}"),
        ("last move", Outcome(state["outcomes"][steered]).name.lower() if session.steps else "none yet"),
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
    num_agents, refusal = session.config.num_agents, session.refusal
    if not session.over:
        others = f"   others: {session.others}" if num_agents > 1 else ""
        now = "Time runs" if running else "Your move"
        if refusal is not None:
            now = f"Agent {session.steered} stays: {refusal.reason}"
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


def keys(session: Session, *, running: bool) -> list[tuple[str, str]]:
    """Return the available keys, as pairs of a key and its effect."""
    named = {"Arrows": "", "WASD": "move", "X": "stay"}
    named |= {key.upper(): name.replace("_", " ") for key, (_, name) in find_own_keys(session.config).items()}
    named |= {"Tab": "agent", "Space": "pause" if running else "run"}
    named |= {"Backspace": "step back", "R": "restart", "N": "next", "F": "save", "Esc": "quit"}
    useful = {"X": find_idle(session.config) is not None, "Tab": session.config.num_agents > 1}
    return [(key, effect) for key, effect in named.items() if useful.get(key, True)]


class Screen:
    """Draw a session on a surface of any size: the panel at its own height, and the picture in the rest."""

    def __init__(self) -> None:
        self._painter: tuple[GridConfig, int, Painter] | None = None  # the last one, for a configuration and a size

    @staticmethod
    def first_size(session: Session) -> tuple[int, int]:
        """Return the width and the height of a new window, in pixels."""
        config = session.config
        side = readable_size(config) / max(config.width, config.height)
        width = max(round(config.width * side), _LEAST_WIDTH)
        panel = _Panel(session, width, running=False).height
        # A flat world gets extra height; otherwise the panel would exceed its share and lose the keys.
        return width, panel + max(round(config.height * side), math.ceil(panel * (1 / _LARGEST_PANEL - 1)))

    def draw(self, surface: pygame.Surface, session: Session, *, running: bool) -> None:
        """Draw the picture, the mark of the player's agent, and the panel."""
        width, height = surface.get_size()
        panel = _Panel(session, width, running=running)
        for left_out in ("keys", "figures"):
            if panel.height > _LARGEST_PANEL * height:
                panel = _Panel(session, width, running=running, without=left_out)
        top = max(height - panel.height, 0)
        surface.fill(_SURROUNDINGS)
        self._draw_picture(surface, session, width, top)
        panel.draw(surface, top)

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
        surface.blit(painter.surface(scene), (left, top))
        if session.over and config.has_targets and not session.out_of_time and config.on_target != "restart":
            thick = min(max(3, round(0.08 * side)), 8)
            pygame.draw.rect(surface, _BANDS["arrived"][0], pygame.Rect(left, top, across, down), width=thick)
        if config.num_agents > 1 and session.present[session.steered]:
            marked = ((scene.targets, 0.035), (scene.agents, 0.075))
            for cells, weight in marked if config.has_targets else marked[1:]:
                x, y = cells[session.steered].tolist()
                middle = left + (x + 0.5) * side, top + (y + 0.5) * side
                _draw_corners(surface, middle, max(0.94 * side, 14.0), max(2, round(weight * side)))
        refusal = session.refusal
        if refusal is not None:
            # A bar on the side that the refused move would have crossed; inside the cell, to be visible at the edge.
            thick, long = max(4, round(0.11 * side)), max(8, round(0.76 * side))
            (x, y), (right, below), reach = scene.agents[session.steered].tolist(), refusal.move, side - thick - 2
            bar = pygame.Rect(0, 0, *((thick, long) if right else (long, thick)))
            middle = left + (x + 0.5) * side, top + (y + 0.5) * side
            bar.center = round(middle[0] + right * reach / 2), round(middle[1] + below * reach / 2)
            pygame.draw.rect(surface, _PAPER, bar.inflate(4, 4), border_radius=3)
            pygame.draw.rect(surface, _STOP, bar, border_radius=2)


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


class _Panel:
    """The panel, with a constant height during play; `without` leaves out "keys", or "figures" and keys."""

    def __init__(self, session: Session, width: int, *, running: bool, without: str = "") -> None:
        self._session, self._width, self._running = session, width, running
        self._columns = 6 if width >= _LEAST_WIDTH else 3 if width >= 230 else 2
        self._figure_height = line_height(_LABEL) + line_height(_VALUE) + 13
        self._rows = 0 if without == "figures" else math.ceil(len(figures(session)) / self._columns)
        self._caps = [] if without else _lay_out(keys(session, running=False), width)
        self._band_top = 8 + self._rows * self._figure_height
        self._keys_top = self._band_top + _band_height() + 8
        self.height = self._keys_top + (self._caps[-1][2] + _cap_height() + 12 if self._caps else 0)

    def draw(self, surface: pygame.Surface, top: int) -> None:
        """Draw the panel with its upper edge at `top`."""
        surface.fill(_PAPER, pygame.Rect(0, top, self._width, self.height))
        surface.fill(_RULE, pygame.Rect(0, top, self._width, 1))
        if self._rows:
            self._draw_figures(surface, top + 8)
        self._draw_band(surface, top + self._band_top)
        named = keys(self._session, running=self._running)
        for (key, meaning), (_, left, down) in zip(named, self._caps, strict=bool(self._caps)):
            _draw_key(surface, left, top + self._keys_top + down, key, meaning)

    def _draw_figures(self, surface: pygame.Surface, top: int) -> None:
        # The last column is wider: it contains words, the others numbers.
        weights = [1.0] * (self._columns - 1) + [1.25]
        unit = (self._width - 2 * _MARGIN) / sum(weights)
        for number, (label, value) in enumerate(figures(self._session)):
            row, column = divmod(number, self._columns)
            left = round(_MARGIN + sum(weights[:column]) * unit)
            down = top + row * self._figure_height
            _write(surface, (left, down), label, _LABEL, _GREY)
            below = down + line_height(_LABEL) + 5
            room = round(weights[column] * unit) - 4
            if label == "agent" and self._session.config.num_agents > 1:
                colour = colours(self._session.config.num_agents)[self._session.steered]
                text = _fit_text(str(self._session.steered), _VALUE, contrast(colour), room)
                chip = pygame.Rect(left, below - 3, max(text.get_width() + 14, 26), text.get_height() + 4)
                pygame.draw.rect(surface, colour, chip, border_radius=7)
                surface.blit(text, text.get_rect(center=chip.center))
                _write(surface, (chip.right + 5, below + 2), value.split(" ", 1)[1], _TEXT, _GREY)
            else:
                surface.blit(_fit_text(value, _VALUE, _INK, room), (left, below))

    def _draw_band(self, surface: pygame.Surface, top: int) -> None:
        kind, *lines = headline(self._session, running=self._running)
        ground, ink = _BANDS[kind]
        band = pygame.Rect(_MARGIN - 4, top, self._width - 2 * (_MARGIN - 4), _band_height())
        pygame.draw.rect(surface, ground, band, border_radius=7)
        room, down = band.width - 16, top + 7
        for line, size in zip(lines, (_HEAD, _TEXT, _KEY), strict=True):
            colour = _GREY if kind == "going on" and size == _KEY else ink
            surface.blit(_fit_text(line, size, colour, room), (_MARGIN + 4, down))
            down += line_height(size) + 3


def _band_height() -> int:
    return sum(line_height(size) + 3 for size in (_HEAD, _TEXT, _KEY)) + 11


def _lay_out(named: list[tuple[str, str]], width: int) -> list[tuple[str, int, int]]:
    """Return each key and its position (left, top), on as many lines as the width requires."""
    placed, left, top = [], _MARGIN, 0
    for key, meaning in named:
        # While time runs, "run" becomes "pause", whose space is reserved, so that other keys keep their positions.
        longest = "pause" if meaning == "run" else meaning
        wide = text_width(key, _KEY) + 12 + (5 + text_width(longest, _KEY) if meaning else 0)
        if left + wide > width - _MARGIN and left > _MARGIN:
            left, top = _MARGIN, top + _cap_height() + 6
        placed.append((key, left, top))
        left += wide + (14 if meaning else 4)
    return placed


def _cap_height() -> int:
    return line_height(_KEY) + 7


def _draw_key(surface: pygame.Surface, left: int, top: int, key: str, meaning: str) -> None:
    cap = pygame.Rect(left, top, text_width(key, _KEY) + 12, _cap_height())
    pygame.draw.rect(surface, _RULE, cap.move(0, 1), border_radius=5)
    pygame.draw.rect(surface, _CAP, cap, border_radius=5)
    pygame.draw.rect(surface, _RULE, cap, width=1, border_radius=5)
    _write(surface, (left + 6, top + 4), key, _KEY, _INK)
    if meaning:
        _write(surface, (cap.right + 5, top + 4), meaning, _KEY, _GREY)


def _write(surface: pygame.Surface, at: tuple[int, int], text: str, size: int, colour: Colour) -> None:
    surface.blit(draw_text(text, size, colour), at)


def _fit_text(text: str, size: int, colour: Colour, room: int) -> Any:
    """Render a text at most `room` pixels wide, in a smaller font or shortened if necessary."""
    while size > 11 and text_width(text, size) > room:
        size -= 1
    while len(text) > 4 and text_width(text, size) > room:
        text = text[:-4] + "..."
    return draw_text(text, size, colour)
