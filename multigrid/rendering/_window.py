"""Show the window of ``render_mode="human"``."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from gymnasium import logger

from multigrid.rendering._backend import has_display, import_pygame

if TYPE_CHECKING:
    import pygame

_BARS = (48, 48, 54)


class Window:
    """A window that opens with the first frame, and opens again with the next frame after `close`.

    pygame has one window per process. Several instances share it, at the size of the first one's frames, and the last
    one closes it. A resized window shows the whole picture in its own proportions, between bars.

    If the user closes the window, the game continues: `show` warns once, and then does nothing until `close` is called.
    Without a display, `show` warns once, and does not wait. It shows at most `frames_per_second` frames per second.
    """

    _open: ClassVar[weakref.WeakSet[Window]] = weakref.WeakSet()

    def __init__(self, frames_per_second: int) -> None:
        self._frames_per_second = frames_per_second
        self._clock: Any = None
        self._last_ticks = 0
        self.closed_by_user = False
        """Whether the user has closed the window since the last call of `close`."""

    @property
    def surface(self) -> pygame.Surface | None:
        """The surface of the window while it is open, else None."""
        return import_pygame().display.get_surface() if self in Window._open else None

    @property
    def clock(self) -> pygame.time.Clock | None:
        """The clock that limits the frames per second, None before the first frame."""
        return self._clock  # type: ignore[no-any-return]

    def show(self, canvas: pygame.Surface) -> None:
        """Show a frame, process the events of the window system, and wait until the next frame is due."""
        if self.closed_by_user:
            return
        game = import_pygame()
        surface = self._open_window(game, canvas.get_size())
        if surface.get_size() == canvas.get_size():
            surface.blit(canvas, (0, 0))
        else:
            place = canvas.get_rect().fit(surface.get_rect())
            surface.fill(_BARS)
            surface.blit(game.transform.smoothscale(canvas, (max(1, place.width), max(1, place.height))), place)
        game.event.pump()
        if game.event.get(game.QUIT, pump=False):
            self._close_for_all(game)
            return
        # Nothing reads these events. If they filled the queue, the event that closes the window would be lost.
        game.event.clear((game.MOUSEMOTION, game.MOUSEWHEEL, game.FINGERMOTION), pump=False)
        game.display.update()
        if has_display():
            self._clock.tick(self._frames_per_second)
        self._last_ticks = game.time.get_ticks()

    def _open_window(self, game: Any, size: tuple[int, int]) -> pygame.Surface:
        """Return the surface of the window, which other code may have opened or closed in the meantime."""
        game.display.init()
        surface = game.display.get_surface()
        # pygame's time begins at 0 again after pygame.quit(); an older clock would wait for the new time to catch up.
        if surface is None or self._clock is None or game.time.get_ticks() < self._last_ticks:
            self._clock = game.time.Clock()
        if surface is None or not Window._open:
            surface = game.display.set_mode(size, game.RESIZABLE)
            game.display.set_caption("multigrid")
            if not has_display():
                logger.warn(
                    'there is no display, so render_mode="human" shows nothing; render_mode="rgb_array" returns frames'
                )
        Window._open.add(self)
        return surface  # type: ignore[no-any-return]

    def _close_for_all(self, game: Any) -> None:
        """Close the window for all instances that share it."""
        for window in Window._open:
            window.closed_by_user = True
        Window._open.clear()
        game.display.quit()
        logger.warn("the window was closed; the game goes on without it, and close() lets the next frame open it again")

    def close(self) -> None:
        """Close the window, unless another instance still uses it; closing again does nothing."""
        self._clock, self.closed_by_user = None, False
        if self in Window._open:
            Window._open.remove(self)
            if not Window._open:
                import_pygame().display.quit()


def close_display() -> None:
    """Close pygame's window, also one that other code has opened."""
    import_pygame().display.quit()
