"""``multigrid train``: one shared policy for N agents, with Stable-Baselines3's PPO."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule, set_random_seed

import multigrid
from multigrid._files import replaced
from multigrid.cli._figures import HeatMaps, heat_figure, write_figure
from multigrid.cli._files import make_folder, write_gif, write_json, write_rows
from multigrid.cli.rollout.worlds import World, play
from multigrid.cli.train.held_out import HeldOut, drawn_policy, play_held_out, record_frames
from multigrid.cli.train.report import INTERRUPTED, check_flags, report, write_evaluations
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.sb3 import to_sb3
from multigrid.policies import Policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["TrainOptions", "main", "train"]

# Training seeds are copy numbers above this, held-out seeds lie below it, so no evaluation plays a trained episode.
_FIRST_TRAINING_SEED = 1_000_000
_GIF_EPISODES = 6
_GIF_FRAMES = 160
_HEAT_EPISODES = 20
_COLUMNS = ("steps", "episodes", "success_rate", "mean_steps", "reward_per_step", "seconds")


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    """Train one shared policy for all agents, with Stable-Baselines3's PPO.

    The run folder gets model.zip, config.json, metrics.csv, evaluation.json, curve.png, heat.png and evaluation.gif.
    `multigrid rollout --policy FOLDER` reads only the weights of model.zip; Stable-Baselines3's own PPO.load unpickles
    it, which can run any code: give that only files that you trust.
    Ctrl-C stops the training, and what was learned until then is saved and evaluated all the same.
    """

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=GridConfig)
    """The world."""
    engine: Literal["sb3", "rllib"] = "sb3"
    """What trains: Stable-Baselines3; or Ray RLlib, on one machine or a cluster, with flags of its own, which
    `multigrid train --engine rllib --help` lists."""
    steps: int = 300_000
    """Steps of all agents together to train for, rounded up to whole rollouts."""
    folder: Path | None = None
    """A folder that does not exist yet; by default runs/DATE-TIME."""
    seed: int = 0
    """Two runs with the same seed and flags end with the same weights, whatever plays the worlds."""
    copies: int = 64
    """Worlds played side by side."""
    vectorizer: Literal["native", "supersuit"] = "native"
    """What plays the worlds side by side: this package's own vector env, or SuperSuit. Both play the same episodes."""
    num_threads: int = 1
    """Threads of the native vectorizer, which pay with thousands of worlds only."""
    num_cpus: int = 0
    """Worker processes of SuperSuit; 0 plays the worlds in this one, which is nearly always faster."""
    episodes: int = 200
    """Held-out episodes in each evaluation."""
    evaluations: int = 6
    """How often to evaluate: before, after, and evenly in between."""
    learning_rate: float = 1e-3
    """PPO's, falling linearly to 0."""
    rollout: int = 32
    """Steps of each world between two updates."""
    batch_size: int = 1024
    """Transitions in a minibatch."""
    epochs: int = 8
    """Passes over a rollout in an update."""
    gamma: float = 0.95
    """The discount."""
    entropy: float = 0.01
    """The weight of the entropy bonus."""
    hidden: tuple[int, ...] = (128, 128)
    """The sizes of the hidden layers, of the policy and of the value function."""


