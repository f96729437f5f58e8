"""Clone a planner's behaviour with imitation 1: a Minari dataset of PIBT, and BC on its rows.

Install: ``pip install "multigrid-marl[datasets]" stable-baselines3 tqdm``, then
``pip install --no-deps "imitation==1.0.1"``, which pins Gymnasium 0.29 and Stable-Baselines3 2.2. Run:
``python -m examples.imitation_bc``.

Each row of a dataset is a trajectory of imitation: one agent's observations and actions. The action masks are left out,
for `BC` has no use for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("imitation", "minari", "h5py", "torch", text=__doc__)

import numpy as np
import torch
from imitation.algorithms.bc import BC
from imitation.data.types import Trajectory
from imitation.util.logger import configure
from stable_baselines3.common.policies import ActorCriticPolicy

import multigrid
from multigrid import datasets, planning
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.wrappers import StandardVector, standard_config

if TYPE_CHECKING:
    import minari

__all__ = ["CONFIG", "arrival_rate", "load_trajectories", "main", "record_expert"]

CONFIG = standard_config(
    multigrid.GridConfig(
        size=(7, 6), num_agents=4, on_target="leave", observe=("offset", "view"), allow_stay=True, max_cycles=30
    )
)
"""The world."""


def record_expert(config: multigrid.GridConfig, name: str, episodes: int, seed: int) -> minari.MinariDataset:
    """Record episodes of PIBT in a world; the seeds are those of training."""
    envs = StandardVector(multigrid.vector_env(64, config, autoreset_mode="Disabled"))
    return datasets.record(
        envs,
        lambda envs, _: planning.expert(envs),
        name,
        episodes=episodes,
        policy_name="pibt",
        seed=FIRST_TRAINING_SEED + episodes * seed,
    )


def load_trajectories(dataset: minari.MinariDataset) -> list[Trajectory]:
    """Return a trajectory for each row."""
    return [
        Trajectory(row.observations["observation"], row.actions, infos=None, terminal=True)
        for row in dataset.iterate_episodes()
    ]


def arrival_rate(policy: ActorCriticPolicy, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive."""

    def act(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        vectors = np.stack([observations[agent]["observation"] for agent in env.agents])
        return dict(zip(env.agents, policy.predict(vectors)[0].tolist(), strict=True))

    return multigrid.evaluate(config, act, range(episodes))["success"].mean


def main(
    *, dataset: str = "multigrid/rooms-v0", rows: int = 8_000, epochs: int = 8, seed: int = 0, episodes: int = 200
) -> dict[str, float]:
    """Record a dataset, clone the planner, and measure how often all agents arrive, before and after.

    Args:
        dataset: its name, which must be new.
        rows: the number of rows of the dataset, four for each episode.
        epochs: how often the whole dataset is learned.
        seed: of the network, of the order of the batches and of the worlds.
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "before" and "after": the fractions of held-out episodes in which all agents arrive.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    trajectories = load_trajectories(record_expert(CONFIG, dataset, rows // 4, seed))
    env = multigrid.parallel_env(CONFIG)
    shown: Any = env.observation_space("agent_0")
    space, actions = shown["observation"], env.action_space("agent_0")
    cloner = BC(
        observation_space=space,
        action_space=actions,
        rng=np.random.default_rng(seed),
        policy=ActorCriticPolicy(space, actions, lambda _: 1e-3, net_arch=[128, 128]),
        demonstrations=trajectories,
        batch_size=256,
        device="cpu",
        custom_logger=configure(format_strs=[]),  # the default one writes files that it never closes
    )
    before = arrival_rate(cloner.policy, CONFIG, episodes)
    cloner.train(n_epochs=epochs, progress_bar=False)
    after = arrival_rate(cloner.policy, CONFIG, episodes)
    print(f"all agents arrive: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
