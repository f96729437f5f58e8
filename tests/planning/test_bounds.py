"""Bounds of the smallest sum of costs, compared with an independent search of all joint states."""

import dataclasses
import math

import pytest
from judging import problem_with_optimum

from multigrid.planning import Problem, bounds


@pytest.mark.parametrize("rule", ["stay", "park", "leave"])
def test_the_optimum_lies_between_the_bounds(rule):
    """The smallest sum of costs is never outside the bounds; on small worlds they meet, at infinity without a plan."""
    optima = set()
    for seed in range(6):
        problem, optimum = problem_with_optimum(seed, 2, rule)
        expected = math.inf if optimum is None else optimum
        lower, upper = bounds(problem, time_limit=None, max_expansions=3)
        assert upper == math.inf or lower <= expected <= upper
        assert lower == math.inf or lower <= expected
        assert bounds(problem, time_limit=None) == (expected, expected)
        optima.add(expected)
    assert len(optima) > 2


def test_agents_that_cannot_stay():
    """Without the stay action a bound from below holds, and none from above is given."""
    problem, optimum = problem_with_optimum(1, 2, "stay")
    assert bounds(dataclasses.replace(problem, allow_stay=False), time_limit=None) == (optimum, math.inf)


def test_refused_rules():
    """What `solve` refuses is refused, with its errors."""
    layout = {"starts": [[0, 0]], "targets": [[2, 0]]}
    with pytest.raises(ValueError, match="collisions is 'priority', which no method supports"):
        bounds(Problem("...", **layout, collisions="priority"))
    with pytest.raises(ValueError, match="time_limit is -1"):
        bounds(Problem("...", **layout), time_limit=-1)
    with pytest.raises(TypeError, match="the problem is of type str"):
        bounds("a.A")
