"""Execute plans under delays: each cell gets its visitors in the order of the plan."""

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from multigrid._checks import check_path_finding, shorten
from multigrid.actions import DIRECTIONS, Action, Outcome
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT, TRAVELLING
from multigrid.core.states import DELAY_FIELDS
from multigrid.envs.parallel import MultiGridEnv
from multigrid.planning._memory import Memory

Controller: TypeAlias = Callable[[MultiGridEnv, dict[str, Any]], dict[str, int]]

_STEP_TO_ACTION = {(int(dx), int(dy)): action for action, (dx, dy) in enumerate(DIRECTIONS.tolist())}
_Cell: TypeAlias = tuple[int, int]


class Executor:
    """Play a controller's moves in a copy of the world without delays, in the order in which agents enter each cell.

    In every step, the controller plays one more step in the copy, which thus runs ahead of the world. An agent enters
    the next cell of its path only after all agents that enter it earlier in the copy have left; it may follow the last
    of them directly. This is the temporal plan graph of Hönig et al. (ICAPS 2016), as MAPF-DP's minimal communication
    policy (Ma, Kumar and Koenig, AAAI 2017) uses it, but with followers and rotations that move together, as
    *symmetric* and *soft* allow. Moves that are refused because an agent ahead is delayed are tried again. So nobody
    collides, and all who arrive in the copy arrive.

    Args:
        controller: a policy, such as `multigrid.policies.pretrained`, or what `controller` returns. Its messages are
            not sent, for its steps are not those of the world.

    A call raises a ValueError if agents cannot wait or cannot follow one another, or under *restart* without lists of
    targets.

    >>> from multigrid import parallel_env
    >>> from multigrid.planning import controller
    >>> policy = Executor(controller("pibt"))
    >>> env = parallel_env(walls="a.bA.B", delays=0.3, collisions="soft", allow_stay=True)
    >>> observations, _ = env.reset(seed=0)
    >>> while env.agents:
    ...     observations, *_ = env.step(policy(env, observations))
    >>> env.metrics()["csr"]
    1.0
    """

    def __init__(self, controller: Controller) -> None:
        if not callable(controller):
            raise TypeError(
                f"controller is {shorten(controller)}; expected a policy, such as planning.controller('pibt')"
            )
        self._memory = Memory(functools.partial(_Execution, controller=controller))

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        del observations
        unwrapped = getattr(env, "unwrapped", None)
        if not isinstance(unwrapped, MultiGridEnv):
            raise TypeError(f"env is of type {type(env).__name__}; expected what multigrid.parallel_env returns")
        return self._memory.of(env).choose(unwrapped.get_state(), env)


class _Execution:
    """The copy of a world, the paths of its agents, and how far the agents of the world are on them."""

    def __init__(self, env: Any, controller: Controller) -> None:
        config: GridConfig = getattr(env, "drawn", env.config)
        check_path_finding(config, "an Executor")
        if config.collisions not in {"symmetric", "soft"} or not config.allow_stay:
            raise ValueError(
                f"collisions are {config.collisions!r}, and allow_stay is {config.allow_stay}; expected 'symmetric' or "
                "'soft', under which agents follow one another, and agents that can wait"
            )
        self._controller = controller
        self._copy = MultiGridEnv(dataclasses.replace(config, delays=None, max_cycles=None))
        self._steps = self._map_index = -1
        self._targets: Any = None
        self._observations: dict[str, Any] = {}
        # The present cell of each agent and those that it enters next, and the agents that are in a cell or enter it.
        self._ways: list[deque[_Cell]] = []
        self._visitors: dict[_Cell, deque[int]] = {}

    def choose(self, state: Any, env: MultiGridEnv) -> dict[str, int]:
        cells = [(x, y) for x, y in state["location"].tolist()]
        if not self._follow(state, cells):
            self._begin(state, cells)
        self._steps = int(state["steps"])
        self._plan_step()
        actions = {}
        for index, agent in enumerate(env.possible_agents):
            actions[agent] = int(Action.STAY)
            if len(self._ways[index]) > 1 and state["status"][index] == TRAVELLING and self._is_next(index):
                (x, y), (to_x, to_y) = self._ways[index][0], self._ways[index][1]
                actions[agent] = _STEP_TO_ACTION[to_x - x, to_y - y]
        return {agent: actions[agent] for agent in env.agents}

    def _follow(self, state: Any, cells: list[_Cell]) -> bool:
        """Note the moves of the last step; return False if this is another episode, or agents are off their paths."""
        is_next = state["steps"] == self._steps + 1 and state["map_index"] == self._map_index
        is_same = self._copy.config.on_target == "restart" or np.array_equal(state["target"], self._targets)
        if not is_next or not is_same:
            return False
        has_left = state["status"] == LEFT
        for index, (way, cell) in enumerate(zip(self._ways, cells, strict=True)):
            if not way:
                continue
            if way[0] != cell:
                if len(way) == 1 or way[1] != cell:
                    return False
                self._visitors[way.popleft()].remove(index)
            if has_left[index]:
                self._visitors[cell].remove(index)
                way.clear()
        return True

    def _begin(self, state: Any, cells: list[_Cell]) -> None:
        if self._copy.config.on_target == "restart" and "target_lists" not in state:
            raise ValueError(
                "on_target is 'restart': under delays agents arrive in another order, so their new targets would "
                "differ; expected lists of targets, or another rule"
            )
        begun = {name: value for name, value in state.items() if name not in DELAY_FIELDS}
        # Without delays there is no outcome DELAYED.
        begun["outcomes"] = np.where(begun["outcomes"] == Outcome.DELAYED, Outcome.STAYED, begun["outcomes"])
        self._copy.set_state(begun)
        self._observations, _ = self._copy.observe_all()
        self._map_index, self._targets = int(state["map_index"]), state["target"].copy()
        is_gone = state["status"] == LEFT
        self._ways = [deque([] if gone else [cell]) for gone, cell in zip(is_gone, cells, strict=True)]
        self._visitors = {way[0]: deque([index]) for index, way in enumerate(self._ways) if way}

    def _plan_step(self) -> None:
        """Let the controller play a step in the copy, and note who enters which cell."""
        if not self._copy.agents:
            return
        self._observations, *_ = self._copy.step(self._controller(self._copy, self._observations))
        for index, (x, y) in enumerate(self._copy.get_state()["location"].tolist()):
            way = self._ways[index]
            if way and way[-1] != (x, y):
                way.append((x, y))
                self._visitors.setdefault((x, y), deque()).append(index)

    def _is_next(self, index: int) -> bool:
        """Return whether an agent enters the next cell of its path first, or after the agent that is in it."""
        way = self._ways[index]
        visitors = self._visitors[way[1]]
        place = visitors.index(index)
        # If that agent stays, the environment refuses the move, and it is tried again.
        return place == 0 or (place == 1 and self._ways[visitors[0]][0] == way[1])
