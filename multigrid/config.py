"""One frozen, validated description of a world; every face is built from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid.regions import label_regions

__all__ = ["Collisions", "GridConfig", "OnTarget", "Part", "Reward"]

Collisions = Literal["symmetric", "priority", "block_both", "soft", "none"]
OnTarget = Literal["park", "leave", "stay", "restart"]
Reward = Literal["individual", "shared"]
Part = Literal["agent", "target", "others", "view", "walls", "action_mask"]


@dataclasses.dataclass(frozen=True, eq=False)
class GridConfig:
    """A world: its grid, its agents, its rules, and what is observed of it.

    Two configurations are equal when all their fields are; they can be hashed, pickled and changed with
    `dataclasses.replace`.

    Raises:
        TypeError: a field of the wrong type.
        ValueError: a field out of range, an unknown name, or more agents than the map has room for.

    >>> config = GridConfig(size=(7, 4), num_agents=3)
    >>> config.width, config.height, config.parts
    (7, 4, ('agent', 'target', 'others'))
    """

    size: int | tuple[int, int] = 5
    """The grid in cells: the side of a square, or (width, height)."""
    num_agents: int = 2
    """How many agents there are."""
    walls: Any = None
    """None, one map, or a pool of maps of one size: bool (W, H) or (M, W, H), True at ``[x, y]`` for a wall."""
    collisions: Collisions = "symmetric"
    """Which of the requested moves are granted."""
    on_target: OnTarget = "park"
    """What follows from standing on one's target."""
    reward: Reward = "individual"
    """Each agent its own reward, or everyone the mean of the individual ones."""
    observe: tuple[Part, ...] | None = None
    """The parts of an observation, in order; None is ("agent", "target"), with "others" for more than one agent."""
    view_radius: int = 2
    """How many cells the part "view" sees in each direction."""
    flatten: bool = False
    """One float32 vector instead of a Dict, with coordinates scaled to 0..1."""
    allow_stay: bool = False
    """Add action 4, stay."""
    max_cycles: int | None = 300
    """The number of steps after which an episode is truncated; None for never."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        maps = None if self.walls is None else _checked_maps(self.walls)
        size = self.size
        if maps is not None:
            # The size is the map's; the default stands for "not said".
            if size != 5 and _pair(_checked_size(size)) != maps.shape[1:]:
                raise ValueError(
                    f"size is {size!r} but the map is {maps.shape[1]} x {maps.shape[2]} cells; "
                    "leave size out, for a map has its own"
                )
            set_field(self, "size", (maps.shape[1], maps.shape[2]))
        else:
            set_field(self, "size", _checked_size(size))
        set_field(self, "walls", maps)
        set_field(self, "num_agents", _checked_int("num_agents", self.num_agents, 1))
        set_field(self, "view_radius", _checked_int("view_radius", self.view_radius, 0))
        if self.max_cycles is not None:
            set_field(self, "max_cycles", _checked_int("max_cycles", self.max_cycles, 1, " or None for no limit"))
        for name, names in (("collisions", Collisions), ("on_target", OnTarget), ("reward", Reward)):
            _check_name(name, getattr(self, name), get_args(names))
        for name in ("flatten", "allow_stay"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; expected True or False")
            set_field(self, name, bool(value))
        if self.observe is not None:
            set_field(self, "observe", _checked_parts(self.observe))
        self._check_room()

    @property
    def width(self) -> int:
        """The number of cells along x."""
        return _pair(self.size)[0]

    @property
    def height(self) -> int:
        """The number of cells along y."""
        return _pair(self.size)[1]

    @property
    def num_actions(self) -> int:
        """4, or 5 with `allow_stay`."""
        return 5 if self.allow_stay else 4

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of an observation, in order, with the default filled in."""
        if self.observe is not None:
            return self.observe
        return ("agent", "target") if self.num_agents == 1 else ("agent", "target", "others")

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names, in index order: agent_0, agent_1, ..."""
        return tuple(f"agent_{index}" for index in range(self.num_agents))

    @property
    def num_maps(self) -> int:
        """How many maps there are to draw from; 1 where no walls are given."""
        return 1 if self.walls is None else len(self.walls)

    @cached_property
    def regions(self) -> NDArray[np.int32]:
        """int32 (M, W, H): each map's connected regions, as `multigrid.regions.label_regions` numbers them."""
        if self.walls is None:
            return np.ones((1, self.width, self.height), dtype=np.int32)
        return np.stack([label_regions(walls) for walls in self.walls])

    def _check_room(self) -> None:
        """Refuse more agents than there are cells that can reach another."""
        for index, regions in enumerate(self.regions):
            sizes = np.bincount(regions.ravel())[1:]
            room = int(sizes[sizes > 1].sum())
            if self.num_agents > room:
                where = f"map {index}" if self.num_maps > 1 else "the map" if self.walls is not None else "the grid"
                raise ValueError(
                    f"num_agents is {self.num_agents}, but {where} ({self.width} x {self.height}) has room for {room}: "
                    f"{int(sizes.sum())} free cells in {len(sizes)} connected components, of which cells that can "
                    "reach no other do not count; use fewer agents or a larger size"
                )

    def _key(self) -> tuple[object, ...]:
        rest = tuple(getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "walls")
        return (*rest, None if self.walls is None else (self.walls.shape, self.walls.tobytes()))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, GridConfig) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _checked_int(name: str, value: Any, least: int, otherwise: str = "") -> int:
    expected = f"expected an integer of at least {least}{otherwise}"
    if not _is_int(value):
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; {expected}")
    if value < least:
        raise ValueError(f"{name} is {value}; {expected}")
    return int(value)


