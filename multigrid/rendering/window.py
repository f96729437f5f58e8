"""The window of ``render_mode="human"``."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from gymnasium import logger

from multigrid.rendering.backend import import_pygame

if TYPE_CHECKING:
    import pygame

__all__ = ["Window"]

_BARS = (48, 48, 54)


class Window:
    """A window that opens with the first frame it is shown, and again after it was closed.

    pygame has one window a process. Several of these take turns in it, at the size that the first one gave it, and it
    is shut when the last of them closes. Whoever resizes it sees the whole picture, its shape kept, between bars.

    Whoever clicks it away has seen enough, and the game goes on: `show` warns once, and then shows nothing, without
    waiting, until `close` was called.

    Args:
        frames_per_second: how many are shown at most.
    """

    _open: ClassVar[weakref.WeakSet[Window]] = weakref.WeakSet()

    def __init__(self, frames_per_second: int) -> None:
        self._frames_per_second = frames_per_second
        self._clock: Any = None
        self.clicked_away = False
        """Whether somebody has clicked the window away since it was last closed."""

    def show(self, canvas: pygame.Surface) -> None:
        """Show a frame, let the window system have its say, and wait until the next frame is due."""
        if self.clicked_away:
            return
        game = import_pygame()
        surface = self._open_window(game, canvas.get_size())
        _fit(game, canvas, surface)
        game.event.pump()
        if game.event.get(game.QUIT, pump=False):
            self._end_show(game)
            return
        # Nobody waits for these, and a queue that is full of them has no room for the click that closes the window.
        game.event.clear((game.MOUSEMOTION, game.MOUSEWHEEL, game.FINGERMOTION), pump=False)
        game.display.update()
        self._clock.tick(self._frames_per_second)

    def _open_window(self, game: Any, size: tuple[int, int]) -> pygame.Surface:
        """Return the surface of the window, which somebody else may have opened, or closed, in the meantime."""
        game.display.init()
        surface = game.display.get_surface()
        if surface is None or not Window._open:
            surface = game.display.set_mode(size, game.RESIZABLE)
            game.display.set_caption("multigrid")
        Window._open.add(self)
        if self._clock is None:
            self._clock = game.time.Clock()
        return surface  # type: ignore[no-any-return]

    def _end_show(self, game: Any) -> None:
        """Shut the window for everyone who shows something in it."""
        for window in Window._open:
            window.clicked_away = True
        Window._open.clear()
        game.display.quit()
        logger.warn("the window was closed; the game goes on without it, and close() lets the next frame open it again")

    def close(self) -> None:
        """Shut the window, unless another one of these still shows something in it; closing again does nothing."""
        self._clock, self.clicked_away = None, False
        if self in Window._open:
            Window._open.remove(self)
            if not Window._open:
                import_pygame().display.quit()


def _fit(game: Any, canvas: pygame.Surface, surface: pygame.Surface) -> None:
    """Draw a picture in the middle of a surface, as large as fits, its shape kept."""
    if surface.get_size() == canvas.get_size():
        surface.blit(canvas, (0, 0))
        return
    place = canvas.get_rect().fit(surface.get_rect())
    surface.fill(_BARS)
    surface.blit(game.transform.smoothscale(canvas, (max(1, place.width), max(1, place.height))), place)
