"""Maps that a world draws at every reset, from its own random stream."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from multigrid._checks import check_bool, check_int, check_keywords, check_size, is_real, shorten

_LEAST_ROOM = 2


@dataclasses.dataclass(frozen=True)
class MapGenerator:
    """The base class of the map generators that `GridConfig` takes as ``walls``."""

    size: int | tuple[int, int] | None = None
    """The size of the maps in cells: the side of a square, or (width, height)."""
    side: tuple[int, int] | None = None
    """Instead: the least and the largest side of a square, drawn uniformly. Smaller maps are in the corner [0, 0] of
    the largest one, with walls around."""

    def __post_init__(self) -> None:
        if (self.size is None) == (self.side is None):
            raise ValueError(f"size is {shorten(self.size)} and side {shorten(self.side)}; give one of them")
        if self.side is None:
            object.__setattr__(self, "size", check_size(self.size))
            return
        low, high = _check_pair("side", self.side)
        sides = check_int("side", low, 1), check_int("side", high, 1)
        if sides[0] > sides[1]:
            raise ValueError(f"side is {shorten(self.side)}; expected the least side first")
        object.__setattr__(self, "side", sides)

    @property
    def largest(self) -> tuple[int, int]:
        """The width and the height of the largest map."""
        size: Any = self.side[1] if self.side is not None else self.size
        return (size, size) if isinstance(size, int) else tuple(size)

    @property
    def smallest(self) -> tuple[int, int]:
        """The width and the height of the smallest map."""
        return self.largest if self.side is None else (self.side[0], self.side[0])

    @property
    def options(self) -> list[float]:
        """What the kernel needs: the least and the largest side, 0 for none, and more that each generator adds."""
        return [float(side) for side in self.side or (0, 0)]

    def refuse_unknown(self) -> NoReturn:
        """Raise ValueError where a map has to be known before the reset that draws it."""
        raise ValueError(
            f"walls is {self!r}, whose maps are drawn at every reset, and known only then; expected maps, such as "
            'get_state()["walls"] in the middle of an episode'
        )

    def check_room(self, num_agents: int, game: str = "") -> None:
        """Raise ValueError if the smallest map cannot have so many agents, and for the name of a game."""
        if game:
            raise ValueError(f"walls is {self!r}, but the game {game} needs maps that are known; expected maps")
        width, height = self.smallest
        room = self._count_free(width, height)
        if room < max(num_agents, _LEAST_ROOM):
            raise ValueError(
                f"num_agents is {num_agents}, but maps of {width} x {height} cells by {self!r} have at most {room} "
                "free cells; use fewer agents, larger maps, or fewer walls"
            )

    def _count_free(self, width: int, height: int) -> int:
        """Return how many cells of a map are free at most."""
        raise NotImplementedError


@check_keywords
@dataclasses.dataclass(frozen=True)
class RandomWalls(MapGenerator):
    """Maps of random walls, each cell independent, drawn at every reset.

    Starts and targets are in components of at least two cells, each target in its agent's. A map in which the agents of
    the episode have no room is drawn again; after every hundredth time, the density is halved.

    Raises:
        TypeError, ValueError: a field of the wrong type or out of range.

    >>> import multigrid
    >>> env = multigrid.parallel_env(walls=RandomWalls(size=(8, 5), density=(0.1, 0.3)), num_agents=3)
    >>> observations, infos = env.reset(seed=0)
    >>> env.get_state()["walls"].shape
    (8, 5)
    """

    density: float | tuple[float, ...] = 0.3
    """The probability that a cell is a wall; (low, high), drawn uniformly for each map; or (low, mode, high), drawn
    from the triangular distribution."""
    exact: bool = False
    """Whether the number of walls is the density times the number of cells, rounded, and their places are random."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.density
        shares = (given,) if is_real(given) else tuple(given) if isinstance(given, Sequence | np.ndarray) else ()
        if not 1 <= len(shares) <= 3 or not all(map(is_real, shares)):
            raise TypeError(f"density is {shorten(given)}; expected a number, (low, high) or (low, mode, high)")
        if not all(0 <= low <= high <= 1 for low, high in zip((0, *shares), (*shares, 1), strict=True)):
            raise ValueError(f"density is {shorten(given)}; expected numbers from 0 to 1, the lowest first")
        numbers = tuple(float(share) for share in shares)
        object.__setattr__(self, "density", numbers[0] if len(numbers) == 1 else numbers)
        object.__setattr__(self, "exact", check_bool("exact", self.exact))

    @property
    def options(self) -> list[float]:
        """The sides; the lowest, likeliest and highest density, -1 for none that is likeliest; whether it is exact."""
        density: Any = self.density
        low, *mode, high = (density, density) if isinstance(density, float) else density
        return [*super().options, low, mode[0] if mode else -1.0, high, float(self.exact)]

    def _count_free(self, width: int, height: int) -> int:
        cells, low = width * height, self.options[2]
        return cells - round(low * cells) if self.exact else cells * (low < 1)


@check_keywords
@dataclasses.dataclass(frozen=True)
class Mazes(MapGenerator):
    """Mazes of corridors one cell wide, drawn at every reset; perfect ones join any two cells by exactly one path.

    Corridors meet at even x and y, so a side of an even number of cells ends in a line of walls. Each maze is grown by
    a random walk that backtracks at dead ends.

    Raises:
        TypeError, ValueError: a field of the wrong type or out of range.

    >>> import multigrid
    >>> env = multigrid.parallel_env(walls=Mazes(side=(7, 11)), num_agents=2)
    >>> observations, infos = env.reset(seed=0)
    >>> env.get_state()["walls"].shape
    (11, 11)
    """

    loops: float = 0.0
    """The probability that each wall between two corridors is removed: 0 for perfect mazes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_real(self.loops) or math.isnan(self.loops):
            raise TypeError(f"loops is {shorten(self.loops)}; expected a number from 0 to 1")
        if not 0 <= self.loops <= 1:
            raise ValueError(f"loops is {shorten(self.loops)}; expected a number from 0 to 1")

    @property
    def options(self) -> list[float]:
        """The sides, and the share of loops."""
        return [*super().options, float(self.loops)]

    def _count_free(self, width: int, height: int) -> int:
        return 2 * ((width + 1) // 2) * ((height + 1) // 2) - 1


def _check_pair(name: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != 2:
        raise TypeError(f"{name} is {shorten(given)}; expected the least and the largest")
    return given[0], given[1]
