"""Tasks of Minigrid in one room, or in rooms whose places are known, in the order of their draws."""

from __future__ import annotations

from multigrid.core.draws import draw_integer, shuffle
from multigrid.games.minigrid._grid import (
    ANYWHERE,
    APART,
    BALL,
    BLUE,
    CLOSED,
    DOOR,
    EMPTY,
    GOAL,
    GREEN,
    GREY,
    KEY,
    LAVA,
    LOCKED,
    NUM_COLOURS,
    RED,
    WALL,
    YELLOW,
    aim_at,
    build_room,
    draw_colour,
    draw_other_colour,
    fill,
    find_place,
    number_thing,
    place_agent,
    place_thing,
    set_area,
    set_cell,
    start_agent,
)
from multigrid.games.minigrid._tasks import Task
from multigrid.runtime.compiled import function, inlined

_FETCH, _GO_TO_OBJECT, _PUT_NEAR = int(Task.FETCH), int(Task.GO_TO_OBJECT), int(Task.PUT_NEAR)
_DYNAMIC = int(Task.DYNAMIC_OBSTACLES)
MOST_MOVES = 100
"""One less than the number of cells that are drawn for an obstacle before it stays."""
_NUM_SYNTAXES = 5
_NUM_THINGS = 3 * NUM_COLOURS


@function
def make_empty(w, s, e, width, height):
    """Empty, or Dynamic-Obstacles: a goal in the corner, and the obstacles."""
    set_cell(s, e, width - 2, height - 2, GOAL, GREEN, 0)
    set_area(s, e, 0, 0, width, height)
    if s.random_start:
        place_agent(w, s, e, 0, 0, 0, width, height)
    else:
        start_agent(w, s, e, 1, 1)
    if s.task == _DYNAMIC:
        for k in range(s.objects.shape[1]):
            x, y = place_thing(w, s, e, 0, 0, width, height, ANYWHERE, BALL, BLUE)
            _note_object(s, e, k, BALL, BLUE, x, y)


@inlined
def _note_object(s, e, k, kind, colour, x, y):
    s.objects[e, k, 0], s.objects[e, k, 1], s.objects[e, k, 2], s.objects[e, k, 3] = x, y, kind, colour


@function
def make_door_key(w, s, e, width, height):
    set_cell(s, e, width - 2, height - 2, GOAL, GREEN, 0)
    split = draw_integer(w, e, 2, width - 2)
    fill(s, e, split, 0, 1, height, WALL, GREY)
    place_agent(w, s, e, 0, 0, 0, split, height)
    row = draw_integer(w, e, 1, height - 2)
    set_cell(s, e, split, row, DOOR, YELLOW, LOCKED)
    place_thing(w, s, e, 0, 0, split, height, ANYWHERE, KEY, YELLOW)


@function
def make_four_rooms(w, s, e, width, height):
    half_x, half_y = width // 2, height // 2
    for j in range(2):
        for i in range(2):
            left, top = i * half_x, j * half_y
            if i == 0:
                fill(s, e, half_x, top, 1, half_y, WALL, GREY)
                set_cell(s, e, half_x, draw_integer(w, e, top + 1, top + half_y), EMPTY, 0, 0)
            if j == 0:
                fill(s, e, left, half_y, half_x, 1, WALL, GREY)
                set_cell(s, e, draw_integer(w, e, left + 1, left + half_x), half_y, EMPTY, 0, 0)
    place_agent(w, s, e, 0, 0, 0, width, height)
    place_thing(w, s, e, 0, 0, width, height, ANYWHERE, GOAL, GREEN)


