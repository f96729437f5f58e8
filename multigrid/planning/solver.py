"""Solve a problem with one of the methods, and check the plan by playing it."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any, Literal, cast, get_args

import numpy as np

from multigrid._checks import check_int, check_name, check_seed, shorten
from multigrid.config import GridConfig, OnTarget
from multigrid.envs.parallel import MultiGridEnv
from multigrid.planning.compiled import COMPILED
from multigrid.planning.plan import Plan
from multigrid.planning.problem import Problem
from multigrid.planning.search import Budget, Found, Instance, Interrupted, Rule, check_collisions, count_costs
from multigrid.planning.travellers import Travellers

__all__ = ["Method", "check_budget", "compute_plan", "solve"]

Method = Literal["pibt", "lacam", "cbs"]
"""The planners of `solve`."""

# Its problems are crowded, so that a search calls all of its kernels.
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
    the plan's. Ctrl-C ends the search: "lacam" returns the best plan so far, and "cbs" its lower bound, with the best
    plan so far if there is one. Before there is anything to return, and under "pibt", Ctrl-C raises KeyboardInterrupt.

    The first call of a process with a method loads that method's kernels, or compiles them, which can take minutes the
    first time; the clock of `time_limit` starts after that.

    Args:
        problem: a `MultiGridEnv` in its present state, a scenario, a `GridConfig` with a layout, or a `Problem`. Under
            ``collisions="none"`` every method gives the shortest paths, which are optimal.
        method: "pibt", priority inheritance with backtracking: takes milliseconds, and may find no plan; "lacam",
            LaCAM*: finds a first plan fast, improves it as long as there is time, and is complete; "cbs",
            conflict-based search: finds the optimal sum of costs, for fewer agents.
        time_limit: the seconds for the search; None for no limit.
        seed: breaks ties.
        max_expansions: the largest number of expansions, see `Plan`; None for no limit. With `time_limit` None, equal
            arguments give equal plans on every machine.

    Raises:
        TypeError, ValueError: an argument is not as described; `problem` is refused, see `Problem`; its collisions are
            "priority" or "block_both", which no method supports; or agents cannot stay, but have to wait in the plan.
        ResetNeeded: `problem` is an environment that was not reset.

    >>> problem = Problem("....\n.#..", starts=[[0, 0], [3, 0]], targets=[[3, 0], [0, 0]])
    >>> plan = solve(problem, "cbs", time_limit=None)
    >>> plan.status, plan.sum_of_costs, plan.makespan
    ('optimal', 8, 5)

    See the page "Planning" (docs/planning.md in the source).
    """
    return compute_plan(problem, method, time_limit, seed, max_expansions, returns_after_interruption=True)


def compute_plan(
    problem: Any,
    method: Method,
    time_limit: float | None,
    seed: int,
    max_expansions: int | None,
    *,
    returns_after_interruption: bool = False,
) -> Plan:
    """Do what `solve` does, but let Ctrl-C raise KeyboardInterrupt, as loops over many problems need it.

    Args:
        problem: as for `solve`.
        method: as for `solve`.
        time_limit: as for `solve`.
        seed: as for `solve`.
        max_expansions: as for `solve`.
        returns_after_interruption: whether Ctrl-C returns the plan so far, as in `solve`.

    >>> compute_plan(Problem("...", starts=[[0, 0]], targets=[[2, 0]]), "cbs", None, 0, None).status
    'optimal'
    """
    problem = Problem.of(problem)
    method = check_name("method", method, get_args(Method))  # type: ignore[assignment]
    budget = check_budget(time_limit, max_expansions)
    seed = check_seed(seed, "")
    check_collisions(problem.collisions, "method")
    travellers = Travellers(problem)
    _load_kernels(method)
    budget.start()
    try:
        found = _search(travellers, method, budget, seed)
    except Interrupted as interruption:
        if not returns_after_interruption:
            raise
        found = interruption.found
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
        "optimal" if total == found.lower_bound else found.status,
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
    """Solve small problems, so that the kernels are loaded or compiled before the clock of a search starts."""
    if not COMPILED:
        return
    for on_target, num_agents in _EXAMPLES:
        env = MultiGridEnv(GridConfig(walls=_HALL, num_agents=num_agents, on_target=on_target, allow_stay=True))
        env.reset(seed=0)
        _search(Travellers(Problem.of(env)), method, Budget(_LONGEST_LOAD, _FEW_EXPANSIONS).start(), seed=0)
    problem = Problem(_NARROW, starts=[[0, 0], [3, 0]], targets=[[3, 0], [0, 0]])
    _search(Travellers(problem), method, Budget(_LONGEST_LOAD, _FEW_EXPANSIONS).start(), seed=0)


def check_budget(time_limit: Any, max_expansions: Any) -> Budget:
    """Check the limits of a search, each of which may be None, and return its budget.

    Raises:
        TypeError: `time_limit` is no real number, or `max_expansions` no integer.
        ValueError: a limit is negative, or `time_limit` is NaN or infinite.

    >>> check_budget(2, None).time_limit
    2.0
    """
    if time_limit is not None:
        expected = "expected a number of seconds of at least 0, or None for no limit"
        if not isinstance(time_limit, int | float | np.integer | np.floating) or isinstance(time_limit, bool):
            raise TypeError(f"time_limit is {shorten(time_limit)} of type {type(time_limit).__name__}; {expected}")
        try:
            seconds = float(time_limit)
        except OverflowError:
            seconds = math.inf
        if not 0 <= seconds < math.inf:
            raise ValueError(f"time_limit is {shorten(time_limit)}; {expected}")
        time_limit = seconds
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
