"""What an agent of Minigrid sees: the square ahead of it, without what walls and closed doors hide."""

from __future__ import annotations

import numpy as np

from multigrid.games.minigrid._grid import (
    AGENT,
    AHEAD,
    COLOUR,
    DOOR,
    EMPTY,
    GREY,
    NUM_COLOURS,
    OPEN,
    STATE,
    TYPE,
    WALL,
)
from multigrid.runtime.compiled import function, inlined

_NUM_TYPES = 11


@inlined
def _measure(cells, x, y, direction):
    """Return how many cells are between a cell and the edge of the grid."""
    if direction == 0:
        return cells.shape[0] - 1 - x
    if direction == 1:
        return cells.shape[1] - 1 - y
    return x if direction == 2 else y


@inlined
def _spread(visible, clear, view):
    """Return which cells of a row are seen through: visible and clear ones, and from there clear neighbours.

    The bits of a number are the cells of a row. Sight spreads to higher bits, and to lower ones; the last cell on each
    side sends none on. A cell that is reached in one direction need not be spread in the other.
    """
    last = 1 << (view - 1)
    up, free, shift = visible & clear & ~last, clear & ~last, 1
    while shift < view:
        up |= free & (up << shift)
        free &= free << shift
        shift *= 2
    down, free, shift = visible & clear & ~1, clear & ~1, 1
    while shift < view:
        down |= free & (down >> shift)
        free &= free >> shift
        shift *= 2
    return up, down


@function
def see(cells, x, y, direction, through, visible):
    """Write which cells are visible, a bit for each column, by row: (V,), the agent in the middle of the last one.

    `cells` are those of one world, (W, H, 3).
    """
    view = visible.shape[0]
    half, dx, dy = view // 2, AHEAD[direction, 0], AHEAD[direction, 1]
    if through:
        for b in range(view):
            visible[b] = (1 << view) - 1
        return
    ahead = _measure(cells, x, y, direction)
    first = -min(half, _measure(cells, x, y, (direction + 3) % 4))
    last = min(half, _measure(cells, x, y, (direction + 1) % 4))
    seen = 1 << half
    for step in range(view):
        clear = 0
        if step <= ahead:
            for side in range(first, last + 1):
                to_x, to_y = x + step * dx - side * dy, y + step * dy + side * dx
                kind = cells[to_x, to_y, TYPE]
                is_opaque = kind == WALL or (kind == DOOR and cells[to_x, to_y, STATE] != OPEN)
                clear |= int(not is_opaque) << (half + side)
        up, down = _spread(seen, clear, view)
        visible[view - 1 - step] = seen | up << 1 | down >> 1
        seen = up | up << 1 | down | down >> 1


@function
def write_view(w, s, e, i, out, shows_agents):
    """Write the cells that agent i sees, (V, V, 3): those ahead, with agents, and what it carries in its own place."""
    cells, visible, view = s.cells[e], s.visible[e], s.visible.shape[1]
    x, y, direction = w.location[e, i, 0], w.location[e, i, 1], s.direction[e, i]
    half, dx, dy = view // 2, AHEAD[direction, 0], AHEAD[direction, 1]
    see(cells, x, y, direction, s.through[0] != 0, visible)
    ahead = _measure(cells, x, y, direction)
    first, last = -_measure(cells, x, y, (direction + 3) % 4), _measure(cells, x, y, (direction + 1) % 4)
    for a in range(view):
        side = a - half
        for b in range(view):
            at = 3 * (a * view + b)
            if visible[b] >> a & 1 == 0:
                out[at], out[at + 1], out[at + 2] = 0, 0, 0
                continue
            step = view - 1 - b
            if first <= side <= last and step <= ahead:
                to_x, to_y = x + step * dx - side * dy, y + step * dy + side * dx
                out[at], out[at + 1] = cells[to_x, to_y, TYPE], cells[to_x, to_y, COLOUR]
                out[at + 2] = cells[to_x, to_y, STATE]
            else:
                out[at], out[at + 1], out[at + 2] = WALL, GREY, 0
    for j in range(w.num_agents[e]):
        if j == i or s.ended[e, j] or not shows_agents:
            continue
        away_x, away_y = w.location[e, j, 0] - x, w.location[e, j, 1] - y
        a, b = half + away_y * dx - away_x * dy, view - 1 - (away_x * dx + away_y * dy)
        if 0 <= a < view and 0 <= b < view and visible[b] >> a & 1:
            at = 3 * (a * view + b)
            out[at], out[at + 1], out[at + 2] = AGENT, j % NUM_COLOURS, s.direction[e, j]
    at = 3 * (half * view + view - 1)
    out[at], out[at + 1], out[at + 2] = s.carried[e, i, TYPE], s.carried[e, i, COLOUR], 0
    if out[at] == 0:
        out[at] = EMPTY


@function
def write_grid(w, s, e, out):
    """Write all cells, (W, H, 3), with the agents that have not ended."""
    width, height = s.cells.shape[1], s.cells.shape[2]
    for x in range(width):
        for y in range(height):
            for k in range(3):
                out[3 * (x * height + y) + k] = s.cells[e, x, y, k]
    for j in range(w.num_agents[e]):
        if not s.ended[e, j]:
            at = 3 * (w.location[e, j, 0] * height + w.location[e, j, 1])
            out[at], out[at + 1], out[at + 2] = AGENT, j % NUM_COLOURS, s.direction[e, j]


@function
def write_one_hot(w, s, e, i, out):
    """Write the cells that agent i sees as zeros and ones, (V, V, C): 11 types, 6 colours, 3 states or 4 directions."""
    seen = s.seen[e]
    num_channels = out.shape[0] // (seen.shape[0] // 3)
    write_view(w, s, e, i, seen, True)
    out[:] = 0
    for k in range(seen.shape[0] // 3):
        at = num_channels * k
        kind, colour, state = np.int64(seen[3 * k]), np.int64(seen[3 * k + 1]), np.int64(seen[3 * k + 2])
        out[at + kind] = 1
        out[at + _NUM_TYPES + colour] = 1
        out[at + _NUM_TYPES + NUM_COLOURS + state] = 1
