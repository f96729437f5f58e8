"""The recipes of `multigrid.examples.sb3_algorithms`: each learns, from a seed, and by what its text says."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecCheckNan

from multigrid import MultiGridEnv, vector_env
from multigrid.examples import sb3_algorithms
from multigrid.examples.sb3_algorithms import RECIPES, evaluate, main
from multigrid.integrations.sb3 import to_sb3

pytestmark = pytest.mark.heavy


def weights(model: Any) -> torch.Tensor:
    """All weights of a model, in one vector."""
    return torch.cat([value.flatten() for value in model.policy.state_dict().values()])


@pytest.mark.parametrize("algorithm", RECIPES)
def test_each_learns(algorithm: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Within a limit that random play keeps in a quarter of the episodes, the trained policy does in most."""
    result = main(algorithm)
    assert result.before.success_rate < 0.3
    assert result.after.success_rate > 0.7
    assert isinstance(result.model.get_env(), VecCheckNan)
    said = capsys.readouterr().out
    assert f"before: {result.before}" in said
    assert f"rows: {result.after}" in said


@pytest.mark.parametrize("algorithm", ["qr_dqn", "maskable_ppo"])
def test_a_seed_decides_everything(algorithm: Any) -> None:
    """With and without a replay buffer two runs with a seed end with equal weights, another seed with others."""
    short: dict[str, Any] = {"steps": 1_200, "worlds": 4, "episodes": 8}
    one, again, other = (main(algorithm, seed=seed, **short) for seed in (3, 3, 4))
    assert torch.equal(weights(one.model), weights(again.model))
    assert one[:2] == again[:2]
    assert not torch.equal(weights(one.model), weights(other.model))


def test_no_masked_action_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """MaskablePPO, trained and evaluated, never asks for an action that its mask forbids."""
    asked: list[Any] = []

    def watched(vector: Any) -> Any:
        vec_env = to_sb3(vector)
        step = vec_env.step_async

        def step_async(actions: Any) -> None:
            asked.append(vec_env.action_masks()[np.arange(len(actions)), actions])
            step(actions)

        monkeypatch.setattr(vec_env, "step_async", step_async)
        return vec_env

    monkeypatch.setattr(sb3_algorithms, "to_sb3", watched)
    main("maskable_ppo", steps=500, worlds=4, episodes=20)
    assert {len(rows) for rows in asked} == {8, 40}
    assert np.concatenate(asked).all()


def test_training_seeds_are_not_held_out_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worlds of no two seeds are the same, and none of them is one of the evaluation's."""
    seeds: list[tuple[int, ...]] = []

    def watched(vector: Any) -> Any:
        reset = vector.reset

        def noted(**given: Any) -> Any:
            told = reset(**given)
            seeds.append(vector.np_random_seed)
            return told

        monkeypatch.setattr(vector, "reset", noted)
        return to_sb3(vector)

    monkeypatch.setattr(sb3_algorithms, "to_sb3", watched)
    for seed in (0, 1):
        main("a2c", steps=64, worlds=4, episodes=5, seed=seed)
    assert seeds[::3] == seeds[2::3] == [(0, 1, 2, 3, 4)] * 2
    assert min(seeds[1] + seeds[4]) >= 1_000_000
    assert not set(seeds[1]) & set(seeds[4])


class Scripted:
    """A model whose actions are written down, a step after the other."""

    def __init__(self, actions: np.ndarray) -> None:
        """Take integers (steps, rows)."""
        self.actions = iter(actions)
        self.action_space = Discrete(4)

    def predict(self, seen: Any, deterministic: bool) -> tuple[np.ndarray, None]:
        """Hand out those of the next step."""
        assert not deterministic
        return next(self.actions), None


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_an_evaluation_counts_each_episode_once(on_target: Any) -> None:
    """Success and returns are those of single environments that are asked for the same actions."""
    grid = dataclasses.replace(sb3_algorithms.WORLD, on_target=on_target, max_cycles=20)
    actions = np.random.default_rng(5).integers(0, 4, (20, 60))
    model: Any = Scripted(actions)
    told = evaluate(model, grid, 30)
    successes = returns = 0.0
    for seed in range(30):
        env = MultiGridEnv(grid)
        env.reset(seed=seed)
        for chosen in actions[:, 2 * seed : 2 * seed + 2].tolist():
            if env.agents:
                by_name = dict(zip(env.possible_agents, chosen, strict=True))
                _, rewards, _, _, _ = env.step({agent: by_name[agent] for agent in env.agents})
                returns += sum(rewards.values()) / 2
        successes += env.metrics()["csr"]
    assert told == pytest.approx((successes / 30, returns / 30))
    assert 0 < successes < 30


def test_replay_learns_as_often_as_it_says() -> None:
    """DQN and QR-DQN make a gradient step for every eight transitions, however many worlds play."""
    cases: list[tuple[Any, int]] = [("dqn", 1), ("dqn", 3), ("dqn", 16), ("qr_dqn", 16)]
    for algorithm, worlds in cases:
        model: Any = main(algorithm, steps=1_536, worlds=worlds, episodes=2).model
        # A step for 8 rows, and with three worlds for 6; those that reach beyond the first 1,000 are learned from.
        brought, updates = {1: (8, 1), 3: (6, 1), 16: (32, 4)}[worlds]
        reached = [rows for rows in range(brought, 1_536 + 1, brought) if rows > 1_000]
        assert model._n_updates == len(reached) * updates


def test_an_evaluation_repeats_itself() -> None:
    """Also where DQN explores, two evaluations of one model are equal."""
    model: Any = main("dqn", steps=64, worlds=4, episodes=2).model
    model.exploration_rate = 0.9
    one = evaluate(model, sb3_algorithms.WORLD, 40)
    assert one.success_rate > 0
    assert evaluate(model, sb3_algorithms.WORLD, 40) == one


def test_masks_have_to_be_observed() -> None:
    """Without the part "action_mask" MaskablePPO says that it finds no masks."""
    vec_env = to_sb3(vector_env(2, sb3_algorithms.WORLD, autoreset_mode="SameStep"))
    with pytest.raises(ValueError, match="does not support action masking"):
        MaskablePPO("MlpPolicy", vec_env, n_steps=4, batch_size=8).learn(16)
