"""Train a learner of `examples` in a task, once with each seed, and add a row for each to learners.csv beside it.

``python docs/games/learners.py TASK ALGORITHM [SEED ...]`` trains five seeds by default, and skips those with a row. A
learner's settings are the same in all tasks but for the learning rate in the warehouse. Seconds are those of the
processor, for the training alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import multigrid
from examples import mappo, ppo, qmix
from examples.games.train import TASKS as OWN
from multigrid import GridConfig, games
from multigrid.integrations.training import training_seed

ROWS = Path(__file__).with_name("learners.csv")
EPISODES = 100
Act = Callable[[np.ndarray], np.ndarray]


class Task(NamedTuple):
    """A world, what is measured, the agent-steps of a training, options that only trainings have, the learning rate."""

    config: GridConfig
    measure: str
    steps: int
    extra: dict[str, Any] = {}  # noqa: RUF012 - nobody writes it
    rate: float = 2e-3


KITCHEN = games.config("Overcooked-cramped_room-v0", dynamics="old", observe=("features",))
TASKS = {
    "path_finding": Task(GridConfig(size=5, max_cycles=16), "csr", 300_000),
    "minigrid": Task(games.config("MiniGrid-DoorKey-5x5-v0", image="onehot"), "return", 200_000, {"pays_all": True}),
    "overcooked": Task(KITCHEN, "score", 600_000, {"shaping": 1.0}),
    "warehouse": Task(games.config("rware-tiny-2ag-v2"), "deliveries", 6_000_000, rate=5e-4),
    "foraging": Task(games.config("Foraging-8x8-2p-2f-coop-v3"), "return", 600_000),
    "tag": Task(OWN["tag"].config, "tags", 200_000),
    "key_and_door": Task(OWN["key_and_door"].config, "opened", 250_000),
    "pursuit": Task(OWN["pursuit"].config, "caught", 150_000),
}


def flatten(config: GridConfig, **extra: Any) -> GridConfig:
    """Return a world with options of its game, whose observations are vectors."""
    parts = tuple(part for part in config.parts if part != "action_mask")
    options = {"options": {**(config.given["options"] or {}), **extra}} if extra else {}
    return dataclasses.replace(config, flatten=True, observe=parts, **options)


@torch.no_grad()
def measure(task: Task, act: Act) -> float:
    """Return the mean over held-out episodes; a return is that of all agents together."""
    envs, playing, total = multigrid.vector_env(EPISODES, flatten(task.config)), np.ones(EPISODES, dtype=bool), 0.0
    rows, _ = envs.reset(seed=0)
    while playing.any():
        rows, rewards, _, _, infos = envs.step(act(rows))
        found = {name: array.reshape(EPISODES, -1) for name, array in {**infos, "return": rewards}.items()}
        total += found["return"][playing].sum() if task.measure == "return" else 0
        if "csr" in infos:  # metrics of the worlds whose episode has ended, with a row for each agent
            ended = found["_csr"][:, 0] & playing
            total += found[task.measure][ended, 0].sum() if task.measure != "return" else 0
            playing &= ~ended
    return float(total) / EPISODES


def train_ppo(config: GridConfig, steps: int, seed: int, rate: float) -> tuple[int, Act]:
    """Train independent PPO, whose weights all agents share; return the agent-steps and the policy."""
    options = ppo.Options(config, steps=steps, seed=seed, gamma=0.99, entropy=0.01, learning_rate=rate)
    envs, stream = multigrid.vector_env(options.worlds, config), torch.Generator().manual_seed(0)
    net = ppo.make_net(envs, options.hidden)
    played, _, _ = ppo.train(net, envs, options)
    return played, lambda rows: ppo.sample(net["actor"](torch.from_numpy(rows)), stream).numpy()


def train_mappo(config: GridConfig, steps: int, seed: int, rate: float) -> tuple[int, Act]:
    """Train MAPPO with a quarter of the learning rate; return the agent-steps and the policy."""
    multigrid.register("task", **config.given)
    trained = mappo.train(mappo.Options("task", seconds=math.inf, steps=steps, seed=seed, learning_rate=rate / 4))
    return trained.steps, lambda rows: trained.act(rows.reshape(-1, config.num_agents, rows.shape[1])).ravel()


def train_qmix(config: GridConfig, steps: int, seed: int, rate: float) -> tuple[int, Act]:
    """Train QMIX; return the agent-steps and the policy, which plays the actions of the highest values."""
    per_step = 16 * config.num_agents
    given: Any = {"worlds": 16, "gamma": 0.97, "n_step": 3, "learning_rate": rate, "seed": seed}
    options = qmix.Options(steps=math.ceil(steps / per_step), **given)
    env = qmix.VectorWorlds(1, options.worlds, training_seed(seed, worlds=options.worlds), config)
    trainer, shape = qmix.Trainer(options, env), (1, -1, config.num_agents, env.inputs[0])
    *_, played = qmix.train(trainer, env)

    def act(rows: np.ndarray) -> np.ndarray:
        return trainer.agents(torch.from_numpy(rows).view(shape)).argmax(3).flatten().numpy()

    return per_step * played, act


def play_random(config: GridConfig, _steps: int, seed: int, _rate: float) -> tuple[int, Act]:
    """Return 0 and the policy of random actions."""
    stream = np.random.default_rng(seed)
    return 0, lambda rows: stream.integers(config.num_actions, size=len(rows))


def main() -> None:
    """Train what has no row yet."""
    learners = {"random": play_random, "ppo": train_ppo, "mappo": train_mappo, "qmix": train_qmix}
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("algorithm", choices=learners)
    parser.add_argument("seed", type=int, nargs="*", default=range(5))
    options = parser.parse_args()
    task, train = TASKS[options.task], learners[options.algorithm]
    torch.set_num_threads(1)
    measure(task, play_random(task.config, 0, 0, 0.0)[1])  # loads what is compiled, or compiles it
    for seed in options.seed:
        key = f"{options.task},{options.algorithm},{seed},"
        if key not in ROWS.read_text(encoding="utf-8"):
            torch.manual_seed(seed)
            began = time.process_time()
            steps, act = train(flatten(task.config, **task.extra), task.steps, seed, task.rate)
            seconds = round(time.process_time() - began)
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(f"{key}{steps},{seconds},{task.measure},{measure(task, act):.4f}\n")


if __name__ == "__main__":
    main()
