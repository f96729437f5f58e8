"""What agents see of their surroundings: walls, the ways to their own targets, and the agents in sight.

An agent sees a window of 11 x 11 cells with itself in the middle, and knows how long its way is. Of each cell it knows:

- The code of the ground. 0: a wall, a cell outside the grid, or a cell without a way to its target; `OWN_TARGET`: its
  target; otherwise 10 and the number of steps by which the way from there is longer than its own, limited to -8 and 8.
  Ways are shortest paths around the walls: to know their lengths is to know the map, but nothing of other agents.
- The code of the agents in the cell, a sum of bits: an agent is `HERE`; the moves that lead it `NEARER` to its target;
  it has `ARRIVED`, or is `CLOSE`, at most three steps away; it is `FARTHER` from its target than the observer from its
  own; its last move was `REFUSED` because of another agent; the move with which it `CAME`; the cell is the `TARGET` of
  another agent, unless it is the observer's. In the middle of the window is the observer's own code. Two bits
  from `PASSAGES` on are of the map: the cell is narrow, with at most two others next to it; it is in a dead end,
  neither on a cycle of cells nor between two cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import BLOCKED_BY_AGENT, Outcome
from multigrid.planning._graph import FAR, NOWHERE, NUM_MOVES, Ints, Places, Tables
from multigrid.planning._kernels import inlined, kernel

RADIUS = 5  # how far an agent sees along each axis
SIDE = 2 * RADIUS + 1  # the number of cells along each side of a window
NUM_CELLS = SIDE * SIDE  # the number of cells of a window; cell ``[i, j]`` has the number ``SIDE * i + j``

_AS_FAR, _MOST = 10, 8
OWN_TARGET = 19  # the code of the ground of the observer's target
NUM_GROUNDS = 20  # codes of the ground are below this number

HERE, NEARER, ARRIVED, REFUSED, TARGET, CAME, CLOSE, FARTHER = 1, 2, 32, 64, 128, 256, 4096, 8192
"""Bits of agents' codes. `NEARER` and `CAME` are the bits of the first of the four moves; the others follow."""
PASSAGES = 16384
"""The first of two bits of the map: narrow cells, and dead ends, as `Tables` has them."""
NUM_AGENT_BITS = 16  # the number of bits
_CLOSEST = 3
_FIRST_REFUSAL, _LAST_REFUSAL = int(min(BLOCKED_BY_AGENT)), int(max(BLOCKED_BY_AGENT))


class Windows(NamedTuple):
    """The windows of the agents of E worlds, in the order of the rows of a vector environment."""

    grounds: NDArray[np.uint8]  # uint8 (E * N, 121): the code of the ground of each cell
    agents: NDArray[np.uint16]  # uint16 (E * N, 121): the code of the agents of each cell
    ways: Ints  # int32 (E * N,): the number of steps to the target; -1 for an agent that has left; its codes are all 0


class Surroundings:
    """Windows of the agents of up to E worlds, in each step of their episodes.

    The moves with which agents came are known if `observe` was called before the last step, too. A world has begun
    another episode if its "map_index" has changed, or if its locations do not fit the outcomes of the last step; where
    maps are drawn, only the locations show it.
    """

    FIELDS: ClassVar = ("map_index", "steps", "location", "target", "status", "outcomes")  # what the windows depend on

    def __init__(self, tables: Tables, num_worlds: int, num_agents: int) -> None:
        self._tables = tables
        self._before = np.full((num_worlds, num_agents), NOWHERE, np.int32)
        self._came_from = self._before.copy()
        self._steps, self._maps = np.full(num_worlds, -1), np.full(num_worlds, -1)
        self._states: Mapping[str, Any] = {}
        num_cells = tables.neighbours.shape[1]
        self._scratch = np.zeros(num_cells, np.uint16), np.zeros(num_cells, np.int32), np.zeros(num_agents, np.uint16)

    def observe(self, states: Mapping[str, Any], places: Places | None = None) -> Windows:
        """Return the windows of all agents; `places` is what `Tables.locate` returns for the states, if known."""
        cells, goals, rows = self._tables.locate(states) if places is None else places
        maps = np.asarray(states["map_index"])
        before = self._came_from[: len(maps)] = self._find_before(cells, maps, states)
        self._before[: len(maps)], self._maps[: len(maps)], self._steps[: len(maps)] = cells, maps, states["steps"]
        self._states = states
        return self._look((cells, goals, rows, before), states)

    def _find_before(self, cells: Ints, maps: NDArray[np.int64], states: Mapping[str, Any]) -> Ints:
        """Return the agents' cells before the last step, int32 (E, N); where they are not known, the present ones."""
        num_worlds = len(maps)
        last, steps = self._before[:num_worlds], np.asarray(states["steps"])
        passed = np.where(maps == self._maps[:num_worlds], steps - self._steps[:num_worlds], -1)
        has_moved, is_gone = states["outcomes"] == Outcome.MOVED, cells == NOWHERE
        is_next = (passed == 1) & (steps > 0) & (((last != cells) == has_moved) | is_gone).all(axis=1)
        is_again = (passed == 0) & (last == cells).all(axis=1)
        known = np.where(is_again[:, None], self._came_from[:num_worlds], cells)
        return np.where(is_next[:, None], last, known)

    def follow(self, plan: NDArray[np.int64], world: int = 0) -> Windows:
        """Return the windows of the N agents of one world in each of the T steps of a plan, one step after the other.

        The plan, int64 (T + 1, N, 2), begins with the locations of the last call of `observe`. No agent leaves.
        """
        states, num_steps = self._states, len(plan) - 1
        many = {name: np.repeat(np.asarray(states[name])[world : world + 1], num_steps, axis=0) for name in self.FIELDS}
        many["location"] = plan[:-1]
        cells, goals, rows = self._tables.locate(many)
        before = np.concatenate([self._came_from[world : world + 1], cells[:-1]])
        many["outcomes"][1:] = Outcome.MOVED
        return self._look((cells, goals, rows, before), many)

    def _look(self, agents: tuple[Ints, Ints, Ints, Ints], states: Mapping[str, Any]) -> Windows:
        shape = agents[0].size, NUM_CELLS
        windows = Windows(np.zeros(shape, np.uint8), np.zeros(shape, np.uint16), np.full(shape[0], -1, np.int32))
        tables = (self._tables.index, self._tables.neighbours, self._tables.distances, self._tables.passages)
        agents_and_steps = (*agents, states["outcomes"], states["location"])
        _look(tables, np.asarray(states["map_index"]), agents_and_steps, self._scratch, windows)
        return windows


