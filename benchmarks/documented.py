"""The GridWorld of Gymnasium's tutorial "Make your own custom environment", as in Gymnasium 0.26 to 1.2.2.

`python -m benchmarks` times it, and tests/envs/test_documented.py checks the package against it. It imports nothing
from multigrid, so that the two cannot share a mistake. It is slow on purpose: users of the tutorial's code also pay for
the look-up of the direction, the clip, the norm and the dicts.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class DocumentedGridWorld(gymnasium.Env[dict[str, Any], Any]):
    """Move one agent to one target on a square grid without walls.

    Args:
        size: the number of cells along a side of the grid.
        render_mode: None, "human", in which every reset and step calls `_render_frame`, or "rgb_array".

    >>> env = DocumentedGridWorld(size=5)
    >>> observation, info = env.reset(seed=0)
    >>> observation["agent"].tolist(), observation["target"].tolist(), float(info["distance"])
    ([4, 3], [2, 1], 4.0)
    """

    def __init__(self, size: int = 5, render_mode: str | None = None) -> None:
        self.size, self.window_size, self.render_mode = size, 512, render_mode
        cell = spaces.Box(0, size - 1, shape=(2,), dtype=np.int64)
        self.observation_space = spaces.Dict({"agent": cell, "target": cell})
        self.action_space = spaces.Discrete(4)
        self._agent_location, self._target_location = np.array([-1, -1]), np.array([-1, -1])
        steps = np.array([1, 0]), np.array([0, 1]), np.array([-1, 0]), np.array([0, -1])
        self._action_to_direction = dict(enumerate(steps))

    def _get_obs(self) -> dict[str, Any]:
        return {"agent": self._agent_location, "target": self._target_location}

    def _get_info(self) -> dict[str, Any]:
        return {"distance": np.linalg.norm(self._agent_location - self._target_location, ord=1)}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Sample the agent's cell, then the target's until it differs from the agent's."""
        super().reset(seed=seed, options=options)
        self._agent_location = self.np_random.integers(0, self.size, size=2, dtype=int)
        self._target_location = self._agent_location
        while np.array_equal(self._target_location, self._agent_location):
            self._target_location = self.np_random.integers(0, self.size, size=2, dtype=int)
        observation, info = self._get_obs(), self._get_info()
        if self.render_mode == "human":
            self._render_frame()
        return observation, info

    def step(self, action: Any) -> tuple[dict[str, Any], int, bool, bool, dict[str, Any]]:
        """Move one cell, clipped to the grid; reaching the target gives a reward of 1 and ends the episode."""
        self._agent_location = np.clip(self._agent_location + self._action_to_direction[action], 0, self.size - 1)
        terminated = np.array_equal(self._agent_location, self._target_location)
        reward = 1 if terminated else 0
        observation, info = self._get_obs(), self._get_info()
        if self.render_mode == "human":
            self._render_frame()
        return observation, reward, terminated, False, info

    def render(self) -> NDArray[np.uint8]:
        """Return the frame of render mode "rgb_array", uint8 (512, 512, 3), in every mode."""
        return self._render_frame()

    def _render_frame(self) -> NDArray[np.uint8]:
        """Return the frame: the target, the agent, then the lines."""
        import pygame

        canvas = pygame.Surface((self.window_size, self.window_size))
        canvas.fill((255, 255, 255))
        side = self.window_size / self.size
        pygame.draw.rect(canvas, (255, 0, 0), pygame.Rect(side * self._target_location, (side, side)))
        pygame.draw.circle(canvas, (0, 0, 255), (self._agent_location + 0.5) * side, side / 3)
        for x in range(self.size + 1):
            pygame.draw.line(canvas, 0, (0, side * x), (self.window_size, side * x), width=3)
            pygame.draw.line(canvas, 0, (side * x, 0), (side * x, self.window_size), width=3)
        return np.transpose(np.array(pygame.surfarray.pixels3d(canvas)), axes=(1, 0, 2))
