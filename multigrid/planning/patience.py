"""How random the actions of agents are: the more, the longer an agent has not come nearer to its target.

Agents that nearly always take the action with the largest score flow well past one another, but those that block one
another do so for ever. More randomness frees them. Each agent's randomness depends on its own past alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.tables import States

__all__ = ["Patience", "Temperatures"]

_RISE = 8


class Temperatures(NamedTuple):
    """What the scores of an agent's actions are divided by before they become probabilities."""

    calm: float
    """Of an agent that has come nearer to its target in the last `patience` steps."""
    restless: float
    """Of one that has not for 8 steps more; in between, the temperature rises in a straight line."""
    patience: int
    """A number of steps."""
    arrived: float
    """Of an agent on its target."""


class Patience:
    """The temperatures of the agents of up to E worlds, in each step of their episodes.

    Args:
        temperatures: their range.

    >>> patience = Patience(Temperatures(calm=0.2, restless=1.0, patience=2, arrived=0.5))
    >>> state = {"steps": np.array([0]), "map_index": np.array([0]), "target": np.array([[[4, 0]]])}
    >>> [f"{patience.observe(state | {'steps': np.array([t])}, np.int32([3]))[0]:.1f}" for t in (0, 2, 3, 6, 12)]
    ['0.2', '0.2', '0.3', '0.6', '1.0']
    """

    def __init__(self, temperatures: Temperatures) -> None:
        self._temperatures = temperatures
        self._least: NDArray[np.int32] = np.empty(0, np.int32)
        self._last: NDArray[np.int64] = np.empty(0, np.int64)
        self._steps: Any = None
        self._maps: Any = None
        self._targets: Any = None

    def observe(self, states: States, ways: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the temperatures, float32 (E * N,).

        Args:
            states: as `MultiGridVectorEnv.get_state` returns them.
            ways: int32 (E * N,), the numbers of steps to the targets.
        """
        steps, maps, targets = (np.asarray(states[name]) for name in ("steps", "map_index", "target"))
        num_agents = targets.shape[1]
        if self._targets is None or self._targets.shape != targets.shape:
            has_begun = np.ones(len(ways), bool)
            self._least, self._last = ways.copy(), np.zeros(len(ways), np.int64)
        else:
            is_other = (steps == 0) | (steps < self._steps) | (maps != self._maps)
            has_begun = (is_other[:, None] | (targets != self._targets).any(axis=2)).ravel()
        now = np.repeat(steps, num_agents)
        is_nearer = has_begun | (ways < self._least)
        self._least = np.where(is_nearer, ways, self._least)
        self._last = np.where(is_nearer, now, self._last)
        self._steps, self._maps, self._targets = steps.copy(), maps.copy(), targets.copy()
        low, high, patience, arrived = self._temperatures
        rise = np.clip((now - self._last - patience) / _RISE, 0, 1)
        return np.where(ways == 0, arrived, low + (high - low) * rise).astype(np.float32)
