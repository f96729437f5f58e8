"""The rules of the game, in the order of the code.

A world has W x H cells, some of them walls, and up to N agents, each with a location and a target.

**Reset.** If the number of agents is random, it is drawn first, uniformly between its least and its largest value; the
other agents have left before the episode begins. From several maps, one is drawn; if it shows agents and targets, these
are the layout. Otherwise agents are placed in index order. For each: draw a cell (x, then y, uniform) until it is
neither a wall nor an earlier agent's location; then draw its target the same way until it is a cell that the agent can
reach, other than its own location and not an earlier agent's target. Cells from which no other cell can be reached are
never used. In one case the target is not drawn: if only one of the cells that the agent can reach has no agent yet, and
that cell is not a target, it becomes the target; if it were drawn, an agent that is placed there later might have no
cell left for its target. A layout set by hand may start an agent on its target under *stay* and *restart*; it arrives
in the first step if it is still there after the moves. Under *restart*, a layout set by hand, or a map, may have a list
of targets for each agent: cells that the agent can reach, which may be in other agents' lists, too. The first is its
first target.

**Send.** With message bits, an action has a message, which all agents observe in the next observations. All agents send
that have not left, also those that have parked or are delayed. An episode begins with messages of zeros.

**Move.** Every agent that has not parked or left requests the cell one step away, in the direction of its action. If it
stays or is delayed, or if that cell is a wall or outside the grid, it requests its own cell. Each step begins with the
delays: the remaining steps of each fall by one, then new delays are drawn for all agents without one, also for
those that have parked or left. They have their own random stream and do not depend on what agents do. An episode begins
without delays.

**Collide.** Except under *none*, no two agents get the same cell. A newcomer to a cell is an agent that requests it
from another cell. Conflicts have the names of Stern et al., SoCS 2019:

- *symmetric*: no agent enters a cell with two or more newcomers, and two agents that would swap both stay. If an agent
  stays, so does a newcomer to its cell; this is repeated until nothing changes. Following and cycles are allowed.
- *priority*: agents move one after the other, in index order, into cells that have no agent at that moment.
- *block_both*: no agent enters a cell that was occupied before the step, or that has two or more newcomers.
- *soft*: two agents that would swap both stay; of several newcomers to a cell, all but the lowest index stay; then no
  agent, not even the one with the lowest index, enters a cell whose occupant stays; this is repeated until nothing
  changes.
- *none*: agents pass through one another and may share a cell.

The outcome says why an agent was refused: it would have swapped; or else the cell that it requested had another
newcomer; or else that cell was occupied.

**Arrive.** An agent that stands on its target, under

- *park*: gets reward 1 and stays there as an obstacle, its actions ignored; when all have arrived, all terminate.
- *leave*: gets reward 1, terminates, and leaves in that step; from the next step on, others can enter its cell.
- *stay*: goes on acting; when all stand on their targets at once, all get reward 1 and terminate.
- *restart*: gets reward 1 and, after all moves, in index order, a new target: the next one of the agent's list, which
  begins again after its last one. Without a list, the target is drawn from the other cells that the agent can reach. If
  the next cell of a list is the agent's own, it arrives again in the next step if it is still there after the moves.

With shared rewards, each agent that had not left before the step gets the mean of the rewards of these agents. The sum
of the rewards stays the same.

**End.** At the step limit, each agent that had not left before the step is truncated, even if it terminates in the same
step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.actions import DIRECTIONS, Action, Outcome
from multigrid.core.arrays import (
    AUTORESET,
    COLLISIONS,
    LEAST_AGENTS,
    LEFT,
    MAX_CYCLES,
    NOBODY,
    NUM_ACTIONS,
    ON_TARGET,
    PARKED,
    RANDOM,
    SHARED_REWARD,
    TRAVELLING,
    Arrays,
    unpack,
)
from multigrid.core.delays import has_delays, restore_delays
from multigrid.core.messages import clear_messages, restore_messages, send_messages
from multigrid.core.placement import draw_map, set_layout, set_lists, set_next_target
from multigrid.maps._cells import WALL
from multigrid.runtime.compiled import function, inlined, kernel, unsigned
from multigrid.runtime.pcg64 import draw_integer

RULES_VERSION = 1
"""The version of the rules, stored with recorded episodes and incremented when a rule changes."""

COLLISION_RULES = ("symmetric", "priority", "block_both", "soft", "none")
SYMMETRIC, PRIORITY, BLOCK_BOTH, SOFT, NONE = range(5)
ON_TARGET_RULES = ("park", "leave", "stay", "restart")
PARK, LEAVE, STAY, RESTART = range(4)

MOST_ACTIONS = 64
STEPS = np.concatenate([DIRECTIONS, np.zeros((MOST_ACTIONS - len(DIRECTIONS), 2), np.int64)])
"""int64 (64, 2): the step ``[dx, dy]`` of each action; that of a game's own action is ``[0, 0]``."""
STEPS.setflags(write=False)

