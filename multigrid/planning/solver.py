"""Solve a problem with one of the searches, and play the plan."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any, Literal, cast, get_args

import numpy as np

from multigrid._checks import check_int, check_name, check_seed, shorten
from multigrid.config import GridConfig, OnTarget
from multigrid.core.compiled import COMPILED
from multigrid.envs.parallel import MultiGridEnv
from multigrid.planning.compiled import announce_compilation
from multigrid.planning.plan import Plan
from multigrid.planning.problem import Problem
from multigrid.planning.search import Budget, Found, Instance, Rule, check_collisions, count_costs
from multigrid.planning.travellers import Travellers

__all__ = ["Method", "check_budget", "solve"]

Method = Literal["pibt", "lacam", "cbs"]

# Crowded enough for all kernels of a search to have something to do.
_HALL = """
    .#.............
    ...#.....#.....
    ....#.##.......
    .#......#..#..#
    .....#.......#.
    ..#.....#......
    ......#...#..#.
"""
_EXAMPLES: tuple[tuple[OnTarget, int], ...] = (("stay", 8), ("leave", 20), ("stay", 14))
# Two agents that have to pass each other: in so small a world, conflict-based search turns to joint states.
_NARROW = "....\n.#.."
_LONGEST_LOAD, _FEW_EXPANSIONS = 60.0, 60


def solve(
    problem: Any,
    method: Method = "lacam",
    time_limit: float | None = 10.0,
    seed: int = 0,
    max_expansions: int | None = None,
) -> Plan:
    r"""Plan the actions of all agents until each has arrived.

    The plan is played with the kernels of the game before it is returned: each move is granted, and the metrics are
    the plan's. After Ctrl-C, "lacam" returns the best plan so far, if there is one.

    Args:
        problem: a `MultiGridEnv` in its present state, a scenario, a `GridConfig` with a layout, or a `Problem`. Under
            ``collisions="none"`` every method gives the shortest paths, which are optimal.
        method: "pibt", priority inheritance with backtracking: takes milliseconds, and may find no plan; "lacam",
            LaCAM*: complete, fast, and better with more time; "cbs", conflict-based search: the optimal sum of costs,
            for fewer agents.
        time_limit: the seconds for the search; None for no limit.
        seed: breaks ties.
        max_expansions: the number of expansions, or None. Without a time limit the plan is deterministic.

    Raises:
        TypeError, ValueError: an argument is not as described; `problem` is refused, see `Problem`; its collisions are
            "priority" or "block_both", which no method supports; or agents cannot stay and the plan needs a wait.
        ResetNeeded: `problem` is an environment that was not reset.

    >>> problem = Problem("....\n.#..", starts=[[0, 0], [3, 0]], targets=[[3, 0], [0, 0]])
    >>> plan = solve(problem, "cbs", time_limit=None)
    >>> plan.status, plan.sum_of_costs, plan.makespan
    ('optimal', 8, 5)
    """
    problem = Problem.of(problem)
    method = check_name("method", method, get_args(Method))  # type: ignore[assignment]
    budget = check_budget(time_limit, max_expansions)
    seed = check_seed(seed)
    check_collisions(problem.collisions, "method")
    travellers = Travellers(problem)
    announce_compilation()
    _load_kernels(method)
    budget.start()
    found = _search(travellers, method, budget, seed)
    seconds = budget.seconds
    if found.paths is None:
        return Plan(found.status, None, None, None, None, found.lower_bound, seconds, found.expansions, method)
    costs = count_costs(found.paths, travellers.goals, problem.on_target)
    steps = int(costs.max())
    paths = found.paths[: steps + 1]
    actions = travellers.find_actions(paths)
    travellers.check_plan(paths, actions, costs)
    total = int(np.sum(costs))
    return Plan(
        found.status,
        *travellers.widen(paths, actions),
        total,
        steps,
        found.lower_bound,
        seconds,
        found.expansions,
        method,
    )


@functools.cache
def _load_kernels(method: str) -> None:
    """Solve some problems, so that the time of the first search is not spent on loading or compiling kernels."""
    if not COMPILED:
        return
    for on_target, num_agents in _EXAMPLES:
        env = MultiGridEnv(GridConfig(walls=_HALL, num_agents=num_agents, on_target=on_target, allow_stay=True))
        env.reset(seed=0)
        _search(Travellers(Problem.of(env)), method, Budget(_LONGEST_LOAD, _FEW_EXPANSIONS).start(), seed=0)
    problem = Problem(_NARROW, starts=[[0, 0], [3, 0]], targets=[[3, 0], [0, 0]])
    _search(Travellers(problem), method, Budget(_LONGEST_LOAD, _FEW_EXPANSIONS).start(), seed=0)


def check_budget(time_limit: Any, max_expansions: Any) -> Budget:
    """Return the budget with these limits, which may be None.

    Raises:
        TypeError, ValueError: a limit is not a number of at least 0.

    >>> check_budget(2, None).time_limit
    2.0
    """
    if time_limit is not None:
        is_number = isinstance(time_limit, int | float | np.integer | np.floating) and not isinstance(time_limit, bool)
        if not is_number or not 0 <= time_limit < math.inf:
            raise ValueError(f"time_limit is {shorten(time_limit)}; expected seconds, at least 0, or None for no limit")
        time_limit = float(time_limit)
    if max_expansions is not None:
        max_expansions = check_int("max_expansions", max_expansions, 0)
    return Budget(time_limit, max_expansions)


def _search(travellers: Travellers, method: str, budget: Budget, seed: int) -> Found:
    problem = travellers.problem
    if not travellers.are_connected:
        return Found(None, 0, "unsolvable", 0)
    name = "shortest" if problem.collisions == "none" else method
    search: Callable[..., Found] = importlib.import_module(f"multigrid.planning.{name}").search
    rule = cast("Rule", problem.on_target)  # a Problem refuses "restart"
    instance = Instance(travellers.graph, travellers.starts, travellers.goals, rule, problem.max_cycles)
    return search(instance, budget, seed)
