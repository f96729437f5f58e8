"""A whole episode as arrays, from which films, pages and figures are made."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig

__all__ = ["Episode", "find_settled"]


def find_settled(distances: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where an agent is present and stands on its target, as booleans in the shape of the arguments.

    >>> find_settled(np.array([0.0, 3.0, 0.0]), np.array([True, True, False])).tolist()
    [True, False, False]
    """
    settled: NDArray[np.bool_] = (distances == 0) & present
    return settled


@dataclasses.dataclass(frozen=True, eq=False)
class Episode:
    """An episode of T steps; index 0 is the state after the reset, index t the state after step t."""

    name: str
    """The title of its page."""
    config: GridConfig
    """The configuration of the world; with several maps, only `walls` is the map of this episode."""
    walls: NDArray[np.bool_]
    """bool (W, H), the map: True at a wall."""
    agents: NDArray[np.int64]
    """int64 (T + 1, N, 2), the agents' cells; the last cell for an agent that has left."""
    targets: NDArray[np.int64]
    """int64 (T + 1, N, 2), the cells of their targets."""
    present: NDArray[np.bool_]
    """bool (T + 1, N), False for an agent that has left."""
    distances: NDArray[np.float64]
    """float64 (T + 1, N), the L1 distance of each agent to its target."""
    arrivals: NDArray[np.int64]
    """int64 (T + 1, N), the number of arrivals of each agent so far."""
    outcomes: NDArray[np.int64]
    """int64 (T + 1, N), as `multigrid.Outcome` numbers them; "stayed" for an agent that had left."""
    rewards: NDArray[np.float64]
    """float64 (T + 1, N), 0 after the reset."""
    metrics: dict[str, Any]
    """The figures of the whole episode, as `multigrid.core.metrics` defines them."""

    @property
    def num_steps(self) -> int:
        """The number of steps T."""
        return len(self.agents) - 1

    @functools.cached_property
    def settled(self) -> NDArray[np.bool_]:
        """Which agents stand on their targets, as bool (T + 1, N); False for an agent that has left."""
        return find_settled(self.distances, self.present)
