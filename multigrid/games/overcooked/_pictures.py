"""Pictures of a kitchen: cooks with what they hold, and pots with what is in them and how long they cook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import BLACK, WHITE, Colour, colours, hexadecimal, mix
from multigrid.actions import DIRECTIONS
from multigrid.games.overcooked import _v2_layouts as v2
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
_PLATE, _RIM, _GREEN, _AMBER, _SKIN = (250, 250, 252), (190, 194, 202), (60, 170, 90), (250, 170, 40), (244, 204, 168)
_LEAF, _SLATE, _SHELF = (90, 150, 64), (44, 74, 66), (150, 206, 160)
_BOARD = OUTSIDE + 1
"""The kind of a cell that shows a recipe, beside those of `multigrid.games.overcooked._layouts`."""
_INGREDIENTS: tuple[Colour, ...] = (
    *((232, 196, 92), (214, 52, 44), (120, 176, 72), (150, 96, 180), (236, 130, 48), (90, 150, 214)),
    *((206, 120, 150), (120, 84, 56), (70, 170, 160), (210, 210, 120)),
)
"""The colours of onions, tomatoes, and the other ingredients of OvercookedV2."""
_PLACES = ((0.0, -0.11), (-0.1, 0.07), (0.1, 0.07))
"""Of the ingredients in a soup, from its centre."""
_KINDS = {
    v2.COUNTER: COUNTER,
    v2.GOAL: SERVING,
    v2.POT: POT,
    v2.INDICATOR: _BOARD,
    v2.BUTTON: _BOARD,
    v2.PLATES: DISHES,
}
# Five rows of three pixels for each digit, and the plus.
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
    "+": "000010111010000",
}


class Thing(NamedTuple):
    """Ingredients, by number, and whether they are on a dish; or a dish alone."""

    pieces: tuple[int, ...]
    has_dish: bool = False


_NOTHING = Thing(())


class Pot(NamedTuple):
    """What is in a pot: it cooks for `left` of `time` steps, or not yet if these are None."""

    thing: Thing
    left: int | None
    time: int


class Kitchen(NamedTuple):
    """What pictures show, by cell."""

    kind: NDArray[np.int64]
    things: dict[tuple[int, int], Thing]
    """What is on counters and supplied at supplies, and the recipe on a board."""
    pots: dict[tuple[int, int], Pot]
    held: list[Thing]
    letters: str
    """Of the ingredients."""


def read_kitchen(scene: Any) -> Kitchen:
    """Return what pictures of Overcooked show."""
    things = {(x, y): _read_thing(int(scene.thing[x, y])) for x, y in np.argwhere(scene.thing).tolist()}
    for what, supplied in ((ONIONS, ONION), (TOMATOES, TOMATO), (DISHES, DISH)):
        things |= {(x, y): _read_thing(supplied) for x, y in np.argwhere(scene.kind == what).tolist()}
    pots = {}
    for (x, y), cooking in zip(scene.pot.tolist(), scene.cooking.tolist(), strict=True):
        time = int(scene.cook_time[max(int(scene.thing[x, y]) - SOUP, 0)])
        if x >= 0:
            pots[x, y] = Pot(things.pop((x, y), _NOTHING), time + 1 - cooking if cooking else None, time)
    held = [_read_thing(one) for one in scene.held.tolist()]
    return Kitchen(scene.kind.astype(np.int64), things, pots, held, "OT")


def _read_thing(code: int) -> Thing:
    if code >= SOUP:
        onions, tomatoes = divmod(code - SOUP, 4)
        return Thing((0,) * onions + (1,) * tomatoes, has_dish=True)
    return Thing((code - ONION,) if code in {ONION, TOMATO} else (), code == DISH)


def read_v2_kitchen(scene: Any) -> Kitchen:
    """Return what pictures of OvercookedV2 show."""
    kind = np.full(scene.kind.shape, FLOOR)
    things: dict[tuple[int, int], Thing] = {}
    pots: dict[tuple[int, int], Pot] = {}
    for x, y in np.argwhere(scene.kind != v2.FLOOR).tolist():
        what, timer, code = int(scene.kind[x, y]), int(scene.timer[x, y]), int(scene.thing[x, y])
        kind[x, y] = _KINDS.get(what, ONIONS)
        if what >= v2.PILE:
            things[x, y] = Thing((what - v2.PILE,))
        elif what == v2.PLATES:
            things[x, y] = Thing((), has_dish=True)
        elif what == v2.INDICATOR or (what == v2.BUTTON and timer):
            things[x, y] = _read_v2_thing(int(scene.recipe))
        elif what == v2.POT:
            pots[x, y] = Pot(_read_v2_thing(code), timer if timer or code & v2.COOKED else None, v2.COOK_TIME)
        elif code:
            things[x, y] = _read_v2_thing(code)
    return Kitchen(kind, things, pots, [_read_v2_thing(one) for one in scene.held.tolist()], "0123456789")


def _read_v2_thing(code: int) -> Thing:
    pieces = [k for k in range(v2.MOST_INGREDIENTS) for _ in range(code >> 2 * (k + 1) & 3)]
    return Thing(tuple(pieces), bool(code & v2.PLATE))


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
        """Write a number, in white with a dark edge; no more than five digits fit into a cell."""
        text = str(number) if number <= 99999 else "9999+"
        digits = [np.array(list(_FONT[digit]), int).reshape(5, 3) for digit in text]
        ink = np.pad(np.hstack([np.pad(one, ((0, 0), (0, 1))) for one in digits])[:, :-1], 1)
        ink = np.kron(ink, np.ones((2, 2), int))
        shifted = [np.roll(ink, (row, column), (0, 1)) for row in (-1, 0, 1) for column in (-1, 0, 1)]
        top, left = round(y * _SIDE) - len(ink) // 2, round(x * _SIDE) - len(ink[0]) // 2
        pixels = self.pixels[top : top + len(ink), left : left + len(ink[0])]
        pixels[np.max(shifted, axis=0) > 0] = (40, 42, 48)
        pixels[ink > 0] = WHITE


def draw_picture(scene: Any, kitchen: Kitchen) -> NDArray[np.uint8]:
    """Return a frame of the kitchen."""
    canvas = _Canvas(*kitchen.kind.shape)
    for left, top in np.ndindex(*kitchen.kind.shape):
        x, y, kind = left + 0.5, top + 0.5, int(kitchen.kind[left, top])
        there = kitchen.things.get((left, top), _NOTHING)
        _draw_cell(canvas, left, top, kind)
        if kind == POT:
            _draw_pot(canvas, x, y - 0.03, kitchen.pots[left, top])
        elif kind in {ONIONS, TOMATOES}:
            for across, down in ((-0.17, -0.18), (0.17, -0.18), (0, -0.02), (-0.17, 0.14), (0.17, 0.14)):
                _draw_thing(canvas, x + across, y + down, there, 0.72)
        elif kind == _BOARD:
            for piece, (across, down) in zip(there.pieces, _PLACES, strict=False):
                _draw_thing(canvas, x + 1.5 * across, y + 1.5 * down, Thing((piece,)), 0.6)
        elif kind == COUNTER:
            _draw_thing(canvas, x, y - 0.05, there, 1.0)
    of_agents = colours(len(scene.agents))
    for i in np.argsort(scene.agents[:, 1]).tolist():
        x, y = scene.agents[i].tolist()
        if scene.present[i]:
            _draw_cook(canvas, x + 0.5, y + 0.5, AHEAD[scene.direction[i]].tolist(), of_agents[i], kitchen.held[i])
    return np.rint(canvas.pixels).astype(np.uint8)


def _draw_cell(canvas: _Canvas, left: int, top: int, kind: int) -> None:
    x, y = left + 0.5, top + 0.5
    if kind == OUTSIDE:
        return
    canvas.fill(left, top, _TILES[(left + top) % 2] if kind == FLOOR else _WOOD)
    if kind == FLOOR:
        return
    canvas.box(x, y - 0.03, (0.48, 0.45), 0.06, _STOVE if kind == POT else _TOP)
    if kind == DISHES:
        for step in range(3):
            canvas.ball(x, y + 0.06 - 0.07 * step, 0.3, _PLATE, _RIM)
        canvas.disc(x, y - 0.08, 0.17, mix(_PLATE, _RIM, 0.3))
    elif kind in {ONIONS, TOMATOES}:
        canvas.box(x, y - 0.03, (0.38, 0.36), 0.06, mix(_WOOD, BLACK, 0.25))
    elif kind == _BOARD:
        canvas.box(x, y - 0.03, (0.4, 0.37), 0.06, _SLATE)
    elif kind == SERVING:
        canvas.box(x, y - 0.03, (0.42, 0.39), 0.06, mix(_SHELF, _GREEN, 0.6))
        canvas.box(x, y - 0.03, (0.36, 0.33), 0.04, _SHELF)
        canvas.ball(x, y - 0.03, 0.22, (250, 214, 90), (190, 150, 40))
        canvas.disc(x - 0.06, y - 0.1, 0.05, (255, 244, 190))
        canvas.disc(x, y - 0.03, 0.05, (190, 150, 40))


def _draw_thing(canvas: _Canvas, x: float, y: float, thing: Thing, size: float) -> None:
    if thing.has_dish:
        canvas.ball(x, y, 0.27 * size, _PLATE, _RIM)
        canvas.disc(x, y, 0.16 * size, mix(_PLATE, _RIM, 0.3))
        _draw_soup(canvas, x, y, thing.pieces, 0.2 * size, size * 0.9)
    elif thing.pieces:
        radius, colour = 0.2 * size, _INGREDIENTS[thing.pieces[0]]
        canvas.ball(x, y, radius, colour, mix(colour, BLACK, 0.3))
        for across in (0,) if thing.pieces[0] == 0 else (-0.35, 0, 0.35):
            canvas.disc(x + across * radius, y - radius * 0.8, radius * 0.26, _LEAF)
        canvas.disc(x - radius * 0.3, y - radius * 0.12, radius * 0.26, mix(colour, WHITE, 0.6))


def _blend(pieces: tuple[int, ...]) -> Colour:
    """Return the mean colour of ingredients."""
    red, green, blue = np.mean([_INGREDIENTS[one] for one in pieces], axis=0).round().astype(int).tolist()
    return red, green, blue


def _draw_soup(canvas: _Canvas, x: float, y: float, pieces: tuple[int, ...], radius: float, size: float) -> None:
    """Draw soup, and its ingredients in it."""
    if pieces:
        canvas.disc(x, y, radius, mix(_blend(pieces), WHITE, 0.3))
    for one, (across, down) in zip(pieces, _PLACES, strict=False):
        colour = _INGREDIENTS[one]
        canvas.ball(x + across * size, y + down * size, 0.075 * size, colour, mix(colour, BLACK, 0.3))


def _draw_pot(canvas: _Canvas, x: float, y: float, pot: Pot) -> None:
    canvas.box(x, y, (0.47, 0.06), 0.05, mix(_STEEL, BLACK, 0.25))
    canvas.ball(x, y, 0.36, mix(_STEEL, BLACK, 0.4), _STEEL)
    _draw_soup(canvas, x, y, pot.thing.pieces, 0.28, 1.15)
    if pot.left is not None:
        canvas.arc(x, y, 0.4, 1.0, mix(_STOVE, BLACK, 0.4) if pot.left else _GREEN)
        if pot.left:
            canvas.arc(x, y, 0.4, 1 - pot.left / pot.time, _AMBER)
            canvas.number(x, y + 0.3, pot.left)


def _draw_cook(canvas: _Canvas, x: float, y: float, ahead: list[int], colour: Colour, held: Thing) -> None:
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
    if held != _NOTHING:
        _draw_thing(canvas, x + 0.38 * across, y + 0.38 * down, held, 0.85)


def list_marks(scene: Any, kitchen: Kitchen) -> Iterator[Mark | Badge]:
    """Yield the cells and the players' badges, for text and for pages."""
    grounds = {COUNTER: _TOP, POT: _STEEL, SERVING: _SHELF, OUTSIDE: WHITE, _BOARD: _SLATE}
    for x, y in np.argwhere(kitchen.kind != FLOOR).tolist():
        kind, there = int(kitchen.kind[x, y]), kitchen.things.get((x, y), _NOTHING)
        ground, letter = grounds.get(kind, _RIM), {POT: "P", SERVING: "S", _BOARD: "R"}.get(kind, "")
        if there != _NOTHING:
            ground, letter = _describe(there, kitchen.letters)
            letter = letter.lower() if kind == COUNTER else letter
        if pot := kitchen.pots.get((x, y)):
            if pot.thing.pieces:
                ground, letter = mix(_STEEL, _blend(pot.thing.pieces), 0.5), f"P{len(pot.thing.pieces)}"
            if pot.left is not None:
                ground, letter = (_AMBER, str(pot.left) if pot.left < 100 else "++") if pot.left else (_GREEN, "!")
        yield Mark((x, y), hexadecimal(ground), letter)
    for i, held in enumerate(kitchen.held):
        direction = DIRECTIONS.tolist().index(AHEAD[scene.direction[i]].tolist())
        colour, letter = _describe(held, kitchen.letters)
        yield Badge(i, direction, hexadecimal(colour) if letter else "", letter.lower())


def _describe(thing: Thing, letters: str) -> tuple[Colour, str]:
    """Return the colour and the letters of a thing: a soup has the letters of the first and the last ingredient."""
    if not thing.pieces:
        return _RIM, "D" * thing.has_dish
    return _blend(thing.pieces), letters[thing.pieces[0]] + letters[thing.pieces[-1]] * (len(thing.pieces) > 1)
