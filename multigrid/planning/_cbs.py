"""Groups of agents that are solved apart from one another (independence detection of Standley, AAAI 2010).

Each agent begins as a group of its own. As long as the optimal plans of two groups are in conflict, these two become
one group, for which a `Tree` finds the optimal plan, or LaCAM* proves that there is none.
"""

from __future__ import annotations

import numpy as np

from multigrid.planning import _lacam
from multigrid.planning._cbs_tree import Tree, World
from multigrid.planning._graph import FAR, Ints
from multigrid.planning._search import Budget, Found, Interrupted, SearchProblem, Status, count_costs

_TRIES = 200
_NODES_BETWEEN_PROOFS = 16
_CONFIGURATIONS_PER_NODE = 100  # a node of a tree takes about as long as this number of configurations
_LARGEST_SEED = 2**31 - 1  # the generator that breaks ties has 31 bits


def search(problem: SearchProblem, budget: Budget, seed: int) -> Found:
    """Search for a plan with the smallest sum of costs; an expansion is that of a node or a configuration."""
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
                return Found(self.paths.T, sum(bounds), "optimal", self.expansions)
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
        proof: _lacam.Search | None = None
        status: Status = "unknown"
        while not tree.is_over and not self.budget.is_over(self.expansions):
            before = tree.paths
            tree.expand()
            self.expansions += 1
            if tree.bound < FAR:
                self.lower_bound = max(self.lower_bound, rest + tree.bound)
            if tree.paths is not before:
                self._keep(tree)
            if status == "unknown" and tree.expansions % _NODES_BETWEEN_PROOFS == 0:
                # Without a horizon, the tree of a group that has no plan does not end.
                proof = proof or self._begin_proof(tree.agents)
                proof.expansions = self.expansions
                status = proof.find_plan(_CONFIGURATIONS_PER_NODE * tree.expansions)
                self.expansions = proof.expansions
                if status == "unsolvable":
                    return FAR
        return tree.bound

    def _begin_proof(self, agents: list[int]) -> _lacam.Search:
        starts, goals = self.problem.starts[agents], self.problem.goals[agents]
        alone = self.problem._replace(starts=starts, goals=goals, horizon=None)
        return _lacam.Search(alone, self.budget, self.seed)

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
            cost = int(count_costs(paths.T, self.problem.goals, self.problem.on_target).sum())
            if self.best is None or cost < self.best[1]:
                self.best = paths.T, cost

    def _result(self) -> Found:
        """Return what is known when the search ends before the optimum is proven."""
        if self.best is None:
            return Found(None, self.lower_bound, "unknown", self.expansions)
        paths, cost = self.best
        status: Status = "optimal" if cost == self.lower_bound else "feasible"
        return Found(paths, self.lower_bound, status, self.expansions)
