"""The constraint tree: the optimal plan of a group of agents.

Conflict-based search (Sharon et al., AIJ 2015). A node has for each agent a `Space`: limits of its cost and
constraints. The paths of a node are chosen to have few conflicts, which is bypassing (Boyarski et al., IJCAI 2015) for
all agents at once. Two agents that cannot both have their smallest costs are in a cardinal conflict. It is split by
costs: either the first agent's cost is above a limit, or it is not, and then the second agent's cost is above another.
Other conflicts are split as in disjoint splitting (Li et al., ICAPS 2019): either an agent is in a cell at a step, or
it is not. In all splits, no plan is in two children.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._cbs_paths import Occupancy, PathChoice, Pool, choose_paths, list_conflicts
from multigrid.planning._cbs_spaces import (
    FORBID_CELL,
    REQUIRE_CELL,
    Constraint,
    Side,
    SpaceLimits,
    find_cheapest,
    find_joint_costs,
    first_stop,
    make_blocked,
    make_staircase,
    trace_nodes,
)
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
        if len(self._occupied) < last + 2:
            self._occupied = np.zeros((2 * last + 2, self.num_cells), np.int32)
            self._moving = np.zeros((2 * last + 2, self.num_cells, 4), np.int32)
        group = PathChoice(ends, fixed, is_old, max_tries)
        scratch = Occupancy(self._occupied, self._moving, self._rest, np.full(1, seed, np.int64))
        choose_paths(self.neighbours, self._pool, group, paths, scratch)
        return paths

    def conflicts(self, paths: Ints) -> Ints:
        """Return the conflicts between paths, as `list_conflicts` does."""
        rows: Ints = list_conflicts(paths, self.num_cells)
        return rows

    def pad(self, path: Ints, agent: int, last: int) -> Ints:
        """Return a path with its last cell, or -1, repeated up to a step, int32 (last + 1,)."""
        rest = -1 if self.leaves else self.goals[agent]
        return np.append(path, np.full(max(0, last + 1 - len(path)), rest, np.int32))


def _extend(pool: NDArray[Any], part: NDArray[Any], at: int) -> NDArray[Any]:
    """Return an array with the same entries, and a part from an index on; it is another one if there is no room."""
    size = at + len(part)
    extended = pool if len(pool) >= size else np.append(pool, np.zeros(size, pool.dtype))
    extended[at:size] = part
    return extended


# How a child differs from its node: positions of agents, with their new spaces; None for a space without a path.
Changes = list[tuple[int, Space | None]]

_STAY = 4


@dataclasses.dataclass(slots=True)
class Node:
    """A node of the tree: the subset of a group's plans that limits of costs and constraints leave."""

    spaces: list[Space]  # the space of each agent
    bound: int  # no plan in the subset has a smaller sum of costs
    old: KnownPaths | None  # paths of the parent that are kept where they fit; None without any
    paths: Any = None  # int32 (n, T + 1): a path of the smallest cost for each agent; None until they are needed
    conflicts: list[list[int]] = dataclasses.field(default_factory=list)  # of the paths, rows of `list_conflicts`
    is_judged: bool = False  # whether pairs have been examined to raise the bound
    stairs: list[tuple[int, int, Ints]] = dataclasses.field(default_factory=list)
    """The pairs of agents that cannot both have their smallest costs, each with its staircase."""

    @property
    def cost(self) -> int:
        """The sum of the smallest costs."""
        return sum(space.cost for space in self.spaces)