def _checked_size(size: Any) -> int | tuple[int, int]:
    expected = "expected the side of a square, or (width, height), in whole cells"
    if _is_int(size):
        sides: Sequence[Any] = (size,)
    elif isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 2:
        sides = size
    elif isinstance(size, np.ndarray) and size.shape == (2,):
        sides = size.tolist()
    else:
        raise TypeError(f"size is {size!r} of type {type(size).__name__}; {expected}")
    for side in sides:
        if not _is_int(side):
            raise TypeError(f"size is {size!r}; {expected}")
        if side < 1:
            raise ValueError(f"size is {size!r}; {expected}, each at least 1")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


def _checked_maps(walls: Any) -> NDArray[np.bool_]:
    expected = "expected a boolean array [x, y], True at a wall, or a pool of such arrays of one size"
    if isinstance(walls, np.ndarray):
        pool = [walls] if walls.ndim == 2 else list(walls) if walls.ndim == 3 else []
    elif isinstance(walls, Sequence) and not isinstance(walls, str):
        pool = list(walls)
    else:
        raise TypeError(f"walls is of type {type(walls).__name__}; {expected}")
    if not pool:
        raise ValueError(f"walls holds no map; {expected}")
    for index, one in enumerate(pool):
        if not isinstance(one, np.ndarray) or one.dtype != np.bool_:
            kind = one.dtype if isinstance(one, np.ndarray) else type(one).__name__
            raise TypeError(f"map {index} of walls is of {kind}; {expected}")
        if one.ndim != 2 or one.size == 0 or one.shape != pool[0].shape:
            raise ValueError(f"map {index} of walls has the shape {one.shape}, the first {pool[0].shape}; {expected}")
    maps = np.stack(pool)
    maps.setflags(write=False)
    return maps


def _check_name(field: str, value: Any, names: tuple[str, ...]) -> None:
    # `value in names` would ask an array for the truth of a comparison.
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{field} is {value!r}; expected one of {', '.join(map(repr, names))}")


def _checked_parts(observe: Any) -> tuple[Part, ...]:
    if isinstance(observe, str) or not isinstance(observe, Sequence):
        raise TypeError(f"observe is {observe!r}; expected a tuple of names out of {', '.join(get_args(Part))}")
    if not observe:
        raise ValueError(f"observe is empty; expected at least one name out of {', '.join(get_args(Part))}")
    for part in observe:
        _check_name("a part of observe", part, get_args(Part))
    if len(set(observe)) != len(observe):
        raise ValueError(f"observe is {tuple(observe)!r}; name each part once")
    return tuple(observe)
