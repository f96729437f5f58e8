"""How good a network is, on maps that no training has seen."""

from __future__ import annotations

import functools

import numpy as np

from multigrid.config import GridConfig
from multigrid.maps import maze, random_map
from multigrid.planning.learned.network import Weights
from multigrid.policies.evaluation import evaluate
from multigrid.policies.learned import Pretrained

__all__ = ["WORLDS", "measure", "sample_held_out"]

WORLDS = (("random", 24), ("random", 48), ("mazes", 24))
"""The kinds of maps and the numbers of agents."""
# Maps of trainings have generators of two numbers, see `multigrid.pretraining.labels.produce`.
_SEED = 2_000_000_000
_POLICY_STREAM = 2
_SIDE, _DENSITY, _LOOPS, _NUM_MAPS = 19, 0.2, 0.25, 20


def sample_held_out(kind: str, num_agents: int) -> GridConfig:
    """Return a world with twenty maps of 19 x 19 cells: a fifth of them walls, or mazes. Episodes have 128 steps.

    >>> sample_held_out("mazes", 24).num_maps
    20
    """
    generator = np.random.default_rng(_SEED)
    maps = [
        random_map(_SIDE, _SIDE, _DENSITY, generator) if kind == "random" else maze(_SIDE, _SIDE, generator, _LOOPS)
        for _ in range(_NUM_MAPS)
    ]
    return GridConfig(
        walls=np.stack(maps),
        num_agents=num_agents,
        collisions="soft",
        on_target="stay",
        allow_stay=True,
        max_cycles=128,
        observe=("agent", "target"),
    )


def measure(weights: Weights, episodes: int) -> dict[str, float]:
    """Return the share of episodes that are solved in each of the `WORLDS`, alone and with a shield."""
    shares = {}
    for kind, num_agents in WORLDS:
        config = sample_held_out(kind, num_agents)
        for shield in (False, True):
            make = functools.partial(_make, weights, shield)
            result = evaluate(config, make, range(episodes), per_episode=True)
            shares[f"{kind}-{num_agents}{'-shield' * shield}"] = result["csr"].mean
    return shares


def _make(weights: Weights, shield: bool, seed: int) -> Pretrained:  # noqa: FBT001 - of a partial
    # The stream of the seed alone is that of the world.
    return Pretrained(weights, shield=shield, seed=np.random.default_rng([seed, _POLICY_STREAM]))
