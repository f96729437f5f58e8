"""Problems of path finding: what a plan is asked for."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_limit, check_name, shorten
from multigrid.config import Collisions, GridConfig, OnTarget
from multigrid.core.arrays import TRAVELLING
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps.layouts import START_ON_TARGET, check_cell, check_cells, check_layout

__all__ = ["Problem"]

_LIFELONG = "its episodes have no end to plan for; expected 'stay', 'leave' or 'park'"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Problem:
    r"""A map with starts and targets, and the rules of the game: the beginning of an episode, or its middle.

    Raises:
        TypeError, ValueError: a field is not as described, or the environment would refuse the layout: agents on walls,
            two agents with one cell or target, unreachable targets, more agents than cells, an agent on its own target
            under a rule other than "stay".

    >>> problem = Problem("..#\n...", starts=[[0, 0], [0, 1]], targets=[[2, 1], [1, 0]])
    >>> problem
    Problem(3 x 2 cells, 2 agents, collisions='symmetric', on_target='stay', max_cycles=None, allow_stay=True)
    """

    walls: Any
    """One map: bool (W, H), True at ``[x, y]`` for a wall, or a picture in text; the attribute is bool (W, H)."""
    starts: Any
    """integers (N, 2), the agents' cells; the attribute is int64 (N, 2)."""
    targets: Any
    """integers (N, 2), their targets; the attribute is int64 (N, 2)."""
    collisions: Collisions = "symmetric"
    """As in `GridConfig`."""
    on_target: OnTarget = "stay"
    """As in `GridConfig`, but for "restart"."""
    max_cycles: int | None = None
    """The largest makespan of a plan, or None."""
    allow_stay: bool = True
    """Whether agents can wait."""
    arrived: Any = None
    """In the middle of an episode, bool (N,): which agents have parked or left already (under "stay" none); None at the
    beginning. In the middle, agents may share cells under ``collisions="none"``."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        check_name("collisions", self.collisions, get_args(Collisions))
        if check_name("on_target", self.on_target, get_args(OnTarget)) == "restart":
            raise ValueError(f"on_target is 'restart': {_LIFELONG}")
        set_field(self, "max_cycles", check_limit(self.max_cycles))
        if self.walls is None:
            raise TypeError("walls is None; expected one map: bool (W, H), or a picture in text")
        try:
            num_agents = check_int("the number of starts", len(self.starts), 1)
        except TypeError as error:
            raise TypeError(
                f"starts is {shorten(self.starts)}; expected integers of shape (N, 2): a cell [x, y] for each agent"
            ) from error
        arrived = np.zeros(num_agents, bool) if self.arrived is None else np.asarray(self.arrived).copy()
        if arrived.dtype != bool or arrived.shape != (num_agents,):
            raise ValueError(f"arrived is {shorten(self.arrived)}; expected bools ({num_agents},), or None")
        if arrived.any() and self.on_target == "stay":
            raise ValueError("arrived has agents, but under on_target='stay' all go on acting; leave it out")
        config = self._make_config(num_agents)
        if config.num_maps != 1:
            raise ValueError(f"walls has {config.num_maps} maps; expected one")
        there = np.flatnonzero(~arrived)
        may_start_on_target = self.on_target in START_ON_TARGET
        cells = (("agents", self.starts), ("targets", self.targets))
        layout = np.stack([check_cells(name, value, num_agents) for name, value in cells])
        # Under "none" agents may have come to one cell, but not at the beginning.
        apart = self.arrived is not None and self.collisions == "none"
        for group in there[:, None] if apart else [there]:
            check_layout(config.components[0], len(group), *layout[:, group], may_start_on_target=may_start_on_target)
        for agent in np.flatnonzero(arrived) if self.on_target == "park" else ():
            check_cell(f"agent_{agent}", layout[0, agent], config.components[0])
        for name, array in (("walls", config.is_wall[0]), ("starts", layout[0]), ("targets", layout[1])):
            set_field(self, name, _lock(array.copy()))
        set_field(self, "arrived", _lock(arrived))

    @property
    def num_agents(self) -> int:
        """N."""
        return len(self.starts)

    @property
    def config(self) -> GridConfig:
        """The configuration of a world in which plans are played."""
        return self._make_config(self.num_agents)

    def _make_config(self, num_agents: int) -> GridConfig:
        return GridConfig(
            walls=self.walls,
            num_agents=num_agents,
            collisions=self.collisions,
            on_target=self.on_target,
            allow_stay=self.allow_stay,
            max_cycles=self.max_cycles,
        )

    @classmethod
    def of(cls, source: Any) -> Problem:
        """Return the problem that an environment or a scenario represents.

        Args:
            source: a `MultiGridEnv` after its reset, perhaps wrapped, in its present state, with the cycles that are
                left; a `multigrid.scenarios.Scenario`; a `GridConfig` whose walls are one map with agents and targets;
                or a `Problem`.

        Raises:
            TypeError: something else.
            ValueError: the episode is over; a configuration has no layout, or more than one; or "restart".
            ResetNeeded: the environment was not reset.

        >>> Problem.of(GridConfig(walls="a.A", on_target="stay")).targets.tolist()
        [[2, 0]]
        """
        if isinstance(source, cls):
            return source
        if isinstance(getattr(source, "unwrapped", None), MultiGridEnv):
            return cls._of_state(source.unwrapped)
        config = source if isinstance(source, GridConfig) else getattr(source, "config", None)
        if not isinstance(config, GridConfig):
            raise TypeError(
                f"the problem is of type {type(source).__name__}; expected a MultiGridEnv, a Scenario, a GridConfig "
                "with a layout, or a Problem"
            )
        if config.layouts is None or config.num_maps != 1:
            what = "no layout" if config.layouts is None else f"{config.num_maps} maps"
            raise ValueError(
                f"the configuration has {what}; expected its walls to be one picture with agents and targets, "
                "or an environment after its reset"
            )
        return cls._of_layout(config, config.layouts[0], map_index=0, max_cycles=config.max_cycles)

    @classmethod
    def _of_state(cls, env: MultiGridEnv) -> Problem:
        state: Any = env.get_state()
        if state["episode_over"]:
            raise ValueError("the episode is over; call reset() before you plan the next one")
        left = None if env.max_cycles is None else env.max_cycles - int(state["steps"])
        layout = np.concatenate([state["location"], state["target"]], axis=1)
        arrived = state["status"] != TRAVELLING
        return cls._of_layout(env.config, layout, map_index=int(state["map_index"]), max_cycles=left, arrived=arrived)

    @classmethod
    def _of_layout(
        cls,
        config: GridConfig,
        layout: NDArray[np.int64],
        *,
        map_index: int,
        max_cycles: int | None,
        arrived: NDArray[np.bool_] | None = None,
    ) -> Problem:
        return cls(
            config.is_wall[map_index],
            layout[:, :2],
            layout[:, 2:],
            collisions=config.collisions,
            on_target=config.on_target,
            max_cycles=max_cycles,
            allow_stay=config.allow_stay,
            arrived=arrived,
        )

    def __repr__(self) -> str:
        width, height = self.walls.shape
        names = ("collisions", "on_target", "max_cycles", "allow_stay")
        rules = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"Problem({width} x {height} cells, {self.num_agents} agents, {rules})"


def _lock(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
