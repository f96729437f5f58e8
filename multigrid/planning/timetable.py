"""A plan as a table of the agent in each cell at each step, and the search of one agent's path in it.

The search is A* over cells and steps. Its path is in conflict with no path in the table. Since every step costs 1, the
open states are kept in one stack for each estimate of the arrival.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.core.rules import LEAVE, STAY
from multigrid.planning.compiled import inlined, kernel
from multigrid.planning.graph import NOWHERE
from multigrid.runtime.arrays import NOBODY

__all__ = ["FOREVER", "NO_PATH", "Timetable", "enter", "find_path", "make_timetable", "remove"]

FOREVER = 2**30
"""In `Timetable.held_from`: no agent stays in the cell for good."""

NO_PATH = -1
"""In place of an arrival."""

_MOST_STATES = 2**21
_LARGEST_LABEL = 2**30
_NUM_COLUMNS = 5
_STAY_COLUMN = 4


class Timetable(NamedTuple):
    """The paths of N agents on C cells over at most H steps, and the agent in each cell at each step."""

    neighbours: Any
    """int32 (C, 5), as in `multigrid.planning.graph.Graph`."""
    distances: Any
    """int32 (N, C), as `multigrid.planning.graph.distance_tables` returns them."""
    goals: Any
    """int32 (N,)."""
    rule: Any
    """int64 (1,): `PARK`, `LEAVE` or `STAY` of `multigrid.core.rules`."""
    paths: Any
    """int32 (N, H + 1): the cell of each agent up to its arrival."""
    arrivals: Any
    """int32 (N,): the step of its arrival."""
    agents: Any
    """int32 (H + 2, C): the agent in each cell up to its arrival, or `NOBODY`."""
    held_from: Any
    """int32 (C,): the step from which on an agent that has arrived stays in the cell, or `FOREVER`."""
    owners: Any
    """int32 (C,): the agent whose goal a cell is, or `NOBODY`."""
    labels: Any
    """int32 (H + 2, C): the number of the search state of a cell at a step; smaller numbers are of older searches."""
    state_cells: Any
    """int32 (S,): by state of a search, its cell."""
    state_times: Any
    """int32 (S,)."""
    state_parents: Any
    """int32 (S,): the state before it."""
    state_below: Any
    """int32 (S,): the next state on the same stack."""
    tops: Any
    """int32 (H + 2,): the top of the stack for each estimate."""
    next_label: Any
    """int64 (1,): where the numbers of the next search begin."""


def make_timetable(
    neighbours: NDArray[np.int32], distances: NDArray[np.int32], goals: NDArray[np.int32], rule: int, horizon: int
) -> Timetable:
    """Return a timetable without paths.

    Args:
        neighbours: int32 (C, 5), as in `multigrid.planning.graph.Graph`.
        distances: int32 (N, C), as `multigrid.planning.graph.distance_tables` returns them.
        goals: int32 (N,).
        rule: `PARK`, `LEAVE` or `STAY` of `multigrid.core.rules`.
        horizon: H.
    """
    num_agents, num_cells = distances.shape
    num_states = min(_MOST_STATES, (horizon + 2) * num_cells)
    owners = np.full(num_cells, NOBODY, np.int32)
    owners[goals] = np.arange(num_agents, dtype=np.int32)
    return Timetable(
        neighbours,
        distances,
        goals,
        np.array([rule]),
        paths=np.full((num_agents, horizon + 1), NOWHERE, np.int32),
        arrivals=np.zeros(num_agents, np.int32),
        agents=np.full((horizon + 2, num_cells), NOBODY, np.int32),
        held_from=np.full(num_cells, FOREVER, np.int32),
        owners=owners,
        labels=np.zeros((horizon + 2, num_cells), np.int32),
        state_cells=np.empty(num_states, np.int32),
        state_times=np.empty(num_states, np.int32),
        state_parents=np.empty(num_states, np.int32),
        state_below=np.empty(num_states, np.int32),
        tops=np.full(horizon + 2, NO_PATH, np.int32),
        next_label=np.ones(1, np.int64),
    )


@kernel
def enter(table: Timetable, agent: int) -> None:
    """Enter an agent's path into the timetable."""
    arrival = table.arrivals[agent]
    for t in range(arrival + 1):
        table.agents[t, table.paths[agent, t]] = agent
    if table.rule[0] != LEAVE:
        table.held_from[table.goals[agent]] = arrival