NO_LIMIT = 0
NEVER = -1
NOT_BEGUN = -1
ALL_VALID = -1

# Enum members are slow in interpreted kernels.
_STAY_ACTION = int(Action.STAY)
_MOVED, _STAYED, _EDGE, _WALL = int(Outcome.MOVED), int(Outcome.STAYED), int(Outcome.EDGE), int(Outcome.WALL)
_OCCUPIED, _CONTESTED = int(Outcome.OCCUPIED), int(Outcome.CONTESTED)
_SWAP, _PARKED = int(Outcome.SWAP), int(Outcome.PARKED)


@kernel
def reset_worlds(address_table: Any, first: int, last: int, only_ended: bool) -> None:
    """Begin an episode, on a random map and layout, in worlds first .. last - 1, or those whose episodes are over."""
    w = unpack(address_table)
    for world in range(first, last):
        e = unsigned(world)
        if w.episode_over[e] or not only_ended:
            reset_world(w, e)


@kernel
def begin_worlds(address_table: Any, worlds: Any, maps: Any, layouts: Any, lists: Any) -> None:
    """Begin an episode in K worlds, int64 (K,), no two alike, on maps, int64 (K,), of which some may be `RANDOM`.

    Given layouts are int64 (K, N, 4), x, y, target x, target y of each agent, or `ABSENT`; or (0, N, 4) for random
    ones. Their lists of targets are int64 (K, N, T, 2), as
    `Arrays.target_lists`, which has room for them, or empty.
    """
    w = unpack(address_table)
    for k in range(worlds.shape[0]):
        e = unsigned(worlds[k])
        _forget_episode(w, e)
        if layouts.shape[0] == 0:
            _draw_episode(w, e, maps[k])
        else:
            set_layout(w, e, layouts, k)
            set_lists(w, e, lists, k)
            w.map_index[e] = draw_map(w, e) if maps[k] == RANDOM else maps[k]
        _begin(w, e)


@kernel
def restore_worlds(address_table: Any, states: Any, worlds: Any) -> None:
    """Copy the states of K worlds, int64 (K,), no two alike, streams included, from the arrays of another table."""
    w, given = unpack(address_table), unpack(states)
    for k in range(worlds.shape[0]):
        e = unsigned(worlds[k])
        for word in range(w.streams.shape[1]):
            w.streams[e, word] = given.streams[k, word]
        w.map_index[e], w.steps[e], w.num_agents[e] = given.map_index[k], given.steps[k], given.num_agents[k]
        w.episode_over[e], w.num_ended[e] = given.episode_over[k], given.num_ended[k]
        for i in range(w.location.shape[1]):
            w.location[e, i, 0], w.location[e, i, 1] = given.location[k, i, 0], given.location[k, i, 1]
            w.target[e, i, 0], w.target[e, i, 1] = given.target[k, i, 0], given.target[k, i, 1]
            w.status[e, i] = given.status[k, i]
            w.arrivals[e, i], w.arrival_step[e, i] = given.arrivals[k, i], given.arrival_step[k, i]
            w.rewards[e, i] = given.rewards[k, i]
            w.terminated[e, i], w.truncated[e, i] = given.terminated[k, i], given.truncated[k, i]
            w.outcomes[e, i], w.distances[e, i] = given.outcomes[k, i], given.distances[k, i]
            w.arrived[e, i] = int(given.arrival_step[k, i] == given.steps[k])
        set_lists(w, e, given.target_lists, k)
        w.hooks.restore_own_map(w, e, given, k)
        restore_delays(w, e, given, k)
        restore_messages(w, e, given, k)
        w.hooks.restore(w, e, given, k)
        w.outdated[e] = True


