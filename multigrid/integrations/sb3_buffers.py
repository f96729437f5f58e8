"""Rollout buffers of Stable-Baselines3 that leave out the rows of agents that have left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.integrations.extras import missing_library

try:
    from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "train") from error

__all__ = ["AliveDictRolloutBuffer", "AliveRolloutBuffer"]


class Masked:
    """Yields only transitions of rows whose agents were present when they acted."""

    buffer_size: int
    n_envs: int
    pos: int
    generator_ready: bool

    alive: NDArray[np.bool_] | None = None
    """bool (rows,): whether agents were present in the last step; a callback sets it before each step is added."""

    def reset(self) -> None:
        self._mask = np.ones((self.buffer_size, self.n_envs), dtype=bool)
        super().reset()  # type: ignore[misc]

    def add(self, *args: Any, **keywords: Any) -> None:
        if self.alive is None:
            raise ValueError("alive is None; a callback must set it in each step: see AliveRolloutBuffer")
        self._mask[self.pos], self.alive = self.alive, None
        super().add(*args, **keywords)  # type: ignore[misc]

    def get(self, batch_size: int | None = None) -> Iterator[Any]:
        rows = np.random.permutation(self._prepare())  # noqa: NPY002 - Stable-Baselines3's own stream
        batch_size = batch_size or len(rows)
        for start in range(0, len(rows), batch_size):
            yield self._get_samples(rows[start : start + batch_size])  # type: ignore[attr-defined]

    def _prepare(self) -> NDArray[np.int64]:
        """Prepare the arrays, and return the indices of the transitions of agents that were present."""
        if not self.generator_ready:
            next(super().get())  # type: ignore[misc]
        return np.flatnonzero(self._mask.T)


class AliveRolloutBuffer(Masked, RolloutBuffer):  # type: ignore[misc]
    """A `RolloutBuffer` that yields no transition of an agent that has left; a callback sets `alive` in each step.

    Raises:
        ValueError: `alive` was not set in a step.

    >>> import multigrid, numpy as np
    >>> from multigrid.integrations.sb3 import to_sb3
    >>> from stable_baselines3 import PPO
    >>> from stable_baselines3.common.callbacks import BaseCallback
    >>> class SetAlive(BaseCallback):
    ...     def _on_step(self):
    ...         self.model.rollout_buffer.alive = np.array([info["alive"] for info in self.locals["infos"]])
    ...         return True
    >>> envs = multigrid.vector_env(4, autoreset_mode="SameStep", on_target="leave", flatten=True)
    >>> model = PPO("MlpPolicy", to_sb3(envs), n_steps=16, batch_size=64, rollout_buffer_class=AliveRolloutBuffer)
    >>> _ = model.learn(total_timesteps=128, callback=SetAlive())
    """


class AliveDictRolloutBuffer(Masked, DictRolloutBuffer):  # type: ignore[misc]
    """As `AliveRolloutBuffer`, for Dict observations."""
