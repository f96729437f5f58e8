"""Write each part of the agents' observations, as `multigrid.parts` describes them, into its array.

With *flatten*, the parts but the action mask are concatenated, with coordinates scaled to 0 .. 1, offsets to -1 .. 1,
and -1 for an agent that has left.
An agent that has left appears in no view, not even in its own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Action, Outcome
from multigrid.core.arrays import LEFT, Arrays, unpack
from multigrid.core.rules import ALL_VALID, find_bad_action
from multigrid.maps._cells import WALL
from multigrid.parts import PARTS
from multigrid.runtime.compiled import function, inlined, kernel, unsigned

_AGENT, _TARGET, _OTHERS, _OFFSET, _VIEW, _WALLS, _ACTION_MASK, _WAS_DELAYED, _DELAY_LEFT, _MESSAGES, *_ = range(
    len(PARTS)
)
_ARE_CELLS = tuple(spec.has_cells and not spec.is_signed for spec in PARTS.values())

_ABSENT = -1
_STAY_ACTION = int(Action.STAY)
_EDGE, _WALL, _DELAYED = int(Outcome.EDGE), int(Outcome.WALL), int(Outcome.DELAYED)


def global_states(arrays: Arrays, own: Collection[str] = ()) -> NDArray[Any]:
    """Return int64 (E, N, 4): x, y, target x, target y of each agent of each world; -1s for one that has left.

    With the names of a game's own arrays, return float64 (E, D): these numbers, and those of each array.
    """
    states = np.concatenate([arrays.location, arrays.target], axis=2)
    states[arrays.status == LEFT] = _ABSENT
    if not own:
        return states
    parts = [states, *(getattr(arrays.own, name) for name in own)]
    return np.concatenate([part.reshape(len(states), -1).astype(np.float64) for part in parts], axis=1)


@kernel
def observe_worlds(address_table: Any, first: int, last: int) -> None:
    """Write the observations of those of worlds first .. last - 1 that are outdated, each part into its own array."""
    w = unpack(address_table)
    for world in range(first, last):
        e = unsigned(world)
        if w.outdated[e]:
            _paint_agents(w, e, 1)
            _write_parts(w, e)
            _paint_agents(w, e, 0)
            w.hooks.write_own_infos(w, e)
            w.outdated[e] = False


@kernel
def observe_worlds_flat(address_table: Any, first: int, last: int) -> None:
    """Do as `observe_worlds`, with all parts but the action mask in one array."""
    w = unpack(address_table)
    for world in range(first, last):
        e = unsigned(world)
        if w.outdated[e]:
            _paint_agents(w, e, 1)
            for i in range(w.location.shape[1]):
                _write_flat(w, e, i)
                if w.action_mask_part.shape[0] > 0:
                    _write_action_mask(w.action_mask_part[e, i], w, e, i)
            _paint_agents(w, e, 0)
            w.hooks.write_own_infos(w, e)
            w.outdated[e] = False


@inlined
def observe_any_worlds(address_table: Any, first: int, last: int) -> None:
    """Call `observe_worlds` or `observe_worlds_flat`, if any observations or infos are written."""
    w = unpack(address_table)
    if w.flat.shape[0] > 0:
        observe_worlds_flat(address_table, first, last)
    elif w.written_parts.shape[0] > 0 or w.hooks.has_infos:
        observe_worlds(address_table, first, last)


@kernel
def step_and_observe(address_table: Any, first: int, last: int) -> int:
    """Do as `multigrid.core.rules.step_worlds`, and call `observe_worlds`."""
    bad_row = find_bad_action(address_table, first, last)
    if bad_row == ALL_VALID:
        unpack(address_table).hooks.play_worlds(address_table, first, last)
        observe_worlds(address_table, first, last)
    return bad_row


@kernel
def step_and_observe_flat(address_table: Any, first: int, last: int) -> int:
    """Do as `multigrid.core.rules.step_worlds`, and call `observe_worlds_flat`."""
    bad_row = find_bad_action(address_table, first, last)
    if bad_row == ALL_VALID:
        unpack(address_table).hooks.play_worlds(address_table, first, last)
        observe_worlds_flat(address_table, first, last)
    return bad_row


@inlined
def _write_parts(w: Arrays, e: int) -> None:
    num_agents = w.location.shape[1]
    if w.others_part.shape[0] > 0:
        for i in range(num_agents):
            _write_others(w.others_part[e, i], 0, w, e, i)
    if w.offset_part.shape[0] > 0:
        for i in range(num_agents):
            _write_offset(w.offset_part[e, i], 0, w, e, i)
    if w.view_part.shape[0] > 0:
        for i in range(num_agents):
            _write_view(w.view_part[e, i], 0, w, e, i)
    if w.walls_part.shape[0] > 0:
        for i in range(num_agents):
            _write_walls(w.walls_part[e, i], 0, w, e)
    if w.action_mask_part.shape[0] > 0:
        for i in range(num_agents):
            _write_action_mask(w.action_mask_part[e, i], w, e, i)
    if w.delayed_part.shape[0] > 0 or w.delay_left_part.shape[0] > 0:
        w.hooks.write_delays(w, e)
    if w.messages_part.shape[0] > 0:
        for i in range(num_agents):
            _write_messages(w.messages_part[e, i], 0, w, e)
    w.hooks.write_own_parts(w, e)
    w.hooks.draw_images(w, e)


@function
def write_delays(w: Arrays, e: int) -> None:
    """Write the parts about delays."""
    for i in range(w.location.shape[1]):
        if w.delayed_part.shape[0] > 0:
            w.delayed_part[e, i, 0] = _was_delayed(w, e, i)
        if w.delay_left_part.shape[0] > 0:
            w.delay_left_part[e, i, 0] = _delay_left(w, e, i)


@inlined
def _view_radius(w: Arrays) -> int:
    return int((w.agent_grid.shape[0] - w.components.shape[1]) // 2)


@inlined
def _paint_agents(w: Arrays, e: int, value: int) -> None:
    """Write a value to the cells of world e's agents in the grid of agents, if there are views."""
    if w.agent_grid.shape[0] == 0:
        return
    radius = _view_radius(w)
    location, status, agent_grid = w.location[e], w.status[e], w.agent_grid
    for i in range(location.shape[0]):
        if status[i] != LEFT:
            agent_grid[unsigned(location[i, 0] + radius), unsigned(location[i, 1] + radius)] = value


