"""The paths of one agent under constraints: its smallest cost, and all its paths of that cost (its MDD).

The paths of one agent from its start to its goal are nodes (step, cell). An agent *stops* when it comes to its goal for
good; the step in which it does is its cost. Constraints are rows ``(step, cell, kind)``: kinds 0 - 4 forbid that action
in that cell at that step, `FORBID_CELL` forbids the cell at that step, `REQUIRE_CELL` all other cells.

Below are the pairs of costs that two agents can have at once. Rectangles, corridors, targets and all other causes of
conflicts are treated alike: by costs, as in the increasing cost tree search of Sharon et al. (AIJ 2013), and for two
agents at a time, as in the pairwise symmetry reasoning of Li et al. (AIJ 2021).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._graph import FAR, Ints
from multigrid.planning._kernels import inlined, kernel

Constraint = tuple[int, int, int]  # a step, a cell, and the kind of the constraint

FORBID_CELL = 5  # the kind of a constraint that forbids a cell at a step
REQUIRE_CELL = 6  # the kind of a constraint that forbids all other cells at a step
DEAD = FAR - 1  # in place of the smallest cost through a node that can be reached, but from which the goal cannot


class SpaceLimits(NamedTuple):
    """The start, goal, constraints and limits of one agent."""

    distances: Ints  # int32 (C,): the number of moves from each cell to the goal
    start: int
    goal: int
    blocked: NDArray[np.uint8]  # uint8 (steps, C), as `make_blocked` returns it
    earliest: int  # the first step in which it may stop
    high: int  # the largest cost that is allowed
    absorbing: bool  # whether it stops in the first step on its goal


def make_blocked(constraints: frozenset[Constraint], num_cells: int) -> NDArray[np.uint8]:
    """Return constraints as a table, uint8 (steps, C): bits 0 - 4 are for forbidden actions, 5 for the cell."""
    blocked = np.zeros((1 + max((step for step, _, _ in constraints), default=-1), num_cells), np.uint8)
    for step, cell, kind in constraints:
        if kind == REQUIRE_CELL:
            kept = blocked[step, cell]
            blocked[step] |= 1 << FORBID_CELL
            blocked[step, cell] = kept
    for step, cell, kind in constraints:
        if kind != REQUIRE_CELL:
            blocked[step, cell] |= 1 << kind
    return blocked


def first_stop(constraints: frozenset[Constraint], goal: int, low: int, *, leaves: bool) -> int:
    """Return the first step in which an agent may stop."""
    first = max(1, low)
    for step, cell, kind in constraints:
        if kind == REQUIRE_CELL:
            if cell != goal:
                first = max(first, step + 1)
            elif leaves:
                first = max(first, step)
        elif kind == FORBID_CELL and cell == goal and not leaves:
            first = max(first, step + 1)
    return first


@inlined
def is_open(blocked: Any, step: int, cell: int, action: int, after: int) -> bool:
    """Return whether constraints allow an action in a cell at a step, which leads to the cell `after`."""
    if step < blocked.shape[0] and (blocked[step, cell] >> action) & 1:
        return False
    return not (step + 1 < blocked.shape[0] and (blocked[step + 1, after] >> FORBID_CELL) & 1)


@inlined
def is_stop(step: int, cell: int, after: int, goal: int, earliest: int) -> bool:
    """Return whether an agent may stop for good with this move; one that rests on its goal has stopped earlier."""
    return after == goal and step + 1 >= earliest and (cell != goal or step == 0)


@kernel
def reach(neighbours: Any, limits: Any, cap: int, costs: Any) -> Any:
    """List the nodes on paths with a cost of at most `cap`, as `trace_nodes` does, and mark them as `DEAD`."""
    offsets = np.zeros(cap + 2, np.int32)
    cells = np.empty(cap * neighbours.shape[0] + 1, np.int32)
    cells[0], costs[0, limits.start] = limits.start, DEAD
    last, next_cap = 1, FAR
    offsets[1] = 1
    for step in range(cap):
        for n in range(offsets[step], offsets[step + 1]):
            cell = cells[n]
            for a in range(5):
                after = neighbours[cell, a]
                if after < 0 or not is_open(limits.blocked, step, cell, a, after):
                    continue
                if after == limits.goal:
                    if limits.absorbing:
                        continue
                    cost = step + 3  # An agent that passes over its goal comes back two steps later at the earliest.
                else:
                    cost = step + 1 + limits.distances[after]
                if cost > cap:
                    next_cap = min(next_cap, cost)
                elif costs[step + 1, after] == FAR:
                    costs[step + 1, after] = DEAD
                    cells[last] = after
                    last += 1
        offsets[step + 2] = last
    return offsets, cells[:last].copy(), next_cap


@kernel
def trace_nodes(neighbours: Any, limits: Any, cap: int) -> Any:
    """Return the nodes on paths of an agent with a cost of at most `cap`, and the next cap with more nodes, or `FAR`.

    The nodes are int32 (cap + 2,): where each step's begin; int32: their cells; int32 (cap + 1, C): the smallest cost
    of a path through each, `DEAD` or `FAR` without one.
    """
    costs = np.full((cap + 1, neighbours.shape[0]), FAR, np.int32)
    offsets, cells, next_cap = reach(neighbours, limits, cap, costs)
    for step in range(cap - 1, -1, -1):
        for n in range(offsets[step], offsets[step + 1]):
            cell = cells[n]
            best = DEAD
            for a in range(5):
                after = neighbours[cell, a]
                if after < 0 or not is_open(limits.blocked, step, cell, a, after):
                    continue
                if is_stop(step, cell, after, limits.goal, limits.earliest):
                    best = min(best, step + 1)
                best = min(best, costs[step + 1, after])
            costs[step, cell] = best
    return offsets, cells, costs, next_cap


@kernel
def find_cheapest(neighbours: Any, limits: Any) -> Any:
    """Return the smallest cost of an agent's paths, `FAR` if there is none, and the nodes of all paths of that cost.

    The nodes are int32 (cost + 1,): where each step's begin; int32: their cells; uint8: their actions, as bits.
    """
    cap = max(limits.earliest, limits.distances[limits.start])
    while cap <= limits.high:
        offsets, cells, costs, next_cap = trace_nodes(neighbours, limits, cap)
        if costs[0, limits.start] != DEAD:
            first, kept, actions = keep_cheapest(neighbours, limits, offsets, cells, costs)
            return cap, first, kept, actions
        cap = next_cap
    return FAR, np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint8)


@kernel
def keep_cheapest(neighbours: Any, limits: Any, offsets: Any, cells: Any, costs: Any) -> Any:
    """Return the nodes on paths of the smallest cost, and their actions, as `find_cheapest` does."""
    cost = costs[0, limits.start]
    first = np.zeros(cost + 1, np.int32)
    kept = np.empty(cells.shape[0], np.int32)
    actions = np.zeros(cells.shape[0], np.uint8)
    last = 0
    for step in range(cost):
        for n in range(offsets[step], offsets[step + 1]):
            cell = cells[n]
            if costs[step, cell] != cost:
                continue
            bits = 0
            for a in range(5):
                after = neighbours[cell, a]
                if after >= 0 and is_open(limits.blocked, step, cell, a, after):
                    ends = step + 1 == cost and is_stop(step, cell, after, limits.goal, limits.earliest)
                    if ends or (step + 1 < cost and costs[step + 1, after] == cost):
                        bits |= 1 << a
            kept[last], actions[last] = cell, bits
            last += 1
        first[step + 1] = last
    return first, kept[:last].copy(), actions[:last].copy()


class Side(NamedTuple):
    """One agent of a pair: its nodes, and the costs that are considered."""

    offsets: Ints  # the nodes up to its largest cost are this and the next two arrays, as `trace_nodes` returns them
    cells: Ints
    costs: Ints
    blocked: NDArray[np.uint8]  # as `make_blocked` returns it
    goal: int
    smallest: int  # its smallest cost
    largest: int  # the largest cost that is considered
    earliest: int  # the first step in which it may stop
    leaves: bool  # whether it leaves its goal when it has stopped


@inlined
def index_nodes(offsets: Any, cells: Any, step: int, index: Any) -> None:
    """Write the place of each cell of a step's nodes in the list of that step."""
    if step + 1 < offsets.shape[0]:
        for n in range(offsets[step], offsets[step + 1]):
            index[cells[n]] = n - offsets[step]


