"""``multigrid train``: one shared policy for N agents, with Stable-Baselines3's PPO."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import tyro
from rich.console import Console
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule, set_random_seed

from multigrid._files import replace_file
from multigrid.cli._figures import HeatMaps, heat_figure, write_figure
from multigrid.cli._files import make_folder, write_json, write_rows
from multigrid.cli._films import fit_frames, write_gif
from multigrid.cli.rollout.play import NamedConfig, play_episode
from multigrid.cli.rollout.policies import act, make_policy
from multigrid.cli.train.held_out import HeldOut, play_held_out
from multigrid.cli.train.options import SB3Options, check_sb3, describe
from multigrid.cli.train.progress import COLUMNS, RolloutCounts, TrainingBar, describe_row
from multigrid.cli.train.report import print_report, write_evaluations
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.sb3 import to_sb3
from multigrid.integrations.training import training_seed
from multigrid.rendering.scene import Episode

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["main", "train"]

_GIF_EPISODES = 6
_GIF_FRAMES = 160
_HEAT_EPISODES = 20
_COLUMNS = ("steps", *COLUMNS, "seconds")


class _Metrics(BaseCallback):
    """Collect the metrics of each rollout, and evaluate between rollouts."""

    def __init__(self, options: SB3Options, evaluate_at: frozenset[int], before: HeldOut, bar: TrainingBar) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.evaluations = [(0, before)]
        self._options, self._evaluate_at, self._bar = options, evaluate_at, bar
        self._num_agents = options.grid.num_agents
        self._lengths = np.zeros(options.copies, dtype=np.int64)
        self._counts = RolloutCounts()
        self._began = time.perf_counter()

    def _on_step(self) -> bool:
        dones, infos, rewards = self.locals["dones"], self.locals["infos"], self.locals["rewards"]
        counts = self._counts
        self._lengths += 1
        # All rows of a world are done only at its end; for agents that left earlier it is the second time.
        for world in np.flatnonzero(dones.reshape(-1, self._num_agents).all(axis=1)).tolist():
            own = infos[world * self._num_agents : (world + 1) * self._num_agents]
            counts.episodes += 1
            counts.successes += not any(info["TimeLimit.truncated"] and info.get("alive", True) for info in own)
            counts.steps += int(self._lengths[world])
            self._lengths[world] = 0
        counts.reward += float(rewards.sum())
        counts.agent_steps += len(rewards)
        self._bar.update(completed=self.num_timesteps)
        return True

    def _on_rollout_end(self) -> None:
        seconds = round(time.perf_counter() - self._began, 2)
        self.rows.append({"steps": self.num_timesteps, **self._counts.metrics(), "seconds": seconds})
        self._bar.update(figures=describe_row(self.rows[-1], self._options.grid))
        self._counts = RolloutCounts()

    def _on_rollout_start(self) -> None:
        # The weights have now been updated with all steps so far.
        if self.num_timesteps in self._evaluate_at:
            self.evaluations.append((self.num_timesteps, _evaluate(self.model, self._options)))


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    return train(tyro.cli(SB3Options, args=list(arguments), prog="multigrid train"), Console(stderr=True))


def train(options: SB3Options, console: Console) -> int:
    """Train, evaluate before and after, and write the run folder.

    Returns:
        0, or 130 if Ctrl-C cut the training short; the outputs are written in either case.

    Raises:
        ValueError: an option is out of range.
        FileExistsError: the folder exists already.
    """
    check_sb3(options)
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    set_random_seed(options.seed)
    with contextlib.closing(_vec_env(options)) as vec_env:
        folder = make_folder(options.folder)
        packages = ("supersuit",) if options.vectorizer == "supersuit" else ()
        write_json(folder / "config.json", describe(options, "stable-baselines3", *packages))
        return _train_in(folder, vec_env, options, console)


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
            "--vectorizer is supersuit, which is not installed: pip install supersuit, or leave it at native"
        ) from error
    return supersuit.to_sb3(options.grid, options.copies, num_cpus=options.num_cpus)


def _train_in(folder: Path, vec_env: VecEnv, options: SB3Options, console: Console) -> int:
    # Stable-Baselines3 plays whole rollouts only.
    rollout = options.rollout * vec_env.num_envs
    rollouts = math.ceil(options.steps / rollout)
    model = _make_model(vec_env, options, rollouts)
    between = {round(rollouts * number / (options.evaluations - 1)) for number in range(1, options.evaluations - 1)}
    evaluate_at = frozenset(number * rollout for number in between if 0 < number < rollouts)
    bar = TrainingBar(console, rollouts * rollout)
    callback = _Metrics(options, evaluate_at, _evaluate(model, options), bar)
    code = bar.run(lambda: model.learn(rollouts * rollout, callback=callback))
    callback.evaluations.append((model.num_timesteps, _evaluate(model, options)))
    _write_outputs(folder, options, model, callback)
    print_report(console, folder, options.grid, callback.evaluations)
    return code


def _make_model(vec_env: VecEnv, options: SB3Options, rollouts: int) -> PPO:
    return PPO(
        "MlpPolicy" if options.grid.flatten else "MultiInputPolicy",
        vec_env,
        # The schedule is evaluated after each rollout, the last one included. A function would be saved as bytecode of
        # this version of Python, which no other version can read.
        learning_rate=LinearSchedule(
            start=options.learning_rate * (1 + 1 / rollouts), end=options.learning_rate / rollouts, end_fraction=1
        ),
        n_steps=options.rollout,
        batch_size=options.batch_size,
        n_epochs=options.epochs,
        gamma=options.gamma,
        ent_coef=options.entropy,
        policy_kwargs={"net_arch": list(options.hidden)},
        # The seeds of a run's copies differ from those of another run's.
        seed=training_seed(options.seed, worlds=options.copies),
        device="cpu",
    )


def _evaluate(model: Any, options: SB3Options) -> HeldOut:
    return play_held_out(
        options.grid,
        range(options.episodes),
        lambda _, observations, generator: act(model.policy, options.grid, observations, generator),
    )


def _write_outputs(folder: Path, options: SB3Options, model: PPO, callback: _Metrics) -> None:
    with replace_file(folder / "model.zip") as temporary:
        model.save(temporary)
    write_rows(folder / "metrics.csv", _COLUMNS, callback.rows)
    write_evaluations(folder, options.grid, callback.rows, callback.evaluations)
    episodes = _play_episodes(options, model)
    write_gif(folder / "evaluation.gif", fit_frames(episodes[:_GIF_EPISODES], _GIF_FRAMES), 4)
    heat = HeatMaps()
    for episode in episodes:
        heat.add(episode)
    title = f"after {model.num_timesteps:,} steps of training, {_HEAT_EPISODES} held-out episodes"
    write_figure(folder / "heat.png", heat_figure(heat.most_played(), title))


def _play_episodes(options: SB3Options, model: PPO) -> list[Episode]:
    """Play held-out episodes that no evaluation has played."""
    world, episodes = NamedConfig("held-out", options.grid), []
    for seed in range(options.episodes, options.episodes + _HEAT_EPISODES):
        result = play_episode(
            world, lambda seed: make_policy(model.policy, np.random.default_rng([seed, 1])), seed, watch=True
        )
        assert result.episode is not None
        episodes.append(result.episode)
    return episodes
