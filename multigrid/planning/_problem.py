"""Problems of multi-agent path finding: a map, starts, targets, and the rules."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_limit, check_name, check_path_finding, shorten
from multigrid.config import Collisions, GridConfig, OnTarget
from multigrid.core.arrays import TRAVELLING
from multigrid.core.states import walls_of
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps._layouts import START_ON_TARGET, check_cell, check_cells, check_layout

_RULES = ("collisions", "on_target", "max_cycles", "allow_stay")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Problem:
    r"""A map with starts and targets, and the rules of the game, at the beginning or in the middle of an episode.

    A target that its agent cannot reach even without the other agents raises a ValueError, as in the environment. A
    problem that only the other agents make impossible is accepted; `solve` may find that out, and then the status of
    its plan is *unsolvable*.

    Raises:
        TypeError, ValueError: a field is not as described, or the environment would refuse the layout: agents on walls,
            two agents with one cell or target, unreachable targets, more agents than cells, an agent on its own target
            under a rule other than "stay".

    >>> problem = Problem("..#\n...", starts=[[0, 0], [0, 1]], targets=[[2, 1], [1, 0]])
    >>> problem
    Problem(3 x 2 cells, 2 agents, collisions='symmetric', on_target='stay', max_cycles=None, allow_stay=True)
    """

    walls: Any
    """One map: bool (W, H), True at ``[x, y]`` for a wall, or a picture in text, of which only the walls count. The
    attribute is bool (W, H)."""
    starts: Any
    """The agents' cells, integers (N, 2). The attribute is int64 (N, 2)."""
    targets: Any
    """The agents' targets, integers (N, 2). The attribute is int64 (N, 2)."""
    collisions: Collisions = "symmetric"
    """As in `GridConfig`."""
    on_target: OnTarget = "stay"
    """As in `GridConfig`, except "restart"."""
    max_cycles: int | None = None
    """The largest makespan of a plan; None for no limit."""
    allow_stay: bool = True
    """As in `GridConfig`: whether agents can wait in their cells."""
    arrived: Any = None
    """In the middle of an episode, bool (N,): True for each agent that has parked or left already. At least one agent
    has not; under "stay", none has. None at the beginning of an episode; the attribute is then all False. Agents may
    share cells only in the middle of an episode, under ``collisions="none"``."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        check_name("collisions", self.collisions, get_args(Collisions))
        if check_name("on_target", self.on_target, get_args(OnTarget)) == "restart":
            raise ValueError(
                "on_target is 'restart': its episodes have no end to plan for; expected 'stay', 'leave' or 'park', or "
                "use multigrid.planning.controller with 'pibt' or 'windowed'"
            )
        set_field(self, "max_cycles", check_limit(self.max_cycles))
        if self.walls is None:
            raise TypeError("walls is None; expected one map: bool (W, H), or a picture in text")
        try:
            num_agents = check_int("the number of starts", len(self.starts), 1)
        except TypeError as error:
            expected = "expected integers of shape (N, 2): a cell [x, y] for each agent"
            raise TypeError(f"starts is {shorten(self.starts)}; {expected}") from error
        arrived = _check_arrived(self.arrived, num_agents, self.on_target)
        config = self._make_config(num_agents)
        if config.num_maps != 1:
            raise ValueError(f"walls has {config.num_maps} maps; expected one")
        there = np.flatnonzero(~arrived)
        layout = np.stack([check_cells(name, getattr(self, name), num_agents) for name in ("starts", "targets")])
        may_start = self.on_target in START_ON_TARGET
        # Under "none" agents may have come to one cell, but not at the beginning.
        apart = self.arrived is not None and self.collisions == "none"
        for group in there[:, None] if apart else [there]:
            check_layout(config.components[0], len(group), *layout[:, group], may_start_on_target=may_start)
        for agent in np.flatnonzero(arrived) if self.on_target == "park" else ():
            check_cell(f"agent_{agent}", layout[0, agent], config.components[0])
        arrays = {"walls": config.is_wall[0], "starts": layout[0], "targets": layout[1], "arrived": arrived}
        for name, array in arrays.items():
            set_field(self, name, array.copy())
            getattr(self, name).setflags(write=False)

    @property
    def num_agents(self) -> int:
        """The number of agents, N."""
        return len(self.starts)

    @property
    def config(self) -> GridConfig:
        """A `GridConfig` with the map and the rules of the problem; it has no starts and targets."""
        return self._make_config(self.num_agents)

    def _make_config(self, num_agents: int) -> GridConfig:
        return GridConfig(walls=self.walls, num_agents=num_agents, **{name: getattr(self, name) for name in _RULES})

    @classmethod
    def of(cls, source: Any) -> Problem:
        """Return the problem that an environment or a scenario represents.

        Args:
            source: a `MultiGridEnv` after its reset, perhaps wrapped: the problem is its present state, with the agents
                that take part in its episode, and `max_cycles` the number of steps that are left; a
                `multigrid.scenarios.Scenario`; a `GridConfig` whose walls are one map with agents and targets; or a
                `Problem`, which is returned as it is.

        Raises:
            TypeError: the source is something else.
            ValueError: the episode is over; the configuration has no layout, or more than one; its rule on target is
                "restart".
            ResetNeeded: the environment was not reset.

        >>> Problem.of(GridConfig(walls="a.A", on_target="stay")).targets.tolist()
        [[2, 0]]
        """
        if isinstance(source, cls):
            return source
        unwrapped = getattr(source, "unwrapped", None)
        if isinstance(unwrapped, MultiGridEnv):
            return cls._of_state(unwrapped)
        config = source if isinstance(source, GridConfig) else getattr(source, "config", None)
        # Other environments may have a `config`, too, but their present state would be ignored.
        if unwrapped is not None or not isinstance(config, GridConfig):
            expected = "expected a MultiGridEnv, a Scenario, a GridConfig with a layout, or a Problem"
            raise TypeError(f"the problem is of type {type(source).__name__}; {expected}")
        if config.layouts is None or config.num_maps != 1:
            what = "no layout" if config.layouts is None else f"{config.num_maps} maps"
            raise ValueError(
                f"the configuration has {what}; expected its walls to be one picture with agents and targets, "
                "or an environment after its reset"
            )
        return cls._of_layout(config, config.layouts[0], config.is_wall[0])

    @classmethod
    def _of_state(cls, env: MultiGridEnv) -> Problem:
        state: Any = env.get_state()
        if state["episode_over"]:
            raise ValueError("the episode is over; call reset() before you plan the next one")
        # A limit that was lowered below the steps so far still lets the agents take one step.
        left = None if env.max_cycles is None else max(1, env.max_cycles - int(state["steps"]))
        # Agents that take no part in the episode are none of the problem's.
        count = int(state.get("num_agents", env.config.num_agents))
        layout = np.concatenate([state["location"], state["target"]], axis=1)[:count]
        now = {"max_cycles": left, "arrived": state["status"][:count] != TRAVELLING}
        return cls._of_layout(env.config, layout, walls_of(env.config, state), **now)

    @classmethod
    def _of_layout(cls, config: GridConfig, layout: NDArray[np.int64], walls: Any, **fields: Any) -> Problem:
        check_path_finding(config, "a planner")
        rules = {name: getattr(config, name) for name in _RULES}
        return cls(walls, layout[:, :2], layout[:, 2:], **{**rules, **fields})

    def __repr__(self) -> str:
        width, height = self.walls.shape
        rules = ", ".join(f"{name}={getattr(self, name)!r}" for name in _RULES)
        return f"Problem({width} x {height} cells, {self.num_agents} agents, {rules})"


def _check_arrived(arrived: Any, num_agents: int, on_target: str) -> NDArray[np.bool_]:
    """Return which agents have parked or left already, bool (N,)."""
    if arrived is None:
        return np.zeros(num_agents, bool)
    expected = f"expected bools of shape ({num_agents},), or None at the beginning of an episode"
    try:
        array = np.array(arrived)
    except Exception as error:  # objects in it may raise any error
        raise ValueError(f"arrived is {shorten(arrived)}; {expected}") from error
    if array.dtype != bool or array.shape != (num_agents,):
        raise ValueError(f"arrived is {shorten(arrived)}; {expected}")
    if on_target == "stay" and array.any():
        raise ValueError("arrived has agents, but under on_target='stay' all go on acting; leave it out")
    if array.all():
        raise ValueError("arrived has all agents; expected at least one that has not arrived: others need no plan")
    return array
