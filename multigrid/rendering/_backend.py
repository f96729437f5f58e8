"""Import pygame for the first picture, and convert NumPy arrays to surfaces."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pygame

Sprite = tuple[Any, tuple[int, int]]
"""A surface, and the position of its upper left corner in the frame, in pixels."""


def import_pygame() -> Any:
    """Return the pygame module, or raise Gymnasium's DependencyNotInstalled."""
    try:
        import pygame
        import pygame.draw
        import pygame.font
        import pygame.surfarray
    except ImportError as error:
        # Uninstalling pygame removes files of pygame-ce, too. pip still lists it, so only --force-reinstall repairs it.
        listed = metadata.packages_distributions().get("pygame")
        command = f"pip install --force-reinstall --no-deps {min(listed)}" if listed else "pip install pygame-ce"
        raise DependencyNotInstalled(f"rendering needs pygame: {command}") from error
    return pygame


def has_display() -> bool:
    """Return whether pygame's display, once initialized, shows windows; True if the user has chosen a driver."""
    # Without a display, SDL draws to memory only.
    return import_pygame().display.get_driver() != "offscreen" or bool(os.environ.get("SDL_VIDEODRIVER"))


def remember(drawn: dict[Any, Any], most: int, draw: Callable[..., Any], *key: Any) -> Any:
    """Return ``draw(*key)``, from a dict if it has the key; a dict with `most` entries is cleared first."""
    if key not in drawn:
        if len(drawn) == most:
            drawn.clear()
        drawn[key] = draw(*key)
    return drawn[key]


def surface_on(pixels: NDArray[np.uint8]) -> pygame.Surface:
    """Return a surface that shares its memory with an array, uint8 (height, width, 3), C-contiguous."""
    height, width, _ = pixels.shape
    surface: pygame.Surface = import_pygame().image.frombuffer(pixels, (width, height), "RGB")
    return surface


def sprite(colour: tuple[int, int, int], cover: NDArray[np.float64]) -> pygame.Surface:
    """Return a surface of one colour, with an opacity from 0 to 1 for each pixel, float64 (height, width)."""
    game = import_pygame()
    # pygame blends its own byte order ten times faster than that of arrays.
    surface: pygame.Surface = game.Surface(cover.T.shape, game.SRCALPHA)
    game.surfarray.pixels3d(surface)[:] = colour
    game.surfarray.pixels_alpha(surface)[:] = np.rint(255 * cover.T)
    return surface
