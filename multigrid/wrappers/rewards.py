"""Wrappers that change rewards: clipping, the distance reward of Gymnasium's guide, and the weights of Reacher's."""

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
        ValueError: the lowest is above the highest, or a bound is NaN.

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
        """Return the reward within the bounds."""
        return float(np.clip(float(reward), self.min_reward, self.max_reward))


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
        cell_spaces(env)
        self.scale = scale

    def step(self, action: Any) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Step the env, and return the scaled distance as a negative reward, save on the last step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not terminated:
            reward = -self.scale * np.linalg.norm(observation["agent"] - observation["target"])
        return observation, float(reward), terminated, truncated, info


class ReacherWeightedReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Replace the reward by a weighted sum of the terms in the infos of Gymnasium's Reacher.

    Args:
        env: its infos have "reward_dist" and "reward_ctrl", as those of Reacher do.
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
