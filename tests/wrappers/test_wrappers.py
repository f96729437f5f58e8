"""The four documented wrappers."""

import importlib
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from multigrid import Action, GridWorldEnv, wrappers
from multigrid.wrappers import ClipReward, DiscreteActions, ReacherWeightedReward, RelativePosition


class Reacher(gym.Env[Any, Any]):
    """What matters of Gymnasium's Reacher, which needs MuJoCo: the terms of its reward, in the infos."""

    observation_space = action_space = gym.spaces.Discrete(1)

    def __init__(self, **terms):
        self.terms = terms

    def step(self, action):
        """Tell the terms, and a reward that the wrapper is to replace."""
        return 0, 99.0, False, True, dict(self.terms)


def test_the_documented_modules():
    """Each wrapper is found in the module of the documented package, and in the package, by the documented name."""
    documented = {"clip_reward": "ClipReward", "discrete_actions": "DiscreteActions"}
    documented |= {"reacher_weighted_reward": "ReacherRewardWrapper", "relative_position": "RelativePosition"}
    for module, name in documented.items():
        wrapper = getattr(importlib.import_module(f"multigrid.wrappers.{module}"), name)
        assert issubclass(wrapper, gym.Wrapper)
        assert getattr(wrappers, name) is wrapper


def test_relative_position_is_target_minus_agent():
    """Every observation is the target's cell minus the agent's, a fresh int64 array in the tightest space."""
    assert RelativePosition(GridWorldEnv(size=4)).observation_space == gym.spaces.Box(-3, 3, (2,), np.int64)
    plain, wrapped = GridWorldEnv(size=7), RelativePosition(GridWorldEnv(size=7))
    cells = [plain.reset(seed=3)[0]]
    seen = [wrapped.reset(seed=3)[0]]
    for action in np.random.default_rng(0).integers(0, 4, 40):
        cells.append(plain.step(action)[0])
        seen.append(wrapped.step(action)[0])
    expected = [one["target"] - one["agent"] for one in cells]
    np.testing.assert_array_equal(seen, expected)
    assert all(wrapped.observation_space.contains(one) for one in seen)
    assert len({id(one) for one in seen}) == len(seen)


@pytest.mark.parametrize(("bounds", "clipped"), [((0.0, 0.5), 0.5), ((0.25, 2.0), 1.0), ((-2.0, -1.0), -1.0)])
def test_clip_reward_keeps_the_bounds(bounds, clipped):
    """The reward of arriving, 1, is clipped to the bounds, and everything else of the step is left alone."""
    env = ClipReward(GridWorldEnv(), *bounds)
    env.reset(options={"agents": [[1, 3]], "targets": [[2, 3]]})
    observation, reward, terminated, truncated, info = env.step(Action.RIGHT)
    assert reward == clipped
    assert (observation["agent"].tolist(), terminated, truncated, info) == ([2, 3], True, False, {"distance": 0.0})


def test_discrete_actions_stand_for_those_listed():
    """Action k of the wrapper is the k-th of the list, and any other number an error."""
    env = DiscreteActions(GridWorldEnv(), [Action.UP, Action.LEFT])
    assert env.action_space == gym.spaces.Discrete(2)
    env.reset(options={"agents": [[2, 1]], "targets": [[4, 4]]})
    assert env.step(0)[0]["agent"].tolist() == [2, 2]
    assert env.step(np.int64(1))[0]["agent"].tolist() == [1, 2]
    for action in (-1, 2, 0.0):
        with pytest.raises(ValueError, match="expected an integer from 0 to 1"):
            env.step(action)


def test_reacher_reward_is_the_weighted_sum():
    """The reward is the sum of the two terms, each with its weight; a missing term is named."""
    env = ReacherWeightedReward(Reacher(reward_dist=-3.0, reward_ctrl=0.5), 2.0, 10.0)
    assert env.step(0) == (0, -1.0, False, True, {"reward_dist": -3.0, "reward_ctrl": 0.5})
    with pytest.raises(ValueError, match=r"lack \['reward_ctrl'\]"):
        ReacherWeightedReward(Reacher(reward_dist=1.0), 1.0, 1.0).step(0)