@function
def make_crossing(w, s, e, width, height):
    """Rivers of lava or walls, with openings along one path."""
    start_agent(w, s, e, 1, 1)
    set_cell(s, e, width - 2, height - 2, GOAL, GREEN, 0)
    num_vertical, num_rivers = (width - 3) // 2, s.count
    num_all = num_vertical + (height - 3) // 2
    rivers, columns, rows = _split_scratch(s, e, num_all)
    for k in range(num_all):
        rivers[k] = k
    shuffle(w, e, rivers)
    num_columns, num_rows = 0, 0
    columns[0], rows[0] = 0, 0
    kind, colour = (LAVA, RED) if s.lava else (WALL, GREY)
    for river in range(num_all):
        for k in range(num_rivers):
            if rivers[k] == river and river < num_vertical:
                num_columns += 1
                columns[num_columns] = 2 + 2 * river
                fill(s, e, columns[num_columns], 1, 1, height - 2, kind, colour)
            elif rivers[k] == river:
                num_rows += 1
                rows[num_rows] = 2 + 2 * (river - num_vertical)
                fill(s, e, 1, rows[num_rows], width - 2, 1, kind, colour)
    columns[num_columns + 1], rows[num_rows + 1] = width - 1, height - 1
    path = rivers[:num_rivers]
    for k in range(num_rivers):
        path[k] = int(k >= num_columns)
    shuffle(w, e, path)
    i, j = 0, 0
    for k in range(num_rivers):
        if path[k] == 0:
            x, y = columns[i + 1], draw_integer(w, e, rows[j] + 1, rows[j + 1])
            i += 1
        else:
            x, y = draw_integer(w, e, columns[i] + 1, columns[i + 1]), rows[j + 1]
            j += 1
        set_cell(s, e, x, y, EMPTY, 0, 0)


@inlined
def _split_scratch(s, e, num_all):
    """Return room for rivers in the order drawn, for the limits of the columns, and for those of the rows."""
    return s.scratch[e, :num_all], s.scratch[e, num_all : 3 * num_all], s.scratch[e, 3 * num_all :]


@function
def place_on_path(w, s, e, i):
    """Place an agent in one of the parts that the path of a crossing goes through, which is drawn first."""
    num_all = (s.cells.shape[1] - 3) // 2 + (s.cells.shape[2] - 3) // 2
    path, columns, rows = _split_scratch(s, e, num_all)
    x = -1
    while x < 0:
        column, row = 0, 0
        for k in range(draw_integer(w, e, 0, s.count + 1)):
            column, row = column + 1 - path[k], row + path[k]
        left, top = columns[column] + 1, rows[row] + 1
        width, height = columns[column + 1] - left, rows[row + 1] - top
        x, y = find_place(w, s, e, left, top, width, height, ANYWHERE, MOST_MOVES)
    w.location[e, i, 0], w.location[e, i, 1] = x, y
    s.direction[e, i] = draw_integer(w, e, 0, 4)


@function
def make_lava_gap(w, s, e, width, height):
    start_agent(w, s, e, 1, 1)
    set_cell(s, e, width - 2, height - 2, GOAL, GREEN, 0)
    x, y = draw_integer(w, e, 2, width - 2), draw_integer(w, e, 1, height - 1)
    fill(s, e, x, 1, 1, height - 2, LAVA, RED)
    set_cell(s, e, x, y, EMPTY, 0, 0)
    set_area(s, e, 1, 1, x - 1, height - 2)


@function
def make_dist_shift(w, s, e, width, height):
    start_agent(w, s, e, 1, 1)
    set_cell(s, e, width - 2, 1, GOAL, GREEN, 0)
    for row in (1, s.count):
        fill(s, e, 3, row, width - 6, 1, LAVA, RED)
    set_area(s, e, 1, 1, 2, height - 2)


@function
def make_objects(w, s, e, width, height):
    """Fetch, GoToObject, PutNear: objects, of which two are alike in Fetch alone; then agents, then what to do."""
    num_kinds = 2 if s.task == _FETCH else 3
    k = 0
    while k < s.objects.shape[1]:
        kind = KEY + draw_integer(w, e, 0, num_kinds)
        colour = draw_colour(w, e)
        if s.task != _FETCH and _has_object(s, e, k, kind, colour):
            continue
        where = APART if s.task == _PUT_NEAR else ANYWHERE
        x, y = place_thing(w, s, e, 0, 0, width, height, where, kind, colour)
        _note_object(s, e, k, kind, colour, x, y)
        k += 1
    place_agent(w, s, e, 0, 0, 0, width, height)
    draw_object_mission(w, s, e, 0)


