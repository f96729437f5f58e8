"""The rules of the game: the prose first, then the code in the same order.

A world has W x H cells, some of them walls, and N agents, each with a location and a target.

**Reset.** With a pool of maps, one is drawn; if it shows agents and targets, they are its layout. Otherwise agents
are placed in index order. For each: draw a cell (x, then y, uniform) until it is free of walls and of earlier agents;
then draw its target the same way until it is a free cell other than its own location, reachable from it, and not an
earlier agent's target. A cell that can reach no other is never used. If, once the agent is placed, exactly one cell
of its region is still without an agent and two are without a target, and that cell is one of them, it is the target,
and nothing is drawn: otherwise the last agent of the region could be left with its own cell for a target.

**Move.** Every agent still moving asks for the cell one step away. At the edge of the grid, and before a wall, it asks
for its own cell.

**Collide.** A cell that one agent is granted is refused to others. Conflicts have the names of Stern et al., SoCS 2019:

- *symmetric*: nobody gets a cell that two or more newcomers ask for, and two who would swap both stay. An agent that
  stays refuses the one behind it, until nothing changes. Following and cycles are allowed.
- *priority*: agents move one after the other in index order into cells that are free at that moment.
- *block_both*: nobody enters a cell that was occupied before the step or that two agents ask for.
- *soft*: two who would swap both stay; of several newcomers to a cell the lowest index keeps its request; then nobody
  enters a cell whose occupant stays, until nothing changes. A winner refused in this way does not pass the cell on.
- *none*: agents pass through one another and may share a cell.

A refused agent is told why: it would have swapped; or another asked for its cell too; or else the cell was not free.

**Arrive.** An agent that stands on its target,

- *park*: stays there, an obstacle whose actions are ignored, until all have arrived and terminate together; reward 1.
- *leave*: terminates and leaves in that step; its cell is free from the next; reward 1.
- *stay*: goes on acting; all terminate when all stand on their targets at once; reward 1 to everyone then.
- *restart*: gets a new target, drawn after all moves in agent order, any other free cell that it can reach; reward 1.

Shared, everyone still there when the step began gets the mean of their rewards, so that the sum stays the same.

**End.** With the last step of the limit everyone still there when the step began is truncated, also those who
terminate in it.
"""

from __future__ import annotations

from typing import Any

from multigrid.actions import DIRECTIONS, Action, Outcome
from multigrid.core.arrays import LEFT, NOBODY, PARKED, TRAVELLING, Arrays, opened
from multigrid.core.compiled import kernel
from multigrid.core.observe import observe_world
from multigrid.core.placement import DRAWN, draw_layout, draw_map, draw_next_target
from multigrid.regions import WALL

__all__ = [
    "ALL_VALID",
    "AUTORESET",
    "COLLISIONS",
    "COLLISION_RULES",
    "MAX_CYCLES",
    "NO_LIMIT",
    "NUM_ACTIONS",
    "NUM_SETTINGS",
    "ON_TARGET",
    "ON_TARGET_RULES",
    "RULES_VERSION",
    "SHARED_REWARD",
    "find_bad_action",
    "observe_worlds",
    "play_worlds",
    "reset_over_worlds",
    "reset_worlds",
    "step_worlds",
]

RULES_VERSION = 1
"""Raised when a rule changes, so that an episode played by other rules is known for what it is."""

COLLISIONS, ON_TARGET, SHARED_REWARD, MAX_CYCLES, NUM_ACTIONS, AUTORESET = range(6)
NUM_SETTINGS = 6

COLLISION_RULES = ("symmetric", "priority", "block_both", "soft", "none")
SYMMETRIC, PRIORITY, BLOCK_BOTH, SOFT, NONE = range(5)
ON_TARGET_RULES = ("park", "leave", "stay", "restart")
PARK, LEAVE, STAY, RESTART = range(4)

NO_LIMIT = -1
NEVER = -1
ALL_VALID = -1

