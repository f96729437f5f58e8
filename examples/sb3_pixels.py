"""Learn from pixels: train Stable-Baselines3's PPO with CnnPolicy on 84 x 84 frames of the documented GridWorld.

`PixelObservation` scales the env's frames down to uint8 (3, 84, 84), colour first, as CnnPolicy expects.

    pip install "multigrid-marl[train]"
    python -m examples.sb3_pixels

CnnPolicy's network needs at least 36 pixels; ``main(pixels=36)`` trains several times as fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("stable_baselines3", "torch", "tyro", text=__doc__)

import numpy as np
import torch
import tyro
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import multigrid  # noqa: F401 (registers the env)
from multigrid.wrappers import PixelObservation

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["main"]

HELD_OUT = 10_000


def main(
    *, steps: int = 8_192, seed: int = 0, size: int = 3, pixels: int = 84, episodes: int = 100
) -> tuple[float, float]:
    """Train; return the share of held-out episodes that reach the target in time, before and after."""
    torch.set_num_threads(1)
    model = PPO(
        "CnnPolicy",
        make_envs(8, size, pixels, limit=20, seed=seed),
        n_steps=64,
        batch_size=128,
        n_epochs=4,
        learning_rate=5e-4,
        gamma=0.9,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )
    before = success(model, size, pixels, episodes)
    model.learn(steps)
    after = success(model, size, pixels, episodes)
    print(f"arrives in {before:.0%} of held-out episodes before, in {after:.0%} after {steps} steps")
    return before, after


def make_envs(count: int, size: int, pixels: int, limit: int, seed: int) -> VecEnv:
    """Return envs that observe their frames, with a time limit, each in a ``Monitor``."""
    return make_vec_env(
        "multigrid/GridWorld-v0",
        count,
        seed=seed,
        env_kwargs={"size": size, "render_mode": "rgb_array", "max_episode_steps": limit},
        wrapper_class=PixelObservation,
        wrapper_kwargs={"size": pixels},
    )


def success(model: PPO, size: int, pixels: int, episodes: int) -> float:
    """Return the mean return of held-out episodes; an arrival pays 1, the time limit is the longest shortest path."""
    envs = make_envs(10, size, pixels, limit=2 * (size - 1), seed=HELD_OUT)
    returns, _ = evaluate_policy(model, envs, episodes, return_episode_rewards=True)
    return float(np.mean(returns))


if __name__ == "__main__":
    tyro.cli(main)
