"""Train Stable-Baselines3's DQN with and without hindsight (HER) on a large grid, with the documented sparse reward.

On 12 x 12 cells random play hardly ever reaches the target within 30 steps, so DQN alone has few rewards to learn
from. With `GoalObservation`, `HerReplayBuffer` computes the rewards of an episode as if its last cell were the target.

    pip install "multigrid-marl[train]"
    python -m examples.sb3_her

The buffer does not change the done flags of the transitions that it relabels (DLR-RM/stable-baselines3 issue 627), so
the values near a target are too high. This example does not work around it: with the flags of `compute_terminated`,
the same training learned more slowly. The buffer cannot be sampled before an episode has ended, so `learning_starts`
is greater than the time limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("stable_baselines3", "torch", "tyro", text=__doc__)

import numpy as np
import torch
import tyro
from stable_baselines3 import DQN, HerReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import multigrid  # noqa: F401 (registers the env)
from multigrid.wrappers import GoalObservation

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["main"]

SIZE, LIMIT, HELD_OUT = 12, 30, 10_000


def main(*, steps: int = 6_000, seed: int = 0, episodes: int = 100) -> dict[str, tuple[float, float]]:
    """Train both; return, for "HER" and "DQN", the share of successful held-out episodes before and after."""
    torch.set_num_threads(1)
    results = {}
    for name, hindsight in (("HER", True), ("DQN", False)):
        model = make_model(seed, hindsight=hindsight)
        before = success(model, episodes)
        model.learn(steps)
        results[name] = before, success(model, episodes)
        print(f"{name}: arrives in {before:.0%} of held-out episodes before, in {results[name][1]:.0%} after")
    return results


def make_envs(count: int, seed: int) -> VecEnv:
    """Return goal-conditioned envs with a time limit, each in a ``Monitor``."""
    settings = {"size": SIZE, "max_episode_steps": LIMIT}
    return make_vec_env("multigrid/GridWorld-v0", count, seed=seed, env_kwargs=settings, wrapper_class=GoalObservation)


def make_model(seed: int, *, hindsight: bool) -> DQN:
    """Return a DQN; with hindsight, only its replay buffer differs."""
    return DQN(
        "MultiInputPolicy",
        make_envs(8, seed),
        replay_buffer_class=HerReplayBuffer if hindsight else None,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"} if hindsight else None,
        learning_rate=1e-3,
        buffer_size=50_000,
        learning_starts=8 * 2 * LIMIT,
        batch_size=128,
        gamma=0.95,
        train_freq=1,
        gradient_steps=4,
        target_update_interval=500,
        exploration_fraction=0.7,
        exploration_final_eps=0.1,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )


def success(model: DQN, episodes: int) -> float:
    """Return the share of held-out episodes that end at the target: the mean return, because an arrival pays 1."""
    returns, _ = evaluate_policy(model, make_envs(20, HELD_OUT), episodes, return_episode_rewards=True)
    return float(np.mean(returns))


if __name__ == "__main__":
    tyro.cli(main)
