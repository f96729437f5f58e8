"""Paths of all agents, each of its smallest cost: choose them with few conflicts, and list the conflicts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.compiled import inlined, kernel

__all__ = [
    "INSIDE",
    "OUTSIDE",
    "Group",
    "Pool",
    "Roads",
    "Tables",
    "choose_paths",
    "list_conflicts",
    "opposite_actions",
]

INSIDE = 1 << 10
"""The weight of a conflict with an agent whose path can be changed."""

OUTSIDE = 1
"""The weight of a conflict with an agent whose path is fixed."""


class Roads(NamedTuple):
    """The moves from each cell."""

    neighbours: NDArray[np.int32]
    """int32 (C, 5), as in `Graph`."""
    back: NDArray[np.int8]
    """int8 (C, 4), as `opposite_actions` returns it."""


class Pool(NamedTuple):
    """The paths of the smallest cost of many spaces, one after the other, as `find_cheapest` returns them."""

    first: NDArray[np.int32]
    """Where each step's nodes begin in `cells`."""
    cells: NDArray[np.int32]
    actions: NDArray[np.uint8]


class Group(NamedTuple):
    """Agents whose paths are chosen."""

    ends: NDArray[np.int32]
    """int32 (n, 3): where in `Pool.first` each agent's space begins, its cost, its goal."""
    fixed: NDArray[np.int32]
    """int32 (m, T + 1): the paths of agents outside the group."""
    is_old: NDArray[np.bool_]
    """bool (n,): True where there is a path already, which is kept at first."""
    max_tries: int
    """How many changes of a path in sequence may bring nothing."""


class Tables(NamedTuple):
    """The weights of agents in cells and of their moves: zeros, and so they are left; and scratch."""

    occupied: NDArray[np.int32]
    """int32 (T + 1, C)."""
    moving: NDArray[np.int32]
    """int32 (T + 1, C, 4): of those who leave a cell by an action."""
    rest: NDArray[np.int64]
    """int64 (C,), scratch: the weights from the nodes of a step on."""
    state: NDArray[np.int64]
    """int64 (1,): of the random numbers that choose among equals."""


@kernel
def opposite_actions(neighbours: Any) -> Any:
    """Return the action that leads back, for each cell and action; -1 for none.

    Args:
        neighbours: int32 (C, 5), as in `Graph`.

    Returns:
        int8 (C, 4).
    """
    back = np.full((neighbours.shape[0], 4), -1, np.int8)
    for cell in range(neighbours.shape[0]):
        for a in range(4):
            for b in range(4):
                if neighbours[cell, a] >= 0 and neighbours[neighbours[cell, a], b] == cell:
                    back[cell, a] = b
    return back


@inlined
def draw(state: Any, below: int) -> int:
    """Return a number from 0 to below - 1; a linear congruential generator, which breaks ties."""
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
def add_path(roads: Any, path: Any, weight: int, tables: Any) -> None:
    """Add a weight to the cells of a path at each step, and to its moves."""
    for step in range(path.shape[0]):
        cell = path[step]
        if cell < 0:
            return
        tables.occupied[step, cell] += weight
        if step + 1 < path.shape[0] and path[step + 1] >= 0:
            a = action_of(roads.neighbours, cell, path[step + 1])
            if a < 4:
                tables.moving[step, cell, a] += weight


@kernel
def weigh_path(roads: Any, path: Any, tables: Any) -> int:
    """Return the weight of the conflicts of a path with those in the tables."""
    weight = 0
    for step in range(path.shape[0]):
        cell = path[step]
        if cell < 0:
            break
        weight += tables.occupied[step, cell]
        if step + 1 < path.shape[0] and path[step + 1] >= 0:
            a = action_of(roads.neighbours, cell, path[step + 1])
            if a < 4:
                weight += tables.moving[step, path[step + 1], roads.back[cell, a]]
    return int(weight)


@inlined
def choose_action(roads: Any, step: int, cell: int, actions: int, tables: Any) -> Any:
    """Return the action of a node after which the weight is smallest, and that weight.

    Args:
        roads: a `Roads`.
        step: the node's.
        cell: the node's.
        actions: those that are allowed, as bits.
        tables: a `Tables`, whose `rest` has the weights of the next step's nodes.
    """
    best, chosen, ties = np.int64(2**62), 4, 0
    for a in range(5):
        if not (actions >> a) & 1:
            continue
        after = roads.neighbours[cell, a]
        weight = np.int64(tables.rest[after] + tables.occupied[step + 1, after])
        if a < 4:
            weight += tables.moving[step, after, roads.back[cell, a]]
        if weight < best:
            best, chosen, ties = weight, a, 1
        elif weight == best:
            ties += 1
            if draw(tables.state, ties) == 0:
                chosen = a
    return chosen, best


