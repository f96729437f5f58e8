"""The worlds that the network is trained in: maps of `multigrid.maps.generators`, under POGEMA's rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.maps import generators

__all__ = ["sample_world"]

_SMALL, _SIDES, _LARGE = (4, 9), (9, 25), (25, 41)
_SHARE_OF_SMALL, _SHARE_OF_LARGE = 0.25, 0.05
_SHARE_OF_LIFELONG = 0.5
_NUM_AGENTS = (2, 3, 4, 8, 12, 16, 24, 32, 48, 64)
_MOST_CROWDED = 0.35
_LOOPS = (0.0, 0.05, 0.1, 0.2, 0.4)
_NUM_MAPS = 4


def sample_world(generator: np.random.Generator, max_cycles: int = 128) -> GridConfig:
    """Return a random configuration: four maps of one kind and size, and a number of agents.

    Half of the maps have scattered walls, a third are mazes, and the others rooms and warehouses.

    >>> config = sample_world(np.random.default_rng(0))
    >>> config.collisions, config.on_target, config.num_maps
    ('soft', 'stay', 4)
    """
    while True:
        walls = _sample_maps(generator)
        num_agents = int(generator.choice(_NUM_AGENTS))
        if num_agents <= _MOST_CROWDED * (~walls).sum(axis=(1, 2)).min():
            return GridConfig(
                walls=walls,
                num_agents=num_agents,
                collisions="soft",
                on_target="restart" if generator.random() < _SHARE_OF_LIFELONG else "stay",
                allow_stay=True,
                max_cycles=max_cycles,
                observe=("agent", "target"),
            )


def _sample_maps(generator: np.random.Generator) -> NDArray[np.bool_]:
    size = generator.random()
    is_small = size < _SHARE_OF_SMALL
    sides = _SMALL if is_small else _LARGE if size > 1 - _SHARE_OF_LARGE else _SIDES
    width, height = generator.integers(*sides, size=2).tolist()
    # On small maps there is no room for rooms.
    kind = generator.random() * (0.85 if is_small else 1)
    if kind < 0.5:
        density = float(generator.uniform(0, 0.45 if is_small else 0.35))
        maps = [generators.random_map(width, height, density, generator) for _ in range(_NUM_MAPS)]
    elif kind < 0.85:
        loops = float(generator.choice(_LOOPS))
        maps = [generators.maze(width | 1, height | 1, generator, loops) for _ in range(_NUM_MAPS)]
    elif kind < 0.93:
        room = int(generator.integers(3, 7))
        maps = [generators.rooms(width, height, room, generator) for _ in range(_NUM_MAPS)]
    else:
        length, share = int(generator.integers(2, 6)), float(generator.uniform(0.6, 1))
        maps = [
            generators.warehouse(width, height, shelf_length=length, fill=share, seed=generator)
            for _ in range(_NUM_MAPS)
        ]
    return np.stack(maps)
