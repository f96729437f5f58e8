"""The window of ``render_mode="human"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multigrid.rendering.frame import import_pygame

if TYPE_CHECKING:
    import pygame

__all__ = ["Window"]


class Window:
    """A window that opens with the first frame it is shown, and again after it was closed.

    pygame has one window a process, so several of these take turns in it, and any of them may find it closed.
    """

    def __init__(self, frames_per_second: int) -> None:
        self._frames_per_second = frames_per_second
        self._clock: Any = None

    def show(self, canvas: pygame.Surface) -> None:
        """Show a frame, let the window system have its say, and wait until the next frame is due."""
        game = import_pygame()
        game.display.init()
        surface = game.display.get_surface()
        if surface is None or surface.get_size() != canvas.get_size():
            surface = game.display.set_mode(canvas.get_size())
        if self._clock is None:
            self._clock = game.time.Clock()
        surface.blit(canvas, (0, 0))
        game.event.pump()
        game.display.update()
        self._clock.tick(self._frames_per_second)

    def close(self) -> None:
        """Shut the window; closing it again does nothing."""
        if self._clock is not None:
            import_pygame().display.quit()
        self._clock = None
