"""Draw small texts with even spaces between the letters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from multigrid._palette import Colour
from multigrid.rendering._backend import import_pygame

# pygame places the letters of small fonts on whole pixels, which looks uneven; so they are drawn larger and reduced.
_SCALE = 4


@lru_cache(maxsize=1024)
def draw_text(text: str, size: int, colour: Colour) -> Any:
    """Return a surface with a line of text in pygame's own font, `size` pixels high; do not draw on it."""
    large = _load_font(size).render(text, True, colour)  # noqa: FBT003 (pygame takes it by position: smooth edges)
    width, height = (max(1, -(-length // _SCALE)) for length in large.get_size())
    return import_pygame().transform.smoothscale(large, (width, height))


@lru_cache(maxsize=1024)
def text_width(text: str, size: int) -> int:
    """Return the width of a text in pixels."""
    return int(-(-_load_font(size).size(text)[0] // _SCALE))


@lru_cache(maxsize=64)
def line_height(size: int) -> int:
    """Return the height of a line of text in pixels."""
    return int(-(-_load_font(size).get_linesize() // _SCALE))


def _load_font(size: int) -> Any:
    # Fonts are not kept: one that was loaded before pygame.quit() crashes the process afterwards.
    font = import_pygame().font
    font.init()
    return font.Font(None, _SCALE * size)