@kernel
def place_agent(address_table: Any, x: int, y: int, target_x: int, target_y: int) -> None:
    """Move the agent of a single world, and its target, between two steps; for one agent under *stay* only.

    No arrival is counted before the next step. If the agent is off its target then, an episode that it had ended goes
    on.
    """
    w = unpack(address_table)
    w.location[0, 0, 0], w.location[0, 0, 1] = x, y
    w.target[0, 0, 0], w.target[0, 0, 1] = target_x, target_y
    w.distances[0, 0] = distance(w, 0, 0)
    if w.distances[0, 0] != 0:
        w.arrival_step[0, 0] = NEVER
        w.rewards[0, 0] = 0.0
        w.terminated[0, 0] = False
        w.episode_over[0] = w.truncated[0, 0]
        w.num_ended[0] = int(w.truncated[0, 0])
    w.outdated[0] = True


@kernel
def walk_agent(address_table: Any, dx: int, dy: int) -> None:
    """Play one step of a single world without walls in which its agent asks for the cell dx, dy away; as `place_agent`.

    Outside the grid it asks for the nearest cell of the grid.
    """
    w = unpack(address_table)
    x, y = w.location[0, 0, 0], w.location[0, 0, 1]
    to_x = min(max(x + dx, 0), w.components.shape[1] - 1)
    to_y = min(max(y + dy, 0), w.components.shape[2] - 1)
    w.steps[0] += 1
    w.outdated[0] = True
    if dx == 0 and dy == 0:
        w.outcomes[0, 0] = _STAYED
    elif to_x == x and to_y == y:
        w.outcomes[0, 0] = _EDGE
    else:
        w.outcomes[0, 0] = _MOVED
    w.location[0, 0, 0], w.location[0, 0, 1] = to_x, to_y
    _arrive(w, 0, 1)
    _end(w, 0)


@kernel
def step_worlds(address_table: Any, first: int, last: int) -> int:
    """Play one step of worlds first .. last - 1 with the actions in `Arrays.actions`.

    Return what `find_bad_action` returns; unless that is `ALL_VALID`, no world is stepped.
    """
    bad_row = find_bad_action(address_table, first, last)
    if bad_row == ALL_VALID:
        unpack(address_table).hooks.play_worlds(address_table, first, last)
    return bad_row


@kernel
def find_bad_action(address_table: Any, first: int, last: int) -> int:
    """Return the first row, world * N + agent, of worlds first .. last - 1 with an action out of range, or `ALL_VALID`.

    Actions of agents that have left, and of worlds that the step resets, are ignored.
    """
    w = unpack(address_table)
    num_agents, num_actions = w.actions.shape[1], w.settings[NUM_ACTIONS]
    in_a_row = w.actions.flat
    num_bad = 0
    for row in range(first * num_agents, last * num_agents):
        # Without a branch, so that the loop is vectorized.
        num_bad += int(in_a_row[unsigned(row)] < 0) + int(in_a_row[unsigned(row)] >= num_actions)
    if num_bad == 0:
        return ALL_VALID
    for e in range(first, last):
        for i in range(num_agents):
            is_bad = w.actions[e, i] < 0 or w.actions[e, i] >= num_actions
            if is_bad and w.status[e, i] != LEFT and not (w.settings[AUTORESET] and w.episode_over[e]):
                return int(e * num_agents + i)
    return ALL_VALID


@kernel
def play_worlds(address_table: Any, first: int, last: int) -> None:
    """Play one step of worlds first .. last - 1, with actions in range; `AUTORESET` resets those that are over."""
    w = unpack(address_table)
    num_agents = w.location.shape[1]
    for world in range(first, last):
        e = unsigned(world)
        if w.settings[AUTORESET] and w.episode_over[e]:
            reset_world(w, e)
        # A constant 1 lets the compiler remove the loops over agents.
        elif num_agents == 1:
            step_agents(w, e, 1)
        else:
            step_agents(w, e, num_agents)


@function
def reset_world(w: Arrays, e: int) -> None:
    """Begin an episode on a random map and layout."""
    _forget_episode(w, e)
    _draw_episode(w, e, RANDOM)
    _begin(w, e)


