"""LaCAM*: a complete search of configurations, which improves its plan until the time is over.

LaCAM: Okumura, AAAI 2023, "LaCAM: search-based algorithm for quick multi-agent pathfinding". LaCAM*: IJCAI 2023,
"Improving LaCAM for scalable eventually optimal multi-agent pathfinding"; AAMAS 2024, "Engineering LaCAM*". A
depth-first search of configurations: PIBT chooses the next one, under constraints that differ each time a
configuration is expanded. When a cheaper path to a known configuration is found, the costs behind it are updated.
Between its expansions, large-neighbourhood search improves the plan, see `Improver`.

For each agent LaCAM* counts the steps in which it moves or is not on its target, and minimises the sum. Under *park*
and *leave* this is the sum of costs. Under *stay* the sum of costs can be larger: if an agent leaves its target again,
the steps that it waited there cost as much as others. So plans are compared by the sum of costs, and a plan is
*optimal* only if its sum of costs is the lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.core.rules import ON_TARGET_RULES
from multigrid.planning._expansion import (
    GOAL,
    NO_BOUND,
    NONE,
    TOP,
    add_start,
    expand,
    make_nodes,
    make_room,
    trace_back,
)
from multigrid.planning._graph import NOWHERE, Ints
from multigrid.planning._kernels import kernel, make_generator
from multigrid.planning._neighbourhoods import improve, make_group
from multigrid.planning._path_search import FOREVER, Timetable, enter, make_timetable, remove
from multigrid.planning._pibt import Team, start_team
from multigrid.planning._search import Budget, Found, Interrupted, SearchProblem, Status, count_costs, run_chunks

_NODES_BETWEEN_LOOKS = 4096
_GROUPS_IN_TURN = 100
# The number of nodes expanded between two turns of the improvement: few while the plan improves, then more and more.
_FEWEST_IN_TURN, _MOST_IN_TURN = 200, 20_000
_MOST_BYTES = 2**30


def search(problem: SearchProblem, budget: Budget, seed: int) -> Found:
    """Search with LaCAM*; an expansion is that of a configuration, or the search of new paths for a group of agents."""
    return Search(problem, budget, seed).run()


class Search:
    """A search for the agents of a problem."""

    def __init__(self, problem: SearchProblem, budget: Budget, seed: int) -> None:
        _, starts, self.goals, self.on_target, self.horizon = problem
        self.starts, self.budget = starts, budget
        self.team, away, self.lower_bound = start_team(problem, seed)
        self.is_too_far = self.horizon is not None and int(away.max(initial=0)) > self.horizon
        self.nodes = make_nodes(len(starts))
        add_start(self.nodes, self.team)
        self.improver = Improver(self.team, self.on_target, self.horizon, seed)
        self.expansions = 0
        # Paths and costs in one attribute: an interruption never comes between the two.
        self.best: tuple[Ints, NDArray[np.int64]] | None = None
        self.can_improve = False

    def run(self) -> Found:
        if self.is_too_far:
            return Found(None, self.lower_bound, "unsolvable", 0)
        try:
            self._search()
            return self._result()
        except KeyboardInterrupt as error:
            found = self._result()
            if found.paths is None:
                raise
            raise Interrupted(found) from error

    def find_plan(self, count: int) -> Status:
        """Expand up to `count` configurations until there is a plan; return the status then, perhaps "unknown"."""
        self._expand(count)
        return self._result().status

    def _search(self) -> None:
        if (self.starts == self.goals).all():
            # Under "stay" the first step is played all the same.
            self._take(np.stack([self.goals] * (1 + (self.on_target == "stay"))))
        while self.best is None and self._goes_on():
            self._expand(_NODES_BETWEEN_LOOKS)
        nodes = _FEWEST_IN_TURN
        while self._goes_on():
            before = self.best
            if self.can_improve:
                self._improve()
            self._expand(nodes)
            nodes = min(2 * nodes, _MOST_IN_TURN) if self.best is before else _FEWEST_IN_TURN

    def _goes_on(self) -> bool:
        """Return whether there is time and something to do."""
        if self.budget.is_over(self.expansions) or self._sum() == self.lower_bound:
            return False
        return self.is_open or self.can_improve

    @property
    def is_open(self) -> bool:
        """Whether there are configurations to expand, and memory for more."""
        nodes = self.nodes
        # Nodes are counted, not the room for them, which depends on the speed of the machine.
        used = int(nodes.state[:TOP].max())
        return int(nodes.state[TOP]) != NONE and used * nodes.bytes_of_a_node <= _MOST_BYTES

    def _sum(self) -> int:
        """Return the sum of costs of the best plan, `NO_BOUND` without one."""
        if self.best is None:
            return NO_BOUND
        lateness, total = self._rank(self.best[1])
        return NO_BOUND if lateness else total

    def _cost_of_goal(self) -> int:
        goal = int(self.nodes.state[GOAL])
        return NO_BOUND if goal == NONE else int(self.nodes.cost[goal])

    def _expand(self, count: int) -> None:
        if not self.is_open:
            return
        before = self._cost_of_goal()

        def run(chunk: int) -> tuple[int, bool]:
            self.nodes = make_room(self.nodes, chunk + 1)
            num_expanded = int(expand(self.nodes, self.team, self._sum(), chunk))
            return num_expanded, self._cost_of_goal() < before or int(self.nodes.state[TOP]) == NONE

        self.expansions += run_chunks(run, self.budget, self.expansions, count)
        cost = self._cost_of_goal()
        if cost < before:
            self._take(trace_back(self.nodes))
        if int(self.nodes.state[TOP]) == NONE and cost < NO_BOUND:
            # No open configuration is left, so no plan costs less by the measure of LaCAM*.
            self.lower_bound = max(self.lower_bound, min(cost, self._sum()))

    def _improve(self) -> None:
        self.expansions += run_chunks(self.improver.run, self.budget, self.expansions, _GROUPS_IN_TURN)
        self._take_costs(self.improver.costs(), self.improver.paths)

    def _take(self, paths: Ints) -> None:
        """Keep a plan that the expansion has found, if it is better than the best, and load it to be improved."""
        costs = count_costs(paths, self.goals, self.on_target)
        if self._take_costs(costs, lambda: paths):
            self.can_improve = len(self.goals) > 1 and self.improver.load(paths)

    def _take_costs(self, costs: NDArray[np.int64], make_paths: Callable[[], Ints]) -> bool:
        """Keep a plan with these costs if it is better than the best, see `_rank`; return whether it is."""
        if self.best is not None and self._rank(costs) >= self._rank(self.best[1]):
            return False
        self.best = make_paths(), costs
        return True

    def _rank(self, costs: NDArray[np.int64]) -> tuple[int, int]:
        """Return by how many steps agents arrive after the horizon, and the sum of costs; the smallest is the best."""
        late = 0 if self.horizon is None else int(np.maximum(costs - self.horizon, 0).sum())
        return late, int(costs.sum())

    def _result(self) -> Found:
        total = self._sum()
        if self.best is not None and total < NO_BOUND:
            paths, costs = self.best
            status: Status = "optimal" if total == self.lower_bound else "feasible"
            return Found(paths[: int(costs.max()) + 1], self.lower_bound, status, self.expansions)
        has_searched_all = int(self.nodes.state[TOP]) == NONE and self.best is None
        status = "unsolvable" if has_searched_all else "unknown"
        return Found(None, self.lower_bound, status, self.expansions)


class Improver:
    """A plan that large-neighbourhood search improves; one that is longer than the horizon is made shorter first."""

    def __init__(self, team: Team, on_target: str, horizon: int | None, seed: int) -> None:
        self._team, self._on_target, self._goals = team, on_target, team.goals
        self._horizon = FOREVER if horizon is None else horizon
        self._group, self._generator = make_group(len(team.goals)), make_generator(seed)
        self._table: Any = None

    def load(self, paths: Ints) -> bool:
        """Load the plan to improve, int32 (T + 1, N); return False if that would need too much memory."""
        steps = len(paths) - 1
        if self._table is None or self._table.paths.shape[1] <= steps:
            if 8 * len(self._team.neighbours) * (steps + 2) > _MOST_BYTES:
                return False
            rule = ON_TARGET_RULES.index(self._on_target)
            self._table = make_timetable(self._team, rule, steps, self._generator, horizon=self._horizon)
        else:
            _write_all(self._table, False)
        there = paths == self._goals
        self._table.paths[:, : steps + 1] = paths.T
        # An agent that never leaves its target is there from the beginning on.
        self._table.costs[:] = np.where(there.all(axis=0), 0, count_costs(paths, self._goals, self._on_target))
        _write_all(self._table, True)
        return True

    def run(self, count: int) -> tuple[int, bool]:
        """Search the paths of `count` groups again; return `count`, and False, as `run_chunks` expects it."""
        improve(self._table, None, self._group, count)
        return count, False

    def costs(self) -> NDArray[np.int64]:
        """Return the cost of each agent, int64 (N,), as `count_costs` does."""
        costs: NDArray[np.int64] = np.maximum(self._table.costs, self._on_target == "stay")
        return costs

    def paths(self) -> Ints:
        """Return the plan, int32 (T + 1, N)."""
        steps = int(self.costs().max())
        after = np.arange(steps + 1)[:, None] > self._table.costs
        rest = np.where(self._on_target == "leave", NOWHERE, self._goals)
        return np.where(after, rest, self._table.paths[:, : steps + 1].T).astype(np.int32)


@kernel
def _write_all(table: Timetable, is_there: bool) -> None:
    """Enter the paths of all agents, or remove them."""
    for agent in range(table.goals.shape[0]):
        if is_there:
            enter(table, agent)
        else:
            remove(table, agent)
