"""Observations with achieved and desired goals, for hindsight experience replay."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

__all__ = ["GoalObservation"]


class GoalObservation(
    gymnasium.ObservationWrapper[dict[str, NDArray[Any]], Any, dict[str, NDArray[Any]]], RecordConstructorArgs
):
    """Observe what goal-conditioned learners expect, and compute rewards for other goals.

    Observations are a Dict of three cells, int64 (2,) each: ``observation`` and ``achieved_goal`` are the agent's,
    ``desired_goal`` is the target's. The target is in no other part, for a learner that replaces the goal in hindsight
    replaces only ``desired_goal``. The reward is the env's. `compute_reward` returns the documented one, so wrappers
    that change rewards belong outside this one.

    Source: the contract is that of ``GoalEnv`` in gymnasium_robotics, of which Stable-Baselines3's ``HerReplayBuffer``
    uses `compute_reward`; hindsight is Andrychowicz et al. 2017, "Hindsight Experience Replay".

    Args:
        env: its observations are a Dict with the Boxes "agent" and "target"; whatever else it observes is dropped.

    Raises:
        TypeError: the env observes something else.

    >>> from multigrid import GridWorldEnv
    >>> env = GoalObservation(GridWorldEnv())
    >>> observation, info = env.reset(seed=0)
    >>> {part: cell.tolist() for part, cell in observation.items()}
    {'observation': [4, 3], 'achieved_goal': [4, 3], 'desired_goal': [2, 1]}
    >>> env.compute_reward([[4, 3], [2, 1]], [[2, 1], [2, 1]], [info, info])
    array([0, 1])
    """

    def __init__(self, env: gymnasium.Env[dict[str, NDArray[Any]], Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.ObservationWrapper.__init__(self, env)
        space: Any = env.observation_space
        parts: dict[str, Any] = space.spaces if isinstance(space, Dict) else {}
        agent, target = parts.get("agent"), parts.get("target")
        if not isinstance(agent, Box) or not isinstance(target, Box):
            raise TypeError(f"the env observes {space}; expected a Dict with the Boxes 'agent' and 'target'")
        goals: Any = Dict({"observation": agent, "achieved_goal": agent, "desired_goal": target})
        self.observation_space = goals

    def observation(self, observation: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the three cells."""
        agent, target = observation["agent"], observation["target"]
        return {"observation": agent, "achieved_goal": agent.copy(), "desired_goal": target}

    def compute_reward(
        self,
        achieved_goal: ArrayLike,
        desired_goal: ArrayLike,
        info: Any,  # noqa: ARG002
    ) -> int | NDArray[np.int64]:
        """Return the documented reward of a step that achieved one goal while another was desired.

        Args:
            achieved_goal: a cell (2,), or K of them (K, 2).
            desired_goal: as many cells.
            info: that of the step, or those of all K; the reward does not depend on it.

        Returns:
            1 where the two agree, else 0: an int for one pair, int64 (K,) for K.

        Raises:
            ValueError: the two are not of one shape, or not cells.
        """
        reached = _reached(achieved_goal, desired_goal)
        return reached.astype(np.int64) if reached.ndim else int(reached)

    def compute_terminated(
        self,
        achieved_goal: ArrayLike,
        desired_goal: ArrayLike,
        info: Any,  # noqa: ARG002
    ) -> bool | NDArray[np.bool_]:
        """Return whether such a step ends the episode: True where the two agree. Arguments as in `compute_reward`."""
        reached = _reached(achieved_goal, desired_goal)
        return reached if reached.ndim else bool(reached)

    def compute_truncated(
        self,
        achieved_goal: ArrayLike,
        desired_goal: ArrayLike,
        info: Any,  # noqa: ARG002
    ) -> bool | NDArray[np.bool_]:
        """Return whether such a step cuts the episode: False, for limits are ``TimeLimit``'s. Arguments as above."""
        reached = _reached(achieved_goal, desired_goal)
        return np.zeros_like(reached) if reached.ndim else False


def _reached(achieved_goal: ArrayLike, desired_goal: ArrayLike) -> NDArray[np.bool_]:
    achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
    if achieved.shape != desired.shape or achieved.ndim not in (1, 2) or achieved.shape[-1] != 2:
        raise ValueError(
            f"achieved_goal has the shape {achieved.shape} and desired_goal {desired.shape}; expected (2,) or (K, 2), "
            "the same for both"
        )
    return np.asarray(np.all(achieved == desired, axis=-1))
