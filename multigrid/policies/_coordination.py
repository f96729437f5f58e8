"""The next steps of agents that prefer some actions: PIBT on what they know of one another, with looks ahead.

The agent that has travelled longest since it was last on its target chooses first; of equal ones, the one with the
longest way. A candidate is a joint step, chosen by PIBT from scores of actions. Of several, agents take the one after
which they travel least in the next steps, by PIBT alone, and to their targets from where these end.

Agents know all others; or, with messages, those that they have heard of. Then each broadcasts its cell, target,
priority and scores to the agents in its window, and passes on what it has heard, once in each further round. Each plays
PIBT on what it knows, and takes its own step of the result; agents that know the same do this alike.

Nobody looks ahead where each candidate has the same step for it. Time and memory grow with the number of agents, and
time also with the number that each knows.

Scores under PIBT: Veerapaneni et al., 2024, call it CS-PIBT.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.planning._graph import NOWHERE, NUM_COLUMNS
from multigrid.planning._kernels import are_equal, borrowed, inlined, kernel
from multigrid.planning._pibt import NUM_SCORES, Team, sort_by_wait, step_team, use_arrays, write_action
from multigrid.policies._surroundings import NUM_CELLS, RADIUS

_SPREAD = 8
_MASK = 2**32 - 1
_UNKNOWN = -1


class Listeners(NamedTuple):
    """Of whom N agents hear."""

    everyone: bool  # whether all know all
    rounds: int  # of messages
    names: Any  # uint64 (N,): a random number for each agent


class _Heard(NamedTuple):
    """Of whom N agents have heard."""

    near: Any  # int32 (N, 121): in each row, the agents in the window of each
    num_near: Any  # int32 (N,)
    keys: Any  # uint64 (N,): the exclusive or of the names of all of whom each has heard; equal if these are the same
    is_heard: Any  # bool (N,): of whom one agent has heard
    queue: Any  # int32 (N,)
    order: Any  # int32 (N,): all agents, the one that chooses first in front
    has_chosen: Any  # bool (N,)


class _Group(NamedTuple):
    """Up to N agents, the one that chooses first in front, and C candidates."""

    members: Any  # int32 (N,): their numbers
    decides: Any  # bool (N,): whether it is they who choose now; the others know of other agents
    cells: Any  # int32 (N,)
    goals: Any  # int32 (N,)
    rows: Any  # int32 (N,)
    turns: Any  # int32 (N,): the order in which they choose
    scores: Any  # float32 (N, 5): of one candidate
    after: Any  # int32 (C, N): the cells after each candidate
    later: Any  # int32 (N,): the cells in a look ahead
    generators: Any  # int64 (C,): the state of the generator then


@kernel
def coordinate(
    scratch: Team, listeners: Listeners, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any
) -> None:
    """Write the actions of E worlds, int64 (E, N), but for those that have no effect; the worlds share `scratch`."""
    scratch = borrowed(scratch)
    neighbours, degrees, index = graphs  # int32 (M, C, 5), (M, C) and (M, W, H)
    num_actions, horizon, progress, seed = settings
    maps, steps, over = worlds  # (E,)
    cells, goals, rows, locations, priorities, scores = agents  # (E, N), (E, N, 2), (E, N), and float32 (C, E, N, 5)
    heard, group = make_arrays(cells.shape[1], scores.shape[0])
    for e in range(maps.shape[0]):
        if over[e]:
            continue
        m = maps[e]
        world = neighbours[m], degrees[m], rows[e], goals[e], cells[e], scores[0, e]
        own = use_arrays(scratch, *world, scratch.order)
        team = borrowed(own)
        for c in range(scores.shape[0]):
            _add_progress(team, progress, scores[c, e])
        _sort(team, priorities[e], heard.order)
        _listen(team, locations[e], index[m], listeners, heard)
        team.generator[0] = ((steps[e] & _MASK) * _SPREAD + seed) & _MASK
        for i in range(cells.shape[1]):
            if not heard.has_chosen[i]:
                count = _gather(team, listeners, heard, group, i)
                best = _decide(team, group, count, priorities[e], scores[:, e], horizon)
                for k in range(count):
                    if group.decides[k]:
                        team.after[group.members[k]] = group.after[best, k]
                        write_action(team, group.members[k], num_actions, actions[e])


@inlined
def make_arrays(num_agents: int, num_candidates: int) -> tuple[_Heard, _Group]:
    """Return the arrays of N agents and C candidates, without values."""
    ints = np.empty((9, num_agents), np.int32)
    flags = np.empty((3, num_agents), np.bool_)
    near = np.empty((num_agents, min(num_agents, NUM_CELLS)), np.int32)
    keys = np.empty(num_agents, np.uint64)
    after, generators = np.empty((num_candidates, num_agents), np.int32), np.empty(num_candidates, np.int64)
    scores = np.empty((num_agents, NUM_SCORES), np.float32)
    heard = _Heard(near, ints[0], keys, flags[0], ints[1], ints[2], flags[1])
    own = ints[4], ints[5], ints[6], ints[7], scores, after, ints[8], generators
    return heard, _Group(ints[3], flags[2], *own)


@inlined
def _add_progress(team: Team, progress: float, scores: Any) -> None:
    """Add to the scores of actions what they bring nearer to the target."""
    for i in range(scores.shape[0]):
        if team.now[i] != NOWHERE:
            distances = team.distances[team.rows[i]]
            for a in range(NUM_COLUMNS):
                cell = team.neighbours[team.now[i], a]
                if cell != NOWHERE:
                    scores[i, a] += progress * (distances[team.now[i]] - distances[cell])


@inlined
def _sort(team: Team, priorities: Any, order: Any) -> None:
    """Write the agents in the order of their priorities."""
    for i in range(order.shape[0]):
        team.order[i] = i
        team.waited[i] = priorities[i]
    sort_by_wait(team)
    order[:] = team.order


@inlined
def _listen(team: Team, locations: Any, index: Any, listeners: Listeners, heard: _Heard) -> None:
    """Write who is in the window of each agent, and the key of whom it has heard of."""
    heard.keys[:] = 0
    for i in range(team.now.shape[0]):
        heard.has_chosen[i] = team.now[i] == NOWHERE
    if listeners.everyone:
        return
    for i in range(team.now.shape[0]):
        if team.now[i] != NOWHERE:
            team.occupant[team.now[i]] = i
    for i in range(team.now.shape[0]):
        heard.num_near[i] = 0
        if team.now[i] != NOWHERE:
            left, top = max(locations[i, 0] - RADIUS, 0), max(locations[i, 1] - RADIUS, 0)
            for x in range(left, min(locations[i, 0] + RADIUS + 1, index.shape[0])):
                for y in range(top, min(locations[i, 1] + RADIUS + 1, index.shape[1])):
                    if index[x, y] != NOWHERE and team.occupant[index[x, y]] != NOBODY:
                        heard.near[i, heard.num_near[i]] = team.occupant[index[x, y]]
                        heard.num_near[i] += 1
    for i in range(team.now.shape[0]):
        if team.now[i] != NOWHERE:
            team.occupant[team.now[i]] = NOBODY
            for k in range(_hear(listeners.rounds, heard, i)):
                heard.keys[i] ^= listeners.names[heard.queue[k]]


@inlined
def _hear(rounds: int, heard: _Heard, i: int) -> int:
    """Write of whom an agent has heard after some rounds of messages; return of how many."""
    near, num_near, is_heard, queue = heard.near, heard.num_near, heard.is_heard, heard.queue
    is_heard[:] = False
    is_heard[i] = True
    queue[0], first, last = i, 0, 1
    for _ in range(rounds):
        if first == last:
            break
        end = last
        for k in range(first, end):
            for place in range(num_near[queue[k]]):
                j = near[queue[k], place]
                if not is_heard[j]:
                    is_heard[j] = True
                    queue[last] = j
                    last += 1
        first = end
    return last


@inlined
def _gather(team: Team, listeners: Listeners, heard: _Heard, group: _Group, i: int) -> int:
    """Write the group of those that an agent knows; return how many there are."""
    if listeners.everyone:
        heard.is_heard[:] = True
    else:
        _hear(listeners.rounds, heard, i)
    count = 0
    for k in range(heard.order.shape[0]):
        j = heard.order[k]
        if heard.is_heard[j] and team.now[j] != NOWHERE:
            group.members[count] = j
            group.decides[count] = heard.keys[j] == heard.keys[i]
            heard.has_chosen[j] |= group.decides[count]
            group.cells[count], group.goals[count], group.rows[count] = team.now[j], team.goals[j], team.rows[j]
            count += 1
    return count


@inlined
def _decide(team: Team, group: _Group, count: int, priorities: Any, scores: Any, horizon: int) -> int:
    """Write the cells of the first `count` members after each candidate; return the candidate that they take."""
    first, best, least = team.generator[0], 0, _UNKNOWN
    for c in range(scores.shape[0]):
        for k in range(count):
            group.after[c, k], group.turns[k] = group.cells[k], k
            group.scores[k] = scores[c, group.members[k]]
        team.generator[0] = first
        own = _use_group(team, group, group.after[c], count, group.scores[:count])
        step_team(own)
        group.generators[c] = team.generator[0]
    for c in range(1, scores.shape[0]):
        if not _differs(group, count, best, c):
            break
        if least == _UNKNOWN:
            least = _look_ahead(team, group, best, count, priorities, horizon)
        if not are_equal(group.after[c, :count], group.after[best, :count]):
            value = _look_ahead(team, group, c, count, priorities, horizon)
            if value < least:
                best, least = c, value
    team.generator[0] = first
    return best


@inlined
def _use_group(team: Team, group: _Group, now: Any, count: int, scores: Any) -> Team:
    """Return the team of the first `count` members, with their cells in `now`."""
    own = group.rows[:count], group.goals[:count], now[:count], scores, group.turns[:count]
    return use_arrays(team, team.neighbours, team.degrees, *own)


@inlined
def _differs(group: _Group, count: int, best: int, first: int) -> bool:
    """Return whether one that decides takes another step in some candidate from `first` on than in the best one."""
    for c in range(first, group.after.shape[0]):
        for k in range(count):
            if group.decides[k] and group.after[c, k] != group.after[best, k]:
                return True
    return False


@kernel
def _look_ahead(team: Team, group: _Group, c: int, count: int, priorities: Any, horizon: int) -> int:
    """Play PIBT for some steps after a candidate; return how long agents travel, and how far they are in the end."""
    own = _use_group(team, group, group.later, count, group.scores[:0])
    plain = borrowed(own)
    now = plain.now
    plain.generator[0] = group.generators[c]
    for k in range(count):
        now[k], plain.order[k] = group.after[c, k], k
        has_arrived = now[k] == plain.goals[k] or now[k] == NOWHERE
        plain.waited[k] = 0 if has_arrived else priorities[group.members[k]] + 1
    value = 0
    for _ in range(horizon):
        num_travelling = 0
        for k in range(count):
            num_travelling += now[k] != NOWHERE and now[k] != plain.goals[k]
        if num_travelling == 0:
            break
        value += num_travelling
        sort_by_wait(plain)
        step_team(plain)
    for k in range(count):
        value += plain.distances[plain.rows[k], now[k]] if now[k] != NOWHERE else 0
    return value
