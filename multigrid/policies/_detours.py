"""Ways around parked agents: their cells lengthen the ways of others.

The sum of costs runs to each agent's last arrival: an agent that is pushed off its target is charged for all the steps
that it rested there. So a cell whose agent is parked on its target counts as many steps more as that agent has rested,
at most `_MOST`, for those that have the cell in their window and have come nearer to their targets lately. The longer
ways lead around it where the detour is short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._graph import FAR, NOWHERE, NUM_MOVES, Places, Tables
from multigrid.planning._kernels import inlined, kernel
from multigrid.planning._pibt import NUM_SCORES
from multigrid.policies._surroundings import NUM_CELLS, OWN_TARGET, RADIUS, SIDE, Windows, describe_ground

_MOST = 5
_QUEUE = 128  # at least NUM_CELLS: no cell is in the queue twice


def go_around(
    tables: Tables, states: Mapping[str, Any], places: Places, is_calm: NDArray[np.bool_], windows: Windows
) -> NDArray[np.float32]:
    """Return by how many steps each action leads nearer to the target, float32 (E * N, 5); 0 where it cannot.

    Args:
        tables: of the maps.
        states: of the E worlds, with "arrival_step".
        places: what `Tables.locate` returns for the states.
        is_calm: bool (E * N,), whether each agent has come nearer lately. Only these, and no parked ones, go around.
        windows: what `Surroundings.observe` returns for the states; the codes of the ground are written to.
    """
    cells, goals, rows = places
    num_worlds, num_cells = len(cells), tables.neighbours.shape[1]
    rested = np.minimum(np.asarray(states["steps"])[:, None] - np.maximum(states["arrival_step"], 0), _MOST)
    worlds, parked = np.nonzero(cells == goals)
    rests = np.zeros((num_worlds, num_cells), np.int32)
    rests[worlds, cells[worlds, parked]] = rested[worlds, parked]
    nearer = np.zeros((len(windows.ways), NUM_SCORES), np.float32)
    scratch = np.zeros(num_cells, np.int32), np.zeros(num_cells, np.bool_)
    maps = tables.index, tables.neighbours, tables.distances, np.asarray(states["map_index"])
    agents = cells, goals, rows, np.asarray(states["location"]), is_calm
    _go_around(maps, rests, agents, scratch, windows.grounds, nearer)
    return nearer


@kernel
def _go_around(maps: Any, rests: Any, agents: Any, scratch: Any, grounds: Any, nearer: Any) -> None:
    index, neighbours, distances, numbers = maps
    cells, goals, rows, locations, is_calm = agents  # (E, N), but (E, N, 2) and (E * N,)
    lengths, is_queued = scratch  # zeros of (C,)
    seen, queue = np.empty(NUM_CELLS, np.int32), np.empty(_QUEUE, np.int32)
    for e in range(cells.shape[0]):
        m = numbers[e]
        for i in range(cells.shape[1]):
            k, here, goal = e * cells.shape[1] + i, cells[e, i], goals[e, i]
            if here == NOWHERE:
                continue
            way = distances[rows[e, i]]
            if is_calm[k] and here != goal and _list_seen(index[m], rests[e], locations[e, i], seen):
                _lengthen(neighbours[m], way, goal, rests[e], seen, lengths, is_queued, queue)
                _compare(neighbours[m, here], lengths, here, nearer[k])
                _write(seen, lengths, here, grounds[k])
            else:
                _compare(neighbours[m, here], way, here, nearer[k])


@inlined
def _compare(neighbours: Any, way: Any, here: int, nearer: Any) -> None:
    """Write by how many steps each move leads nearer."""
    for a in range(NUM_MOVES):
        if neighbours[a] != NOWHERE:
            nearer[a] = way[here] - way[neighbours[a]]


@inlined
def _write(seen: Any, lengths: Any, here: int, grounds: Any) -> None:
    """Write the codes of the ground of a window, and set the lengths back to 0."""
    own = lengths[here]
    for p in range(NUM_CELLS):
        if seen[p] != NOWHERE:
            if grounds[p] != 0 and grounds[p] != OWN_TARGET:
                grounds[p] = describe_ground(lengths[seen[p]], own)
            lengths[seen[p]] = 0


@inlined
def _list_seen(index: Any, rest: Any, location: Any, seen: Any) -> bool:
    """Write the cells of the window around a location, `NOWHERE` for walls; return whether an agent rests there."""
    found = False
    for p in range(NUM_CELLS):
        x, y = location[0] + p // SIDE - RADIUS, location[1] + p % SIDE - RADIUS
        seen[p] = NOWHERE
        if 0 <= x < index.shape[0] and 0 <= y < index.shape[1]:
            seen[p] = index[x, y]
            found |= seen[p] != NOWHERE and rest[seen[p]] > 0
    return found


@inlined
def _lengthen(
    neighbours: Any, way: Any, goal: int, rest: Any, seen: Any, lengths: Any, is_queued: Any, queue: Any
) -> None:
    """Write the lengths of the ways from the seen cells; outside the window, ways are shortest paths.

    Other cells keep the length 0, so that no way from them is found to be shorter.
    """
    first, count = 0, 0
    for p in range(NUM_CELLS):
        if seen[p] != NOWHERE:
            lengths[seen[p]] = FAR
    for p in range(NUM_CELLS):
        cell = seen[p]
        if cell != NOWHERE and (cell == goal or _leads_out(neighbours[cell], way, way[cell], lengths)):
            lengths[cell] = way[cell] + rest[cell]
            is_queued[cell] = True
            queue[count] = cell
            count += 1
    while count > 0:
        cell = queue[first]
        first, count = (first + 1) % _QUEUE, count - 1
        is_queued[cell] = False
        for a in range(NUM_MOVES):
            other = neighbours[cell, a]
            if other != NOWHERE and lengths[cell] + 1 + rest[other] < lengths[other]:
                lengths[other] = lengths[cell] + 1 + rest[other]
                if not is_queued[other]:
                    is_queued[other] = True
                    queue[(first + count) % _QUEUE] = other
                    count += 1


@inlined
def _leads_out(neighbours: Any, way: Any, own: int, lengths: Any) -> bool:
    """Return whether a step on a shortest path leads out of the window, where lengths are 0."""
    for a in range(NUM_MOVES):
        if neighbours[a] != NOWHERE and lengths[neighbours[a]] == 0 and way[neighbours[a]] < own:
            return True
    return False