class _Progress(BaseCallback):
    """Collects the metrics of each rollout and shows them."""

    def __init__(self, progress: Progress, total: int, evaluate_at: frozenset[int], options: TrainOptions) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.evaluated: list[tuple[int, HeldOut]] = []
        self._evaluate_at, self._options = evaluate_at, options
        self._progress = progress
        self._task = progress.add_task("training", total=total, figures="")
        self._began = time.perf_counter()
        self._clear()

    def _clear(self) -> None:
        self._episodes = self._successes = self._agent_steps = self._episode_steps = 0
        self._reward = 0.0

    def _on_step(self) -> bool:
        dones, infos, rewards = self.locals["dones"], self.locals["infos"], self.locals["rewards"]
        num_agents = self.training_env.get_attr("config", 0)[0].num_agents
        self._ages += 1
        # Only at its end are all rows of a world done, those of agents that left earlier for the second time.
        for world in np.flatnonzero(dones.reshape(-1, num_agents).all(axis=1)):
            own = infos[world * num_agents : (world + 1) * num_agents]
            self._episodes += 1
            self._successes += not any(info["TimeLimit.truncated"] and info.get("alive", True) for info in own)
            self._episode_steps += self._ages[world]
            self._ages[world] = 0
        self._reward += float(rewards.sum())
        self._agent_steps += len(rewards)
        self._progress.update(self._task, completed=self.num_timesteps)
        return True

    def _on_training_start(self) -> None:
        num_agents = self.training_env.get_attr("config", 0)[0].num_agents
        self._ages = np.zeros(self.training_env.num_envs // num_agents, dtype=np.int64)

    def _on_rollout_end(self) -> None:
        rate = self._successes / self._episodes if self._episodes else float("nan")
        length = self._episode_steps / self._episodes if self._episodes else float("nan")
        reward = self._reward / self._agent_steps
        row = {
            "steps": self.num_timesteps,
            "episodes": self._episodes,
            "success_rate": round(rate, 4),
            "mean_steps": round(length, 2),
            "reward_per_step": round(reward, 5),
            "seconds": round(time.perf_counter() - self._began, 2),
        }
        self.rows.append(row)
        figures = f"reward/step {reward:.3f}"
        if self._episodes and self.training_env.get_attr("config", 0)[0].on_target != "restart":
            figures = f"success {rate:4.0%}  steps {length:5.1f}  {figures}"
        self._progress.update(self._task, figures=figures)
        self._clear()

    def _on_rollout_start(self) -> None:
        # The weights are now those that the steps so far have led to.
        if self.num_timesteps in self._evaluate_at:
            policy = cast("ActorCriticPolicy", self.model.policy)
            held_out = play_held_out(policy, self._options.grid, range(self._options.episodes))
            self.evaluated.append((self.num_timesteps, held_out))


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    try:
        options = tyro.cli(TrainOptions, args=list(arguments), prog="multigrid train")
        return train(options, Console(stderr=True))
    except (ValueError, TypeError, OSError) as error:
        sys.stderr.write(f"multigrid train: {error}\n")
        return 2


def train(options: TrainOptions, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder.

    Returns:
        0, or 130 if Ctrl-C cut the training short; the outputs are written in either case.

    Raises:
        ValueError: an option out of range.
        FileExistsError: the folder exists already.
    """
    _check(options)
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    set_random_seed(options.seed)
    with contextlib.closing(_vec_env(options)) as vec_env:
        folder = make_folder(options.folder)
        write_json(folder / "config.json", _description(options))
        return _train_in(folder, vec_env, options, console)


def _vec_env(options: TrainOptions) -> VecEnv:
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
            "--vectorizer is supersuit, which is not installed: pip install supersuit, or leave it at native"
        ) from error
    return supersuit.to_sb3(options.grid, options.copies, num_cpus=options.num_cpus)


def _train_in(folder: Path, vec_env: VecEnv, options: TrainOptions, console: Console) -> int:
    # Whole rollouts, for Stable-Baselines3 plays no others. It asks for the rate after each, the last one included.
    rollout = options.rollout * vec_env.num_envs
    rollouts = math.ceil(options.steps / rollout)
    model = PPO(
        "MlpPolicy" if options.grid.flatten else "MultiInputPolicy",
        vec_env,
        # A function would be saved as the bytecode of this Python, which no other version reads.
        learning_rate=LinearSchedule(
            start=options.learning_rate * (1 + 1 / rollouts), end=options.learning_rate / rollouts, end_fraction=1
        ),
        n_steps=options.rollout,
        batch_size=options.batch_size,
        n_epochs=options.epochs,
        gamma=options.gamma,
        ent_coef=options.entropy,
        policy_kwargs={"net_arch": list(options.hidden)},
        seed=_training_seed(options),
        device="cpu",
    )
    held_out = range(options.episodes)
    before = play_held_out(model.policy, options.grid, held_out)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    code = 0
    with Progress(*columns, TextColumn("{task.fields[figures]}"), TimeRemainingColumn(), console=console) as progress:
        between = {round(rollouts * number / (options.evaluations - 1)) for number in range(1, options.evaluations - 1)}
        evaluate_at = frozenset(number * rollout for number in between if 0 < number < rollouts)
        callback = _Progress(progress, rollouts * rollout, evaluate_at, options)
        try:
            model.learn(rollouts * rollout, callback=callback)
        except KeyboardInterrupt:
            code = INTERRUPTED
    if code:
        console.print("interrupted: saving what was learned; Ctrl-C again gives that up")
    after = play_held_out(model.policy, options.grid, held_out)
    evaluated = [(0, before), *callback.evaluated, (model.num_timesteps, after)]
    _write_outputs(folder, options, model, callback.rows, evaluated)
    report(console, folder, options.grid, evaluated)
    return code


def _training_seed(options: TrainOptions) -> int:
    """Return the seed of the first copy, those of a run's copies lying apart from those of another run's."""
    room = 2**32 - _FIRST_TRAINING_SEED - options.copies
    return _FIRST_TRAINING_SEED + int(np.random.SeedSequence(options.seed).generate_state(1)[0]) % room


def _check(options: TrainOptions) -> None:
    check_flags(options, num_threads=1, num_cpus=0)
    if options.engine != "sb3":
        raise ValueError(f"--engine is {options.engine}, whose trainings multigrid.cli.train.rllib runs; use that")
    if options.vectorizer == "native" and options.num_cpus > 0:
        raise ValueError(
            f"--num-cpus is {options.num_cpus}, but only SuperSuit has worker processes: use --vectorizer supersuit, "
            "or --num-threads"
        )
    if options.vectorizer == "supersuit" and options.num_threads > 1:
        raise ValueError(f"--num-threads is {options.num_threads}, but SuperSuit has none: use --vectorizer native")


def _description(options: TrainOptions) -> dict[str, Any]:
    """Return what a run was made with: all flags, the version of the rules, and the versions that matter."""
    packages = ["gymnasium", "pettingzoo", "stable-baselines3", "torch", "numpy"]
    if options.vectorizer == "supersuit":
        packages.append("supersuit")
    versions = {package: importlib.metadata.version(package) for package in packages}
    versions["multigrid-marl"] = multigrid.__version__
    flags = dataclasses.asdict(options) | {"folder": None if options.folder is None else str(options.folder)}
    return {**flags, "rules": RULES_VERSION, "versions": versions}


def _write_outputs(
    folder: Path,
    options: TrainOptions,
    model: PPO,
    rows: list[dict[str, Any]],
    evaluated: list[tuple[int, HeldOut]],
) -> None:
    with replaced(folder / "model.zip") as temporary:
        model.save(temporary)
    write_rows(folder / "metrics.csv", _COLUMNS, rows)
    write_evaluations(folder, options.grid, rows, evaluated)
    seeds = range(options.episodes, options.episodes + _GIF_EPISODES)
    write_gif(folder / "evaluation.gif", record_frames(model.policy, options.grid, seeds, _GIF_FRAMES), 4)
    write_figure(folder / "heat.png", _heat(options, model))


def _heat(options: TrainOptions, model: PPO) -> Figure:
    def player(seed: int) -> Policy:
        return drawn_policy(model.policy, np.random.default_rng([seed, 1]))

    world, heat = World("held-out", options.grid), HeatMaps()
    for seed in range(options.episodes, options.episodes + _HEAT_EPISODES):
        episode = play(world, player, seed, watched=True).episode
        assert episode is not None
        heat.add(episode)
    title = f"after {model.num_timesteps:,} steps of training, {_HEAT_EPISODES} held-out episodes"
    return heat_figure(heat.most_played(), title)
