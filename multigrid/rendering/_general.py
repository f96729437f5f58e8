"""Draw the frame of any world: walls, N agents and their targets, trails, and the view of an agent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import BLACK, WHITE, Colour, contrast, legible, parse_colour
from multigrid._tiles import BORDER, RING, SMALLEST_RING, WALL, Kind, draw_layers, draw_line, measure
from multigrid.config import GridConfig
from multigrid.rendering._backend import Sprite, import_pygame, remember, sprite, surface_on
from multigrid.rendering._scene import HELD, Look, Scene, find_colours, place_arrow
from multigrid.rendering._text import draw_text

# In cells: the width of a trail; in pixels: smaller digits are not drawn.
_TRAIL, _SMALLEST_DIGIT = 0.14, 6.0
# pygame's own font: the width of a digit per height, its height per font size; then the share of its space that a
# number fills.
_DIGIT_WIDTH, _DIGIT_HEIGHT, _FILLED = 0.62, 0.64, 0.92
_NUMBER_CONTRAST = 4.5
_TRAIL_OPACITY = 230
_VEIL = (255, 255, 255, 165)
_CACHED_MAPS, _CACHED_BADGES = 8, 256
# How much larger badges are drawn than they are shown, and in cells, the width of their rims.
_FINE, _RIM = 4, 0.03


class GeneralStyle:
    """Draw agents as numbered discs, targets as numbered rounded squares in a tint; arrived agents as both, in one.

    The disc of an agent that is delayed is pale.

    Width and height are those of the frame in pixels; the others are as in `multigrid.rendering._frame.RenderOptions`.
    """

    def __init__(self, config: GridConfig, width: int, height: int, trails: int, view_of: int | None) -> None:
        self._config, self._size, self._trails, self._view_of = config, (width, height), trails, view_of
        self._game = import_pygame()
        self._side = max(width, height) / max(config.width, config.height)
        # Where a side is not the rounded one, but the even one, the pixel is spread over its cells.
        ends = (width, config.width), (height, config.height)
        self._sides = np.array([end / n if end > round(n * self._side) else self._side for end, n in ends])
        self._sprite_side = max(1, int(self._side))
        self._disc, self._square = measure(self._side, self._sprite_side)
        self._colours = find_colours(config, Look())
        self._canvas = self._game.Surface((width, height), depth=32)
        self._backgrounds: dict[Any, Any] = {}
        self._sprites: dict[tuple[Kind, int], Any] = {}
        self._marks: dict[Any, Any] = {}
        self._badges: dict[Any, Any] = {}

    def frame(self, scene: Scene) -> NDArray[np.uint8]:
        """Draw a scene: uint8 (height, width, 3), a new array."""
        if self._colours != (chosen := find_colours(self._config, scene.look)):
            self._colours, self._sprites = chosen, {}
        walls = scene.walls.tobytes()
        self._canvas.blit(remember(self._backgrounds, _CACHED_MAPS, self._draw_background, walls), (0, 0))
        self._canvas.blits(self._place_sprites(scene), doreturn=False)
        width, height = self._size
        frame = np.empty((height, width, 3), np.uint8)
        surface_on(frame).blit(self._canvas, (0, 0))
        return frame

    def _draw_background(self, content: bytes) -> Any:
        """Draw a map, given as bytes, without agents and targets."""
        walls = np.frombuffer(content, np.bool_).reshape(self._config.width, self._config.height)
        width, height = self._size
        pixels = np.full((height, width, 3), WHITE, np.uint8)
        columns, rows = map(self._edges, walls.shape, self._size, self._sides)
        if (line := draw_line(self._side)) != WHITE:
            pixels[:, columns[1:-1]] = line
            pixels[rows[1:-1], :] = line
        pixels[np.repeat(np.repeat(walls, np.diff(columns), axis=0), np.diff(rows), axis=1).T] = WALL
        for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
            edge[(edge != WALL).any(axis=1)] = BORDER
        background = self._canvas.copy()
        background.blit(surface_on(pixels), (0, 0))
        return background

    def _place_sprites(self, scene: Scene) -> list[Sprite]:
        """Return the sprites of a scene, in the order in which they are drawn."""
        settled = np.zeros(len(scene.agents), bool) if scene.settled is None else scene.settled
        travelling = np.flatnonzero(scene.present & ~settled).tolist()
        present = np.flatnonzero(scene.present).tolist()
        agents, targets = self._corners(scene.agents), self._corners(scene.targets)
        sprites = [
            (remember(self._marks, _CACHED_BADGES, self._draw_mark, mark.colour, mark.letter), corner)
            for mark in scene.look.marks
            for corner in self._corners(np.array(mark.cell))
        ]
        if self._config.has_targets:
            sprites += [(self._sprite("target", index), targets[index]) for index in travelling]
        if self._trails and scene.trail is not None and len(scene.trail):
            sprites.append((self._trail_layer(scene, present), (0, 0)))
        delayed = False if scene.delayed is None else scene.delayed
        kinds = np.where(settled, "settled", np.where(delayed, "delayed", "agent")).tolist()
        sprites += [(self._sprite(kinds[index], index), agents[index]) for index in present]
        for badge in scene.look.badges:
            if scene.present[badge.agent] and self._sprite_side >= SMALLEST_RING:
                drawn = remember(self._badges, _CACHED_BADGES, self._draw_badge, *badge[1:])
                sprites.append((drawn, agents[badge.agent]))
        if self._view_of is not None and scene.present[self._view_of]:
            sprites += self._veils(scene.agents[self._view_of].tolist())
        return sprites

    @staticmethod
    def _edges(cells: int, end: int, side: float) -> NDArray[np.int64]:
        """Return the pixel at which each cell begins, and the one at which the last cell ends."""
        edges = np.rint(np.arange(cells) * side).astype(np.int64)
        # At half a pixel, the frame's size may be rounded differently.
        return np.append(edges, end)

    def _corners(self, cells: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the upper left corners of sprites in these cells, in pixels."""
        corners = np.rint(np.atleast_2d(cells) * self._sides + (self._sides - self._sprite_side) / 2).astype(np.int64)
        return [(x, y) for x, y in corners.tolist()]

    def _draw_mark(self, colour: str, letter: str) -> Any:
        """Return a surface that fills a cell, with a letter."""
        side, ground = self._sprite_side, parse_colour(colour)
        surface = self._game.Surface((side, side))
        surface.fill(ground)
        if letter and side >= SMALLEST_RING:
            text = draw_text(letter, round(0.6 * side), contrast(ground))
            surface.blit(text, text.get_rect(center=surface.get_rect().center))
        return surface

    def _draw_badge(self, direction: int | None, colour: str, letter: str) -> Any:
        """Return a sprite with an arrow at the edge of a cell, and what the agent holds in a corner."""
        side, draw = _FINE * self._sprite_side, self._game.draw
        large = self._game.Surface((side, side), self._game.SRCALPHA)
        if direction is not None:
            for ink, corners in ((WHITE, place_arrow(direction, _RIM)), (BLACK, place_arrow(direction))):
                draw.polygon(large, ink, [(side * x, side * y) for x, y in corners])
        if colour:
            ground, rim = parse_colour(colour), round(2 * _RIM * side)
            left, top, width = (round(side * one) for one in HELD)
            box = self._game.Rect(left, top, width, width)
            draw.rect(large, contrast(ground), box.inflate(rim, rim), border_radius=side // 16)
            draw.rect(large, ground, box, border_radius=side // 16)
            if letter:
                text = draw_text(letter, width, contrast(ground))
                large.blit(text, text.get_rect(center=box.center))
        return self._game.transform.smoothscale(large, (self._sprite_side, self._sprite_side))

    def _sprite(self, kind: Kind, index: int) -> Any:
        if (kind, index) not in self._sprites:
            self._sprites[kind, index] = self._draw(kind, index)
        return self._sprites[kind, index]

    def _draw(self, kind: Kind, index: int) -> Any:
        colour = self._colours[index]
        layers = draw_layers(kind, colour, self._sprite_side, self._disc, self._square)
        disc, *others = (sprite(*layer) for layer in layers)
        disc.blits([(one, (0, 0)) for one in others])
        ground = layers[-1][0] if kind in {"agent", "delayed"} else layers[0][0]
        ink = legible(colour, ground, _NUMBER_CONTRAST) if kind == "target" else contrast(ground)
        return self._write_number(disc, index, ink)

    def _write_number(self, disc: Any, index: int, ink: Colour) -> Any:
        """Write an agent's number on a sprite, unless it is alone or the longest number does not fit; return both."""
        digits = len(str(self._config.num_agents - 1))
        # The diagonal of the text fills the circle inside the ring.
        height = 2 * (self._disc - RING * self._sprite_side) * _FILLED / math.hypot(_DIGIT_WIDTH * digits, 1)
        if self._config.num_agents == 1 or height < _SMALLEST_DIGIT:
            return disc
        self._game.font.init()
        font = self._game.font.Font(None, round(height / _DIGIT_HEIGHT))
        text = font.render(str(index), True, ink)  # noqa: FBT003 - by position only
        inked = text.get_bounding_rect()
        centred = inked.copy()
        centred.center = disc.get_rect().center
        disc.blit(text, centred, inked)
        return disc

    def _trail_layer(self, scene: Scene, present: list[int]) -> Any:
        """Draw the trails of all agents that are present; older parts are drawn first and paler."""
        assert scene.trail is not None
        past = scene.trail[-self._trails :]
        way = np.rint((np.concatenate([past, scene.agents[None]]) + 0.5) * self._sides).astype(np.int64)
        half = max(_TRAIL * self._side / 2, 0.5)
        low = np.rint(np.minimum(way[:-1], way[1:]) - half).astype(np.int64)
        spans = np.maximum(np.rint(np.maximum(way[:-1], way[1:]) + half).astype(np.int64) - low, 1)
        moved = (way[:-1] != way[1:]).any(axis=2)
        layer = self._game.Surface(self._size, self._game.SRCALPHA)
        for age in range(len(past), 0, -1):
            opacity = round(_TRAIL_OPACITY * (1 - (age - 1) / self._trails))
            for index in (index for index in present if moved[-age, index]):
                box = low[-age, index].tolist(), spans[-age, index].tolist()
                layer.fill((*self._colours[index], opacity), box)
        return layer

    def _veils(self, cell: list[int]) -> list[Sprite]:
        """Fade the cells outside an agent's view, and draw a frame around the view."""
        width, height = self._size
        radius, colour = self._config.view_radius, self._colours[self._view_of or 0]
        left, top = np.maximum(0, np.rint((np.array(cell) - radius) * self._sides)).astype(int).tolist()
        ends = np.rint((np.array(cell) + radius + 1) * self._sides).astype(int)
        right, bottom = np.minimum(self._size, ends).tolist()
        outside = [(0, 0, width, top), (0, bottom, width, height - bottom)]
        outside += [(0, top, left, bottom - top), (right, top, width - right, bottom - top)]
        veils = []
        for x, y, across, down in outside:
            if across > 0 and down > 0:
                veil = self._game.Surface((across, down), self._game.SRCALPHA)
                veil.fill(_VEIL)
                veils.append((veil, (x, y)))
        frame = self._game.Surface((right - left, bottom - top), self._game.SRCALPHA)
        self._game.draw.rect(frame, colour, frame.get_rect(), width=max(2, round(RING * self._side)))
        return [*veils, (frame, (left, top))]
