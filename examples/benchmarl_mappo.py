"""Train MAPPO, IPPO, QMIX or VDN with BenchMARL, on any world, with action masks and the state.

Install: ``pip install "multigrid-marl[benchmarl]"``. Run: ``python -m examples.benchmarl_mappo``, or
with ``--algorithm qmix`` and ``--world delivery-17x13-8``, or with a game, ``--world Foraging-8x8-2p-2f-coop-v3``. Its
pins are in .ci/recipes/benchmarl.txt.

A task is `MultiGridTask`; the rest is BenchMARL's own. `experiment_config` has BenchMARL's settings for small worlds:
its defaults are for millions of steps.

BenchMARL's losses know no mask of agents. Under ``on_target="leave"`` an agent that has left keeps a single action,
from which a policy learns nothing. Its MAPPO has one value for all agents, which fits ``reward="shared"``, so `main`
sets that.

Bug worked around (found here, in 1.5.2): an experiment gives its worlds of training and of evaluation the same seed.
With ``evaluation_static`` the evaluations are of held-out episodes, see `multigrid.integrations.benchmarl`.
"""

from __future__ import annotations

import dataclasses
import tempfile
from typing import Literal

import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("benchmarl", text=__doc__)

import torch
from benchmarl.algorithms import IppoConfig, MappoConfig, QmixConfig, VdnConfig
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig

import multigrid
from multigrid.game import describe
from multigrid.integrations.benchmarl import LogMetrics, MultiGridTask, find_task

__all__ = ["ALGORITHMS", "WORLD", "experiment_config", "main"]

ALGORITHMS = {"ippo": IppoConfig, "mappo": MappoConfig, "qmix": QmixConfig, "vdn": VdnConfig}
WORLD = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target="leave", observe=("offset", "others"), max_cycles=20)


def experiment_config(
    algorithm: str, frames: int, folder: str, episodes: int = 200, interval: int = 16384
) -> ExperimentConfig:
    """Return BenchMARL's settings for training one of `ALGORITHMS` for `frames` steps of small worlds.

    Every `interval` steps, a multiple of 2,048, `episodes` held-out episodes are played. Files go to `folder`.
    """
    config = ExperimentConfig.get_from_yaml()
    config.max_n_frames, config.save_folder, config.loggers, config.render = frames, folder, [], False
    config.lr, config.polyak_tau = 1e-3, 0.02
    # Targets that bootstrap from a long horizon keep QMIX from learning for a long time.
    config.gamma = 0.9 if algorithm in {"qmix", "vdn"} else 0.95
    config.on_policy_n_envs_per_worker = config.off_policy_n_envs_per_worker = 64
    config.on_policy_collected_frames_per_batch = config.off_policy_collected_frames_per_batch = 2048
    config.on_policy_minibatch_size, config.on_policy_n_minibatch_iters = 512, 4
    config.off_policy_train_batch_size, config.off_policy_n_optimizer_steps = 512, 100
    config.off_policy_memory_size = 100_000
    config.exploration_eps_end = 0.05
    config.evaluation_static, config.evaluation_deterministic_actions = True, False
    config.evaluation_episodes, config.evaluation_interval = episodes, interval
    return config


def main(
    *,
    algorithm: Literal["ippo", "mappo", "qmix", "vdn"] = "mappo",
    frames: int = 49152,
    seed: int = 0,
    world: str = "",
    episodes: int = 200,
    interval: int = 16384,
) -> list[dict[str, float]]:
    """Train, and print the success on held-out episodes before and after; in a game, the means of its metrics.

    Args:
        algorithm: one of `ALGORITHMS`.
        frames: number of steps of the worlds.
        seed: of the nets and of the worlds.
        world: a scenario of the suite, a file or a generator, see `multigrid.scenarios.find_world`, or the id of a
            game; by default `WORLD`.
        episodes: held-out episodes of each evaluation.
        interval: number of steps between evaluations, a multiple of 2048.

    Returns:
        The means of the metrics in each evaluation; the first is before the training.
    """
    torch.set_num_threads(1)  # several threads are slower with nets of this size
    config = dataclasses.replace(find_task(world) if world else WORLD, reward="shared")
    model, log = MlpConfig.get_from_yaml(), LogMetrics()
    model.num_cells = [64, 64]
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(
            task=MultiGridTask(world or "example", config),
            algorithm_config=ALGORITHMS[algorithm].get_from_yaml(),
            model_config=model,
            seed=seed,
            config=experiment_config(algorithm, frames, folder, episodes, interval),
            callbacks=[log],
        )
        experiment.evaluate()
        experiment.run()
    first, last = log.history[0], log.history[-1]
    for name in () if config.game is None else describe(config.game).metrics:
        print(f"{name}: {first[name]:.2f} before training, {last[name]:.2f} after")
    if config.game is None:
        before, after = first["csr"], last["csr"]
        print(f"all agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return log.history


if __name__ == "__main__":
    tyro.cli(main)
