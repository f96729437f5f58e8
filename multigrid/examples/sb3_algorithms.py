"""A2C, DQN, QR-DQN, MaskablePPO and PPO, each with one policy for all agents, on the native vector env.

Install: ``pip install "multigrid-marl[examples]"``.
Run: ``python -m multigrid.examples.sb3_algorithms --algorithm dqn``.

Every agent of every world is a row of the VecEnv that `to_sb3` returns. What follows from that:

- Learners count rows: 20,000 steps of 16 worlds with 2 agents are 625 calls of the env.
- DQN and QR-DQN count *train_freq* in calls of the env, each of which brings R transitions, but *learning_starts* and
  *target_update_interval* in rows. The default, one gradient step after four calls, would hardly use 4 R transitions.
- Their policy before training is greedy on arbitrary values, and gets stuck more often than random play.
- MaskablePPO asks the VecEnv for the masks, which it has where ``"action_mask"`` is observed. A mask says where edges
  and walls are; another agent in the way is not in it.
- `VecCheckNan` goes around any of them. These worlds have no NaN, so one of it is the learner's.

All ``on_target`` modes are taken. Under ``"leave"`` a row plays nothing until its world ends (see `MultiGridVecEnv`),
which a replay buffer keeps, too: give it more room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
import tyro
from sb3_contrib import QRDQN, MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecCheckNan, VecEnv

from multigrid import GridConfig, vector_env
from multigrid.integrations.sb3 import to_sb3
from multigrid.integrations.training import FIRST_TRAINING_SEED

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

__all__ = ["RECIPES", "Evaluation", "Recipe", "Result", "evaluate", "main"]


WORLD = GridConfig(size=(4, 3), num_agents=2, flatten=True, max_cycles=12)
"""Small, and with a limit that few untrained policies keep."""


def a2c(vec_env: VecEnv) -> BaseAlgorithm:
    """A2C, which sees each transition once: short rollouts of many rows, and Adam instead of its RMSprop."""
    net: dict[str, Any] = {"net_arch": [64, 64], "optimizer_class": torch.optim.Adam, "optimizer_kwargs": {"eps": 1e-5}}
    return A2C("MlpPolicy", vec_env, n_steps=8, learning_rate=3e-3, gamma=0.95, ent_coef=0.01, policy_kwargs=net)


def dqn(vec_env: VecEnv) -> BaseAlgorithm:
    """DQN with a gradient step for every eight rows, or nearly so."""
    return DQN("MlpPolicy", vec_env, **_replay_settings(vec_env))


def qr_dqn(vec_env: VecEnv) -> BaseAlgorithm:
    """QR-DQN, which learns 25 quantiles of the return, as often as DQN."""
    net: dict[str, Any] = {"net_arch": [64, 64], "n_quantiles": 25}
    return QRDQN("MlpPolicy", vec_env, **_replay_settings(vec_env) | {"policy_kwargs": net})


def maskable_ppo(vec_env: VecEnv) -> BaseAlgorithm:
    """PPO that never walks into the edge or a wall: ``"action_mask"`` has to be observed."""
    return MaskablePPO("MlpPolicy", vec_env, **_ON_POLICY)


def ppo_dict(vec_env: VecEnv) -> BaseAlgorithm:
    """PPO on Dict observations, whose parts `MultiInputPolicy` flattens by itself."""
    return PPO("MultiInputPolicy", vec_env, **_ON_POLICY)


_ON_POLICY: dict[str, Any] = {
    "n_steps": 16,
    "batch_size": 256,
    "n_epochs": 4,
    "learning_rate": 3e-3,
    "gamma": 0.95,
    "ent_coef": 0.01,
    "policy_kwargs": {"net_arch": [64, 64]},
}


def _replay_settings(vec_env: VecEnv) -> dict[str, Any]:
    """What both learners with a replay buffer are given."""
    return {
        # Each call of the env brings num_envs transitions.
        "train_freq": max(1, 8 // vec_env.num_envs),
        "gradient_steps": max(1, vec_env.num_envs // 8),
        "batch_size": 128,
        "buffer_size": 50_000,
        "learning_starts": 1_000,
        "target_update_interval": 500,
        "learning_rate": 2e-3,
        "gamma": 0.9,
        "exploration_fraction": 0.5,
        "policy_kwargs": {"net_arch": [64, 64]},
    }


class Recipe(NamedTuple):
    """How to make a learner of a VecEnv, the world that it is shown on, and for how many rows it trains."""

    make: Callable[[VecEnv], BaseAlgorithm]
    world: GridConfig
    steps: int


_MASKED = dataclasses.replace(WORLD, observe=("agent", "target", "others", "action_mask"))

RECIPES = {
    "a2c": Recipe(a2c, WORLD, 30_000),
    "dqn": Recipe(dqn, WORLD, 14_000),
    "qr_dqn": Recipe(qr_dqn, WORLD, 14_000),
    "maskable_ppo": Recipe(maskable_ppo, _MASKED, 20_000),
    "ppo_dict": Recipe(ppo_dict, dataclasses.replace(WORLD, flatten=False), 20_000),
}


class Evaluation(NamedTuple):
    """Over held-out episodes: in how many all agents arrived (under *restart* 0), and an agent's rewards."""

    success_rate: float
    mean_return: float


