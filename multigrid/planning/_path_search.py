"""Search one agent's path that is in conflict with no path in a timetable.

A timetable has the paths of agents, to their targets or in a *window* of the next steps, and who is where when.
Both searches are A* over cells and steps. Costs are small integers, so the open states are kept in one stack for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import LEAVE, PARK, STAY
from multigrid.planning._graph import NOWHERE, NUM_COLUMNS
from multigrid.planning._kernels import borrowed, draw_below, inlined, kernel
from multigrid.planning._pibt import Team

FOREVER = 2**30  # in place of a step that never comes
NO_PATH = -1  # in place of a cost, or of a state of a search
LARGEST_GROUP = 16

_MOST_STATES = 2**21


class Timetable(NamedTuple):
    """The paths of N agents on C cells over H steps, and scratch for searches of S states."""

    neighbours: Any  # int32 (C, 5), as in `Graph`
    distances: Any  # int32 (K, C): tables of distances, as `distance_tables` returns them
    rows: Any  # int32 (N,): the table of each agent's goal
    goals: Any  # int32 (N,)
    rule: Any  # int64 (1,): on target, as `multigrid.core.rules` numbers them
    horizon: Any  # int64 (1,): later arrivals have a price, see `multigrid.planning._neighbourhoods`
    generator: Any  # int64 (1,), as `make_generator` returns it
    paths: Any  # int32 (N, H + 1): the cell of each agent after each step, `NOWHERE` once it has left
    costs: Any  # int64 (N,): the step of each arrival; in a window the cost of each path, see `find_path_in_window`
    lengths: Any  # int64 (N,): the number of steps of each path
    agents: Any  # int32 (H + 1, C): the agent in each cell after each step of its path, or `NOBODY`
    held_from: Any  # int32 (C,): the step from which on its owner stays in the cell, or `FOREVER`
    owners: Any  # int32 (C,): the agent that stays in the cell for good after its path, or `NOBODY`
    old_paths: Any  # int32 (G, H + 1): the paths of a group that are searched again
    old_costs: Any  # int64 (G,)
    labels: Any  # int32 (1 or 2, H + 1, C): the number of a cell's state at a step; smaller ones are of older searches
    state_cells: Any  # int32 (S,)
    state_times: Any  # int32 (S,)
    state_parents: Any  # int32 (S,): the state before it
    state_below: Any  # int32 (S,): the next state on the same stack
    tops: Any  # int32 (2 H + 2,): the top of the stack for each cost
    next_label: Any  # int64 (1,): where the numbers of the next search begin


def make_timetable(
    team: Team, rule: int, length: int, generator: Any, *, is_window: bool = False, horizon: int = FOREVER
) -> Timetable:
    """Return a timetable of `length` steps without paths, for the agents of a team on its graph."""
    num_agents, num_cells = len(team.goals), len(team.neighbours)
    num_states = 3 * (length + 1) * num_cells if is_window else min(_MOST_STATES, (length + 2) * num_cells)
    shape = (length + 1, num_cells)
    owners = np.full(num_cells, NOBODY, np.int32)
    if not is_window and rule != LEAVE:
        owners[team.goals] = np.arange(num_agents, dtype=np.int32)
    costs = np.zeros(num_agents, np.int64)
    largest = min(LARGEST_GROUP, num_agents)
    return Timetable(
        *(team.neighbours, team.distances, team.rows, team.goals),
        *(np.array([rule]), np.array([horizon]), generator),
        paths=np.full((num_agents, length + 1), NOWHERE, np.int32),
        costs=costs,
        lengths=np.full(num_agents, length) if is_window else costs,
        agents=np.full(shape, NOBODY, np.int32),
        held_from=np.full(num_cells, FOREVER, np.int32),
        owners=owners,
        old_paths=np.full((largest, length + 1), NOWHERE, np.int32),
        old_costs=np.zeros(largest, np.int64),
        labels=np.zeros((1 + is_window, *shape), np.int32),
        **{f"state_{name}": np.empty(num_states, np.int32) for name in ("cells", "times", "parents", "below")},
        tops=np.full(2 * length + 2, NO_PATH, np.int32),
        next_label=np.ones(1, np.int64),
    )


@inlined
def enter(table: Timetable, agent: int) -> None:
    """Enter an agent's path."""
    _write(table, agent, agent, table.lengths[agent])


