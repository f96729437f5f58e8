"""What all nodes of the search share: the problem, and the results about agents and pairs so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._cbs_pairs import Side, find_joint_costs, make_staircase
from multigrid.planning._cbs_paths import Occupancy, PathChoice, Pool, choose_paths, list_conflicts
from multigrid.planning._cbs_spaces import Constraint, SpaceLimits, find_cheapest, first_stop, make_blocked, trace_nodes
from multigrid.planning._graph import FAR, Ints, distance_tables
from multigrid.planning._search import SearchProblem

KnownPaths = tuple[Ints, list[int]]  # int32 (n, T + 1), and the positions of agents that need new ones

_SLACKS = (0, 1, 3, 7, 15, 31)
_MAX_STATES = 60_000
_FEW_STATES = 20_000


class Space(NamedTuple):
    """The paths of one agent that limits of its cost and constraints leave."""

    agent: int
    low: int  # the smallest cost that is allowed
    high: int  # the largest cost that is allowed
    constraints: frozenset[Constraint]
    cost: int  # the smallest cost that is possible, at least `low`
    begin: int  # where its first step begins in `Pool.first`; no two spaces have the same


class World:
    """A problem, with a cache of the results about its agents and pairs."""

    def __init__(self, problem: SearchProblem) -> None:
        graph, self.starts, self.goals, on_target, horizon = problem
        self.num_cells = len(graph.cells)
        self.distances: Ints = distance_tables(graph.neighbours, self.goals)
        self.neighbours = graph.neighbours
        self.leaves = on_target == "leave"
        self.absorbing = on_target != "stay"
        self.horizon = FAR // 2 if horizon is None else horizon
        self._spaces: dict[tuple[int, int, int, frozenset[Constraint]], Space | None] = {}
        self._stairs: dict[tuple[int, int], Ints | None] = {}
        self._pool = Pool(np.zeros(1 << 12, np.int32), np.zeros(1 << 14, np.int32), np.zeros(1 << 14, np.uint8))
        self._num_first = self._num_nodes = 0
        self._occupied = np.zeros((0, self.num_cells), np.int32)
        self._moving = np.zeros((0, self.num_cells, 4), np.int32)
        self._rest = np.zeros(self.num_cells, np.int64)

    def _limits_of(self, agent: int, low: int, high: int, constraints: frozenset[Constraint]) -> SpaceLimits:
        start, goal = int(self.starts[agent]), int(self.goals[agent])
        blocked = make_blocked(constraints, self.num_cells)
        earliest = first_stop(constraints, goal, low, leaves=self.leaves)
        return SpaceLimits(self.distances[agent], start, goal, blocked, earliest, high, self.absorbing)

    def space(self, agent: int, low: int, high: int, constraints: frozenset[Constraint]) -> Space | None:
        """Return the space of an agent under constraints; None if it has no path."""
        key = (agent, low, high, constraints)
        if key in self._spaces:
            return self._spaces[key]
        cost, first, cells, actions = find_cheapest(self.neighbours, self._limits_of(*key))
        if cost == FAR:
            self._spaces[key] = None
            return None
        begin, at, pool = self._num_first, self._num_nodes, self._pool
        parts = (_extend(pool.cells, cells, at), _extend(pool.actions, actions, at))
        self._pool = Pool(_extend(pool.first, first + at, begin), *parts)
        self._num_first += len(first)
        self._num_nodes += len(cells)
        space = self._spaces[key] = Space(*key, int(cost), begin)
        return space

    def layer(self, space: Space, step: int) -> Ints:
        """Return an agent's cells at a step on all its paths of the smallest cost; its goal after the last step."""
        if step >= space.cost:
            return self.goals[space.agent : space.agent + 1]
        begin, end = self._pool.first[space.begin + step : space.begin + step + 2]
        return self._pool.cells[begin:end]

    def stairs(self, one: Space, other: Space) -> Ints | None:
        """Return the staircase of two agents, see `make_staircase`; None if both can have their smallest costs."""
        key = (one.begin, other.begin)
        if key in self._stairs:
            return self._stairs[key]
        both = [(self._limits_of(*space[:4]), space.cost) for space in (one, other)]
        stairs, total = None, 0
        for slack in _SLACKS:
            first, second = (self._side(limits, cost, slack) for limits, cost in both)
            found = np.zeros([side.largest - side.smallest + 1 for side in (first, second)], np.uint8)
            states = find_joint_costs(self.neighbours, first, second, _MAX_STATES, found)
            if states < 0:
                break
            stairs = None if found[0, 0] else make_staircase(found)
            total += states
            if found.any() or total > _FEW_STATES:
                break
        self._stairs[key] = stairs
        return stairs

    def _side(self, limits: SpaceLimits, cost: int, slack: int) -> Side:
        largest = min(cost + slack, limits.high)
        offsets, cells, costs, _ = trace_nodes(self.neighbours, limits, largest)
        return Side(offsets, cells, costs, limits.blocked, limits.goal, cost, largest, limits.earliest, self.leaves)

    def choose_paths(
        self, spaces: list[Space], fixed: Ints, *, seed: int, max_tries: int, old: KnownPaths | None = None
    ) -> Ints:
        """Return paths of the smallest costs, int32 (n, T + 1), with few conflicts; `old` are paths to begin with."""
        ends = np.array([(space.begin, space.cost, self.goals[space.agent]) for space in spaces], np.int32)
        last = max(int(ends[:, 1].max()), fixed.shape[1] - 1)
        paths = np.empty((len(spaces), last + 1), np.int32)
        paths[:] = -1 if self.leaves else ends[:, 2:]
        is_old = np.zeros(len(spaces), np.bool_)
        if old is not None:
            common = min(old[0].shape[1], last + 1)
            is_old[:] = True
            is_old[old[1]] = False
            paths[is_old, :common] = old[0][is_old, :common]
        group = PathChoice(ends, fixed, is_old, max_tries)
        choose_paths(self.neighbours, self._pool, group, paths, self._scratch(last, seed))
        return paths

    def conflicts(self, paths: Ints) -> Ints:
        """Return the conflicts between paths, as `list_conflicts` does."""
        rows: Ints = list_conflicts(paths, self.num_cells)
        return rows

    def pad(self, path: Ints, agent: int, last: int) -> Ints:
        """Return a path with its last cell, or -1, repeated up to a step, int32 (last + 1,)."""
        rest = -1 if self.leaves else self.goals[agent]
        return np.append(path, np.full(max(0, last + 1 - len(path)), rest, np.int32))

    def _scratch(self, last: int, seed: int) -> Occupancy:
        if len(self._occupied) < last + 2:
            self._occupied = np.zeros((2 * last + 2, self.num_cells), np.int32)
            self._moving = np.zeros((2 * last + 2, self.num_cells, 4), np.int32)
        return Occupancy(self._occupied, self._moving, self._rest, np.full(1, seed, np.int64))


def _extend(pool: NDArray[Any], part: NDArray[Any], at: int) -> NDArray[Any]:
    """Return an array with the same entries, and a part from an index on; it is another one if there is no room."""
    size = at + len(part)
    extended = pool if len(pool) >= size else np.append(pool, np.zeros(size, pool.dtype))
    extended[at:size] = part
    return extended
