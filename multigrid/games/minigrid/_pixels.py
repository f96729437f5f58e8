"""What an agent of Minigrid sees in pixels, from tiles that are drawn when the environment is made."""

from __future__ import annotations

import numpy as np

from multigrid.games.minigrid._grid import AGENT, AHEAD, NUM_COLOURS, UP, is_inside
from multigrid.games.minigrid._tasks import Image
from multigrid.games.minigrid._view import see, write_grid, write_one_hot, write_view
from multigrid.runtime.compiled import function, inlined

_FULL, _ONEHOT, _RGB = int(Image.FULL), int(Image.ONEHOT), int(Image.RGB)
_NUM_DIRECTIONS = 4


@inlined
def write_image(w, s, e, i, out):
    if s.image >= _RGB:
        write_pixels(w, s, e, i, out)
    elif s.image == _FULL:
        write_grid(w, s, e, out)
    elif s.image == _ONEHOT:
        write_one_hot(w, s, e, i, out)
    else:
        write_view(w, s, e, i, out, True)


@function
def write_pixels(w, s, e, i, out):
    """Write the view of agent i in pixels, or the whole grid, in which its view is lit."""
    looks, shown = s.tiles.shape[0] // 2, s.shown[e]
    num_colours = (looks - 1) // _NUM_DIRECTIONS
    x, y, direction = w.location[e, i, 0], w.location[e, i, 1], s.direction[e, i]
    view, visible = s.visible.shape[1], s.visible[e]
    half, dx, dy, is_view = view // 2, AHEAD[direction, 0], AHEAD[direction, 1], s.image == _RGB
    num_rows = view if is_view else s.cells.shape[2]
    shown[:] = 0
    if is_view:
        write_view(w, s, e, i, s.seen[e], False)
    else:
        see(s.cells[e], x, y, direction, s.through[0] != 0, visible)
    for a in range(view):
        for b in range(view):
            if visible[b] >> a & 1:
                step, side = view - 1 - b, a - half
                to_x, to_y = x + step * dx - side * dy, y + step * dy + side * dx
                if is_view:
                    shown[a * view + b] = looks
                elif is_inside(s, to_x, to_y):
                    shown[to_x * num_rows + to_y] = looks
    for j in range(w.num_agents[e]):
        away_x, away_y, turned = w.location[e, j, 0] - x, w.location[e, j, 1] - y, s.direction[e, j]
        at = w.location[e, j, 0] * num_rows + w.location[e, j, 1]
        if is_view:
            a, b = half + away_y * dx - away_x * dy, view - 1 - (away_x * dx + away_y * dy)
            if not (0 <= a < view and 0 <= b < view and visible[b] >> a & 1):
                continue
            at, turned = a * view + b, (turned - direction + UP + _NUM_DIRECTIONS) % _NUM_DIRECTIONS
        if j == i or (not s.ended[e, j] and (away_x != 0 or away_y != 0)):
            shown[at] = shown[at] // looks * looks + 1 + j % num_colours * _NUM_DIRECTIONS + turned
    _copy_tiles(s, e, num_rows, is_view, shown, out)


@function
def _copy_tiles(s, e, num_rows, is_view, shown, out):
    size = s.tile_pixels
    num_columns = shown.shape[0] // num_rows
    for a in range(num_columns):
        for b in range(num_rows):
            at = a * num_rows + b
            if is_view:
                kind, colour, state = s.seen[e, 3 * at], s.seen[e, 3 * at + 1], s.seen[e, 3 * at + 2]
            else:
                kind, colour, state = s.cells[e, a, b, 0], s.cells[e, a, b, 1], s.cells[e, a, b, 2]
            # Numbers of 8 bits would overflow.
            thing = np.int64(kind) * NUM_COLOURS + colour
            if state > 0:
                thing = (AGENT - 1 + np.int64(state)) * NUM_COLOURS + colour
            for row in range(size):
                to = 3 * size * ((b * size + row) * num_columns + a)
                for k in range(3 * size):
                    out[to + k] = s.tiles[shown[at], thing, 3 * size * row + k]
