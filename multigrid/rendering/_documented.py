"""Draw the frame of Gymnasium's documented GridWorld, bit for bit: one agent on a square grid without walls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.rendering._backend import Sprite, import_pygame, remember, surface_on
from multigrid.rendering._scene import Scene

_BACKGROUND, _LINE = (255, 255, 255), (0, 0, 0)
_AGENT, _TARGET = (0, 0, 255), (255, 0, 0)
_LINE_WIDTH = 3
# No part of a frame has this colour.
_NOTHING = (0, 255, 0)
# The byte order of a pixel in a frame's array: red first, and no fourth byte.
_MASKS = (0xFF, 0xFF00, 0xFF0000, 0)
_CACHED = 4096


class DocumentedStyle:
    """Draw the target's red square and the agent's blue circle on white, with black lines over both.

    The documented code draws all of it for each frame. This class draws the grid once, and the square and the circle
    once for each cell, without the pixels that the lines would cover. `cells` is the grid's side, `pixels` the frame's.
    """

    def __init__(self, cells: int, pixels: int) -> None:
        self._cells, self._pixels = cells, pixels
        self._game = import_pygame()
        self._scratch = self._game.Surface((pixels, pixels), depth=32)
        self._scratch.fill(_BACKGROUND)
        self._draw_lines(_LINE)
        self._background: NDArray[np.uint8] = np.empty((pixels, pixels, 3), np.uint8)
        surface_on(self._background).blit(self._scratch, (0, 0))
        self._cached: dict[tuple[tuple[int, int, int], int, int], Sprite] = {}

    def frame(self, scene: Scene) -> NDArray[np.uint8]:
        """Draw a scene: uint8 (pixels, pixels, 3), a new array."""
        frame: NDArray[np.uint8] = self._background.copy()
        # An agent that left on its arrival is drawn in its last cell, as in the documented code.
        target, agent = scene.targets[0].tolist(), scene.agents[0].tolist()
        surface_on(frame).blits((self._sprite(_TARGET, *target), self._sprite(_AGENT, *agent)), doreturn=False)
        return frame

    def _sprite(self, colour: tuple[int, int, int], x: int, y: int) -> Sprite:
        sprite = self._cached.get((colour, x, y))
        return remember(self._cached, _CACHED, self._draw, colour, x, y) if sprite is None else sprite

    def _draw(self, colour: tuple[int, int, int], x: int, y: int) -> Sprite:
        """Draw the target or the agent in its cell; the exact pixels depend on the cell."""
        side, cell = self._pixels / self._cells, np.array([x, y])
        self._scratch.fill(_NOTHING)
        if colour == _TARGET:
            box = self._game.draw.rect(self._scratch, colour, self._game.Rect(side * cell, (side, side)))
        else:
            box = self._game.draw.circle(self._scratch, colour, (cell + 0.5) * side, side / 3)
        self._draw_lines(_NOTHING)
        surface: Any = self._game.Surface(box.size, depth=24, masks=_MASKS)
        surface.blit(self._scratch, (0, 0), box)
        surface.set_colorkey(_NOTHING, self._game.RLEACCEL)
        return surface, box.topleft

    def _draw_lines(self, colour: tuple[int, int, int]) -> None:
        for line in range(self._cells + 1):
            at = self._pixels / self._cells * line
            self._game.draw.line(self._scratch, colour, (0, at), (self._pixels, at), width=_LINE_WIDTH)
            self._game.draw.line(self._scratch, colour, (at, 0), (at, self._pixels), width=_LINE_WIDTH)
