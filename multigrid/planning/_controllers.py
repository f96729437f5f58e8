"""Controllers plan the next actions in each step, also in lifelong episodes; the expert does so for many worlds."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_bool, check_name, check_path_finding, check_seed
from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT
from multigrid.core.rules import COLLISION_RULES, ON_TARGET_RULES
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._executor import Controller, Executor
from multigrid.planning._graph import NOWHERE, Ints, Places, Tables
from multigrid.planning._kernels import make_generator
from multigrid.planning._memory import Memory, name_actions, number_actions, read_state, read_states
from multigrid.planning._neighbourhoods import Windowed
from multigrid.planning._pibt import NUM_SCORES, Team, choose_in_worlds, make_team
from multigrid.planning._search import check_collisions
from multigrid.planning._solver import Plan, compute_plan


def check_rules(config: GridConfig) -> None:
    """Raise a ValueError if no controller supports the rules of a configuration."""
    check_path_finding(config, "a controller")
    check_collisions(config.collisions, "controller")
    must_wait = config.num_agents > 1 and (config.collisions != "none" or config.on_target == "stay")
    if must_wait and not config.allow_stay:
        expected = "expected a world with allow_stay=True"
        raise ValueError(f"allow_stay is False, but agents have to wait for one another; {expected}")


class Batch:
    """The next step of PIBT in up to E worlds of a configuration."""

    # The parts of a state that the actions depend on.
    FIELDS: ClassVar = ("map_index", "steps", "episode_over", "location", "target", "status", "arrival_step")

    def __init__(self, config: GridConfig, num_worlds: int, seed: int = 0) -> None:
        check_rules(config)
        self.tables = Tables(config.is_wall, at_least=num_worlds * config.num_agents)  # the maps
        self._num_agents = config.num_agents
        # Between two arrivals, PIBT plays *restart* as *stay*.
        self._rule = "stay" if config.on_target == "restart" else config.on_target
        self._team = self.make_team(0)
        self._rest = int(Action.STAY) if config.allow_stay else 0  # the action of agents whose actions have no effect
        self._num_actions = config.num_actions
        rules = ON_TARGET_RULES.index(config.on_target), COLLISION_RULES.index(config.collisions)
        self.collisions = config.collisions
        self._settings = np.array([*rules, config.num_actions, int(make_generator(seed)[0])])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_team": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._team = self.make_team(0)

    def make_team(self, map_index: int) -> Team:
        """Return the arrays of PIBT for a map; the caller sets cells, goals and rows."""
        neighbours, no_goals = self.tables.neighbours[map_index], np.zeros(self._num_agents, np.int32)
        team = make_team(neighbours, np.empty((self._num_agents, len(neighbours)), np.int32), no_goals, self._rule)
        return team._replace(degrees=self.tables.degrees[map_index], distances=self.tables.distances)

    def choose(
        self, states: Mapping[str, Any], scores: NDArray[np.float32] | None = None, places: Places | None = None
    ) -> NDArray[np.int64]:
        """Return the actions of all agents, int64 (E * N,), in the order of rows, in the states of E worlds.

        With scores, float32 (E * N, 5), an agent prefers the actions with the largest scores, instead of those that
        lead to the cells nearest to its target, unless it has to exchange places with another agent. Under "none",
        scores are not used. `places` is what `Tables.locate` returns for the states, if it is known.
        """
        cells, goals, rows = self.tables.locate(states) if places is None else places
        actions = np.full(cells.shape, self._rest)
        if scores is None:
            ranking = np.empty((len(cells), 0, NUM_SCORES), np.float32)
        else:
            ranking = scores.reshape(*cells.shape, NUM_SCORES)
            # PIBT lets agents stay even without a stay action: with this score, only where no move is left.
            ranking = np.where(np.arange(NUM_SCORES) < self._num_actions, ranking, np.float32(-np.inf))
        graphs = self.tables.neighbours, self.tables.degrees
        worlds = tuple(np.asarray(states[name]) for name in ("map_index", "steps", "episode_over"))
        agents = cells, goals, rows, states["arrival_step"], ranking
        choose_in_worlds(self._team, self._settings, graphs, worlds, agents, actions)
        return actions.ravel()

    def find_actions(self, map_index: int, cells: Ints, after: Ints) -> NDArray[np.int64]:
        """Return the actions that lead from cells to those after the step, int64 (N,); both are int32 (N,)."""
        is_next = self.tables.neighbours[map_index][cells] == after[:, None]
        is_travelling = (cells != NOWHERE) & (after != NOWHERE)
        return np.where(is_travelling, is_next[:, : self._num_actions].argmax(axis=1), self._rest)


ControllerMethod: TypeAlias = Literal["pibt", "windowed", "lacam"]
"""The planners of `controller`."""

_MAX_EXPANSIONS = 10_000


def controller(method: ControllerMethod = "windowed", seed: int = 0, *, keep_order: bool = False) -> Controller:
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
        keep_order: under delays, plan for a world without them, and let agents enter each cell in the order of this
            plan, as `Executor` does. Otherwise "lacam" plans anew whenever an agent was delayed.

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
    if check_bool("keep_order", keep_order):
        return Executor(controller(method, seed))
    if method == "lacam":
        return _Planned(seed)
    if method == "pibt":
        return _StepByStep(functools.partial(Batch, num_worlds=1, seed=seed))
    return _StepByStep(functools.partial(_Ahead, seed=seed))


class _StepByStep:
    """Choose one step at a time; graphs and distances are computed once for an environment."""

    def __init__(self, make: Callable[[GridConfig], Batch | _Ahead]) -> None:
        self._make, self._memory = make, Memory(self._begin)

    def _begin(self, env: MultiGridEnv) -> Batch | _Ahead:
        return self._make(env.config)

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        del observations
        states = read_state(env, Batch.FIELDS)
        return name_actions(env, self._memory.of(env).choose(states).tolist())


class _Ahead:
    """Plan the next steps again in each step, beginning with the plan of the step before."""

    def __init__(self, config: GridConfig, seed: int, last: tuple[int, int] = (0, 0), state: Any = None) -> None:
        self._config, self._seed, self._last = config, seed, last
        self._batch = Batch(config, 1, seed)
        self._plan = None if state is None else self._make_plan(last[0], state)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._config, self._seed, self._last, self._plan and self._plan.state)

    def _make_plan(self, map_index: int, state: Any = ()) -> Windowed:
        return Windowed(self._batch.make_team(map_index), self._config.on_target, self._seed, state=state)

    def choose(self, states: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the actions of all agents, as `Batch.choose` does."""
        if self._config.collisions == "none":
            return self._batch.choose(states)
        map_index, steps = int(states["map_index"][0]), int(states["steps"][0])
        if self._plan is None or map_index != self._last[0] or steps <= self._last[1]:
            self._plan = self._make_plan(map_index)
        self._last = map_index, steps
        cells, goals, rows = (part[0] for part in self._batch.tables.locate(states))
        after = self._plan.advance(cells, goals, rows, states["arrival_step"][0], steps)
        return self._batch.find_actions(map_index, cells, after)


