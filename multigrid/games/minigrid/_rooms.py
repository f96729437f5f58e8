"""Tasks of Minigrid in chains of rooms, and in grids of rooms, in the order of their draws."""

from __future__ import annotations

from multigrid.core.draws import draw_integer
from multigrid.games.minigrid._grid import (
    AHEAD,
    ANYWHERE,
    AWAY,
    BALL,
    BLUE,
    BOX,
    CLOSED,
    DOOR,
    DOWN,
    EMPTY,
    GOAL,
    GREEN,
    GREY,
    KEY,
    LOCKED,
    RIGHT,
    TYPE,
    UP,
    WALL,
    WEST,
    aim_at,
    build_room,
    draw_colour,
    draw_other_colour,
    fill,
    place_agent,
    place_thing,
    set_area,
    set_cell,
    start_agent,
)
from multigrid.games.minigrid._tasks import Task
from multigrid.runtime.compiled import function, inlined

_UNLOCK, _UNLOCK_PICKUP, _BLOCKED = int(Task.UNLOCK), int(Task.UNLOCK_PICKUP), int(Task.BLOCKED_UNLOCK_PICKUP)
_KEY_CORRIDOR, _MAZE_1D = int(Task.KEY_CORRIDOR), int(Task.OBSTRUCTED_MAZE_1D)
_SMALLEST_ROOM, _MOST_EXITS = 4, 8
_MOST_STARTS = 2**20
# What is in the wall between two rooms.
_CLOSED_WALL, _OPENED = range(2)
_RIGHT_GAP, _LOWER_GAP, _RIGHT_OPENED, _LOWER_OPENED, _IS_LOCKED = range(5)
# The rooms in the corners of the mazes.
_CORNERS = ((2, 0), (2, 2), (0, 2), (0, 0))


@function
def make_multi_room(w, s, e, width, height):
    """Draw chains of rooms until one is long enough; then build its rooms, with a door at each entry."""
    fill(s, e, 0, 0, width, height, EMPTY, 0)
    rooms, number = s.rooms[e], s.rooms.shape[1]
    count = 0
    while count < number:
        count = _draw_chain(w, rooms, e, s.room_size, width, height)
    before = -1
    for k in range(number):
        build_room(s, e, rooms[k, 0], rooms[k, 1], rooms[k, 2], rooms[k, 3])
        if k > 0:
            before = draw_other_colour(w, e, 0 if before < 0 else 1 << before)
            set_cell(s, e, rooms[k, 4], rooms[k, 5], DOOR, before, CLOSED)
    last = number - 1
    place_agent(w, s, e, 0, rooms[0, 0], rooms[0, 1], rooms[0, 2], rooms[0, 3])
    place_thing(w, s, e, rooms[last, 0], rooms[last, 1], rooms[last, 2], rooms[last, 3], ANYWHERE, GOAL, GREEN)


@function
def _draw_chain(w, rooms, e, most, width, height):
    """Draw rooms, each a row of left, top, width, height and the cell of its entry; return how many fit."""
    x = draw_integer(w, e, 0, width - 2)
    y = draw_integer(w, e, 0, width - 2)
    entry_wall = WEST
    is_growing = _fits(w, rooms, e, 0, most, entry_wall, x, y, width, height)
    count = int(is_growing)
    while is_growing and count < rooms.shape[0]:
        is_growing = False
        left, top, columns, rows = rooms[count - 1, 0], rooms[count - 1, 1], rooms[count - 1, 2], rooms[count - 1, 3]
        for _ in range(_MOST_EXITS):
            exit_wall = draw_integer(w, e, 0, 3)
            exit_wall += int(exit_wall >= entry_wall)
            if exit_wall == RIGHT or exit_wall == WEST:
                x = left if exit_wall == WEST else left + columns - 1
                y = top + draw_integer(w, e, 1, rows - 1)
            else:
                x = left + draw_integer(w, e, 1, columns - 1)
                y = top if exit_wall == UP else top + rows - 1
            if _fits(w, rooms, e, count, most, (exit_wall + 2) % 4, x, y, width, height):
                entry_wall = (exit_wall + 2) % 4
                count += 1
                is_growing = True
                break
    return count


@function
def _fits(w, rooms, e, count, most, entry_wall, x, y, width, height):
    """Draw a room with an entry in one of its walls, and return whether it fits beside the earlier ones."""
    columns = draw_integer(w, e, _SMALLEST_ROOM, most + 1)
    rows = draw_integer(w, e, _SMALLEST_ROOM, most + 1)
    left, top = x, y
    if count == 0:
        pass
    elif entry_wall == RIGHT or entry_wall == WEST:
        left = x if entry_wall == WEST else x - columns + 1
        top = draw_integer(w, e, y - rows + 2, y)
    else:
        left = draw_integer(w, e, x - columns + 2, x)
        top = y if entry_wall == UP else y - rows + 1
    if left < 0 or top < 0 or left + columns > width or top + rows >= height:
        return False
    for k in range(count - 1):
        is_apart = left + columns < rooms[k, 0] or rooms[k, 0] + rooms[k, 2] <= left
        if not is_apart and not (top + rows < rooms[k, 1] or rooms[k, 1] + rooms[k, 3] <= top):
            return False
    rooms[count, 0], rooms[count, 1], rooms[count, 2], rooms[count, 3] = left, top, columns, rows
    rooms[count, 4], rooms[count, 5] = x, y
    return True


