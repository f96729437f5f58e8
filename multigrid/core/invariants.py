"""The invariants that kernels rely on, and the checks of them.

Compiled kernels read and write without bounds checks, and rely on these invariants of
`multigrid.core.arrays.Arrays`. All input is checked once, by the guard in the table, before it is written to the
arrays. W x H cells, N agents, M maps, E worlds, A actions; guards in capitals are indices of `RULES`.

| array                    | invariant                                             | guard                            |
|--------------------------|-------------------------------------------------------|----------------------------------|
| all                      | dtype, C order, shapes; never allocated again         | Table.allocate, write_addresses  |
| settings                 | a rule's number; A; a limit from 1, or NO_LIMIT       | GridConfig, _checks.check_limit  |
| components,              | 0 at walls, else a number from 1 for each component;  | GridConfig,                      |
| component_sizes          | N agents have room in components of two cells or more | _cells.label_components          |
| moves, blocked, scaled   | as computed from the maps                             | rules.build_move_table, allocate |
| layouts; given ones, too | free cells, distinct, each target reachable           | _layouts.check_layout            |
| target_lists,            | cells that their agent can reach, then NO_TARGET; all | _layouts.check_lists,            |
| layout_lists, given ones | agents of a world have lists, or none has; only under | GridConfig, LISTS, LIST_CELLS    |
|                          | *restart*                                             |                                  |
| list_lengths             | how many cells that are, 0 without lists              | placement.set_lists, LIST_CELLS  |
| streams                  | an odd increment, a flag of 0 or 1, a half < 2**32    | generators, seed_streams, STREAM |
| map_index                | 0 to M - 1                                            | the envs' options, MAP_INDEX     |
| num_agents               | from the least to N; the others as an episode begins  | rules.draw_agents, NUM_AGENTS    |
| steps                    | 0 to 2**53, so that one more does not overflow        | the kernels, STEPS               |
| location, target         | inside the grid, in one component of two cells        | the kernels, _layouts,           |
|                          |                                                       | LOCATION_OUTSIDE to TARGET_APART |
|                          | or more; agents in distinct cells, but under *none*   | the kernels, SHARED_LOCATION     |
| arrivals                 | from 0 to the steps played                            | the kernels, ARRIVALS            |
| the rest of the state    | anything: not used as an index, nor as a limit        |                                  |
| delay_streams            | as streams                                            | DELAY_STREAM                     |
| delay_left               | a number of steps up to the longest delay             | the kernels, DELAY_LEFT          |
| messages                 | none: not used as an index                            | (MESSAGES)                       |
| outcomes                 | none: written before they are read                    | (OUTCOMES)                       |
| actions                  | 0 to A - 1 where they count, or that of a delayed     | rules.find_bad_action, wrappers, |
|                          | agent in a game; with messages until the step begins  | messages.send_messages           |
| scratch                  | as Table.clean_scratch leaves it                      | the kernels, calls._interpret    |
| arguments of kernels     | worlds from 0 to E - 1, distinct; maps from 0 to      | the envs                         |
|                          | M - 1, or RANDOM                                      |                                  |

Nothing is written between the check and the kernel: an environment runs one call at a time
(`multigrid.envs._env_base`), and actions are copied before they are checked.

`find_breach` checks the rules in order, so that each can rely on the earlier ones: for a state that is passed to
`set_state`, and with MULTIGRID_CHECK=1 before and after every kernel call. They keep kernels within their arrays; that
a game can come to the state, they do not say.
"""

from __future__ import annotations

from typing import Any

from multigrid.actions import Outcome
from multigrid.core.arrays import (
    COLLISIONS,
    LEAST_AGENTS,
    LEAST_DELAY,
    LEFT,
    NOBODY,
    ON_TARGET,
    PARKED,
    TRAVELLING,
    Arrays,
    unpack,
)
from multigrid.core.delays import has_delays
from multigrid.core.messages import are_bits
from multigrid.core.rules import LEAVE, NEVER, NONE, NOT_BEGUN, PARK, RESTART
from multigrid.maps._cells import NO_TARGET, WALL
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import function, inlined, kernel

MOST_STEPS = 2**53
"""The longest episode; float64 represents all integers up to it."""

SOUND = -1

