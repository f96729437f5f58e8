"""Pictures of a kitchen: cooks with what they hold, and pots with what is in them and how long they cook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import BLACK, WHITE, Colour, colours, mix
from multigrid.actions import DIRECTIONS
from multigrid.games.overcooked._layouts import (
    AHEAD,
    COUNTER,
    DISH,
    DISHES,
    FLOOR,
    ONION,
    ONIONS,
    OUTSIDE,
    POT,
    SERVING,
    SOUP,
    TOMATO,
    TOMATOES,
)
from multigrid.rendering._scene import Badge, Mark

_SIDE = 48
"""The pixels of a cell."""
_TILES: tuple[Colour, ...] = ((246, 238, 222), (238, 228, 208))
_WOOD, _TOP, _STEEL, _STOVE = (150, 104, 66), (190, 140, 94), (150, 156, 164), (58, 62, 70)
_PLATE, _GREEN, _AMBER, _SKIN = (250, 250, 252), (60, 170, 90), (250, 170, 40), (244, 204, 168)
_COLOURS: dict[int, Colour] = {ONION: (232, 196, 92), TOMATO: (214, 52, 44), DISH: _PLATE}
_SHADES: dict[int, Colour] = {ONION: (176, 132, 44), TOMATO: (150, 26, 24), DISH: (190, 194, 202)}
_SUPPLIES = {ONIONS: ONION, TOMATOES: TOMATO, DISHES: DISH}
_LETTERS = {ONIONS: "O", TOMATOES: "T", DISHES: "D", SERVING: "S", POT: "P"}
_GROUNDS = {COUNTER: _TOP, ONIONS: _COLOURS[ONION], TOMATOES: (232, 150, 140), DISHES: _SHADES[DISH], POT: _STEEL}
_GROUNDS |= {SERVING: (150, 206, 160), OUTSIDE: WHITE}
_PLACES = ((0.0, -0.11), (-0.1, 0.07), (0.1, 0.07))
"""Of the ingredients in a soup, from its centre."""
# Five rows of three pixels for each digit.
_FONT = {
    "0": "111101101101111",
    "1": "010110010010111",
    "2": "111001111100111",
    "3": "111001111001111",
    "4": "101101111001001",
    "5": "111100111001111",
    "6": "111100111101111",
    "7": "111001001010010",
    "8": "111101111101111",
    "9": "111101111001111",
}


class _Canvas:
    """An image, on which lengths and places are in cells."""

    def __init__(self, width: int, height: int) -> None:
        self.pixels: NDArray[np.float64] = np.full((height * _SIDE, width * _SIDE, 3), 255.0)

    def _paint(self, x: float, y: float, reach: float, colour: Colour, cover: Any) -> None:
        """Mix a colour into the pixels around a place, by the share of each that `cover` returns for its offsets."""
        left, top = (max(int((at - reach) * _SIDE) - 1, 0) for at in (x, y))
        pixels = self.pixels[top : int((y + reach) * _SIDE) + 2, left : int((x + reach) * _SIDE) + 2]
        rows, columns = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
        share = cover((columns + left + 0.5) / _SIDE - x, (rows + top + 0.5) / _SIDE - y)
        pixels += np.clip(share, 0, 1)[..., None] * (np.array(colour) - pixels)

    def fill(self, left: int, top: int, colour: Colour) -> None:
        """Fill a cell."""
        self.pixels[top * _SIDE : (top + 1) * _SIDE, left * _SIDE : (left + 1) * _SIDE] = colour

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Paint a disc."""
        self._paint(x, y, radius, colour, lambda across, down: 0.5 + _SIDE * (radius - np.hypot(across, down)))

    def ball(self, x: float, y: float, radius: float, colour: Colour, shade: Colour) -> None:
        """Paint a disc with a rim."""
        self.disc(x, y, radius, shade)
        self.disc(x, y, radius - max(0.018, radius * 0.16), colour)

    def box(self, x: float, y: float, half: tuple[float, float], corner: float, colour: Colour) -> None:
        """Paint a box with round corners."""

        def cover(across: Any, down: Any) -> Any:
            beyond = [
                np.maximum(np.abs(one) - side + corner, 0) for one, side in zip((across, down), half, strict=True)
            ]
            return 0.5 + _SIDE * (corner - np.hypot(*beyond))

        self._paint(x, y, max(half), colour, cover)

    def arc(self, x: float, y: float, radius: float, share: float, colour: Colour) -> None:
        """Paint a share of a ring, clockwise from the top."""

        def cover(across: Any, down: Any) -> Any:
            ring = 0.5 + _SIDE * (0.035 - np.abs(np.hypot(across, down) - radius))
            return np.where(np.arctan2(across, -down) % (2 * np.pi) <= 2 * np.pi * share, ring, 0)

        self._paint(x, y, radius + 0.05, colour, cover)

    def number(self, x: float, y: float, number: int) -> None:
        """Write a number, in white with a dark edge."""
        digits = [np.array(list(_FONT[digit]), int).reshape(5, 3) for digit in str(number)]
        ink = np.pad(np.hstack([np.pad(one, ((0, 0), (0, 1))) for one in digits])[:, :-1], 1)
        ink = np.kron(ink, np.ones((2, 2), int))
        shifted = [np.roll(ink, (row, column), (0, 1)) for row in (-1, 0, 1) for column in (-1, 0, 1)]
        top, left = round(y * _SIDE) - len(ink) // 2, round(x * _SIDE) - len(ink[0]) // 2
        pixels = self.pixels[top : top + len(ink), left : left + len(ink[0])]
        pixels[np.max(shifted, axis=0) > 0] = (40, 42, 48)
        pixels[ink > 0] = WHITE


