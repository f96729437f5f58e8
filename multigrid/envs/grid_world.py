"""Gymnasium's documented GridWorld: one agent, one target."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from multigrid._checks import check_int, is_int, shorten
from multigrid.actions import DIRECTIONS, Action, check_action
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.envs.exclusive import one_at_a_time, overlapping_call_error
from multigrid.envs.one_world import OneWorld
from multigrid.maps.layouts import check_cell
from multigrid.maps.target_lists import Layout
from multigrid.rendering.frame import SMALLEST_FRAME, RenderOptions
from multigrid.rendering.window import close_display

__all__ = ["GridWorldEnv"]

Observation: TypeAlias = dict[str, NDArray[np.int64]]

_INTEGERS = frozenset({int, np.int64})
_DIRECTIONS = MappingProxyType({int(action): DIRECTIONS[action] for action in Action if action != Action.STAY})
_OVERRIDABLE = ("_get_obs", "_get_info", "_render_frame")
_AGENT, _TARGET = 0, 1
_ONLY_MAP = np.zeros(1, np.int64)
# Both coordinates of the agent and of the target before the first episode, as in the documented code.
_NOWHERE = -1


class GridWorldEnv(OneWorld, gymnasium.Env[Observation, Any]):
    """An agent on a square grid walks to a target: the environment of Gymnasium's documents, exactly.

    Observations are ``{"agent": [x, y], "target": [x, y]}``, int64 (2,) each; actions 0 right ``[1, 0]``, 1 up
    ``[0, 1]``, 2 left ``[-1, 0]``, 3 down ``[0, -1]``, clipped to the grid; the reward is 1 for reaching the target,
    which terminates the episode, else 0; the info is ``{"distance": L1 distance as float}``. Episodes are not
    truncated; pass ``max_episode_steps`` to ``gymnasium.make``.

    A subclass may override ``_get_obs``, ``_get_info`` and ``_render_frame``, and set ``_agent_location`` and
    ``_target_location``, as the documents teach.

    Source: Gymnasium's tutorial "Make your own custom environment", in the edition with right = ``[1, 0]``.

    Args:
        render_mode: None, "human" or "rgb_array".
        size: cells a side, at least 2.

    Raises:
        TypeError: `size` is not an integer.
        ValueError: `size` is below 2, or the render mode is unknown.

    >>> env = GridWorldEnv()
    >>> observation, info = env.reset(seed=0)
    >>> observation["agent"].tolist(), observation["target"].tolist(), info
    ([4, 3], [2, 1], {'distance': 4.0})
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 4}

    def __init__(self, render_mode: str | None = None, size: int = 5) -> None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise TypeError(f"size is {shorten(size)} of type {type(size).__name__}; expected an integer of at least 2")
        if size < 2:
            raise ValueError(f"size is {size}; expected at least 2, for the target is never the agent's own cell")
        # With one agent, *stay* is the documented rule also for steps after the end.
        config = GridConfig(size=int(size), num_agents=1, on_target="stay", max_cycles=None)
        OneWorld.__init__(self, config, render_mode)
        self.__size = int(size)
        # Whether the class overrides none of them; on the instance, where Python reads it faster.
        self._is_plain = all(getattr(type(self), name) is getattr(GridWorldEnv, name) for name in _OVERRIDABLE)
        self.observation_space = spaces.observation_space(config)
        self.action_space = spaces.action_space(config)
        self.__early_locations = np.full((2, 2), _NOWHERE, dtype=np.int64)
        self._own_window: Any = None
        self._own_clock: Any = None
        self._bind_arrays()

    def _bind_arrays(self) -> None:
        """Bind the arrays that each step reads and writes, to names that no subclass uses by chance."""
        arrays = self._world.arrays
        self.__action = arrays.actions[0]
        self.__agent, self.__target = arrays.location[0, 0], arrays.target[0, 0]
        self.__reward, self.__terminated = arrays.rewards[0, 0:1], arrays.terminated[0, 0:1]
        self.__distance = arrays.distances[0, 0:1]

    def __getstate__(self) -> dict[str, Any]:
        # A window and a clock belong to this process.
        return {**super().__getstate__(), "_own_window": None, "_own_clock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind_arrays()

    @property
    def _np_random(self) -> np.random.Generator | None:
        """The generator, or None before the first draw: Gymnasium's checker reads it, and its `Env.reset` sets it."""
        return None if self._current_seed() is None else self.np_random

    @_np_random.setter
    def _np_random(self, generator: Any) -> None:
        self.np_random = generator

    @property
    def _np_random_seed(self) -> int | None:
        return self._current_seed()

    @_np_random_seed.setter
    def _np_random_seed(self, seed: int | None) -> None:
        """Ignore the seed that `gymnasium.Env.reset` sets after the generator: that of a replaced one is -1."""

    @property
    def size(self) -> int:
        """The number of cells a side, which cannot be changed."""
        return self.__size

    @size.setter
    def size(self, size: int) -> None:
        if "_world" not in vars(self):  # a subclass may set it before it calls this class's constructor
            self.__size = size
        elif not is_int(size) or size != self.__size:
            raise ValueError(f"size is {self.__size} and cannot be changed to {shorten(size)}; make another env")

    @property
    def window_size(self) -> int:
        """The side of a frame in pixels."""
        return self._render_options.size

    @window_size.setter
    def window_size(self, pixels: int) -> None:
        pixels = check_int("window_size", pixels, SMALLEST_FRAME)
        self._render_options, self._painter = RenderOptions(pixels, trails=0, view_of=None), None

    @property
    def window(self) -> Any:
        """The surface of the window, None while there is none; or what was set."""
        window = self._own_window
        return self._window.surface if window is None and self._window is not None else window

    @window.setter
    def window(self, window: Any) -> None:
        self._own_window = window

    @property
    def clock(self) -> Any:
        """The clock that limits the frames per second, None while there is no window; or what was set."""
        clock = self._own_clock
        return self._window.clock if clock is None and self._window is not None else clock

    @clock.setter
    def clock(self, clock: Any) -> None:
        self._own_clock = clock

    @property
    def _action_to_direction(self) -> Mapping[int, NDArray[np.int64]]:
        """The step ``[dx, dy]`` of each action, int64 (2,); neither the mapping nor the arrays can be changed."""
        return _DIRECTIONS

    @_action_to_direction.setter
    def _action_to_direction(self, _directions: Any) -> NoReturn:
        raise AttributeError(
            "_action_to_direction cannot be changed; for other moves, override step, and set _agent_location there"
        )

    @property
    @one_at_a_time
    def _agent_location(self) -> NDArray[np.int64]:
        """The agent's cell: int64 (2,), a copy that cannot be written to; ``[-1, -1]`` before the first episode.

        It can be set to any cell, the target's too: stepping continues from there, even after termination. Whether the
        agent has reached its target is found by the next step.
        """
        return self._read_location(_AGENT)

    @_agent_location.setter
    @one_at_a_time
    def _agent_location(self, location: ArrayLike) -> None:
        self._write_location(_AGENT, check_cell("_agent_location", location, self.config.components[0]))

    @property
    @one_at_a_time
    def _target_location(self) -> NDArray[np.int64]:
        """The target's cell, which can be read and set as `_agent_location`."""
        return self._read_location(_TARGET)

    @_target_location.setter
    @one_at_a_time
    def _target_location(self, location: ArrayLike) -> None:
        self._write_location(_TARGET, check_cell("_target_location", location, self.config.components[0]))

    def _locations(self) -> Sequence[NDArray[np.int64]] | NDArray[np.int64]:
        if not self._started:
            return self.__early_locations
        self._check_started()
        return self.__agent, self.__target

    def _read_location(self, which: int) -> NDArray[np.int64]:
        location: NDArray[np.int64] = self._locations()[which].copy()
        location.setflags(write=False)
        return location

    def _write_location(self, which: int, location: NDArray[np.int64]) -> None:
        """Place the agent or the target; if no episode has begun yet, begin one as soon as both are placed."""
        if self._started:
            self._world.place(*((location, self.__target) if which == _AGENT else (self.__agent, location)))
            return
        self.__early_locations[which] = location
        if _NOWHERE not in self.__early_locations:
            on_commit = functools.partial(self._record_reset, self._current_seed())
            layouts = Layout(self.__early_locations.reshape(1, 1, 4), None)
            self._world.begin(_ONLY_MAP, _ONLY_MAP, None, layouts, on_commit=on_commit)

    @one_at_a_time
    def _get_obs(self) -> Observation:
        """Return the observation of this state: new arrays."""
        agent, target = self._locations()
        return {"agent": agent.copy(), "target": target.copy()}

    @one_at_a_time
    def _get_info(self) -> dict[str, Any]:
        """Return the info of this state, a new dict.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        self._check_started()
        return {"distance": self.__distance.item()}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: the seed of a new random stream; None continues the stream.
            options: ``{"agents": (1, 2), "targets": (1, 2)}`` sets the layout by hand; other keys are ignored.

        Returns:
            The observation and the info; both are new objects.

        Raises:
            TypeError, ValueError: a bad seed or layout; the env is unchanged.
        """
        # As `one_at_a_time` does, so that the methods of a subclass are called after it.
        under_way = self._call
        if under_way is None:
            self._call = "reset"
        else:
            raise overlapping_call_error("reset", under_way)
        try:
            self._finish_interrupted_call()
            self._reset_world(seed, options)
            if self._is_plain:
                if self.render_mode is not None:
                    self._update_window()
                return {"agent": self.__agent.copy(), "target": self.__target.copy()}, {
                    "distance": self.__distance.item()
                }
        finally:
            self._call = None
        return self._tell()

    def step(self, action: Any) -> tuple[Observation, int, bool, bool, dict[str, Any]]:
        """Move one cell.

        Args:
            action: 0 right, 1 up, 2 left, 3 down: an int, a NumPy integer or an integer array of one element.

        Returns:
            Observation, reward (the int 1 or 0), terminated (bool), truncated (always False), info.

        Raises:
            TypeError, ValueError: a bad action; the env is unchanged.
            ResetNeeded: there was no reset yet.
        """
        # As `one_at_a_time` does, without the cost of another call.
        under_way = self._call
        if under_way is None:
            self._call = "step"
        else:
            raise overlapping_call_error("step", under_way)
        try:
            if (type(action) is not int and type(action) not in _INTEGERS) or not 0 <= action < 4:
                action = check_action(action, 4)
            if not self._started:
                self._finish_interrupted_call()
                self._check_started()
            self.__action[0] = action
            self._world.step()
            if self._is_plain:
                if self.render_mode is not None:
                    self._update_window()
                return (
                    {"agent": self.__agent.copy(), "target": self.__target.copy()},
                    1 if self.__reward.item() else 0,
                    self.__terminated.item(),
                    False,
                    {"distance": self.__distance.item()},
                )
            reward, terminated = 1 if self.__reward.item() else 0, self.__terminated.item()
        finally:
            self._call = None
        observation, info = self._tell()
        return observation, reward, terminated, False, info

    def _tell(self) -> tuple[Observation, dict[str, Any]]:
        """Return what the methods of a subclass return, and show the frame in "human" mode, in the documented order."""
        observation, info = self._get_obs(), self._get_info()
        if self.render_mode == "human":
            self._render_frame()
        return observation, info

    def render(self) -> NDArray[np.uint8] | None:
        """Return the frame, uint8 (window_size, window_size, 3), in "rgb_array" mode; None in the others."""
        return self._render_frame() if self.render_mode == "rgb_array" else None

    @one_at_a_time
    def _render_frame(self) -> NDArray[np.uint8] | None:
        """Show the frame and return None in "human" mode; return the frame, as `render` does, in the others.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        self._check_started()
        if self.render_mode == "human":
            self._update_window()
            return None
        return self._draw_frame()

    def close(self) -> None:
        """Close the window, if there is one. The episode can be continued; closing twice is allowed."""
        super().close()
        if self._own_window is not None:
            close_display()
        self._own_window = self._own_clock = None
