"""Observe where the target is, as seen from the agent."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from multigrid.wrappers._observations import cell_spaces


class RelativePosition(gymnasium.ObservationWrapper[NDArray[Any], Any, dict[str, NDArray[Any]]], RecordConstructorArgs):
    """Observe the target's cell minus the agent's: int64 (2,), in cells.

    The documented wrapper declares an unbounded float space, which does not contain the integers that it returns. This
    one declares integers, with bounds that follow from those of the env.

    Args:
        env: its observations are a Dict with the Boxes "agent" and "target".

    Raises:
        TypeError: the env observes something else.

    >>> from multigrid import GridWorldEnv
    >>> env = RelativePosition(GridWorldEnv())
    >>> env.observation_space, env.reset(seed=0)[0].tolist()
    (Box(-4, 4, (2,), int64), [-2, -2])
    """

    def __init__(self, env: gymnasium.Env[dict[str, NDArray[Any]], Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.ObservationWrapper.__init__(self, env)
        agent, target = cell_spaces(env)
        self.observation_space = Box(target.low - agent.high, target.high - agent.low, dtype=target.dtype.type)

    def observation(self, observation: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the target's cell minus the agent's."""
        return np.asarray(observation["target"] - observation["agent"])
