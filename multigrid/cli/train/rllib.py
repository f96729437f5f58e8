"""``multigrid train --engine rllib``: RLlib's PPO, its worlds played by env runners on one machine or a cluster.

`RLlibOptions` describes how to start a cluster. Ray 2.60 requires a token if the first machine has the file
``~/.ray/auth_token``, which ``ray get-auth-token --generate`` creates. Every machine then needs the same file, and
every command needs ``RAY_AUTH_MODE=token`` in its environment. Learning, evaluations and the run folder stay on the
machine where ``multigrid train`` runs; env runners use free CPUs of any machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import torch
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from rich.console import Console

from multigrid._files import create_folder
from multigrid.cli._files import make_folder, write_json, write_rows
from multigrid.cli._options import LARGEST_SEED, parse_flags, read_some
from multigrid.cli.train.held_out import HeldOut, play_held_out
from multigrid.cli.train.options import RLLIB_PROGRAM, RLlibOptions, check_rllib, describe, read_rllib_options
from multigrid.cli.train.progress import COLUMNS, RolloutCounts, TrainingBar, describe_row
from multigrid.cli.train.report import print_report, write_evaluations
from multigrid.integrations.rllib import NAME, agent_modules, ppo_config, sample_actions
from multigrid.scenarios.stored_config import one_line

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.ppo import PPOConfig

__all__ = ["main", "train"]

_COLUMNS = ("iteration", "steps", *COLUMNS, "env_runners", "seconds")


@dataclasses.dataclass(frozen=True)
class _Resume:
    """The flag that names an earlier run."""

    resume: Path | None = None


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    resume = read_some(_Resume, arguments, RLLIB_PROGRAM).resume
    start = None if resume is None else read_rllib_options(resume)
    return train(parse_flags(RLlibOptions, arguments, RLLIB_PROGRAM, start), Console(stderr=True))


def train(options: RLlibOptions, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder.

    Ray is started, or the cluster joined, unless this process has already initialized Ray.

    Returns:
        0, or 130 if Ctrl-C cut the training short; the outputs are written in either case.

    Raises:
        ValueError: an option is out of range, a checkpoint cannot be restored, or the cluster has fewer CPUs than
            there are env runners.
        FileExistsError: the folder exists already.
        ConnectionError: there is no cluster at the address.
    """
    check_rllib(options)
    checkpoint, steps = (None, 0) if options.resume is None else _last_checkpoint(options.resume)
    if steps >= options.steps:
        raise ValueError(f"--steps is {options.steps}, but the run has had {steps} already; give a larger number")
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # RLlib warns of its own deprecated calls
    with _cluster(options):
        folder = make_folder(options.folder)
        write_json(folder / "config.json", describe(options, "ray"))
        algorithm = _settings(options).build_algo()
        try:
            if checkpoint is not None:
                _restore(algorithm, checkpoint)
                # Else the first rollout would use the restored optimizers' learning rate, 0 at the earlier run's end.
                done = {NUM_ENV_STEPS_SAMPLED_LIFETIME: steps // options.grid.num_agents}
                algorithm.learner_group.foreach_learner(lambda one: one.after_gradient_based_update(timesteps=done))
            return _Run(folder, algorithm, options, console, steps).train()
        finally:
            algorithm.stop()


def _restore(algorithm: Algorithm, checkpoint: Path) -> None:
    try:
        algorithm.restore_from_path(str(checkpoint.absolute()))
    except Exception as error:
        raise ValueError(
            f"{checkpoint} cannot be restored: {type(error).__name__}: {one_line(error)}. Checkpoints are "
            "pickles, which can run any code when they are loaded: resume only folders that you trust"
        ) from error


@contextlib.contextmanager
def _cluster(options: RLlibOptions) -> Iterator[None]:
    """Start Ray or join a cluster, and shut it down or leave it at the end; keep Ray if it was initialized before."""
    initialized = ray.is_initialized()
    if not initialized:
        handler = signal.getsignal(signal.SIGTERM)
        _start(options)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's own handler kills its processes before anything can clean up
    try:
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < options.num_env_runners:
            raise ValueError(
                f"--num-env-runners is {options.num_env_runners}, but the cluster has {cpus} CPUs; "
                "use fewer, or add nodes with `ray start --address=...`"
            )
        yield
    finally:
        if not initialized:
            ray.shutdown()


def _start(options: RLlibOptions) -> None:
    if options.address is not None:
        if options.address != "auto":
            _reach(options.address)
        ray.init(options.address, log_to_driver=False, logging_level=logging.ERROR)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # by default Ray sends usage statistics to its developers
    # At least as many CPUs as env runners, because Ray starts an env runner only on a free CPU.
    cpus = max(os.cpu_count() or 1, options.num_env_runners)
    ray.init("local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)


def _reach(address: str) -> None:
    """Raise a ConnectionError unless a server answers at an address; Ray itself retries for minutes."""
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
        # Env runners add their indices to the seed, so runs with neighbouring seeds need distant ones.
        .debugging(seed=int(seeds[0]) % LARGEST_SEED, log_level="ERROR")
    )


class _Run:
    """A training with RLlib, and its results so far."""

    def __init__(self, folder: Path, algorithm: Algorithm, options: RLlibOptions, console: Console, steps: int) -> None:
        self._folder, self._algorithm, self._options, self._console = folder, algorithm, options, console
        self._rows: list[dict[str, Any]] = []
        self._evaluations: list[tuple[int, HeldOut]] = []
        self._steps = steps

    def train(self) -> int:
        """Train to the end, or until Ctrl-C, and return the exit code."""
        options = self._options
        evaluate_at = np.linspace(self._steps, options.steps, options.evaluations)[1:-1].tolist()
        self._evaluate()
        bar = TrainingBar(self._console, options.steps, self._steps)
        code = bar.run(lambda: self._play_rollouts(evaluate_at, bar))
        self._save()
        self._evaluate()
        write_evaluations(self._folder, options.grid, self._rows, self._evaluations)
        print_report(self._console, self._folder, options.grid, self._evaluations)
        return code

    def _play_rollouts(self, evaluate_at: list[float], bar: TrainingBar) -> None:
        options, began = self._options, time.perf_counter()
        for number in itertools.count(1):
            if self._steps >= options.steps:
                return
            row = self._play_rollout(began)
            figures = f"{describe_row(row, options.grid)}  env runners {row['env_runners']}"
            bar.update(completed=self._steps, figures=figures)
            passed = [mark for mark in evaluate_at if mark <= self._steps]
            if passed and self._steps < options.steps:
                self._evaluate()
            del evaluate_at[: len(passed)]
            if options.checkpoint_every and number % options.checkpoint_every == 0:
                self._save()

    def _play_rollout(self, began: float) -> dict[str, Any]:
        """Play and learn from one rollout, and return its row of the metrics."""
        while True:
            result = self._algorithm.train()
            sampled = result.get("env_runners", {})
            counts = _read_counts(sampled.get(NAME, {}))
            if counts.agent_steps:
                break
            time.sleep(1)  # all env runners are lost; Ray replaces them when CPUs are free
        self._steps += int(sampled["num_env_steps_sampled"]) * self._options.grid.num_agents
        row = {
            "iteration": result["training_iteration"],
            "steps": self._steps,
            **counts.metrics(),
            "env_runners": self._algorithm.env_runner_group.num_healthy_remote_env_runners(),
            "seconds": round(time.perf_counter() - began, 2),
        }
        self._rows.append(row)
        return row

    def _evaluate(self) -> None:
        act = functools.partial(sample_actions, agent_modules(self._algorithm))
        held_out = play_held_out(self._options.grid, range(self._options.episodes), act)
        self._evaluations.append((self._steps, held_out))

    def _save(self) -> None:
        """Save the metrics, and a checkpoint, which has a temporary name until it is complete."""
        write_rows(self._folder / "metrics.csv", _COLUMNS, self._rows)
        checkpoint = self._folder / "checkpoints" / f"{self._steps:012}"
        if checkpoint.exists():
            return
        with create_folder(checkpoint) as temporary:
            self._algorithm.save_to_path(str(temporary.absolute()))


def _read_counts(sums: Mapping[str, Any]) -> RolloutCounts:
    """Return the sums of `multigrid.integrations.rllib.CountEpisodes`."""
    # RLlib's sum over no episode is NaN.
    counts = {field.name: np.nan_to_num(sums.get(field.name, 0)) for field in dataclasses.fields(RolloutCounts)}
    reward = float(counts.pop("reward"))
    return RolloutCounts(**{name: int(count) for name, count in counts.items()}, reward=reward)


def _last_checkpoint(folder: Path) -> tuple[Path, int]:
    """Return the last checkpoint of a run, and the steps trained until then, which are its name."""
    checkpoints = sorted(path for path in (folder / "checkpoints").glob("[0-9]*") if path.is_dir())
    if not checkpoints:
        raise ValueError(f"--resume is {folder}, which has no checkpoint in it; expected a run of {RLLIB_PROGRAM}")
    return checkpoints[-1], int(checkpoints[-1].name)
