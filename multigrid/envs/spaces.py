"""The Gymnasium spaces of a configuration; the only place where a space is built.

The parts of an observation, of N agents on W x H cells, with a view of r cells each way:

- ``agent``: the agent's own cell.
- ``target``: its target.
- ``others``: the other N - 1 agents' cells, in index order; (-1, -1) for one that has left.
- ``view``: the window of 2r + 1 x 2r + 1 cells around the agent's own, (x, y), in three layers: ``view[c, i, j]`` looks
  at the cell (x + i - r, y + j - r). Layer 0 has 1 at walls and outside the grid, layer 1 at agents, the observer among
  them, layer 2 at the own target, which is drawn on the window's edge when it lies outside.
- ``walls``: the whole map, 1 at walls.
- ``action_mask``: 1 where an action runs neither into the edge of the grid nor into a wall.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from multigrid.config import GridConfig, Part
from multigrid.core.worlds import part_shapes

__all__ = ["action_space", "observation_space", "state_space"]

_COORDINATES = ("agent", "target", "others")


def action_space(config: GridConfig) -> spaces.Discrete:
    """Return ``Discrete(4)``, or ``Discrete(5)`` with `allow_stay`.

    >>> action_space(GridConfig())
    Discrete(4)
    """
    return spaces.Discrete(config.num_actions)


def observation_space(config: GridConfig) -> spaces.Space[Any]:
    """Return the space of one agent's observation: a Dict of its parts, or with `flatten` one float32 Box.

    >>> observation_space(GridConfig(num_agents=1))
    Dict('agent': Box(0, 4, (2,), int64), 'target': Box(0, 4, (2,), int64))
    """
    shapes = part_shapes(config)
    if config.flatten:
        lows = [np.full(int(np.prod(shape)), -1 if part == "others" else 0) for part, shape in shapes.items()]
        low = np.concatenate(lows).astype(np.float32)
        return spaces.Box(low, np.ones_like(low), dtype=np.float32)
    return spaces.Dict({part: _part_space(config, part, shape) for part, shape in shapes.items()})


def state_space(config: GridConfig) -> spaces.Box:
    """Return the space of the global state: int64 (N, 4), with -1 for an agent that has left.

    >>> state_space(GridConfig(size=(4, 3), num_agents=2)).high.tolist()
    [[3, 2, 3, 2], [3, 2, 3, 2]]
    """
    high = np.tile(_last_cell(config), (config.num_agents, 2))
    return spaces.Box(np.full_like(high, -1), high, dtype=np.int64)


def _last_cell(config: GridConfig) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([config.width - 1, config.height - 1], dtype=np.int64)


def _part_space(config: GridConfig, part: Part | str, shape: tuple[int, ...]) -> spaces.Box:
    if part in _COORDINATES:
        high = np.broadcast_to(_last_cell(config), shape).copy()
        return spaces.Box(np.full_like(high, -1 if part == "others" else 0), high, dtype=np.int64)
    return spaces.Box(0, 1, shape, dtype=np.int8 if part == "action_mask" else np.uint8)
