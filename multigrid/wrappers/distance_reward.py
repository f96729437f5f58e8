"""The distance reward of Gymnasium's guide to custom environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

__all__ = ["DistanceReward"]


class DistanceReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pay the env's own reward on the step that terminates, and minus the scaled distance to the target on all others.

    The distance is the Euclidean one between the two cells that the step returns: it is not the ``distance`` of the
    infos, which counts steps.

    This does not keep the optimal policies. On an empty grid it merely chooses among the shortest ways, those that
    bring the agent nearer in the sense of Euclid first. Between walls it can be worth more to wait close to the target
    for ever than to walk around them. `PotentialReward` speeds learning up and keeps them all.

    Source: Gymnasium's page "Create a Custom Environment", section "Reward Design Issues", option 2
    (https://gymnasium.farama.org/introduction/create_custom_env/): ``1 if terminated else -0.1 * distance``.

    Args:
        env: its observations are a Dict with the Boxes "agent" and "target".
        scale: what a distance of one cell costs a step.

    Raises:
        TypeError: the env observes something else.

    >>> from multigrid import Action, GridWorldEnv
    >>> env = DistanceReward(GridWorldEnv())
    >>> observation, info = env.reset(options={"agents": [[0, 4]], "targets": [[4, 1]]})
    >>> env.step(Action.RIGHT)[1] == -0.1 * 18**0.5
    True
    """

    def __init__(self, env: gymnasium.Env[Any, Any], scale: float = 0.1) -> None:
        RecordConstructorArgs.__init__(self, scale=scale)
        gymnasium.Wrapper.__init__(self, env)
        space: Any = env.observation_space
        parts: dict[str, Any] = space.spaces if isinstance(space, Dict) else {}
        if not isinstance(parts.get("agent"), Box) or not isinstance(parts.get("target"), Box):
            raise TypeError(f"the env observes {space}; expected a Dict with the Boxes 'agent' and 'target'")
        self.scale = scale

    def step(self, action: Any) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Step the env, and return the scaled distance as a negative reward, save on the last step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not terminated:
            reward = -self.scale * np.linalg.norm(observation["agent"] - observation["target"])
        return observation, float(reward), terminated, truncated, info
