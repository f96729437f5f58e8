"""sb3-contrib's RecurrentPPO, without the rows of agents that have left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multigrid.integrations.extras import missing_library
from multigrid.integrations.sb3_buffers import Masked

try:
    from sb3_contrib import RecurrentPPO
    from sb3_contrib.common.recurrent.buffers import RecurrentDictRolloutBuffer, RecurrentRolloutBuffer
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "train") from error

__all__ = ["MaskedRecurrentPPO"]


class _Sequences(Masked):
    """Yields sequences of an agent's transitions, in order, none of which has steps after it has left."""

    def get(self, batch_size: int | None = None) -> Iterator[Any]:
        rows = self._prepare()
        # As in sb3-contrib, a random number of transitions go from the front to the back.
        rows = np.roll(rows, -np.random.randint(len(rows)))  # noqa: NPY002 - Stable-Baselines3's own stream
        starts = np.arange(self.buffer_size * self.n_envs)[:, None] % self.buffer_size == 0
        # Parts of nearly equal size, for the deviation of a single advantage is not defined.
        for part in np.array_split(rows, max(1, len(rows) // (batch_size or len(rows)))):
            yield self._get_samples(part, starts)  # type: ignore[attr-defined]


class _ArraySequences(_Sequences, RecurrentRolloutBuffer):  # type: ignore[misc]
    pass


class _DictSequences(_Sequences, RecurrentDictRolloutBuffer):  # type: ignore[misc]
    pass


class MaskedRecurrentPPO(RecurrentPPO):
    """A RecurrentPPO that learns from no transition of an agent that has left.

    A callback sets ``rollout_buffer.alive`` in each step, as for `multigrid.integrations.sb3_buffers`.
    """

    def _setup_model(self) -> None:
        super()._setup_model()
        own: Any = self.rollout_buffer
        kind = _DictSequences if isinstance(own, RecurrentDictRolloutBuffer) else _ArraySequences
        self.rollout_buffer = kind(
            self.n_steps,
            self.observation_space,
            self.action_space,
            own.hidden_state_shape,
            self.device,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            n_envs=self.n_envs,
        )
