"""Change rewards and infos: the distance reward of Gymnasium's guide, and success."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from multigrid._checks import is_real, shorten
from multigrid.wrappers._observations import cell_spaces


class DistanceReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Return a reward for the step that terminates, and minus the scaled distance to the target for the others.

    The distance is the Euclidean distance between the two cells that the step returns, not the ``distance`` of the
    infos, which is the L1 distance.

    This reward does not keep the optimal policies: on an empty grid it prefers some of the shortest paths, and among
    walls waiting close to the target can be worth more than walking around them. `PotentialReward` keeps them.

    Source: Gymnasium's page "Create a Custom Environment", section "Reward Design Issues", option 2
    (https://gymnasium.farama.org/introduction/create_custom_env/): ``1 if terminated else -0.1 * distance``.

    Args:
        env: its observations are a Dict with the Boxes "agent" and "target".
        scale: the cost of a distance of one cell, per step.
        target_reward: the reward of the step that terminates, such as 100; None for the env's own, 1.

    Raises:
        TypeError: the env observes something else, or a number is not real.
        ValueError: `scale` is not finite.

    >>> from multigrid import Action, GridWorldEnv
    >>> env = DistanceReward(GridWorldEnv(), target_reward=100)
    >>> observation, info = env.reset(options={"agents": [[0, 4]], "targets": [[3, 4]]})
    >>> [env.step(Action.RIGHT)[1] for _ in range(3)]
    [-0.2, -0.1, 100.0]
    """

    def __init__(self, env: gymnasium.Env[Any, Any], scale: float = 0.1, target_reward: float | None = None) -> None:
        RecordConstructorArgs.__init__(self, scale=scale, target_reward=target_reward)
        gymnasium.Wrapper.__init__(self, env)
        cell_spaces(env)
        if target_reward is not None and not is_real(target_reward):
            came = f"{shorten(target_reward)} of type {type(target_reward).__name__}"
            raise TypeError(f"target_reward is {came}; expected a real number, or None for the env's own reward")
        self.scale = check_finite("scale", scale)
        self.target_reward = target_reward

    def step(self, action: Any) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Step the env, and return minus the scaled distance as the reward unless the step terminates."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated and self.target_reward is not None:
            reward = self.target_reward
        elif not terminated:
            reward = -self.scale * np.linalg.norm(observation["agent"] - observation["target"])
        return observation, float(reward), terminated, truncated, info


class SuccessInfo(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Add ``is_success`` to the infos, a bool: whether the step has terminated the episode, by reaching the target.

    At reset, and on a step that only truncates, it is False. Stable-Baselines3 reads the key on the last step of an
    episode: its ``EvalCallback`` and its training log then report a success rate. The env's own infos are kept.
    ``SuccessInfo(DistanceReward(env, target_reward=100))`` has the reward and the infos of a learner's guide.

    Args:
        env: an env in which only reaching the target terminates, such as `multigrid.GridWorldEnv`.

    >>> from multigrid import Action, GridWorldEnv
    >>> env = SuccessInfo(GridWorldEnv())
    >>> observation, info = env.reset(options={"agents": [[0, 4]], "targets": [[1, 4]]})
    >>> info, env.step(Action.RIGHT)[4]
    ({'distance': 1.0, 'is_success': False}, {'distance': 0.0, 'is_success': True})
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the env, and add ``is_success``, False, to the info."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, "is_success": False}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the env, and add ``is_success`` to the info."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {**info, "is_success": bool(terminated)}


def check_finite(name: str, value: float) -> float:
    """Return a finite real number, Python's or NumPy's, as it is."""
    if not is_real(value):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; expected a real number")
    if not np.isfinite(value):
        raise ValueError(f"{name} is {shorten(value)}; expected a finite number")
    return value
