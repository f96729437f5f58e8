"""Guards around a game's functions, which the rules call as hooks; ``w.hooks.user_NAME`` is the function.

No exception leaves a guard, for other threads would wait for ever, and no agent is outside the grid afterwards, for
kernels do not check what they read; `Arrays.failed` says what was prevented. Beside the functions, a game's hooks are

- ``own(w)``, the game's own arrays and options, and ``clear_world(s, e)`` and ``copy_world(s, e, given, k)`` for these;
- ``idle``, the number of the action of a delayed agent;
- ``fail``, the function of that name below, or one that keeps the exception, too, where Python runs it;
- ``moving``, the number of the function that may move agents, for `Arrays.failed`.
"""

from __future__ import annotations

from typing import Any

from multigrid.actions import Outcome
from multigrid.core import drawn_maps, rules
from multigrid.core.arrays import (
    AUTORESET,
    COLLISIONS,
    LEFT,
    NOBODY,
    NUM_ACTIONS,
    ON_TARGET,
    PARKED,
    TRAVELLING,
    Arrays,
    unpack,
)
from multigrid.core.delays import draw_delays, has_delays, note_delays
from multigrid.core.invariants import REFUSED, SOUND, check_list_cells
from multigrid.core.placement import set_lists
from multigrid.core.rules import NONE, distance, reset_world, step_agents
from multigrid.game import HOOKS
from multigrid.maps._cells import WALL as WALL_CELL
from multigrid.runtime.compiled import inlined, kernel, signed, unsigned

RAISED, MISPLACED = range(2)
"""Why a function has failed: it has raised an exception, or left an agent or a target where none can be."""
NUM_KINDS, MOST_FUNCTIONS = 2, 2**8

_BEGIN, _PLACE, _STEP, _MAY_ENTER, _REQUEST, _RESOLVE, _AFTER_MOVES, _PAINT, _LEGAL, _ = range(len(HOOKS))

_MOVED, _STAYED, _EDGE, _WALL = int(Outcome.MOVED), int(Outcome.STAYED), int(Outcome.EDGE), int(Outcome.WALL)
_PARKED = int(Outcome.PARKED)


@inlined
def fail(w: Arrays, e: int, number: int, kind: int) -> None:
    """Note that a function has failed, by its number, an index of `multigrid.game.Description.names`."""
    if w.failed[0] == 0:
        w.failed[0] = 1 + (e * MOST_FUNCTIONS + number) * NUM_KINDS + kind


@inlined
def _is_place(w: Arrays, e: int, x: int, y: int) -> int:
    """Return 1 for a cell of the grid from which an agent can move: the next target of others would be drawn for ever.

    Without a branch, for almost every cell is one.
    """
    m, components = unsigned(w.map_index[e]), w.components
    inside = int(x >= 0) & int(y >= 0) & int(x < components.shape[1]) & int(y < components.shape[2])
    component = components[m, unsigned(inside * x), unsigned(inside * y)]
    return inside & int(component != WALL_CELL) & int(w.component_sizes[m, unsigned(component)] > 1)


@inlined
def _check_places(w: Arrays, e: int, number: int) -> None:
    """Check that all agents are in places, and their targets inside the grid; else put them into its corner.

    What a game has written for agents that take no part in the episode is undone.
    """
    location, target = w.location[e], w.target[e]
    width, height = w.components.shape[1], w.components.shape[2]
    num_places, num_agents = 0, w.num_agents[e]
    for i in range(num_agents, location.shape[0]):
        w.outcomes[e, i] = _STAYED
        for axis in range(2):
            location[i, axis], target[i, axis] = 0, 0
    for i in range(num_agents):
        inside = 1
        if w.hooks.has_targets:
            x, y = target[i, 0], target[i, 1]
            inside = int(x >= 0) & int(y >= 0) & int(x < width) & int(y < height)
        num_places += inside & _is_place(w, e, location[i, 0], location[i, 1])
    if num_places < num_agents:
        location[...] = 0
        target[...] = 0
        w.hooks.fail(w, e, number, MISPLACED)


