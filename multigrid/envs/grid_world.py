"""Gymnasium's documented GridWorld: one agent, one target."""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid.actions import check_action
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.envs.exclusive import one_at_a_time, overlapping_call_error
from multigrid.envs.one_world import OneWorld
from multigrid.rendering.frame import WINDOW_SIZE

__all__ = ["GridWorldEnv"]

Observation: TypeAlias = dict[str, NDArray[np.int64]]

_INTEGERS = frozenset({int, np.int64})


class GridWorldEnv(OneWorld, gymnasium.Env[Observation, Any]):
    """An agent on a square grid walks to a target: the environment of Gymnasium's documents, exactly.

    Observations are ``{"agent": [x, y], "target": [x, y]}``, int64 (2,) each; actions 0 right ``[1, 0]``, 1 up
    ``[0, 1]``, 2 left ``[-1, 0]``, 3 down ``[0, -1]``, clipped to the grid; the reward is 1 for reaching the target,
    which terminates the episode, else 0; the info is ``{"distance": L1 distance as float}``. There is no limit of
    steps: that is ``gymnasium.make(..., max_episode_steps=300)``.

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
        self.size = int(size)
        self.window_size = WINDOW_SIZE
        self.observation_space = spaces.observation_space(config)
        self.action_space = spaces.action_space(config)
        self._bind_arrays()

    def _bind_arrays(self) -> None:
        """Bind the arrays that each step reads and writes."""
        arrays = self._world.arrays
        self._action = arrays.actions[0]
        self._agent, self._target = arrays.location[0, 0], arrays.target[0, 0]
        self._reward, self._terminated = arrays.rewards[0, 0:1], arrays.terminated[0, 0:1]
        self._distance = arrays.distances[0, 0:1]

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind_arrays()

    @property
    def _np_random(self) -> np.random.Generator | None:  # type: ignore[override]
        """The generator, or None before the first draw: Gymnasium's checker reads it."""
        return None if self._current_seed() is None else self.np_random

    @property
    def _np_random_seed(self) -> int | None:  # type: ignore[override]
        return self._current_seed()

    @one_at_a_time
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
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
        self._reset_world(seed, options)
        if self.render_mode is not None:
            self._update_window()
        return {"agent": self._agent.copy(), "target": self._target.copy()}, {"distance": self._distance.item()}

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
            self._action[0] = action
            self._world.step()
            if self.render_mode is not None:
                self._update_window()
            return (
                {"agent": self._agent.copy(), "target": self._target.copy()},
                1 if self._reward.item() else 0,
                self._terminated.item(),
                False,
                {"distance": self._distance.item()},
            )
        finally:
            self._call = None

    @one_at_a_time
    def render(self) -> NDArray[np.uint8] | None:
        """Return the frame, uint8 (512, 512, 3), in "rgb_array" mode; None in the others."""
        if self.render_mode != "rgb_array":
            return None
        self._check_started()
        return self._draw_frame()
