"""POGEMA's PettingZoo form, on an empty map, with a new target for every agent that arrives."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("pogema", "numpy")


def make_cases(agents: int, size: int) -> dict[str, Callable[[], tuple[int, Callable[[], Any]]]]:
    """Return functions that make POGEMA under two of its collision rules, and with a smaller view."""
    return {
        "POGEMA priority": functools.partial(_make, agents, size, "priority"),
        "POGEMA soft": functools.partial(_make, agents, size, "soft"),
        "POGEMA priority, r = 2": functools.partial(_make, agents, size, "priority", obs_radius=2),
    }


def _make(agents: int, size: int, rule: str, **settings: Any) -> tuple[int, Callable[[], Any]]:
    from pogema import GridConfig, pogema_v0  # type: ignore[import-not-found]

    config = GridConfig(
        num_agents=agents,
        size=size,
        density=0.0,
        collision_system=rule,
        on_target="restart",
        integration="PettingZoo",
        max_episode_steps=10**9,
        seed=0,
        **settings,
    )
    env = pogema_v0(config)
    env.reset()
    rows = np.random.default_rng(0).integers(0, 5, (64, agents)).tolist()
    actions = itertools.cycle([dict(zip(env.possible_agents, row, strict=True)) for row in rows])
    return 1, lambda: env.step(next(actions))
