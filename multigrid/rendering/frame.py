"""A world as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.regions import WALL

if TYPE_CHECKING:
    import pygame

__all__ = ["WINDOW_SIZE", "Scene", "draw_frame", "import_pygame", "to_array"]

WINDOW_SIZE = 512
"""The longer side of a frame, in pixels."""

_BACKGROUND = (255, 255, 255)
_LINE = (0, 0, 0)
_LINE_WIDTH = 3
_WALL = (70, 70, 78)
# The documented pair: a blue agent and its red target.
_ONE_AGENT, _ONE_TARGET = (0, 0, 255), (255, 0, 0)
# Okabe and Ito's palette (2008), which colour-blind readers can tell apart, without its black.
_PALETTE = (
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (86, 180, 233),
    (190, 175, 20),
)
_TINT = 0.55


class Scene:
    """What there is to draw of one world.

    Attributes:
        regions: int32 (W, H), 0 at a wall.
        agents: int64 (N, 2), the agents' cells.
        targets: int64 (N, 2), their targets.
        present: bool (N,), False for an agent that has left, which is not drawn, nor is its target.
    """

    def __init__(
        self,
        regions: NDArray[np.int32],
        agents: NDArray[np.int64],
        targets: NDArray[np.int64],
        present: NDArray[np.bool_],
    ) -> None:
        self.regions = regions
        self.agents = agents
        self.targets = targets
        self.present = present


def import_pygame() -> Any:
    """Return the pygame module.

    Raises:
        DependencyNotInstalled: neither pygame-ce nor pygame is installed.
    """
    try:
        import pygame
        import pygame.draw
    except ImportError as error:
        raise DependencyNotInstalled("rendering needs pygame: pip install pygame-ce") from error
    return pygame


def draw_frame(config: GridConfig, scene: Scene) -> pygame.Surface:
    """Draw a world: targets as squares, agents as discs, black grid lines, walls dark.

    One agent on a square grid without walls gives the documented picture to the bit.

    Returns:
        A surface whose longer side is `WINDOW_SIZE` pixels.
    """
    game = import_pygame()
    side = WINDOW_SIZE / max(config.width, config.height)
    width, height = config.width * side, config.height * side
    canvas: pygame.Surface = game.Surface((round(width), round(height)))
    canvas.fill(_BACKGROUND)
    for cell in np.argwhere(scene.regions == WALL):
        canvas.fill(_WALL, _square(game, cell, side))
    present = np.flatnonzero(scene.present).tolist()
    for index in present:
        game.draw.rect(canvas, _colours(config, index)[1], _square(game, scene.targets[index], side))
    for index in present:
        game.draw.circle(canvas, _colours(config, index)[0], (scene.agents[index] + 0.5) * side, side / 3)
    for line in range(config.height + 1):
        game.draw.line(canvas, _LINE, (0, side * line), (width, side * line), width=_LINE_WIDTH)
    for line in range(config.width + 1):
        game.draw.line(canvas, _LINE, (side * line, 0), (side * line, height), width=_LINE_WIDTH)
    return canvas


def to_array(canvas: pygame.Surface) -> NDArray[np.uint8]:
    """Return a surface as uint8 (height, width, 3), a fresh array."""
    pixels: NDArray[np.uint8] = import_pygame().surfarray.array3d(canvas)
    return np.ascontiguousarray(pixels.transpose(1, 0, 2))


def _square(game: Any, cell: NDArray[np.int64], side: float) -> Any:
    return game.Rect(side * cell, (side, side))


def _colours(config: GridConfig, index: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return an agent's colour and its target's: a tint of the same hue."""
    if config.num_agents == 1:
        return _ONE_AGENT, _ONE_TARGET
    colour = _PALETTE[index % len(_PALETTE)]
    return colour, tuple(round(value + (255 - value) * _TINT) for value in colour)