@inlined
def _find_room(s, i, j):
    """Return the left and the upper wall of a room of a grid of rooms."""
    return i * (s.room_size - 1), j * (s.room_size - 1)


@function
def make_room_grid(w, s, e, width, height):
    """Build the walls of a grid of rooms, draw the places of doors, and make the task."""
    size, num_columns, num_rows = s.room_size, _count_columns(s), _count_rows(s)
    for j in range(num_rows):
        for i in range(num_columns):
            left, top = _find_room(s, i, j)
            build_room(s, e, left, top, size, size)
            room = s.rooms[e, j * num_columns + i]
            room[:] = 0
            if i < num_columns - 1:
                room[_RIGHT_GAP] = draw_integer(w, e, top + 1, top + size - 1)
            if j < num_rows - 1:
                room[_LOWER_GAP] = draw_integer(w, e, left + 1, left + size - 1)
    middle_x, middle_y = _find_room(s, num_columns // 2, num_rows // 2)
    start_agent(w, s, e, middle_x + size // 2, middle_y + size // 2)
    if s.task <= _BLOCKED:
        _make_unlock(w, s, e)
    elif s.task == _KEY_CORRIDOR:
        _make_key_corridor(w, s, e, num_rows)
    elif s.task == _MAZE_1D:
        _make_short_maze(w, s, e)
    else:
        _make_maze(w, s, e)


@inlined
def _count_columns(s):
    return (s.cells.shape[1] - 1) // (s.room_size - 1)


@inlined
def _count_rows(s):
    return (s.cells.shape[2] - 1) // (s.room_size - 1)


@function
def _find_neighbour(s, i, j, side):
    """Return the room on a side of one, the room of the two in whose row `s.rooms` has the gap, and if there is one."""
    to_i, to_j = i + AHEAD[side, 0], j + AHEAD[side, 1]
    is_there = 0 <= to_i < _count_columns(s) and 0 <= to_j < _count_rows(s)
    num_columns = _count_columns(s)
    return to_j * num_columns + to_i, min(to_j * num_columns + to_i, j * num_columns + i), is_there


@function
def _build_door(s, e, i, j, side, kind, colour, state):
    """Put a door, or nothing, into the gap on a side of a room; return its cell."""
    _, owner, _ = _find_neighbour(s, i, j, side)
    left, top = _find_room(s, i, j)
    is_across = side == RIGHT or side == WEST
    if is_across:
        x, y = left + (s.room_size - 1) * int(side == RIGHT), s.rooms[e, owner, _RIGHT_GAP]
    else:
        x, y = s.rooms[e, owner, _LOWER_GAP], top + (s.room_size - 1) * int(side == DOWN)
    s.rooms[e, owner, _RIGHT_OPENED if is_across else _LOWER_OPENED] = _OPENED
    s.rooms[e, j * _count_columns(s) + i, _IS_LOCKED] = int(state == LOCKED)
    set_cell(s, e, x, y, DOOR, colour, state)
    return x, y


@function
def _place_in_room(w, s, e, i, j, kind, colour):
    left, top = _find_room(s, i, j)
    return place_thing(w, s, e, left, top, s.room_size, s.room_size, AWAY, kind, colour)


@function
def place_agent_in_room(w, s, e, agent, left, top, width, height):
    """Place an agent in a room until nothing but a wall is ahead of it."""
    for _ in range(_MOST_STARTS):
        place_agent(w, s, e, agent, left, top, width, height)
        x = w.location[e, agent, 0] + AHEAD[s.direction[e, agent], 0]
        y = w.location[e, agent, 1] + AHEAD[s.direction[e, agent], 1]
        if s.cells[e, x, y, TYPE] == EMPTY or s.cells[e, x, y, TYPE] == WALL:
            return


@inlined
def _let_agent_begin(w, s, e, i, j):
    left, top = _find_room(s, i, j)
    place_agent_in_room(w, s, e, 0, left, top, s.room_size, s.room_size)


@function
def _make_unlock(w, s, e):
    """Unlock, UnlockPickup and BlockedUnlockPickup."""
    if s.task != _UNLOCK:
        colour = draw_colour(w, e)
        _place_in_room(w, s, e, 1, 0, BOX, colour)
        s.mission_number[e, 0] = colour
        aim_at(s, e, 0, BOX, colour, 0, 0)
    colour = draw_colour(w, e)
    x, y = _build_door(s, e, 0, 0, RIGHT, DOOR, colour, LOCKED)
    if s.task == _UNLOCK:
        aim_at(s, e, 0, DOOR, colour, x, y)
    if s.task == _BLOCKED:
        set_cell(s, e, x - 1, y, BALL, draw_colour(w, e), 0)
    _place_in_room(w, s, e, 0, 0, KEY, colour)
    _let_agent_begin(w, s, e, 0, 0)


@function
def _make_key_corridor(w, s, e, num_rows):
    """A corridor with rooms on both sides: a locked one with a ball, and one with its key."""
    for j in range(num_rows - 1):
        left, top = _find_room(s, 1, j)
        fill(s, e, left + 1, top + s.room_size - 1, s.room_size - 2, 1, EMPTY, 0)
        s.rooms[e, j * 3 + 1, _LOWER_OPENED] = _OPENED
    row = draw_integer(w, e, 0, num_rows)
    door_colour = draw_colour(w, e)
    _build_door(s, e, 2, row, WEST, DOOR, door_colour, LOCKED)
    colour = draw_colour(w, e)
    _place_in_room(w, s, e, 2, row, BALL, colour)
    s.mission_number[e, 0] = colour
    aim_at(s, e, 0, BALL, colour, 0, 0)
    _place_in_room(w, s, e, 0, draw_integer(w, e, 0, num_rows), KEY, door_colour)
    _let_agent_begin(w, s, e, 1, num_rows // 2)
    set_area(s, e, s.room_size - 1, 0, s.room_size, s.cells.shape[2])
    while not _is_connected(s, e, 3 * (num_rows // 2) + 1, 3, num_rows):
        i = draw_integer(w, e, 0, 3)
        j = draw_integer(w, e, 0, num_rows)
        side = draw_integer(w, e, 0, 4)
        neighbour, owner, is_there = _find_neighbour(s, i, j, side)
        if not is_there:
            continue
        way = _RIGHT_OPENED if side == RIGHT or side == WEST else _LOWER_OPENED
        is_locked = s.rooms[e, 3 * j + i, _IS_LOCKED] or s.rooms[e, neighbour, _IS_LOCKED]
        if s.rooms[e, owner, way] == _CLOSED_WALL and not is_locked:
            _build_door(s, e, i, j, side, DOOR, draw_colour(w, e), CLOSED)


@function
def _is_connected(s, e, start, num_columns, num_rows):
    """Return whether every room can be reached from one, through doors of any state."""
    reached, before = 1 << start, 0
    while reached != before:
        before = reached
        for room in range(num_columns * num_rows):
            for way in range(2):
                other = room + (1 if way == 0 else num_columns)
                if s.rooms[e, room, _RIGHT_OPENED + way] == _OPENED and (reached >> room | reached >> other) & 1:
                    reached |= 1 << room | 1 << other
    return reached == (1 << num_columns * num_rows) - 1


@function
def _draw_six_colours(w, s, e):
    taken = 0
    for k in range(6):
        s.scratch[e, k] = draw_other_colour(w, e, taken)
        taken |= 1 << s.scratch[e, k]


@function
def _build_blocked_door(s, e, i, j, side, colour):
    """A locked door, before which a ball may lie in the room."""
    x, y = _build_door(s, e, i, j, side, DOOR, colour, LOCKED)
    if s.blocked:
        set_cell(s, e, x - AHEAD[side, 0], y - AHEAD[side, 1], BALL, GREEN, 0)
        s.inside[e, x - AHEAD[side, 0], y - AHEAD[side, 1]] = 0


@function
def _place_key(w, s, e, i, j, colour):
    """A key in a room, which may be in a box."""
    if s.in_box:
        x, y = _place_in_room(w, s, e, i, j, BOX, GREY)
        s.inside[e, x, y] = 1 + colour
    else:
        _place_in_room(w, s, e, i, j, KEY, colour)


@function
def _make_short_maze(w, s, e):
    _draw_six_colours(w, s, e)
    _build_blocked_door(s, e, 0, 0, RIGHT, s.scratch[e, 0])
    _place_key(w, s, e, 0, 0, s.scratch[e, 0])
    _hide_ball(w, s, e, 1, 0)
    _let_agent_begin(w, s, e, 0, 0)


@function
def _hide_ball(w, s, e, i, j):
    _place_in_room(w, s, e, i, j, BALL, BLUE)
    aim_at(s, e, 0, BALL, BLUE, 0, 0)


@function
def _make_maze(w, s, e):
    """A middle room, from which doors lead to side rooms, and locked ones from these to the corners."""
    _draw_six_colours(w, s, e)
    for side in range(s.count):
        i, j = 1 + AHEAD[side, 0], 1 + AHEAD[side, 1]
        _build_door(s, e, 1, 1, side, DOOR, s.scratch[e, side], CLOSED)
        for k in (-1, 1):
            _build_blocked_door(s, e, i, j, (side + k) % 4, s.scratch[e, (side + k) % 6])
            if not s.keys_last:
                _place_key(w, s, e, i, j, s.scratch[e, (side + k) % 6])
        if s.keys_last:
            for k in (-1, 1):
                _place_key(w, s, e, i, j, s.scratch[e, (side + k) % 6])
    i, j = _CORNERS[draw_integer(w, e, 0, s.count)]
    _hide_ball(w, s, e, i, j)
    _let_agent_begin(w, s, e, s.start_column, 1)