# Enum members are slow in interpreted kernels.
_STAY_ACTION = int(Action.STAY)
_MOVED, _STAYED, _EDGE, _WALL = int(Outcome.MOVED), int(Outcome.STAYED), int(Outcome.EDGE), int(Outcome.WALL)
_OCCUPIED, _CONTESTED = int(Outcome.OCCUPIED), int(Outcome.CONTESTED)
_SWAP, _PARKED = int(Outcome.SWAP), int(Outcome.PARKED)


@kernel
def reset_worlds(table: Any, first: int, last: int, map_index: int, by_hand: bool) -> None:
    """Begin an episode in worlds first .. last - 1, on a map or a drawn one, from the layout there or a drawn one."""
    w = opened(table)
    for e in range(first, last):
        _reset_world(w, e, map_index, by_hand)


@kernel
def reset_over_worlds(table: Any, first: int, last: int) -> None:
    """Begin an episode, with all of it drawn, in those of worlds first .. last - 1 that are over."""
    w = opened(table)
    for e in range(first, last):
        if w.over[e]:
            _reset_world(w, e, DRAWN, False)


@kernel
def step_worlds(table: Any, first: int, last: int) -> int:
    """Play one step of worlds first .. last - 1 with the actions in `Arrays.actions`.

    Returns what `find_bad_action` returns; unless that is `ALL_VALID`, no world has moved.
    """
    bad_row = find_bad_action(table, first, last)
    if bad_row == ALL_VALID:
        play_worlds(table, first, last)
    return bad_row


@kernel
def find_bad_action(table: Any, first: int, last: int) -> int:
    """Return the first row, world * N + agent, of worlds first .. last - 1 whose action is out of range.

    Actions that nobody asks for, those of agents that have left and of worlds that begin anew, may be anything. Where
    all others are in range, this is `ALL_VALID`.
    """
    w = opened(table)
    num_agents = w.location.shape[1]
    for e in range(first, last):
        if w.settings[AUTORESET] and w.over[e]:
            continue
        for i in range(num_agents):
            action = w.actions[e, i]
            if (action < 0 or action >= w.settings[NUM_ACTIONS]) and w.status[e, i] != LEFT:
                return int(e * num_agents + i)
    return ALL_VALID


@kernel
def play_worlds(table: Any, first: int, last: int) -> None:
    """Play one step of worlds first .. last - 1, with actions in range; `AUTORESET` restarts those that are over."""
    w = opened(table)
    for e in range(first, last):
        if w.settings[AUTORESET] and w.over[e]:
            _reset_world(w, e, DRAWN, False)
        else:
            _step_world(w, e)
            observe_world(w, e)


@kernel
def observe_worlds(table: Any, first: int, last: int) -> None:
    """Write the observations of worlds first .. last - 1 anew from their state."""
    w = opened(table)
    for e in range(first, last):
        observe_world(w, e)


@kernel
def _reset_world(w: Arrays, e: int, map_index: int, by_hand: bool) -> None:
    w.map_index[e] = draw_map(w, e) if map_index == DRAWN else map_index
    if not by_hand:
        draw_layout(w, e)
    _begin(w, e)
    observe_world(w, e)


@kernel
def _step_world(w: Arrays, e: int) -> None:
    w.steps[e] += 1
    _mark_occupants(w, e)
    _request_moves(w, e)
    _collide(w, e)
    _unmark_occupants(w, e)
    _move(w, e)
    here = _arrive(w, e)
    _share_rewards(w, e, here)
    _end(w, e)
    _tell_distances(w, e)


@kernel
def _begin(w: Arrays, e: int) -> None:
    w.steps[e] = 0
    w.over[e] = False
    w.endings[e] = 0
    for i in range(w.location.shape[1]):
        w.status[e, i] = TRAVELLING
        w.arrivals[e, i] = 0
        w.arrival_step[e, i] = NEVER
        w.rewards[e, i] = 0.0
        w.terminated[e, i] = False
        w.truncated[e, i] = False
        w.outcomes[e, i] = _STAYED
    _tell_distances(w, e)


