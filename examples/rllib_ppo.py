"""Train with Ray RLlib's PPO, on one machine or on a cluster, and evaluate on held-out episodes before and after.

Install: ``pip install "multigrid-marl[rllib]"``. Run: ``python -m examples.rllib_ppo --steps 100000 --size 5``. All
flags of `multigrid.GridConfig` are flags here; every ``on_target`` mode trains.

On a cluster, run ``ray start --head --port 6379`` on one machine, ``ray start --address HEAD:6379`` on the others, then
``python -m examples.rllib_ppo --address auto`` on one of them. All machines need equal versions of multigrid and of
``ray[rllib]``. Env runners that are lost with their machine are replaced.

RLlib's checkpoints are pickles, which can run any code when they are loaded: resume only those that you trust.
`multigrid.integrations.rllib` says which bugs of RLlib the env works around.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("ray", "torch", "tyro", text=__doc__)

import numpy as np
import ray
import torch
import tyro
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME

import multigrid
from multigrid import GridConfig
from multigrid.integrations.rllib import agent_modules, ppo_config, trained_policy
from multigrid.integrations.training import training_seed
from multigrid.integrations.tyro import grid_registry

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.ppo import PPOConfig

__all__ = ["Options", "Result", "evaluate", "main"]


@dataclasses.dataclass(frozen=True)
class Options:
    """Train with Ray RLlib's PPO."""

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=GridConfig)
    """The world. Its observations are flattened in any case, without the part "action_mask"."""
    steps: int = 300_000
    """Steps of all agents together, those before a --resume included."""
    seed: int = 0
    """Of the initial weights, the worlds and the actions. With --resume, another one than before plays other worlds."""
    save: Path | None = None
    """A folder for checkpoints, each in a folder with the number of its steps; by default none is saved."""
    save_every: int = 100_000
    """Steps of all agents together between checkpoints; the last one comes at the end."""
    resume: Path | None = None
    """A checkpoint to continue from. The flags of the world and of the network must be those of its training."""
    episodes: int = 200
    """Held-out episodes to play before and after."""
    address: str | None = None
    """HOST:PORT of a Ray cluster that is running, or "auto" on one of its machines; by default Ray is started here."""
    num_env_runners: int = 2
    """Processes that play the worlds, on any machine, each on one CPU; 0 plays them in this process."""
    worlds: int = 64
    """Worlds played side by side, divided equally among the env runners, rounded up."""
    shared: bool = True
    """One policy for all agents, or a policy for each agent."""
    rollout: int = 32
    """Steps of each world between two updates."""
    epochs: int = 8
    """Passes over a rollout in an update."""
    batch_size: int = 1024
    """Transitions in a minibatch, at most."""
    learning_rate: float = 1e-3
    """Falling linearly to 0."""
    gamma: float = 0.95
    """The discount."""
    entropy: float = 0.005
    """The weight of the entropy bonus."""
    hidden: tuple[int, ...] = (128, 128)
    """The sizes of the hidden layers, of the policy and of the value function."""


class Result(NamedTuple):
    """The means over held-out episodes, the steps of all agents at the end, and the last checkpoint."""

    before: dict[str, float]
    after: dict[str, float]
    steps: int
    checkpoint: Path | None


def connect(options: Options) -> None:
    """Join the cluster, or start Ray on this machine, unless this process has joined one; check that CPUs suffice."""
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "ignore_reinit_error": True}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # by default Ray sends usage statistics to its developers
    if options.address is not None:
        ray.init(options.address, **quiet)
    elif not ray.is_initialized():
        # Ray starts an env runner only on a free CPU.
        cpus = max(os.cpu_count() or 1, options.num_env_runners)
        ray.init("local", num_cpus=cpus, include_dashboard=False, **quiet)
    if options.num_env_runners > (found := int(ray.cluster_resources().get("CPU", 0))):
        raise ValueError(f"--num-env-runners is {options.num_env_runners}, but the cluster has {found} CPUs; use fewer")