@dataclasses.dataclass
class _Played:
    """A plan that is played, the first and the latest step that it was played in, and the map and targets."""

    env: dataclasses.InitVar[MultiGridEnv]
    plan: Plan | None = None
    began: int = 0
    last: int = 0
    map_index: int = 0
    targets: Any = None

    def fits(self, state: Mapping[str, Any]) -> bool:
        """Return whether a state is the one that the plan expects next."""
        if self.plan is None or state["steps"] <= self.last or state["map_index"] != self.map_index:
            return False
        if not np.array_equal(state["target"], self.targets):
            return False
        if self.plan.cells is None:
            # Where no plan was found, PIBT plays to the end of the episode.
            return True
        step = int(state["steps"]) - self.began
        is_here = state["status"] != LEFT
        return step < len(self.plan.cells) - 1 and bool((self.plan.cells[step] == state["location"])[is_here].all())


class _Planned:
    """Play a plan for the rest of the episode; plan again when the state is not the one that the plan expects."""

    def __init__(self, seed: int) -> None:
        self._seed, self._fallback = seed, controller("pibt", seed)
        self._memory = Memory(_Played)

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        unwrapped: Any = env.unwrapped
        state = unwrapped.get_state()
        played, steps = self._memory.of(env), int(state["steps"])
        if not played.fits(state):
            played.plan = _widen(compute_plan(env, "lacam", None, self._seed, _MAX_EXPANSIONS), len(state["status"]))
            played.began, played.map_index, played.targets = steps, int(state["map_index"]), np.array(state["target"])
        played.last = steps
        if played.plan is None or played.plan.actions is None:
            return self._fallback(env, observations)
        return name_actions(env, played.plan.actions[steps - played.began].tolist())


def _widen(plan: Plan, num_agents: int) -> Plan:
    """Return a plan with agents that take no part in the episode."""
    if plan.actions is None or plan.cells is None or plan.actions.shape[1] == num_agents:
        return plan
    absent = (0, num_agents - plan.actions.shape[1])
    actions = np.pad(plan.actions, ((0, 0), absent))
    return dataclasses.replace(plan, actions=actions, cells=np.pad(plan.cells, ((0, 0), absent, (0, 0))))


# A cache of graphs and distances for `expert`; no result depends on it.
_BATCHES: Memory[Batch] = Memory(lambda worlds: Batch(worlds.config, worlds.num_worlds), of_many=True)


def expert(vector_env: MultiGridVectorEnv) -> NDArray[np.int64]:
    r"""Return PIBT's actions for all agents of all worlds in their present states, int64 (num_envs,).

    The actions depend on the present states alone, so that states can be labelled whatever policy led to them. They are
    those of ``controller("pibt")``: to label many worlds at once, use this function; to play one environment, use
    `controller`. Agents that have left or parked, and worlds that the next step resets, get *stay*, or 0 where agents
    cannot stay.

    PIBT: Okumura, Machida, Defago and Tamura, Artificial Intelligence 310, 2022.

    Args:
        vector_env: an environment after its reset, with agents that can stay, and "symmetric" or "soft" collisions;
            or with "none", where agents take shortest paths.

    Raises:
        TypeError: `vector_env` is something else.
        ResetNeeded: a world had no reset yet.
        ValueError: the rules are not supported.

    >>> from multigrid import vector_env
    >>> envs = vector_env(2, walls="a..A\nb..B", allow_stay=True)
    >>> _ = envs.reset()
    >>> expert(envs).tolist()
    [0, 0, 0, 0]
    """
    worlds = getattr(vector_env, "unwrapped", None)
    if not isinstance(worlds, MultiGridVectorEnv):
        given = type(vector_env).__name__
        raise TypeError(f"vector_env is of type {given}; expected what multigrid.vector_env returns")
    return number_actions(worlds, _BATCHES.of(worlds).choose(read_states(worlds)))
