"""Levels, what an episode begins with, and their random changes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, shorten
from multigrid.maps._cells import WALL, label_components
from multigrid.maps._layouts import check_cells
from multigrid.maps._target_lists import make_layout
from multigrid.maps._text import ParsedMap

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
        return Level, (*self, self.state and dict(self.state))


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
