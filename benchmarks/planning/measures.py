"""The tasks of the measurement, each of which gives one row.

Speeds are measured in processor time of one core, the time limits and the times of searches by the clock.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.planning.rows import Row
from benchmarks.pogema import SETS, Instance, Kind, read_instances
from benchmarks.pogema.published import published
from multigrid import planning
from multigrid.actions import Outcome
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.maps._generators import random_map
from multigrid.planning import _pibt, _search
from multigrid.planning._solver import compute_plan
from multigrid.planning._travellers import Travellers

__all__ = ["MEASURES", "Limits", "Task", "list_tasks"]

_Figures: TypeAlias = dict[str, Any]

_DENSITY = 0.2
_SEEDS = range(3)
_ROUNDS = 9
_WORLDS = 1024
_STEPS_OF_A_PLAN = 64
_MOST_SECONDS, _SECONDS_BETWEEN = 10.0, 0.5

MEASURES = ("pibt", "expert", "crowd", "cbs", "lifelong", "lacam")
"""In the order in which they are measured."""

_PROVEN = {"puzzles": (2, 3, 4), "random": (8, 16, 24), "mazes": (8, 16)}
_LIFELONG = {"random": SETS["random"], "mazes": SETS["mazes"], "warehouse": (192,)}


@dataclasses.dataclass(frozen=True)
class Limits:
    """The seconds that a search may take by the clock.

    Attributes:
        cbs: of conflict-based search.
        lacam: of LaCAM*, which ends early if its plan is optimal.
    """

    cbs: float
    lacam: float


@dataclasses.dataclass(frozen=True)
class Task:
    """One instance or world to measure.

    Attributes:
        measure: one of `MEASURES`.
        set: the set of the instance, or the size of the world.
        agents: the number of agents.
        instance: the name of the instance, or the seed of the world.
        index: its number in its set.
        limit: the seconds that it may take, 0 without a limit.
        run: measures, and returns the remaining fields of the `Row`.
    """

    measure: str
    set: str
    agents: int
    instance: str
    index: int
    limit: float
    run: Callable[[], _Figures]

    @property
    def key(self) -> tuple[str, str, int, str]:
        """The fields by which a task differs from all others."""
        return self.measure, self.set, self.agents, self.instance

    def measure_row(self) -> Row:
        """Measure, and return the row."""
        began = time.process_time()
        figures = self.run()
        cpu = time.process_time() - began
        return Row(self.measure, self.set, self.agents, self.instance, self.limit, cpu=cpu, **figures)


def list_tasks(clone: Path, sets: Sequence[str], limits: Limits) -> Iterator[Task]:
    """Yield all tasks: those on random worlds, and those on the instances of some sets.

    Raises:
        DataError: the clone lacks something.
    """
    for measure, world, agents, run in (
        ("pibt", "64 x 64", 512, _play_pibt),
        ("expert", "16 x 16", 8, _label),
        ("crowd", "256 x 256", 1000, _plan_crowd),
    ):
        for seed in _SEEDS:
            yield Task(measure, world, agents, f"seed {seed}", seed, 0.0, functools.partial(run, seed))
    for name in sets:
        yield from _list_solved(clone, "cbs", name, _PROVEN.get(name, ()), limits.cbs)
    for name in sets:
        yield from _list_lifelong(clone, name)
    for name in sets:
        yield from _list_solved(clone, "lacam", name, SETS[name], limits.lacam)


def _list_solved(clone: Path, method: str, name: str, counts: Sequence[int], limit: float) -> Iterator[Task]:
    """Yield the tasks of a method with its published results: LaCAM's for LaCAM*, the best of all for a bound."""
    costs: dict[tuple[str, int], float] = {}
    for row in published(clone, "mapf", sets=[name]) if counts else ():
        if row["csr"] == 1 and (method == "cbs" or row["algorithm"] == "LaCAM"):
            key = _name(row["map"], row["seed"]), row["agents"]
            costs[key] = min(row["sum_of_costs"], costs.get(key, np.inf))
    for index, one in _list_instances(clone, "mapf", name, counts):
        key = _name(one.map, one.seed), one.num_agents
        run = functools.partial(_solve, one, method, limit, costs.get(key))
        yield Task(method, name, one.num_agents, key[0], index, limit, run)


def _list_instances(clone: Path, kind: Kind, name: str, counts: Sequence[int]) -> Iterator[tuple[int, Instance]]:
    """Yield instances by number of agents, each with its number among those."""
    for agents in counts:
        yield from enumerate(read_instances(clone, name, kind, agents=[agents]))


def _name(map_name: str, seed: int) -> str:
    return f"{map_name} {seed:03}"


