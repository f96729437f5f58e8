"""Groups of agents that are solved apart from one another (independence detection of Standley, AAAI 2010).

Each agent begins as a group of its own. As long as the optimal plans of two groups are in conflict, these two become
one group, for which a `Tree` finds the optimal plan.
"""

from __future__ import annotations

import numpy as np

from multigrid.planning._cbs_joint import Joint, count_states
from multigrid.planning._cbs_tree import Tree, World
from multigrid.planning._graph import FAR, Ints
from multigrid.planning._search import Budget, Found, Interrupted, SearchProblem, Status, count_costs

_TRIES = 200
_MAX_STATES = 1 << 22  # the largest number of joint states for a joint search
_STATES_PER_NODE = 200  # a node of a tree takes about as long as this number of joint states
_CHUNK = 2000
_LARGEST_SEED = 2**31 - 1  # the generator that breaks ties has 31 bits


def search(problem: SearchProblem, budget: Budget, seed: int) -> Found:
    """Search for a plan with the smallest sum of costs; an expansion is a node of a tree, or a joint state."""
    return _Search(problem, budget, seed & _LARGEST_SEED).run()


class _Search:
    def __init__(self, problem: SearchProblem, budget: Budget, seed: int) -> None:
        self.problem, self.budget, self.seed = problem, budget, seed
        self.lower_bound = self.expansions = 0
        # Paths and costs in one attribute: an interruption never comes between the two.
        self.best: tuple[Ints, int] | None = None

    def run(self) -> Found:
        try:
            return self._search()
        except KeyboardInterrupt as error:
            if self.lower_bound == 0:
                raise
            raise Interrupted(self._result()) from error

    def _search(self) -> Found:
        self.world = world = World(self.problem)
        everybody = range(len(self.problem.starts))
        spaces = [world.space(k, 1, world.horizon, frozenset()) for k in everybody]
        singles = [space for space in spaces if space is not None]
        if len(singles) < len(everybody):
            return Found(None, FAR, "unsolvable", 0)
        fixed = np.empty((0, 1), np.int32)
        self.paths = world.choose_paths(singles, fixed, seed=self.seed, max_tries=_TRIES)
        groups = [[k] for k in everybody]
        bounds = [space.cost for space in singles]
        self.lower_bound = sum(bounds)
        while True:
            conflicts = world.conflicts(self.paths)
            if not len(conflicts):
                return Found(_arrange(self.paths), sum(bounds), "optimal", self.expansions)
            one, other = (next(g for g, group in enumerate(groups) if k in group) for k in conflicts[0, :2])
            agents = groups[one] + groups[other]
            fixed = self.paths[[k for k in everybody if k not in agents]]
            tree = Tree(world, [singles[k] for k in agents], bounds[one] + bounds[other], fixed, self.seed)
            groups = [group for g, group in enumerate(groups) if g not in (one, other)] + [agents]
            rest = [bound for g, bound in enumerate(bounds) if g not in (one, other)]
            bounds = [*rest, self._solve(tree, sum(rest))]
            if bounds[-1] == FAR:
                return Found(None, FAR, "unsolvable", self.expansions)
            if tree.cost > bounds[-1]:
                return self._result()
            self.paths = self._merge(tree)

    def _solve(self, tree: Tree, rest: int) -> int:
        """Search for the optimal plan of a group, and return its lower bound; `rest` is that of the other groups."""
        states = count_states(self.world.num_cells, len(tree.agents))
        while not tree.is_over and not self.budget.is_over(self.expansions):
            if states <= min(_MAX_STATES, tree.expansions * _STATES_PER_NODE):
                return self._solve_jointly(tree, rest)
            self._expand(tree, rest)
        return tree.bound

    def _expand(self, tree: Tree, rest: int) -> None:
        before = tree.paths
        tree.expand()
        self.expansions += 1
        self._raise_bound(rest, tree.bound)
        if tree.paths is not before:
            self._keep(tree)

    def _solve_jointly(self, tree: Tree, rest: int) -> int:
        """Do what `_solve` does, by joint search; its states include the step only if plans without it are too long."""
        horizon, bound = self.world.horizon, tree.bound
        for is_timed in (False, True):
            size = count_states(self.world.num_cells, len(tree.agents)) * (horizon + 1 if is_timed else 1)
            if size > _MAX_STATES:
                break
            joint = Joint(self.world, tree.agents, is_timed=is_timed)
            while not joint.is_over and not self.budget.is_over(self.expansions):
                before = joint.expansions
                joint.run(self.budget.expansions_left(self.expansions, _CHUNK))
                self.expansions += joint.expansions - before
                self._raise_bound(rest, joint.bound)
            bound = max(bound, joint.bound)
            paths = joint.paths()
            if paths is not None and paths.shape[1] - 1 <= horizon:
                tree.paths, tree.cost = paths, bound
                self._keep(tree)
            if paths is None or paths.shape[1] - 1 <= horizon:
                return bound
        while not tree.is_over and not self.budget.is_over(self.expansions):
            self._expand(tree, rest)
        return max(bound, tree.bound)

    def _raise_bound(self, rest: int, bound: int) -> None:
        if bound < FAR:
            self.lower_bound = max(self.lower_bound, rest + bound)

    def _merge(self, tree: Tree) -> Ints:
        """Return the paths of all agents, int32 (N, T + 1), with the best plan of a group in the place of its paths."""
        assert tree.paths is not None
        last = max(self.paths.shape[1], tree.paths.shape[1]) - 1
        paths = np.stack([self.world.pad(path, k, last) for k, path in enumerate(self.paths)])
        paths[tree.agents] = [self.world.pad(path, k, last) for k, path in zip(tree.agents, tree.paths, strict=True)]
        return paths

    def _keep(self, tree: Tree) -> None:
        """Keep the plan of a group together with the paths of the others, if that is the best plan for all so far."""
        paths = self._merge(tree)
        if not len(self.world.conflicts(paths)):
            arranged = _arrange(paths)
            cost = int(count_costs(arranged, self.problem.goals, self.problem.on_target).sum())
            if self.best is None or cost < self.best[1]:
                self.best = arranged, cost

    def _result(self) -> Found:
        """Return what is known when the search ends before the optimum is proven."""
        if self.best is None:
            return Found(None, self.lower_bound, "unknown", self.expansions)
        paths, cost = self.best
        status: Status = "optimal" if cost == self.lower_bound else "feasible"
        return Found(paths, self.lower_bound, status, self.expansions)


def _arrange(paths: Ints) -> Ints:
    """Return paths as int32 (T + 1, N), without the last steps in which nothing changes, but for the first step."""
    last = paths.shape[1] - 1
    while last > 1 and (paths[:, last] == paths[:, last - 1]).all():
        last -= 1
    return np.ascontiguousarray(paths[:, : last + 1].T)
