"""Change rewards: clipping, the distance reward of Gymnasium's guide, and weights for the terms of Reacher's reward."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid.wrappers.observations import cell_spaces

__all__ = ["ClipReward", "DistanceReward", "ReacherWeightedReward"]


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
            if isinstance(bound, bool) or not isinstance(bound, int | float | np.integer | np.floating):
                raise TypeError(f"{name} is {shorten(bound)} of type {type(bound).__name__}; expected a real number")
        if not min_reward <= max_reward:
            raise ValueError(
                f"min_reward is {shorten(min_reward)} and max_reward {shorten(max_reward)}; "
                "expected the lower one first"
            )
        self.min_reward = min_reward
        self.max_reward = max_reward

    def reward(self, reward: SupportsFloat) -> float:
        """Return the reward, clipped to the bounds."""
        return float(np.clip(float(reward), self.min_reward, self.max_reward))


class DistanceReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Return the env's own reward for the step that terminates, and minus the scaled distance to the target for others.

    The distance is the Euclidean distance between the two cells that the step returns, not the ``distance`` of the
    infos, which is the L1 distance.

    This reward does not keep the optimal policies. On an empty grid it only prefers some of the shortest paths: those
    along which the Euclidean distance falls first. Among walls, waiting close to the target for ever can be worth more
    than walking around the walls. `PotentialReward` speeds learning up and keeps all optimal policies.

    Source: Gymnasium's page "Create a Custom Environment", section "Reward Design Issues", option 2
    (https://gymnasium.farama.org/introduction/create_custom_env/): ``1 if terminated else -0.1 * distance``.

    Args:
        env: its observations are a Dict with the Boxes "agent" and "target".
        scale: the cost of a distance of one cell, per step.

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
        cell_spaces(env)
        self.scale = scale

    def step(self, action: Any) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Step the env, and return minus the scaled distance as the reward unless the step terminates."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not terminated:
            reward = -self.scale * np.linalg.norm(observation["agent"] - observation["target"])
        return observation, float(reward), terminated, truncated, info


class ReacherWeightedReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Replace the reward by a weighted sum of the terms in the infos of Gymnasium's Reacher.

    Args:
        env: an env whose infos have "reward_dist" and "reward_ctrl", as in Reacher.
        reward_dist_weight: the weight of the distance term.
        reward_ctrl_weight: the weight of the control term.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], reward_dist_weight: float, reward_ctrl_weight: float) -> None:
        RecordConstructorArgs.__init__(
            self, reward_dist_weight=reward_dist_weight, reward_ctrl_weight=reward_ctrl_weight
        )
        gymnasium.Wrapper.__init__(self, env)
        self.reward_dist_weight = reward_dist_weight
        self.reward_ctrl_weight = reward_ctrl_weight

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the env, and return the weighted sum as the reward.

        Raises:
            ValueError: the infos lack a term.
        """
        observation, _, terminated, truncated, info = self.env.step(action)
        missing = [term for term in ("reward_dist", "reward_ctrl") if term not in info]
        if missing:
            raise ValueError(
                f"the env's infos lack {missing}; expected an env like Gymnasium's Reacher, which has them"
            )
        reward = self.reward_dist_weight * info["reward_dist"] + self.reward_ctrl_weight * info["reward_ctrl"]
        return observation, reward, terminated, truncated, info
