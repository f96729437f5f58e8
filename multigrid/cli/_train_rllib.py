"""``multigrid train --engine rllib``: RLlib's PPO, whose env runners play on one machine or a cluster.

``multigrid train --help`` describes how to start a cluster. Ray 2.60 requires a token if the first machine has the file
``~/.ray/auth_token``, which ``ray get-auth-token --generate`` creates. Every machine then needs the same file, and
every command needs ``RAY_AUTH_MODE=token`` in its environment. Learning, evaluations and the run folder stay on the
machine where ``multigrid train`` runs; env runners use free CPUs of any machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import torch
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from multigrid.cli import _train_runs as runs
from multigrid.cli._options import LARGEST_SEED
from multigrid.cli._train_logs import import_loggers, open_log
from multigrid.cli._train_options import RLlibOptions, check_rllib
from multigrid.cli._train_report import print_finished, report, write_evaluations
from multigrid.cli._train_runs import Curve, Training
from multigrid.integrations.rllib import NAME, agent_modules, ppo_config, sample_actions
from multigrid.integrations.training import SUMMED

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.ppo import PPOConfig
    from rich.console import Console

_CURVE = "curve.npz"
_COLUMNS = ("iteration", "steps", *runs.COLUMNS, "env_runners", "seconds")


def train(options: RLlibOptions, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder, or continue a run; return 0, or 130 after Ctrl-C."""
    check_rllib(options)
    import_loggers(options.log)
    checkpoint, steps = runs.find_last(options.resume)
    if options.resume is not None and steps >= options.steps:
        return print_finished(console, options.resume, options.grid, steps)
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # RLlib warns of its own deprecated calls
    # At least as many CPUs as env runners, because Ray starts an env runner only on a free CPU.
    with _connected(options.address, cpus=options.num_env_runners):
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < options.num_env_runners:
            raise ValueError(
                f"--num-env-runners is {options.num_env_runners}, but the cluster has {cpus} CPUs; "
                "use fewer, or add nodes with `ray start --address=...`"
            )
        folder = runs.open_run(options, "ray")
        with runs.resumable(console, folder, options.grid.game):
            algorithm = _settings(options, steps).build_algo()
            try:
                results = Training(folder, options, runs.training_bar(console), _COLUMNS)
                if checkpoint is not None:
                    results.curve = _restore(algorithm, checkpoint, options)
                with open_log(options.log, folder, first=0 if checkpoint is None else steps + 1) as results.log:
                    return _Run(results, algorithm).train(console)
            finally:
                algorithm.stop()