# Each function below writes the numbers of a part to a row, from index *start* on.


@function
def _write_cell(out: Any, start: int, cells: Any, e: int, i: int) -> None:
    out[start], out[start + 1] = cells[e, i, 0], cells[e, i, 1]


@function
def _write_others(out: Any, start: int, w: Arrays, e: int, i: int) -> None:
    for j in range(w.location.shape[1]):
        if j == i:
            continue
        k = start + 2 * (j if j < i else j - 1)
        if w.status[e, j] == LEFT:
            out[k], out[k + 1] = _ABSENT, _ABSENT
        else:
            out[k], out[k + 1] = w.location[e, j, 0], w.location[e, j, 1]


@function
def _write_offset(out: Any, start: int, w: Arrays, e: int, i: int) -> None:
    out[start] = w.target[e, i, 0] - w.location[e, i, 0]
    out[start + 1] = w.target[e, i, 1] - w.location[e, i, 1]


@inlined
def _write_view(out: Any, start: int, w: Arrays, e: int, i: int) -> None:
    radius = _view_radius(w)
    side = 2 * radius + 1
    layer = side * side
    blocked, agent_grid = w.blocked[unsigned(w.map_index[e])], w.agent_grid
    # The grids have a rim of the view's radius, so the window begins at the agent's own indices.
    left, low = w.location[e, i, 0], w.location[e, i, 1]
    for column in range(side):
        _copy_column(out, start + column * side, blocked[unsigned(left + column)], low, side)
        _copy_column(out, start + column * side + layer, agent_grid[unsigned(left + column)], low, side)
    for k in range(start + 2 * layer, start + 3 * layer):
        out[unsigned(k)] = 0
    if not w.hooks.has_targets:
        return
    column = min(max(w.target[e, i, 0] - left + radius, 0), 2 * radius)
    row = min(max(w.target[e, i, 1] - low + radius, 0), 2 * radius)
    out[unsigned(start + 2 * layer + column * side + row)] = 1


@inlined
def _copy_column(out: Any, start: int, cells: Any, low: int, side: int) -> None:
    if side == 5:
        # All are read before one is written, for the compiler must assume that the arrays overlap.
        a, b, c = cells[unsigned(low)], cells[unsigned(low + 1)], cells[unsigned(low + 2)]
        d, e = cells[unsigned(low + 3)], cells[unsigned(low + 4)]
        out[unsigned(start)], out[unsigned(start + 1)], out[unsigned(start + 2)] = a, b, c
        out[unsigned(start + 3)], out[unsigned(start + 4)] = d, e
    else:
        for row in range(side):
            out[unsigned(start + row)] = cells[unsigned(low + row)]


@function
def _write_walls(out: Any, start: int, w: Arrays, e: int) -> None:
    components = w.components[w.map_index[e]]
    height = components.shape[1]
    for x in range(components.shape[0]):
        for y in range(height):
            out[start + x * height + y] = components[x, y] == WALL


@function
def _write_action_mask(out: Any, w: Arrays, e: int, i: int) -> None:
    moves = w.moves[w.map_index[e], w.location[e, i, 0], w.location[e, i, 1]]
    for action in range(out.shape[0]):
        out[action] = moves[action] != _EDGE and moves[action] != _WALL
        if action > _STAY_ACTION or not w.hooks.has_moves:
            out[action] = w.hooks.is_legal(w, e, i, action)


@function
def _write_messages(out: Any, start: int, w: Arrays, e: int) -> None:
    num_bits = w.messages.shape[2]
    for k in range(w.messages.shape[1] * num_bits):
        out[start + k] = w.messages[e, k // num_bits, k % num_bits]


@inlined
def _was_delayed(w: Arrays, e: int, i: int) -> int:
    return int(w.outcomes[e, i] == _DELAYED)


@inlined
def _delay_left(w: Arrays, e: int, i: int) -> int:
    return int(w.delay_left[e, i] - 1 if _was_delayed(w, e, i) else 0)


@function
def _write_flat(w: Arrays, e: int, i: int) -> None:
    out = w.flat[e, i]
    start = 0
    for k in range(w.written_parts.shape[0]):
        part = w.written_parts[k]
        end = start + w.flat_sizes[k]
        if part == _AGENT:
            _write_cell(out, start, w.location, e, i)
        elif part == _TARGET:
            _write_cell(out, start, w.target, e, i)
        elif part == _OTHERS:
            _write_others(out, start, w, e, i)
        elif part == _OFFSET:
            _write_offset(out, start, w, e, i)
            _scale_offset(out[start:end], w)
        elif part == _VIEW:
            _write_view(out, start, w, e, i)
        elif part == _WALLS:
            _write_walls(out, start, w, e)
        elif part == _MESSAGES:
            _write_messages(out, start, w, e)
        elif part >= len(_ARE_CELLS):
            w.hooks.write_own_flat(w, e, i, part - len(_ARE_CELLS), out[start:end])
        else:
            out[start] = _was_delayed(w, e, i) if part == _WAS_DELAYED else _delay_left(w, e, i)
        if part < len(_ARE_CELLS) and _ARE_CELLS[part]:
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
