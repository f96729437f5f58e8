"""Draw agents, targets and the ground of a cell, for pictures and for observations that are images."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import BLACK, WHITE, Colour, colours, contrast, mix, tint

WALL, LINE, BORDER = (70, 70, 78), (196, 196, 202), (120, 120, 128)
"""The colours of walls, of the lines between cells, and of the line around the grid."""
RING = 0.06
"""The width of a ring, in cells."""
Kind = Literal["agent", "delayed", "settled", "target"]
KINDS: tuple[Kind, ...] = ("agent", "delayed", "settled", "target")
Layers = list[tuple[Colour, NDArray[np.float64]]]
"""What is drawn on a cell: colours, and the share of each pixel that each covers, float64 (side, side)."""

# The share of white in a target's colour, and the share of black in the rim of a disc.
_TINT, _SHADE = 0.55, 0.3
# In pixels per cell: from the first on, lines have their full colour; at the second they have faded to white.
_LINES_FULL, _LINES_GONE = 28.0, 5.0
# In cells: radius of a disc, half side and corner radius of a square.
_DISC, _SQUARE, _CORNER = 0.36, 0.42, 0.16
# In pixels per cell: up to the first, discs and squares fill their cell; from the second on, they have the size above.
_ALL_OF_IT, _SPACED = 4.0, 12.0
# In pixels: smaller rings are not drawn.
SMALLEST_RING = 12.0


def measure(cell: float, side: int) -> tuple[float, float]:
    """Return the radius of a disc and half the side of a square, for a cell of whole pixels, `side` of them."""
    spaced = min(max((cell - _ALL_OF_IT) / (_SPACED - _ALL_OF_IT), 0), 1)
    disc, square = (side * (0.5 + (half - 0.5) * spaced) for half in (_DISC, _SQUARE))
    return disc, square


def draw_line(cell: float) -> Colour:
    """Return the colour of the lines between cells."""
    return mix(LINE, WHITE, 1 - min(max((cell - _LINES_GONE) / (_LINES_FULL - _LINES_GONE), 0), 1))


def draw_layers(kind: Kind, colour: Colour, side: int, disc: float, square: float) -> Layers:
    """Return the layers of an agent's disc or its target's square, the lowest first, given what `measure` returned."""
    box, distance, ring = _cover(_from_square(side, square)), _from_centre(side) - disc, max(1.0, RING * side)
    if kind == "target":
        return [(tint(colour, _TINT), box)]
    if kind == "settled":
        around = (contrast(colour), _cover(distance + ring / 2) - _cover(distance + ring * 1.5))
        return [(colour, box), around][: 1 + (side >= SMALLEST_RING)]
    inside = tint(colour, _TINT) if kind == "delayed" else colour
    if side < SMALLEST_RING:
        return [(inside, _cover(distance))]
    return [(mix(colour, BLACK, _SHADE), _cover(distance)), (inside, _cover(distance + ring / 2))]


def _draw_own(kind: Kind, colour: Colour, side: int) -> Layers:
    """Return the layers of the observer's own disc, in a black ring, or of its target, in a grey one."""
    ring, (disc, square) = max(1.0, RING * side), measure(side, side)
    is_round = kind in {"agent", "delayed"}
    edge = _from_centre(side) - side / 2 if is_round else _from_square(side, side / 2)
    frame = tint(BLACK, _TINT) if kind == "target" else BLACK
    gap = ring * (side >= SMALLEST_RING)
    inner = side / 2 - ring - gap
    layers: Layers = [(frame, _cover(edge)), (WHITE, _cover(edge + ring))]
    return layers[: 1 + (gap > 0)] + draw_layers(kind, colour, side, min(disc, inner), min(square, inner))


@functools.lru_cache(8)
def paint_sprites(num_agents: int, side: int) -> NDArray[np.uint8]:
    """Return the `KINDS` of each agent as others see it, and then as itself: uint8 (8, N, side * side, 4).

    The last axis is red, green, blue and opacity.
    """
    sprites = np.zeros((2 * len(KINDS), num_agents, side * side, 4), np.uint8)
    for index, colour in enumerate(colours(num_agents)):
        for number, kind in enumerate(KINDS):
            sprites[number, index] = _flatten(draw_layers(kind, colour, side, *measure(side, side)))
            sprites[number + len(KINDS), index] = _flatten(_draw_own(kind, colour, side))
    sprites.setflags(write=False)
    return sprites


def _flatten(layers: Layers) -> NDArray[np.uint8]:
    """Return one layer for several: uint8 (side * side, 4)."""
    paint = np.zeros((*layers[0][1].shape, 4))  # red, green and blue times opacity, and opacity
    for colour, cover in layers:
        paint += cover[..., np.newaxis] * (np.array([*colour, 1.0]) - paint)
    paint[..., :3] /= np.maximum(paint[..., 3:], 1 / 255)
    return np.asarray(np.rint(paint * [1, 1, 1, 255]).reshape(-1, 4), np.uint8)


def paint_ground(side: int) -> NDArray[np.uint8]:
    """Return the ground of a cell, uint8 (17, side, 3 * side): of a free one, by the sum of 1, 2, 4 and 8, and a wall.

    The numbers are for cells on the grid's left, upper, right and lower edge.
    """
    ground = np.full((17, side, side, 3), WHITE, np.uint8)
    ground[-1] = WALL
    for edges, tile in enumerate(ground[:-1]):
        tile[:, 0], tile[0] = (draw_line(side),) * 2
        if edges & 1:
            tile[1:, 0] = WHITE
        if edges & 2:
            tile[0, 1:] = WHITE
        for edge, line in enumerate((tile[:, 0], tile[0], tile[:, -1], tile[-1])):
            if edges & 1 << edge:
                line[:] = BORDER
    return ground.reshape(17, side, 3 * side)


def _from_centre(side: int) -> NDArray[np.float64]:
    """Return the distance of each pixel of a square from the square's centre."""
    across = np.abs(np.arange(side) - (side - 1) / 2)
    return np.asarray(np.hypot(across[:, None], across), np.float64)


def _from_square(side: int, half: float) -> NDArray[np.float64]:
    """Return each pixel's distance from the edge of a centred rounded square, negative inside."""
    corner = _CORNER * side
    across = np.abs(np.arange(side) - (side - 1) / 2) - (half - corner)
    outside = np.maximum(across, 0)
    inside = np.minimum(np.maximum(across[:, None], across), 0)
    return np.asarray(np.hypot(outside[:, None], outside) - corner + inside, np.float64)


def _cover(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each pixel that a shape covers, from the pixels' distances to its edge."""
    return np.clip(0.5 - distance, 0, 1)