@function
def _has_object(s, e, count, kind, colour):
    for k in range(count):
        if s.objects[e, k, 2] == kind and s.objects[e, k, 3] == colour:
            return True
    return False


@function
def draw_object_mission(w, s, e, i):
    """Draw which object agent i is after, and in PutNear beside which other one it has to be put."""
    count = s.objects.shape[1]
    first = draw_integer(w, e, 0, count)
    kind, colour = s.objects[e, first, 2], s.objects[e, first, 3]
    x, y = s.objects[e, first, 0], s.objects[e, first, 1]
    s.mission_number[e, i] = number_thing(kind, colour)
    if s.task == _FETCH:
        s.mission_number[e, i] = draw_integer(w, e, 0, _NUM_SYNTAXES) + _NUM_SYNTAXES * s.mission_number[e, i]
    elif s.task == _PUT_NEAR:
        other = draw_integer(w, e, 0, count)
        while other == first:
            other = draw_integer(w, e, 0, count)
        s.mission_number[e, i] += _NUM_THINGS * number_thing(s.objects[e, other, 2], s.objects[e, other, 3])
        x, y = s.objects[e, other, 0], s.objects[e, other, 1]
    aim_at(s, e, i, kind, colour, x, y)


@function
def make_go_to_door(w, s, e, width, height):
    """A room in the upper left corner, with a door of another colour in each wall."""
    fill(s, e, 0, 0, width, height, EMPTY, 0)
    width, height = draw_integer(w, e, 5, width + 1), draw_integer(w, e, 5, height + 1)
    build_room(s, e, 0, 0, width, height)
    _note_object(s, e, 0, DOOR, 0, draw_integer(w, e, 2, width - 2), 0)
    _note_object(s, e, 1, DOOR, 0, draw_integer(w, e, 2, width - 2), height - 1)
    _note_object(s, e, 2, DOOR, 0, 0, draw_integer(w, e, 2, height - 2))
    _note_object(s, e, 3, DOOR, 0, width - 1, draw_integer(w, e, 2, height - 2))
    k = 0
    while k < 4:
        colour = draw_colour(w, e)
        if not _has_object(s, e, k, DOOR, colour):
            s.objects[e, k, 3] = colour
            k += 1
    for k in range(4):
        set_cell(s, e, s.objects[e, k, 0], s.objects[e, k, 1], DOOR, s.objects[e, k, 3], CLOSED)
    place_agent(w, s, e, 0, 0, 0, width, height)
    draw_door_mission(w, s, e, 0)


@function
def draw_door_mission(w, s, e, i):
    k = draw_integer(w, e, 0, 4)
    s.mission_number[e, i] = s.objects[e, k, 3]
    aim_at(s, e, i, DOOR, s.objects[e, k, 3], s.objects[e, k, 0], s.objects[e, k, 1])


@function
def make_memory(w, s, e, width, height):
    """A room with an object, and a corridor to two objects, of which one matches."""
    middle, end = height // 2, width - 3
    if s.random_length:
        end = draw_integer(w, e, 4, width - 2)
    fill(s, e, 1, middle - 2, 4, 1, WALL, GREY)
    fill(s, e, 1, middle + 2, 4, 1, WALL, GREY)
    set_cell(s, e, 4, middle - 1, WALL, GREY, 0)
    set_cell(s, e, 4, middle + 1, WALL, GREY, 0)
    fill(s, e, 5, middle - 1, end - 5, 1, WALL, GREY)
    fill(s, e, 5, middle + 1, end - 5, 1, WALL, GREY)
    fill(s, e, end, 0, 1, height, WALL, GREY)
    set_cell(s, e, end, middle, EMPTY, 0, 0)
    fill(s, e, end + 2, 0, 1, height, WALL, GREY)
    start_agent(w, s, e, draw_integer(w, e, 1, end + 1), middle)
    set_area(s, e, 1, middle - 1, end, 3)
    kind = KEY + draw_integer(w, e, 0, 2)
    set_cell(s, e, 1, middle - 1, kind, GREEN, 0)
    upper = BALL - draw_integer(w, e, 0, 2)
    set_cell(s, e, end + 1, middle - 2, upper, GREEN, 0)
    set_cell(s, e, end + 1, middle + 2, KEY + BALL - upper, GREEN, 0)
    side = 1 if upper == kind else -1
    aim_at(s, e, 0, EMPTY, 0, end + 1, middle - side)
    s.aim[e, 0, 4], s.aim[e, 0, 5] = end + 1, middle + side


