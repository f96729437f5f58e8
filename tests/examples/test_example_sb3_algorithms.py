"""The recipes of `examples.sb3_algorithms`: each learns, from a seed, and by what its text says."""

import numpy as np
import pytest
from stable_baselines3.common.vec_env import VecCheckNan

from examples import sb3_algorithms
from examples.sb3_algorithms import RECIPES, evaluate, main
from multigrid.integrations.sb3 import to_sb3

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("algorithm", RECIPES)
def test_each_learns(algorithm, capsys):
    """Within a limit that random play keeps in a quarter of the episodes, the trained policy does in most."""
    result = main(algorithm)
    assert result.before.success_rate < 0.3
    assert result.after.success_rate > 0.7
    assert isinstance(result.model.get_env(), VecCheckNan)
    said = capsys.readouterr().out
    assert f"before: {result.before}" in said
    assert f"rows: {result.after}" in said


def test_no_masked_action_is_played(monkeypatch):
    """MaskablePPO, trained and evaluated, never asks for an action that its mask forbids."""
    asked = []

    def watched(vector):
        vec_env = to_sb3(vector)
        step = vec_env.step_async

        def step_async(actions):
            asked.append(vec_env.action_masks()[np.arange(len(actions)), actions])
            step(actions)

        monkeypatch.setattr(vec_env, "step_async", step_async)
        return vec_env

    monkeypatch.setattr(sb3_algorithms, "to_sb3", watched)
    main("maskable_ppo", steps=500, worlds=4, episodes=20)
    assert {len(rows) for rows in asked} == {8, 40}
    assert np.concatenate(asked).all()


def test_replay_learns_as_often_as_it_says():
    """DQN and QR-DQN make a gradient step for every eight transitions, however many worlds play."""
    cases = [("dqn", 1), ("dqn", 3), ("dqn", 16), ("qr_dqn", 16)]
    for algorithm, worlds in cases:
        model = main(algorithm, steps=1_536, worlds=worlds, episodes=2).model
        # A step for 8 rows, and with three worlds for 6; those that reach beyond the first 1,000 are learned from.
        brought, updates = {1: (8, 1), 3: (6, 1), 16: (32, 4)}[worlds]
        reached = [rows for rows in range(brought, 1_536 + 1, brought) if rows > 1_000]
        assert model._n_updates == len(reached) * updates


def test_an_evaluation_repeats_itself():
    """Also where DQN explores, two evaluations of one model are equal."""
    model = main("dqn", steps=64, worlds=4, episodes=2).model
    model.exploration_rate = 0.9
    one = evaluate(model, sb3_algorithms.WORLD, 40)
    assert one.success_rate > 0
    assert evaluate(model, sb3_algorithms.WORLD, 40) == one
