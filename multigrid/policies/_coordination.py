"""The next steps of agents that prefer some actions: PIBT on what they know of one another, with looks ahead.

The agent that has travelled longest since it was last on its target chooses first; of equal ones, the one with the
longest way. A candidate is a joint step, chosen by PIBT from scores of actions. Of several, agents take the one after
which they travel least in the next steps, by PIBT alone, and to their targets from where these end.

Agents know all others; or, with messages, those that they have heard of. Then each broadcasts its cell, target,
priority and scores to the agents in its window, and passes on what it has heard, once in each further round. Each plays
PIBT on what it knows, and takes its own step of the result; agents that know the same do this alike.

Scores under PIBT: Veerapaneni et al., 2024, call it CS-PIBT.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multigrid.planning._graph import FAR, NOWHERE, NUM_COLUMNS
from multigrid.planning._kernels import are_equal, borrowed, inlined, kernel
from multigrid.planning._pibt import Team, has_arrived, sort_by_wait, step_team, use_arrays, write_action
from multigrid.policies._surroundings import RADIUS

_SPREAD = 8
_MASK = 2**32 - 1


class Known(NamedTuple):
    """What agents know of one another, and what they choose."""

    everyone: bool  # whether all know all
    rounds: int  # of messages
    near: Any  # int32 (N, N): in each row, the agents in the window of each
    num_near: Any  # int32 (N,)
    heard: Any  # bool (N, N): whom each knows
    leader: Any  # int32 (N,): the first agent that knows the same as each
    queue: Any  # int32 (N,)
    order: Any  # int32 (N,): all agents, the one that chooses first in front
    now: Any  # int32 (N,): the cells of agents in a look ahead
    next: Any  # int32 (N,): the cells after a candidate
    choice: Any  # int32 (N,): the cells after the best candidate so far


@kernel
def coordinate(scratch: Team, known: Known, settings: Any, graphs: Any, worlds: Any, agents: Any, actions: Any) -> None:
    """Write the actions of E worlds, int64 (E, N), but for those that have no effect; the worlds share `scratch`."""
    scratch = borrowed(scratch)
    neighbours, degrees = graphs  # int32 (M, C, 5) and (M, C)
    num_actions, horizon, progress, seed = settings
    maps, steps, over = worlds  # (E,)
    cells, goals, rows, locations, priorities, scores = agents  # (E, N), (E, N, 2), (E, N), and float32 (C, E, N, 5)
    for e in range(maps.shape[0]):
        if over[e]:
            continue
        m = maps[e]
        world = neighbours[m], degrees[m], rows[e], goals[e], cells[e], scores[0, e]
        own = use_arrays(scratch, *world, scratch.order)
        team = borrowed(own)
        for c in range(scores.shape[0]):
            _add_progress(team, progress, scores[c, e])
        _sort(team, priorities[e], known.order)
        _listen(cells[e], locations[e], known)
        team.generator[0] = ((steps[e] & _MASK) * _SPREAD + seed) & _MASK
        for i in range(cells.shape[1]):
            if cells[e, i] == NOWHERE or known.leader[i] != i:
                continue
            _decide(team, known, known.heard[i], priorities[e], scores, e, horizon)
            for j in range(i, cells.shape[1]):
                if known.leader[j] == i:
                    team.after[j] = known.choice[j]
                    write_action(team, j, num_actions, actions[e])


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
def _listen(cells: Any, locations: Any, known: Known) -> None:
    """Write whom each agent has heard of after some rounds of messages, and who knows the same."""
    near, num_near, heard, leader, queue = known.near, known.num_near, known.heard, known.leader, known.queue
    num_agents = cells.shape[0]
    if known.everyone:
        heard[:] = True
        first = 0
        while first < num_agents - 1 and cells[first] == NOWHERE:
            first += 1
        leader[:] = first
        return
    for i in range(num_agents):
        num_near[i] = 0
        for j in range(num_agents if cells[i] != NOWHERE else 0):
            dx, dy = abs(locations[i, 0] - locations[j, 0]), abs(locations[i, 1] - locations[j, 1])
            if cells[j] != NOWHERE and max(dx, dy) <= RADIUS:
                near[i, num_near[i]] = j
                num_near[i] += 1
    for i in range(num_agents):
        heard[i] = False
        heard[i, i] = True
        queue[0], first, last = i, 0, 1
        for _ in range(known.rounds):
            if first == last:
                break
            end = last
            for k in range(first, end):
                for place in range(num_near[queue[k]]):
                    j = near[queue[k], place]
                    if not heard[i, j]:
                        heard[i, j] = True
                        queue[last] = j
                        last += 1
            first = end
        leader[i] = i
        for j in range(i):
            if heard[i, j] and are_equal(heard[i], heard[j]):
                leader[i] = j
                break


@inlined
def _decide(team: Team, known: Known, members: Any, priorities: Any, scores: Any, e: int, horizon: int) -> None:
    """Write the cells that some agents choose together; they know of no others."""
    now, least, first = known.now, FAR, team.generator[0]
    world = team.neighbours, team.degrees, team.rows, team.goals
    for c in range(scores.shape[0]):
        count = 0
        for k in range(members.shape[0]):
            i = known.order[k]
            now[i] = team.now[i] if members[i] else NOWHERE
            team.waited[i] = priorities[i]
            if members[i]:
                known.queue[count] = i
                count += 1
        order = known.queue[:count]
        team.generator[0] = first
        own = use_arrays(team, *world, now, scores[c, e], order)
        step_team(own)
        if c > 0 and are_equal(now, known.choice):
            continue
        known.next[:] = now
        value = 0
        if scores.shape[0] > 1:
            plain = use_arrays(team, *world, now, scores[c, e, :0], order)
            value = _look_ahead(plain, horizon)
        if c == 0 or value < least:
            least = value
            known.choice[:] = known.next
    team.generator[0] = first


@inlined
def _look_ahead(team: Team, horizon: int) -> int:
    """Play PIBT for some steps; return how long agents travel, and how far they are in the end."""
    value = 0
    for _ in range(horizon):
        if has_arrived(team):
            break
        for i in range(team.now.shape[0]):
            value += team.now[i] != NOWHERE and team.now[i] != team.goals[i]
        sort_by_wait(team)
        step_team(team)
    for i in range(team.now.shape[0]):
        value += team.distances[team.rows[i], team.now[i]] if team.now[i] != NOWHERE else 0
    return value
