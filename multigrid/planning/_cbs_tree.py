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
from typing import Any

import numpy as np

from multigrid.planning._cbs_spaces import FORBID_CELL, REQUIRE_CELL, Constraint
from multigrid.planning._cbs_world import KnownPaths, Space, World
from multigrid.planning._graph import FAR, Ints

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
