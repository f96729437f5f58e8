"""Plan a few agents together, each with its smallest cost: find paths for all, or a proof that one has to cost more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._cbs_pairs import find_combination
from multigrid.planning._cbs_paths import INSIDE, OUTSIDE, Moves, Occupancy, Pool, add_path
from multigrid.planning._graph import Ints
from multigrid.planning._kernels import inlined, kernel

IMPOSSIBLE = -1  # the agents of a cluster cannot all have their smallest costs
GAVE_UP = -2  # there are too many joint states


class Cluster(NamedTuple):
    """A few agents of a group, which are planned together, and what their paths are searched in."""

    moves: Moves
    pool: Pool
    tables: Occupancy
    members: Ints  # int32 (m,): the agents' positions in the group
    ends: Ints  # int32 (n, 3): of each agent of the group, as in `PathChoice`
    fixed: Ints  # int32 (f, T + 1): the paths of agents outside the group
    leaves: bool  # whether agents leave their goals when they have stopped
    max_states: int  # the largest number of joint states


class Layers(NamedTuple):
    """The joint states of all steps, one step after the other."""

    places: Ints  # int32 (states, m): the place of each agent's node in the list of the step's nodes
    weights: NDArray[np.int64]  # int64 (states,): the weight of the conflicts on the best path to each state
    parents: Ints  # int32 (states,): the state before each
    slots: Ints  # int32: the state of each combination of places, -1 if there is none
    options: Ints  # int32 (m, 5, 3), scratch: the cell after each option, its place, its weight
    counts: Ints  # int32 (m,), scratch: the number of options
    chosen: Ints  # int32 (m,), scratch
    cells: Ints  # int32 (m,), scratch: the cells of a state


@inlined
def count_nodes(pool: Any, end: Any, step: int) -> int:
    """Return the number of nodes of an agent at a step; 1 once it has stopped."""
    return int(pool.first[end[0] + step + 1] - pool.first[end[0] + step]) if step < end[1] else 1


@inlined
def cell_at(cluster: Any, k: int, step: int, place: int) -> int:
    """Return the cell of a node of an agent, -1 when it has left."""
    pool, end = cluster.pool, cluster.ends[k]
    if step < end[1]:
        return int(pool.cells[pool.first[end[0] + step] + place])
    return -1 if cluster.leaves and step > end[1] else int(end[2])


@kernel
def list_steps(cluster: Any, step: int, layers: Any, state: int) -> None:
    """Write the options of each agent in a step from a state into `layers`."""
    moves, pool, tables, options = cluster.moves, cluster.pool, cluster.tables, layers.options
    for m in range(cluster.members.shape[0]):
        end, place = cluster.ends[cluster.members[m]], layers.places[state, m]
        cell = cell_at(cluster, cluster.members[m], step, place)
        layers.cells[m] = cell
        if step >= end[1]:
            after = cell_at(cluster, cluster.members[m], step + 1, 0)
            weight = tables.occupied[step + 1, after] if after >= 0 else 0
            options[m, 0, 0], options[m, 0, 1], options[m, 0, 2] = after, 0, weight
            layers.counts[m] = 1
            continue
        count, actions = 0, pool.actions[pool.first[end[0] + step] + place]
        for a in range(5):
            if not (actions >> a) & 1:
                continue
            after = moves.neighbours[cell, a]
            weight = tables.occupied[step + 1, after]
            if a < 4:
                weight += tables.moving[step, after, moves.back[cell, a]]
            options[m, count, 0], options[m, count, 2] = after, weight
            options[m, count, 1] = find_place(pool, end, step + 1, after)
            count += 1
        layers.counts[m] = count


@inlined
def find_place(pool: Any, end: Any, step: int, cell: int) -> int:
    """Return the place of a cell in the list of a step's nodes; 0 when the agent has stopped."""
    place = 0
    if step < end[1]:
        first = pool.first[end[0] + step]
        while pool.cells[first + place] != cell:
            place += 1
    return place


@kernel
def add_states(cluster: Any, step: int, layers: Any, state: int, last: int) -> int:
    """Add the successors of a state; return the number of all states then, -1 if there are too many."""
    num_members, chosen = cluster.members.shape[0], layers.chosen
    k = chosen[0] = 0
    while find_combination(layers.cells, layers.options, layers.counts, chosen, k):
        k = num_members - 1
        code, weight = 0, layers.weights[state]
        for m in range(num_members):
            code = code * count_nodes(cluster.pool, cluster.ends[cluster.members[m]], step + 1)
            code += layers.options[m, chosen[m], 1]
            weight += layers.options[m, chosen[m], 2]
        slot = layers.slots[code]
        is_new = slot < 0
        if is_new:
            if last == cluster.max_states:
                return -1
            slot = layers.slots[code] = last
            last += 1
            for m in range(num_members):
                layers.places[slot, m] = layers.options[m, chosen[m], 1]
        if is_new or weight < layers.weights[slot]:
            layers.weights[slot] = weight
            layers.parents[slot] = state
        chosen[k] += 1
    return last


@kernel
def plan_states(cluster: Any, paths: Any) -> int:
    """Write the paths of a cluster with the smallest weight, and return it, as `plan_cluster` does."""
    num_members = cluster.members.shape[0]
    duration, most = 0, 1
    for k in cluster.members:
        duration = max(duration, cluster.ends[k, 1])
    for step in range(duration):
        combinations = 1
        for k in cluster.members:
            combinations *= count_nodes(cluster.pool, cluster.ends[k], step)
        most = max(most, combinations)
    if most > 8 * cluster.max_states:
        return GAVE_UP
    scratch = np.zeros((3, num_members), np.int32)
    layers = Layers(
        np.zeros((cluster.max_states, num_members), np.int32),
        np.zeros(cluster.max_states, np.int64),
        np.zeros(cluster.max_states, np.int32),
        np.full(most, -1, np.int32),
        np.zeros((num_members, 5, 3), np.int32),
        *(scratch[0], scratch[1], scratch[2]),
    )
    first, last = 0, 1
    for step in range(duration):
        end = last
        for state in range(first, end):
            list_steps(cluster, step, layers, state)
            last = add_states(cluster, step, layers, state, last)
            if last < 0:
                return GAVE_UP
        if last == end:
            return IMPOSSIBLE
        first = end
        layers.slots[:] = -1
    state = first
    for step in range(duration, -1, -1):
        for m, k in enumerate(cluster.members):
            paths[k, step] = cell_at(cluster, k, step, layers.places[state, m])
        state = layers.parents[state]
    return int(layers.weights[first])


@kernel
def plan_cluster(cluster: Any, paths: Any) -> int:
    """Overwrite the paths of a cluster, among those of its group, int32 (n, T + 1), with paths of the smallest costs.

    Return the weight of the conflicts with other agents until all have stopped; or `IMPOSSIBLE`, `GAVE_UP`.
    """
    is_member = np.zeros(paths.shape[0], np.bool_)
    for k in cluster.members:
        is_member[k] = True
    weight = GAVE_UP
    for sign in (1, -1):
        for k in range(cluster.fixed.shape[0]):
            add_path(cluster.moves, cluster.fixed[k], sign * OUTSIDE, cluster.tables)
        for k in range(paths.shape[0]):
            if not is_member[k]:
                add_path(cluster.moves, paths[k], sign * INSIDE, cluster.tables)
        if sign == 1:
            weight = plan_states(cluster, paths)
    return int(weight)