@kernel
def _mark_occupants(w: Arrays, e: int) -> None:
    for i in range(w.location.shape[1]):
        if w.status[e, i] != LEFT:
            w.occupant[w.location[e, i, 0], w.location[e, i, 1]] = i


@kernel
def _unmark_occupants(w: Arrays, e: int) -> None:
    """Empty the cells where the agents stood, and, under *priority*, those they were granted."""
    for i in range(w.location.shape[1]):
        w.occupant[w.location[e, i, 0], w.location[e, i, 1]] = NOBODY
        w.occupant[w.wish[i, 0], w.wish[i, 1]] = NOBODY


@kernel
def _request_moves(w: Arrays, e: int) -> None:
    regions = w.regions[w.map_index[e]]
    for i in range(w.location.shape[1]):
        x, y = w.location[e, i, 0], w.location[e, i, 1]
        w.wish[i, 0], w.wish[i, 1] = x, y
        action = w.actions[e, i]
        if w.status[e, i] == LEFT:
            w.outcomes[e, i] = _STAYED
        elif w.status[e, i] == PARKED:
            w.outcomes[e, i] = _PARKED
        elif action == _STAY_ACTION:
            w.outcomes[e, i] = _STAYED
        else:
            x += DIRECTIONS[action, 0]
            y += DIRECTIONS[action, 1]
            if x < 0 or y < 0 or x >= regions.shape[0] or y >= regions.shape[1]:
                w.outcomes[e, i] = _EDGE
            elif regions[x, y] == WALL:
                w.outcomes[e, i] = _WALL
            else:
                w.outcomes[e, i] = _MOVED
                w.wish[i, 0], w.wish[i, 1] = x, y


@kernel
def _collide(w: Arrays, e: int) -> None:
    """Turn the outcome of everyone who is refused from moved into the reason."""
    rule = w.settings[COLLISIONS]
    if rule == NONE:
        return
    num_agents = w.location.shape[1]
    for i in range(num_agents):
        if w.outcomes[e, i] == _MOVED:
            x, y = w.wish[i, 0], w.wish[i, 1]
            if w.claims[x, y] == 0:
                w.claimant[x, y] = i
            w.claims[x, y] += 1
    for i in range(num_agents):
        if w.outcomes[e, i] == _MOVED:
            w.refusal[i] = _why_refused(w, e, i)

    if rule == PRIORITY:
        _move_in_turn(w, e)
    else:
        # The reasons were settled before anyone is refused, so the order of this loop does not matter.
        for i in range(num_agents):
            if w.outcomes[e, i] == _MOVED and _is_refused(w, i, rule):
                w.outcomes[e, i] = w.refusal[i]
        if rule != BLOCK_BOTH:
            _hold_up_followers(w, e)

    for i in range(num_agents):
        w.claims[w.wish[i, 0], w.wish[i, 1]] = 0
        w.claimant[w.wish[i, 0], w.wish[i, 1]] = NOBODY


@kernel
def _why_refused(w: Arrays, e: int, i: int) -> int:
    x, y = w.wish[i, 0], w.wish[i, 1]
    j = w.occupant[x, y]
    if j != NOBODY and w.wish[j, 0] == w.location[e, i, 0] and w.wish[j, 1] == w.location[e, i, 1]:
        return _SWAP
    return _CONTESTED if w.claims[x, y] > 1 else _OCCUPIED


@kernel
def _is_refused(w: Arrays, i: int, rule: int) -> bool:
    """Whether a request is refused whatever becomes of the other requests."""
    x, y = w.wish[i, 0], w.wish[i, 1]
    if rule == SOFT and w.claimant[x, y] == i:
        return bool(w.refusal[i] == _SWAP)
    if rule == BLOCK_BOTH and w.occupant[x, y] != NOBODY:
        return True
    return bool(w.refusal[i] != _OCCUPIED)


@kernel
def _move_in_turn(w: Arrays, e: int) -> None:
    for i in range(w.location.shape[1]):
        if w.outcomes[e, i] == _MOVED:
            x, y = w.wish[i, 0], w.wish[i, 1]
            if w.occupant[x, y] == NOBODY:
                w.occupant[w.location[e, i, 0], w.location[e, i, 1]] = NOBODY
                w.occupant[x, y] = i
            else:
                w.outcomes[e, i] = w.refusal[i]


