"""The window of ``render_mode="human"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multigrid.rendering.frame import import_pygame

if TYPE_CHECKING:
    import pygame

__all__ = ["Window"]


class Window:
    """A window that opens with the first frame it is shown, and again after it was closed."""

    def __init__(self, frames_per_second: int) -> None:
        self._frames_per_second = frames_per_second
        self._surface: Any = None
        self._clock: Any = None

    def show(self, canvas: pygame.Surface) -> None:
        """Show a frame, let the window system have its say, and wait until the next frame is due."""
        pygame = import_pygame()
        if self._surface is None or not pygame.display.get_init():
            pygame.display.init()
            self._surface = pygame.display.set_mode(canvas.get_size())
            self._clock = pygame.time.Clock()
        self._surface.blit(canvas, (0, 0))
        pygame.event.pump()
        pygame.display.update()
        self._clock.tick(self._frames_per_second)

    def close(self) -> None:
        """Shut the window; closing it again does nothing."""
        if self._surface is not None:
            import_pygame().display.quit()
        self._surface = self._clock = None