@kernel
def list_options(neighbours: Any, side: Any, step: int, code: int, scratch: Any) -> int:
    """Write an agent's options in a step, int32 (6, 2): the cell after it, -1 if gone, and its code; return how many.

    A code is the place in the list of the step's nodes, or -1 - d after a stop with d more than the smallest cost.
    """
    index, options = scratch  # index: the place of each cell in the list of the next step's nodes, int32 (C,)
    if code < 0:
        options[0, 0], options[0, 1] = -1 if side.leaves else side.goal, code
        return 1
    cell = side.cells[side.offsets[step] + code]
    count = 0
    for a in range(5):
        after = neighbours[cell, a]
        if after < 0 or not is_open(side.blocked, step, cell, a, after):
            continue
        if step + 1 <= side.largest and is_stop(step, cell, after, side.goal, side.earliest):
            options[count, 0], options[count, 1] = after, side.smallest - step - 2
            count += 1
        if step + 1 < side.largest and side.costs[step + 1, after] <= side.largest:
            options[count, 0], options[count, 1] = after, index[after]
            count += 1
    return count


@inlined
def is_conflict(cell: int, after: int, other_cell: int, other_after: int) -> bool:
    """Return whether two agents are in one cell after a step, or swap in it; -1 in place of a cell: it has left."""
    if after >= 0 and after == other_after:
        return True
    return cell >= 0 and other_cell >= 0 and after == other_cell and other_after == cell


