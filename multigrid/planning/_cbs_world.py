"""What all nodes of the search share: the problem, and the results about agents, pairs and clusters so far."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._cbs_clusters import Cluster, plan_cluster
from multigrid.planning._cbs_pairs import Side, find_joint_costs, make_staircase
from multigrid.planning._cbs_paths import (
    Moves,
    Occupancy,
    PathChoice,
    Pool,
    choose_paths,
    list_conflicts,
    opposite_actions,
)
from multigrid.planning._cbs_spaces import Constraint, SpaceLimits, find_cheapest, first_stop, make_blocked, trace_nodes
from multigrid.planning._graph import FAR, distance_tables
from multigrid.planning._search import SearchProblem

KnownPaths = tuple[NDArray[np.int32], list[int]]
"""Paths, int32 (n, T + 1), and the positions of agents that need new ones."""

_SLACKS = (0, 1, 3, 7, 15, 31)
_MAX_STATES = 60_000
_MAX_CLUSTER_STATES = 6000
_FEW_STATES = 20_000


class Space(NamedTuple):
    """The paths of one agent that limits of its cost and constraints leave."""

    number: int  # equal for spaces with the same agent, limits and constraints
    agent: int
    low: int  # the smallest cost that is allowed
    high: int  # the largest cost that is allowed
    constraints: frozenset[Constraint]
    cost: int  # the smallest cost that is possible, at least `low`
    begin: int  # where its first step begins in `Pool.first`


class World:
    """A problem, with a cache of the results about its agents, pairs and clusters."""

    def __init__(self, problem: SearchProblem) -> None:
        graph, self.starts, self.goals, on_target, horizon = problem
        self.num_cells = len(graph.cells)
        self.distances: NDArray[np.int32] = distance_tables(graph.neighbours, self.goals)
        self.moves = Moves(graph.neighbours, opposite_actions(graph.neighbours))
        self.leaves = on_target == "leave"
        self.absorbing = on_target != "stay"
        self.horizon = FAR // 2 if horizon is None else horizon
        self._spaces: dict[tuple[int, int, int, frozenset[Constraint]], Space | None] = {}
        self._stairs: dict[tuple[int, int], NDArray[np.int32] | None] = {}
        self._hopeless: dict[tuple[int, ...], int] = {}
        self._pool = Pool(np.zeros(1 << 12, np.int32), np.zeros(1 << 14, np.int32), np.zeros(1 << 14, np.uint8))
        self._num_first = self._num_nodes = 0
        self._occupied = np.zeros((0, self.num_cells), np.int32)
        self._moving = np.zeros((0, self.num_cells, 4), np.int32)
        self._rest = np.zeros(self.num_cells, np.int64)

    def space(self, agent: int, low: int, high: int, constraints: frozenset[Constraint]) -> Space | None:
        """Return the space of an agent under constraints; None if it has no path."""
        key = (agent, low, high, constraints)
        if key not in self._spaces:
            self._spaces[key] = self._explore(*key)
        return self._spaces[key]

    def _limits_of(self, agent: int, low: int, high: int, constraints: frozenset[Constraint]) -> SpaceLimits:
        goal = int(self.goals[agent])
        return SpaceLimits(
            self.distances[agent],
            int(self.starts[agent]),
            goal,
            make_blocked(constraints, self.num_cells),
            first_stop(constraints, goal, low, leaves=self.leaves),
            high,
            self.absorbing,
        )

    def _explore(self, agent: int, low: int, high: int, constraints: frozenset[Constraint]) -> Space | None:
        limits = self._limits_of(agent, low, high, constraints)
        cost, first, cells, actions = find_cheapest(self.moves.neighbours, limits)
        if cost == FAR:
            return None
        begin, num_nodes = self._num_first, self._num_nodes
        self._num_first += len(first)
        self._num_nodes += len(cells)
        self._pool = Pool(
            _fit(self._pool.first, self._num_first),
            _fit(self._pool.cells, self._num_nodes),
            _fit(self._pool.actions, self._num_nodes),
        )
        self._pool.first[begin : self._num_first] = first + num_nodes
        self._pool.cells[num_nodes : self._num_nodes] = cells
        self._pool.actions[num_nodes : self._num_nodes] = actions
        return Space(len(self._spaces), agent, low, high, constraints, int(cost), begin)

    def layer(self, space: Space, step: int) -> NDArray[np.int32]:
        """Return an agent's cells at a step on all its paths of the smallest cost; its goal after the last step."""
        if step >= space.cost:
            return self.goals[space.agent : space.agent + 1]
        begin, end = self._pool.first[space.begin + step : space.begin + step + 2]
        return self._pool.cells[begin:end]

    def stairs(self, one: Space, other: Space) -> NDArray[np.int32] | None:
        """Return the staircase of two agents, see `make_staircase`; None if both can have their smallest costs."""
        key = (one.number, other.number)
        if key not in self._stairs:
            self._stairs[key] = self._find_stairs(one, other)
        return self._stairs[key]

    def _find_stairs(self, one: Space, other: Space) -> NDArray[np.int32] | None:
        limits_of_both = [
            self._limits_of(space.agent, space.low, space.high, space.constraints) for space in (one, other)
        ]
        stairs: NDArray[np.int32] | None = None
        total = 0
        for slack in _SLACKS:
            sides = [
                self._side(limits, space.cost, slack)
                for limits, space in zip(limits_of_both, (one, other), strict=True)
            ]
            found = np.zeros([side.largest - side.smallest + 1 for side in sides], np.uint8)
            states = find_joint_costs(self.moves.neighbours, sides[0], sides[1], _MAX_STATES, found)
            if states < 0:
                return stairs
            if found[0, 0]:
                return None
            stairs = make_staircase(found)
            total += states
            if found.any() or total > _FEW_STATES:
                return stairs
        return stairs

    def _side(self, limits: SpaceLimits, cost: int, slack: int) -> Side:
        largest = min(cost + slack, limits.high)
        offsets, cells, costs, _ = trace_nodes(self.moves.neighbours, limits, largest)
        return Side(offsets, cells, costs, limits.blocked, limits.goal, cost, largest, limits.earliest, self.leaves)

    def choose_paths(
        self, spaces: list[Space], fixed: NDArray[np.int32], *, seed: int, max_tries: int, old: KnownPaths | None = None
    ) -> NDArray[np.int32]:
        """Return paths of the smallest costs, int32 (n, T + 1), with few conflicts, around `fixed` if that is free.

        The choice ends after `max_tries` changes in sequence without an improvement; `old` are paths to begin with.
        """
        ends = self._ends(spaces)
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
        choose_paths(self.moves, self._pool, group, paths, self._scratch(last, seed))
        return paths

    def plan_cluster(
        self, spaces: list[Space], fixed: NDArray[np.int32], paths: NDArray[np.int32], members: list[int]
    ) -> int:
        """Plan the members of a group together; see `multigrid.planning._cbs_clusters.plan_cluster`."""
        numbers = tuple(spaces[k].number for k in members)
        if numbers in self._hopeless:
            return self._hopeless[numbers]
        cluster = Cluster(np.array(members, np.int32), self._ends(spaces), fixed, self.leaves, _MAX_CLUSTER_STATES)
        tables = self._scratch(paths.shape[1] - 1, 0)
        weight = int(plan_cluster(self.moves, self._pool, cluster, paths, tables))
        if weight < 0:
            self._hopeless[numbers] = weight
        return weight

    def _ends(self, spaces: list[Space]) -> NDArray[np.int32]:
        goals = self.goals
        return np.array([(space.begin, space.cost, goals[space.agent]) for space in spaces], np.int32)

    def conflicts(self, paths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the conflicts between paths, as `list_conflicts` does."""
        rows: NDArray[np.int32] = list_conflicts(paths, self.num_cells)
        return rows

    def pad(self, path: NDArray[np.int32], agent: int, last: int) -> NDArray[np.int32]:
        """Return a path with its last cell, or -1, repeated up to a step, int32 (last + 1,)."""
        rest = -1 if self.leaves else self.goals[agent]
        return np.append(path, np.full(max(0, last + 1 - len(path)), rest, np.int32))

    def _scratch(self, last: int, seed: int) -> Occupancy:
        if len(self._occupied) < last + 2:
            self._occupied = np.zeros((2 * last + 2, self.num_cells), np.int32)
            self._moving = np.zeros((2 * last + 2, self.num_cells, 4), np.int32)
        return Occupancy(self._occupied, self._moving, self._rest, np.full(1, seed, np.int64))


def _fit(pool: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array with the same entries that has at least a given size."""
    return pool if len(pool) >= size else np.append(pool, np.zeros(size, pool.dtype))


@dataclasses.dataclass(slots=True)
class Node:
    """A node of the tree: the subset of a group's plans that limits of costs and constraints leave."""

    spaces: list[Space]  # the space of each agent
    bound: int  # no plan in the subset has a smaller sum of costs
    old: KnownPaths | None  # paths of the parent that are kept where they fit; None without any
    paths: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """int32 (n, T + 1): a path of the smallest cost for each agent; empty until they are needed."""
    conflicts: list[list[int]] = dataclasses.field(default_factory=list)
    """Those of the paths, as rows of `list_conflicts`."""
    is_judged: bool = False  # whether pairs and clusters have been examined to raise the bound
    stairs: list[tuple[int, int, NDArray[np.int32]]] = dataclasses.field(default_factory=list)
    """The pairs of agents that cannot both have their smallest costs, each with its staircase."""
    cluster: list[int] = dataclasses.field(default_factory=list)
    """Agents that cannot all have their smallest costs; empty if none are known."""

    @property
    def has_paths(self) -> bool:
        """Whether the paths have been chosen."""
        return len(self.paths) > 0

    @property
    def cost(self) -> int:
        """The sum of the smallest costs."""
        return sum(space.cost for space in self.spaces)


class Single:
    """A single agent."""

    def __init__(self, space: Space) -> None:
        self.agents = [space.agent]
        self._leaf = Node([space], space.cost, None)

    def leaf(self, number: int) -> Node | None:
        """Return all of the agent's paths, as subset 0."""
        return self._leaf if number == 0 else None
