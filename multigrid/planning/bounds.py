"""Lower and upper bounds of the optimal sum of costs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from multigrid.planning.problem import Problem
from multigrid.planning.solver import check_budget, compute_plan

__all__ = ["Bounds", "bounds"]

# The share of the time for LaCAM*: good plans are found fast, and proofs take long.
_SHARE_OF_PLANS = 0.2


class Bounds(NamedTuple):
    """A lower and an upper bound of the optimal sum of costs; both are infinite if there is provably no plan."""

    lower: float
    """No plan has a smaller sum of costs."""
    upper: float
    """A plan has this sum of costs; infinite if none was found."""


def bounds(problem: Any, time_limit: float | None = 10.0, seed: int = 0, max_expansions: int | None = None) -> Bounds:
    r"""Return a lower and an upper bound of the optimal sum of costs of a problem.

    LaCAM* searches for plans, and then conflict-based search for a proof. Both let agents wait. So the lower bound also
    holds where agents cannot stay; the upper one is infinite there. Unlike in `solve`, Ctrl-C raises KeyboardInterrupt.

    Args:
        problem: as for `solve`.
        time_limit: the seconds for both; None for no limit, and then a proof may take for ever.
        seed: breaks ties.
        max_expansions: the largest number of expansions of each; None for no limit. With `time_limit` None, equal
            arguments give equal bounds on every machine.

    Raises:
        TypeError, ValueError, ResetNeeded: as `solve`.

    >>> bounds(Problem("....\n.#..", starts=[[0, 0], [3, 0]], targets=[[3, 0], [0, 0]]), time_limit=5.0)
    Bounds(lower=8.0, upper=8.0)
    """
    check_budget(time_limit, max_expansions)
    given = Problem.of(problem)
    problem = dataclasses.replace(given, allow_stay=True)
    share = None if time_limit is None else _SHARE_OF_PLANS * time_limit
    first = compute_plan(problem, "lacam", share, seed, max_expansions)
    found = [first]
    if first.status not in ("optimal", "unsolvable"):
        rest = None if time_limit is None else max(0.0, time_limit - first.seconds)
        found.append(compute_plan(problem, "cbs", rest, seed, max_expansions))
    if any(plan.status == "unsolvable" for plan in found):
        return Bounds(math.inf, math.inf)
    costs = [plan.sum_of_costs for plan in found if plan.sum_of_costs is not None and given.allow_stay]
    return Bounds(float(max(plan.lower_bound for plan in found)), float(min(costs, default=math.inf)))
