"""The target's position relative to the agent."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

__all__ = ["RelativePosition"]


class RelativePosition(gymnasium.ObservationWrapper[NDArray[Any], Any, dict[str, NDArray[Any]]], RecordConstructorArgs):
    """Observe the target's cell minus the agent's: int64 (2,), in cells.

    The documented wrapper declares an unbounded float space, which the integers that it returns do not lie in; this
    one declares the bounds that follow from the env's own.

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
        space: Any = env.observation_space
        parts: dict[str, Any] = space.spaces if isinstance(space, Dict) else {}
        agent, target = parts.get("agent"), parts.get("target")
        if not isinstance(agent, Box) or not isinstance(target, Box):
            raise TypeError(f"the env observes {space}; expected a Dict with the Boxes 'agent' and 'target'")
        self.observation_space = Box(target.low - agent.high, target.high - agent.low, dtype=target.dtype.type)

    def observation(self, observation: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the target's cell minus the agent's."""
        relative: NDArray[Any] = observation["target"] - observation["agent"]
        return relative
