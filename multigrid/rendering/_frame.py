"""Draw frames of a world, as arrays and as surfaces."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, name_errors, shorten
from multigrid._memory import check_memory
from multigrid.config import GridConfig
from multigrid.game import describe
from multigrid.rendering._backend import surface_on
from multigrid.rendering._documented import DocumentedStyle
from multigrid.rendering._general import GeneralStyle
from multigrid.rendering._scene import Scene

if TYPE_CHECKING:
    import pygame

WINDOW_SIZE = 512
"""The longer side of a frame, in pixels."""

SMALLEST_FRAME = 16
"""The smallest allowed longer side of a frame, in pixels."""

# In pixels: cells in which numbers can be read, and the largest picture.
_READABLE_CELL, _LARGEST = 24, 1280


def make_even(length: int) -> int:
    """Return an even length in pixels, this one or the next: browsers play no film with an odd side."""
    return length + length % 2


class RenderOptions(NamedTuple):
    """The options of a `Painter`."""

    size: int  # the longer side of a frame in pixels
    trails: int  # the length of the trail behind each agent, in steps; 0 for no trails
    view_of: int | None  # the index of an agent whose view, of radius `view_radius`, is highlighted; None for no agent


def check_render_options(config: GridConfig, size: int, trails: int, view_of: int | None) -> RenderOptions:
    """Check the options of a `Painter`, and return them as integers; the size is even, as `make_even` returns it."""
    size, trails = make_even(check_int("render_size", size, SMALLEST_FRAME)), check_int("render_trails", trails, 0)
    if view_of is not None:
        view_of = check_int("render_view", view_of, 0, " or None for nobody's view")
        if view_of >= config.num_agents:
            expected = f"expected the index of an agent, below {config.num_agents}, or None"
            raise ValueError(f"render_view is {view_of}; {expected}")
    return RenderOptions(size, trails, view_of)


class Painter:
    """Draw scenes of one world, in any order; the background is drawn once.

    One agent on a square grid without walls, trails and view is drawn as in the documented GridWorld, bit for bit at
    512 pixels. In all other frames, agents are numbered discs and their targets numbered rounded squares in a tint.
    The arguments are those of `RenderOptions`; cells are squares, but for a pixel that makes both sides of these other
    frames even, and older parts of trails are paler.

    >>> from multigrid.core.worlds import Worlds
    >>> from multigrid.rendering._scene import scene_in
    >>> world = Worlds(GridConfig(size=(4, 3), num_agents=2))
    >>> world.set_generator(0, np.random.default_rng(0))
    >>> world.reset()
    >>> painter = Painter(world.config, size=400)
    >>> painter.size, painter.frame(scene_in(world.config, world.arrays, 0)).shape
    ((400, 300), (300, 400, 3))
    """

    def __init__(
        self, config: GridConfig, size: int = WINDOW_SIZE, trails: int = 0, view_of: int | None = None
    ) -> None:
        longest, trails, view_of = check_render_options(config, size, trails, view_of)
        longer = max(config.width, config.height)
        width, height = (make_even(max(1, round(longest * cells / longer))) for cells in (config.width, config.height))
        has_walls = config.maps is not None and bool(config.maps.any())
        documented = config.num_agents == 1 and config.width == config.height and not has_walls and config.game is None
        documented = documented and not trails and view_of is None
        self.size = (size, size) if documented else (width, height)
        """The width and the height of a frame, in pixels."""
        self._config = config
        self._style: DocumentedStyle | GeneralStyle = (
            DocumentedStyle(config.width, size) if documented else GeneralStyle(config, width, height, trails, view_of)
        )

    def frame(self, scene: Scene) -> NDArray[np.uint8]:
        """Draw a scene: uint8 (height, width, 3), red, green and blue, a new array.

        Of a game with a function `picture` it is what this returns, in the size that it has.
        """
        return self._style.frame(scene) if scene.look.seen is None else self._ask_game(scene.look.seen)

    def _ask_game(self, seen: SimpleNamespace) -> NDArray[np.uint8]:
        game: Any = self._config.game
        label = f"{game.__name__}.picture"
        with name_errors(label):
            frame: Any = describe(game).plain["picture"](seen)
        is_array = isinstance(frame, np.ndarray)
        if not is_array or frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or frame.size == 0:
            came = f"an array of {frame.dtype} of shape {frame.shape}" if is_array else shorten(frame)
            raise ValueError(f"{label} returns {came}; expected an array of uint8 of shape (height, width, 3)")
        check_memory(f"what {label} returns", frame.size, "return a smaller picture")
        return np.array(frame, order="C")

    def surface(self, scene: Scene) -> pygame.Surface:
        """Draw a scene on a new surface."""
        return surface_on(self.frame(scene))


def readable_size(config: GridConfig) -> int:
    """Return the longer side of a picture, in pixels, in which the numbers of agents can be read, at most 1280."""
    return min(max(WINDOW_SIZE, _READABLE_CELL * max(config.width, config.height)), _LARGEST)
