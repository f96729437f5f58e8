"""Draw the parts of observations that are images, from tiles that `multigrid._tiles` has painted.

On the ground of the cells, and the colours that a game gives them, are the targets, then the agents, then the
observer's own target and disc.
"""

from __future__ import annotations

from typing import Any

from multigrid._tiles import KINDS
from multigrid.actions import Outcome
from multigrid.core.arrays import LEFT, RADIUS, Arrays
from multigrid.maps._cells import WALL
from multigrid.runtime.compiled import function, inlined, unsigned

_DISC, _DELAYED, _SETTLED, _TARGET = range(len(KINDS))
_OWN, _WALL_TILE = len(KINDS), 16
_WAS_DELAYED = int(Outcome.DELAYED)


@function
def draw_images(w: Arrays, e: int) -> None:
    """Draw the images that the agents of world e observe."""
    radius = w.settings[RADIUS]
    for i in range(w.location.shape[1]):
        if w.rgb_part.shape[0] > 0:
            _draw(w.rgb_part[e, i], w, e, i, 0, 0, w.components.shape[1], w.components.shape[2])
        if w.rgb_view_part.shape[0] > 0:
            x, y, side = w.location[e, i, 0], w.location[e, i, 1], 2 * radius + 1
            _draw(w.rgb_view_part[e, i], w, e, i, x - radius, y - radius, side, side)


@function
def _draw(out: Any, w: Arrays, e: int, i: int, left: int, top: int, columns: int, rows: int) -> None:  # noqa: PLR0917
    """Draw the cells of a window, as agent i sees them."""
    for row in range(rows):
        for column in range(columns):
            _draw_ground(out, w, e, i, left + column, top + row, row, column, columns)
    for j in range(w.location.shape[1]):
        if j != i:
            _draw_target(out, w, e, j, left, top, columns, rows, 0)
    _draw_target(out, w, e, i, left, top, columns, rows, _OWN)
    for j in range(w.location.shape[1]):
        if j != i:
            _draw_agent(out, w, e, j, left, top, columns, rows, 0)
    _draw_agent(out, w, e, i, left, top, columns, rows, _OWN)


@inlined
def _draw_ground(  # noqa: PLR0917 - kernels have no keywords
    out: Any, w: Arrays, e: int, i: int, x: int, y: int, row: int, column: int, columns: int
) -> None:
    width, height, side = w.components.shape[1], w.components.shape[2], w.ground.shape[1]
    tile, colour = _WALL_TILE, -1
    if 0 <= x < width and 0 <= y < height:
        colour = w.hooks.paint(w, e, i, x, y)
        if w.components[w.map_index[e], x, y] != WALL:
            tile = int(x == 0) + 2 * int(y == 0) + 4 * int(x == width - 1) + 8 * int(y == height - 1)
    for line in range(side):
        start = ((row * side + line) * columns + column) * 3 * side
        if colour < 0:
            for k in range(3 * side):
                out[unsigned(start + k)] = w.ground[unsigned(tile), unsigned(line), unsigned(k)]
        else:
            for k in range(3 * side):
                out[unsigned(start + k)] = colour >> (16 - 8 * (k % 3)) & 255


@inlined
def _is_settled(w: Arrays, e: int, j: int) -> bool:
    return bool(w.hooks.has_targets and w.distances[e, j] == 0)


@inlined
def _draw_target(  # noqa: PLR0917 - kernels have no keywords
    out: Any, w: Arrays, e: int, j: int, left: int, top: int, columns: int, rows: int, own: int
) -> None:
    if not w.hooks.has_targets or w.status[e, j] == LEFT or _is_settled(w, e, j):
        return
    column, row = w.target[e, j, 0] - left, w.target[e, j, 1] - top
    if own > 0:
        column, row = min(max(column, 0), columns - 1), min(max(row, 0), rows - 1)
    _blend(out, w, own + _TARGET, j, column, row, columns, rows)


@inlined
def _draw_agent(  # noqa: PLR0917 - kernels have no keywords
    out: Any, w: Arrays, e: int, j: int, left: int, top: int, columns: int, rows: int, own: int
) -> None:
    if w.status[e, j] == LEFT:
        return
    kind = _DELAYED if w.outcomes[e, j] == _WAS_DELAYED else _DISC
    kind = own + (_SETTLED if _is_settled(w, e, j) else kind)
    _blend(out, w, kind, j, w.location[e, j, 0] - left, w.location[e, j, 1] - top, columns, rows)


@function
def _blend(out: Any, w: Arrays, kind: int, j: int, column: int, row: int, columns: int, rows: int) -> None:  # noqa: PLR0917
    """Draw what an agent has in a cell of the window, if it is in the window, on what is there."""
    if column < 0 or row < 0 or column >= columns or row >= rows:
        return
    side = w.ground.shape[1]
    for line in range(side):
        start = ((row * side + line) * columns + column) * 3 * side
        for k in range(side):
            pixel = w.sprites[unsigned(kind), unsigned(j), unsigned(line * side + k)]
            opacity = int(pixel[3])
            for channel in range(3):
                at = unsigned(start + 3 * k + channel)
                out[at] = (opacity * int(pixel[channel]) + (255 - opacity) * int(out[at]) + 127) // 255


HOOKS = {"draw_images": draw_images}
"""The hooks of worlds whose observations have images."""
