"""Play an instance with an algorithm: a policy, or a search for a plan."""

from __future__ import annotations

import dataclasses
import functools
import platform
import time
import zlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from benchmarks.pogema.instances import Instance
from benchmarks.pogema.published import Row
from multigrid._checks import shorten
from multigrid._version import __version__
from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation._estimates import measure_episode
from multigrid.evaluation._playing import play
from multigrid.integrations.extras import list_versions
from multigrid.planning import Plan
from multigrid.planning._graph import build_graph, distance_tables
from multigrid.planning._solver import compute_plan
from multigrid.policies import Policy

Search: TypeAlias = Literal["lacam", "cbs"]
"""The algorithms that plan a whole episode, within the time limit."""
SEARCHES: tuple[Search, ...] = get_args(Search)


class PolicySetup(NamedTuple):
    """How to get a policy, and the observations that it needs."""

    make: Callable[[int], Policy]
    """Returns the policy of an episode for its seed."""
    fit: Callable[[GridConfig], GridConfig]
    """Returns a configuration with the observations that the policy needs, and with the same rules."""


class Trial(NamedTuple):
    """An algorithm, and the instance that it has to play."""

    algorithm: str
    """One of `SEARCHES`, or the name of a policy."""
    instance: Instance

    @property
    def key(self) -> tuple[Any, ...]:
        """As `benchmarks.pogema.rows.key_of` of the row."""
        return *self.instance.key, self.algorithm


def _refuse(name: str) -> PolicySetup:
    raise ValueError(f"there is no policy {shorten(name)}; expected {' or '.join(SEARCHES)}, or a Runner with a `find`")


@dataclasses.dataclass(frozen=True)
class Runner:
    """A function that plays a trial; it can be sent to other processes, where policies are created again.

    Args:
        find: a function that returns the setup of the policy with a name; it is not called for `SEARCHES`. By default
            there are no policies.
        time_limit: the seconds of a search for each instance.
        version: the version of this package, for the rows.

    >>> import numpy as np
    >>> instance = Instance("mapf", "own", "hall", 0, np.zeros((3, 2), bool), np.array([[0, 0]]), ([[2, 1]],), steps=9)
    >>> Runner()(Trial("cbs", instance))["sum_of_costs"]
    3.0
    """

    find: Callable[[str], PolicySetup] = _refuse
    time_limit: float = 1.0
    version: str = __version__
    _known: dict[str, PolicySetup] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes create policies again: networks need not be sent to them.
        return type(self), (self.find, self.time_limit, self.version)

    def limit_of(self, algorithm: str) -> float:
        """Return the seconds that an algorithm may take, 0 if it has no limit."""
        return self.time_limit if algorithm in SEARCHES else 0.0

    def __call__(self, trial: Trial) -> Row:
        """Play a trial, and return its row, with the keys `benchmarks.pogema.COLUMNS`.

        A policy decides in each step; its seconds are those of all decisions. A search plans once, and its plan is
        played; without a plan, all agents stay where they are. Seeds depend on the name of the instance alone.

        Raises:
            DataError: the layout is not valid.
            ValueError: the policy cannot act in this world.
        """
        instance, scenario = trial.instance, trial.instance.scenario()
        seed, status = zlib.crc32(instance.name.encode()), "played"
        if trial.algorithm in SEARCHES:
            # Unlike `solve`, this lets Ctrl-C end the run, instead of returning the best plan so far.
            plan = compute_plan(scenario, trial.algorithm, self.time_limit, seed, None)
            env = MultiGridEnv(blind(scenario.config))
            _play(env, functools.partial(_follow, plan), seed)
            status, seconds = plan.status, plan.seconds
            bound = None if status == "unsolvable" else float(plan.lower_bound)
        else:
            setup, config = self._prepare(trial.algorithm, scenario.config)
            env = MultiGridEnv(config)
            seconds = _play(env, setup.make(seed), seed)
            bound = _sum_shortest_paths(instance) if instance.kind == "mapf" else None
        return {
            **dict(zip(("kind", "set", "map", "seed", "agents"), instance.key, strict=True)),
            "algorithm": trial.algorithm,
            "status": status,
            **_figures(env),
            "lower_bound": bound,
            "seconds": seconds,
            "time_limit": self.limit_of(trial.algorithm),
            "multigrid": self.version,
            "rules": RULES_VERSION,
            "python": platform.python_version(),
            "numba": list_versions("numba").get("numba", ""),
        }

    def _prepare(self, name: str, config: GridConfig) -> tuple[PolicySetup, GridConfig]:
        """Return a setup, and the configuration with its observations."""
        is_new = name not in self._known
        if is_new:
            self._known[name] = self.find(name)
        setup = self._known[name]
        config = setup.fit(config)
        if is_new:  # what is loaded or compiled in the first step does not count
            _play(MultiGridEnv(dataclasses.replace(config, max_cycles=1)), setup.make(0), seed=0)
        return setup, config


def _play(env: MultiGridEnv, policy: Policy, seed: int) -> float:
    """Play an episode to its end, and return the seconds of the policy's decisions."""
    seconds = 0.0

    def timed(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        nonlocal seconds
        began = time.perf_counter()
        actions = policy(env, observations)
        seconds += time.perf_counter() - began
        return actions

    for _ in play(env, timed, seed):
        pass
    return seconds


def _follow(plan: Plan, env: MultiGridEnv, _: Any) -> dict[str, int]:
    """Follow a plan from the beginning; without one, all agents stay."""
    if plan.actions is None:
        return dict.fromkeys(env.agents, int(Action.STAY))
    return dict(zip(env.agents, plan.actions[int(env.get_state()["steps"])].tolist(), strict=True))


def blind(config: GridConfig) -> GridConfig:
    """Return a configuration with small observations, for policies that do not need them."""
    return dataclasses.replace(config, observe=("agent", "target"))


def _figures(env: MultiGridEnv) -> dict[str, float | None]:
    measures = measure_episode(env.metrics())
    is_lifelong = env.config.on_target == "restart"
    names = ("csr", "isr", "sum_of_costs", "makespan", "throughput")
    figures = {name: None if is_lifelong != (name == "throughput") else measures[name] for name in names}
    return {**figures, "steps": float(env.get_state()["steps"])}


def _sum_shortest_paths(instance: Instance) -> float | None:
    """Return the sum of the shortest paths, a lower bound on the costs; None if one is longer than the episode."""
    graph = build_graph(instance.walls)
    targets = np.array([cells[0] for cells in instance.targets])
    starts, goals = (graph.index[tuple(cells.T)] for cells in (instance.starts, targets))
    away = distance_tables(graph.neighbours, goals)[np.arange(len(starts)), starts]
    # An agent that starts on its target has arrived after the first step.
    return None if away.max() > instance.steps else float(np.maximum(away, 1).sum())
