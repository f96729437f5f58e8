"""Level-based foraging: agents that see two cells far and load food beside them; half as much food as agents."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("lbforaging", "gymnasium", "numpy")


def make_cases(agents: int, size: int) -> dict[str, Callable[[], tuple[int, Callable[[], Any]]]]:
    """Return a function that makes a field of that size."""
    return {"lb-foraging": functools.partial(_make, agents, size)}


def _make(agents: int, size: int) -> tuple[int, Callable[[], Any]]:
    from lbforaging.foraging.environment import ForagingEnv  # type: ignore[import-not-found]

    env = ForagingEnv(
        players=agents,
        min_player_level=1,
        max_player_level=2,
        min_food_level=1,
        max_food_level=None,
        field_size=(size, size),
        max_num_food=agents // 2,
        sight=2,
        max_episode_steps=10**9,
        force_coop=False,
    )
    env.reset(seed=0)
    actions = itertools.cycle(np.random.default_rng(0).integers(0, 6, (64, agents)).tolist())

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(next(actions))
        if terminated or truncated:
            env.reset()

    return 1, step