@kernel
def choose_path(roads: Any, pool: Any, ends: Any, path: Any, tables: Any) -> None:
    """Write the path of an agent that has conflicts of the smallest weight with those in the tables.

    Args:
        roads: a `Roads`.
        pool: a `Pool`.
        ends: int32 (3,): where in the pool the agent's space begins, its cost, its goal.
        path: int32 (T + 1,), is overwritten but for the steps after the cost; T is at least the cost.
        tables: a `Tables`.
    """
    cost, goal = ends[1], ends[2]
    first = pool.first[ends[0] : ends[0] + cost + 1]
    weights = np.zeros(first[cost] - first[0], np.int64)
    chosen = np.zeros(first[cost] - first[0], np.int8)
    tables.rest[goal] = 0
    for step in range(cost - 1, -1, -1):
        for n in range(first[step], first[step + 1]):
            a, weight = choose_action(roads, step, pool.cells[n], pool.actions[n], tables)
            chosen[n - first[0]] = a
            weights[n - first[0]] = weight
        for n in range(first[step], first[step + 1]):
            tables.rest[pool.cells[n]] = weights[n - first[0]]
    path[0] = pool.cells[first[0]]
    for step in range(cost):
        for n in range(first[step], first[step + 1]):
            if pool.cells[n] == path[step]:
                path[step + 1] = roads.neighbours[path[step], chosen[n - first[0]]]
                break


@kernel
def choose_paths(roads: Any, pool: Any, group: Any, paths: Any, tables: Any) -> None:
    """Choose a path for each agent, so that they have few conflicts; those within the group weigh most.

    Args:
        roads: a `Roads`.
        pool: a `Pool`.
        group: a `Group`.
        paths: int32 (n, T + 1), is overwritten; where the agents are after they have stopped, it stays as it is.
        tables: a `Tables`.
    """
    num_agents = paths.shape[0]
    for k in range(group.fixed.shape[0]):
        add_path(roads, group.fixed[k], OUTSIDE, tables)
    for k in range(num_agents):
        if group.is_old[k]:
            add_path(roads, paths[k], INSIDE, tables)
    for k in range(num_agents):
        if not group.is_old[k]:
            choose_path(roads, pool, group.ends[k], paths[k], tables)
            add_path(roads, paths[k], INSIDE, tables)
    tries, clean, k = 0, 0, draw(tables.state, num_agents)
    # Looks at the agents in turn, and ends when none is left with a conflict, or when changes are of no use.
    while tries < group.max_tries and clean < num_agents:
        k = (k + 1) % num_agents
        add_path(roads, paths[k], -INSIDE, tables)
        before = weigh_path(roads, paths[k], tables)
        clean += 1
        if before > 0:
            clean = 0
            choose_path(roads, pool, group.ends[k], paths[k], tables)
            tries = 0 if weigh_path(roads, paths[k], tables) < before else tries + 1
        add_path(roads, paths[k], INSIDE, tables)
    for k in range(group.fixed.shape[0]):
        add_path(roads, group.fixed[k], -OUTSIDE, tables)
    for k in range(num_agents):
        add_path(roads, paths[k], -INSIDE, tables)


@kernel
def list_conflicts(paths: Any, num_cells: int) -> Any:
    """List the conflicts between paths.

    Args:
        paths: int32 (n, T + 1), -1 where an agent has left.
        num_cells: the number of cells.

    Returns:
        int32 (K, 4): the two agents, the lower first; the step of a vertex conflict, or in which a swap begins; 1 for
        a swap, else 0. Of three agents in a cell, two pairs are listed.
    """
    num_agents, num_steps = paths.shape
    rows = np.empty((num_agents * num_steps * 2, 4), np.int32)
    last_visit = np.full(num_cells, -1, np.int64)
    count = 0
    for step in range(num_steps):
        # The value says which agent was last in the cell, and at which step.
        for k in range(num_agents):
            cell = paths[k, step]
            if cell < 0:
                continue
            if last_visit[cell] >= step * num_agents:
                rows[count, 0] = last_visit[cell] - step * num_agents
                rows[count, 1] = k
                rows[count, 2] = step
                rows[count, 3] = 0
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
                rows[count, 0] = k
                rows[count, 1] = other
                rows[count, 2] = step
                rows[count, 3] = 1
                count += 1
    return rows[:count].copy()
