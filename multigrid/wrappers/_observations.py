"""Change observations: goals for hindsight experience replay, and frames."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from multigrid._checks import check_int

_Bools = NDArray[np.bool_]


def cell_spaces(env: gymnasium.Env[Any, Any]) -> tuple[Box, Box]:
    """Return the spaces of the parts "agent" and "target" of an env's observations."""
    space: Any = env.observation_space
    parts: dict[str, Any] = space.spaces if isinstance(space, Dict) else {}
    agent, target = parts.get("agent"), parts.get("target")
    if not isinstance(agent, Box) or not isinstance(target, Box):
        raise TypeError(f"the env observes {space}; expected a Dict with the Boxes 'agent' and 'target'")
    return agent, target


class GoalObservation(
    gymnasium.ObservationWrapper[dict[str, NDArray[Any]], Any, dict[str, NDArray[Any]]], RecordConstructorArgs
):
    """Observe the Dict that goal-conditioned learners expect, and compute rewards for other goals.

    Observations are a Dict of three cells, int64 (2,) each: ``observation`` and ``achieved_goal`` are the agent's cell,
    ``desired_goal`` is the target's. No other part has the target, because a learner that replaces the goal in
    hindsight replaces only ``desired_goal``. The reward is the env's. `compute_reward` returns the documented reward,
    so apply wrappers that change rewards outside this one.

    Source: the interface is that of ``GoalEnv`` in gymnasium_robotics; Stable-Baselines3's ``HerReplayBuffer`` calls
    its `compute_reward`. Hindsight is Andrychowicz et al. 2017, "Hindsight Experience Replay".

    Args:
        env: its observations are a Dict with the Boxes "agent" and "target"; other parts are dropped.

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
        agent, target = cell_spaces(env)
        goals: Any = Dict({"observation": agent, "achieved_goal": agent, "desired_goal": target})
        self.observation_space = goals

    def observation(self, observation: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the three cells."""
        agent, target = observation["agent"], observation["target"]
        return {"observation": agent, "achieved_goal": agent.copy(), "desired_goal": target}

    def compute_reward(self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any) -> int | NDArray[np.int64]:
        """Return the documented reward of a step, 1 where the goals are equal, else 0.

        Goals are a cell (2,) each, or K cells (K, 2), rewards an int or int64 (K,). `info` is not used.

        Raises:
            ValueError: the two goals differ in shape, or are not cells.
        """
        reached = self.compute_terminated(achieved_goal, desired_goal, info)
        return reached.astype(np.int64) if isinstance(reached, np.ndarray) else int(reached)

    def compute_terminated(self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any) -> bool | _Bools:  # noqa: ARG002
        """Return whether a step terminates: True where the goals are equal. Arguments as in `compute_reward`."""
        reached = _compare_goals(achieved_goal, desired_goal)
        return reached if reached.ndim else bool(reached)

    def compute_truncated(self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any) -> bool | _Bools:  # noqa: ARG002
        """Return False, because only ``TimeLimit`` truncates. Arguments as in `compute_reward`."""
        reached = _compare_goals(achieved_goal, desired_goal)
        return np.zeros_like(reached) if reached.ndim else False


def _compare_goals(achieved_goal: ArrayLike, desired_goal: ArrayLike) -> _Bools:
    achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
    if achieved.shape != desired.shape or achieved.ndim not in (1, 2) or achieved.shape[-1] != 2:
        raise ValueError(
            f"achieved_goal has the shape {achieved.shape} and desired_goal {desired.shape}; expected (2,) or (K, 2), "
            "the same for both"
        )
    return np.asarray(np.all(achieved == desired, axis=-1))


class PixelObservation(gymnasium.ObservationWrapper[NDArray[np.uint8], Any, Any], RecordConstructorArgs):
    """Observe the env's frame, scaled down: uint8 (3, size, size), colour first, as convolutional networks expect.

    Each pixel is the mean colour of a part of the frame, so no detail is lost completely. A frame that is not square is
    distorted. Gymnasium's ``AddRenderObservation`` and ``ResizeObservation`` leave the colour last, and need OpenCV.

    Args:
        env: any env with ``render_mode="rgb_array"``.
        size: the side in pixels, at least 1. Stable-Baselines3's ``NatureCNN`` was designed for 84 and needs 36.

    Raises:
        TypeError: `size` is not an integer.
        ValueError: `size` is below 1, or above a side of the env's frames, or the env has another render mode.

    >>> from multigrid import GridWorldEnv
    >>> env = PixelObservation(GridWorldEnv(render_mode="rgb_array"))
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, observation.dtype.name, info
    ((3, 84, 84), 'uint8', {'distance': 4.0})
    """

    def __init__(self, env: gymnasium.Env[Any, Any], size: int = 84) -> None:
        RecordConstructorArgs.__init__(self, size=size)
        gymnasium.ObservationWrapper.__init__(self, env)
        if env.render_mode != "rgb_array":
            mode = f"render_mode {env.render_mode!r}"
            raise ValueError(f'the env has {mode}, which gives no frames; make it with render_mode="rgb_array"')
        self.size = check_int("size", size, 1)
        self.observation_space = Box(0, 255, (3, self.size, self.size), np.uint8)

    def observation(self, observation: Any) -> NDArray[np.uint8]:  # noqa: ARG002
        """Render the env, and return the frame scaled down; `observation` is not used."""
        frame: Any = self.env.render()
        height, width = frame.shape[:2]
        if min(height, width) < self.size:
            raise ValueError(f"size is {self.size}, but the env's frames are {width} x {height} pixels")
        return _shrink(frame, self.size)


def _shrink(frame: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return the means of size x size equal parts of a frame, some of which overlap by a pixel: (3, size, size)."""
    (rows, height), (columns, width) = (
        (np.arange(size) * side // size, -(-side // size)) for side in (frame.shape[0], frame.shape[1])
    )
    # Adding whole rows, then whole columns, takes a fifth of the time of np.add.reduceat.
    bands = np.zeros((size, *frame.shape[1:]), np.uint32)
    for offset in range(height):
        bands += frame.take(rows + offset, axis=0)
    sums = np.zeros((size, size, 3), np.uint32)
    for offset in range(width):
        sums += bands.take(columns + offset, axis=1)
    return np.ascontiguousarray((sums // (height * width)).transpose(2, 0, 1), dtype=np.uint8)
