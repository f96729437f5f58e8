"""``multigrid train``: one shared policy for N agents, with Stable-Baselines3's PPO."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule, set_random_seed

from multigrid._files import replace_file
from multigrid.cli._train_logs import Log, import_loggers, open_log
from multigrid.cli._train_options import SB3Options, check_sb3
from multigrid.cli._train_progress import COLUMNS, RolloutCounts, Training, TrainingBar
from multigrid.cli._train_runs import (
    check_libraries,
    find_last,
    open_run,
    print_headline,
    resumable,
)
from multigrid.cli._train_sb3_state import read_state, write_state
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.extras import install_command
from multigrid.integrations.sb3 import act, to_sb3
from multigrid.integrations.sb3_buffers import AliveDictRolloutBuffer, AliveRolloutBuffer
from multigrid.integrations.training import SUMMED, training_seed

if TYPE_CHECKING:
    from rich.console import Console
    from stable_baselines3.common.vec_env import VecEnv

_COLUMNS = ("steps", *COLUMNS, "seconds")


def train(options: SB3Options, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder; or continue a run.

    Returns:
        0, or 130 if Ctrl-C cut the training short; the outputs are written in either case.

    Raises:
        ValueError: an option is out of range, or a checkpoint cannot be restored.
        OSError: the folder exists already, a file cannot be written, or Weights & Biases not be reached; a run that
            has begun can be continued from its last checkpoint.
        ModuleNotFoundError: a library is not installed.
    """
    check_sb3(options)
    check_libraries("imageio", "imageio_ffmpeg", "matplotlib", "PIL")
    import_loggers(options.log)
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    set_random_seed(options.seed)
    # Stable-Baselines3 plays whole rollouts only.
    rollout = options.rollout * options.copies * options.grid.num_agents
    total = math.ceil(options.steps / rollout) * rollout
    checkpoint, steps = (None, 0) if options.resume is None else find_last(options.resume)
    if options.resume is not None and steps >= total:
        from multigrid.cli._train_report import print_finished

        return print_finished(console, options.resume, options.grid, steps)
    bar = TrainingBar(console)
    # SuperSuit forks this process.
    with bar.shown(from_now=False) as show_bar, contextlib.closing(_vec_env(options)) as vec_env:
        packages = ("supersuit",) if options.vectorizer == "supersuit" else ()
        folder = open_run(options, "stable-baselines3", *packages)
        print_headline(console, folder, options, total, steps)
        show_bar()
        with resumable(console, folder):
            model = _make_model(vec_env, options, total // rollout)
            training = _Training(Training(folder, options, bar, _COLUMNS), options, model, vec_env)
            if checkpoint is not None:
                training.restore(checkpoint, steps)
            with open_log(options.log, folder, first=0 if checkpoint is None else steps + 1) as log:
                code = training.run(total, log)
    return training.results.report(console, code)


class _Training(BaseCallback):
    """A training, which Stable-Baselines3 calls at each step and rollout."""

    def __init__(self, results: Training, options: SB3Options, model: PPO, vec_env: VecEnv) -> None:
        super().__init__()
        self.results = results
        self.model: PPO = model
        self._options, self._vec_env = options, vec_env
        self._counts = RolloutCounts()
        # The steps of the episode in each world.
        self._lengths = np.zeros(options.copies, dtype=np.int64)
        self._evaluate_at: frozenset[int] = frozenset()

    def restore(self, checkpoint: Path, steps: int) -> None:
        """Continue from a checkpoint, after so many steps."""
        # Used by worlds of SuperSuit only, whose states are not saved.
        self._vec_env.seed(training_seed(self._options.seed, steps, worlds=self._options.copies))
        self.results.curve, self._lengths = read_state(checkpoint, self.model, self._vec_env)
        self.results.checkpoints.last = steps

    def run(self, total: int, log: Log) -> int:
        """Train until so many steps are trained, or until Ctrl-C; write the outputs, and return the exit code."""
        results, model, options, done = self.results, self.model, self._options, self.model.num_timesteps
        results.log = log
        rollout, parts = options.rollout * self._vec_env.num_envs, options.evaluations - 1
        self._evaluate_at = frozenset(rollout * round(total // rollout * part / parts) for part in range(1, parts))
        if not results.curve.evaluations:
            self._evaluate()
        results.start_clock()
        code = results.bar.run(
            lambda: model.learn(total - done, callback=self, reset_num_timesteps=done == 0), total, done
        )
        if code == 0:
            self._log_update()
        self._evaluate()
        self._write_outputs()
        if code == 0:
            # Saved last: it makes the run a finished one.
            self._save()
        log.code = code
        return code

    def _on_step(self) -> bool:
        dones, infos, rewards = self.locals["dones"], self.locals["infos"], self.locals["rewards"]
        counts, num_agents = self._counts, self._options.grid.num_agents
        if self._options.grid.on_target == "leave":
            buffer: Any = self.model.rollout_buffer
            buffer.alive = np.array([info["alive"] for info in infos])
        self._lengths += 1
        # All rows of a world are done only at its end; for agents that left earlier it is the second time.
        for world in np.flatnonzero(dones.reshape(-1, num_agents).all(axis=1)).tolist():
            own = infos[world * num_agents : (world + 1) * num_agents]
            counts.episodes += 1
            counts.successes += not any(info["TimeLimit.truncated"] and info.get("alive", True) for info in own)
            counts.steps += int(self._lengths[world])
            for name in SUMMED:
                # SuperSuit's infos have no metrics.
                setattr(counts, name, getattr(counts, name) + own[0].get(name, math.nan))
            self._lengths[world] = 0
        counts.reward += float(rewards.sum())
        counts.agent_steps += len(rewards)
        self.results.bar.update(completed=self.num_timesteps)
        return True

    def _on_rollout_end(self) -> None:
        self.results.add_rollout(self.num_timesteps, self._counts)
        self._counts = RolloutCounts()

    def _on_rollout_start(self) -> None:
        # The weights have now been updated with all steps so far. A resumed run has been evaluated here.
        steps = self.model.num_timesteps
        self._log_update()
        if steps in self._evaluate_at:
            self._evaluate()
        if self.results.checkpoints.is_due(steps):
            self._save()

    def _log_update(self) -> None:
        """Log what Stable-Baselines3 says of its last update, if there was one in this process."""
        values: Any = self.model.logger.name_to_value
        if "train/loss" in values:
            learner = {"policy_loss": values["train/policy_gradient_loss"], "value_loss": values["train/value_loss"]}
            learner |= {"entropy": -values["train/entropy_loss"]}
            learner |= {"explained_variance": values["train/explained_variance"]}
            self.results.log.learner(self.model.num_timesteps, learner)

    def _evaluate(self) -> None:
        policy = self.model.policy
        self.results.evaluate(
            self.model.num_timesteps, lambda _, observations, generator: act(policy, observations, generator)
        )

    def _save(self) -> None:
        self.results.save(
            self.model.num_timesteps,
            lambda folder: write_state(folder, self.model, self._vec_env, self.results.curve, self._lengths),
        )

    def _write_outputs(self) -> None:
        from multigrid.cli._train_report import write_films

        results = self.results
        with results.bar.doing("writing the model and the curve"):
            with results.unwritten.noting("model.zip"), replace_file(results.folder / "model.zip") as temporary:
                self.model.save(temporary)
            results.write_curve()
        # Episodes that no evaluation has played.
        write_films(
            results.folder,
            self._options.grid,
            self.model,
            first_seed=self._options.episodes,
            bar=results.bar,
            unwritten=results.unwritten,
        )


def _vec_env(options: SB3Options) -> VecEnv:
    if options.vectorizer == "native":
        return to_sb3(
            MultiGridVectorEnv(options.grid, options.copies, autoreset_mode="SameStep", num_threads=options.num_threads)
        )
    try:
        from multigrid.integrations import supersuit
    except ModuleNotFoundError as error:
        if error.name != "supersuit":
            raise
        raise ValueError(
            f"--vectorizer is supersuit, which is not installed: {install_command('supersuit')}, or leave it at native"
        ) from error
    return supersuit.to_sb3(options.grid, options.copies, num_cpus=options.num_cpus)


def _make_model(vec_env: VecEnv, options: SB3Options, rollouts: int) -> PPO:
    buffers: tuple[Any, ...] = (None, None)
    if options.grid.on_target == "leave":
        buffers = AliveRolloutBuffer, AliveDictRolloutBuffer
    return PPO(
        "MultiInputPolicy" if options.grid.observation_keys else "MlpPolicy",
        vec_env,
        # The schedule is evaluated after each rollout, the last one included. A function would be saved as bytecode of
        # this version of Python, which no other version can read.
        learning_rate=LinearSchedule(
            start=options.learning_rate * (1 + 1 / rollouts), end=options.learning_rate / rollouts, end_fraction=1
        ),
        n_steps=options.rollout,
        rollout_buffer_class=buffers[bool(options.grid.observation_keys)],
        batch_size=options.batch_size,
        n_epochs=options.epochs,
        gamma=options.gamma,
        ent_coef=options.entropy,
        policy_kwargs={"net_arch": list(options.hidden)},
        # The seeds of a run's copies differ from those of another run's.
        seed=training_seed(options.seed, worlds=options.copies),
        device="cpu",
    )