def draw_picture(scene: Any) -> NDArray[np.uint8]:
    """Return a frame of the kitchen."""
    canvas = _Canvas(scene.width, scene.height)
    pots = {(x, y): int(number) for (x, y), number in zip(scene.pot.tolist(), scene.cooking, strict=True) if x >= 0}
    for x in range(scene.width):
        for y in range(scene.height):
            _draw_cell(canvas, x, y, int(scene.kind[x, y]))
            there = int(scene.thing[x, y])
            if (x, y) in pots:
                _draw_pot(canvas, x + 0.5, y + 0.5, there, pots[x, y], scene.cook_time)
            elif there:
                _draw_thing(canvas, x + 0.5, y + 0.45, there, 1.0)
    of_agents = colours(len(scene.agents))
    for i in np.argsort(scene.agents[:, 1]).tolist():
        x, y = scene.agents[i].tolist()
        if scene.present[i]:
            _draw_cook(canvas, x + 0.5, y + 0.5, AHEAD[scene.direction[i]].tolist(), of_agents[i], int(scene.held[i]))
    return np.rint(canvas.pixels).astype(np.uint8)


def _draw_cell(canvas: _Canvas, left: int, top: int, kind: int) -> None:
    x, y = left + 0.5, top + 0.5
    if kind == OUTSIDE:
        return
    canvas.fill(left, top, _TILES[(left + top) % 2] if kind == FLOOR else _WOOD)
    if kind == FLOOR:
        return
    canvas.box(x, y - 0.03, (0.48, 0.45), 0.06, _STOVE if kind == POT else _TOP)
    if kind in _SUPPLIES:
        thing = _SUPPLIES[kind]
        if thing == DISH:
            for step in range(3):
                canvas.ball(x, y + 0.06 - 0.07 * step, 0.3, _COLOURS[DISH], _SHADES[DISH])
            canvas.disc(x, y - 0.08, 0.17, (232, 234, 240))
            return
        canvas.box(x, y - 0.03, (0.38, 0.36), 0.06, mix(_WOOD, BLACK, 0.25))
        for across, down in ((-0.17, -0.18), (0.17, -0.18), (0, -0.02), (-0.17, 0.14), (0.17, 0.14)):
            _draw_thing(canvas, x + across, y + down, thing, 0.72)
    elif kind == SERVING:
        canvas.box(x, y - 0.03, (0.42, 0.39), 0.06, (96, 178, 116))
        canvas.box(x, y - 0.03, (0.36, 0.33), 0.04, (150, 206, 160))
        canvas.ball(x, y - 0.03, 0.22, (250, 214, 90), (190, 150, 40))
        canvas.disc(x - 0.06, y - 0.1, 0.05, (255, 244, 190))
        canvas.disc(x, y - 0.03, 0.05, (190, 150, 40))


def _draw_thing(canvas: _Canvas, x: float, y: float, thing: int, size: float) -> None:
    if thing >= SOUP:
        canvas.ball(x, y, 0.27 * size, _COLOURS[DISH], _SHADES[DISH])
        _draw_soup(canvas, x, y, thing, 0.2 * size, size * 0.9)
        return
    radius = (0.25 if thing == DISH else 0.2) * size
    canvas.ball(x, y, radius, _COLOURS[thing], _SHADES[thing])
    if thing == DISH:
        canvas.disc(x, y, radius * 0.6, (232, 234, 240))
    elif thing == ONION:
        canvas.disc(x, y - radius * 0.95, radius * 0.3, (150, 170, 70))
        canvas.disc(x - radius * 0.3, y - radius * 0.15, radius * 0.28, mix(_COLOURS[ONION], WHITE, 0.6))
    else:
        for across in (-0.35, 0, 0.35):
            canvas.disc(x + across * radius, y - radius * 0.75, radius * 0.24, (70, 140, 60))
        canvas.disc(x - radius * 0.3, y - radius * 0.1, radius * 0.24, mix(_COLOURS[TOMATO], WHITE, 0.55))