RULES = (
    ("map_index", "is {value}; there are {maps} maps"),
    ("streams", "is no state of a PCG64 generator"),
    ("steps", f"is {{value}}, not from 0 to {MOST_STEPS}"),
    ("location", "lies outside the {width} x {height} grid: {value}"),
    ("target", "lies outside the {width} x {height} grid: {value}"),
    ("location", "has walls, or cells that can reach no other: {value}"),
    ("target", "has walls, or cells that can reach no other: {value}"),
    ("target", "has a cell that its agent cannot reach: {value}"),
    ("status", "is {value}, which on_target does not allow"),
    ("location", "has agents in one cell: {value}"),
    ("target", "has one cell for two agents: {value}"),
    ("arrivals", "is {value}, not from 0 to the steps played"),
    ("outcomes", "is {value}; expected numbers of an Outcome"),
    ("target_lists", "gives lists to some agents only, or under another rule than on_target='restart'"),
    ("target_lists", "has a cell that its agent cannot reach, or does not end in rows of -1"),
    ("delay_streams", "is no state of a PCG64 generator"),
    ("delay_left", "is {value}, which the duration of delays does not allow"),
    ("num_agents", "is {value}, which does not follow from the agents that take part"),
    ("messages", "has other numbers than 0 and 1: {value}"),
    ("actions", "are out of range, or the game's check() refuses the state"),
)
"""The rules: the field that breaks each, and the error message."""

MAP_INDEX, STREAM, STEPS, LOCATION_OUTSIDE, TARGET_OUTSIDE, LOCATION_CLOSED, TARGET_CLOSED, TARGET_APART = range(8)
WRONG_STATUS, SHARED_LOCATION, SHARED_TARGET, ARRIVALS, OUTCOMES, LISTS, LIST_CELLS = range(8, 15)
DELAY_STREAM, DELAY_LEFT, NUM_AGENTS, MESSAGES, REFUSED = range(15, len(RULES))
_NUM_RULES = len(RULES)
_STAYED, _DELAYED = int(Outcome.STAYED), int(Outcome.DELAYED)


@kernel
def find_breach(address_table: Any, first: int, last: int, skip: bool) -> int:
    """Find the first of worlds first .. last - 1 whose state breaks a rule.

    Return the world times len(RULES), plus the first rule that it breaks, or `SOUND` if there is none. `skip` leaves
    out worlds that have had no reset yet.
    """
    w = unpack(address_table)
    for e in range(first, last):
        if skip and w.steps[e] == NOT_BEGUN:
            continue
        rule = _check_cells(w, e)
        if rule == SOUND and not _are_absent(w, e):
            rule = NUM_AGENTS
        if rule == SOUND and has_delays(w):
            rule = _check_delays(w, e)
        if rule == SOUND and not are_bits(w, e):
            rule = MESSAGES
        if rule == SOUND:
            rule = w.hooks.check_play(w, e)
        if rule != SOUND:
            return int(e * _NUM_RULES + rule)
    return SOUND


@inlined
def check_play(w: Arrays, e: int) -> int:
    """Return the first broken rule from `ARRIVALS` to `LIST_CELLS`; a user's game has a check of its own instead."""
    last_outcome = _DELAYED if has_delays(w) else _DELAYED - 1
    for i in range(w.num_agents[e]):
        if w.arrivals[e, i] < 0 or w.arrivals[e, i] > w.steps[e]:
            return ARRIVALS
        if w.outcomes[e, i] < 0 or w.outcomes[e, i] > last_outcome:
            return OUTCOMES
    return int(check_list_cells(w, e)) if w.list_lengths.shape[0] > 0 else SOUND


@function
def _check_delays(w: Arrays, e: int) -> int:
    longest = w.settings[LEAST_DELAY] + w.delay_durations.shape[0] - 1
    if not pcg64.is_stream(w.delay_streams, e):
        return DELAY_STREAM
    for i in range(w.num_agents[e]):
        if w.delay_left[e, i] < 0 or w.delay_left[e, i] > longest:
            return DELAY_LEFT
    return SOUND


