"""Draw the window of ``multigrid play``: the world and, below it, the figures, the status band and the keys."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from multigrid.actions import Outcome
from multigrid.cli.play.session import Session
from multigrid.config import GridConfig
from multigrid.core.metrics import LABELS
from multigrid.rendering.backend import import_pygame
from multigrid.rendering.frame import WINDOW_SIZE, Painter
from multigrid.rendering.palette import Colour, colours, contrast

if TYPE_CHECKING:
    import pygame

__all__ = ["Screen", "figures", "headline", "keys"]

_INK, _GREY, _RULE = (31, 35, 43), (105, 112, 124), (214, 218, 225)
_PAPER, _SURROUNDINGS, _CAP = (255, 255, 255), (236, 238, 242), (246, 247, 249)
# The background and the text colour of the status band, by the state of the episode.
_BANDS: dict[str, tuple[Colour, Colour]] = {
    "going on": ((242, 244, 248), _INK),
    "arrived": ((219, 242, 227), (12, 84, 45)),
    "out of time": ((253, 236, 206), (122, 66, 8)),
}
_MARGIN = 12
_LABEL, _VALUE, _TEXT, _KEY = 16, 24, 19, 17
_LEAST_PICTURE = 16
_LARGEST_PANEL = 0.6
_LEAST_WIDTH = 432
_LARGE_GRID, _LARGE_WINDOW = 24, 768


def figures(session: Session) -> list[tuple[str, str]]:
    """Return the figures below the picture, as pairs of a name and a value.

    >>> dict(figures(Session(GridConfig(size=(4, 3), max_cycles=None), seed=0)))
    {'agent': '0 of 2', 'step': '0', 'reward': '0', 'total': '0', 'distance': '2', 'last move': 'stayed'}
    """
    limit = session.config.max_cycles
    return [
        ("agent", f"{session.steered} of {session.config.num_agents}"),
        ("step", f"{session.steps}" if limit is None else f"{session.steps} / {limit}"),
        ("reward", f"{session.state['rewards'][session.steered]:.3g}"),
        ("total", f"{session.totals[session.steered]:.3g}"),
        ("distance", f"{session.state['distances'][session.steered]:.0f}"),
        ("last move", Outcome(session.state["outcomes"][session.steered]).name.lower()),
    ]


def headline(session: Session, *, running: bool) -> tuple[str, str, str]:
    """Return the state of the episode ("going on", "arrived" or "out of time"), and two lines of text about it.

    >>> headline(Session(GridConfig(size=(4, 3))), running=False)
    ('going on', 'Your move', 'seed 0   others: shortest-path')
    """
    if session.over:
        metrics = session.metrics()
        # Undefined metrics are NaN.
        values = {label.short: metrics[name] for name, label in LABELS.items() if not math.isnan(metrics[name])}
        detail = session.note or "   ".join(f"{label} {value:.4g}" for label, value in values.items())
        steps = f"{session.steps} step" + ("s" if session.steps != 1 else "")
        if session.config.on_target == "restart":
            return "out of time", f"The end, after {steps}", detail
        if session.out_of_time:
            return "out of time", f"Out of time after {steps}: {int(metrics['success'].sum())} arrived", detail
        return "arrived", f"All arrived in {steps}" if len(session.totals) > 1 else f"Arrived in {steps}", detail
    others = f"   others: {session.others}" if session.config.num_agents > 1 else ""
    now = "Time runs" if running else "Your move"
    return "going on", session.note or now, f"{session.name}{others}"


def keys(session: Session, *, running: bool) -> list[tuple[str, str]]:
    """Return the available keys, as pairs of a key and its effect.

    >>> keys(Session(GridConfig(size=(4, 3))), running=False)[-1]
    ('Esc', 'quit')
    """
    several = session.config.num_agents > 1
    return [
        ("Arrows", ""),
        ("WASD", "move"),
        *([("X", "stay")] if session.config.allow_stay else []),
        *([("Tab", "agent")] if several else []),
        ("Space", "pause" if running else "run"),
        ("Backspace", "step back"),
        ("R", "restart"),
        ("N", "next"),
        ("F", "save"),
        ("Esc", "quit"),
    ]


class Screen:
    """Draw a session on a surface of any size: the panel at its own height, and the picture in the rest."""

    def __init__(self) -> None:
        self._painter: Painter | None = None
        self._painted: GridConfig | None = None
        self._painted_size = 0

    @staticmethod
    def first_size(session: Session) -> tuple[int, int]:
        """Return the width and the height of a new window, in pixels."""
        config = session.config
        longer = max(config.width, config.height)
        side = (WINDOW_SIZE if longer <= _LARGE_GRID else _LARGE_WINDOW) / longer
        width = max(round(config.width * side), _LEAST_WIDTH)
        panel = _Panel(session, width, running=False).height
        # A flat world gets extra height; without it, the panel would exceed its share and lose the keys.
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
        config = session.config
        longer = max(config.width, config.height)
        size = int(min(width / config.width, height / config.height) * longer)
        if size < _LEAST_PICTURE:
            return
        if self._painter is None or self._painted is not config or self._painted_size != size:
            self._painter, self._painted, self._painted_size = Painter(config, size), config, size
        across, down = self._painter.size
        left, top = (width - across) // 2, (height - down) // 2
        surface.blit(self._painter.surface(session.scene()), (left, top))
        if config.num_agents > 1 and session.present[session.steered]:
            scene, side = session.scene(), size / longer
            for cells, weight in ((scene.targets, 0.035), (scene.agents, 0.075)):
                x, y = cells[session.steered].tolist()
                middle = left + (x + 0.5) * side, top + (y + 0.5) * side
                _draw_corners(surface, middle, max(0.94 * side, 14.0), max(2, round(weight * side)))


def _draw_corners(surface: pygame.Surface, middle: tuple[float, float], side: float, weight: int) -> None:
    """Mark a cell by its four corners, dark with a light rim, so that they are visible on every background."""
    game = import_pygame()
    square = game.Rect(0, 0, round(side), round(side))
    square.center = round(middle[0]), round(middle[1])
    arm = max(round(0.26 * side), weight + 2)
    for colour, rim in ((_PAPER, 1), (_INK, 0)):
        for left in (square.left, square.right - arm):
            for top in (square.top, square.bottom - weight):
                surface.fill(colour, game.Rect(left, top, arm, weight).inflate(2 * rim, 2 * rim))
        for left in (square.left, square.right - weight):
            for top in (square.top, square.bottom - arm):
                surface.fill(colour, game.Rect(left, top, weight, arm).inflate(2 * rim, 2 * rim))


class _Panel:
    """The panel of figures, status band and keys, laid out for a width; its height is constant during play.

    Args:
        session: the game.
        width: in pixels.
        running: whether time runs.
        without: what is left out to save height: "keys", or "figures" for both figures and keys.
    """

    def __init__(self, session: Session, width: int, *, running: bool, without: str = "") -> None:
        self._session, self._width, self._running = session, width, running
        self._columns = 6 if width >= _LEAST_WIDTH else 3 if width >= 230 else 2
        self._figure_height = _font(_LABEL).get_linesize() + _font(_VALUE).get_linesize() + 13
        self._rows = 0 if without == "figures" else math.ceil(6 / self._columns)
        self._caps = [] if without else _lay_out(keys(session, running=False), width)
        self._band_top = 8 + self._rows * self._figure_height
        self._keys_top = self._band_top + 2 * _font(_TEXT).get_linesize() + 20
        self.height = self._keys_top + (self._caps[-1][2] + _cap_height() + 12 if self._caps else 0)

    def draw(self, surface: pygame.Surface, top: int) -> None:
        """Draw the panel with its upper edge at `top`."""
        game = import_pygame()
        surface.fill(_PAPER, game.Rect(0, top, self._width, self.height))
        surface.fill(_RULE, game.Rect(0, top, self._width, 1))
        if self._rows:
            self._draw_figures(surface, top + 8)
        self._draw_band(surface, top + self._band_top)
        named = keys(self._session, running=self._running)
        for (key, meaning), (_, left, down) in zip(named, self._caps, strict=bool(self._caps)):
            _draw_key(surface, left, top + self._keys_top + down, key, meaning)

    def _draw_figures(self, surface: pygame.Surface, top: int) -> None:
        game = import_pygame()
        # The last column is wider: it contains words, the others numbers.
        weights = [1.0] * (self._columns - 1) + [1.25]
        unit = (self._width - 2 * _MARGIN) / sum(weights)
        for number, (label, value) in enumerate(figures(self._session)):
            row, column = divmod(number, self._columns)
            left = round(_MARGIN + sum(weights[:column]) * unit)
            down = top + row * self._figure_height
            _write(surface, (left, down), label, _LABEL, _GREY)
            below = down + _font(_LABEL).get_linesize() + 5
            room = round(weights[column] * unit) - 4
            if label == "agent" and self._session.config.num_agents > 1:
                colour = colours(self._session.config.num_agents)[self._session.steered]
                text = _fit_text(str(self._session.steered), _VALUE, contrast(colour), room)
                chip = game.Rect(left, below - 3, max(text.get_width() + 14, 26), text.get_height() + 4)
                game.draw.rect(surface, colour, chip, border_radius=7)
                surface.blit(text, text.get_rect(center=chip.center))
                _write(surface, (chip.right + 5, below + 2), value.split(" ", 1)[1], _TEXT, _GREY)
            else:
                surface.blit(_fit_text(value, _VALUE, _INK, room), (left, below))

    def _draw_band(self, surface: pygame.Surface, top: int) -> None:
        game = import_pygame()
        kind, first, second = headline(self._session, running=self._running)
        ground, ink = _BANDS[kind]
        height = 2 * _font(_TEXT).get_linesize() + 12
        band = game.Rect(_MARGIN - 4, top, self._width - 2 * (_MARGIN - 4), height)
        game.draw.rect(surface, ground, band, border_radius=7)
        room = band.width - 16
        surface.blit(_fit_text(first, _TEXT, ink, room), (_MARGIN + 4, top + 5))
        second_ink = _GREY if kind == "going on" else ink
        surface.blit(_fit_text(second, _KEY, second_ink, room), (_MARGIN + 4, top + 7 + _font(_TEXT).get_linesize()))


def _lay_out(named: list[tuple[str, str]], width: int) -> list[tuple[str, int, int]]:
    """Return each key with its position (left, top), on as many lines as the width requires."""
    placed, left, top = [], _MARGIN, 0
    for key, meaning in named:
        # "run" becomes "pause" while time runs; reserve the space, so that other keys keep their positions.
        wide = _key_width(key, "pause" if meaning == "run" else meaning)
        if left + wide > width - _MARGIN and left > _MARGIN:
            left, top = _MARGIN, top + _cap_height() + 6
        placed.append((key, left, top))
        left += wide + (14 if meaning else 4)
    return placed


def _key_width(key: str, meaning: str) -> int:
    wide: int = _font(_KEY).size(key)[0] + 12
    return wide + (5 + _font(_KEY).size(meaning)[0] if meaning else 0)


def _cap_height() -> int:
    height: int = _font(_KEY).get_linesize() + 7
    return height


def _draw_key(surface: pygame.Surface, left: int, top: int, key: str, meaning: str) -> None:
    game = import_pygame()
    cap = game.Rect(left, top, _font(_KEY).size(key)[0] + 12, _cap_height())
    game.draw.rect(surface, _RULE, cap.move(0, 1), border_radius=5)
    game.draw.rect(surface, _CAP, cap, border_radius=5)
    game.draw.rect(surface, _RULE, cap, width=1, border_radius=5)
    _write(surface, (left + 6, top + 4), key, _KEY, _INK)
    if meaning:
        _write(surface, (cap.right + 5, top + 4), meaning, _KEY, _GREY)


def _write(surface: pygame.Surface, at: tuple[int, int], text: str, size: int, colour: Colour) -> None:
    surface.blit(_font(size).render(text, True, colour), at)  # noqa: FBT003 (pygame takes it by position: smooth edges)


def _fit_text(text: str, size: int, colour: Colour, room: int) -> Any:
    """Render a text at most `room` pixels wide, in a smaller font or shortened if necessary."""
    while size > 11 and _font(size).size(text)[0] > room:
        size -= 1
    while len(text) > 4 and _font(size).size(text)[0] > room:
        text = text[:-4] + "..."
    return _font(size).render(text, True, colour)  # noqa: FBT003 (as above)


def _font(size: int) -> Any:
    """Return the default font of pygame, `size` pixels high."""
    font = import_pygame().font
    if not font.get_init():
        # After pygame.quit(), fonts that were loaded before it cannot be used.
        _load_font.cache_clear()
        font.init()
    return _load_font(size)


@cache
def _load_font(size: int) -> Any:
    return import_pygame().font.Font(None, size)