@kernel
def play_worlds(address_table: Any, first: int, last: int) -> None:
    """Do as `rules.play_worlds`, without a loop of its own for one agent, which takes seconds to compile."""
    w = unpack(address_table)
    num_agents = w.location.shape[1]
    for world in range(first, last):
        e = unsigned(world)
        if w.settings[AUTORESET] and w.episode_over[e]:
            reset_world(w, e)
        else:
            step_agents(w, e, num_agents)


@inlined
def _clear_own(w: Arrays, e: int) -> None:
    w.hooks.clear_world(w.hooks.own(w), e)
    for i in range(w.actions.shape[1]):
        w.actions[e, i] = 0
        w.distances[e, i] = 0.0
        if not w.hooks.has_targets:
            w.target[e, i, 0], w.target[e, i, 1] = 0, 0


@inlined
def _begin_own(w: Arrays, e: int) -> None:
    try:
        w.hooks.user_begin(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _BEGIN, RAISED)
    _check_places(w, e, _BEGIN)
    for i in range(w.location.shape[1]):
        w.distances[e, i] = distance(w, e, i)


@inlined
def _restore_own(w: Arrays, e: int, given: Arrays, k: int) -> None:
    w.hooks.copy_world(w.hooks.own(w), e, w.hooks.own(given), k)
    for i in range(w.actions.shape[1]):
        # A game must not find a message in an action.
        is_action = given.status[k, i] != LEFT and given.actions[k, i] < w.moves.shape[3]
        w.actions[e, i] = given.actions[k, i] if is_action else 0


@inlined
def _place_own(w: Arrays, e: int) -> None:
    set_lists(w, e, w.layout_lists, w.map_index[e])
    for i in range(w.location.shape[1]):
        w.status[e, i] = TRAVELLING if i < w.num_agents[e] else LEFT
        w.location[e, i, 0], w.location[e, i, 1] = NOBODY, NOBODY
        if w.hooks.has_targets:
            w.target[e, i, 0], w.target[e, i, 1] = NOBODY, NOBODY
    try:
        w.hooks.user_place(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _PLACE, RAISED)
    _check_places(w, e, _PLACE)
    height, occupant = w.components.shape[2], w.occupant
    for i in range(w.num_agents[e]):
        x, y = w.location[e, i, 0], w.location[e, i, 1]
        if occupant[x * height + y] != NOBODY and w.settings[COLLISIONS] != NONE:
            w.hooks.fail(w, e, _PLACE, MISPLACED)
        occupant[x * height + y] = i
    for i in range(w.num_agents[e]):
        occupant[w.location[e, i, 0] * height + w.location[e, i, 1]] = NOBODY


@inlined
def _begin_from_level(w: Arrays, e: int) -> None:
    """Begin an episode with the State of its level; if it has none, by the game's own function."""
    if w.next_own[e]:
        w.hooks.take_next(w.hooks.own(w), e, w.hooks.own(w), e)
        w.next_own[e] = False
    else:
        w.hooks.begin_own(w, e)


@inlined
def _keep_beginning_own(w: Arrays, e: int) -> None:
    drawn_maps.keep_beginning(w, e)
    w.hooks.keep_first(w.hooks.own(w), e, w.hooks.own(w), e)


@inlined
def _forget_departed(w: Arrays, e: int) -> None:
    """Set the actions of agents that have left, which nobody has checked, to 0."""
    for i in range(w.location.shape[1]):
        if w.status[e, i] == LEFT:
            w.actions[e, i] = 0


@inlined
def _begin_step_with_delays(w: Arrays, e: int) -> None:
    _forget_departed(w, e)
    if draw_delays(w, e, w.location.shape[1]):
        for i in range(w.location.shape[1]):
            if w.delay_left[e, i] > 0 and w.status[e, i] == TRAVELLING:
                w.actions[e, i] = w.hooks.idle


@inlined
def _step_own(w: Arrays, e: int, num_agents: int) -> int:
    num_present = 0
    w.num_ended[e] = 0
    w.episode_over[e] = False
    for i in range(num_agents):
        num_present += int(w.status[e, i] != LEFT)
        w.rewards[e, i], w.arrived[e, i], w.outcomes[e, i] = 0.0, 0, _STAYED
        w.terminated[e, i], w.truncated[e, i] = False, False
    try:
        w.hooks.user_step(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _STEP, RAISED)
    _check_places(w, e, _STEP)
    return num_present


