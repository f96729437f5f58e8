"""The tree of constraints: the optimal sum of costs of a group of agents.

Conflict-based search (Sharon et al., AIJ 2015). A node has for each agent a `Space`: limits of its cost and
constraints. Each node's paths are chosen to have few conflicts, which is bypassing (Boyarski et al., IJCAI 2015) for
all agents at once. Two agents that cannot both have their smallest costs are a cardinal conflict. It is split by costs:
the one has more than a limit, or it has not, and then the other pays. What is left is split as in disjoint splitting
(Li et al., ICAPS 2019): an agent is in a cell at a step, or it is not. All splits are disjoint.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.cbs.clusters import IMPOSSIBLE
from multigrid.planning.cbs.cover import cover
from multigrid.planning.cbs.spaces import FORBID_CELL, REQUIRE_CELL, Constraint
from multigrid.planning.cbs.world import Old, Space, World
from multigrid.planning.graph import FAR

__all__ = ["Tree"]

Changes = list[tuple[int, Space | None]]
"""What makes a child of a node: the positions of agents, and their new spaces."""

_COVER_NODES = 2000
_MAX_CLUSTERS = 4
_MAX_MEMBERS = 3
_STAY = 4


@dataclasses.dataclass(slots=True)
class Node:
    """A subset of all plans of a group."""

    spaces: list[Space]
    paths: NDArray[np.int32]
    conflicts: NDArray[np.int32]
    cost: int
    """The sum of the smallest costs."""
    bound: int
    """No plan in the subset has a smaller sum."""
    is_judged: bool = False
    """Whether the bound takes the pairs into account."""
    stairs: list[tuple[int, int, NDArray[np.int32]]] = dataclasses.field(default_factory=list)
    """The pairs that cannot both have their smallest costs."""
    cluster: list[int] = dataclasses.field(default_factory=list)
    """Agents that cannot all have their smallest costs; empty if none are known."""


class Tree:
    """A search for the optimal plan of a group of agents.

    Args:
        world: the problem.
        agents: the indices of the group's agents.
        fixed: int32 (m, T + 1), the paths of other agents, which are avoided where that costs nothing.
        bound: a lower bound on the sum of costs that is known already.
        seed: breaks ties.
    """

    def __init__(self, world: World, agents: list[int], fixed: NDArray[np.int32], bound: int, seed: int) -> None:
        self._world, self._fixed, self._seed = world, fixed, seed
        self.agents = agents
        self.paths: NDArray[np.int32] | None = None
        """int32 (n, T + 1): the best plan so far."""
        self.cost = FAR
        """Its sum of costs."""
        self.expansions = 0
        self._open: list[tuple[int, int, int, Node]] = []
        self._count = 0
        self._least = bound
        spaces = [world.space(agent, 1, world.horizon, frozenset()) for agent in agents]
        feasible = [space for space in spaces if space is not None]
        if len(feasible) == len(agents):
            self._add(feasible, None, bound)

    @property
    def bound(self) -> int:
        """No plan has a smaller sum of costs; `FAR` if there is none."""
        return max(self._least, min(self._open[0][0] if self._open else FAR, self.cost))

    @property
    def is_over(self) -> bool:
        """Whether the best plan is optimal, or there is none."""
        return not self._open or self._open[0][0] >= self.cost

    def expand(self) -> None:
        """Take the most promising node, and replace it by what it is split into."""
        bound, _, _, node = heapq.heappop(self._open)
        self._least = max(self._least, bound)
        self.expansions += 1
        if not node.is_judged:
            self._judge(node)
            if not len(node.conflicts):
                self.paths, self.cost = node.paths, node.cost
                return
            if node.bound > bound:
                self._push(node)
                return
        for changes in self._split(node):
            self._make_child(node, changes)

    def _push(self, node: Node) -> None:
        if node.bound < self.cost:
            self._count += 1
            heapq.heappush(self._open, (node.bound, len(node.conflicts), -self._count, node))

    def _add(self, spaces: list[Space], old: Old | None, bound: int) -> None:
        cost = sum(space.cost for space in spaces)
        bound = max(bound, cost)
        if bound >= self.cost:
            return
        seed, tries = self._seed + self._count, 2 * len(spaces) + 4
        paths = self._world.choose_paths(spaces, self._fixed, seed=seed, max_tries=tries, old=old)
        conflicts = self._world.conflicts(paths)
        if len(conflicts):
            self._push(Node(spaces, paths, conflicts, cost, bound))
        else:
            self.paths, self.cost = paths, cost

    def _make_child(self, node: Node, changes: Changes) -> None:
        spaces = list(node.spaces)
        for k, space in changes:
            if space is None:
                return
            spaces[k] = space
        self._add(spaces, (node.paths, [k for k, _ in changes]), node.bound)

    def _judge(self, node: Node) -> None:
        """Find the pairs of the node that cannot both have their smallest costs, and raise its bound."""
        node.is_judged = True
        for i, j in {(int(min(row)), int(max(row))): None for row in node.conflicts[:, :2]}:
            stairs = self._world.stairs(node.spaces[i], node.spaces[j])
            if stairs is not None:
                node.stairs.append((i, j, stairs))
        if node.stairs:
            begins = np.cumsum([0] + [len(stairs) for _, _, stairs in node.stairs])
            pairs = [(i, j, begins[p], len(stairs)) for p, (i, j, stairs) in enumerate(node.stairs)]
            surplus = cover(
                len(node.spaces),
                np.array(pairs, np.int32),
                np.concatenate([stairs for _, _, stairs in node.stairs]),
                _COVER_NODES,
            )
            node.bound = max(node.bound, node.cost + surplus)
        else:
            self._plan_clusters(node)

    def _plan_clusters(self, node: Node) -> None:
        """Plan those together that are in conflict, and whom they are in conflict with then, until that is solved."""
        world = self._world
        for _ in range(_MAX_CLUSTERS):
            members = [int(k) for k in node.conflicts[0, :2]]
            while len(members) <= _MAX_MEMBERS:
                weight = world.plan_cluster(node.spaces, self._fixed, node.paths, sorted(members))
                if weight < 0:
                    break
                conflicts = world.conflicts(node.paths)
                involved = [row for row in conflicts[:, :2].tolist() if (row[0] in members) != (row[1] in members)]
                if not involved:
                    break
                members += [k for k in involved[0] if k not in members]
            node.conflicts = world.conflicts(node.paths)
            if weight == IMPOSSIBLE:
                node.cluster = sorted(members)
                node.bound = max(node.bound, node.cost + 1)
            if weight < 0 or len(members) > _MAX_MEMBERS or not len(node.conflicts):
                return

    def _split(self, node: Node) -> Iterator[Changes]:
        if node.stairs:
            yield from self._split_costs(node)
        elif node.cluster:
            yield from self._split_cluster(node)
        else:
            yield from self._split_cells(node)

    def _split_costs(self, node: Node) -> Iterator[Changes]:
        best: tuple[int, int, int, int, int, int] | None = None
        for i, j, stairs in node.stairs:
            sums = np.arange(len(stairs)) + stairs
            for a in range(1, len(stairs)):
                if stairs[a] == stairs[a - 1]:
                    continue
                low, high = sorted((int(sums[:a].min()), int(sums[a:].min())))
                choice = (low, high, i, j, a, int(stairs[a - 1]))
                if best is None or choice[:2] > best[:2]:
                    best = choice
        assert best is not None
        _, _, i, j, more, surplus = best
        one, other = node.spaces[i], node.spaces[j]
        yield [(i, self._limit(one, low=one.cost + more))]
        yield [(i, self._limit(one, high=one.cost + more - 1)), (j, self._limit(other, low=other.cost + surplus))]

    def _split_cluster(self, node: Node) -> Iterator[Changes]:
        """Split into the agent that pays more, after those that do not."""
        before: Changes = []
        for k in node.cluster:
            space = node.spaces[k]
            yield [*before, (k, self._limit(space, low=space.cost + 1))]
            before.append((k, self._limit(space, high=space.cost)))

    def _split_cells(self, node: Node) -> Iterator[Changes]:
        agent, conflict = min(
            ((k, tuple(int(value) for value in row)) for row in node.conflicts for k in row[:2]),
            key=lambda choice: self._rank(node, *choice),
        )
        step, is_swap = conflict[2], conflict[3]
        path = node.paths[agent]
        cells = [int(cell) for cell in path[step : step + 2]]
        space = node.spaces[agent]
        required: set[Constraint] = {(step, cells[0], REQUIRE_CELL)}
        if is_swap:
            action = self._action(cells[0], cells[1])
            forbidden = (step, cells[0], action)
            required.add((step + 1, cells[1], REQUIRE_CELL))
        else:
            forbidden = (step, cells[0], FORBID_CELL)
        yield [(agent, self._constrain(space, {forbidden}))]
        changes: Changes = [(agent, self._constrain(space, required))]
        for k, other in enumerate(node.spaces):
            if k == agent:
                continue
            added: set[Constraint] = set()
            for when, cell, _ in required:
                if self._can_be(other, when, cell):
                    added.add((when, cell, FORBID_CELL))
            if is_swap and self._can_be(other, step, cells[1]) and self._can_be(other, step + 1, cells[0]):
                added.add((step, cells[1], self._action(cells[1], cells[0])))
            if added:
                changes.append((k, self._constrain(other, added)))
        yield changes

    def _rank(self, node: Node, agent: int, conflict: tuple[int, ...]) -> tuple[int, int]:
        """Rank a conflict by the number of cells that the agent could be in; one that has stopped comes last."""
        space, step = node.spaces[agent], conflict[2]
        if step > space.cost - conflict[3]:
            return FAR, step
        width = len(self._world.layer(space, step))
        if conflict[3]:
            width = max(width, len(self._world.layer(space, step + 1)))
        return width, step

    def _can_be(self, space: Space, step: int, cell: int) -> bool:
        if step > space.cost and self._world.leaves:
            return False
        return cell in self._world.layer(space, step)

    def _action(self, cell: int, after: int) -> int:
        return int(np.flatnonzero(self._world.roads.neighbours[cell, :_STAY] == after)[0])

    def _limit(self, space: Space, low: int | None = None, high: int | None = None) -> Space | None:
        return self._world.space(
            space.agent,
            space.low if low is None else low,
            space.high if high is None else min(high, space.high),
            space.constraints,
        )

    def _constrain(self, space: Space, added: set[Constraint]) -> Space | None:
        return self._world.space(space.agent, space.low, space.high, space.constraints | added)
