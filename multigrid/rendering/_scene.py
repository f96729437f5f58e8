"""Hold the state of one world, for a frame."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, name_errors, shorten
from multigrid._palette import Colour, colours, contrast, parse_colour
from multigrid.actions import MOVES, Outcome
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT, PART_ARRAYS, Arrays
from multigrid.game import describe
from multigrid.maps._cells import WALL
from multigrid.maps._text import format_map

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


class Badge(NamedTuple):
    """What a game shows of an agent in pictures: an arrow the way it looks, and what it holds, with a letter or two."""

    agent: int
    direction: int | None = None
    """An index of ``games.DIRECTIONS``; None for no arrow."""
    colour: str = ""
    """As in CSS: ``#rrggbb``; "" if it holds nothing."""
    letter: str = ""


class Look(NamedTuple):
    """What a game says of how one state of a world looks."""

    marks: tuple[Mark, ...] = ()
    badges: tuple[Badge, ...] = ()
    colours: tuple[str, ...] = ()
    """One for each agent; none for those that they have in path finding."""
    seen: SimpleNamespace | None = None
    """The argument of the game's function `picture`; None without one."""


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
    look: Look = Look()
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
        look=find_look(config, arrays, world),
        delayed=arrays.outcomes[world] == Outcome.DELAYED,
    )


def swap_axes(scene: Scene) -> Scene:
    """Return the scene of one agent on an empty square grid with the two axes swapped."""
    return scene._replace(agents=scene.agents[:, ::-1], targets=scene.targets[:, ::-1])


def find_look(config: GridConfig, arrays: Arrays, world: int) -> Look:
    """Return what a game says of the look of one world's state, checked; nothing without a game.

    Raises:
        TypeError, ValueError: what the game's functions `marks` and `colours` raise, or what they return is of another
            form.
    """
    plain = {} if config.game is None else describe(config.game).plain
    if config.game is None or plain.keys().isdisjoint(("marks", "colours", "picture")):
        return Look()
    seen, name = _make_seen(config, arrays, world), config.game.__name__
    marks, badges, own_colours = list[Mark](), list[Badge](), tuple[Any, ...]()
    if "marks" in plain:
        where = f"{name}.marks"
        with name_errors(where):
            found = plain["marks"](seen)
            found = list(found) if isinstance(found, Iterable) else found
        if not isinstance(found, Iterable):
            raise TypeError(f"{where} returns {shorten(found)}; expected marks: yield games.Mark(cell, colour, letter)")
        for one in found:
            if isinstance(one, Badge):
                badges.append(_check_badge(where, one, config))
            else:
                marks.append(_check_mark(where, one, config))
    if "colours" in plain:
        with name_errors(f"{name}.colours"):
            own_colours = tuple(plain["colours"](seen))
        if len(own_colours) != config.num_agents:
            expected = f"expected {config.num_agents}, one for each agent"
            raise ValueError(f"{name}.colours returns {len(own_colours)} colours; {expected}")
        own_colours = tuple(_check_colour(f"{name}.colours returns", one) for one in own_colours)
    return Look(tuple(marks), tuple(badges), own_colours, seen if "picture" in plain else None)


def _make_seen(config: GridConfig, arrays: Arrays, world: int) -> SimpleNamespace:
    """Return the argument of a game's functions for pictures."""
    from multigrid.core.games import make_table

    assert config.game is not None
    table, map_index = make_table(describe(config.game)), int(arrays.map_index[world])
    shown: dict[str, Any] = {name: getattr(arrays.own, name)[world] for name in table.state}
    for name in table.constant:
        is_by_map = table.rows[name].shape.split()[0] == "M"
        shown[name] = np.asarray(config.prepared[name])[map_index] if is_by_map else config.prepared[name]
    shown |= {"walls": arrays.components[map_index] == WALL, "present": arrays.status[world] != LEFT}
    shown |= {"agents": arrays.location[world], "targets": arrays.target[world]}
    # Copies, for a function must not change the world; and scalars for single numbers.
    shown = {name: np.array(array)[()] for name, array in shown.items()} | dict(config.options or {})
    return SimpleNamespace(**shown, parts=_copy_parts(config, arrays, world), width=config.width, height=config.height)


def _copy_parts(config: GridConfig, arrays: Arrays, world: int) -> dict[str, NDArray[Any]]:
    """Return what all agents of one world observe, arrays (N, ...) by part; with `flatten`, in one array."""
    if config.flatten:
        return {"observation": arrays.flat[world].copy()}
    found: dict[str, NDArray[Any]] = {}
    for part, shape in config.part_shapes.items():
        owner = arrays if part in PART_ARRAYS else arrays.own
        array = getattr(owner, PART_ARRAYS.get(part, f"{part}_part"))[world]
        found[part] = array.reshape(config.num_agents, *shape).copy()
    return found