@function
def _check_cells(w: Arrays, e: int) -> int:  # noqa: PLR0911 - a rule, a return
    """Return the first broken rule up to `SHARED_TARGET`; in a user's game, up to `LOCATION_CLOSED`."""
    num_agents = w.num_agents[e]
    if w.map_index[e] < 0 or w.map_index[e] >= w.components.shape[0]:
        return MAP_INDEX
    if not pcg64.is_stream(w.streams, e):
        return STREAM
    if num_agents < w.settings[LEAST_AGENTS] or num_agents > w.location.shape[1]:
        return NUM_AGENTS
    if w.steps[e] < 0 or w.steps[e] > MOST_STEPS:
        return STEPS
    for i in range(num_agents):
        if not _is_inside(w, w.location[e, i, 0], w.location[e, i, 1]):
            return LOCATION_OUTSIDE
        if not _is_inside(w, w.target[e, i, 0], w.target[e, i, 1]):
            return TARGET_OUTSIDE
    m = w.map_index[e]
    for i in range(num_agents):
        here = w.components[m, w.location[e, i, 0], w.location[e, i, 1]]
        there = w.components[m, w.target[e, i, 0], w.target[e, i, 1]]
        if here == WALL or w.component_sizes[m, here] < 2:
            return LOCATION_CLOSED
        if not w.hooks.finds_paths:
            continue
        if there == WALL or w.component_sizes[m, there] < 2:
            return TARGET_CLOSED
        if here != there:
            return TARGET_APART
        if not _is_allowed(w.status[e, i], w.settings[ON_TARGET]):
            return WRONG_STATUS
    return int(_check_shared_cells(w, e)) if w.hooks.finds_paths else SOUND


@function
def _are_absent(w: Arrays, e: int) -> bool:
    """Return whether the agents that take no part in the episode are as it began."""
    for i in range(w.num_agents[e], w.location.shape[1]):
        for axis in range(2):
            if w.location[e, i, axis] != 0 or w.target[e, i, axis] != 0:
                return False
        if w.arrivals[e, i] != 0 or w.status[e, i] != LEFT or w.arrival_step[e, i] != NEVER:
            return False
        if w.outcomes[e, i] != _STAYED or w.distances[e, i] != 0.0 or w.rewards[e, i] != 0.0:
            return False
        if w.terminated[e, i] or w.truncated[e, i] or (has_delays(w) and w.delayed_steps[e, i] != 0):
            return False
    return True


@function
def _is_inside(w: Arrays, x: int, y: int) -> bool:
    return bool(x >= 0 and y >= 0 and x < w.components.shape[1] and y < w.components.shape[2])


@function
def _is_allowed(status: int, on_target: int) -> bool:
    return bool(
        status == TRAVELLING or (status == PARKED and on_target == PARK) or (status == LEFT and on_target == LEAVE)
    )


@function
def _check_shared_cells(w: Arrays, e: int) -> int:
    """Return the broken rule if two agents share a cell, or a target."""
    num_agents, height = w.num_agents[e], w.components.shape[2]
    rule = SOUND
    if w.settings[COLLISIONS] != NONE:
        for i in range(num_agents):
            if w.status[e, i] != LEFT:
                cell = w.location[e, i, 0] * height + w.location[e, i, 1]
                if w.occupant[cell] != NOBODY:
                    rule = SHARED_LOCATION
                w.occupant[cell] = i
    # An agent that arrives under *restart* may get the target of another.
    if w.settings[ON_TARGET] != RESTART:
        for i in range(num_agents):
            cell = w.target[e, i, 0] * height + w.target[e, i, 1]
            if w.first_requester[cell] != NOBODY and rule == SOUND:
                rule = SHARED_TARGET
            w.first_requester[cell] = i
    for i in range(num_agents):
        w.occupant[w.location[e, i, 0] * height + w.location[e, i, 1]] = NOBODY
        w.first_requester[w.target[e, i, 0] * height + w.target[e, i, 1]] = NOBODY
    return rule


@function
def _has_list(w: Arrays, e: int, i: int) -> bool:
    return bool(w.list_lengths.shape[0] > 0 and w.list_lengths[e, i] > 0)


@function
def check_list_cells(w: Arrays, e: int) -> int:
    """Return `LISTS` or `LIST_CELLS` if the lists of targets break that rule."""
    components, longest = w.components[w.map_index[e]], w.target_lists.shape[2]
    for i in range(w.num_agents[e]):
        if _has_list(w, e, i) != _has_list(w, e, 0) or (_has_list(w, e, i) and w.settings[ON_TARGET] != RESTART):
            return LISTS
        component, length = components[w.location[e, i, 0], w.location[e, i, 1]], w.list_lengths[e, i]
        for t in range(longest):
            x, y = w.target_lists[e, i, t, 0], w.target_lists[e, i, t, 1]
            if t >= length and (x != NO_TARGET or y != NO_TARGET):
                return LIST_CELLS
            if t < length and (not _is_inside(w, x, y) or components[x, y] != component):
                return LIST_CELLS
    return SOUND
