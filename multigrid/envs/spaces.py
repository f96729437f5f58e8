"""Build the Gymnasium spaces of a configuration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from multigrid.config import GridConfig
from multigrid.parts import PARTS, Part

__all__ = ["action_space", "observation_space", "state_space"]


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
    shapes = config.part_shapes
    if config.flatten:
        lows = [np.full(math.prod(shape), PARTS[part].low) for part, shape in shapes.items()]
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


def _part_space(config: GridConfig, part: Part, shape: tuple[int, ...]) -> spaces.Box:
    spec = PARTS[part]
    high = np.broadcast_to(_last_cell(config) if spec.high is None else spec.high, shape)
    return spaces.Box(np.full(shape, spec.low, spec.dtype), high.astype(spec.dtype), dtype=spec.dtype)
