"""Controllers: policies that plan the next actions in each step, also in lifelong episodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from multigrid._checks import check_name, check_seed
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.planning.batch import Batch
from multigrid.planning.plan import Plan
from multigrid.planning.solver import compute_plan
from multigrid.planning.windowed import Windowed
from multigrid.runtime.arrays import LEFT

__all__ = ["ControllerMethod", "controller"]

ControllerMethod: TypeAlias = Literal["pibt", "windowed", "lacam"]
"""The planners of `controller`."""

_MAX_EXPANSIONS = 10_000

_Controller: TypeAlias = Callable[[MultiGridEnv, dict[str, Any]], dict[str, int]]


def controller(method: ControllerMethod = "windowed", seed: int = 0) -> _Controller:
    r"""Return a policy that plans for all agents; if all follow it, each of their moves is granted.

    It notices by itself that another environment or episode has begun. Under "symmetric" and "soft" collisions, agents
    must be able to stay; under "none" they take shortest paths. To play one environment, use a controller; to label the
    states of many worlds at once, use `expert`, which returns the actions of ``controller("pibt")``.

    Args:
        method: "pibt", priority inheritance with backtracking (Okumura, Machida, Defago and Tamura, Artificial
            Intelligence 310, 2022): plans one step, in microseconds, from the present state alone. "windowed": plans
            the next 20 steps again in each step, by PIBT and large-neighbourhood search (Jiang, Zhang, Veerapaneni and
            Li, SoCS 2024), in milliseconds; under ``on_target="restart"`` it brings more arrivals than "pibt". "lacam":
            plans the whole episode at its beginning, as `solve` does with 10,000 expansions, and plays as "pibt" if
            that finds no plan; not for "restart".
        seed: breaks ties; equal seeds give equal actions in equal states and episodes.

    Returns:
        A function of an environment and its last observations (which are not used) that returns an action for each
        agent in ``env.agents``. It raises a ValueError if the environment's rules are not supported.

    Raises:
        ValueError: there is no such method, or the seed is negative.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(walls="a.bA.B", on_target="restart", allow_stay=True)
    >>> observations, _ = env.reset()
    >>> controller("windowed")(env, observations)
    {'agent_0': 0, 'agent_1': 0}
    """
    check_name("method", method, get_args(ControllerMethod))
    seed = check_seed(seed, "")
    classes: dict[str, Callable[[int], _Controller]] = {"pibt": _Pibt, "windowed": _InWindows, "lacam": _Planned}
    return classes[method](seed)


class _Pibt:
    """Plan the next step by PIBT, from the present state alone; graphs and distances are computed once."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._config: GridConfig | None = None
        self._batch: Any = None

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        del observations
        state: Mapping[str, Any] = env.get_state()
        if env.config is not self._config:
            self._batch = Batch(env.config, num_worlds=1, seed=self._seed)
            self._config = env.config
        actions = self._choose(env, {name: np.asarray(state[name])[None] for name in Batch.FIELDS})
        by_agent = dict(zip(env.possible_agents, actions, strict=True))
        return {agent: by_agent[agent] for agent in env.agents}

    def _choose(self, env: MultiGridEnv, states: Mapping[str, Any]) -> list[int]:
        del env
        actions: list[int] = self._batch.choose(states).tolist()
        return actions


class _InWindows(_Pibt):
    """Plan the next steps again in each step, beginning with the plan of the step before."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._env: Callable[[], MultiGridEnv | None] = lambda: None
        self._last: tuple[Any, int, int] = (None, 0, 0)
        self._plan: Windowed | None = None

    def _choose(self, env: MultiGridEnv, states: Mapping[str, Any]) -> list[int]:
        if env.config.collisions == "none":
            return super()._choose(env, states)
        batch, map_index, steps = self._batch, int(states["map_index"][0]), int(states["steps"][0])
        last_batch, last_map, last_steps = self._last
        is_same = env is self._env() and batch is last_batch and map_index == last_map
        if self._plan is None or not is_same or steps <= last_steps:
            self._plan = Windowed(batch.make_team(map_index), env.config.on_target, self._seed)
            self._env = weakref.ref(env)
        self._last = (batch, map_index, steps)
        cells, goals, rows = (part[0] for part in batch.tables.locate(states))
        after = self._plan.advance(cells, goals, rows, states["arrival_step"][0], steps)
        actions: list[int] = batch.find_actions(map_index, cells, after).tolist()
        return actions


class _Planned:
    """Play a plan for the rest of the episode; plan again when the state is not the one that the plan expects."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._fallback = _Pibt(seed)
        self._env: Callable[[], MultiGridEnv | None] = lambda: None
        self._config: GridConfig | None = None
        self._plan: Plan | None = None
        self._began, self._last = 0, 0
        self._map_index = 0
        self._targets: Any = None

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        state: Mapping[str, Any] = env.get_state()
        steps = int(state["steps"])
        is_same = env is self._env() and env.config is self._config and steps > self._last
        is_same = is_same and state["map_index"] == self._map_index and np.array_equal(state["target"], self._targets)
        if not is_same or not self._is_as_planned(state):
            self._plan = compute_plan(env, "lacam", None, self._seed, _MAX_EXPANSIONS)
            self._env, self._config, self._began = weakref.ref(env), env.config, steps
            self._map_index, self._targets = int(state["map_index"]), np.array(state["target"])
        self._last = steps
        if self._plan is None or self._plan.actions is None:
            return self._fallback(env, observations)
        actions = self._plan.actions[steps - self._began].tolist()
        by_agent = dict(zip(env.possible_agents, actions, strict=True))
        return {agent: by_agent[agent] for agent in env.agents}

    def _is_as_planned(self, state: Mapping[str, Any]) -> bool:
        if self._plan is None or self._plan.cells is None:
            # Where no plan was found, PIBT plays to the end of the episode.
            return True
        step = int(state["steps"]) - self._began
        if step >= len(self._plan.cells) - 1:
            return False
        is_here = state["status"] != LEFT
        return bool((self._plan.cells[step] == state["location"])[is_here].all())
