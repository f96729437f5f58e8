"""Pools of maps, as the ``walls`` of a `GridConfig`; and levels, what an episode begins with, and their changes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, shorten
from multigrid._memory import check_grid
from multigrid.maps._cells import NO_TARGET, WALL, label_components
from multigrid.maps._layouts import check_cells, holds_lists, make_layout, read_lists
from multigrid.maps._text import ParsedMap, parse_map

# They match no picture of several lines.
_FILE_NAME = re.compile(r".*[/\\].*|.*\.(map|txt|scen|json)", re.IGNORECASE)
_WORLD = re.compile(r"[a-z_-]+[:-][^\n]*[0-9][^\n]*", re.IGNORECASE)


def stack_maps(walls: Any, *, has_targets: bool = True) -> NDArray[np.bool_] | ParsedMap:
    r"""Check the maps of a pool, and stack them: bool (M, W, H), or a `ParsedMap` of stacks if they have agents.

    `walls` is one map or several, each a picture as text, a `ParsedMap` or bool (W, H), or all of them stacked. In a
    pool of pictures of one line, each ends with a newline, because a list of plain lines looks like one map. Without
    `has_targets` the targets are left out, and agents need none.

    >>> stack_maps(["..#\n", "#..\n"]).shape
    (2, 3, 1)
    >>> stack_maps(["..#", "#.."])
    Traceback (most recent call last):
    ValueError: walls has 2 lines of text; use walls="\n".join(...) for one map; in a pool, end one-line maps with "\n"
    """
    expected = (
        "expected a boolean array [x, y], True at a wall, or a picture as text, or a pool of either, all of one size "
        "and with as many agents"
    )
    if isinstance(walls, np.ndarray) and walls.dtype.kind in "SU":
        walls = walls.tolist()
    is_single = isinstance(walls, str | ParsedMap) or (isinstance(walls, np.ndarray) and walls.ndim == 2)
    if isinstance(walls, np.ndarray) and walls.ndim == 3:
        check_grid(walls.shape[1], walls.shape[2], len(walls))
        pool: Sequence[Any] = list(walls)
    elif isinstance(walls, ParsedMap) and getattr(walls.walls, "ndim", 0) == 3:
        pool = _unstack(walls, expected)
    elif is_single:
        pool = [walls]
    elif isinstance(walls, np.ndarray | Sequence):
        pool = [] if isinstance(walls, np.ndarray) else walls
    else:
        raise TypeError(f"walls is of type {type(walls).__name__}; {expected}{_name_reader(walls)}")
    if len(pool) == 0:
        raise ValueError(f"walls holds no map; {expected}")
    if len(pool) > 1 and all(map(_is_bare_line, pool)):
        raise ValueError(
            f'walls has {len(pool)} lines of text; use walls="\\n".join(...) for one map; in a pool, end one-line maps '
            'with "\\n"'
        )
    pictures: list[ParsedMap] = []
    for index, one in enumerate(pool):
        name = "walls" if is_single else f"map {index} of walls"
        picture = _check_map(name, one, expected, has_targets=has_targets)
        first = pictures[0] if pictures else picture
        if picture.walls.ndim != 2 or picture.walls.size == 0 or picture.walls.shape != first.walls.shape:
            others = f", the first {first.walls.shape}" if index else ""
            raise ValueError(f"{name} has the shape {picture.walls.shape}{others}; {expected}")
        if len(picture.agents) != len(first.agents):
            raise ValueError(f"{name} shows {len(picture.agents)} agents, the first {len(first.agents)}; {expected}")
        if picture.targets.ndim != first.targets.ndim:
            raise ValueError(f"{name} has lists of targets, or has none, unlike the first; {expected}")
        pictures.append(picture)
    width, height = pictures[0].walls.shape
    check_grid(width, height, len(pictures))
    stacks = ParsedMap(*(np.stack(field) for field in zip(*_fill_lists(pictures), strict=True)))
    for stack in stacks:
        stack.setflags(write=False)
    return stacks if len(pictures[0].agents) else stacks.walls


def _is_bare_line(one: Any) -> bool:
    return isinstance(one, str) and one.splitlines() == [one] and not _name_reader(one)


def _fill_lists(pictures: list[ParsedMap]) -> list[ParsedMap]:
    """Return the pictures with their lists of targets, if any, filled up to the same length."""
    if pictures[0].targets.ndim == 2:
        return pictures
    longest = max(picture.targets.shape[1] for picture in pictures)
    rows = [((0, 0), (0, longest - picture.targets.shape[1]), (0, 0)) for picture in pictures]
    targets = [np.pad(one.targets, row, constant_values=NO_TARGET) for one, row in zip(pictures, rows, strict=True)]
    return [one._replace(targets=lists) for one, lists in zip(pictures, targets, strict=True)]


def _unstack(stacks: ParsedMap, expected: str) -> list[Any]:
    try:
        return [ParsedMap(*fields) for fields in zip(*stacks, strict=True)]
    except Exception as error:  # other fields may raise any error
        raise ValueError(f"walls is a ParsedMap whose fields have not all as many maps; {expected}") from error


def _check_map(name: str, one: Any, expected: str, *, has_targets: bool) -> ParsedMap:
    if isinstance(one, str):
        try:
            return parse_map(one, targets=has_targets)
        except ValueError as error:
            reader = _name_reader(one)
            raise ValueError(f"{name} is {shorten(one)}{reader}" if reader else f"{name}: {error}") from error
    fields: tuple[Any, ...] = tuple(one) if isinstance(one, ParsedMap) else (one, (), ())
    walls, agents, targets = fields
    if not isinstance(walls, np.ndarray) or walls.dtype != np.bool_:
        kind = walls.dtype if isinstance(walls, np.ndarray) else type(walls).__name__
        raise TypeError(f"{name} is of {kind}; {expected}{_name_reader(walls)}")
    no_cells = np.empty((0, 2), dtype=np.int64)
    cells = []
    for field, given in (("agents", agents), ("targets", targets)):
        if not isinstance(given, Sequence) and not (isinstance(given, np.ndarray) and given.ndim):
            raise TypeError(f"the {field} of {name} are of type {type(given).__name__}; expected integers (N, 2)")
        check = read_lists if field == "targets" and holds_lists(given) else check_cells
        has_cells = (len(agents) or len(given)) and (has_targets or field == "agents")
        cells.append(check(f"the {field} of {name}", given, len(agents)) if has_cells else no_cells)
    # Not a subclass of ndarray, which could stack, compare and index differently.
    return ParsedMap(np.asarray(walls), *cells)


def _name_reader(walls: Any) -> str:
    """Return a hint for a message, if this is the name of a file or a world: the function that reads it; else ""."""
    is_path = isinstance(walls, os.PathLike)
    name = str(os.fspath(walls)) if is_path else walls
    if not isinstance(name, str):
        return ""
    is_file = is_path or _FILE_NAME.fullmatch(name)
    if is_file and name.lower().endswith(".scen"):
        return "; a .scen file has no walls: read the map that it names, by multigrid.maps.read_map"
    if is_file and not name.lower().endswith(".json"):
        return f"; to read a file, use multigrid.maps.read_map({shorten(name)})"
    if is_file or _WORLD.fullmatch(name):
        return f"; for a world by name, pass the config multigrid.scenarios.find_world({shorten(name)})"
    return ""


_FEWEST_CELLS = 2


class Level(ParsedMap):
    r"""A map with the cells and the targets of its agents, compared and hashed by its content, in read-only arrays.

    `multigrid.MultiGridEnv.get_level` returns one. Like any `ParsedMap`, it can be ``walls``, for every
    episode; a `multigrid.scenarios.Scenario` of that configuration can be saved to a file. In a game it also has
    `state`; an episode that begins with a level without it begins as the game's own function says.

    >>> from multigrid.maps import parse_map
    >>> level = Level(*parse_map("a.B\n#bA"))
    >>> level == Level(*parse_map("a.B\n#bA")), level == Level(*parse_map("a.B\n.bA"))
    (True, False)
    """

    state: Mapping[str, NDArray[Any]] | None
    """The arrays of a game's State as the episode began, by name; None without them."""

    def __new__(  # noqa: PYI034 - Python 3.10 has no `Self`
        cls, walls: Any, agents: Any, targets: Any, state: Mapping[str, Any] | None = None
    ) -> Level:
        cells = check_cells("agents", agents, None), check_cells("targets", targets, None)
        arrays: tuple[NDArray[Any], ...] = (np.array(walls, np.bool_), *cells)
        if state is not None and not isinstance(state, Mapping):
            raise TypeError(f"state is {shorten(state)}; expected a dict of arrays by name, or None")
        own = None if state is None else {name: np.array(value) for name, value in state.items()}
        for array in (*arrays, *(own or {}).values()):
            array.setflags(write=False)
        level = super().__new__(cls, *arrays)
        level.state = None if own is None else MappingProxyType(own)
        return level

    @classmethod
    def _make(cls, iterable: Any) -> Level:  # type: ignore[override]
        return cls(*iterable)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Level) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        own = self.state or {}
        arrays = [(array.shape, array.tobytes()) for array in (*self, *own.values())]
        return self.state is None, *own, *arrays

    def __reduce__(self) -> Any:
        return Level, (*self, None if self.state is None else dict(self.state))


