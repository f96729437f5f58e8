"""How good a network is, on maps that no training has seen."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig, OnTarget
from multigrid.evaluation._playing import evaluate
from multigrid.maps import maze, random_map
from multigrid.policies._learned import Pretrained
from multigrid.policies._network import Weights
from tools.pretraining.worlds import make_world

Kind: TypeAlias = Literal["random", "mazes", "small"]

WORLDS: tuple[tuple[Kind, int, OnTarget], ...] = (
    ("random", 24, "stay"),
    ("random", 48, "stay"),
    ("mazes", 24, "stay"),
    ("small", 4, "stay"),
    ("random", 48, "restart"),
    ("mazes", 24, "restart"),
)
"""The kinds of maps, the numbers of agents, and what happens on targets."""

FIGURES = tuple(
    f"{kind}-{num_agents}{'-lifelong' * (on_target == 'restart')}{'-shield' * shield}"
    for kind, num_agents, on_target in WORLDS
    for shield in (False, True)
)
"""The names of the figures of `measure`: of each world, alone and with a shield."""

# Maps of trainings have generators of two numbers, see `tools.pretraining.labels.produce`.
_SEED = 2_000_000_000
_SIDE, _DENSITY, _LOOPS, _NUM_MAPS = 19, 0.2, 0.25, 20
_SMALL_SIDES, _SMALL_DENSITY = (6, 5), 0.3
_MAKERS: dict[Kind, Callable[[np.random.Generator], NDArray[np.bool_]]] = {
    "random": lambda generator: random_map(_SIDE, _SIDE, _DENSITY, generator),
    "mazes": lambda generator: maze(_SIDE, _SIDE, generator, _LOOPS),
    "small": lambda generator: random_map(*_SMALL_SIDES, _SMALL_DENSITY, generator),
}


def sample_held_out(kind: Kind, num_agents: int, on_target: OnTarget = "stay") -> GridConfig:
    """Return a world with twenty held-out maps: 128 steps on 19 x 19 cells, or 32 on 6 x 5.

    >>> sample_held_out("mazes", 24).num_maps
    20
    """
    generator = np.random.default_rng(_SEED)
    maps = np.stack([_MAKERS[kind](generator) for _ in range(_NUM_MAPS)])
    return make_world(maps, num_agents, on_target, max_cycles=32 if kind == "small" else 128)


def measure(weights: Weights, episodes: int) -> dict[str, float]:
    """Return the `FIGURES` by name.

    Each is the share of episodes that are solved; in lifelong worlds, the number of arrivals a step.
    """
    values = []
    for kind, num_agents, on_target in WORLDS:
        config = sample_held_out(kind, num_agents, on_target)
        metric = "throughput" if on_target == "restart" else "csr"
        for shield in (False, True):
            make = functools.partial(_make, weights, shield)
            values.append(evaluate(config, make, range(episodes), per_episode=True)[metric].mean)
    return dict(zip(FIGURES, values, strict=True))


def _make(weights: Weights, shield: bool, seed: int) -> Pretrained:  # noqa: FBT001 - of a partial
    return Pretrained(weights, shield=shield, seed=seed)
