"""The target as a goal that hindsight may replace."""

import numpy as np
import pytest

from multigrid import GridWorldEnv
from multigrid.wrappers import GoalObservation


def test_every_step_keeps_the_contract_of_goal_envs():
    """Over whole episodes the three cells are the env's two, and reward and end are what the goals say they are."""
    plain, env = GridWorldEnv(size=4), GoalObservation(GridWorldEnv(size=4))
    draws = np.random.default_rng(0)
    ends = 0
    for seed in range(20):
        (cells, _), (goals, _) = plain.reset(seed=seed), env.reset(seed=seed)
        terminated = False
        while not terminated:
            assert env.observation_space.contains(goals)
            agent, target = cells["agent"].tolist(), cells["target"].tolist()
            shown = {part: cell.tolist() for part, cell in goals.items()}
            assert shown == {"observation": agent, "achieved_goal": agent, "desired_goal": target}
            assert len({id(cell) for cell in goals.values()}) == 3
            action = draws.integers(4)
            cells = plain.step(action)[0]
            goals, reward, terminated, truncated, info = env.step(action)
            pair = goals["achieved_goal"], goals["desired_goal"], info
            assert (env.compute_reward(*pair), env.compute_terminated(*pair)) == (reward, terminated)
            assert env.compute_truncated(*pair) is truncated
        ends += reward
    assert ends == 20


def test_another_goal_brings_what_it_would_have_brought():
    """A step that achieved one cell is worth 1 to whoever desired that cell, and 0 to others, alone or in rows."""
    env = GoalObservation(GridWorldEnv(size=3))
    cells = [(x, y) for x in range(3) for y in range(3)]
    pairs = [(one, other) for one in cells for other in cells]
    rewards = [int(one == other) for one, other in pairs]
    achieved, desired = np.array(pairs).swapaxes(0, 1)
    assert [env.compute_reward(*pair, {}) for pair in zip(achieved, desired, strict=True)] == rewards
    for infos in ({}, [{}] * 81, np.array([{"distance": 1.0}] * 81)):
        batch = env.compute_reward(achieved, desired, infos)
        assert (batch.tolist(), batch.dtype) == (rewards, np.int64)
        assert env.compute_terminated(achieved, desired, infos).tolist() == [reward == 1 for reward in rewards]
        assert env.compute_truncated(achieved, desired, infos).tolist() == [False] * 81


@pytest.mark.parametrize(
    ("achieved", "desired"), [([1, 2], [[1, 2]]), ([[1, 2]] * 2, [[1, 2]] * 3), ([1, 2, 3], [1, 2, 3]), (1, 1)]
)
def test_goals_that_are_not_pairs_of_cells_are_refused(achieved, desired):
    """Shapes that do not belong together are an error, and are not broadcast."""
    with pytest.raises(ValueError, match=r"expected \(2,\) or \(K, 2\), the same for both"):
        GoalObservation(GridWorldEnv()).compute_reward(achieved, desired, {})