class Tree:
    """A search for the optimal plan of a group of agents, whose sum of costs is at least `bound`."""

    def __init__(self, world: World, spaces: list[Space], bound: int, fixed: Ints, seed: int) -> None:
        self._world, self._fixed, self._seed = world, fixed, seed
        self.agents = [space.agent for space in spaces]
        self.paths: Ints | None = None  # int32 (n, T + 1): the best plan so far
        self.cost = FAR  # its sum of costs
        self.expansions = 0
        self._open: list[tuple[int, int, int, Node]] = []
        self._count = 0
        self._least = 0
        self._push(Node(spaces, bound, None))

    @property
    def bound(self) -> int:
        """No plan has a smaller sum of costs; `FAR` if there is none."""
        return min(max(self._least, self._open[0][0] if self._open else FAR), self.cost)

    @property
    def is_over(self) -> bool:
        """Whether the best plan is optimal, or there is none."""
        return not self._open or self._open[0][0] >= self.cost

    def expand(self) -> None:
        """Expand the node with the smallest bound: replace it by its children, or raise its bound."""
        bound, _, _, node = heapq.heappop(self._open)
        self._least = max(self._least, bound)
        self.expansions += 1
        if node.paths is None:
            self._add(node)
            return
        if not node.is_judged:
            self._judge(node)
            if node.bound > bound:
                self._push(node)
                return
        split = self._split_costs if node.stairs else self._split_cells
        for changes in split(node):
            self._make_child(node, changes)

    def _push(self, node: Node) -> None:
        self._count += 1
        heapq.heappush(self._open, (node.bound, len(node.conflicts), -self._count, node))

    def _add(self, node: Node) -> None:
        """Choose the paths of a node, unless its bound excludes a better plan; keep or push it."""
        if node.bound >= self.cost:
            return
        seed, tries = self._seed + self._count, 2 * len(node.spaces) + 4
        paths = self._world.choose_paths(node.spaces, self._fixed, seed=seed, max_tries=tries, old=node.old)
        node.paths, node.old = paths, None
        node.conflicts = self._world.conflicts(paths).tolist()
        if node.conflicts:
            self._push(node)
        elif node.cost < self.cost:
            self.paths, self.cost = paths, node.cost

    def _make_child(self, node: Node, changes: Changes) -> None:
        spaces = list(node.spaces)
        for k, space in changes:
            if space is None:
                return
            spaces[k] = space
        cost = sum(space.cost for space in spaces)
        self._add(Node(spaces, max(cost, node.bound), (node.paths, [k for k, _ in changes])))

    def _judge(self, node: Node) -> None:
        """Raise the bound of a node by pairs without a common agent that cannot both have their smallest costs."""
        node.is_judged = True
        for i, j in dict.fromkeys((i, j) for i, j, _, _ in node.conflicts):
            stairs = self._world.stairs(node.spaces[i], node.spaces[j])
            if stairs is not None:
                node.stairs.append((i, j, stairs))
        pairs = [(int((np.arange(len(stairs)) + stairs).min()), i, j) for i, j, stairs in node.stairs]
        bound, free = node.cost, set(range(len(node.spaces)))
        for surplus, i, j in sorted(pairs, key=lambda pair: -pair[0]):
            if {i, j} <= free:
                bound += surplus
                free -= {i, j}
        node.bound = max(node.bound, bound)

    def _split_costs(self, node: Node) -> Iterator[Changes]:
        choices = []
        for i, j, stairs in node.stairs:
            sums = np.arange(len(stairs)) + stairs
            for a in (np.flatnonzero(np.diff(stairs)) + 1).tolist():
                low, high = sorted((int(sums[:a].min()), int(sums[a:].min())))
                choices.append((low, high, i, j, a, int(stairs[a - 1])))
        *_, i, j, more, surplus = max(choices, key=lambda choice: choice[:2])
        one, other = node.spaces[i], node.spaces[j]
        yield [(i, self._limit(one, low=one.cost + more))]
        yield [(i, self._limit(one, high=one.cost + more - 1)), (j, self._limit(other, low=other.cost + surplus))]

    def _split_cells(self, node: Node) -> Iterator[Changes]:
        agent, conflict = min(
            ((k, tuple(row)) for row in node.conflicts for k in row[:2]), key=lambda choice: self._rank(node, *choice)
        )
        step, is_swap = conflict[2], conflict[3]
        cells, space = node.paths[agent, step : step + 2].tolist(), node.spaces[agent]
        required: set[Constraint] = {(step, cells[0], REQUIRE_CELL)}
        if is_swap:
            forbidden = (step, cells[0], self._action(*cells))
            required.add((step + 1, cells[1], REQUIRE_CELL))
        else:
            forbidden = (step, cells[0], FORBID_CELL)
        yield [(agent, self._constrain(space, {forbidden}))]
        changes: Changes = [(agent, self._constrain(space, required))]
        for k, other in enumerate(node.spaces):
            if k == agent:
                continue
            added = {(when, cell, FORBID_CELL) for when, cell, _ in required if self._can_be(other, when, cell)}
            if is_swap and self._can_be(other, step, cells[1]) and self._can_be(other, step + 1, cells[0]):
                added.add((step, cells[1], self._action(cells[1], cells[0])))
            if added:
                changes.append((k, self._constrain(other, added)))
        yield changes

    def _rank(self, node: Node, agent: int, conflict: tuple[int, ...]) -> tuple[int, int]:
        """Rank a conflict by the number of cells that the agent can be in at its step; stopped agents come last."""
        space, step = node.spaces[agent], conflict[2]
        if step > space.cost - conflict[3]:
            return FAR, step
        return max(len(self._world.layer(space, step + k)) for k in range(1 + conflict[3])), step

    def _can_be(self, space: Space, step: int, cell: int) -> bool:
        return not (step > space.cost and self._world.leaves) and cell in self._world.layer(space, step)

    def _action(self, cell: int, after: int) -> int:
        return int(np.flatnonzero(self._world.neighbours[cell, :_STAY] == after)[0])

    def _limit(self, space: Space, low: int = 0, high: int = FAR) -> Space | None:
        return self._world.space(space.agent, max(low, space.low), min(high, space.high), space.constraints)

    def _constrain(self, space: Space, added: set[Constraint]) -> Space | None:
        return self._world.space(space.agent, space.low, space.high, space.constraints | added)
