"""``multigrid train --engine rllib``: RLlib's PPO, its worlds played by env runners on one machine or a cluster.

Every machine of a cluster needs Python, this package and its extra ``rllib`` in the same versions; then::

    ray start --head --port 6379 --disable-usage-stats     # on one of them
    ray start --address HEAD:6379 --disable-usage-stats    # on each of the others
    multigrid train --engine rllib --address auto --num-env-runners 64 --copies 1024    # on any of them

Ray 2.60 guards a cluster by a token where its first machine has ``~/.ray/auth_token``, which ``ray get-auth-token
--generate`` makes. Joining it takes the same file on every machine, and ``RAY_AUTH_MODE=token`` in the environment of
all three commands. Learning, evaluations and the run folder stay on the machine of the last command; env runners are
wherever a CPU is free.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import ray
import torch
import tyro
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from rich.console import Console

from multigrid.cli._files import make_folder, write_json
from multigrid.cli.train.report import LARGEST_SEED
from multigrid.cli.train.rllib_options import PROGRAM, RLlibOptions, check, description, saved_options
from multigrid.cli.train.rllib_run import Run, last_checkpoint
from multigrid.integrations.rllib import ppo_config

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.ppo import PPOConfig

__all__ = ["RLlibOptions", "main", "train"]


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    try:
        options = tyro.cli(RLlibOptions, args=list(arguments), prog=PROGRAM)
        if options.resume is not None:
            options = tyro.cli(RLlibOptions, args=list(arguments), prog=PROGRAM, default=saved_options(options.resume))
        return train(options, Console(stderr=True))
    except (ValueError, TypeError, OSError) as error:
        sys.stderr.write(f"{PROGRAM}: {error}\n")
        return 2


def train(options: RLlibOptions, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder.

    Ray is started, or the cluster joined, unless this process has done so already.

    Returns:
        0, or 130 if Ctrl-C cut the training short; the outputs are written in either case.

    Raises:
        ValueError: an option out of range, a checkpoint that cannot be restored, or a cluster with fewer CPUs than
            there are env runners.
        FileExistsError: the folder exists already.
        ConnectionError: there is no cluster at the address.
    """
    check(options)
    checkpoint, steps = (None, 0) if options.resume is None else last_checkpoint(options.resume)
    if steps >= options.steps:
        raise ValueError(f"--steps is {options.steps}, but the run has had {steps} already; give a larger number")
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # it warns of deprecated calls that are its own
    with _cluster(options):
        folder = make_folder(options.folder)
        write_json(folder / "config.json", description(options))
        algorithm = _settings(options).build_algo()
        try:
            if checkpoint is not None:
                _restore(algorithm, checkpoint)
                # With its optimizers it has the learning rate at the earlier run's end, which is 0, for a rollout.
                done = {NUM_ENV_STEPS_SAMPLED_LIFETIME: steps // options.grid.num_agents}
                algorithm.learner_group.foreach_learner(lambda one: one.after_gradient_based_update(timesteps=done))
            return Run(folder, algorithm, options, console, steps).play()
        finally:
            algorithm.stop()


def _restore(algorithm: Algorithm, checkpoint: Path) -> None:
    try:
        algorithm.restore_from_path(str(checkpoint.absolute()))
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        raise ValueError(
            f"{checkpoint} cannot be restored: {type(error).__name__}: {said}. Checkpoints are pickles, which can run "
            "any code when they are loaded: resume only folders that you trust"
        ) from error


@contextlib.contextmanager
def _cluster(options: RLlibOptions) -> Iterator[None]:
    """Start Ray on this machine, or join a cluster, and leave it at the end; what this process has joined is kept."""
    joined = ray.is_initialized()
    if not joined:
        ended = signal.getsignal(signal.SIGTERM)
        _start(options)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, ended)  # Ray's own handler kills its processes before anything can clean up
    try:
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < options.num_env_runners:
            raise ValueError(
                f"--num-env-runners is {options.num_env_runners}, but the cluster has {cpus} CPUs; "
                "use fewer, or add nodes with `ray start --address=...`"
            )
        yield
    finally:
        if not joined:
            ray.shutdown()


def _start(options: RLlibOptions) -> None:
    if options.address is not None:
        if options.address != "auto":
            _reach(options.address)
        ray.init(options.address, log_to_driver=False, logging_level=logging.ERROR)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # or Ray tells its makers of every run
    # As many CPUs as env runners, for Ray starts none before there is one to be had.
    cpus = max(os.cpu_count() or 1, options.num_env_runners)
    ray.init("local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)


def _reach(address: str) -> None:
    """Ask whether anything answers at an address, for Ray itself goes on asking for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"--address is {address}, but no Ray cluster answers there: {error}") from error


def _settings(options: RLlibOptions) -> PPOConfig:
    per_runner = -(-options.copies // max(1, options.num_env_runners))
    worlds = per_runner * max(1, options.num_env_runners)
    seeds = np.random.SeedSequence(options.seed).generate_state(1)
    total = -(-options.steps // options.grid.num_agents)
    return (
        ppo_config(options.grid, shared=options.shared, hidden=options.hidden)
        .env_runners(num_env_runners=options.num_env_runners, num_envs_per_env_runner=per_runner)
        .training(
            lr=[[0, options.learning_rate], [total, 0.0]],
            gamma=options.gamma,
            entropy_coeff=options.entropy,
            num_epochs=options.epochs,
            minibatch_size=min(options.batch_size, options.rollout * worlds),  # RLlib takes no larger one
            train_batch_size_per_learner=options.rollout * worlds,
        )
        # Env runners add their numbers to it: those of neighbouring seeds must not meet.
        .debugging(seed=int(seeds[0]) % LARGEST_SEED, log_level="ERROR")
    )
