"""Draw small texts with even spaces between the letters, and captions below the frames of a film."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import Colour
from multigrid.rendering._backend import import_pygame, surface_on
from multigrid.rendering._episode import Episode

# pygame places the letters of small fonts on whole pixels, which looks uneven; so they are drawn larger and reduced.
_SCALE = 4
_PAPER, _INK, _GOOD, _BAD = (255, 255, 255), (31, 35, 43), (20, 119, 74), (193, 18, 31)
# The height of the text as a share of the frame's longer side; its least and its largest height in pixels; the height
# of the line as a multiple of it.
_TEXT, _LEAST_TEXT, _LARGEST_TEXT, _LINE = 1 / 25, 11, 26, 1.4


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


def describe_step(episode: Episode, step: int) -> tuple[str, Colour]:
    """Return the text below a frame, and its colour; from the step that the verdict names, the text is the verdict.

    >>> import multigrid.scenarios
    >>> from multigrid.scenarios.tracing import trace_episode
    >>> episode = trace_episode(multigrid.scenarios.get("empty-9x7-2"))
    >>> describe_step(episode, 2)[0], describe_step(episode, 6)[0]
    ('step 2: 1 of 2 arrived', 'solved at step 6')
    """
    verdict = episode.verdict
    if step >= verdict.step:
        return verdict.text, _INK if verdict.solved is None else _GOOD if verdict.solved else _BAD
    if episode.config.game is not None:
        return f"step {step}: {episode.describe_rewards(step)}", _INK
    if episode.config.on_target == "restart":
        arrivals = int(episode.arrivals[step].sum())
        return f"step {step}: {arrivals} arrival{'s' * (arrivals != 1)}", _INK
    # Of a number that is drawn, the others are absent from the beginning.
    there = (episode.settled[step] | ~episode.present[step]) & episode.present[0]
    return f"step {step}: {int(there.sum())} of {int(episode.present[0].sum())} arrived", _INK


def add_caption(frame: NDArray[np.uint8], text: str, colour: Colour) -> NDArray[np.uint8]:
    """Return a frame, uint8 (height, width, 3), with a line of text below it; a long text is smaller."""
    height, width, _ = frame.shape
    longer = max(height, width)
    size = min(max(_LEAST_TEXT, round(_TEXT * longer)), _LARGEST_TEXT)
    line = 2 * round(_LINE * size / 2)  # even, as the frame's height
    while size > 6 and text_width(text, size) > width - 8:
        size -= 1
    strip = np.full((line, width, 3), _PAPER, np.uint8)
    written = draw_text(text, size, colour)
    surface_on(strip).blit(written, written.get_rect(midleft=(max(4, round(0.01 * width)), line // 2 + 1)))
    return np.concatenate([frame, strip])
