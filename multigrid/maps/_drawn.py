"""Maps that a world draws at every reset, from its own random stream."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_bool, check_int, check_keywords, check_seed, check_size, is_int, is_real, shorten
from multigrid.maps._cells import label_components
from multigrid.maps._generators import check_block, check_share

_LEAST_ROOM = 2
_NEIGHBOURS = 8
_MOST_STEPS, _MOST_CELLS = 1000, 2**31 - 1


@dataclasses.dataclass(frozen=True)
class MapGenerator:
    """The base class of the map generators that `GridConfig` takes as ``walls``.

    Starts and targets are in components of at least two cells, each target in that of its agent; in a game without
    targets, an agent may start in any free cell. A map in which the agents of the episode have no room is drawn again;
    after every hundredth time, the share of walls, if there is one, is halved.

    Raises:
        TypeError, ValueError: a field of the wrong type or out of range, or a map too small for the largest block.
    """

    size: int | tuple[int, int] | None = None
    """The size of the maps in cells: the side of a square, or (width, height)."""
    side: tuple[int, int] | None = None
    """Instead: the least and the largest side of a square, drawn uniformly. Smaller maps are in the corner [0, 0] of
    the largest one, with walls around."""

    def __post_init__(self) -> None:
        if (self.size is None) == (self.side is None):
            raise ValueError(f"size is {shorten(self.size)} and side {shorten(self.side)}; give one of them")
        object.__setattr__(self, "size", None if self.size is None else check_size(self.size))
        object.__setattr__(self, "side", None if self.side is None else _check_pair("side", self.side))
        for name in filter(_CHECKS.get, list(vars(self))):
            object.__setattr__(self, name, _CHECKS[name](name, getattr(self, name)))

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
        """What the kernel needs: the least and the largest side, 0 for none; then the fields of the generator.

        A share, such as a density, is three numbers: the lowest, the likeliest (-1 for none) and the highest. A number
        of cells or of pieces is two: the least and the largest.
        """
        found: list[float] = [*(self.side or (0, 0))]
        for name in filter(_CHECKS.get, vars(self)):
            value, check = getattr(self, name), _CHECKS[name]
            low, *mode, high = value if isinstance(value, tuple) else (value, value)
            found += (
                (low, *(mode or [-1]), high) if check is _check_shares else (low, high)[: 1 + (check is _check_range)]
            )
        return [*map(float, found)]

    def refuse_unknown(self) -> NoReturn:
        """Raise ValueError where a map has to be known before the reset that draws it."""
        raise ValueError(
            f"walls is {self!r}, whose maps are drawn at every reset, and known only then; expected maps, such as "
            'get_state()["walls"] in the middle of an episode'
        )

    def check_room(self, num_agents: int) -> None:
        """Raise ValueError if the smallest map cannot have so many agents."""
        width, height = self.smallest
        room = self._count_free(width, height)
        if room < max(num_agents, _LEAST_ROOM):
            raise ValueError(
                f"num_agents is {num_agents}, but maps of {width} x {height} cells by {self!r} allow at most {room}; "
                "use fewer agents, larger maps, or fewer walls"
            )

    def _count_free(self, width: int, height: int) -> int:  # noqa: ARG002 - as in each generator
        """Return how many agents a map allows at most."""
        raise TypeError(f"walls is {self!r}, which draws no maps; expected RandomWalls, Mazes, or the like")


@check_keywords
@dataclasses.dataclass(frozen=True)
class RandomWalls(MapGenerator):
    """Maps of random walls, drawn at every reset.

    >>> generate(RandomWalls(size=(8, 5), density=(0.1, 0.3)), seed=0).shape
    (8, 5)
    """

    density: float | tuple[float, ...] = 0.3
    """The probability that a cell is a wall; (low, high), drawn uniformly for each map; or (low, mode, high), drawn
    from the triangular distribution."""
    exact: bool = False
    """Whether the number of walls is fixed: the density times the number of cells, rounded."""

    def _count_free(self, width: int, height: int) -> int:
        cells, low = width * height, self.options[2]
        return cells - round(low * cells) if self.exact else cells * (low < 1)


@check_keywords
@dataclasses.dataclass(frozen=True)
class Mazes(MapGenerator):
    """Mazes of corridors one cell wide, drawn at every reset; perfect ones join any two cells by exactly one path.

    Corridors meet at even x and y, so a side of an even number of cells ends in a line of walls. Each maze is grown by
    a random walk that backtracks at dead ends.

    >>> generate(Mazes(side=(7, 11)), seed=0).shape
    (11, 11)
    """

    loops: float = 0.0
    """The probability that each wall between two corridors is removed: 0 for perfect mazes."""

    def _count_free(self, width: int, height: int) -> int:
        return _count_doors((width + 1) // 2, (height + 1) // 2, self.loops) + ((width + 1) // 2) * ((height + 1) // 2)


@check_keywords
@dataclasses.dataclass(frozen=True)
class WallComponents(MapGenerator):
    """Mazes of walls that grow from random posts, drawn at every reset, as those of PRIMAL2 and of POGEMA's benchmark.

    Posts are at odd x and y, and around the map. ``density * (width + 2) * (height + 2) / wall_components`` times, a
    wall begins at a random post, and tries `wall_components` times to go on to the next post; it cannot go where a wall
    is. So the share of walls is smaller than `density`, and all free cells are joined. A side of an even number of
    cells ends in a line of walls. Definition and defaults are those of POGEMA's benchmark (pogema-toolbox; Skrynnik et
    al., ICLR 2025), whose sides are 17, 19 and 21.

    >>> generate(WallComponents(size=(21, 17), wall_components=5), seed=0).shape
    (21, 17)
    """

    density: float | tuple[float, ...] = (0.0, 1.0)
    """How many walls begin; drawn as the density of `RandomWalls`, if it is a range."""
    wall_components: int | tuple[int, int] = (1, 8)
    """The number of pieces of a wall, each two cells long, at most; or (low, high), drawn uniformly for each map."""
    go_straight: float | tuple[float, ...] = (0.75, 0.85)
    """The weight of the last direction when a wall goes on; each other direction has 1 minus this weight."""

    def _count_free(self, width: int, height: int) -> int:
        return ((width - 1) | 1) * ((height - 1) | 1)


@check_keywords
@dataclasses.dataclass(frozen=True)
class Rooms(MapGenerator):
    """Rooms with doors one cell wide, as in `rooms`, drawn at every reset: the doors, and `room_size` if it is a range.

    All rooms are joined, by the doors of a random walk that backtracks at dead ends.

    >>> generate(Rooms(size=(15, 9), room_size=(2, 4)), seed=0).shape
    (15, 9)
    """

    room_size: int | tuple[int, int] = 4
    """The smallest side of a room in cells, unless the map is smaller; or (low, high), drawn uniformly for each map."""
    loops: float = 0.5
    """The probability of each door that is not needed to join the rooms."""

    def _count_free(self, width: int, height: int) -> int:
        columns, rows = (max(1, (side + 1) // (int(self.options[3]) + 1)) for side in (width, height))
        return (width + 1 - columns) * (height + 1 - rows) + _count_doors(columns, rows, self.loops)


@check_keywords
@dataclasses.dataclass(frozen=True)
class Warehouses(MapGenerator):
    """Blocks of shelves with aisles between and around them, as in `warehouse`, drawn at every reset.

    The fields that are ranges are drawn, and which blocks are kept. All free cells are joined.

    >>> generate(Warehouses(size=(21, 12), shelf_length=(3, 8), fill=0.9), seed=0).shape
    (21, 12)
    """

    shelf_length: int | tuple[int, int] = 5
    """A block's cells along x; this and the next two fields may be (low, high), drawn uniformly for each map."""
    shelf_height: int | tuple[int, int] = 2
    """A block's cells along y."""
    aisle_width: int | tuple[int, int] = 1
    """The cells between two blocks, and at least as many between a block and the map's edge."""
    fill: float | tuple[float, ...] = 1.0
    """The share of the blocks that are kept; drawn as the density of `RandomWalls`, if it is a range."""

    def __post_init__(self) -> None:
        super().__post_init__()
        length, depth, aisle = map(int, self.options[3:8:2])
        check_block(*self.smallest, length, depth, aisle)

    def _count_free(self, width: int, height: int) -> int:
        walls = [width * height]
        ends = [int(end) for end in self.options[2:8]]
        sizes = (range(low, high + 1) for low, high in zip(ends[::2], ends[1::2], strict=True))
        for length, depth, aisle in itertools.product(*sizes):
            blocks = (width - aisle) // (length + aisle) * ((height - aisle) // (depth + aisle))
            walls.append(round(self.options[8] * blocks) * length * depth)
        return width * height - min(walls)