HELD = (0.6, 0.6, 0.34)
"""The left and the upper edge, and the side, of what an agent holds, in cells."""


def place_arrow(direction: int, rim: float = 0) -> list[tuple[float, float]]:
    """Return the corners of the arrow of a badge in its cell, 0 to 1, or with a rim around it, in cells.

    >>> place_arrow(0)
    [(0.98, 0.5), (0.84, 0.64), (0.84, 0.36)]
    """
    across, down = MOVES[direction]
    tip, base, half = 0.48 + rim, 0.34 - rim, 0.14 + 1.5 * rim
    corners = ((tip, 0), (base, half), (base, -half))
    return [(round(0.5 + across * x - down * y, 3), round(0.5 + down * x + across * y, 3)) for x, y in corners]


def find_colours(config: GridConfig, look: Look) -> list[Colour]:
    """Return the colour of each agent: those of a game, or those that all agents have in path finding."""
    return list(map(parse_colour, look.colours)) or colours(config.num_agents)


def _check_mark(where: str, mark: Any, config: GridConfig) -> Mark:
    if not isinstance(mark, Mark):
        expected = "expected games.Mark(cell, colour, letter) or games.Badge(agent, direction, colour, letter)"
        raise TypeError(f"{where} yields {shorten(mark)}; {expected}")
    fields: tuple[Any, ...] = mark
    cell, colour, letter = np.asarray(fields[0]), *fields[1:]
    if cell.shape != (2,) or cell.dtype.kind not in "iu":
        raise ValueError(f"{where} yields a mark whose cell is {shorten(mark.cell)}; expected two integers, x and y")
    x, y = cell.tolist()
    if not (0 <= x < config.width and 0 <= y < config.height):
        expected = f"expected x from 0 to {config.width - 1} and y from 0 to {config.height - 1}, or no mark"
        raise ValueError(f"{where} yields a mark in the cell ({x}, {y}), outside the grid; {expected}")
    colour = _check_colour(f"{where} yields a mark of", colour)
    return Mark((x, y), colour, _check_letter(f"{where} yields a mark", letter))


def _check_badge(where: str, badge: Badge, config: GridConfig) -> Badge:
    agent, direction, colour, letter = badge
    given: Any = agent
    if not is_int(given) or not 0 <= given < config.num_agents:
        expected = f"expected an index from 0 to {config.num_agents - 1}"
        raise ValueError(f"{where} yields a badge of agent {shorten(agent)}; {expected}")
    if direction is not None and not (is_int(direction) and 0 <= direction < len(MOVES)):
        expected = f"expected an index from 0 to {len(MOVES) - 1} of games.DIRECTIONS, or None"
        raise ValueError(f"{where} yields a badge with the direction {shorten(direction)}; {expected}")
    colour = colour and _check_colour(f"{where} yields a badge of", colour)
    letter = _check_letter(f"{where} yields a badge", letter)
    if letter and not colour:
        raise ValueError(f"{where} yields a badge with the letter {letter!r} and no colour; expected a colour, too")
    return Badge(int(agent), None if direction is None else int(direction), colour, letter)


def _check_colour(what: str, colour: Any) -> str:
    if not isinstance(colour, str) or not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        raise ValueError(f"{what} the colour {shorten(colour)}; expected '#rrggbb', such as '#ff0000' for red")
    return colour.lower()


def _check_letter(what: str, letter: Any) -> str:
    if not isinstance(letter, str) or len(letter) > _MOST_LETTERS or not letter.isprintable():
        raise ValueError(f"{what} with the letter {shorten(letter)}; expected at most two letters")
    return letter


def format_scene(config: GridConfig, scene: Scene) -> str:
    """Return a scene as text: the map by `multigrid.maps.format_map`, in a game with its marks.

    A mark is the colour behind a cell, in ANSI escape codes, with its first letter where no agent and no target is, and
    + for a number above 9.
    """
    cells = (scene.agents, scene.targets) if config.has_targets else (scene.agents,)
    text = format_map(scene.walls, *(np.where(scene.present[:, None], at, -1) for at in cells))
    lines = [list(line) for line in text.split("\n")]
    for (x, y), mark in {mark.cell: mark for mark in scene.look.marks}.items():
        letter = "+" if mark.letter.isdecimal() and len(mark.letter) > 1 else mark.letter[:1]
        character = lines[y][x] if lines[y][x].isalpha() or not letter else letter
        ground = parse_colour(mark.colour)
        codes = ";".join(f"{code};2;{r};{g};{b}" for code, (r, g, b) in ((48, ground), (38, contrast(ground))))
        lines[y][x] = f"\x1b[{codes}m{character}\x1b[0m"
    return "\n".join(map("".join, lines))
