"""Robot warehouse: robots that turn and drive, and carry shelves, with its flattened observations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("rware", "gymnasium", "numpy")

WAREHOUSES = {16: (5, 6, 2), 32: (11, 9, 3), 64: (21, 30, 2)}
"""By size: columns of shelves, their height, and rows of them. The nearest to 32 x 32 is 34 x 32."""


def make_cases(agents: int, size: int) -> dict[str, Callable[[], tuple[int, Callable[[], Any]]]]:
    """Return a function that makes a warehouse of about that size."""
    return {"rware": functools.partial(_make, agents, size)}


def _make(agents: int, size: int) -> tuple[int, Callable[[], Any]]:
    from rware.warehouse import RewardType, Warehouse  # type: ignore[import-not-found]

    columns, height, rows = WAREHOUSES[size]
    env = Warehouse(
        shelf_columns=columns,
        column_height=height,
        shelf_rows=rows,
        n_agents=agents,
        msg_bits=0,
        sensor_range=1,
        request_queue_size=agents,
        max_inactivity_steps=None,
        max_steps=None,
        reward_type=RewardType.INDIVIDUAL,
    )
    env.reset(seed=0)
    actions = itertools.cycle(np.random.default_rng(0).integers(0, 5, (64, agents)).tolist())
    return 1, lambda: env.step(next(actions))
