"""The pairs of costs that two agents can have at once, without a conflict between them.

Rectangles, corridors, targets and all other causes of conflicts are treated alike: by costs, as in the increasing cost
tree search of Sharon et al. (AIJ 2013), and for two agents at a time, as in the pairwise symmetry reasoning of Li et
al. (AIJ 2021).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._cbs_spaces import is_open, is_stop
from multigrid.planning._graph import Ints
from multigrid.planning._kernels import inlined, kernel


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