@inlined
def remove(table: Timetable, agent: int) -> None:
    """Remove an agent's path; it stays in `paths`."""
    _write(table, agent, NOBODY, FOREVER)


@inlined
def _write(table: Timetable, agent: int, value: int, held_from: int) -> None:
    for t in range(table.lengths[agent] + 1):
        cell = table.paths[agent, t]
        if cell != NOWHERE:
            table.agents[t, cell] = value
    if table.owners[table.goals[agent]] == agent:
        table.held_from[table.goals[agent]] = held_from


_LARGEST_LABEL = 2**30
_STAY_COLUMN = 4


class WindowStates(NamedTuple):
    """What the S states of a search in a window have besides their cells and steps."""

    arrived: Any  # int32 (S,): whether the agent has arrived
    costs: Any  # int32 (S,): the cost so far and the distance that is left, above the least cost


@inlined
def find_path(table: Timetable, agent: int, limit: int) -> int:
    """Write the path with the earliest arrival to a table without the agent, and return the arrival.

    If there is no path that arrives in step `limit` at the latest, return `NO_PATH`, and write nothing.
    """
    start, goal = table.paths[agent, 0], table.goals[agent]
    limit = min(limit, table.paths.shape[1] - 1)
    earliest = _find_last_visit(table, goal) + 1 if table.rule[0] != LEAVE else 0
    estimate = max(table.distances[table.rows[agent], start], earliest)
    if estimate > limit:
        return NO_PATH
    first = _begin_search(table, estimate, limit)
    _push(table, 0, start, 0, NO_PATH, estimate)
    table.labels[0, 0, start] = first
    count, arrival = 1, NO_PATH
    while estimate <= limit:
        state = table.tops[estimate]
        if state == NO_PATH:
            estimate += 1
            continue
        table.tops[estimate] = table.state_below[state]
        if table.state_cells[state] == goal and table.state_times[state] >= earliest:
            arrival = int(table.state_times[state])
            _write_path(table, agent, state)
            break
        if count + NUM_COLUMNS > table.state_cells.shape[0]:
            break
        if table.state_times[state] < limit:
            count = _push_next(table, agent, state, count, earliest, limit)
    table.next_label[0] = first + count
    return arrival


@inlined
def _push_next(table: Timetable, agent: int, state: int, count: int, earliest: int, limit: int) -> int:
    """Push the states one step after a state; return how many there are in all."""
    cell, t = table.state_cells[state], table.state_times[state] + 1
    first, row = table.next_label[0], table.rows[agent]
    for a in range(NUM_COLUMNS):
        other_cell = table.neighbours[cell, a]
        if other_cell == NOWHERE or t >= table.held_from[other_cell] or table.agents[t, other_cell] != NOBODY:
            continue
        if a != _STAY_COLUMN and _is_swap(table, t, cell, other_cell):
            continue
        # Except under *stay*, an agent does not move on from its target.
        if table.rule[0] != STAY and other_cell == table.goals[agent] and t < earliest:
            continue
        estimate = max(t + table.distances[row, other_cell], earliest)
        if estimate > limit or table.labels[0, t, other_cell] >= first:
            continue
        table.labels[0, t, other_cell] = first + count
        _push(table, count, other_cell, t, state, estimate)
        count += 1
    return count


@inlined
def _find_last_visit(table: Timetable, cell: int) -> int:
    """Return the last step in which an agent of the table is in a cell, or -1."""
    t = table.agents.shape[0] - 1
    while t >= 0 and table.agents[t, cell] == NOBODY:
        t -= 1
    return int(t)