@check_keywords
@dataclasses.dataclass(frozen=True)
class Caves(MapGenerator):
    """Caves of a cellular automaton, drawn at every reset.

    Each cell is a wall with the probability `fill`. Then, `steps` times, all cells at once: a wall stays if at least
    `death_limit` of its 8 neighbours are walls, and a free cell becomes a wall if more than `birth_limit` are; cells
    outside the map are walls. The definition and the limits are those of Cook, Generate Random Cave Levels Using
    Cellular Automata (Envato Tuts+, 2013). Caves need not be joined.

    >>> generate(Caves(size=(24, 16)), seed=0).shape
    (24, 16)
    """

    fill: float | tuple[float, ...] = 0.45
    """The probability that a cell is a wall at first; drawn as the density of `RandomWalls`, if it is a range. After
    three steps, 59 % of 64 x 64 cells and 64 % of 30 x 16 are walls, because walls grow from the sides; with 0.4, 44 %
    and 52 %."""
    birth_limit: int = 4
    """A free cell becomes a wall if more than so many of its neighbours are."""
    death_limit: int = 3
    """A wall becomes free if fewer of its neighbours than this are walls."""
    steps: int = 3
    """The number of steps."""

    def _count_free(self, width: int, height: int) -> int:
        # Without walls at first, those begin to grow at the sides. The kernel comes to this map in the end.
        walls = np.zeros((width, height), bool)
        for _ in range(self.steps):
            around = np.lib.stride_tricks.sliding_window_view(np.pad(walls, 1, constant_values=True), (3, 3))
            near = around.sum(axis=(2, 3)) - walls
            walls = np.where(walls, near >= self.death_limit, near > self.birth_limit)
        sizes = np.bincount(label_components(walls).ravel())[1:]
        return int(sizes[sizes >= _LEAST_ROOM].sum())


