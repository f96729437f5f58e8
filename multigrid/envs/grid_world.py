"""The GridWorld of Gymnasium's tutorial, in two editions: one agent, one target.

The environment of the tutorial "Make your own custom environment": `GridWorldEnv` is that of Gymnasium 0.26 to 1.2.2,
`RowColumnGridWorldEnv` that since 1.2.3. Equal seeds and actions give equal results.

The docstrings of the classes describe the rules.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, is_int, shorten
from multigrid.actions import DIRECTIONS, ROW_COLUMN_ACTIONS, check_action
from multigrid.config import GridConfig
from multigrid.core.worlds import NO_SEED
from multigrid.envs import spaces
from multigrid.envs._annotations import State
from multigrid.envs._documented_members import NOWHERE, Location, find_step, replaceable
from multigrid.envs._env_base import AFTER_CALL, CUT_OFF, one_at_a_time
from multigrid.envs._factories import one_agent_error
from multigrid.envs._levels import check_levels
from multigrid.envs._one_world import FIRST_WORLD, OneWorld
from multigrid.envs._reset_arguments import check_options
from multigrid.maps._layouts import RANDOM_LAYOUT, Layout
from multigrid.rendering._frame import SMALLEST_FRAME, WINDOW_SIZE, Painter, RenderOptions
from multigrid.rendering._scene import Scene, swap_axes
from multigrid.rendering._window import close_display

__all__ = ["Actions", "GridWorldEnv", "RowColumnGridWorldEnv"]

_Cells: TypeAlias = dict[str, NDArray[np.int64]]

Actions = enum.IntEnum("Actions", "RIGHT UP LEFT DOWN", start=0)  # the documented names

_INTEGERS = frozenset({int, np.int64})
_AGENT, _TARGET = Location("location"), Location("target")
_MEMBERS = ("_get_obs", "_get_info", "_render_frame", "_action_to_direction")


class GridWorldEnv(OneWorld, gymnasium.Env[_Cells, Any]):
    """One agent walks to a target on a square grid: the GridWorld of Gymnasium 0.26 to 1.2.2, with the same results.

    At a reset, the agent's cell is random, and the target is a random other cell. Observations are ``{"agent": [x, y],
    "target": [x, y]}``, int64 (2,) each, from 0 to size - 1. The actions are 0 right ``[1, 0]``, 1 up ``[0, 1]``, which
    is down in pictures, 2 left ``[-1, 0]`` and 3 down ``[0, -1]``; at the edge of the grid the agent stays. Reaching
    the target gives a reward of 1 and terminates the episode; all other rewards are 0. The info is ``{"distance": L1
    distance}``, a float. There is no time limit unless ``max_episode_steps`` is passed to ``gymnasium.make``, or under
    the id ``gym_examples/GridWorld-v0``, where it is 300 steps. Frames are uint8 (512, 512, 3): a blue disc for the
    agent, a red square for the target.

    A subclass of `multigrid.GridWorldEnv` may override or set any member of the tutorial's class, and need not call
    ``super().__init__``. Overriding or using private members, such as ``_agent_location``, makes steps slower.

    Source: Gymnasium's tutorial "Make your own custom environment", as in Gymnasium 0.26 to 1.2.2, with the ids
    ``gymnasium_env/GridWorld-v0`` and ``gym_examples/GridWorld-v0``. Since 1.2.3, it is `RowColumnGridWorldEnv`.

    Args:
        render_mode: None, "human" or "rgb_array".
        size: the side of the grid in cells, at least 2.

    Raises:
        TypeError: `size` is not an integer, or another keyword was given.
        ValueError: `size` is below 2, or the render mode is unknown.

    >>> env = GridWorldEnv()
    >>> observation, info = env.reset(seed=0)
    >>> observation["agent"].tolist(), observation["target"].tolist(), info
    ([4, 3], [2, 1], {'distance': 4.0})
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 4}
    window_size = WINDOW_SIZE
    """The side of a frame in pixels."""
    window: Any = None
    """The surface of the window, None while there is none."""
    clock: Any = None
    # The cells, integers (2,), [-1, -1] before the first episode. They can be set, also to each other's, or written
    # into, the agent's until the next step and the target's until the next reset. The next step finds whether the agent
    # has arrived. A call that uses a cell outside the grid raises a ValueError.
    _agent_location: Any = _AGENT
    _target_location: Any = _TARGET
    _takes_any_generator = True
    _kernel_actions = (0, 1, 2, 3)  # by action, the one of `multigrid.Action` with its step

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__init__ is not GridWorldEnv.__init__:  # not for all: it slows every attribute of the class
            cls.__getattr__ = GridWorldEnv._make_up_for_constructor  # type: ignore[attr-defined]

    def __init__(self, render_mode: str | None = None, size: int = 5, **others: NoReturn) -> None:
        if others:
            raise one_agent_error(type(self).__name__, "parallel_env", others, ("render_mode", "size"))
        if is_int(render_mode):
            expected = f"expected None or 'human' or 'rgb_array'; or size={render_mode}"
            raise ValueError(f"render_mode is {render_mode}; {expected}")
        size = check_int("size", size, 2, ", for the target is never the agent's own cell")
        # With one agent, *stay* is the documented rule also for steps after the end.
        config = GridConfig(size=size, num_agents=1, on_target="stay", max_cycles=None)
        OneWorld.__init__(self, config, render_mode)
        self.__size = size
        self._user_cells: dict[str, NDArray[Any]] = {}  # by name: the arrays that users read or set as locations
        self.observation_space, self.action_space = spaces.observation_space(config), spaces.action_space(config)
        self.__agent[:] = self.__target[:] = NOWHERE
        self.__directions: Any = {action: DIRECTIONS[own].copy() for action, own in enumerate(self._kernel_actions)}
        # The first: a method or a direction may differ from that of this class. The second: there is an episode, and
        # its steps can ignore members.
        self._is_changed = any(getattr(type(self), name) is not getattr(GridWorldEnv, name) for name in _MEMBERS)
        self._is_plain = False

    def _bind_arrays(self) -> None:
        # To names that no subclass uses by chance.
        arrays = self._worlds.arrays
        self.__action, self.__reward, self.__terminated = arrays.actions[0], arrays.rewards[0], arrays.terminated[0]
        self.__agent, self.__target, self.__distance = arrays.location[0, 0], arrays.target[0, 0], arrays.distances[0]

    def _make_up_for_constructor(self, name: str) -> Any:
        """Call the constructor when an attribute is missing, if that of a subclass has not called it."""
        if "_worlds" in vars(self) or "_GridWorldEnv__size" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        own = dict(vars(self))
        GridWorldEnv.__init__(self, size=self.__size)
        vars(self).update(own)
        return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_user_cells": self._user_cells.copy(), "window": None, "clock": None}

    @property
    def _np_random(self) -> np.random.Generator | None:
        """The generator, or None before the first draw: Gymnasium's checker reads it, and its `Env.reset` sets it."""
        return None if self._np_random_seed is None else self.np_random

    @_np_random.setter
    def _np_random(self, generator: Any) -> None:
        self.np_random = generator

    @property
    def _np_random_seed(self) -> int | None:
        seed = self._worlds.seeds.item()
        return None if seed == NO_SEED else seed

    @_np_random_seed.setter
    def _np_random_seed(self, seed: int | None) -> None:
        """Ignore the seed that `gymnasium.Env.reset` sets after the generator: that of a replaced one is -1."""

    @property
    def size(self) -> int:
        """The number of cells a side, which cannot be changed."""
        return self.__size

    @size.setter
    def size(self, size: int) -> None:
        if "_worlds" not in vars(self):  # a subclass may set it before it calls this class's constructor
            self.__size = size
        elif not is_int(size) or size != self.__size:
            raise ValueError(f"size is {self.__size} and cannot be changed to {shorten(size)}; make another env")

    @property
    def _action_to_direction(self) -> Any:
        """The step of each action, a dict of arrays (2,) of integers; both can be changed."""
        self._is_plain, self._is_changed = False, True
        return self.__directions

    @_action_to_direction.setter
    @one_at_a_time
    def _action_to_direction(self, directions: Any) -> None:
        self._is_plain, self._is_changed, self.__directions = False, True, directions

    def _place(self) -> None:
        """Place the agent and the target in the cells that were set; an episode begins once both are in the grid."""
        if any([_AGENT.is_changed(self), _TARGET.is_changed(self)]):  # a list, for both are checked
            agent, target = _AGENT.find(self), _TARGET.find(self)
            if self._started or NOWHERE in (*agent.tolist(), *target.tolist()):
                self._worlds.place(agent, target)
            else:
                layouts = Layout(np.array([[[*agent, *target]]], np.int64), None)
                self._worlds.reset(maps=FIRST_WORLD, layouts=layouts)
            self._worlds.is_changing = False

    def _check_started(self) -> None:
        self._place()
        super()._check_started()

    @replaceable
    @one_at_a_time
    def _get_obs(self) -> _Cells:
        """Return the observation of this state: new arrays."""
        return {"agent": _AGENT.find(self).copy(), "target": _TARGET.find(self).copy()}

    @replaceable
    @one_at_a_time
    def _get_info(self) -> dict[str, Any]:
        """Return the info of this state, a new dict."""
        self._place()
        return {"distance": self.__distance.item()}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[_Cells, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: the seed of a new random stream; None continues the stream.
            options: ``{"agents": [[0, 4]], "targets": [[2, 4]]}`` sets the layout by hand; other keys are ignored.

        Returns:
            The observation and the info; both are new objects.

        Raises:
            TypeError, ValueError: a bad seed or layout; the env is unchanged.
        """
        # As `one_at_a_time` does, without the cost of another call.
        worlds = self._worlds
        if self._call in (None, CUT_OFF):
            self._call = "reset"
        else:
            raise self._refusal("reset", self._call)
        try:
            if worlds.is_changing:
                worlds.mend()
            if worlds.foreign is not None and seed is None:
                options = self._draw_layout(worlds.foreign, options)
            self._reset_world(seed, options)
            if not self._is_plain:
                self._user_cells.clear()
                self._is_plain = not self._is_changed
            observation = {"agent": self.__agent.copy(), "target": self.__target.copy()}
            info = {"distance": self.__distance.item()}
            worlds.is_changing = False
        except BaseException:
            self._call = AFTER_CALL[worlds.is_changing]
            raise
        self._call = None
        return (observation, info) if self._is_plain and self.render_mode != "human" else self._show()

    def _draw_layout(self, generator: np.random.Generator, options: Any) -> Any:
        """Return reset options with the cells that the documented class draws from a generator of any kind."""
        _, layout = check_options(options, self.config, FIRST_WORLD)
        given: dict[str, Any] = options or {}
        check_levels(given.get("level"), self._worlds, 1, "options['level']")
        if layout is not RANDOM_LAYOUT:
            return options
        agent = target = generator.integers(0, self.__size, size=2, dtype=int)
        while np.array_equal(agent, target):
            target = generator.integers(0, self.__size, size=2, dtype=int)
        return {**given, "agents": [agent], "targets": [target]}

    def step(self, action: Any) -> tuple[_Cells, int, bool, bool, dict[str, Any]]:
        """Move one cell.

        Args:
            action: 0 right, 1 up, 2 left, 3 down, an integer or an array of one; or a key of ``_action_to_direction``.

        Returns:
            Observation, reward (the int 1 or 0), terminated (bool), truncated (always False), info.

        Raises:
            TypeError, ValueError: a bad action; the env is unchanged.
            ResetNeeded: there was no reset yet.
        """
        if not self._is_plain:
            reward, terminated = self._walk(action)
            observation, info = self._show()
            return observation, reward, terminated, False, info
        # As `one_at_a_time` does, without the cost of another call.
        if self._call is None:
            self._call = "step"
        else:
            raise self._refusal("step", self._call)
        try:
            if (type(action) is not int and type(action) not in _INTEGERS) or not 0 <= action < 4:
                action = check_action(action, 4)
            self.__action[0] = action
            self._worlds.step()
            if self.render_mode is not None:
                self._update_window()
            results = (
                {"agent": self.__agent.copy(), "target": self.__target.copy()},
                1 if self.__reward.item() else 0,
                self.__terminated.item(),
                False,
                {"distance": self.__distance.item()},
            )
        except BaseException:
            self._call = AFTER_CALL[self._worlds.is_changing]
            raise
        self._call = None
        return results

    @one_at_a_time
    def _walk(self, action: Any) -> tuple[int, bool]:
        """Play a step from where members have been set, and return the reward and whether it has terminated."""
        self._check_started()
        # The member is read only if it may be that of a subclass, for a caller who has read it may change it.
        directions = self._action_to_direction if self._is_changed else self.__directions
        self._worlds.walk(find_step(directions, action))
        self._user_cells.pop("_agent_location", None)
        self._is_plain = not (self._is_changed or self._user_cells)
        return 1 if self.__reward.item() else 0, self.__terminated.item()

    def _restore(self, state: State | dict[str, Any]) -> None:
        super()._restore(state)
        self._user_cells.clear()

    def _show(self) -> tuple[_Cells, dict[str, Any]]:
        """Return what the methods of a subclass return, and show the frame in "human" mode, in the documented order."""
        observation, info = self._get_obs(), self._get_info()
        if self.render_mode == "human":
            self._render_frame()
        return observation, info

    def render(self) -> NDArray[np.uint8] | None:
        """Return the frame, uint8 (window_size, window_size, 3), in "rgb_array" mode; None in the others."""
        return self._render_frame() if self.render_mode == "rgb_array" else None

    @replaceable
    @one_at_a_time
    def _render_frame(self) -> NDArray[np.uint8] | None:
        """Show the frame and return None in "human" mode; return the frame, as `render` does, in the others."""
        self._place()
        if self.render_mode == "human":
            self._update_window()
            return None
        return self._draw_frame()

    def _update_window(self) -> None:
        super()._update_window()
        if self._window is not None:
            self.window, self.clock = self._window.surface, self._window.clock

    def _get_painter(self) -> Painter:
        pixels = check_int("window_size", self.window_size, SMALLEST_FRAME)
        if pixels != self._render_options.size:
            self._render_options, self._painter = RenderOptions(pixels, trails=0, view_of=None), None
        return super()._get_painter()

    def close(self) -> None:
        """Close the window, if there is one. The episode can be continued; closing twice is allowed."""
        if self.window is not None and self._window is None:  # a subclass has opened its own
            close_display()
        super().close()
        self.window = self.clock = None


class RowColumnGridWorldEnv(GridWorldEnv):
    """The GridWorld of Gymnasium's tutorial since 1.2.3, with the same results: `GridWorldEnv` with other axes.

    A cell is ``[row, col]``, and row 0 is at the top of frames. The actions are 0 right ``[0, 1]``, 1 up ``[-1, 0]``, 2
    left ``[0, -1]`` and 3 down ``[1, 0]``, and agents move so in frames, too. All else is as in `GridWorldEnv`.

    >>> env = RowColumnGridWorldEnv()
    >>> observation, info = env.reset(seed=0)
    >>> observation["agent"].tolist(), env.step(0)[0]["agent"].tolist()
    ([4, 3], [4, 4])
    """

    _kernel_actions = ROW_COLUMN_ACTIONS

    def step(self, action: Any) -> tuple[_Cells, int, bool, bool, dict[str, Any]]:
        """Move one cell, as `GridWorldEnv.step`."""
        if self._is_plain:  # in the other steps, `_action_to_direction` has the numbers of this class
            is_valid = type(action) in _INTEGERS and 0 <= action < 4
            action = ROW_COLUMN_ACTIONS[action if is_valid else check_action(action, 4)]
        return super().step(action)

    def _get_scene(self) -> Scene:
        return swap_axes(super()._get_scene())