def _draw_soup(canvas: _Canvas, x: float, y: float, thing: int, radius: float, size: float) -> None:
    """Draw soup, and its ingredients in it."""
    onions, tomatoes = divmod(thing - SOUP, 4)
    share = tomatoes / (onions + tomatoes)
    canvas.disc(x, y, radius, mix(mix(_COLOURS[ONION], WHITE, 0.3), (226, 92, 60), share))
    for k, (across, down) in enumerate(_PLACES[: onions + tomatoes]):
        one = ONION if k < onions else TOMATO
        canvas.ball(x + across * size, y + down * size, 0.075 * size, _COLOURS[one], _SHADES[one])


def _draw_pot(canvas: _Canvas, x: float, y: float, thing: int, cooking: int, times: NDArray[np.int64]) -> None:
    y -= 0.03
    canvas.box(x, y, (0.47, 0.06), 0.05, (112, 118, 126))
    canvas.ball(x, y, 0.36, (92, 98, 108), _STEEL)
    if not thing:
        return
    _draw_soup(canvas, x, y, thing, 0.28, 1.15)
    if cooking:
        time = int(times[thing - SOUP])
        left = time + 1 - cooking
        canvas.arc(x, y, 0.4, 1.0, _GREEN if left <= 0 else mix(_STOVE, BLACK, 0.4))
        if left > 0:
            canvas.arc(x, y, 0.4, 1 - left / time, _AMBER)
            canvas.number(x, y + 0.3, left)


def _draw_cook(canvas: _Canvas, x: float, y: float, ahead: list[int], colour: Colour, held: int) -> None:
    (across, down), dark = ahead, mix(colour, BLACK, 0.35)
    canvas.disc(x, y + 0.06, 0.36, (206, 194, 170))
    for side in (-1, 1):
        canvas.ball(x + 0.27 * across - side * 0.2 * down, y + 0.27 * down + side * 0.2 * across, 0.09, _SKIN, dark)
    canvas.ball(x, y, 0.33, colour, dark)
    # The hat, a bit behind the middle, and eyes that look ahead.
    for side in (-1, 1):
        eye = x + 0.22 * across - side * 0.11 * down, y + 0.22 * down + side * 0.11 * across
        canvas.disc(*eye, 0.06, WHITE)
        canvas.disc(eye[0] + 0.02 * across, eye[1] + 0.02 * down, 0.032, BLACK)
    hat = x - 0.07 * across, y - 0.07 * down
    for step in DIRECTIONS[:4].tolist():
        canvas.disc(hat[0] + 0.09 * step[0], hat[1] + 0.09 * step[1], 0.12, (222, 224, 230))
    canvas.disc(*hat, 0.15, (252, 252, 254))
    if held:
        _draw_thing(canvas, x + 0.38 * across, y + 0.38 * down, held, 0.85)


def list_marks(scene: Any) -> Iterator[Mark | Badge]:
    """Yield the cells and the players' badges, for text and for pages."""
    pots = {tuple(cell): int(number) for cell, number in zip(scene.pot.tolist(), scene.cooking, strict=True)}
    for x, y in np.argwhere(scene.kind != FLOOR).tolist():
        kind, there = int(scene.kind[x, y]), int(scene.thing[x, y])
        ground, letter = _GROUNDS[kind], _LETTERS.get(kind, "")
        if there:
            ground, letter = _describe(there)
        if cooking := pots.get((x, y), 0):
            left = int(scene.cook_time[there - SOUP]) + 1 - cooking
            ground, letter = (_AMBER, str(left)[-2:]) if left > 0 else (_GREEN, "!")
        yield Mark((x, y), _format(ground), letter)
    for i, held in enumerate(scene.held.tolist()):
        direction = DIRECTIONS.tolist().index(AHEAD[scene.direction[i]].tolist())
        colour, letter = _describe(held) if held else (WHITE, "")
        yield Badge(i, direction, _format(colour) if held else "", letter)


def _describe(thing: int) -> tuple[Colour, str]:
    """Return the colour and the letters of a thing: a soup has its numbers of onions and tomatoes."""
    if thing >= SOUP:
        onions, tomatoes = divmod(thing - SOUP, 4)
        return mix(_COLOURS[ONION], _COLOURS[TOMATO], tomatoes / (onions + tomatoes)), f"{onions}{tomatoes}"
    return _COLOURS[thing], " otd"[thing]


def _format(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
