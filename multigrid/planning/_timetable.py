"""The paths of agents, to their targets or in a *window* of the next steps, and who is in each cell at each step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multigrid.core.arrays import NOBODY
from multigrid.core.rules import LEAVE
from multigrid.planning._graph import NOWHERE
from multigrid.planning._kernels import inlined
from multigrid.planning._team import Team

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