@contextlib.contextmanager
def _connected(address: str | None, cpus: int) -> Iterator[None]:
    """Join the cluster at an address, or start Ray with so many CPUs; leave it at the end, unless it was running."""
    if ray.is_initialized():
        yield
        return
    handler, quiet = signal.getsignal(signal.SIGTERM), {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # by default Ray sends usage statistics to its developers
        ray.init("local", num_cpus=max(os.cpu_count() or 1, cpus), include_dashboard=False, **quiet)
    else:
        if address != "auto":
            host, _, port = address.rpartition(":")
            try:
                # Ray itself retries for minutes.
                socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
            except (OSError, OverflowError) as error:
                raise ConnectionError(f"--address is {address}, but no Ray cluster answers there: {error}") from error
        ray.init(address, **quiet)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray's own handler kills its processes before anything can clean up
    try:
        yield
    finally:
        ray.shutdown()


def _restore(algorithm: Algorithm, checkpoint: Path, options: RLlibOptions) -> Curve:
    trust = "Checkpoints are pickles, which can run any code when they are loaded: resume only folders that you trust. "
    with runs.restoring(checkpoint, trust):
        algorithm.restore_from_path(str(checkpoint.absolute()))
        curve = Curve.from_arrays(runs.read_arrays(checkpoint / _CURVE))
    # Otherwise the first rollout would use the restored optimizers' learning rate, which is 0 at a run's end.
    done = {NUM_ENV_STEPS_SAMPLED_LIFETIME: int(checkpoint.name) // options.grid.num_agents}
    algorithm.learner_group.foreach_learner(lambda one: one.after_gradient_based_update(timesteps=done))
    return curve


def _settings(options: RLlibOptions, steps: int) -> PPOConfig:
    """Return the configuration of a training, or of its rest after so many steps, which plays other episodes."""
    per_runner = -(-options.copies // max(1, options.num_env_runners))
    worlds = per_runner * max(1, options.num_env_runners)
    seeds = np.random.SeedSequence([options.seed, steps] if steps else options.seed).generate_state(1)
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
    """A training with RLlib."""

    def __init__(self, results: Training, algorithm: Algorithm) -> None:
        self._results, self._algorithm, self._options = results, algorithm, results.options
        rows = results.curve.rows
        self._steps = results.last = int(rows[-1]["steps"]) if rows else 0

    def train(self, console: Console) -> int:
        """Train to the end, or until Ctrl-C, and return the exit code."""
        options, results = self._options, self._results
        marks = np.linspace(0, options.steps, options.evaluations)[1:-1]
        evaluate_at = [mark for mark in marks.tolist() if mark > self._steps]
        runs.print_headline(console, results.folder, options, options.steps, self._steps)
        with results.bar.shown():
            if not results.curve.evaluations:
                self._evaluate()
            code = results.run(lambda: self._play_rollouts(evaluate_at), options.steps, self._steps)
            self._evaluate()
            with results.bar.doing("writing the curve"):
                write_evaluations(results)
            # The checkpoint is last, because it marks the run as finished. Interrupted runs also save new weights.
            self._save()
        results.log.code = code
        return report(results, console, code)

    def _play_rollouts(self, evaluate_at: list[float]) -> None:
        while self._steps < self._options.steps:
            self._play_rollout()
            passed = [mark for mark in evaluate_at if mark <= self._steps]
            del evaluate_at[: len(passed)]
            if self._steps >= self._options.steps:
                return
            if passed:
                self._evaluate()
            if self._results.is_due(self._steps):
                self._save()

    def _play_rollout(self) -> None:
        """Play and learn from one rollout, and add its row to the metrics."""
        while True:
            result = self._algorithm.train()
            sampled = result.get("env_runners", {})
            counts = _read_counts(sampled.get(NAME, {}))
            if counts.agent_steps:
                break
            time.sleep(1)  # all env runners are lost; Ray replaces them when CPUs are free
        self._steps += int(sampled["num_env_steps_sampled"]) * self._options.grid.num_agents
        env_runners = self._algorithm.env_runner_group.num_healthy_remote_env_runners()
        self._results.add_rollout(self._steps, counts, iteration=result["training_iteration"], env_runners=env_runners)
        self._results.log.add(self._steps, "learner", _read_update(result.get("learners", {})))

    def _evaluate(self) -> None:
        self._results.evaluate(self._steps, functools.partial(sample_actions, agent_modules(self._algorithm)))

    def _save(self) -> None:
        def write(folder: Path) -> None:
            self._algorithm.save_to_path(str(folder.absolute()))
            runs.write_arrays(folder / _CURVE, self._results.curve.to_arrays())

        self._results.save(self._steps, write)


def _read_counts(sums: Mapping[str, Any]) -> runs.RolloutCounts:
    """Return the sums of `multigrid.integrations.rllib.CountEpisodes`."""
    # RLlib's sum over no episode is NaN.
    counts = {field.name: np.nan_to_num(sums.get(field.name, 0)) for field in dataclasses.fields(runs.RolloutCounts)}
    exact: Any = {name: float(n) if name in (*SUMMED, "reward") else int(n) for name, n in counts.items()}
    return runs.RolloutCounts(**exact)


def _read_update(by_module: Mapping[str, Any]) -> dict[str, float]:
    """Return the statistics of the last update, averaged over the policies."""
    sources = {"policy_loss": "policy_loss", "entropy": "entropy"}
    sources |= {"value_loss": "vf_loss", "explained_variance": "vf_explained_var"}
    values = {name: [float(one[key]) for one in by_module.values() if key in one] for name, key in sources.items()}
    return {name: float(np.mean(several)) for name, several in values.items() if several}