def generate(generator: MapGenerator, seed: int, num_agents: int | tuple[int, int] | None = None) -> NDArray[np.bool_]:
    """Return the map that an environment with this generator and this number of agents draws when reset with a seed.

    The number of agents is as in `GridConfig`: a map has room for them, and from a pair it is drawn before the map.

    Returns:
        bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> from multigrid.maps import format_map
    >>> print(format_map(generate(Rooms(size=(11, 5), room_size=2), seed=1)))
    ..#.....#..
    .....#.....
    .###.##.#.#
    ..#..#.....
    ..#.....#..
    """
    if not isinstance(generator, MapGenerator):
        raise TypeError(f"generator is {shorten(generator)}; expected a MapGenerator")
    # Environments are made of configurations, which are made of maps.
    env = importlib.import_module("multigrid").parallel_env(walls=generator, num_agents=num_agents)
    env.reset(seed=check_seed(seed, ""))
    walls: NDArray[np.bool_] = env.get_state()["walls"]
    return walls


def _count_doors(columns: int, rows: int, loops: float) -> int:
    """Return the fewest doors that rooms can have."""
    return columns * (rows - 1) + rows * (columns - 1) if loops == 1 else columns * rows - 1


def _check_shares(name: str, given: Any) -> float | tuple[float, ...]:
    shares = (given,) if is_real(given) else tuple(given) if isinstance(given, Sequence | np.ndarray) else ()
    if not 1 <= len(shares) <= 3 or not all(map(is_real, shares)):
        raise TypeError(f"{name} is {shorten(given)}; expected a number, (low, high) or (low, mode, high)")
    if not all(0 <= low <= high <= 1 for low, high in zip((0, *shares), (*shares, 1), strict=True)):
        raise ValueError(f"{name} is {shorten(given)}; expected numbers from 0 to 1, the lowest first")
    numbers = tuple(float(share) for share in shares)
    return numbers[0] if len(numbers) == 1 else numbers


def _check_range(name: str, given: Any) -> int | tuple[int, int]:
    found = check_int(name, given, 1) if is_int(given) else _check_pair(name, given)
    if np.max(found) > _MOST_CELLS:
        raise ValueError(f"{name} is {shorten(given)}; expected at most {_MOST_CELLS}")
    return found


def _check_pair(name: str, given: Any) -> tuple[int, int]:
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != 2:
        raise TypeError(f"{name} is {shorten(given)}; expected the least and the largest")
    low, high = (check_int(name, one, 1) for one in given)
    if low > high:
        raise ValueError(f"{name} is {shorten(given)}; expected the least {name} first")
    return low, high


def _check_count(name: str, given: Any) -> int:
    most = _MOST_STEPS if name == "steps" else _NEIGHBOURS
    if check_int(name, given, 0) > most:
        raise ValueError(f"{name} is {shorten(given)}; expected an integer from 0 to {most}")
    return int(given)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("density", "go_straight", "fill"), _check_shares),
    **dict.fromkeys(("wall_components", "room_size", "shelf_length", "shelf_height", "aisle_width"), _check_range),
    **dict.fromkeys(("birth_limit", "death_limit", "steps"), _check_count),
    "exact": check_bool,
    "loops": check_share,
}