@kernel
def find_path_in_window(table: Timetable, states: WindowStates, agent: int, limit: int) -> int:
    """Do what `find_path` does in a window, with the path of least cost, for an agent that has not left.

    The cost is the step in which the agent arrives or, if it does not, the length of the window plus the distance that
    is left; under *stay*, the number of steps away from the target.
    """
    table, states = borrowed(table), borrowed(states)
    start, goal, last = table.paths[agent, 0], table.goals[agent], table.paths.shape[1] - 1
    least = int(table.distances[table.rows[agent], start])
    most = min(limit - least, table.tops.shape[0] - 1)
    first = _begin_search(table, 0, most)
    arrived = int(table.rule[0] == PARK and start == goal)
    table.labels[arrived, 0, start] = first
    if most >= 0:
        states.arrived[0], states.costs[0] = arrived, 0
        _push(table, 0, start, 0, NO_PATH, 0)
    count, cost, extra = 1, NO_PATH, 0
    while extra <= most:
        state = table.tops[extra]
        if state == NO_PATH:
            extra += 1
            continue
        table.tops[extra] = table.state_below[state]
        cell, t, arrived = table.state_cells[state], table.state_times[state], states.arrived[state]
        if table.labels[arrived, t, cell] != first + state:
            continue
        if t == last or (arrived == 1 and table.rule[0] == LEAVE):
            table.paths[agent, t + 1 :] = NOWHERE
            _write_path(table, agent, state)
            cost = least + extra
            break
        if count + NUM_COLUMNS > table.state_cells.shape[0]:
            break
        count = _push_next_in_window(table, states, agent, state, count, most)
    table.next_label[0] = first + count
    return cost


@inlined
def _push_next_in_window(table: Timetable, states: WindowStates, agent: int, state: int, count: int, most: int) -> int:
    """Push the states one step after a state; return how many there are in all."""
    cell, t = table.state_cells[state], table.state_times[state] + 1
    arrived, extra = states.arrived[state], states.costs[state]
    goal, rule, row = table.goals[agent], table.rule[0], table.rows[agent]
    here = 0 if arrived == 1 else table.distances[row, cell]
    first, turn = table.next_label[0], draw_below(table.generator, NUM_COLUMNS)
    for k in range(NUM_COLUMNS):
        column = (k + turn) % NUM_COLUMNS
        other_cell = table.neighbours[cell, column]
        if other_cell == NOWHERE or table.agents[t, other_cell] != NOBODY:
            continue
        if rule == PARK and arrived == 1 and column != _STAY_COLUMN:
            continue
        if column != _STAY_COLUMN and _is_swap(table, t, cell, other_cell):
            continue
        is_free = arrived == 1 or (rule == STAY and cell == goal and other_cell == goal)
        there = 0 if arrived == 1 else table.distances[row, other_cell]
        other_extra = extra + there - here + (0 if is_free else 1)
        if other_extra > most:
            continue
        has_arrived = int(arrived == 1 or (rule != STAY and other_cell == goal))
        label = table.labels[has_arrived, t, other_cell]
        if label >= first and states.costs[label - first] <= other_extra:
            continue
        table.labels[has_arrived, t, other_cell] = first + count
        states.arrived[count], states.costs[count] = has_arrived, other_extra
        _push(table, count, other_cell, t, state, other_extra)
        count += 1
    return count


@inlined
def price(table: Timetable, agent: int) -> Any:
    """Return the cost of an agent's path in a window."""
    goal, rule, last = table.goals[agent], table.rule[0], table.paths.shape[1] - 1
    cost = 0
    for t in range(last + 1):
        cell = table.paths[agent, t]
        is_there = cell == goal
        if cell == NOWHERE or (rule != STAY and is_there and (t > 0 or rule == PARK)):
            return t
        if t < last and not (rule == STAY and is_there and table.paths[agent, t + 1] == goal):
            cost += 1
    return cost + table.distances[table.rows[agent], table.paths[agent, last]]


@inlined
def _is_swap(table: Timetable, t: int, cell: int, other_cell: int) -> bool:
    """Return whether an agent comes from `other_cell` to `cell` in the step to t."""
    leaving = table.agents[t - 1, other_cell]
    return bool(leaving != NOBODY and leaving == table.agents[t, cell])


@inlined
def _begin_search(table: Timetable, lowest: int, highest: int) -> Any:
    """Clear the stacks for some costs, and return the number of the first state."""
    if table.next_label[0] > _LARGEST_LABEL:
        table.labels[:] = 0
        table.next_label[0] = 1
    for cost in range(lowest, highest + 1):
        table.tops[cost] = NO_PATH
    return table.next_label[0]


@inlined
def _push(table: Timetable, state: int, cell: int, time: int, parent: int, cost: int) -> None:
    table.state_cells[state], table.state_times[state], table.state_parents[state] = cell, time, parent
    table.state_below[state] = table.tops[cost]
    table.tops[cost] = state


@inlined
def _write_path(table: Timetable, agent: int, state: int) -> None:
    while state != NO_PATH:
        table.paths[agent, table.state_times[state]] = table.state_cells[state]
        state = table.state_parents[state]
