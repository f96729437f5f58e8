"""Weigh the terms of the reward of Gymnasium's Reacher."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from multigrid.wrappers._rewards import check_finite


class ReacherWeightedReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Replace the reward by a weighted sum of the terms in the infos of Gymnasium's Reacher.

    ``ReacherRewardWrapper``, its name in Gymnasium's documents, is the same class.

    Args:
        env: an env whose infos have "reward_dist" and "reward_ctrl", as in Reacher.
        reward_dist_weight: the weight of the distance term.
        reward_ctrl_weight: the weight of the control term.

    Raises:
        TypeError, ValueError: a weight is not a real number, or not finite, or later the infos lack a term.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], reward_dist_weight: float, reward_ctrl_weight: float) -> None:
        weights: Any = {"reward_dist_weight": reward_dist_weight, "reward_ctrl_weight": reward_ctrl_weight}
        RecordConstructorArgs.__init__(self, **weights)
        gymnasium.Wrapper.__init__(self, env)
        self.reward_dist_weight = check_finite("reward_dist_weight", reward_dist_weight)
        self.reward_ctrl_weight = check_finite("reward_ctrl_weight", reward_ctrl_weight)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the env, and return the weighted sum as the reward."""
        observation, _, terminated, truncated, info = self.env.step(action)
        missing = [term for term in ("reward_dist", "reward_ctrl") if term not in info]
        if missing:
            raise ValueError(
                f"the env's infos lack {missing}; expected an env like Gymnasium's Reacher, which has them"
            )
        reward = self.reward_dist_weight * info["reward_dist"] + self.reward_ctrl_weight * info["reward_ctrl"]
        return observation, reward, terminated, truncated, info


ReacherRewardWrapper = ReacherWeightedReward
"""The name in Gymnasium's documents."""