@kernel
def remove(table: Timetable, agent: int) -> None:
    """Remove an agent's path from the timetable; it stays in `paths`."""
    for t in range(table.arrivals[agent] + 1):
        table.agents[t, table.paths[agent, t]] = NOBODY
    table.held_from[table.goals[agent]] = FOREVER


@kernel
def find_path(table: Timetable, agent: int, start: int, limit: int) -> int:
    """Find the path with the earliest arrival that is in conflict with no path in the table; write it to `paths`.

    Args:
        table: the timetable, without the agent's path.
        agent: the agent.
        start: its cell at the beginning.
        limit: the latest arrival; at most H.

    Returns:
        The step of its arrival, or `NO_PATH`, and then `paths` is unchanged.
    """
    goal = table.goals[agent]
    earliest = _find_last_visit(table, goal) + 1 if table.rule[0] != LEAVE else 0
    if table.next_label[0] > _LARGEST_LABEL:
        table.labels[:] = 0
        table.next_label[0] = 1
    first = table.next_label[0]
    estimate = max(table.distances[agent, start], earliest)
    if estimate > limit:
        return NO_PATH
    for e in range(estimate, limit + 1):
        table.tops[e] = NO_PATH
    _push(table, 0, start, 0, NO_PATH, estimate)
    table.labels[0, start] = first
    count = 1
    arrival = NO_PATH
    while estimate <= limit:
        state = table.tops[estimate]
        if state == NO_PATH:
            estimate += 1
            continue
        table.tops[estimate] = table.state_below[state]
        if table.state_cells[state] == goal and table.state_times[state] >= earliest:
            arrival = _write_path(table, agent, state)
            break
        if count + _NUM_COLUMNS > table.state_cells.shape[0]:
            break
        if table.state_times[state] < limit:
            count = _push_next(table, agent, state, count, earliest, limit)
    table.next_label[0] = first + count
    return arrival


@inlined
def _push_next(table: Timetable, agent: int, state: int, count: int, earliest: int, limit: int) -> int:
    """Push the states one step after a state; return how many there are in all."""
    cell, t = table.state_cells[state], table.state_times[state] + 1
    first = table.next_label[0]
    for a in range(_NUM_COLUMNS):
        other_cell = table.neighbours[cell, a]
        if other_cell == NOWHERE or t >= table.held_from[other_cell] or table.agents[t, other_cell] != NOBODY:
            continue
        leaving = table.agents[t - 1, other_cell]
        if a != _STAY_COLUMN and leaving != NOBODY and leaving == table.agents[t, cell]:
            continue
        # Except under *stay*, an agent does not move on from its target.
        if table.rule[0] != STAY and other_cell == table.goals[agent] and t < earliest:
            continue
        estimate = max(t + table.distances[agent, other_cell], earliest)
        if estimate > limit or table.labels[t, other_cell] >= first:
            continue
        table.labels[t, other_cell] = first + count
        _push(table, count, other_cell, t, state, estimate)
        count += 1
    return count


@inlined
def _push(table: Timetable, state: int, cell: int, time: int, parent: int, estimate: int) -> None:
    table.state_cells[state], table.state_times[state], table.state_parents[state] = cell, time, parent
    table.state_below[state] = table.tops[estimate]
    table.tops[estimate] = state


@inlined
def _find_last_visit(table: Timetable, cell: int) -> int:
    """Return the last step in which an agent of the table is in a cell, or -1."""
    t = table.agents.shape[0] - 1
    while t >= 0 and table.agents[t, cell] == NOBODY:
        t -= 1
    return int(t)


@inlined
def _write_path(table: Timetable, agent: int, state: int) -> int:
    arrival = table.state_times[state]
    while state != NO_PATH:
        table.paths[agent, table.state_times[state]] = table.state_cells[state]
        state = table.state_parents[state]
    return int(arrival)