def _list_lifelong(clone: Path, name: str) -> Iterator[Task]:
    counts = _LIFELONG.get(name, ())
    throughputs = {
        (_name(row["map"], row["seed"]), row["agents"]): row["throughput"]
        for row in (published(clone, "lmapf", sets=[name]) if counts else ())
        if row["algorithm"] == "RHCR"
    }
    methods: tuple[planning.ControllerMethod, ...] = ("windowed", "pibt") if name == "warehouse" else ("windowed",)
    for index, one in _list_instances(clone, "lmapf", name, counts):
        key = _name(one.map, one.seed), one.num_agents
        for method in methods:
            run = functools.partial(_play_lifelong, one, method, throughputs.get(key))
            yield Task(f"lifelong {method}", name, one.num_agents, key[0], index, 0.0, run)


def _solve(instance: Instance, method: planning.Method, limit: float, other: float | None) -> _Figures:
    """Solve an instance; the figure is the sum of costs."""
    plan = compute_plan(instance.scenario(), method, limit, 0, None)
    bound = None if plan.status == "unsolvable" else plan.lower_bound
    return {
        "status": plan.status,
        "figure": plan.sum_of_costs,
        "bound": bound,
        "published": other,
        "seconds": plan.seconds,
    }


def _play_lifelong(instance: Instance, method: planning.ControllerMethod, other: float | None) -> _Figures:
    """Play all steps of a lifelong instance, by the game's own rules: the figure is the throughput."""
    env = instance.scenario().env()
    observations, _ = env.reset(seed=0)
    policy = planning.controller(method)
    policy(env, observations)
    seconds = []
    while env.agents:
        began = time.process_time()
        *_, infos = env.step(policy(env, {}))
        seconds.append(time.process_time() - began)
        if any(info["outcome"] not in {Outcome.MOVED, Outcome.STAYED} for info in infos.values()):
            raise RuntimeError(f"{method}, {instance.name}: a move was refused")
    return {
        "status": "played",
        "figure": env.metrics()["throughput"],
        "published": other,
        "seconds": sum(seconds) / len(seconds),
        "worst": max(seconds),
    }


def _make_world(size: int, agents: int, seed: int) -> planning.Problem:
    """Return a problem on a random map."""
    walls = random_map(size, size, _DENSITY, seed)
    env = MultiGridEnv(GridConfig(walls=walls, num_agents=agents, on_target="stay", allow_stay=True, max_cycles=None))
    env.reset(seed=seed)
    return planning.Problem.of(env)


def _play_pibt(seed: int) -> _Figures:
    """Play PIBT; `seconds` is the time of the plan with all tables of distances, the figure the time of a step."""
    travellers = Travellers(_make_world(64, 512, seed))

    def play(steps: int) -> float:
        began = time.process_time()
        instance = _search.SearchProblem(travellers.graph, travellers.starts, travellers.goals, "stay", steps)
        _pibt.search(instance, _search.Budget(None, None).start(), seed)
        return time.process_time() - began

    play(_STEPS_OF_A_PLAN)
    tables, plan = (statistics.median(play(steps) for _ in range(_ROUNDS)) for steps in (0, _STEPS_OF_A_PLAN))
    return {"status": "played", "figure": (plan - tables) / _STEPS_OF_A_PLAN, "seconds": plan}


def _label(seed: int) -> _Figures:
    """Label and play many worlds by the batch expert; the figure is the median of agent-steps a second."""
    walls = random_map(16, 16, _DENSITY, seed)
    config = GridConfig(walls=walls, num_agents=8, on_target="stay", allow_stay=True, max_cycles=_STEPS_OF_A_PLAN)
    envs = MultiGridVectorEnv(config, num_worlds=_WORLDS)
    envs.reset(seed=seed)
    planning.expert(envs)
    seconds = []
    for _ in range(_STEPS_OF_A_PLAN):
        began = time.process_time()
        actions = planning.expert(envs)
        seconds.append(time.process_time() - began)
        envs.step(actions)
    median = statistics.median(seconds)
    return {"status": "played", "figure": envs.num_envs / median, "seconds": median, "worst": max(seconds)}


def _plan_crowd(seed: int) -> _Figures:
    """Solve with more and more time until there is a plan; the figure is the processor time of the last call."""
    problem = _make_world(256, 1000, seed)
    compute_plan(problem, "lacam", 0.0, 0, None)
    limit, plan, seconds = 0.0, None, 0.0
    while (plan is None or plan.actions is None) and limit < _MOST_SECONDS:
        limit += _SECONDS_BETWEEN
        began = time.process_time()
        plan = compute_plan(problem, "lacam", limit, seed, None)
        seconds = time.process_time() - began
    solved = plan is not None and plan.sum_of_costs is not None
    return {
        "status": plan.status if plan is not None else "unknown",
        "figure": seconds if solved else None,
        "bound": plan.lower_bound if plan is not None else None,
        "seconds": seconds,
    }
