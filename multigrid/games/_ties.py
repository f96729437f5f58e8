"""Which of several chains of equal length moves: the first as networkx, on CPython 3.11, goes through the cells.

A set of CPython is a table of places. Where an element goes follows from its hash; the order of a set is that of its
places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.core.arrays import NOBODY, Arrays
from multigrid.runtime.compiled import inlined, kernel

# xxHash, as tuples are hashed.
_PRIME_1, _PRIME_2, _PRIME_5 = (
    np.uint64(11400714785074694791),
    np.uint64(14029467366897019727),
    np.uint64(2870177450012600261),
)
_LEFT, _RIGHT = np.uint64(31), np.uint64(33)
_PAIR = np.uint64(2) ^ _PRIME_5 ^ np.uint64(3527539)
_ONE, _FIVE = np.uint64(1), np.uint64(5)
_SMALLEST, _NEIGHBOURS, _GROWTH = 8, 9, 4


@inlined
def _find_end(w: Arrays, i: int) -> int:
    """Return the cell without an agent that a chain from agent i leads into, or -1."""
    for _ in range(w.own_cell.shape[0] + 1):
        ahead = w.occupant[w.requested[i]]
        if ahead == NOBODY:
            return int(w.requested[i])
        i = ahead
    return -1


@kernel
def find_first(w: Arrays, num_agents: int, scratch: Any, cell: int, longest: int) -> int:
    """Return which of the agents that ask for a cell, with chains of the same length behind them, comes first.

    If these chains have at least half of the cells that agents are in or ask for, it is the first one met by going
    through the agents: the own cell of each, then the cell that it asks for. Otherwise, the original goes through a set
    of the cells, in the order in which CPython does: they are put into it from the first agent's cell on, each before
    its neighbours.
    """
    num_cells, num_all = 1, num_agents
    occupant, own_cell, requested = w.occupant, w.own_cell, w.requested
    follower = 0
    while requested[follower] != cell or own_cell[follower] == cell:
        follower += 1
    end, start = _find_end(w, follower), NOBODY
    for j in range(num_agents):
        is_first = occupant[requested[j]] == NOBODY
        for k in range(j):
            is_first = is_first and requested[k] != requested[j]
        num_all += int(is_first)
        if _find_end(w, j) == end:
            num_cells += 1
            start = j if start == NOBODY else start
    found, count = scratch[: num_agents + 1], 1
    found[0] = own_cell[start]
    if 2 * num_cells >= num_all:
        for j in range(num_agents):
            for place in range(2):
                found[0] = requested[j] if place == 1 else own_cell[j]
                best = _find_candidate(w, found[0], cell, longest)
                if best != NOBODY:
                    return best
    done = 0
    while done < count:
        here = occupant[found[done]]
        if here != NOBODY:
            count = _add_cell(found, count, requested[here])
        for j in range(num_agents):
            if requested[j] == found[done] and own_cell[j] != found[done]:
                count = _add_cell(found, count, own_cell[j])
        done += 1
    for _ in range(2):
        _sort_as_set(found[:count], w.components.shape[2], scratch[num_agents + 1 :])
    for k in range(count):
        best = _find_candidate(w, found[k], cell, longest)
        if best != NOBODY:
            return best
    return follower


@inlined
def _add_cell(found: Any, count: int, cell: int) -> int:
    for k in range(count):
        if found[k] == cell:
            return count
    found[count] = cell
    return count + 1


@inlined
def _find_candidate(w: Arrays, own: int, cell: int, longest: int) -> int:
    """Return the agent in a cell if it asks for another one with the longest chain behind it, or `NOBODY`."""
    i = w.occupant[own]
    return i if i != NOBODY and w.requested[i] == cell and own != cell and w.refusal_reason[i] == longest else NOBODY


@kernel
def _sort_as_set(cells: Any, height: int, table: Any) -> None:
    """Put cells, no two alike, into the order of a set of pairs (x, y), to which they are added one by one.

    A cell is x * height + y. `table` is scratch for twice as many places as the set has.
    """
    room = table.shape[0] // 2
    old, new, size = table[:room], table[room:], _SMALLEST
    old[:size] = -1
    for k in range(cells.shape[0]):
        _insert(old, size, cells[k], height)
        if (k + 1) * 5 >= (size - 1) * 3:
            before = size
            size = _SMALLEST
            while size <= (k + 1) * _GROWTH:
                size *= 2
            new[:size] = -1
            for place in range(before):
                if old[place] >= 0:
                    _insert(new, size, old[place], height)
            old, new = new, old
    k = 0
    for place in range(size):
        if old[place] >= 0:
            cells[k] = old[place]
            k += 1


@kernel
def _insert(places: Any, size: int, cell: int, height: int) -> None:
    mask = np.uint64(size - 1)
    code = _hash_pair(cell // height, cell % height)
    shifted, start = code, code & mask
    while True:
        last = np.int64(start)
        last += _NEIGHBOURS if last + _NEIGHBOURS < size else 0
        for place in range(np.int64(start), last + 1):
            if places[place] < 0:
                places[place] = cell
                return
        shifted >>= _FIVE
        start = (start * _FIVE + _ONE + shifted) & mask


@kernel
def _hash_pair(x: int, y: int) -> Any:
    """Return ``hash((x, y))`` as an unsigned number, for small numbers of at least 0."""
    code = _PRIME_5
    for item in (x, y):
        code += np.uint64(item) * _PRIME_2
        code = (code << _LEFT) | (code >> _RIGHT)
        code *= _PRIME_1
    return code + _PAIR
