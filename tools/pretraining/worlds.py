"""The worlds that the network is trained in: maps of `multigrid.maps._generators`, under POGEMA's rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig, OnTarget
from multigrid.maps import WallComponents, _generators, generate

# Ranges are from the first number to below the second.
_SMALL, _COMMON, _LARGE = (4, 9), (9, 25), (25, 41)  # sides
# The shares of configurations with small maps, where agents have to give way to one another within few cells, and with
# large ones, which take much time.
_SHARE_OF_SMALL, _SHARE_OF_LARGE = 0.25, 0.05
_SHARE_OF_LIFELONG = 0.5  # of configurations, in which each arrival brings a new target
_NUM_AGENTS = (2, 3, 4, 8, 12, 16, 24, 32, 48, 64)
_MOST_CROWDED = 0.35  # agents for each free cell; with more, maps and number are drawn again
# The share of configurations that are crowded: many agents on maps of these sides, with scattered walls or, more
# often, mazes.
_SHARE_OF_CROWDED, _MANY_AGENTS, _CROWDED, _CROWDED_SCATTERED = 0.25, (32, 48, 64), (17, 25), 0.3
# Of random numbers from 0 to 1, those below the first give maps with scattered walls, those below the second mazes,
# below the third rooms, and the others warehouses. Small maps have no space for the last two kinds.
_SCATTERED, _MAZES, _ROOMS = 0.4, 0.86, 0.93
_SHARE_OF_WALL_COMPONENTS = 0.6  # of the mazes: their walls grow from random posts
# The largest share of cells that are scattered walls; with more of them, small maps get narrow ways, too.
_MOST_WALLS, _MOST_WALLS_OF_SMALL = 0.35, 0.45
_LOOPS = (0.0, 0.05, 0.1, 0.2, 0.4)  # shares of a maze's inner walls that are removed
_ROOM_SIZES, _SHELF_LENGTHS = (3, 7), (2, 6)
_FILL = (0.6, 1)  # the share of a warehouse's shelves that are there
_NUM_MAPS = 4  # of a configuration, which have one size and one number of agents


def sample_world(generator: np.random.Generator, max_cycles: int = 128) -> GridConfig:
    """Return a random configuration: four maps of one kind and size, and a number of agents.

    About half of the maps are mazes, two fifths have scattered walls, and the others are rooms and warehouses. About
    half of the worlds have 32 to 64 agents, and in half of them each arrival brings a new target.

    >>> config = sample_world(np.random.default_rng(0))
    >>> config.collisions, config.allow_stay, config.num_maps
    ('soft', True, 4)
    """
    while True:
        is_crowded = bool(generator.random() < _SHARE_OF_CROWDED)
        walls = _sample_maps(generator, is_crowded=is_crowded)
        num_agents = int(generator.choice(_MANY_AGENTS if is_crowded else _NUM_AGENTS))
        if num_agents <= _MOST_CROWDED * (~walls).sum(axis=(1, 2)).min():
            on_target: OnTarget = "restart" if generator.random() < _SHARE_OF_LIFELONG else "stay"
            return make_world(walls, num_agents, on_target, max_cycles)


def make_world(walls: NDArray[np.bool_], num_agents: int, on_target: OnTarget, max_cycles: int = 128) -> GridConfig:
    """Return a configuration with POGEMA's collisions, of maps bool (M, W, H)."""
    return GridConfig(
        walls=walls,
        num_agents=num_agents,
        collisions="soft",
        on_target=on_target,
        allow_stay=True,
        max_cycles=max_cycles,
        observe=("agent", "target"),
    )


def _sample_maps(generator: np.random.Generator, *, is_crowded: bool) -> NDArray[np.bool_]:
    size = generator.random()
    is_small = size < _SHARE_OF_SMALL and not is_crowded
    if is_crowded:
        sides = _CROWDED
    elif is_small:
        sides = _SMALL
    elif size > 1 - _SHARE_OF_LARGE:
        sides = _LARGE
    else:
        sides = _COMMON
    width, height = generator.integers(*sides, size=2).tolist()
    kind = generator.random() * (_MAZES if is_small or is_crowded else 1)
    if kind < (_CROWDED_SCATTERED if is_crowded else _SCATTERED):
        density = float(generator.uniform(0, _MOST_WALLS_OF_SMALL if is_small else _MOST_WALLS))
        maps = [_generators.random_map(width, height, density, generator) for _ in range(_NUM_MAPS)]
    elif kind < _MAZES:
        # Mazes have odd sides.
        if generator.random() < _SHARE_OF_WALL_COMPONENTS:
            grown = WallComponents((width | 1, height | 1))
            maps = [generate(grown, int(generator.integers(2**31))) for _ in range(_NUM_MAPS)]
        else:
            loops = float(generator.choice(_LOOPS))
            maps = [_generators.maze(width | 1, height | 1, generator, loops) for _ in range(_NUM_MAPS)]
    elif kind < _ROOMS:
        room = int(generator.integers(*_ROOM_SIZES))
        maps = [_generators.rooms(width, height, room, generator) for _ in range(_NUM_MAPS)]
    else:
        length, share = int(generator.integers(*_SHELF_LENGTHS)), float(generator.uniform(*_FILL))
        maps = [
            _generators.warehouse(width, height, shelf_length=length, fill=share, seed=generator)
            for _ in range(_NUM_MAPS)
        ]
    return np.stack(maps)
