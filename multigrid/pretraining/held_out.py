"""How good a network is, on maps that no training has seen."""

from __future__ import annotations

import functools

import numpy as np

from multigrid.config import GridConfig, OnTarget
from multigrid.maps import maze, random_map
from multigrid.planning.learned.network import Weights
from multigrid.policies.evaluation import evaluate
from multigrid.policies.learned import Pretrained

__all__ = ["WORLDS", "measure", "sample_held_out"]

WORLDS = (
    ("random", 24, "stay"),
    ("random", 48, "stay"),
    ("mazes", 24, "stay"),
    ("small", 4, "stay"),
    ("random", 48, "restart"),
    ("mazes", 24, "restart"),
)
"""The kinds of maps, the numbers of agents, and what happens on targets."""
# Maps of trainings have generators of two numbers, see `multigrid.pretraining.labels.produce`.
_SEED = 2_000_000_000
_POLICY_STREAM = 2
_SIDE, _DENSITY, _LOOPS, _NUM_MAPS = 19, 0.2, 0.25, 20
_SMALL_SIDES, _SMALL_DENSITY = (6, 5), 0.3


def sample_held_out(kind: str, num_agents: int, on_target: OnTarget = "stay") -> GridConfig:
    """Return a world with twenty maps of 19 x 19 cells: a fifth of them walls, or mazes. Episodes have 128 steps.

    Maps of the kind "small" have 6 x 5 cells, and episodes 32 steps.

    >>> sample_held_out("mazes", 24).num_maps
    20
    """
    generator = np.random.default_rng(_SEED)
    maps = [
        maze(_SIDE, _SIDE, generator, _LOOPS)
        if kind == "mazes"
        else random_map(*_SMALL_SIDES, _SMALL_DENSITY, generator)
        if kind == "small"
        else random_map(_SIDE, _SIDE, _DENSITY, generator)
        for _ in range(_NUM_MAPS)
    ]
    return GridConfig(
        walls=np.stack(maps),
        num_agents=num_agents,
        collisions="soft",
        on_target=on_target,
        allow_stay=True,
        max_cycles=32 if kind == "small" else 128,
        observe=("agent", "target"),
    )


def measure(weights: Weights, episodes: int) -> dict[str, float]:
    """Return a figure for each of the `WORLDS`, alone and with a shield.

    It is the share of episodes that are solved; in lifelong worlds, the number of arrivals a step.
    """
    shares = {}
    for kind, num_agents, on_target in WORLDS:
        config = sample_held_out(kind, num_agents, on_target)
        for shield in (False, True):
            make = functools.partial(_make, weights, shield)
            result = evaluate(config, make, range(episodes), per_episode=True)
            name = f"{kind}-{num_agents}{'-lifelong' * (on_target == 'restart')}{'-shield' * shield}"
            shares[name] = result["throughput" if on_target == "restart" else "csr"].mean
    return shares


def _make(weights: Weights, shield: bool, seed: int) -> Pretrained:  # noqa: FBT001 - of a partial
    # The stream of the seed alone is that of the world.
    return Pretrained(weights, shield=shield, seed=np.random.default_rng([seed, _POLICY_STREAM]))
