"""Clip rewards to bounds."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from multigrid._checks import is_real, shorten


class ClipReward(gymnasium.RewardWrapper[Any, Any], RecordConstructorArgs):
    """Clip every reward to `min_reward` .. `max_reward`.

    Args:
        env: any env.
        min_reward: the lowest reward.
        max_reward: the highest reward.

    Raises:
        TypeError: a bound is not a real number.
        ValueError: `min_reward` is above `max_reward`, or a bound is NaN.

    >>> from multigrid import GridWorldEnv
    >>> ClipReward(GridWorldEnv(), 0.0, 0.5).reward(1)
    0.5
    """

    def __init__(self, env: gymnasium.Env[Any, Any], min_reward: float, max_reward: float) -> None:
        RecordConstructorArgs.__init__(self, min_reward=min_reward, max_reward=max_reward)
        gymnasium.RewardWrapper.__init__(self, env)
        for name, bound in (("min_reward", min_reward), ("max_reward", max_reward)):
            if not is_real(bound):
                raise TypeError(f"{name} is {shorten(bound)} of type {type(bound).__name__}; expected a real number")
        if not min_reward <= max_reward:
            came = f"min_reward is {shorten(min_reward)} and max_reward {shorten(max_reward)}"
            raise ValueError(f"{came}; expected the lower one first")
        self.min_reward = min_reward
        self.max_reward = max_reward

    def reward(self, reward: SupportsFloat) -> float:
        """Return the reward, clipped to the bounds."""
        return float(np.clip(float(reward), self.min_reward, self.max_reward))