def mutate(level: ParsedMap, edits: int, rng: np.random.Generator) -> Level:
    r"""Return a level after some random edits, after ACCEL (Parker-Holder et al. 2022, arXiv:2203.01302).

    An edit draws a cell until one can be changed: a wall becomes free; a free cell becomes a wall, unless that
    separates an agent from its target; an agent, or a target, in the cell moves to a random free cell that the agent
    can reach, without its counterpart and without others of its kind. The result has no `state`, which may not fit it.

    Raises:
        TypeError, ValueError: not a level, not a generator, fewer edits than 0, or a level in which no cell can change.

    >>> from multigrid.maps import parse_map
    >>> level = Level(*parse_map("a.A\n..."))
    >>> changed = mutate(level, 1, np.random.default_rng(0))
    >>> changed == level
    False
    """
    given: Any = level
    if not isinstance(given, ParsedMap) or np.ndim(given.walls) != 2 or np.ndim(given.targets) != 2:
        raise TypeError(f"level is {shorten(level)}; expected what get_level() returned")
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is of type {type(rng).__name__}; expected a numpy.random.Generator")
    walls = np.array(level.walls, np.bool_)
    has_targets = len(level.targets) > 0
    targets = level.targets if has_targets else None
    layout: Any = make_layout(label_components(walls), len(level.agents), level.agents, targets, "stay")
    places = np.stack([layout.cells[:, :2], layout.cells[:, 2:]][: 1 + has_targets])
    for _ in range(check_int("edits", edits, 0)):
        order = rng.permutation(walls.size)
        if not any(_edit(walls, places, divmod(int(cell), walls.shape[1]), rng) for cell in order):
            raise ValueError("level has no cell that can change; expected a larger map")
    return Level(walls, places[0], places[1] if has_targets else level.targets)


def _edit(walls: NDArray[np.bool_], places: NDArray[np.int64], cell: tuple[int, int], rng: np.random.Generator) -> bool:
    """Change one cell, and return whether it could be changed.

    `places` are int64 (2, N, 2), agents and targets, or (1, N, 2) in a game without targets.
    """
    here = np.argwhere((places == cell).all(axis=2))
    if len(here) == 0:
        walls[cell] ^= True
        labels = label_components(walls)
        starts, targets = labels[tuple(places[0].T)], labels[tuple(places[-1].T)]
        is_alone = np.bincount(labels.ravel())[starts] < _FEWEST_CELLS
        if (starts == targets).all() and not (len(places) > 1 and is_alone.any()):
            return True
        walls[cell] ^= True
        return False
    kind, agent = here[rng.integers(len(here))]
    labels = label_components(walls)
    is_open = labels == labels[cell]
    is_open[tuple(places[kind].T)] = False
    is_open[tuple(places[-1 - kind, agent])] = False
    cells = np.argwhere(is_open & (labels != WALL))
    if len(cells):
        places[kind, agent] = cells[rng.integers(len(cells))]
    return len(cells) > 0
