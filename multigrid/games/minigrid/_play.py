"""A step of Minigrid: what an agent does, and what it is paid for."""

from __future__ import annotations

from multigrid.actions import Outcome
from multigrid.core.arrays import LEFT
from multigrid.core.draws import draw_float, draw_integer, shuffle
from multigrid.core.hooks import end_episode
from multigrid.games.minigrid._grid import (
    AHEAD,
    ANYWHERE,
    BALL,
    BLUE,
    BOX,
    CLOSED,
    COLOUR,
    DOOR,
    EMPTY,
    FLOOR,
    GOAL,
    KEY,
    LAVA,
    LOCKED,
    OPEN,
    STATE,
    TYPE,
    find_place,
    has_agent,
    is_inside,
    set_cell,
)
from multigrid.games.minigrid._one_room import MOST_MOVES
from multigrid.games.minigrid._tasks import Ends, Order, Task
from multigrid.runtime.compiled import function, inlined

TURN_LEFT, TURN_RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
_NUM_MOVES, _NUM_ACTIONS = 3, 7
_MOVED, _EDGE, _WALL, _OCCUPIED = int(Outcome.MOVED), int(Outcome.EDGE), int(Outcome.WALL), int(Outcome.OCCUPIED)
_RANDOM, _ANY = int(Order.RANDOM), int(Ends.ANY)
_GOES_ON, _FAILURE, _SUCCESS = range(3)
_DYNAMIC, _FETCH, _PUT_NEAR = int(Task.DYNAMIC_OBSTACLES), int(Task.FETCH), int(Task.PUT_NEAR)
_GO_TO_DOOR, _GO_TO_OBJECT = int(Task.GO_TO_DOOR), int(Task.GO_TO_OBJECT)
_MEMORY, _RED_BLUE, _UNLOCK = int(Task.MEMORY), int(Task.RED_BLUE_DOORS), int(Task.UNLOCK)


@inlined
def play(w, s, e):
    num_agents, order, ahead = w.num_agents[e], w.own_cell, w.requested
    for i in range(num_agents):
        order[i] = i
        if s.action_probability < 1.0 and w.status[e, i] != LEFT and draw_float(w, e) >= s.action_probability:
            w.actions[e, i] = draw_integer(w, e, 0, _NUM_MOVES if s.task == _DYNAMIC else _NUM_ACTIONS)
    if s.order == _RANDOM and num_agents > 1:
        shuffle(w, e, order[:num_agents])
    if s.task == _DYNAMIC:
        for i in range(num_agents):
            x, y = _look_ahead(w, s, e, i)
            ahead[i] = s.cells[e, x, y, TYPE] if is_inside(s, x, y) else EMPTY
        _move_obstacles(w, s, e)
    has_success, num_left = False, 0
    for k in range(num_agents):
        i = order[k]
        if w.status[e, i] == LEFT:
            continue
        result = _act(w, s, e, i)
        if s.task == _DYNAMIC and w.actions[e, i] == FORWARD and ahead[i] != EMPTY and ahead[i] != GOAL:
            result = _FAILURE
            w.rewards[e, i] = -1.0
        if result == _FAILURE and s.harmless[0] > 0:
            kind = ahead[i] if s.task == _DYNAMIC else s.cells[e, w.location[e, i, 0], w.location[e, i, 1], TYPE]
            if s.harmless[0] >> kind & 1:
                result = _GOES_ON
                w.rewards[e, i] += s.death_cost
        if result == _SUCCESS:
            w.rewards[e, i] = _find_reward(w, e)
            has_success = True
        if result == _GOES_ON:
            num_left += 1
        else:
            w.terminated[e, i] = True
            s.ended[e, i] = True
    if num_left == 0 or (has_success and s.ends == _ANY):
        end_episode(w, e)
    for i in range(num_agents):
        if has_success and s.pays_all and w.status[e, i] != LEFT:
            w.rewards[e, i] = _find_reward(w, e)
        if w.episode_over[e] and w.status[e, i] != LEFT:
            s.ended[e, i] = False
        elif w.terminated[e, i]:
            _put_down(w, s, e, i)


@inlined
def _find_reward(w, e):
    """Return what a success in this step pays."""
    return 1.0 - 0.9 * (w.steps[e] / w.max_cycles) if w.max_cycles > 0 else 1.0


@inlined
def _look_ahead(w, s, e, i):
    direction = s.direction[e, i]
    return w.location[e, i, 0] + AHEAD[direction, 0], w.location[e, i, 1] + AHEAD[direction, 1]


@function
def _move_obstacles(w, s, e):
    """Let each ball in turn move to an empty cell around it, if one is found."""
    for k in range(s.objects.shape[1]):
        before_x, before_y = s.objects[e, k, 0], s.objects[e, k, 1]
        x, y = find_place(w, s, e, before_x - 1, before_y - 1, 3, 3, ANYWHERE, MOST_MOVES)
        if x >= 0:
            set_cell(s, e, before_x, before_y, EMPTY, 0, 0)
            set_cell(s, e, x, y, BALL, BLUE, 0)
            s.objects[e, k, 0], s.objects[e, k, 1] = x, y


@function
def _put_down(w, s, e, i):
    """Leave what an agent that has ended carries in its cell, if that is empty."""
    x, y = w.location[e, i, 0], w.location[e, i, 1]
    if s.carried[e, i, TYPE] != 0 and s.cells[e, x, y, TYPE] == EMPTY and not has_agent(w, s, e, x, y):
        _drop(s, e, i, x, y)