@inlined
def _request_own(w: Arrays, e: int, num_agents: int) -> None:
    width, height = w.components.shape[1], w.components.shape[2]
    for i in range(num_agents):
        x, y = w.location[e, i, 0], w.location[e, i, 1]
        cell = x * height + y
        w.own_cell[i], w.requested[i] = cell, cell
        w.outcomes[e, i] = _PARKED if w.status[e, i] == PARKED else _STAYED
        if w.status[e, i] != TRAVELLING:
            continue
        to_x, to_y = x, y
        try:
            to_x, to_y = w.hooks.user_request(w, w.hooks.own(w), signed(e), i)
        except Exception:  # noqa: BLE001
            w.hooks.fail(w, e, _REQUEST, RAISED)
        if to_x == x and to_y == y:
            continue
        if to_x < 0 or to_y < 0 or to_x >= width or to_y >= height:
            w.outcomes[e, i] = _EDGE
        elif w.components[w.map_index[e], to_x, to_y] == WALL_CELL or not w.hooks.may_enter(w, e, i, to_x, to_y):
            w.outcomes[e, i] = _WALL
        else:
            w.outcomes[e, i], w.requested[i] = _MOVED, to_x * height + to_y


@inlined
def _skip(w: Arrays, e: int, num_agents: int) -> None:
    """Do nothing: in place of `rules.ask_game`, for `_request_own` has asked, and of `delays.hold_up`."""


@inlined
def _skip_delays(w: Arrays, e: int) -> None:
    """Do nothing, in place of what else concerns delays, which takes a second to compile."""


@inlined
def _note_delays(w: Arrays, e: int) -> None:
    note_delays(w, e, w.location.shape[1])


@inlined
def _move_to_requested(w: Arrays, e: int, num_agents: int) -> None:
    height = w.components.shape[2]
    for i in range(num_agents):
        if w.outcomes[e, i] == _MOVED and w.status[e, i] == TRAVELLING:
            w.location[e, i, 0], w.location[e, i, 1] = w.requested[i] // height, w.requested[i] % height


@inlined
def _may_enter_own(w: Arrays, e: int, i: int, x: int, y: int) -> bool:
    may = False
    try:
        may = w.hooks.user_may_enter(w, w.hooks.own(w), signed(e), i, x, y)
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _MAY_ENTER, RAISED)
    return may


@inlined
def _resolve_own(w: Arrays, e: int, num_agents: int) -> None:
    try:
        w.hooks.user_resolve(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _RESOLVE, RAISED)
    num_cells = w.components.shape[1] * w.components.shape[2]
    for i in range(num_agents):
        is_lawful = w.status[e, i] == TRAVELLING and w.requested[i] >= 0 and w.requested[i] < num_cells
        if w.outcomes[e, i] == _MOVED and not is_lawful:
            w.outcomes[e, i] = _STAYED
            w.hooks.fail(w, e, _RESOLVE, MISPLACED)


@inlined
def _after_moves_own(w: Arrays, e: int) -> None:
    w.hooks.note_delays(w, e)
    try:
        w.hooks.user_after_moves(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _AFTER_MOVES, RAISED)
    _settle(w, e, _AFTER_MOVES)


@inlined
def _settle_own(w: Arrays, e: int) -> None:
    w.hooks.note_delays(w, e)
    _settle(w, e, w.hooks.moving)


@inlined
def _settle(w: Arrays, e: int, number: int) -> None:
    """Let the agents leave that a game has terminated; the episode is over when nobody is left."""
    _check_places(w, e, number)
    location, target, status, distances = w.location[e], w.target[e], w.status[e], w.distances[e]
    num_agents, num_ended, num_left = location.shape[0], 0, 0
    for i in range(num_agents):
        num_left += int(status[i] == LEFT)
        num_ended += int(w.terminated[e, i])
        if w.hooks.has_targets and status[i] != LEFT:
            distances[i] = abs(location[i, 0] - target[i, 0]) + abs(location[i, 1] - target[i, 1])
    if num_left + num_ended > 0 or w.episode_over[e]:
        num_ended = 0
        for i in range(num_agents):
            has_just_arrived = w.settings[ON_TARGET] == rules.LEAVE and w.arrival_step[e, i] == w.steps[e]
            if status[i] == LEFT and not has_just_arrived:
                w.terminated[e, i], w.rewards[e, i] = False, 0.0
            elif w.terminated[e, i] or w.episode_over[e] or status[i] == LEFT:
                w.terminated[e, i] = True
                num_ended += 1
                if not w.episode_over[e] and status[i] != LEFT:
                    status[i] = LEFT
                    num_left += 1
    w.num_ended[e] = num_ended
    w.episode_over[e] = w.episode_over[e] or num_left == num_agents