@inlined
def step_agents(w: Arrays, e: int, num_agents: int) -> None:
    """Play one step of world e, whose number of agents may be a constant."""
    w.steps[e] += 1
    w.outdated[e] = True
    if w.messages.shape[0] > 0:
        send_messages(w, e)
    w.hooks.begin_step(w, e)
    num_present = w.hooks.play_step(w, e, num_agents)
    w.hooks.after_moves(w, e)
    if w.settings[SHARED_REWARD]:
        _share_rewards(w, e, num_present)
    _end(w, e)


@inlined
def play_step(w: Arrays, e: int, num_agents: int) -> int:
    """Move the agents and reward those that arrive; return how many had not left before the step."""
    w.hooks.request_moves(w, e, num_agents)
    if has_delays(w):
        w.hooks.hold_up(w, e, num_agents)
    w.hooks.ask_game(w, e, num_agents)
    w.hooks.resolve(w, e, num_agents)
    w.hooks.move(w, e, num_agents)
    return _arrive(w, e, num_agents)


@inlined
def draw_agents(w: Arrays, e: int) -> None:
    """Draw how many agents the next episode has; draw nothing if all episodes have as many."""
    least, most = w.settings[LEAST_AGENTS], w.location.shape[1]
    w.num_agents[e] = least + draw_integer(w.streams, e, most - least + 1)


@function
def _draw_episode(w: Arrays, e: int, map_index: int) -> None:
    """Set the level that was chosen for world e; else draw the agents, the map if it is `RANDOM`, and the layout."""
    if not w.hooks.take_level(w, e):
        draw_agents(w, e)
        w.map_index[e] = draw_map(w, e) if map_index == RANDOM else map_index
        w.hooks.draw_layout(w, e)


@function
def _forget_episode(w: Arrays, e: int) -> None:
    """Set what an episode has to its initial values, so that the next layout does not depend on the last episode."""
    w.steps[e] = 0
    w.episode_over[e] = False
    w.num_ended[e] = 0
    for i in range(w.location.shape[1]):
        w.status[e, i] = TRAVELLING
        w.arrivals[e, i] = 0
        w.arrival_step[e, i] = NEVER
        w.rewards[e, i] = 0.0
        w.terminated[e, i] = False
        w.truncated[e, i] = False
        w.outcomes[e, i] = _STAYED
        w.arrived[e, i] = 0
    w.hooks.begin_delays(w, e)
    if w.messages.shape[0] > 0:
        clear_messages(w, e)
    w.hooks.clear(w, e)


@function
def _begin(w: Arrays, e: int) -> None:
    for i in range(w.location.shape[1]):
        if i >= w.num_agents[e]:
            w.status[e, i] = LEFT
            for axis in range(2):
                w.location[e, i, axis], w.target[e, i, axis] = 0, 0
        w.distances[e, i] = distance(w, e, i)
    w.hooks.begin(w, e)
    w.hooks.keep_beginning(w, e)
    w.outdated[e] = True


@inlined
def distance(w: Arrays, e: int, i: int) -> int:
    """Return how many cells agent i is from its target, in both directions together."""
    dx = w.location[e, i, 0] - w.target[e, i, 0]
    dy = w.location[e, i, 1] - w.target[e, i, 1]
    return int(abs(dx) + abs(dy))


@kernel
def build_move_table(address_table: Any) -> None:
    """Precompute the outcome of each action in each cell of each map, ignoring other agents."""
    w = unpack(address_table)
    for m in range(w.components.shape[0]):
        build_moves(w, m)


@function
def build_moves(w: Arrays, m: int) -> None:
    """Do as `build_move_table`, for map m."""
    moves, components = w.moves[m], w.components[m]
    width, height = components.shape
    for x in range(width):
        for y in range(height):
            for action in range(moves.shape[2]):
                outcome = _MOVED
                if action >= _STAY_ACTION or not w.hooks.has_moves:
                    outcome = _STAYED
                else:
                    to_x, to_y = x + DIRECTIONS[action, 0], y + DIRECTIONS[action, 1]
                    if to_x < 0 or to_y < 0 or to_x >= width or to_y >= height:
                        outcome = _EDGE
                    elif components[unsigned(to_x), unsigned(to_y)] == WALL:
                        outcome = _WALL
                moves[unsigned(x), unsigned(y), unsigned(action)] = outcome


