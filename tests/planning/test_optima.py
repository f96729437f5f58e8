"""The optima of conflict-based search are those of CP-SAT, a solver of integer programs, on small random worlds."""

import numpy as np
import pytest
from cp_sat import has_plan
from judging import judge, random_problem

from multigrid.planning import Problem, solve

pytestmark = pytest.mark.heavy


def expect_optimum(problem):
    """Compare the two; return whether there is a plan."""
    plan = solve(problem, "cbs", time_limit=None)
    judge(problem, plan)
    if plan.status == "unsolvable":
        cells = len(np.argwhere(~problem.walls))
        assert not has_plan(problem, 2 * cells * len(problem.starts))
        return False
    assert plan.status == "optimal"
    assert has_plan(problem, plan.sum_of_costs)
    assert not has_plan(problem, plan.sum_of_costs - 1)
    return True


def test_an_agent_that_makes_way_pays_until_it_is_back():
    """Both count 6 steps for the one that passes, 4 for the one that goes into the bay, and 1 for one on its target."""
    problem = Problem(".......\n#.#.###", [[0, 0], [3, 0], [1, 1]], [[6, 0], [3, 0], [1, 1]])
    assert solve(problem, "cbs", time_limit=None).sum_of_costs == 11
    assert expect_optimum(problem)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_optima_of_small_worlds(first):
    """With two, three or four agents, both have the same smallest sum of costs."""
    solved = 0
    for seed in range(first, first + 20):
        width, height = map(int, np.random.default_rng(seed).permutation([3 + seed % 4, 4 + seed % 3]))
        solved += expect_optimum(random_problem(seed, width, height, 2 + seed % 3, on_target="stay"))
    assert solved >= 15
