"""Compare three rewards by the steps that Stable-Baselines3's PPO needs to reach a level of success.

"sparse" is the documented reward. "potential" adds `PotentialReward`, which changes no optimal policy. "distance" is
the distance reward of Gymnasium's guide, which can change the optimal policy. For all three, Stable-Baselines3's own
callbacks measure success on the documented env, in held-out episodes with the longest shortest path as time limit.

    pip install "multigrid-marl[train]"
    python -m examples.sb3_shaping

The potential is minus a tenth of the distance. The theorem also holds for minus the distance, but the returns would be
about twenty times the documented ones, and PPO's value network would learn them more slowly than PPO learns the task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("stable_baselines3", "torch", "tyro", text=__doc__)

import gymnasium
import numpy as np
import torch
import tyro
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import multigrid
from multigrid.integrations.sb3 import to_sb3
from multigrid.wrappers import DistanceReward, PotentialReward

__all__ = ["main"]

GAMMA, HELD_OUT = 0.98, 10_000


def potential(observation: Any, info: dict[str, Any]) -> float:  # noqa: ARG001
    """Return minus a tenth of the distance, the scale of the distance reward."""
    return -0.1 * float(info["distance"])


REWARDS: dict[str, Callable[..., gymnasium.Env[Any, Any]] | None] = {
    "sparse": None,
    "potential": partial(PotentialReward, gamma=GAMMA, potential=potential),
    "distance": DistanceReward,
}


def main(
    *,
    steps: int = 60_000,
    seed: int = 0,
    size: int = 16,
    rewards: Sequence[str] = tuple(REWARDS),
    level: float = 0.9,
    episodes: int = 200,
) -> dict[str, tuple[float, float, int]]:
    """Train with each of the rewards until success reaches the level, for at most `steps` steps.

    Returns:
        For each reward: success before and after, as shares of held-out episodes, and the number of steps trained.

    Raises:
        ValueError: a reward has another name than "sparse", "potential" and "distance".
    """
    if unknown := [name for name in rewards if name not in REWARDS]:
        raise ValueError(f"rewards name {unknown}; expected a sequence of names out of {list(REWARDS)}")
    torch.set_num_threads(1)
    results = {}
    for name in rewards:
        model = PPO(
            "MultiInputPolicy",
            VecMonitor(DummyVecEnv([partial(make_env, size, REWARDS[name])] * 8)),
            n_steps=128,
            batch_size=256,
            learning_rate=1e-3,
            gamma=GAMMA,
            ent_coef=0.01,
            seed=seed,
            device="cpu",
        )
        before = success(model, size, episodes)
        enough = StopTrainingOnRewardThreshold(level, verbose=0)
        model.learn(
            steps,
            EvalCallback(
                held_out(size, episodes, HELD_OUT),
                callback_on_new_best=enough,
                n_eval_episodes=episodes,
                eval_freq=256,
                verbose=0,
            ),
        )
        results[name] = before, success(model, size, episodes), model.num_timesteps
        print("{}: {:.0%} before, {:.0%} after {} steps".format(name, *results[name]))
    return results


def make_env(size: int, wrapper: Callable[..., gymnasium.Env[Any, Any]] | None) -> gymnasium.Env[Any, Any]:
    """Return the documented env with a time limit, in a wrapper or without."""
    env: gymnasium.Env[Any, Any] = gymnasium.make("multigrid/GridWorld-v0", size=size, max_episode_steps=2 * (size - 1))
    return env if wrapper is None else wrapper(env)


def held_out(size: int, episodes: int, seed: int) -> VecMonitor:
    """Return a VecEnv of documented envs, one for each episode, which are played in parallel."""
    vec_env = to_sb3(
        multigrid.vector_env(episodes, autoreset_mode="SameStep", size=size, num_agents=1, max_cycles=2 * (size - 1))
    )
    vec_env.seed(seed)
    return VecMonitor(vec_env)


def success(model: PPO, size: int, episodes: int) -> float:
    """Return the share of held-out episodes that end at the target: the mean return, because an arrival pays 1."""
    returns, _ = evaluate_policy(model, held_out(size, episodes, 2 * HELD_OUT), episodes, return_episode_rewards=True)
    return float(np.mean(returns))


if __name__ == "__main__":
    tyro.cli(main)