class Result(NamedTuple):
    """What a training ends with."""

    before: Evaluation
    after: Evaluation
    model: BaseAlgorithm


def evaluate(model: BaseAlgorithm, config: GridConfig, episodes: int) -> Evaluation:
    """Play the episodes with the seeds 0, 1, ..., one a world, the actions sampled.

    Two agents in each other's way, both doing what is best, would stand there for ever. DQN and QR-DQN do, but for
    the steps, at their last rate of exploration, in which they draw the actions of all rows at random. The draws are
    the global streams' and those of the model's action space, which are seeded here.
    """
    set_random_seed(0)
    model.action_space.seed(0)
    vec_env = to_sb3(vector_env(episodes, config, autoreset_mode="SameStep"))
    vec_env.seed(0)
    observations: Any = vec_env.reset()
    agents, playing = config.num_agents, np.ones(episodes, dtype=bool)
    successes = returns = 0.0
    while playing.any():
        masks: Any = {"action_masks": vec_env.action_masks()} if isinstance(model, MaskablePPO) else {}
        actions, _ = model.predict(observations, deterministic=False, **masks)
        observations, rewards, _, infos = vec_env.step(actions)
        returns += rewards.reshape(episodes, agents).mean(axis=1)[playing].sum()
        for world in np.flatnonzero(playing):
            figures = infos[world * agents]
            if "csr" in figures:  # the metrics are among the infos of a world's last step
                successes += figures["csr"] == 1
                playing[world] = False
    vec_env.close()
    return Evaluation(float(successes / episodes), float(returns / episodes))


def main(
    algorithm: Literal["a2c", "dqn", "qr_dqn", "maskable_ppo", "ppo_dict"] = "ppo_dict",
    *,
    steps: int | None = None,
    seed: int = 0,
    worlds: int = 16,
    episodes: int = 200,
) -> Result:
    """Train one of `RECIPES`, evaluate before and after on held-out seeds, and print both.

    Args:
        algorithm: its name.
        steps: rows to train for; by default the recipe's own number.
        seed: two runs with the same seed end with equal weights.
        worlds: how many are played side by side.
        episodes: how many each evaluation plays.
    """
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    recipe = RECIPES[algorithm]
    vec_env = VecCheckNan(to_sb3(vector_env(worlds, recipe.world, autoreset_mode="SameStep")), raise_exception=True)
    set_random_seed(seed)
    model = recipe.make(vec_env)
    before = evaluate(model, recipe.world, episodes)
    model.set_random_seed(FIRST_TRAINING_SEED + seed * worlds)  # of the worlds, and of all that is random from here on
    model.learn(recipe.steps if steps is None else steps)
    after = evaluate(model, recipe.world, episodes)
    vec_env.close()
    print(f"{algorithm}, {episodes} held-out episodes\nbefore: {before}\nafter {model.num_timesteps:,} rows: {after}")
    return Result(before, after, model)


if __name__ == "__main__":
    tyro.cli(main)
