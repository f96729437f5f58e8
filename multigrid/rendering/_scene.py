"""Hold the state of one world, for a frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import name_errors, shorten
from multigrid.actions import Outcome
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT, Arrays
from multigrid.game import describe
from multigrid.maps._cells import WALL
from multigrid.maps._text import format_map
from multigrid.rendering._palette import contrast, parse_colour

_SHOWN = ("walls", "agents", "targets", "present")
_MOST_LETTERS = 2


def find_settled(distances: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each agent is present and stands on its target, in the shape of the arguments."""
    return np.asarray((distances == 0) & present, np.bool_)


class Mark(NamedTuple):
    """A cell that a game colours in pictures, with a letter or two on it."""

    cell: tuple[int, int]
    colour: str = "#c8c8d0"
    """As in CSS: ``#rrggbb``."""
    letter: str = ""


class Scene(NamedTuple):
    """The state of one world that a frame shows."""

    walls: NDArray[np.bool_]  # bool (W, H), True at a wall
    agents: NDArray[np.int64]  # int64 (N, 2), the agents' cells
    targets: NDArray[np.int64]  # int64 (N, 2), their targets
    present: NDArray[np.bool_]  # bool (N,), False for an agent that has left; neither it nor its target is drawn
    settled: NDArray[np.bool_] | None = None
    """bool (N,), True for an agent that is present and stands on its target; None for no agent."""
    trail: NDArray[np.int64] | None = None
    """int64 (K, N, 2), the agents' cells in the K states before this one, the latest last; None for no trails."""
    marks: tuple[Mark, ...] = ()
    delayed: NDArray[np.bool_] | None = None
    """bool (N,), True for an agent that was delayed in the last step; None for no agent."""


def scene_in(config: GridConfig, arrays: Arrays, world: int, trail: NDArray[np.int64] | None = None) -> Scene:
    """Return the scene of one world, with a trail as in `Scene`; its cells are views of the arrays, not copies."""
    shown = arrays.components[arrays.map_index[world]] == WALL, arrays.location[world], arrays.target[world]
    present = arrays.status[world] != LEFT
    return Scene(
        *shown,
        present,
        settled=find_settled(arrays.distances[world], present) if config.has_targets else None,
        trail=trail,
        marks=find_marks(config, lambda name: getattr(arrays.own, name)[world], (*shown, present)),
        delayed=arrays.outcomes[world] == Outcome.DELAYED,
    )


def swap_axes(scene: Scene) -> Scene:
    """Return the scene of one agent on an empty square grid with the two axes swapped."""
    return scene._replace(agents=scene.agents[:, ::-1], targets=scene.targets[:, ::-1])


def find_marks(
    config: GridConfig, find: Callable[[str], Any], shown: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
) -> tuple[Mark, ...]:
    """Return what a game's `marks` yields for the state of one world, checked; none without a game.

    `find` returns an array of the game's `State` by its name; `shown` are the walls, the agents' cells, their targets,
    and which agents are present.

    Raises:
        TypeError: `marks` yields something else than marks.
        ValueError: a mark is outside the grid, or has another form of colour or letter.
    """
    if config.game is None or (marks := describe(config.game).marks) is None:
        return ()
    names = [name for state in describe(config.game).states for name in state._fields]
    constants = config.prepared
    arrays = {name: constants[name] if name in constants else find(name) for name in names}
    arrays |= dict(zip(_SHOWN, shown, strict=True))
    # Copies, for `marks` must not change the world; and scalars for single numbers.
    given = {name: np.array(array)[()] for name, array in arrays.items()} | dict(config.options or {})
    where = f"{config.game.__name__}.marks"
    with name_errors(where):
        found = marks(SimpleNamespace(**given, width=config.width, height=config.height))
        found = list(found) if isinstance(found, Iterable) else found
    if not isinstance(found, Iterable):
        raise TypeError(f"{where} returns {shorten(found)}; expected marks: yield games.Mark(cell, colour, letter)")
    return tuple(_check_mark(where, one, config) for one in found)


def _check_mark(where: str, mark: Any, config: GridConfig) -> Mark:
    if not isinstance(mark, Mark):
        raise TypeError(f"{where} yields {shorten(mark)}; expected games.Mark(cell, colour, letter)")
    fields: tuple[Any, ...] = mark
    cell, colour, letter = np.asarray(fields[0]), *fields[1:]
    if cell.shape != (2,) or cell.dtype.kind not in "iu":
        raise ValueError(f"{where} yields a mark whose cell is {shorten(mark.cell)}; expected two integers, x and y")
    x, y = cell.tolist()
    if not (0 <= x < config.width and 0 <= y < config.height):
        expected = f"expected x from 0 to {config.width - 1} and y from 0 to {config.height - 1}, or no mark"
        raise ValueError(f"{where} yields a mark in the cell ({x}, {y}), outside the grid; {expected}")
    if not isinstance(colour, str) or not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        expected = "expected '#rrggbb', such as '#ff0000' for red"
        raise ValueError(f"{where} yields a mark of the colour {shorten(colour)}; {expected}")
    if not isinstance(letter, str) or len(letter) > _MOST_LETTERS or not letter.isprintable():
        raise ValueError(f"{where} yields a mark with the letter {shorten(letter)}; expected at most two letters")
    return Mark((x, y), colour.lower(), letter)


def format_scene(config: GridConfig, scene: Scene) -> str:
    """Return a scene as text: the map by `multigrid.maps.format_map`, in a game with its marks.

    A mark is the colour behind a cell, in ANSI escape codes, with its first letter where no agent and no target is.
    """
    cells = (scene.agents, scene.targets) if config.has_targets else (scene.agents,)
    text = format_map(scene.walls, *(np.where(scene.present[:, None], at, -1) for at in cells))
    lines = [list(line) for line in text.split("\n")]
    for (x, y), mark in {mark.cell: mark for mark in scene.marks}.items():
        character = lines[y][x] if lines[y][x].isalpha() or not mark.letter else mark.letter[0]
        ground = parse_colour(mark.colour)
        codes = ";".join(f"{code};2;{r};{g};{b}" for code, (r, g, b) in ((48, ground), (38, contrast(ground))))
        lines[y][x] = f"\x1b[{codes}m{character}\x1b[0m"
    return "\n".join(map("".join, lines))
