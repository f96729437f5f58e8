"""Level-based foraging, as the package lbforaging 2.0.0 plays it, draw for draw: first in prose, then in code.

Players of different levels collect foods on a grid. A player in row r and column c stands in the cell (x, y) = (c, r).

**Reset.** The pairs of smallest and largest levels, one for each player, are permuted. Each player in turn draws a row
and a column until no player stands there, up to 1,000 times, and then its level, from the smallest to the largest.
Players that are not placed yet stand where they stood at the end of the last episode. Then the pairs of the foods are
permuted. Without a largest level, it is the sum of the three lowest levels of players; with *force_coop*, the smallest
level is the largest one. Up to 1,000 cells in all are drawn, none in the outer rows and columns. A cell is skipped if
it has a player, or if a food is in it, in one of the eight cells around, or two cells away in its row or column. Else a
food goes there, and draws its level. So fewer foods than asked for may fit.

**Step.** A move off the grid, or into a food, is none; so is *load* without a food beside the player. Those that load,
and those that do not move, ask for their own cells. A player moves if no other asks for the same cell. So two can
change places, and a player can enter the cell of another whose own move fails: then two are in it. Then the players
that load beside the same food are a group. If their levels add up to less than its level, each loses the penalty.
Otherwise each gets its own level times that of the food; with *normalize_reward* divided by the sum of the group's
levels times the sum of the levels of all foods of the episode. The food is gone.

A player that is delayed plays *none*.

**End.** All players terminate when no food is left, and at the limit of steps.

**Observe.** The part *vector* has the foods in the square of *sight* cells each way, row by row, and then the players,
the observer first: row, column and level of each, counted from the first row and column of the square inside the grid.
Entries that are left over are -1, -1, 0. Other players are seen up to 2 * *sight* rows and columns from that first
cell. With *observe_agent_levels* False, players are rows and columns alone. The part *grid* has three layers of the
square, the observer in the middle: levels of players (1 with *observe_agent_levels* False, and in a cell of two that of
the second), levels of foods, and 1 at free cells.

With *fixed*, players are placed as if there had been no earlier episode, those further than *sight* are not seen, and
the limit of steps truncates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid._checks import check_int, check_size, is_int
from multigrid.actions import Outcome
from multigrid.core.arrays import NOBODY
from multigrid.core.draws import draw_integer, shuffle
from multigrid.core.hooks import end_episode
from multigrid.game import Game
from multigrid.games._words import describe_foraging
from multigrid.parts import PartSpec
from multigrid.rendering._scene import Mark
from multigrid.runtime.compiled import inlined, kernel
from multigrid.runtime.tables import KEPT

NONE, NORTH, SOUTH, WEST, EAST, LOAD = range(6)
_COLUMN, _ROW = range(2)  # of a location
_TRIES = 1000
_NO_LEVEL = 2**62
_MOST_TOGETHER = 3
"""Without a largest level, foods need the three players of the lowest levels at most."""
_PLACED = -1
"""In place of the total of levels, until there are foods: the players have been placed."""
_MOVED, _EDGE = int(Outcome.MOVED), int(Outcome.EDGE)
_OCCUPIED, _CONTESTED = int(Outcome.OCCUPIED), int(Outcome.CONTESTED)


class Foraging(Game):
    """Level-based foraging. Levels are one number for all, or a sequence with one for each player or food."""

    moves = False
    targets = False
    walls = False
    departures = False
    actions = ("none", "north", "south", "west", "east", "load")
    idle = "none"
    options: ClassVar[Mapping[str, Any]] = {
        "max_num_food": 2,
        "sight": 8,
        "min_player_level": (1,),
        "max_player_level": (2,),
        "min_food_level": (1,),
        "max_food_level": None,
        "force_coop": False,
        "max_episode_steps": 50,
        "normalize_reward": True,
        "penalty": 0.0,
        "grid_observation": False,
        "observe_agent_levels": True,
        "fixed": False,
    }
    training: ClassVar[Mapping[str, Any]] = {
        "steps": 4_000_000,
        "copies": 128,
        "learning_rate": 5e-4,
        "gamma": 0.99,
        "entropy": 0.01,
        "epochs": 4,
        "batch_size": 2048,
        "expect": "about six minutes on one core; in Foraging-8x8-2p-2f-coop-v3, players collected 1.98 of 2 foods.",
    }
    parts: ClassVar[Mapping[str, PartSpec]] = {
        "vector": PartSpec(np.float32, "LENGTH", None, np.inf, "row, column and level of foods, then of players."),
        "grid": PartSpec(np.float32, "3 WINDOW WINDOW", None, np.inf, "levels of players, of foods, and free cells."),
    }

    class State(NamedTuple):
        """Foods are in reading order; those beyond `num_food` are rows of 0."""

        level: Annotated[NDArray[np.int64], "E N", KEPT]
        place: Annotated[NDArray[np.int64], "E N 2", KEPT]  # location, or what it was when the last episode ended, + 1
        food: Annotated[NDArray[np.int64], "E F 3"]  # row, column, level
        num_food: Annotated[NDArray[np.int64], "E"]
        num_placed: Annotated[NDArray[np.int64], "E"]
        total: Annotated[NDArray[np.int64], "E"]  # of the levels of foods at the beginning
        order: Annotated[NDArray[np.int64], "E F"]
        player_levels: Annotated[NDArray[np.int64], "N 2"]  # the smallest and the largest
        food_levels: Annotated[NDArray[np.int64], "F 2"]  # the largest is 0 if it depends on the players

    def prepare(c: Any) -> dict[str, Any]:
        return _prepare(c)

    def observation_space(c: Any) -> spaces.Box:
        if c.grid_observation:
            high = np.array([c.highest_player, c.highest_food, 1], np.float32)
            sides = (3, c.WINDOW, c.WINDOW)
            return spaces.Box(np.zeros(sides, np.float32), np.broadcast_to(high[:, None, None], sides))
        last, width = [c.size[1] - 1, c.size[0] - 1], 3 if c.observe_agent_levels else 2
        foods, players = [*last, c.highest_food] * c.F, [*last, c.highest_player][:width] * c.num_agents
        low = [-1, -1, 0] * c.F + [-1, -1, 0][:width] * c.num_agents
        return spaces.Box(np.array(low, np.float32), np.array(foods + players, np.float32))

    def place(w, s, e):
        _place_players(w, s, e)
        s.total[e] = _PLACED

    def begin(w, s, e):
        if s.total[e] != _PLACED:
            _note_players(w, s, e)
        s.total[e] = 0
        _place_foods(w, s, e)

    def step(w, s, e):
        _move(w, s, e)
        _load(w, s, e)
        if s.num_food[e] == 0 or (w.steps[e] >= s.max_episode_steps and not s.fixed):
            end_episode(w, e)

    def write_vector(w, s, e, i, out):
        row, column = w.location[e, i, _ROW], w.location[e, i, _COLUMN]
        top, left = max(row - s.sight, 0), max(column - s.sight, 0)
        at = 0
        for f in range(s.num_food[e]):
            if _is_near(s, row, column, s.food[e, f, 0], s.food[e, f, 1]):
                out[at], out[at + 1], out[at + 2] = s.food[e, f, 0] - top, s.food[e, f, 1] - left, s.food[e, f, 2]
                at += 3
        for k in range(at, 3 * s.food.shape[1], 3):
            out[k], out[k + 1], out[k + 2] = -1, -1, 0
        at, width = 3 * s.food.shape[1], 2 + int(s.observe_agent_levels)
        for k in range(w.num_agents[e]):
            # The observer is the first one.
            j = i if k == 0 else k - int(k <= i)
            to_row, to_column = w.location[e, j, _ROW] - top, w.location[e, j, _COLUMN] - left
            is_seen = 0 <= to_row <= 2 * s.sight and 0 <= to_column <= 2 * s.sight
            if s.fixed and not _is_near(s, row, column, to_row + top, to_column + left):
                is_seen = False
            if is_seen:
                out[at], out[at + 1] = to_row, to_column
                if width > 2:
                    out[at + 2] = s.level[e, j]
                at += width
        for k in range(at, out.shape[0], width):
            out[k], out[k + 1] = -1, -1
            if width > 2:
                out[k + 2] = 0

    def write_grid(w, s, e, i, out):
        side = 2 * s.sight + 1
        top, left = w.location[e, i, _ROW] - s.sight, w.location[e, i, _COLUMN] - s.sight
        out[:] = 0
        for row in range(max(top, 0), min(top + side, w.components.shape[2])):
            for column in range(max(left, 0), min(left + side, w.components.shape[1])):
                out[2 * side * side + (row - top) * side + column - left] = 1
        for j in range(w.num_agents[e]):
            row, column = w.location[e, j, _ROW] - top, w.location[e, j, _COLUMN] - left
            if 0 <= row < side and 0 <= column < side:
                out[row * side + column] = s.level[e, j] if s.observe_agent_levels else 1
                out[2 * side * side + row * side + column] = 0
        for f in range(s.num_food[e]):
            row, column = s.food[e, f, 0] - top, s.food[e, f, 1] - left
            if 0 <= row < side and 0 <= column < side:
                out[side * side + row * side + column] = s.food[e, f, 2]
                out[2 * side * side + row * side + column] = 0

    def metric_collected(w, s, e):
        return s.num_placed[e] - s.num_food[e]

    def check(w, s, e):
        return _check(w, s, e)

    def paint(w, s, e, i, x, y):
        for f in range(s.num_food[e]):
            if s.food[e, f, 0] == y and s.food[e, f, 1] == x:
                return 0xC5E1A5 - 0x180818 * min(s.food[e, f, 2] - 1, 6)  # darker for higher levels
        return -1

    def marks(scene: Any) -> Iterator[Mark]:
        for row, column, level in scene.food[: scene.num_food].tolist():
            yield Mark((column, row), "#c5e1a5", str(level) if level < 100 else "++")

    def describe(scene: Any, i: int) -> str:
        return describe_foraging(scene)


def _list_levels(name: str, given: Any, count: int, whose: str) -> list[int]:
    """Return a level for each player or food."""
    levels = list(given) if isinstance(given, tuple) else [given]
    if not all(is_int(level) and level >= 0 for level in levels) or len(levels) not in {1, count}:
        shown, expected = given if len(levels) != 1 else levels[0], "expected an integer of at least 0"
        raise ValueError(f"{name} is {shown}; {expected}, or {count} of them, one for each {whose}")
    return [int(level) for level in levels] * (count if len(levels) == 1 else 1)


def _check_order(what: str, low: list[int], high: list[int]) -> None:
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            raise ValueError(
                f"min_{what}_level is {least} and max_{what}_level is {most} for {what} {index}; swap them"
            )


def _add_levels(c: Any, levels: list[int]) -> list[int]:
    """Return the sum of the three lowest levels, for each number of players that an episode may have."""
    numbers = range(c.least_agents or len(levels), len(levels) + 1)
    return [sum(sorted(levels[:number])[:_MOST_TOGETHER]) for number in numbers]


def _prepare(c: Any) -> dict[str, Any]:
    """Check the options; return the levels as arrays, and the extents."""
    num_agents, num_food = 2 if c.num_agents is None else c.num_agents, c.max_num_food
    width, height = np.broadcast_to(check_size(8 if c.size is None else c.size), 2).tolist()
    for name in ("max_num_food", "sight", "max_episode_steps"):
        check_int(name, getattr(c, name), 0, most=2**20 if name == "max_num_food" else 2**63 - 1)
    if min(width, height) < 3:
        raise ValueError(f"the field has {height} rows and {width} columns; expected at least 3, for foods lie inside")
    if num_agents > width * height:
        raise ValueError(f"there are {num_agents} players, but the field has {height} x {width} cells")
    lowest = _list_levels("min_player_level", c.min_player_level, num_agents, "player")
    highest = _list_levels("max_player_level", c.max_player_level, num_agents, "player")
    _check_order("player", lowest, highest)
    least = _list_levels("min_food_level", c.min_food_level, num_food, "food")
    most = [0] * num_food
    if c.max_food_level is not None:
        most = _list_levels("max_food_level", c.max_food_level, num_food, "food")
        _check_order("food", least, most)
    fewest = min(_add_levels(c, lowest))
    if c.max_food_level is None and not c.force_coop and max(least, default=0) > fewest:
        raise ValueError(
            f"min_food_level is {max(least)}, and the three lowest players, whose sum is the largest level of a food, "
            f"may have {fewest}; expected at most {fewest}, or a max_food_level"
        )
    together = max(_add_levels(c, highest))
    return {
        "size": (width, height),
        "max_cycles": max(c.max_episode_steps, 1) + (not c.fixed),  # the game itself ends sooner
        "observe": "grid" if c.grid_observation else "vector",
        "F": num_food,
        "LENGTH": 3 * num_food + (3 if c.observe_agent_levels else 2) * num_agents,
        "WINDOW": 2 * c.sight + 1,
        "highest_player": max(highest),
        "highest_food": together if c.max_food_level is None else max(most, default=0),
        "player_levels": np.stack([lowest, highest], axis=1),
        "food_levels": np.stack([least, most], axis=1),
    }


@inlined
def _is_near(s, row, column, to_row, to_column):
    """Return whether a cell is in the square that an agent sees."""
    return abs(to_row - row) <= s.sight and abs(to_column - column) <= s.sight


@inlined
def _place_players(w, s, e):
    num_players = w.num_agents[e]
    if s.fixed:
        s.place[e] = 0
    for i in range(num_players, w.location.shape[1]):
        s.level[e, i], s.place[e, i] = 0, 0
    order = w.own_cell[:num_players]
    for i in range(num_players):
        order[i] = i
    shuffle(w, e, order)
    for i in range(num_players):
        least, most = s.player_levels[order[i], 0], s.player_levels[order[i], 1]
        tries = 0
        # A player that never stood anywhere cannot stay where it was.
        while tries < _TRIES or s.place[e, i, _ROW] == 0:
            tries += 1
            row = draw_integer(w, e, 0, w.components.shape[2])
            column = draw_integer(w, e, 0, w.components.shape[1])
            if not _has_player(s, e, row, column):
                s.place[e, i, _ROW], s.place[e, i, _COLUMN] = row + 1, column + 1
                s.level[e, i] = draw_integer(w, e, least, most + 1)
                break
        w.location[e, i, _ROW], w.location[e, i, _COLUMN] = s.place[e, i, _ROW] - 1, s.place[e, i, _COLUMN] - 1


@inlined
def _note_players(w, s, e):
    """Draw the levels of players whose cells are a layout by hand."""
    s.level[e], s.place[e] = 0, 0
    for i in range(w.num_agents[e]):
        s.place[e, i, _ROW], s.place[e, i, _COLUMN] = w.location[e, i, _ROW] + 1, w.location[e, i, _COLUMN] + 1
        s.level[e, i] = draw_integer(w, e, s.player_levels[i, 0], s.player_levels[i, 1] + 1)


@inlined
def _has_player(s, e, row, column):
    for i in range(s.place.shape[1]):
        if s.place[e, i, _ROW] == row + 1 and s.place[e, i, _COLUMN] == column + 1:
            return True
    return False


@inlined
def _place_foods(w, s, e):
    num_food, order = s.food.shape[1], s.order[e]
    together = _add_lowest(w, s, e)
    for f in range(num_food):
        order[f] = f
    shuffle(w, e, order)
    tries = 0
    while s.num_placed[e] < num_food and tries < _TRIES:
        tries += 1
        row = draw_integer(w, e, 1, w.components.shape[2] - 1)
        column = draw_integer(w, e, 1, w.components.shape[1] - 1)
        if _has_player(s, e, row, column) or _has_food_near(s, e, row, column):
            continue
        f = order[s.num_placed[e]]
        most = s.food_levels[f, 1] if s.food_levels[f, 1] > 0 else together
        least = most if s.force_coop else s.food_levels[f, 0]
        _put_food(s, e, row, column, draw_integer(w, e, least, most + 1))
    s.order[e] = 0


@inlined
def _add_lowest(w, s, e):
    """Return the sum of the three lowest levels of players."""
    first, second, third = _NO_LEVEL, _NO_LEVEL, _NO_LEVEL
    for i in range(w.num_agents[e]):
        level = s.level[e, i]
        third = min(third, max(second, level))
        second = min(second, max(first, level))
        first = min(first, level)
    total = 0
    for level in (first, second, third):
        if level != _NO_LEVEL:
            total += level
    return total


@inlined
def _has_food_near(s, e, row, column):
    for f in range(s.num_food[e]):
        rows, columns = abs(s.food[e, f, 0] - row), abs(s.food[e, f, 1] - column)
        if max(rows, columns) <= 1 or rows + columns == 2:
            return True
    return False


@inlined
def _put_food(s, e, row, column, level):
    """Insert a food in reading order; one of level 0 is placed, but is not there."""
    s.num_placed[e] += 1
    s.total[e] += level
    if level == 0:
        return
    f = s.num_food[e]
    while f > 0 and (s.food[e, f - 1, 0] > row or (s.food[e, f - 1, 0] == row and s.food[e, f - 1, 1] > column)):
        _set_food(s, e, f, s.food[e, f - 1, 0], s.food[e, f - 1, 1], s.food[e, f - 1, 2])
        f -= 1
    _set_food(s, e, f, row, column, level)
    s.num_food[e] += 1


@inlined
def _set_food(s, e, f, row, column, level):
    s.food[e, f, 0], s.food[e, f, 1], s.food[e, f, 2] = row, column, level


@inlined
def _is_beside(w, s, e, i, f):
    rows, columns = abs(s.food[e, f, 0] - w.location[e, i, _ROW]), abs(s.food[e, f, 1] - w.location[e, i, _COLUMN])
    return rows + columns == 1


@inlined
def _move(w, s, e):
    num_players, first_requester, requested = w.num_agents[e], w.first_requester, w.requested
    width, height = w.components.shape[1], w.components.shape[2]
    for i in range(num_players):
        rows, columns = _find_step(w, e, i)
        row, column = w.location[e, i, _ROW] + rows, w.location[e, i, _COLUMN] + columns
        # Without branches: in random play they would be mispredicted.
        is_inside = int(row >= 0) & int(column >= 0) & int(row < height) & int(column < width)
        is_free = 1
        for f in range(s.num_food[e]):
            is_free &= int(s.food[e, f, 0] != row) | int(s.food[e, f, 1] != column)
        moves = is_inside & is_free & int(rows != 0 or columns != 0)
        if moves:
            w.outcomes[e, i] = _MOVED
        elif rows != 0 or columns != 0:
            w.outcomes[e, i] = _OCCUPIED if is_inside else _EDGE
        requested[i] = (column - (1 - moves) * columns) * height + row - (1 - moves) * rows
        first = first_requester[requested[i]]
        if first == NOBODY:
            first_requester[requested[i]] = i
        else:
            _refuse(w, e, first)
            _refuse(w, e, i)
    for i in range(num_players):
        first_requester[requested[i]] = NOBODY
        rows, columns = _find_step(w, e, i)
        moved = int(w.outcomes[e, i] == _MOVED)
        w.location[e, i, _ROW] += moved * rows
        w.location[e, i, _COLUMN] += moved * columns
        s.place[e, i, _ROW], s.place[e, i, _COLUMN] = w.location[e, i, _ROW] + 1, w.location[e, i, _COLUMN] + 1


@inlined
def _find_step(w, e, i):
    """Return how many rows and columns an action leads to."""
    action = w.actions[e, i]
    return int(action == SOUTH) - int(action == NORTH), int(action == EAST) - int(action == WEST)


@inlined
def _refuse(w, e, i):
    if w.outcomes[e, i] == _MOVED:
        w.outcomes[e, i] = _CONTESTED


@inlined
def _load(w, s, e):
    f = 0
    while f < s.num_food[e]:
        together, num_loading, level = 0, 0, s.food[e, f, 2]
        for i in range(w.num_agents[e]):
            if w.actions[e, i] == LOAD and _is_beside(w, s, e, i, f):
                together += s.level[e, i]
                num_loading += 1
        for i in range(w.num_agents[e] if num_loading > 0 else 0):
            if w.actions[e, i] == LOAD and _is_beside(w, s, e, i, f):
                if together < level:
                    w.rewards[e, i] -= s.penalty
                else:
                    reward = float(s.level[e, i] * level)
                    w.rewards[e, i] = reward / float(together * s.total[e]) if s.normalize_reward else reward
        if num_loading > 0 and together >= level:
            s.num_food[e] -= 1
            for later in range(f, s.num_food[e]):
                _set_food(s, e, later, s.food[e, later + 1, 0], s.food[e, later + 1, 1], s.food[e, later + 1, 2])
            _set_food(s, e, s.num_food[e], 0, 0, 0)
        else:
            f += 1


@kernel
def _check(w, s, e):
    """Return whether play can lead to these foods, levels and places."""
    num_food, num_placed, total, before = s.num_food[e], s.num_placed[e], 0, -1
    if not 0 <= num_food <= num_placed <= s.food.shape[1]:
        return False
    for f in range(s.food.shape[1]):
        row, column, level = s.food[e, f, 0], s.food[e, f, 1], s.food[e, f, 2]
        if f >= num_food:
            if row != 0 or column != 0 or level != 0:
                return False
            continue
        if not (0 < row < w.components.shape[2] - 1 and 0 < column < w.components.shape[1] - 1 and level > 0):
            return False
        if row * w.components.shape[1] + column <= before:
            return False
        before, total = row * w.components.shape[1] + column, total + level
        for i in range(w.num_agents[e]):
            if w.location[e, i, _ROW] == row and w.location[e, i, _COLUMN] == column:
                return False
    for i in range(w.location.shape[1]):
        for axis in range(2):
            if s.place[e, i, axis] != (w.location[e, i, axis] + 1 if i < w.num_agents[e] else 0):
                return False
        if s.level[e, i] < 0:
            return False
    return total <= s.total[e] and (num_food > 0 or w.steps[e] == 0 or w.episode_over[e])
