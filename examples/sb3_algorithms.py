"""Train A2C, DQN, QR-DQN, MaskablePPO and PPO, each with one policy for all agents, on the native vector env.

Install: ``pip install "multigrid-marl[examples]"``.
Run: ``python -m examples.sb3_algorithms --algorithm dqn``.

Every agent of every world is a row of the VecEnv that `to_sb3` returns. Consequences:

- Learners count rows: 20,000 steps of 16 worlds with 2 agents are 625 calls of the env.
- DQN and QR-DQN count *train_freq* in calls of the env, each of which returns R transitions, but *learning_starts* and
  *target_update_interval* in rows. The default, one gradient step per four calls, is too few for 4 R transitions.
- Their policy before training is greedy on arbitrary values, and gets stuck more often than random play.
- MaskablePPO gets the masks from the VecEnv, which has them if ``"action_mask"`` is observed. The flat observations
  are then a Dict of vector and mask, for `MultiInputPolicy`. A mask excludes moves into edges and walls, not into other
  agents.
- `VecCheckNan` can wrap the VecEnv of any learner. These worlds return no NaN, so a NaN comes from the learner.

All ``on_target`` modes train. Under ``"leave"`` the row of an agent that has left has no actual transitions until its
world ends (see `MultiGridVecEnv`), but a replay buffer stores the row: make the buffer larger.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("sb3_contrib", "stable_baselines3", "torch", "tyro", text=__doc__)

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
"""A small world; with its time limit, few episodes of untrained policies succeed."""


def a2c(vec_env: VecEnv) -> BaseAlgorithm:
    """Return an A2C. It uses each transition once, so rollouts are short with many rows; Adam replaces its RMSprop."""
    net: dict[str, Any] = {"net_arch": [64, 64], "optimizer_class": torch.optim.Adam, "optimizer_kwargs": {"eps": 1e-5}}
    return A2C("MlpPolicy", vec_env, n_steps=8, learning_rate=3e-3, gamma=0.95, ent_coef=0.01, policy_kwargs=net)


def dqn(vec_env: VecEnv) -> BaseAlgorithm:
    """Return a DQN with about one gradient step for every eight rows."""
    return DQN("MlpPolicy", vec_env, **_replay_settings(vec_env))


def qr_dqn(vec_env: VecEnv) -> BaseAlgorithm:
    """Return a QR-DQN, which learns 25 quantiles of the return, with as many gradient steps as `dqn`."""
    net: dict[str, Any] = {"net_arch": [64, 64], "n_quantiles": 25}
    return QRDQN("MlpPolicy", vec_env, **_replay_settings(vec_env) | {"policy_kwargs": net})


def maskable_ppo(vec_env: VecEnv) -> BaseAlgorithm:
    """Return a PPO that never moves into an edge or a wall; it needs the observation part ``"action_mask"``."""
    return MaskablePPO("MultiInputPolicy", vec_env, **_ON_POLICY)


def ppo_dict(vec_env: VecEnv) -> BaseAlgorithm:
    """Return a PPO on Dict observations, whose parts `MultiInputPolicy` flattens."""
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
    """Return the settings of both learners with a replay buffer."""
    return {
        # Each call of the env returns num_envs transitions.
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
    """A function from a VecEnv to a learner, the world of the example, and the number of rows to train for."""

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
    """The share of held-out episodes in which all agents arrive (under *restart* 0), and an agent's mean return."""

    success_rate: float
    mean_return: float


class Result(NamedTuple):
    """The evaluations before and after a training, and the trained model."""

    before: Evaluation
    after: Evaluation
    model: BaseAlgorithm


def evaluate(model: BaseAlgorithm, config: GridConfig, episodes: int) -> Evaluation:
    """Play the episodes with the seeds 0, 1, ..., one per world, with sampled actions.

    With greedy actions, two agents that block each other would do so for ever. DQN and QR-DQN are greedy except in
    random steps, at their last rate of exploration, in which they sample the actions of all rows uniformly. The global
    random generators and that of the model's action space are seeded here.
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