@kernel
def find_joint_costs(neighbours: Any, one: Any, other: Any, max_states: int, found: Any) -> int:
    """Set ``found[a, b]``, uint8 (A + 1, B + 1), to 1 where the agents can have surpluses a and b at the same time.

    A surplus is the cost above the smallest one. Return the number of joint states, -1 if there are more than
    `max_states`.
    """
    width, other_width = max(1, np.diff(one.offsets).max()), max(1, np.diff(other.offsets).max())
    columns = other_width + found.shape[1]
    capacity = (width + found.shape[0]) * columns
    stamps = np.zeros(capacity, np.int32)
    now, later = np.empty((capacity, 2), np.int32), np.empty((capacity, 2), np.int32)
    num_cells = neighbours.shape[0]
    scratch = np.zeros(num_cells, np.int32), np.empty((6, 2), np.int32)
    other_scratch = np.zeros(num_cells, np.int32), np.empty((6, 2), np.int32)
    now[0] = 0
    count, total, step = 1, 0, 0
    while count > 0:
        total += count
        if total > max_states:
            return -1
        index_nodes(one.offsets, one.cells, step + 1, scratch[0])
        index_nodes(other.offsets, other.cells, step + 1, other_scratch[0])
        new_count = 0
        for n in range(count):
            p, q = now[n]
            u = one.cells[one.offsets[step] + p] if p >= 0 else -1
            v = other.cells[other.offsets[step] + q] if q >= 0 else -1
            num_options = list_options(neighbours, one, step, p, scratch)
            other_num_options = list_options(neighbours, other, step, q, other_scratch)
            for i in range(num_options):
                u_after, p_after = scratch[1][i]
                for j in range(other_num_options):
                    v_after, q_after = other_scratch[1][j]
                    if is_conflict(u, u_after, v, v_after):
                        continue
                    if p_after < 0 and q_after < 0:
                        found[-1 - p_after, -1 - q_after] = 1
                        continue
                    row = p_after if p_after >= 0 else width - 1 - p_after
                    place = row * columns + (q_after if q_after >= 0 else other_width - 1 - q_after)
                    if stamps[place] != step + 1:
                        stamps[place] = step + 1
                        later[new_count, 0], later[new_count, 1] = p_after, q_after
                        new_count += 1
        now, later = later, now
        count, step = new_count, step + 1
    return total


@kernel
def make_staircase(found: Any) -> Any:
    """Return the smallest surplus of the second agent for each of the first: a staircase that falls, int32 (A + 2,).

    Entry a holds if the first agent's surplus is at most a; it is B + 1 if the second agent's is more than B. The last
    entry, for a = A + 1, is 0, because nothing is known there.
    """
    stairs = np.zeros(found.shape[0] + 1, np.int32)
    best = found.shape[1]
    for a in range(found.shape[0]):
        for b in range(best):
            if found[a, b]:
                best = b
                break
        stairs[a] = best
    return stairs
