"""What the cells of Minigrid hold, and how things are placed in them."""

from __future__ import annotations

import numpy as np

from multigrid.actions import DIRECTIONS
from multigrid.core.draws import draw_integer
from multigrid.runtime.compiled import function, inlined

UNSEEN, EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA, AGENT = range(11)
RED, GREEN, BLUE, PURPLE, YELLOW, GREY = range(6)
OPEN, CLOSED, LOCKED = range(3)
RIGHT, DOWN, WEST, UP = range(4)
"""Directions of agents and sides of rooms; y + 1 is down."""
AHEAD = DIRECTIONS
TYPE, COLOUR, STATE = range(3)
NUM_COLOURS = 6
BY_NAME = np.array([BLUE, GREEN, GREY, PURPLE, RED, YELLOW])
"""The colours in the order of their names, in which they are drawn."""
ANYWHERE, APART, AWAY = range(3)
"""Where a thing is placed: anywhere, not beside an earlier object, or at least two steps from agent 0."""
_UNPLACED = -1
_MOST_TRIES = 2**40


@inlined
def set_cell(s, e, x, y, kind, colour, state):
    s.cells[e, x, y, TYPE], s.cells[e, x, y, COLOUR], s.cells[e, x, y, STATE] = kind, colour, state


@function
def fill(s, e, left, top, width, height, kind, colour):
    """Fill a rectangle with a thing of state 0."""
    for x in range(left, left + width):
        for y in range(top, top + height):
            set_cell(s, e, x, y, kind, colour, 0)


@function
def build_room(s, e, left, top, width, height):
    """Build the four walls of a rectangle."""
    fill(s, e, left, top, width, 1, WALL, GREY)
    fill(s, e, left, top + height - 1, width, 1, WALL, GREY)
    fill(s, e, left, top, 1, height, WALL, GREY)
    fill(s, e, left + width - 1, top, 1, height, WALL, GREY)


@function
def draw_colour(w, e):
    return BY_NAME[draw_integer(w, e, 0, NUM_COLOURS)]


@function
def draw_other_colour(w, e, taken):
    """Draw a colour that is not in a set of them, the sum of ``1 << colour``."""
    num_left = 0
    for colour in range(NUM_COLOURS):
        num_left += 1 - (taken >> colour & 1)
    drawn = draw_integer(w, e, 0, num_left)
    for k in range(NUM_COLOURS):
        if taken >> BY_NAME[k] & 1 == 0:
            if drawn == 0:
                return BY_NAME[k]
            drawn -= 1
    return RED


@function
def has_agent(w, s, e, x, y):
    """Return whether an agent that has not ended is in a cell."""
    for i in range(w.num_agents[e]):
        if w.location[e, i, 0] == x and w.location[e, i, 1] == y and not s.ended[e, i]:
            return True
    return False


@inlined
def is_inside(s, x, y):
    return 0 <= x < s.cells.shape[1] and 0 <= y < s.cells.shape[2]


@function
def find_place(w, s, e, left, top, width, height, where, most):
    """Draw cells of a rectangle until one is empty; return it, or -1, -1 after `most` + 1 of them."""
    left, top = max(left, 0), max(top, 0)
    to_x, to_y = min(left + width, s.cells.shape[1]), min(top + height, s.cells.shape[2])
    for _ in range(most + 1):
        x = draw_integer(w, e, left, to_x)
        y = draw_integer(w, e, top, to_y)
        if s.cells[e, x, y, TYPE] == EMPTY and not has_agent(w, s, e, x, y) and not _is_refused(w, s, e, x, y, where):
            return x, y
    return _UNPLACED, _UNPLACED


@function
def _is_refused(w, s, e, x, y, where):
    if where == AWAY:
        return abs(x - w.location[e, 0, 0]) + abs(y - w.location[e, 0, 1]) < 2
    if where == APART:
        for k in range(s.objects.shape[1]):
            is_beside = abs(x - s.objects[e, k, 0]) <= 1 and abs(y - s.objects[e, k, 1]) <= 1
            if s.objects[e, k, 2] != UNSEEN and is_beside:
                return True
    return False


@function
def place_thing(w, s, e, left, top, width, height, where, kind, colour):
    """Place a thing in an empty cell of a rectangle; return the cell."""
    x, y = find_place(w, s, e, left, top, width, height, where, _MOST_TRIES)
    set_cell(s, e, x, y, kind, colour, 0)
    return x, y


@function
def place_agent(w, s, e, i, left, top, width, height):
    """Place an agent in an empty cell of a rectangle, looking in a direction that is drawn; keep the rectangle."""
    w.location[e, i, 0], w.location[e, i, 1] = _UNPLACED, _UNPLACED
    x, y = find_place(w, s, e, left, top, width, height, ANYWHERE, _MOST_TRIES)
    w.location[e, i, 0], w.location[e, i, 1] = x, y
    s.direction[e, i] = draw_integer(w, e, 0, 4)
    set_area(s, e, left, top, width, height)


@inlined
def set_area(s, e, left, top, width, height):
    """Set the rectangle that the agents after the first are placed in."""
    s.area[e, 0], s.area[e, 1], s.area[e, 2], s.area[e, 3] = left, top, width, height


@inlined
def start_agent(w, s, e, x, y):
    """Let agent 0 begin in a cell, looking to the right."""
    w.location[e, 0, 0], w.location[e, 0, 1], s.direction[e, 0] = x, y, RIGHT


@inlined
def aim_at(s, e, i, kind, colour, x, y):
    """Set what agent i has to reach, in its first cell."""
    s.aim[e, i, 0], s.aim[e, i, 1], s.aim[e, i, 2], s.aim[e, i, 3] = kind, colour, x, y


@inlined
def number_thing(kind, colour):
    """Return the number of a key, a ball or a box in missions."""
    return colour + NUM_COLOURS * (kind - KEY)