@function
def make_red_blue_doors(w, s, e, width, height):
    build_room(s, e, height // 2, 0, height, height)
    place_agent(w, s, e, 0, height // 2, 0, height, height)
    red, blue = height // 2, height // 2 + height - 1
    row = draw_integer(w, e, 1, height - 1)
    set_cell(s, e, red, row, DOOR, RED, CLOSED)
    aim_at(s, e, 0, DOOR, RED, red, row)
    row = draw_integer(w, e, 1, height - 1)
    set_cell(s, e, blue, row, DOOR, BLUE, CLOSED)
    s.aim[e, 0, 4], s.aim[e, 0, 5] = blue, row


@function
def make_locked_room(w, s, e, width, height):
    """Six rooms beside a corridor, of which one is locked, and another has its key."""
    left_wall, right_wall, side = width // 2 - 2, width // 2 + 2, height // 3
    fill(s, e, left_wall, 0, 1, height, WALL, GREY)
    fill(s, e, right_wall, 0, 1, height, WALL, GREY)
    for n in range(3):
        fill(s, e, 0, n * side, left_wall, 1, WALL, GREY)
        fill(s, e, right_wall, n * side, width - right_wall, 1, WALL, GREY)
    locked = draw_integer(w, e, 0, 6)
    x, y = _draw_cell_of_room(w, e, locked, left_wall, right_wall, side)
    set_cell(s, e, x, y, GOAL, GREEN, 0)
    taken = 0
    for room in range(6):
        colour = draw_other_colour(w, e, taken)
        taken |= 1 << colour
        s.scratch[e, room] = colour
        column = left_wall if room % 2 == 0 else right_wall
        set_cell(s, e, column, room // 2 * side + 3, DOOR, colour, LOCKED if room == locked else CLOSED)
    with_key = draw_integer(w, e, 0, 6)
    while with_key == locked:
        with_key = draw_integer(w, e, 0, 6)
    x, y = _draw_cell_of_room(w, e, with_key, left_wall, right_wall, side)
    set_cell(s, e, x, y, KEY, s.scratch[e, locked], 0)
    place_agent(w, s, e, 0, left_wall, 0, right_wall - left_wall, height)
    s.mission_number[e, 0] = s.scratch[e, locked] + NUM_COLOURS * s.scratch[e, with_key]


@function
def _draw_cell_of_room(w, e, room, left_wall, right_wall, side):
    left, top = 0 if room % 2 == 0 else right_wall, room // 2 * side
    x = draw_integer(w, e, left + 1, left + left_wall)
    return x, draw_integer(w, e, top + 1, top + side)


@function
def make_playground(w, s, e, width, height):
    room_width, room_height = width // 3, height // 3
    for j in range(3):
        for i in range(3):
            left, top = i * room_width, j * room_height
            if i < 2:
                x = left + room_width
                fill(s, e, x, top, 1, room_height, WALL, GREY)
                y = draw_integer(w, e, top + 1, top + room_height - 1)
                set_cell(s, e, x, y, DOOR, draw_colour(w, e), CLOSED)
            if j < 2:
                y = top + room_height
                fill(s, e, left, y, room_width, 1, WALL, GREY)
                x = draw_integer(w, e, left + 1, left + room_width - 1)
                set_cell(s, e, x, y, DOOR, draw_colour(w, e), CLOSED)
    place_agent(w, s, e, 0, 0, 0, width, height)
    for _ in range(12):
        kind = KEY + draw_integer(w, e, 0, 3)
        place_thing(w, s, e, 0, 0, width, height, ANYWHERE, kind, draw_colour(w, e))
