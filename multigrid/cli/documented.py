"""The documented GridWorld, written as its documents describe it, for `multigrid bench` to measure against.

Nothing plays on it: what it does per step (a look-up of the direction, a clip, a comparison, a norm, two dicts) is the
price that a user of the documents pays.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS
from multigrid.rendering.backend import import_pygame

__all__ = ["DocumentedGridWorld"]


class DocumentedGridWorld(gymnasium.Env[dict[str, Any], Any]):
    """One agent and one target on a square grid of `size` cells a side."""

    def __init__(self, size: int = 5) -> None:
        self.size = size
        cell = spaces.Box(0, size - 1, shape=(2,), dtype=np.int64)
        self.observation_space = spaces.Dict({"agent": cell, "target": cell})
        self.action_space = spaces.Discrete(4)
        self._direction = dict(enumerate(DIRECTIONS[:4]))

    def _seen(self) -> dict[str, Any]:
        return {"agent": self._location, "target": self._target}

    def _told(self) -> dict[str, Any]:
        return {"distance": np.linalg.norm(self._location - self._target, ord=1)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a location, then a target until it is another cell."""
        super().reset(seed=seed, options=options)
        self._location = self.np_random.integers(0, self.size, size=2, dtype=int)
        self._target = self._location
        while np.array_equal(self._target, self._location):
            self._target = self.np_random.integers(0, self.size, size=2, dtype=int)
        return self._seen(), self._told()

    def step(self, action: Any) -> tuple[dict[str, Any], int, bool, bool, dict[str, Any]]:
        """Move one cell, clipped to the grid; 1 for reaching the target, which ends the episode."""
        self._location = np.clip(self._location + self._direction[action], 0, self.size - 1)
        terminated = np.array_equal(self._location, self._target)
        return self._seen(), 1 if terminated else 0, terminated, False, self._told()

    def render(self) -> NDArray[np.uint8]:
        """Draw the frame of "rgb_array" mode: the target, the agent, then the lines, on a new canvas."""
        game = import_pygame()
        canvas = game.Surface((512, 512))
        canvas.fill((255, 255, 255))
        side = 512 / self.size
        game.draw.rect(canvas, (255, 0, 0), game.Rect(side * self._target, (side, side)))
        game.draw.circle(canvas, (0, 0, 255), (self._location + 0.5) * side, side / 3)
        for x in range(self.size + 1):
            game.draw.line(canvas, 0, (0, side * x), (512, side * x), width=3)
            game.draw.line(canvas, 0, (side * x, 0), (side * x, 512), width=3)
        return np.transpose(np.array(game.surfarray.pixels3d(canvas)), axes=(1, 0, 2))
