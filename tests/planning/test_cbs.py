"""Conflict-based search: optima, bounds, and its parts against all paths that there are."""

import dataclasses
import itertools

import numpy as np
import pytest
from judging import judge, random_problem, smallest_sum_of_costs

from multigrid.planning import Problem, solve
from multigrid.planning._cbs_paths import list_conflicts
from multigrid.planning._cbs_spaces import FORBID_CELL, REQUIRE_CELL
from multigrid.planning._cbs_tree import World
from multigrid.planning._graph import build_graph
from multigrid.planning._search import SearchProblem

RULES = ("stay", "leave", "park")
# A corridor of five cells, with a bay beside the third.
BAY = Problem(".....\n##.##", starts=[[0, 0], [4, 0]], targets=[[4, 0], [0, 0]])


def expect_optimum(problem):
    """Compare the plan with the exhaustive search of joint states, and return it."""
    plan, optimum = solve(problem, "cbs", None, max_expansions=3000), smallest_sum_of_costs(problem)
    judge(problem, plan)
    expected = ("unsolvable", None) if optimum is None else ("optimal", optimum)
    assert (plan.status, plan.sum_of_costs) == expected
    return plan


@pytest.mark.parametrize("on_target", RULES)
@pytest.mark.parametrize("number", range(4))
def test_small_worlds(on_target, number):
    """The optimum is that of the exhaustive search, and so are the problems without a plan."""
    for seed in range(10 * number, 10 * number + 10):
        expect_optimum(random_problem(seed, 3, 4, 2, on_target=on_target))
    expect_optimum(random_problem(number, 2, 4, 3, on_target=on_target))


@pytest.mark.parametrize("on_target", RULES)
def test_no_plan_is_longer_than_the_horizon(on_target):
    """Without a plan that is short enough, as where two agents pass each other in a bay, there is none."""
    for horizon in range(2, 8):
        expect_optimum(random_problem(horizon, 2, 4, 2, on_target=on_target, max_cycles=horizon))
    for horizon in (None, 12, 10, 9, 8, 7, 6, 5):
        expect_optimum(dataclasses.replace(BAY, on_target=on_target, max_cycles=horizon))


CROWD = Problem(
    np.zeros((6, 5), bool),
    [(0, 0), (5, 4), (0, 4), (5, 0), (2, 2), (3, 1), (1, 3)],
    [(5, 4), (0, 0), (5, 0), (0, 4), (3, 2), (2, 1), (4, 3)],
)
FOUR = Problem(np.zeros((4, 2), bool), [(0, 0), (3, 0), (0, 1), (3, 1)], [(3, 0), (0, 0), (3, 1), (0, 1)])


@pytest.mark.parametrize("problem", [*(dataclasses.replace(CROWD, on_target=rule) for rule in RULES), FOUR])
def test_bounds_are_never_above_the_optimum(problem):
    """A search that ends early has a lower bound that is at most the optimum, and that does not fall."""
    full = solve(problem, "cbs", None, max_expansions=3000)
    assert full.status == "optimal"
    bounds = []
    for count in (0, 1, 2, 4, 8, 16, 30, 60, 100, 200):
        plan = solve(problem, "cbs", None, max_expansions=count)
        judge(problem, plan)
        assert plan.expansions <= count
        bounds.append(plan.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] <= full.lower_bound


def test_the_result_depends_on_seed_and_expansions_alone():
    """The same seed and limit give the same paths, and another seed the same sum."""
    first, again, other = (solve(CROWD, "cbs", None, seed, 3000) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.actions, again.actions)
    assert first.expansions == again.expansions
    assert other.lower_bound == first.lower_bound


def test_a_start_on_the_target_costs_one():
    """An agent that begins on its target and stays there costs 1; one that has to make way costs more."""
    assert expect_optimum(Problem("...", [[1, 0]], [[1, 0]])).sum_of_costs == 1
    expect_optimum(dataclasses.replace(BAY, starts=[[0, 0], [2, 0]], targets=[[4, 0], [2, 0]]))


