"""Self-play against cross-play: agents that were trained with themselves, and then play with one another's.

Install: ``pip install "multigrid-marl" torch tyro``. Run: ``python -m examples.cross_play``, and for a second arm
``python -m examples.cross_play --random-starts``. Each takes about seven minutes of two cores, if two terminals train a
game each. A run that was stopped goes on with the seeds that are missing.

Each seed trains one policy for both agents with the PPO of `examples.ppo`. Shaped rewards fade out over the training.
The policies are written as a pool, which `multigrid.policies.read_pool` reads, and play with one another from the usual
starts. With other flags, the same command has made the pools in ``examples/pools``.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from gymnasium.vector import VectorWrapper
from torch import nn

from examples import ppo
from multigrid import GridConfig, games, vector_env
from multigrid._files import replace_file

_SCALE = 0.2
"""What observations are multiplied by, so that most are from -1 to 1."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Train policies with themselves, and let them play with one another."""

    games: tyro.conf.Positional[tuple[str, ...]] = (
        "Overcooked-coordination_ring-v0",
        "Overcooked-counter_circuit_o_1order-v0",
    )
    """The games."""
    seeds: int = 5
    """The number of policies of each game."""
    steps: int = 4_000_000
    """Rows to train on for each: steps of both agents together."""
    random_starts: bool = False
    """Train from random cells; for Overcooked alone."""
    episodes: int = 100
    """Episodes of each pair of policies, from each seat."""
    folder: Path = Path("results/cross_play")
    """Where the policies and the results are written."""


class Prepared(VectorWrapper):
    """A vector env whose shaped rewards fade out over a training, with scaled observations."""

    def __init__(self, env: Any, num_steps: int) -> None:
        super().__init__(env)
        self._step, self._num_steps = 0, num_steps
        self._worlds: Any = env
        self._is_shaped = "shaping" in env.config.options

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Reset all worlds."""
        observations, infos = self.env.reset(**arguments)
        return self._scale(observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play one step of every world."""
        if self._is_shaped and self._step % 100 == 0:  # it takes a millisecond
            self._worlds.shaping = max(0.0, 1 - self._step / self._num_steps)
        self._step += 1
        observations, *results = self.env.step(actions)
        return self._scale(observations), *results

    def _scale(self, observations: Any) -> Any:
        return observations.astype(np.float32) * np.float32(_SCALE)


def make_config(game: str, **options: Any) -> GridConfig:
    """Return the world of a game; in Overcooked, a pot cooks by itself once it is full, and players see features."""
    if game.startswith("Overcooked-"):
        options = {"dynamics": "old", "observe": "features", **options}
    return games.config(game, **options)


def train(options: Options, game: str, seed: int) -> nn.ModuleDict:
    """Train a policy with itself, and return its networks."""
    config = make_config(game, **{"random_positions": True} if options.random_starts else {})
    setup = ppo.Options(config, steps=options.steps, seed=seed, worlds=64, rollout=100, gamma=0.99, entropy=0.01)
    torch.manual_seed(seed)
    envs = vector_env(setup.worlds, config)
    net = ppo.make_net(envs, setup.hidden)
    ppo.train(net, Prepared(envs, options.steps // envs.num_envs), setup)  # type: ignore[arg-type]
    envs.close()
    return net


def main(options: Options) -> None:
    """Train what is missing, and play."""
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    for game in options.games:
        folder = options.folder / f"{game}{'-random' if options.random_starts else ''}"
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(options.seeds):
            path = folder / f"{seed}.pt"
            if not path.exists():
                net = train(options, game, seed)
                with replace_file(path) as temporary:
                    torch.save(net.state_dict(), temporary)
                print(f"{folder.name}: trained seed {seed}", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
