"""Choose paths of the smallest costs with few conflicts, and list the conflicts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._graph import Ints
from multigrid.planning._kernels import inlined, kernel

INSIDE = 1 << 10  # the weight of a conflict with an agent whose path can be changed
OUTSIDE = 1  # the weight of a conflict with an agent whose path is fixed


class Pool(NamedTuple):
    """All paths of the smallest cost of many spaces, as `find_cheapest` returns them, one space after the other."""

    first: Ints  # where each step's nodes begin in `cells`
    cells: Ints
    actions: NDArray[np.uint8]


class PathChoice(NamedTuple):
    """Agents whose paths are chosen."""

    ends: Ints  # int32 (n, 3): where in `Pool.first` each agent's space begins, its cost, its goal
    fixed: Ints  # int32 (m, T + 1): the paths of agents outside the group
    is_old: NDArray[np.bool_]  # bool (n,): True where there is a path already, which is kept at first
    max_tries: int  # the number of changes in sequence without an improvement after which the choice ends


class Occupancy(NamedTuple):
    """The weights of agents in cells and of their moves, which are all 0 between two calls; and scratch."""

    occupied: Ints  # int32 (T + 1, C)
    moving: Ints  # int32 (T + 1, C, 4): the weights of agents with which an action in a cell at a step would swap
    rest: NDArray[np.int64]  # int64 (C,), scratch: the smallest weight of a path from each node of a step on
    state: NDArray[np.int64]  # int64 (1,): the state of the generator that breaks ties


@inlined
def draw(state: Any, below: int) -> int:
    """Return a random number from 0 to below - 1, of a linear congruential generator."""
    state[0] = (state[0] * 1103515245 + 12345) % 2147483648
    return int((state[0] >> 8) % below)


@inlined
def action_of(neighbours: Any, cell: int, after: int) -> int:
    """Return the action that leads from a cell to another; 4 if they are the same."""
    action = 4
    for a in range(4):
        if neighbours[cell, a] == after:
            action = a
    return action


@kernel
def add_path(neighbours: Any, path: Any, weight: int, tables: Any) -> None:
    """Add a weight to the cells of a path at each step, and to the moves that would swap with its own."""
    for step in range(path.shape[0]):
        cell = path[step]
        if cell < 0:
            return
        tables.occupied[step, cell] += weight
        if step + 1 < path.shape[0] and path[step + 1] >= 0:
            a = action_of(neighbours, path[step + 1], cell)
            if a < 4:
                tables.moving[step, path[step + 1], a] += weight


@kernel
def weigh_path(neighbours: Any, path: Any, tables: Any) -> int:
    """Return the weight of the conflicts of a path with the paths in the tables."""
    weight = 0
    for step in range(path.shape[0]):
        cell = path[step]
        if cell < 0:
            break
        weight += tables.occupied[step, cell]
        if step + 1 < path.shape[0] and path[step + 1] >= 0:
            a = action_of(neighbours, cell, path[step + 1])
            if a < 4:
                weight += tables.moving[step, cell, a]
    return int(weight)


@inlined
def choose_action(neighbours: Any, step: int, cell: int, actions: int, tables: Any) -> Any:
    """Return the action of a node that leads to the smallest weight, and that weight."""
    best, chosen, ties = np.int64(2**62), 4, 0
    for a in range(5):
        if not (actions >> a) & 1:
            continue
        after = neighbours[cell, a]
        weight = np.int64(tables.rest[after] + tables.occupied[step + 1, after])
        if a < 4:
            weight += tables.moving[step, cell, a]
        if weight < best:
            best, chosen, ties = weight, a, 1
        elif weight == best:
            ties += 1
            if draw(tables.state, ties) == 0:
                chosen = a
    return chosen, best


@kernel
def choose_path(neighbours: Any, pool: Any, ends: Any, path: Any, tables: Any) -> None:
    """Write the agent's path, up to its cost, whose conflicts with the paths in the tables weigh least."""
    cost = ends[1]
    first = pool.first[ends[0] : ends[0] + cost + 1]
    weights = np.zeros(first[cost] - first[0], np.int64)
    chosen = np.zeros(first[cost] - first[0], np.int8)
    tables.rest[ends[2]] = 0
    for step in range(cost - 1, -1, -1):
        for n in range(first[step], first[step + 1]):
            action_and_weight = choose_action(neighbours, step, pool.cells[n], pool.actions[n], tables)
            chosen[n - first[0]], weights[n - first[0]] = action_and_weight
        for n in range(first[step], first[step + 1]):
            tables.rest[pool.cells[n]] = weights[n - first[0]]
    path[0] = pool.cells[first[0]]
    for step in range(cost):
        for n in range(first[step], first[step + 1]):
            if pool.cells[n] == path[step]:
                path[step + 1] = neighbours[path[step], chosen[n - first[0]]]
                break


