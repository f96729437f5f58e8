"""How an episode of Minigrid begins."""

from __future__ import annotations

from multigrid.games.minigrid import _one_room as one
from multigrid.games.minigrid._grid import (
    AGENT,
    BALL,
    BOX,
    EMPTY,
    KEY,
    NUM_COLOURS,
    build_room,
    fill,
    place_agent,
    set_cell,
)
from multigrid.games.minigrid._rooms import make_multi_room, make_room_grid, place_agent_in_room
from multigrid.games.minigrid._tasks import Missions, Task
from multigrid.runtime.compiled import function, inlined

_DYNAMIC, _DOOR_KEY, _FOUR_ROOMS = int(Task.DYNAMIC_OBSTACLES), int(Task.DOOR_KEY), int(Task.FOUR_ROOMS)
_MULTI_ROOM, _CROSSING, _LAVA_GAP = int(Task.MULTI_ROOM), int(Task.CROSSING), int(Task.LAVA_GAP)
_DIST_SHIFT, _GO_TO_DOOR, _PUT_NEAR = int(Task.DIST_SHIFT), int(Task.GO_TO_DOOR), int(Task.PUT_NEAR)
_MEMORY, _RED_BLUE, _LOCKED_ROOM = int(Task.MEMORY), int(Task.RED_BLUE_DOORS), int(Task.LOCKED_ROOM)
_PLAYGROUND, _UNLOCK, _OWN = int(Task.PLAYGROUND), int(Task.UNLOCK), int(Missions.OWN)


@inlined
def _make_world(w, s, e):
    width, height, task = s.cells.shape[1], s.cells.shape[2], s.task
    fill(s, e, 0, 0, width, height, EMPTY, 0)
    build_room(s, e, 0, 0, width, height)
    if task >= _UNLOCK:
        make_room_grid(w, s, e, width, height)
    elif task <= _DYNAMIC:
        one.make_empty(w, s, e, width, height)
    elif task == _DOOR_KEY:
        one.make_door_key(w, s, e, width, height)
    elif task == _FOUR_ROOMS:
        one.make_four_rooms(w, s, e, width, height)
    elif task == _MULTI_ROOM:
        make_multi_room(w, s, e, width, height)
    elif task == _CROSSING:
        one.make_crossing(w, s, e, width, height)
    elif task == _LAVA_GAP:
        one.make_lava_gap(w, s, e, width, height)
    elif task == _DIST_SHIFT:
        one.make_dist_shift(w, s, e, width, height)
    elif task == _GO_TO_DOOR:
        one.make_go_to_door(w, s, e, width, height)
    elif task <= _PUT_NEAR:
        one.make_objects(w, s, e, width, height)
    elif task == _MEMORY:
        one.make_memory(w, s, e, width, height)
    elif task == _RED_BLUE:
        one.make_red_blue_doors(w, s, e, width, height)
    elif task == _LOCKED_ROOM:
        one.make_locked_room(w, s, e, width, height)
    else:
        one.make_playground(w, s, e, width, height)
    _add_agents(w, s, e)


@function
def _add_agents(w, s, e):
    """Place the agents after the first in its area, and let them draw missions or share its own."""
    left, top, width, height = s.area[e, 0], s.area[e, 1], s.area[e, 2], s.area[e, 3]
    for i in range(1, w.num_agents[e]):
        if s.task == _CROSSING:
            one.place_on_path(w, s, e, i)
        elif s.task >= _UNLOCK:
            place_agent_in_room(w, s, e, i, left, top, width, height)
        else:
            place_agent(w, s, e, i, left, top, width, height)
        if s.missions == _OWN and s.task == _GO_TO_DOOR:
            one.draw_door_mission(w, s, e, i)
        elif s.missions == _OWN:
            one.draw_object_mission(w, s, e, i)
        else:
            s.mission_number[e, i] = s.mission_number[e, 0]
            for k in range(s.aim.shape[2]):
                s.aim[e, i, k] = s.aim[e, 0, k]


@inlined
def begin_world(w, s, e):
    """Draw the world; agents whose cells are given by hand stand there, and their cells are emptied."""
    num_agents, by_hand = w.num_agents[e], not s.made[e]
    for i in range(num_agents):
        for axis in range(2):
            s.standing[e, i, axis], w.location[e, i, axis] = w.location[e, i, axis], -1
    s.made[e] = True
    _make_world(w, s, e)
    if by_hand:
        for i in range(num_agents):
            x, y = s.standing[e, i, 0], s.standing[e, i, 1]
            w.location[e, i, 0], w.location[e, i, 1] = x, y
            set_cell(s, e, x, y, EMPTY, 0, 0)
            s.inside[e, x, y] = 0


@function
def check(w, s, e):
    """Return whether the rules can go on from this state."""
    width, height = s.cells.shape[1], s.cells.shape[2]
    for x in range(width):
        for y in range(height):
            kind, colour, state = s.cells[e, x, y, 0], s.cells[e, x, y, 1], s.cells[e, x, y, 2]
            if kind == 0 or kind >= AGENT or colour >= NUM_COLOURS or state > 2 or s.inside[e, x, y] > NUM_COLOURS:
                return False
    for i in range(s.direction.shape[1]):
        kind, colour, inside = s.carried[e, i, 0], s.carried[e, i, 1], s.carried[e, i, 2]
        is_thing = kind == 0 or kind == KEY or kind == BALL or kind == BOX
        if not is_thing or colour >= NUM_COLOURS or inside > NUM_COLOURS or not 0 <= s.direction[e, i] < 4:
            return False
        if s.mission_number[e, i] < 0 or s.mission_number[e, i] >= s.num_missions[0]:
            return False
        for k in range(2):
            is_inside = 0 <= s.aim[e, i, 2 + 2 * k] < width and 0 <= s.aim[e, i, 3 + 2 * k] < height
            if not is_inside:
                return False
    for k in range(s.objects.shape[1]):
        if not (0 <= s.objects[e, k, 0] < width and 0 <= s.objects[e, k, 1] < height):
            return False
    return True