@kernel
def _look(tables: Any, maps: Any, agents: Any, scratch: Any, windows: Windows) -> None:
    """Write the windows of E worlds, whose codes are all 0 before."""
    index, neighbours, distances, passages = tables  # as in `Tables`
    cells, goals, rows, before, outcomes, locations = agents  # (E, N), but locations (E, N, 2)
    board, lengths, codes = scratch  # zeros of (C,), (C,) and (N,)
    num_agents = cells.shape[1]
    for e in range(maps.shape[0]):
        m = maps[e]
        for i in range(num_agents):
            if cells[e, i] == NOWHERE:
                continue
            way, cell = distances[rows[e, i]], cells[e, i]
            codes[i] = _describe(neighbours[m], way, cell, goals[e, i], before[e, i], outcomes[e, i])
            board[cell] |= codes[i]
            lengths[cell] = max(lengths[cell], way[cell])
            board[goals[e, i]] |= np.uint16(TARGET)
        for i in range(num_agents):
            if cells[e, i] == NOWHERE:
                continue
            k, way = e * num_agents + i, distances[rows[e, i]]
            windows.ways[k], boards = way[cells[e, i]], (board, lengths, passages[m])
            _fill(index[m], way, boards, locations[e, i], goals[e, i], windows.grounds[k], windows.agents[k])
            windows.agents[k, NUM_CELLS // 2] = codes[i] | np.uint16(PASSAGES * int(passages[m, cells[e, i]]))
        for i in range(num_agents):
            if cells[e, i] != NOWHERE:
                board[cells[e, i]] = board[goals[e, i]] = lengths[cells[e, i]] = 0


@inlined
def _describe(neighbours: Any, way: Any, cell: int, goal: int, before: int, outcome: int) -> Any:
    """Return the code of an agent."""
    code = HERE
    for a in range(NUM_MOVES):
        after = neighbours[cell, a]
        if after != NOWHERE and way[after] < way[cell]:
            code |= NEARER << a
        if before != NOWHERE and before != cell and neighbours[before, a] == cell:
            code |= CAME << a
    if cell == goal:
        code |= ARRIVED
    elif way[cell] <= _CLOSEST:
        code |= CLOSE
    if _FIRST_REFUSAL <= outcome <= _LAST_REFUSAL:
        code |= REFUSED
    return np.uint16(code)


@inlined
def _fill(index: Any, way: Any, boards: Any, location: Any, goal: int, grounds: Any, agents: Any) -> None:
    """Write the window around a location."""
    width, height = index.shape
    board, lengths, passages = boards
    own = way[index[location[0], location[1]]]
    for i in range(SIDE):
        x = location[0] + i - RADIUS
        if x < 0 or x >= width:
            continue
        for j in range(SIDE):
            y = location[1] + j - RADIUS
            if y < 0 or y >= height or index[x, y] == NOWHERE:
                continue
            cell = index[x, y]
            agents[SIDE * i + j] = board[cell]
            if lengths[cell] > own:
                agents[SIDE * i + j] |= np.uint16(FARTHER)
            if cell == goal:
                grounds[SIDE * i + j] = OWN_TARGET
                agents[SIDE * i + j] &= np.uint16(~TARGET & 0xFFFF)
            elif way[cell] < FAR:
                grounds[SIDE * i + j] = _AS_FAR + min(max(way[cell] - own, -_MOST), _MOST)
            agents[SIDE * i + j] |= np.uint16(PASSAGES * int(passages[cell]))