@kernel
def choose_paths(neighbours: Any, pool: Any, group: Any, paths: Any, tables: Any) -> None:
    """Choose a path for each agent, int32 (n, T + 1), with few conflicts; conflicts within the group weigh most."""
    num_agents = paths.shape[0]
    for k in range(group.fixed.shape[0]):
        add_path(neighbours, group.fixed[k], OUTSIDE, tables)
    for k in range(num_agents):
        if group.is_old[k]:
            add_path(neighbours, paths[k], INSIDE, tables)
    for k in range(num_agents):
        if not group.is_old[k]:
            choose_path(neighbours, pool, group.ends[k], paths[k], tables)
            add_path(neighbours, paths[k], INSIDE, tables)
    tries, clean, k = 0, 0, draw(tables.state, num_agents)
    # The agents take turns until none has a conflict, or `max_tries` changes have improved nothing.
    while tries < group.max_tries and clean < num_agents:
        k = (k + 1) % num_agents
        add_path(neighbours, paths[k], -INSIDE, tables)
        before = weigh_path(neighbours, paths[k], tables)
        clean += 1
        if before > 0:
            clean = 0
            choose_path(neighbours, pool, group.ends[k], paths[k], tables)
            tries = 0 if weigh_path(neighbours, paths[k], tables) < before else tries + 1
        add_path(neighbours, paths[k], INSIDE, tables)
    for k in range(group.fixed.shape[0]):
        add_path(neighbours, group.fixed[k], -OUTSIDE, tables)
    for k in range(num_agents):
        add_path(neighbours, paths[k], -INSIDE, tables)


@kernel
def list_conflicts(paths: Any, num_cells: int) -> Any:
    """List the conflicts between paths, int32 (n, T + 1), -1 where an agent has left; of three in a cell, two pairs.

    Rows are int32 (K, 4): the agents, the lower first; the step of it, or in which a swap begins; 1 for a swap, else 0.
    """
    num_agents, num_steps = paths.shape
    rows = np.empty((num_agents * num_steps * 2, 4), np.int32)
    last_visit = np.full(num_cells, -1, np.int64)
    count = 0
    for step in range(num_steps):
        # The entry of a cell holds its last visitor, and the step of that visit.
        for k in range(num_agents):
            cell = paths[k, step]
            if cell < 0:
                continue
            if last_visit[cell] >= step * num_agents:
                rows[count, 0], rows[count, 1] = last_visit[cell] - step * num_agents, k
                rows[count, 2], rows[count, 3] = step, 0
                count += 1
            last_visit[cell] = step * num_agents + k
        if step + 1 == num_steps:
            break
        for k in range(num_agents):
            cell, after = paths[k, step], paths[k, step + 1]
            if cell < 0 or after < 0 or cell == after or last_visit[after] < step * num_agents:
                continue
            other = last_visit[after] - step * num_agents
            if other > k and paths[other, step + 1] == cell:
                rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = k, other, step, 1
                count += 1
    return rows[:count].copy()