@inlined
def request_moves(w: Arrays, e: int, num_agents: int) -> None:
    """Find the cell that each agent asks for."""
    moves, height = w.moves[unsigned(w.map_index[e])], w.components.shape[2]
    location, status, actions, outcomes = w.location[e], w.status[e], w.actions[e], w.outcomes[e]
    own_cell, requested = w.own_cell, w.requested
    for i in range(num_agents):
        x, y = location[i, 0], location[i, 1]
        cell = x * height + y
        own_cell[i] = cell
        if status[i] == TRAVELLING:
            action = unsigned(actions[i])
            outcomes[i] = moves[unsigned(x), unsigned(y), action]
            # Without a branch: in random play it would be mispredicted.
            step = int(outcomes[i] == _MOVED)
            cell += step * (STEPS[action, 0] * height + STEPS[action, 1])
        else:
            outcomes[i] = _PARKED if status[i] == PARKED else _STAYED
        requested[i] = cell


@inlined
def ask_game(w: Arrays, e: int, num_agents: int) -> None:
    """Refuse what the game's hook refuses, as before a wall."""
    location, actions, outcomes = w.location[e], w.actions[e], w.outcomes[e]
    for i in range(num_agents):
        if outcomes[i] == _MOVED:
            action = unsigned(actions[i])
            if not w.hooks.may_enter(w, e, i, location[i, 0] + STEPS[action, 0], location[i, 1] + STEPS[action, 1]):
                outcomes[i] = _WALL
                w.requested[i] = w.own_cell[i]


@inlined
def resolve(w: Arrays, e: int, num_agents: int) -> None:
    """Refuse the moves that collide."""
    # A single agent collides with none.
    if num_agents > 1 and w.settings[COLLISIONS] != NONE:
        _collide(w, e)


@inlined
def _collide(w: Arrays, e: int) -> None:
    """Set the outcome of each agent that is refused to the reason."""
    rule = w.settings[COLLISIONS]
    status, outcomes, refusal_reason = w.status[e], w.outcomes[e], w.refusal_reason
    own_cell, requested, occupant, first_requester = w.own_cell, w.requested, w.occupant, w.first_requester
    num_agents = status.shape[0]
    for i in range(num_agents):
        refusal_reason[i] = _OCCUPIED
        if status[i] != LEFT:
            occupant[unsigned(own_cell[i])] = i
    for i in range(num_agents):
        if outcomes[i] == _MOVED:
            first = first_requester[unsigned(requested[i])]
            if first == NOBODY:
                first_requester[unsigned(requested[i])] = i
            else:
                refusal_reason[unsigned(first)], refusal_reason[i] = _CONTESTED, _CONTESTED
    for i in range(num_agents):
        if outcomes[i] == _MOVED:
            j = occupant[unsigned(requested[i])]
            if j != NOBODY and requested[unsigned(j)] == own_cell[i]:
                refusal_reason[i] = _SWAP
            # The loop reads no outcome of another agent, so the order does not matter.
            if rule != PRIORITY and _is_refused(w, i, rule):
                outcomes[i] = refusal_reason[i]

    if rule == PRIORITY:
        _move_in_turn(w, e)
    elif rule != BLOCK_BOTH:
        _hold_up_followers(w, e)

    for i in range(num_agents):
        first_requester[unsigned(requested[i])] = NOBODY
        occupant[unsigned(own_cell[i])] = NOBODY
        # Under *priority* the agents that move occupy the requested cells.
        occupant[unsigned(requested[i])] = NOBODY


@inlined
def _is_refused(w: Arrays, i: int, rule: int) -> bool:
    """Return whether a request is refused regardless of how the others end."""
    requested = unsigned(w.requested[i])
    if rule == SOFT and w.first_requester[requested] == i:
        return bool(w.refusal_reason[i] == _SWAP)
    if rule == BLOCK_BOTH and w.occupant[requested] != NOBODY:
        return True
    return bool(w.refusal_reason[i] != _OCCUPIED)