@inlined
def _drop(s, e, i, x, y):
    set_cell(s, e, x, y, s.carried[e, i, TYPE], s.carried[e, i, COLOUR], 0)
    s.inside[e, x, y] = s.carried[e, i, 2]
    s.carried[e, i] = 0


@function
def _act(w, s, e, i):
    """Let an agent act; return whether it goes on, fails or succeeds."""
    action, task = w.actions[e, i], s.task
    if task == _MEMORY and action == PICK_UP:
        action = TOGGLE
    x, y = _look_ahead(w, s, e, i)
    had, result = s.carried[e, i, TYPE], _GOES_ON
    kind, state = EMPTY, 0
    inside = is_inside(s, x, y)
    if inside:
        kind, state = s.cells[e, x, y, TYPE], s.cells[e, x, y, STATE]
    if action == TURN_LEFT:
        s.direction[e, i] = (s.direction[e, i] + 3) % 4
    elif action == TURN_RIGHT:
        s.direction[e, i] = (s.direction[e, i] + 1) % 4
    elif action == FORWARD:
        is_open = kind == EMPTY or kind == GOAL or kind == FLOOR or kind == LAVA or (kind == DOOR and state == OPEN)
        if inside and is_open and (s.overlap or not has_agent(w, s, e, x, y)):
            w.location[e, i, 0], w.location[e, i, 1] = x, y
            w.outcomes[e, i] = _MOVED
            if kind == GOAL:
                result = _SUCCESS
            elif kind == LAVA:
                result = _FAILURE
        else:
            w.outcomes[e, i] = _EDGE if not inside else _OCCUPIED if is_open else _WALL
    elif action == PICK_UP:
        if (kind == KEY or kind == BALL or kind == BOX) and had == 0:
            s.carried[e, i, TYPE], s.carried[e, i, COLOUR] = kind, s.cells[e, x, y, COLOUR]
            s.carried[e, i, 2], s.inside[e, x, y] = s.inside[e, x, y], 0
            set_cell(s, e, x, y, EMPTY, 0, 0)
    elif action == DROP:
        if inside and kind == EMPTY and had != 0 and not has_agent(w, s, e, x, y):
            _drop(s, e, i, x, y)
    elif action == TOGGLE and kind == DOOR:
        has_key = had == KEY and s.carried[e, i, COLOUR] == s.cells[e, x, y, COLOUR]
        if state == CLOSED or (state == LOCKED and has_key):
            s.cells[e, x, y, STATE] = OPEN
        elif state == OPEN and not has_agent(w, s, e, x, y):
            s.cells[e, x, y, STATE] = CLOSED
    elif action == TOGGLE and kind == BOX:
        content = s.inside[e, x, y]
        s.inside[e, x, y] = 0
        if content > 0:
            set_cell(s, e, x, y, KEY, content - 1, 0)
        else:
            set_cell(s, e, x, y, EMPTY, 0, 0)
    if result == _GOES_ON and task >= _FETCH:
        result = _judge(w, s, e, i, action, had, kind, state, x, y)
    return result


@function
def _judge(w, s, e, i, action, had, kind, state, x, y):
    """Return whether an agent goes on, fails or succeeds by the rule of the task, after its action.

    Before it, the agent carried a thing of the type `had`, and `kind` and `state` were those of the cell x, y ahead.
    """
    task, aim = s.task, s.aim[e, i]
    x_now, y_now = w.location[e, i, 0], w.location[e, i, 1]
    has_aim = s.carried[e, i, TYPE] == aim[0] and s.carried[e, i, COLOUR] == aim[1]
    if task == _FETCH:
        if s.carried[e, i, TYPE] != 0:
            return _SUCCESS if has_aim else _FAILURE
    elif task == _GO_TO_DOOR or task == _GO_TO_OBJECT:
        if action == DONE:
            return _SUCCESS if abs(x_now - aim[2]) + abs(y_now - aim[3]) == 1 else _FAILURE
        if action == TOGGLE:
            return _FAILURE
    elif task == _PUT_NEAR:
        if action == PICK_UP and s.carried[e, i, TYPE] != 0 and not has_aim:
            return _FAILURE
        if action == DROP and had != 0:
            is_near = s.carried[e, i, TYPE] == 0 and abs(x - aim[2]) <= 1 and abs(y - aim[3]) <= 1
            return _SUCCESS if is_near else _FAILURE
    elif task == _MEMORY:
        if x_now == aim[2] and y_now == aim[3]:
            return _SUCCESS
        if x_now == aim[4] and y_now == aim[5]:
            return _FAILURE
    elif task == _RED_BLUE:
        has_opened = kind == DOOR and state != OPEN and s.cells[e, x, y, STATE] == OPEN
        if has_opened and x == aim[4] and y == aim[5]:
            return _SUCCESS if s.cells[e, aim[2], aim[3], STATE] == OPEN else _FAILURE
        if has_opened and x == aim[2] and y == aim[3] and s.cells[e, aim[4], aim[5], STATE] == OPEN:
            return _FAILURE
    elif task == _UNLOCK:
        if action == TOGGLE and s.cells[e, aim[2], aim[3], STATE] == OPEN:
            return _SUCCESS
    elif task > _UNLOCK and action == PICK_UP and has_aim:
        return _SUCCESS
    return _GOES_ON
