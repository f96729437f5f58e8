"""Jumanji's three multi-agent gridworlds on JAX: 8,192 agents in all, and one compiled call a step."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("jumanji", "jax", "numpy")

ROWS = 8192

WAREHOUSES = {16: (2, 5, 6), 32: (3, 11, 9), 64: (2, 21, 30)}
"""By size: rows and columns of shelves, and their height. The nearest to 32 x 32 is 34 x 32."""


def make_cases(agents: int, size: int) -> dict[str, Callable[[], tuple[int, Callable[[], Any]]]]:
    """Return a function for each of the three that makes a batch of worlds."""
    return {
        f"Jumanji {name}": functools.partial(_make, make, actions, agents, size)
        for name, make, actions in (
            ("Connector", _connector, 5),
            ("RobotWarehouse", _robot_warehouse, 5),
            ("LevelBasedForaging", _level_based_foraging, 6),
        )
    }


def _make(make: Callable[[int, int], Any], num_actions: int, agents: int, size: int) -> tuple[int, Callable[[], Any]]:
    import jax  # type: ignore[import-not-found]
    from jumanji.wrappers import VmapAutoResetWrapper  # type: ignore[import-not-found]

    env, worlds = VmapAutoResetWrapper(make(agents, size)), ROWS // agents
    # The memory of a state is reused for the next one, so that no memory is copied in vain.
    play = jax.jit(env.step, donate_argnums=0)
    state, _ = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), worlds))
    rows = np.random.default_rng(0).integers(0, num_actions, (16, worlds, agents), dtype=np.int32)
    actions = itertools.cycle([jax.device_put(row) for row in rows])

    def step() -> None:
        nonlocal state
        state, timestep = play(state, next(actions))
        jax.block_until_ready((state, timestep))

    return worlds, step


def _connector(agents: int, size: int) -> Any:
    from jumanji.environments.routing.connector import Connector  # type: ignore[import-not-found]
    from jumanji.environments.routing.connector.generator import (  # type: ignore[import-not-found]
        RandomWalkGenerator,
    )

    return Connector(RandomWalkGenerator(grid_size=size, num_agents=agents))


def _robot_warehouse(agents: int, size: int) -> Any:
    from jumanji.environments.routing.robot_warehouse import RobotWarehouse  # type: ignore[import-not-found]
    from jumanji.environments.routing.robot_warehouse.generator import (  # type: ignore[import-not-found]
        RandomGenerator,
    )

    rows, columns, height = WAREHOUSES[size]
    return RobotWarehouse(
        RandomGenerator(
            shelf_rows=rows,
            shelf_columns=columns,
            column_height=height,
            num_agents=agents,
            sensor_range=1,
            request_queue_size=agents,
        )
    )


def _level_based_foraging(agents: int, size: int) -> Any:
    from jumanji.environments.routing.lbf import LevelBasedForaging  # type: ignore[import-not-found]
    from jumanji.environments.routing.lbf.generator import RandomGenerator  # type: ignore[import-not-found]

    return LevelBasedForaging(RandomGenerator(grid_size=size, num_agents=agents, num_food=agents // 2, fov=2))