@function
def _move_in_turn(w: Arrays, e: int) -> None:
    for i in range(w.location.shape[1]):
        if w.outcomes[e, i] == _MOVED:
            if w.occupant[w.requested[i]] == NOBODY:
                w.occupant[w.own_cell[i]] = NOBODY
                w.occupant[w.requested[i]] = i
            else:
                w.outcomes[e, i] = w.refusal_reason[i]


@inlined
def _hold_up_followers(w: Arrays, e: int) -> None:
    """Refuse each agent that asks for the cell of one that stays, along the whole chain of followers."""
    status, outcomes, own_cell, first_requester = w.status[e], w.outcomes[e], w.own_cell, w.first_requester
    for i in range(status.shape[0]):
        if outcomes[i] == _MOVED or status[i] == LEFT:
            continue
        # All but the first agent to ask for a cell have been refused already.
        follower = first_requester[unsigned(own_cell[i])]
        while follower != NOBODY and outcomes[unsigned(follower)] == _MOVED:
            outcomes[unsigned(follower)] = w.refusal_reason[unsigned(follower)]
            follower = first_requester[unsigned(own_cell[unsigned(follower)])]


@inlined
def move(w: Arrays, e: int, num_agents: int) -> None:
    """Move the agents that were not refused."""
    location, actions, outcomes = w.location[e], w.actions[e], w.outcomes[e]
    for i in range(num_agents):
        # Without a branch, as above. The action of an agent that has not moved may be any number.
        moved = int(outcomes[i] == _MOVED)
        action = unsigned(moved * actions[i])
        location[i, 0] += moved * STEPS[action, 0]
        location[i, 1] += moved * STEPS[action, 1]


@inlined
def _arrive(w: Arrays, e: int, num_agents: int) -> int:
    """Reward the agents on their targets and update their status; return how many had not left before the step."""
    rule = w.settings[ON_TARGET]
    status, arrival_step = w.status[e], w.arrival_step[e]
    rewards, terminated, distances, arrived = w.rewards[e], w.terminated[e], w.distances[e], w.arrived[e]
    num_present = 0
    standing = 0
    w.num_ended[e] = 0
    for i in range(num_agents):
        rewards[i] = 0.0
        terminated[i] = False
        arrived[i] = 0
        if status[i] == LEFT:
            continue
        num_present += 1
        distances[i] = distance(w, e, i)
        if distances[i] != 0 or not w.hooks.has_targets:
            # Under *restart* an agent is off its target as soon as it gets another.
            if rule == STAY:
                arrival_step[i] = NEVER
            continue
        standing += 1
        if status[i] == PARKED:
            continue
        if rule != STAY:
            rewards[i] = 1.0
        # Under *stay* only the first step on the target is an arrival.
        if arrival_step[i] == NEVER or rule == RESTART:
            arrival_step[i] = w.steps[e]
            w.arrivals[e, i] += 1
            arrived[i] = 1
        if rule == PARK:
            status[i] = PARKED
        elif rule == LEAVE:
            status[i] = LEFT
            terminated[i] = True
            w.num_ended[e] += 1
        elif rule == RESTART:
            set_next_target(w, e, i)
            distances[i] = distance(w, e, i)

    w.episode_over[e] = rule != RESTART and standing == num_present
    if w.episode_over[e] and rule != LEAVE:
        w.num_ended[e] = num_present
        for i in range(w.num_agents[e]):
            terminated[i] = True
            if rule == STAY:
                rewards[i] = 1.0
    return num_present


@function
def _share_rewards(w: Arrays, e: int, num_present: int) -> None:
    total = 0.0
    for i in range(w.location.shape[1]):
        total += w.rewards[e, i]
    for i in range(w.location.shape[1]):
        if w.status[e, i] != LEFT or w.terminated[e, i]:
            w.rewards[e, i] = total / num_present


@inlined
def _end(w: Arrays, e: int) -> None:
    limit = w.settings[MAX_CYCLES]
    if limit == NO_LIMIT or w.steps[e] < limit:
        # Truncation ends an episode, so all flags are still False.
        return
    w.num_ended[e] = 0
    for i in range(w.location.shape[1]):
        w.truncated[e, i] = w.status[e, i] != LEFT or w.terminated[e, i]
        w.num_ended[e] += int(w.truncated[e, i])
    w.episode_over[e] = True
