"""Write each part of the agents' observations, as `multigrid.parts` describes them, into its array.

With *flatten*, the parts but the action mask are concatenated, with coordinates scaled to 0 .. 1, offsets to -1 .. 1,
and -1 for an agent that has left.
An agent that has left appears in no view, not even in its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Outcome
from multigrid.core.arrays import LEFT, Arrays
from multigrid.core.compiled import inlined, kernel, unsigned
from multigrid.maps.components import WALL
from multigrid.parts import PARTS

__all__ = ["global_states", "observe_world", "writes_observations"]

_AGENT, _TARGET, _OTHERS, _OFFSET, _VIEW, _WALLS, _ACTION_MASK = range(len(PARTS))
_ARE_CELLS = tuple(spec.has_cells and not spec.is_signed for spec in PARTS.values())

_ABSENT = -1
_EDGE, _WALL = int(Outcome.EDGE), int(Outcome.WALL)


def global_states(arrays: Arrays) -> NDArray[np.int64]:
    """Return int64 (E, N, 4): x, y, target x, target y of each agent of each world; -1s for one that has left."""
    states = np.concatenate([arrays.location, arrays.target], axis=2)
    states[arrays.status == LEFT] = _ABSENT
    return states


@inlined
def writes_observations(w: Arrays) -> bool:
    """Return whether there are parts other than *agent* and *target*, which are the state itself."""
    parts = w.others_part.shape[0] + w.offset_part.shape[0] + w.view_part.shape[0] + w.walls_part.shape[0]
    return bool(w.flat.shape[0] + parts + w.action_mask_part.shape[0] > 0)


@kernel
def observe_world(w: Arrays, e: int) -> None:
    """Write the observations of all agents of world e."""
    if w.agent_grid.shape[0] > 0:
        _mark(w, e, 1)
    if w.flat.shape[0] > 0:
        for i in range(w.location.shape[1]):
            _write_flat(w, e, i)
    _write_parts(w, e)
    if w.agent_grid.shape[0] > 0:
        _mark(w, e, 0)


@inlined
def _write_parts(w: Arrays, e: int) -> None:
    num_agents = w.location.shape[1]
    if w.others_part.shape[0] > 0:
        for i in range(num_agents):
            _write_others(w.others_part[e, i], w, e, i)
    if w.offset_part.shape[0] > 0:
        for i in range(num_agents):
            _write_offset(w.offset_part[e, i], w, e, i)
    if w.view_part.shape[0] > 0:
        for i in range(num_agents):
            _write_view(w.view_part[e, i], w, e, i)
    if w.walls_part.shape[0] > 0:
        for i in range(num_agents):
            _write_walls(w.walls_part[e, i], w, e)
    if w.action_mask_part.shape[0] > 0:
        for i in range(num_agents):
            _write_action_mask(w.action_mask_part[e, i], w, e, i)


@inlined
def _mark(w: Arrays, e: int, mark: int) -> None:
    radius = (w.agent_grid.shape[0] - w.components.shape[1]) // 2
    location, status, agent_grid = w.location[e], w.status[e], w.agent_grid
    for i in range(location.shape[0]):
        if status[i] != LEFT:
            agent_grid[unsigned(location[i, 0] + radius), unsigned(location[i, 1] + radius)] = mark


@kernel
def _write_cell(out: Any, cells: Any, e: int, i: int) -> None:
    out[0], out[1] = cells[e, i, 0], cells[e, i, 1]


@kernel
def _write_others(out: Any, w: Arrays, e: int, i: int) -> None:
    for j in range(w.location.shape[1]):
        if j == i:
            continue
        row = j if j < i else j - 1
        if w.status[e, j] == LEFT:
            out[row, 0], out[row, 1] = _ABSENT, _ABSENT
        else:
            out[row, 0], out[row, 1] = w.location[e, j, 0], w.location[e, j, 1]


@kernel
def _write_offset(out: Any, w: Arrays, e: int, i: int) -> None:
    out[0] = w.target[e, i, 0] - w.location[e, i, 0]
    out[1] = w.target[e, i, 1] - w.location[e, i, 1]


@kernel
def _write_view(out: Any, w: Arrays, e: int, i: int) -> None:
    side = out.shape[1]
    # A constant side is copied twice as fast.
    if side == 5:
        _copy_window(out, w, e, i, 5)
    else:
        _copy_window(out, w, e, i, side)
    radius = side // 2
    column = min(max(w.target[e, i, 0] - w.location[e, i, 0] + radius, 0), 2 * radius)
    row = min(max(w.target[e, i, 1] - w.location[e, i, 1] + radius, 0), 2 * radius)
    out[2, unsigned(column), unsigned(row)] = 1


@inlined
def _copy_window(out: Any, w: Arrays, e: int, i: int, side: int) -> None:
    blocked, agent_grid = w.blocked[unsigned(w.map_index[e])], w.agent_grid
    # The grids have a rim of the view's radius, so the window begins at the agent's own indices.
    left, low = w.location[e, i, 0], w.location[e, i, 1]
    for column in range(side):
        for row in range(side):
            out[0, column, row] = blocked[unsigned(left + column), unsigned(low + row)]
    for column in range(side):
        for row in range(side):
            out[1, column, row] = agent_grid[unsigned(left + column), unsigned(low + row)]
    for column in range(side):
        for row in range(side):
            out[2, column, row] = 0


@kernel
def _write_walls(out: Any, w: Arrays, e: int) -> None:
    components = w.components[w.map_index[e]]
    for x in range(components.shape[0]):
        for y in range(components.shape[1]):
            out[x, y] = components[x, y] == WALL


@kernel
def _write_action_mask(out: Any, w: Arrays, e: int, i: int) -> None:
    moves = w.moves[w.map_index[e], w.location[e, i, 0], w.location[e, i, 1]]
    for action in range(out.shape[0]):
        out[action] = moves[action] != _EDGE and moves[action] != _WALL


@kernel
def _write_flat(w: Arrays, e: int, i: int) -> None:
    out = w.flat[e, i]
    start = 0
    for k in range(w.flat_parts.shape[0]):
        part = w.flat_parts[k]
        end = start + w.flat_sizes[k]
        if part == _AGENT:
            _write_cell(out[start:end], w.location, e, i)
        elif part == _TARGET:
            _write_cell(out[start:end], w.target, e, i)
        elif part == _OTHERS:
            _write_others(out[start:end].reshape((w.flat_sizes[k] // 2, 2)), w, e, i)
        elif part == _OFFSET:
            _write_offset(out[start:end], w, e, i)
            _scale_offset(out[start:end], w)
        elif part == _VIEW:
            side = round((w.flat_sizes[k] / 3) ** 0.5)
            _write_view(out[start:end].reshape((3, side, side)), w, e, i)
        else:
            _write_walls(out[start:end].reshape((w.components.shape[1], w.components.shape[2])), w, e)
        if _ARE_CELLS[part]:
            _scale(out[start:end], w)
        start = end


@inlined
def _scale(coordinates: Any, w: Arrays) -> None:
    """Scale x, y, x, y, ... to 0 .. 1, except those of absent agents."""
    for k in range(coordinates.shape[0]):
        if coordinates[k] != _ABSENT:
            coordinates[k] = w.scaled[k % 2, int(coordinates[k])]


@inlined
def _scale_offset(offset: Any, w: Arrays) -> None:
    """Scale a difference of cells to -1 .. 1."""
    for k in range(2):
        cells = int(offset[k])
        scaled = w.scaled[k, abs(cells)]
        offset[k] = scaled if cells >= 0 else -scaled
