"""Learn offline with d3rlpy 2: a Minari dataset of a planner whose agents often make random moves, and DiscreteCQL.

Install: ``pip install "multigrid-marl[datasets]" torch gym structlog dataclasses-json tqdm scikit-learn``, then
``pip install --no-deps "d3rlpy==2.8.1"``, which pins Gymnasium 1.0. Run: ``python -m examples.d3rlpy_cql``.

Each row of a dataset is an episode of d3rlpy. d3rlpy's own ``get_minari`` takes only datasets of a registered
environment whose observations are a Box, or a Dict with a goal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("d3rlpy", "minari", "h5py", "torch", text=__doc__)

import d3rlpy
import numpy as np
import torch
from d3rlpy.algos import DiscreteCQL, DiscreteCQLConfig
from d3rlpy.dataset import MDPDataset
from d3rlpy.models import VectorEncoderFactory
from numpy.typing import NDArray

import multigrid
from multigrid import datasets, planning
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.wrappers import StandardVector, standard_config

if TYPE_CHECKING:
    import minari

__all__ = ["CONFIG", "arrival_rate", "load_steps", "main", "record_noisy"]

CONFIG = standard_config(
    multigrid.GridConfig(
        size=(7, 6), num_agents=4, on_target="leave", observe=("offset", "view"), allow_stay=True, max_cycles=30
    )
)
"""The world."""


def record_noisy(
    config: multigrid.GridConfig, name: str, episodes: int, seed: int, noise: float = 0.4
) -> minari.MinariDataset:
    """Record episodes of PIBT, with a share of random actions; the seeds are those of training."""
    generator = np.random.default_rng(seed)

    def act(envs: Any, _: Any) -> NDArray[np.int64]:
        actions = planning.expert(envs)
        random = generator.integers(config.num_actions, size=len(actions))
        return np.where(generator.random(len(actions)) < noise, random, actions)

    envs = StandardVector(multigrid.vector_env(64, config, autoreset_mode="Disabled"))
    first = FIRST_TRAINING_SEED + episodes * seed
    return datasets.record(envs, act, name, episodes=episodes, policy_name=f"pibt, {noise:.0%} random", seed=first)


def load_steps(dataset: minari.MinariDataset) -> MDPDataset:
    """Return the steps of all rows; d3rlpy leaves out the last observation of each."""
    rows = list(dataset.iterate_episodes())
    return MDPDataset(
        observations=np.concatenate([row.observations["observation"][:-1] for row in rows]),
        actions=np.concatenate([row.actions for row in rows])[:, None],
        rewards=np.concatenate([row.rewards for row in rows])[:, None].astype(np.float32),
        terminals=np.concatenate([row.terminations for row in rows]),
        timeouts=np.concatenate([row.truncations & ~row.terminations for row in rows]),
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=int(dataset.action_space.n),
    )


def arrival_rate(learner: DiscreteCQL, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive.

    A tenth of the actions is random: with greedy actions, two agents that block each other would do so for ever.
    """
    generator = np.random.default_rng(0)

    def act(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        best = learner.predict(np.stack([observations[agent]["observation"] for agent in env.agents]))
        random = generator.integers(config.num_actions, size=len(best))
        actions = np.where(generator.random(len(best)) < 0.1, random, best)
        return dict(zip(env.agents, actions.tolist(), strict=True))

    return multigrid.evaluate(config, act, range(episodes))["success"].mean


def main(
    *, dataset: str = "multigrid/noisy-v0", rows: int = 4_000, steps: int = 3_000, seed: int = 0, episodes: int = 200
) -> dict[str, float]:
    """Record a dataset, learn from it alone, and measure how often all agents arrive, before and after.

    Args:
        dataset: its name, which must be new.
        rows: the number of rows of the dataset, four for each episode.
        steps: the number of gradient steps.
        seed: of the network, of the dataset and of the batches.
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "data": the share of the dataset's episodes in which all agents arrive. "before" and "after": those of held-out
        episodes.
    """
    torch.set_num_threads(1)
    d3rlpy.seed(seed)
    recorded = record_noisy(CONFIG, dataset, rows // 4, seed)
    data = float(np.mean([ids["csr"] for ids in recorded.storage.get_episode_metadata(recorded.episode_indices)]))
    learner = DiscreteCQLConfig(
        learning_rate=1e-3,
        batch_size=128,
        gamma=0.95,
        target_update_interval=200,
        encoder_factory=VectorEncoderFactory([64, 64]),
    ).create(device="cpu:0")
    steps_of_rows = load_steps(recorded)
    learner.build_with_dataset(steps_of_rows)
    before = arrival_rate(learner, CONFIG, episodes)
    learner.fit(
        steps_of_rows,
        n_steps=steps,
        n_steps_per_epoch=steps,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
        save_interval=2,
    )
    after = arrival_rate(learner, CONFIG, episodes)
    print(f"all agents arrive: {data:.1%} in the data, {before:.1%} before training, {after:.1%} after")
    return {"data": data, "before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