def walk(graph, path, goal, length, on_target):
    """List all paths of an agent with at most this cost, as tuples of cells that end with its stop."""
    ways = []
    for cell in graph.neighbours[path[-1]]:
        if cell < 0 or len(path) > length:
            continue
        if cell == goal and (path[-1] != goal or len(path) == 1):
            ways.append((*path, int(cell)))
        if cell != goal or on_target == "stay":
            ways += walk(graph, (*path, int(cell)), goal, length, on_target)
    return ways


def at(path, step, on_target):
    """Return where an agent is."""
    return path[step] if step < len(path) else -1 if on_target == "leave" else path[-1]


def fulfils(path, constraints, on_target):
    """Tell whether a path is allowed."""
    return all((at(path, step, on_target) == cell) == (kind == REQUIRE_CELL) for step, cell, kind in constraints)


SMALL = build_graph(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], bool))


@pytest.mark.parametrize("on_target", RULES)
def test_paths_under_constraints(on_target):
    """The smallest cost of an agent under constraints, and the cells at each step, are those of all paths listed."""
    rng = np.random.default_rng(5)
    world = World(SearchProblem(SMALL, np.array([0], np.int32), np.array([4], np.int32), on_target, 7))
    ways = walk(SMALL, (0,), 4, 7, on_target)
    for _ in range(150):
        constraints = {
            (int(rng.integers(1, 7)), int(rng.integers(8)), int(rng.choice([FORBID_CELL, FORBID_CELL, REQUIRE_CELL])))
            for _ in range(rng.integers(4))
        }
        low = int(rng.integers(1, 7))
        allowed = [way for way in ways if len(way) - 1 >= low and fulfils(way, constraints, on_target)]
        space = world.space(0, low, 7, frozenset(constraints))
        if not allowed:
            assert space is None
            continue
        best = min(len(way) for way in allowed)
        assert space.cost == best - 1
        for step, cells in enumerate(zip(*(way for way in allowed if len(way) == best), strict=True)):
            assert set(world.layer(space, step).tolist()) == set(cells)


@pytest.mark.parametrize("on_target", RULES)
@pytest.mark.parametrize("ends", [(0, 7, 6, 1), (2, 5, 4, 0), (3, 4, 5, 3), (0, 1, 1, 2), (0, 3, 1, 2), (0, 1, 1, 0)])
def test_joint_costs_of_pairs(on_target, ends):
    """The costs that two agents can have at once are those of all pairs of paths without a conflict."""
    starts, goals = np.array(ends[:2], np.int32), np.array(ends[2:], np.int32)
    world = World(SearchProblem(SMALL, starts, goals, on_target, 7))
    one, other = (world.space(k, 1, 7, frozenset()) for k in (0, 1))
    sums = set()
    ways = [walk(SMALL, (ends[k],), ends[2 + k], 6, on_target) for k in (0, 1)]
    for path, second in itertools.product(*ways):
        costs = len(path) - 1 - one.cost, len(second) - 1 - other.cost
        if costs not in sums and max(costs) <= 1:
            cells = [(at(path, step, on_target), at(second, step, on_target)) for step in range(8)]
            if not any(u == v >= 0 for u, v in cells) and not any(
                after == before[::-1] and -1 not in after for before, after in itertools.pairwise(cells)
            ):
                sums.add(costs)
    stairs = world.stairs(one, other)
    surplus = [min([b for a, b in sums if a <= limit], default=2) for limit in (0, 1)]
    if (0, 0) in sums:
        assert stairs is None
    elif len(stairs) == 3:
        assert stairs.tolist() == [*surplus, 0]
    else:
        assert (surplus, stairs[0] >= 2) == ([2, 2], True)


def test_conflicts_of_paths():
    """Every agent in a conflict is listed with a conflict that it has, at the step where it is."""
    paths = np.array([[0, 1, 2, 2], [1, 0, 0, -1], [4, 3, 2, 2], [5, 5, 0, 1]], np.int32)
    rows = {tuple(row) for row in list_conflicts(paths, 6).tolist()}
    assert rows == {(0, 1, 0, 1), (0, 2, 2, 0), (0, 2, 3, 0), (1, 3, 2, 0)}
