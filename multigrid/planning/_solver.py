"""Solve a problem with one of the methods, check the plan by playing it, and bound the optimum."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import sys
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_name, check_seed, is_real, shorten
from multigrid.actions import Action, Outcome
from multigrid.config import GridConfig, OnTarget
from multigrid.core.metrics import world_metrics
from multigrid.core.rules import ALL_VALID
from multigrid.core.worlds import Worlds
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps._cells import label_components
from multigrid.maps._layouts import Layout
from multigrid.planning._graph import NOWHERE, Graph, Ints, build_graph
from multigrid.planning._kernels import COMPILED
from multigrid.planning._problem import Problem
from multigrid.planning._search import (
    Budget,
    Found,
    Interrupted,
    SearchProblem,
    Status,
    check_collisions,
    count_costs,
    search_alone,
)


class Travellers:
    """The n agents of a problem that have not arrived yet; agents that have parked are walls, others are left out."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._there = np.flatnonzero(~problem.arrived)
        walls = problem.walls.copy()
        if problem.on_target == "park" and problem.collisions != "none":
            walls[tuple(problem.starts[problem.arrived].T)] = True
        self._walls = walls
        self._cells = [problem.starts[self._there], problem.targets[self._there]]
        self.graph: Graph = build_graph(walls)
        self.starts, self.goals = (self.graph.index[tuple(cells.T)] for cells in self._cells)

    @property
    def are_connected(self) -> bool:
        """Whether each agent can reach its target: agents that have parked may block the way."""
        labels = label_components(self._walls)
        starts, targets = (labels[tuple(cells.T)] for cells in self._cells)
        return bool((starts == targets).all())

    def find_actions(self, paths: Ints) -> NDArray[np.int8]:
        """Return the actions that lead along paths, int8 (T, n); raise a ValueError if an agent waits, but cannot."""
        before, after = paths[:-1], paths[1:]
        # Agents that have left stay where they were.
        gone = after == NOWHERE
        matches = self.graph.neighbours[before] == np.where(gone, before, after)[..., None]
        assert matches.any(axis=2).all(), "two cells of a path are not neighbours"
        actions: NDArray[np.int8] = matches.argmax(axis=2).astype(np.int8)
        stays = actions == Action.STAY
        if self.problem.allow_stay or not stays.any():
            return actions
        # Actions of agents that have arrived are ignored, except under "stay".
        has_arrived = (gone | (before == self.goals)) & (self.problem.on_target != "stay")
        for step, row in np.argwhere(stays & ~has_arrived):
            raise ValueError(
                f"agent_{self._there[row]} waits in step {step + 1} of the plan, but allow_stay is False; expected "
                "allow_stay=True where agents have to wait for one another, or for the last one under on_target='stay'"
            )
        actions[stays] = 0
        return actions

    def check_plan(self, paths: Ints, actions: NDArray[np.int8], costs: NDArray[np.int64]) -> None:
        """Play a plan with the kernels of the game; raise a RuntimeError if a move is refused, or a cost is another."""
        problem = self.problem
        config = dataclasses.replace(problem.config, walls=self._walls, num_agents=len(self.goals), size=None)
        world, only = Worlds(config), np.zeros(1, np.int64)
        world.reset(maps=only, layouts=Layout(np.concatenate(self._cells, axis=1)[None], None))
        for step, row in enumerate(actions):
            world.arrays.actions[0] = row
            if world.step() != ALL_VALID:
                raise RuntimeError(f"internal error: {row.tolist()} are not valid actions")
            there = paths[step + 1] != NOWHERE
            travels = there if problem.on_target == "stay" else there & (paths[step] != self.goals)
            outcomes = world.arrays.outcomes[0][travels]
            is_granted = np.isin(outcomes, (int(Outcome.MOVED), int(Outcome.STAYED)))
            cells = world.arrays.location[0][there]
            if not is_granted.all() or (cells != self.graph.cells[paths[step + 1][there]]).any():
                raise RuntimeError(f"internal error: the game refuses a move in step {step + 1} of the plan")
        metrics = world_metrics(world.measure(only))
        if not metrics["success"].all() or (metrics["arrival_step"] != costs).any():
            steps = metrics["arrival_step"].tolist()
            raise RuntimeError(f"internal error: the plan has arrivals in {costs.tolist()}, the game in {steps}")

    def widen(self, paths: Ints, actions: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return the actions, int8 (T, N), and cells, int64 (T + 1, N, 2), of all N agents of the problem."""
        problem, steps = self.problem, len(actions)
        all_actions = np.full((steps, problem.num_agents), int(Action.STAY) if problem.allow_stay else 0, np.int8)
        all_actions[:, self._there] = actions
        all_cells = np.full((steps + 1, problem.num_agents, 2), NOWHERE, np.int64)
        if problem.on_target == "park":
            all_cells[:] = problem.starts
        all_cells[:, self._there] = np.where(paths[..., None] == NOWHERE, NOWHERE, self.graph.cells[paths])
        return all_actions, all_cells


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The result of `solve`. If no plan was found, its arrays, its sum of costs and its makespan are None.

    The cost of an agent is the step of its arrival, as `multigrid.core.metrics` counts it. For a problem in the middle
    of an episode, steps are counted from the present state, and agents that have parked or left cost nothing.
    """

    status: Status
    """*optimal*: no plan has a smaller sum of costs; *feasible*: one may have; *unsolvable*: it is proven that there is
    no plan; *unknown*: no plan was found, but there may be one."""
    actions: NDArray[np.int8] | None
    """int8 (T, N): the `multigrid.Action` of each agent in each step. After an agent has parked or left, its actions
    have no effect; they are *stay*, or 0 where agents cannot stay."""
    cells: NDArray[np.int64] | None
    """int64 (T + 1, N, 2): the cell of each agent before the first step and after each step; [-1, -1] once it has
    left."""
    sum_of_costs: int | None
    """The sum of the agents' arrival steps."""
    makespan: int | None
    """The step of the last arrival, T."""
    lower_bound: int
    """No plan has a smaller sum of costs. If the status is *unsolvable*, the number means nothing."""
    seconds: float
    """The time of the search, without the time to load kernels and to play the plan."""
    expansions: int
    """The number of expansions: for "pibt" steps, for "lacam" configurations or groups of agents whose paths are
    searched again, for "cbs" nodes of a tree or configurations."""
    method: str
    """The method, as `solve` takes it."""

    @property
    def gap(self) -> float:
        """The sum of costs / the lower bound - 1: 0.1 is at most 10 % above the optimum; NaN without a plan."""
        if self.sum_of_costs is None:
            return np.nan
        return self.sum_of_costs / self.lower_bound - 1 if self.lower_bound else 0.0

    def __repr__(self) -> str:
        rest = f"lower_bound={self.lower_bound}, seconds={self.seconds:.3f}, expansions={self.expansions}"
        costs = "" if self.actions is None else f"sum_of_costs={self.sum_of_costs}, makespan={self.makespan}, "
        return f"Plan({self.status!r}, {costs}{rest}, method={self.method!r})"


Method = Literal["pibt", "lacam", "cbs"]
"""The planners of `solve`."""

# Problems on this map are crowded, so that a search calls all of its kernels.
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
_LONGEST_LOAD, _FEW_EXPANSIONS = 60.0, 60


def solve(
    problem: Any,
    method: Method = "lacam",
    time_limit: float | None = 10.0,
    seed: int = 0,
    max_expansions: int | None = None,
) -> Plan:
    r"""Plan the actions of all agents until each has arrived.

    Before the plan is returned, the kernels of the game play it: they grant each move, and the metrics are those of
    the plan. Ctrl-C ends the search: "lacam" returns the best plan so far, and "cbs" its lower bound, with the best
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
    """Do what `solve` does, but let Ctrl-C raise KeyboardInterrupt, which also ends a loop over many problems."""
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
    plan = Plan(found.status, None, None, None, None, found.lower_bound, budget.seconds, found.expansions, method)
    if found.paths is None:
        return plan
    costs = count_costs(found.paths, travellers.goals, problem.on_target)
    steps = int(costs.max())
    paths = found.paths[: steps + 1]
    actions = travellers.find_actions(paths)
    travellers.check_plan(paths, actions, costs)
    total = int(np.sum(costs))
    status: Status = "optimal" if total == found.lower_bound else found.status
    actions, cells = travellers.widen(paths, actions)
    return dataclasses.replace(plan, status=status, actions=actions, cells=cells, sum_of_costs=total, makespan=steps)


@functools.cache
def _load_kernels(method: str) -> None:
    """Solve small problems, so that the kernels are loaded or compiled before the clock of a search starts."""
    if not COMPILED:
        return
    for on_target, num_agents in _EXAMPLES:
        env = MultiGridEnv(GridConfig(walls=_HALL, num_agents=num_agents, on_target=on_target, allow_stay=True))
        env.reset(seed=0)
        _search(Travellers(Problem.of(env)), method, Budget(_LONGEST_LOAD, _FEW_EXPANSIONS).start(), seed=0)
    if method == "cbs":
        _load_kernels("lacam")


def check_budget(time_limit: Any, max_expansions: Any) -> Budget:
    """Check the limits of a search, each of which may be None, and return its budget."""
    if time_limit is not None:
        expected = "expected a number of seconds of at least 0, or None for no limit"
        if not is_real(time_limit):
            raise TypeError(f"time_limit is {shorten(time_limit)} of type {type(time_limit).__name__}; {expected}")
        if not 0 <= time_limit <= sys.float_info.max:
            raise ValueError(f"time_limit is {shorten(time_limit)}; {expected}")
        time_limit = float(time_limit)
    if max_expansions is not None:
        max_expansions = check_int("max_expansions", max_expansions, 0)
    return Budget(time_limit, max_expansions)


def _search(travellers: Travellers, method: str, budget: Budget, seed: int) -> Found:
    problem = travellers.problem
    if not travellers.are_connected:
        return Found(None, 0, "unsolvable", 0)
    cells = travellers.graph, travellers.starts, travellers.goals
    instance = SearchProblem(*cells, problem.on_target, problem.max_cycles)
    if problem.collisions == "none":
        return search_alone(instance)
    found: Found = importlib.import_module(f"multigrid.planning._{method}").search(instance, budget, seed)
    return found


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