@kernel
def _hold_up_followers(w: Arrays, e: int) -> None:
    """Refuse whoever asks for the cell of one who stays, and whoever asks for theirs, along the whole chain."""
    for i in range(w.location.shape[1]):
        if w.outcomes[e, i] == _MOVED or w.status[e, i] == LEFT:
            continue
        # Everyone but the first to ask for a cell has been refused already.
        follower = w.claimant[w.location[e, i, 0], w.location[e, i, 1]]
        while follower != NOBODY and w.outcomes[e, follower] == _MOVED:
            w.outcomes[e, follower] = w.refusal[follower]
            follower = w.claimant[w.location[e, follower, 0], w.location[e, follower, 1]]


@kernel
def _move(w: Arrays, e: int) -> None:
    for i in range(w.location.shape[1]):
        if w.outcomes[e, i] == _MOVED:
            w.location[e, i, 0], w.location[e, i, 1] = w.wish[i, 0], w.wish[i, 1]


@kernel
def _arrive(w: Arrays, e: int) -> int:
    """Reward and settle those who stand on their targets; return how many agents were there to play this step."""
    rule = w.settings[ON_TARGET]
    here = 0
    standing = 0
    for i in range(w.location.shape[1]):
        w.rewards[e, i] = 0.0
        w.terminated[e, i] = False
        if w.status[e, i] == LEFT:
            continue
        here += 1
        on_target = w.location[e, i, 0] == w.goal[e, i, 0] and w.location[e, i, 1] == w.goal[e, i, 1]
        if not on_target:
            # Under *restart* an agent leaves its target behind by being given another.
            if rule == STAY:
                w.arrival_step[e, i] = NEVER
            continue
        standing += 1
        if w.status[e, i] == PARKED:
            continue
        if rule != STAY:
            w.rewards[e, i] = 1.0
        # Under *stay* an agent may stand on its target for many steps, and arrives with the first of them.
        if w.arrival_step[e, i] == NEVER or rule == RESTART:
            w.arrival_step[e, i] = w.steps[e]
            w.arrivals[e, i] += 1
        if rule == PARK:
            w.status[e, i] = PARKED
        elif rule == LEAVE:
            w.status[e, i] = LEFT
            w.terminated[e, i] = True
        elif rule == RESTART:
            draw_next_target(w, e, i)

    w.over[e] = rule != RESTART and standing == here
    if w.over[e] and rule != LEAVE:
        for i in range(w.location.shape[1]):
            w.terminated[e, i] = True
            if rule == STAY:
                w.rewards[e, i] = 1.0
    return here


@kernel
def _share_rewards(w: Arrays, e: int, here: int) -> None:
    if not w.settings[SHARED_REWARD] or here == 0:
        return
    total = 0.0
    for i in range(w.location.shape[1]):
        total += w.rewards[e, i]
    for i in range(w.location.shape[1]):
        if w.status[e, i] != LEFT or w.terminated[e, i]:
            w.rewards[e, i] = total / here


@kernel
def _end(w: Arrays, e: int) -> None:
    limit = w.settings[MAX_CYCLES]
    at_limit = limit != NO_LIMIT and w.steps[e] >= limit
    w.endings[e] = 0
    for i in range(w.location.shape[1]):
        w.truncated[e, i] = at_limit and (w.status[e, i] != LEFT or w.terminated[e, i])
        w.endings[e] += w.terminated[e, i] or w.truncated[e, i]
    w.over[e] = w.over[e] or at_limit


@kernel
def _tell_distances(w: Arrays, e: int) -> None:
    for i in range(w.location.shape[1]):
        dx = w.location[e, i, 0] - w.goal[e, i, 0]
        dy = w.location[e, i, 1] - w.goal[e, i, 1]
        w.distances[e, i] = abs(dx) + abs(dy)