@inlined
def _is_legal_own(w: Arrays, e: int, i: int, action: int) -> bool:
    is_legal = False
    try:
        is_legal = w.hooks.user_legal(w, w.hooks.own(w), signed(e), i, action)
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _LEGAL, RAISED)
    return is_legal


@inlined
def _paint_own(w: Arrays, e: int, i: int, x: int, y: int) -> int:
    colour = -1
    try:
        colour = w.hooks.user_paint(w, w.hooks.own(w), signed(e), i, x, y)
    except Exception:  # noqa: BLE001
        w.hooks.fail(w, e, _PAINT, RAISED)
    return colour


@inlined
def _check_memory(w: Arrays, e: int) -> int:
    """Return `REFUSED` for actions that no agent has, or what is wrong with lists of targets."""
    for i in range(w.actions.shape[1]):
        is_bad = w.actions[e, i] < 0 or w.actions[e, i] >= w.settings[NUM_ACTIONS]
        # A delayed agent stays, whether or not it could choose to.
        is_idle = has_delays(w) and w.actions[e, i] == w.hooks.idle
        if is_bad and w.status[e, i] != LEFT and not is_idle:
            return REFUSED
    return int(check_list_cells(w, e)) if w.list_lengths.shape[0] > 0 else SOUND


@inlined
def _check_own(w: Arrays, e: int) -> int:
    rule, is_sound = _check_memory(w, e), False
    if rule != SOUND:
        return rule
    try:
        is_sound = w.hooks.user_check(w, w.hooks.own(w), signed(e))
    except Exception:  # noqa: BLE001
        return REFUSED
    return SOUND if is_sound else REFUSED


GUARDS: dict[str, dict[str, Any]] = {
    "begin": {"begin": _begin_own},
    "place": {"draw_layout": _place_own},
    "step": {"play_step": _step_own},
    "may_enter": {"may_enter": _may_enter_own},
    "request": {"request_moves": _request_own, "ask_game": _skip, "move": _move_to_requested},
    "resolve": {"resolve": _resolve_own, "move": _move_to_requested},
    "after_moves": {"after_moves": _after_moves_own},
    "paint": {"paint": _paint_own},
    "legal": {"is_legal": _is_legal_own},
    "check": {"check_play": _check_own},
}
"""For each function of a game the hooks that it sets."""

ALWAYS: dict[str, Any] = {
    "clear": _clear_own,
    "begin_step": _forget_departed,
    "restore": _restore_own,
    "after_moves": _settle_own,
    "check_play": _check_memory,
    "fail": fail,
    "finds_paths": False,
    "play_worlds": play_worlds,
}
"""The hooks of any game; those of `GUARDS` have precedence."""

WITHOUT_DELAYS: dict[str, Any] = {
    "hold_up": _skip,
    **dict.fromkeys(("begin_delays", "note_delays", "write_delays"), _skip_delays),
}
"""The hooks of a game in which nobody is delayed."""

WITH_DELAYS: dict[str, Any] = {"hold_up": _skip, "begin_step": _begin_step_with_delays, "note_delays": _note_delays}
"""Those of a game with delays: the rules, and the game's functions, get the action of a delayed agent."""

WITH_LEVELS: dict[str, Any] = {"begin": _begin_from_level, "keep_beginning": _keep_beginning_own}
"""Those of a game on drawn maps; ``begin_own`` is what `begin` was, ``take_next(own, e, own, e)`` sets the State of
world e to that of its level, and ``keep_first(own, e, own, e)`` keeps it as the episode begins."""
