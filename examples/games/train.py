"""Train one policy for all agents of a game in this folder; write its curve, its weights, and a film of what it plays.

Install: ``pip install "multigrid-marl[examples]"``.
Run: ``python -m examples.games.train tag``.

Each takes a few minutes on one core; examples/games/results has what they wrote.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Literal, NamedTuple

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("PIL", "matplotlib", "sb3_contrib", "stable_baselines3", "torch", "tyro", text=__doc__)

import numpy as np
import torch
import tyro
from matplotlib.figure import Figure
from PIL import Image
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import set_random_seed

import multigrid
from examples.games.bridge import Bridge
from examples.games.key_and_door import KeyAndDoor
from examples.games.pursuit import Pursuit
from examples.games.tag import Tag
from examples.sb3_algorithms import maskable_ppo
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation import Estimate
from multigrid.integrations.sb3 import to_sb3
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.policies import Policy
from multigrid.wrappers import standard_config

__all__ = ["RESULTS", "TASKS", "Task", "main", "make_model", "make_policy", "write_film"]

RESULTS = Path(__file__).parent / "results"


class Task(NamedTuple):
    """A world of a game, the metric that its curve shows, and the number of rows to train for."""

    config: multigrid.GridConfig
    metric: str
    steps: int


BRIDGE = "..###..\n.......\n..###.."
TASKS = {
    "key_and_door": Task(
        multigrid.GridConfig(game=KeyAndDoor, size=5, reward="shared", max_cycles=40), "opened", 200_000
    ),
    "tag": Task(multigrid.GridConfig(game=Tag, size=6, num_agents=4, max_cycles=40), "tags", 600_000),
    "pursuit": Task(multigrid.GridConfig(game=Pursuit, size=5, num_agents=3, max_cycles=40), "caught", 400_000),
    "bridge": Task(
        multigrid.GridConfig(
            game=Bridge, options={"west": 2, "east": 4}, walls=BRIDGE, num_agents=3, on_target="leave", max_cycles=40
        ),
        "csr",
        400_000,
    ),
}


def make_model(config: multigrid.GridConfig, worlds: int = 64) -> MaskablePPO:
    """Return a PPO of `examples.sb3_algorithms` that plays no action that is masked, over some worlds of a game."""
    model = maskable_ppo(to_sb3(multigrid.vector_env(worlds, standard_config(config), autoreset_mode="SameStep")))
    assert isinstance(model, MaskablePPO)
    return model


def make_policy(model: MaskablePPO) -> Policy:
    """Return the policy, as defined in `multigrid.policies`, that samples the actions of a model."""

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        seen = {
            key: np.stack([observations[agent][key] for agent in env.agents]) for key in env.config.observation_keys
        }
        actions, _ = model.predict(seen, action_masks=seen["action_mask"] == 1)
        return dict(zip(env.agents, actions.tolist(), strict=True))

    return choose


def main(
    name: tyro.conf.Positional[Literal["key_and_door", "tag", "pursuit", "bridge"]],
    *,
    steps: int | None = None,
    seed: int = 0,
    points: int = 8,
    episodes: int = 50,
    folder: Path = RESULTS,
) -> list[Estimate]:
    """Train on one of `TASKS`, and return the means of its metric on held-out episodes, before, between and after.

    Args:
        name: the game.
        steps: rows to train for, of all agents together; by default the task's own number.
        seed: two runs with the same seed end with equal weights.
        points: number of evaluations after the first.
        episodes: held-out episodes of each evaluation.
        folder: where NAME.csv, NAME.png, NAME.pt and NAME.gif are written.
    """
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    set_random_seed(seed)
    task, curve = TASKS[name], list[tuple[float, ...]]()
    config = standard_config(task.config)
    model = make_model(config)
    model.set_random_seed(FIRST_TRAINING_SEED + seed)
    policy = make_policy(model)
    for point in range(points + 1):
        if point:
            model.learn((steps or task.steps) // points, reset_num_timesteps=False)
        estimate = multigrid.evaluate(config, policy, range(episodes))[task.metric]
        curve.append((model.num_timesteps, *estimate))
        print(f"{name}: {task.metric} {estimate.mean:.2f} after {model.num_timesteps:,} rows")
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.policy.state_dict(), folder / f"{name}.pt")
    write_film(folder / f"{name}.gif", config, policy, range(episodes, episodes + 2))
    _write_curve(folder / name, task.metric, curve)
    return [Estimate(*point[1:]) for point in curve]


def write_film(path: Path, config: multigrid.GridConfig, policy: Policy, seeds: range) -> None:
    """Write episodes as a GIF, four frames a second."""
    env = multigrid.parallel_env(config, render_mode="rgb_array", render_size=180)
    frames: list[Any] = []
    for seed in seeds:
        observations, _ = env.reset(seed=seed)
        frames.append(env.render())
        while env.agents:
            observations, *_ = env.step(policy(env, observations))
            frames.append(env.render())
    first, *others = [Image.fromarray(frame).quantize(32) for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=250, loop=0)


def _write_curve(path: Path, metric: str, curve: list[tuple[float, ...]]) -> None:
    """Write a table and a picture of the means and their intervals."""
    with path.with_suffix(".csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("rows", metric, "low", "high"), *curve])
    figure = Figure(figsize=(4, 3), layout="constrained")
    axes = figure.subplots()
    rows, means, lows, highs = zip(*curve, strict=True)
    thousands = np.array(rows) / 1000
    axes.plot(thousands, means)
    axes.fill_between(thousands, lows, highs, alpha=0.3)
    axes.set(xlabel="thousand rows", ylabel=f"{metric} an episode")
    figure.savefig(path.with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    tyro.cli(main)