def make_settings(options: Options, config: GridConfig) -> PPOConfig:
    """Return RLlib's configuration."""
    runners = max(1, options.num_env_runners)
    per_runner = -(-options.worlds // runners)
    batch = options.rollout * per_runner * runners
    return (
        ppo_config(config, shared=options.shared, hidden=options.hidden)
        .env_runners(num_env_runners=options.num_env_runners, num_envs_per_env_runner=per_runner)
        .training(
            # A schedule counts the steps of the worlds, not those of their agents.
            lr=[[0, options.learning_rate], [-(-options.steps // config.num_agents), 0.0]],
            gamma=options.gamma,
            entropy_coeff=options.entropy,
            num_epochs=options.epochs,
            minibatch_size=min(options.batch_size, batch),  # RLlib takes no larger one
            train_batch_size_per_learner=batch,
        )
        # Env runners add their indices to the seed, so runs with neighbouring seeds need distant ones.
        .debugging(seed=training_seed(options.seed) % 2**31, log_level="ERROR")
    )


def restore(algorithm: Algorithm, checkpoint: Path) -> int:
    """Continue from a checkpoint; return the steps of each agent until then."""
    algorithm.restore_from_path(str(checkpoint.absolute()))
    steps = int(algorithm.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME)))
    # Otherwise the first rollout would use the restored optimizers' learning rate, which is 0 at a training's end.
    done = {NUM_ENV_STEPS_SAMPLED_LIFETIME: steps}
    algorithm.learner_group.foreach_learner(lambda one: one.after_gradient_based_update(timesteps=done))
    return steps


def evaluate(algorithm: Algorithm, config: GridConfig, episodes: int) -> dict[str, float]:
    """Play the episodes with the seeds 0, 1, ..., which no training plays; return the means that are defined."""
    policy = trained_policy(agent_modules(algorithm), np.random.default_rng(0))
    table = multigrid.evaluate(config, policy, seeds=range(episodes))
    return {name: estimate.mean for name, estimate in table.items() if not np.isnan(estimate.mean)}


def save(algorithm: Algorithm, folder: Path, steps: int) -> Path:
    """Save a checkpoint, and return its folder, whose name is the number of steps."""
    return Path(algorithm.save_to_path(str((folder / f"{steps:012}").absolute())))


def train(algorithm: Algorithm, options: Options, steps: int) -> int:
    """Train from so many steps of all agents to the last one, or until Ctrl-C; return the steps until then."""
    saved = steps
    try:
        while steps < options.steps:
            result = algorithm.train()
            played = int(result.get(NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)) * options.grid.num_agents
            if played <= steps:
                time.sleep(1)  # all env runners are lost; Ray replaces them when CPUs are free
                continue
            steps, runners = played, algorithm.env_runner_group.num_healthy_remote_env_runners()
            mean = result["env_runners"].get("episode_return_mean", np.nan) / options.grid.num_agents
            print(f"{steps:,} steps, {runners} env runners, return of an agent {mean:.3f}", flush=True)
            if options.save is not None and steps // options.save_every > saved // options.save_every:
                saved = steps
                save(algorithm, options.save, steps)
    except KeyboardInterrupt:
        print("interrupted: evaluating what was learned")
    return steps


def main(options: Options) -> Result:
    """Train, evaluate before and after, print both, and save the last checkpoint if `save` is set.

    Raises a ValueError if there is no limit of steps, or `num_env_runners` is more than the cluster has CPUs.
    """
    parts = tuple(part for part in options.grid.parts if part != "action_mask")
    config = dataclasses.replace(options.grid, flatten=True, observe=parts)
    if config.max_cycles is None:
        raise ValueError("--max-cycles is None, but evaluations play every episode to its end; expected a number")
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # RLlib warns of its own deprecated calls
    connect(options)
    algorithm = make_settings(options, config).build_algo()
    try:
        begun = 0 if options.resume is None else restore(algorithm, options.resume) * config.num_agents
        before = evaluate(algorithm, config, options.episodes)
        steps = train(algorithm, options, begun)
        after = evaluate(algorithm, config, options.episodes)
        checkpoint = None if options.save is None else save(algorithm, options.save, steps)
    finally:
        algorithm.stop()
    print(f"{options.episodes} held-out episodes\n{'':15}  before   after")
    print("\n".join(f"{name:15}{before[name]:8.3f}{after[name]:8.3f}" for name in before if name in after))
    if checkpoint is not None:
        print(f"saved: {checkpoint}")
    return Result(before, after, steps, checkpoint)


if __name__ == "__main__":
    main(tyro.cli(Options, registry=grid_registry()))
