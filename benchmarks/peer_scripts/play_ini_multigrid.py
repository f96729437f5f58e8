"""ini/multigrid, whose package is named multigrid too: its empty room, with agents that turn and drive."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("multigrid", "gymnasium", "numba", "numpy")


def make_cases(agents: int, size: int) -> dict[str, Callable[[], tuple[int, Callable[[], Any]]]]:
    """Return a function that makes an empty room of that size, walls included."""
    return {"ini/multigrid": functools.partial(_make, agents, size)}


def _make(agents: int, size: int) -> tuple[int, Callable[[], Any]]:
    # By name, for type checkers would look for it in this package.
    env = importlib.import_module("multigrid.envs").EmptyEnv(
        size=size,
        agents=agents,
        agent_start_pos=None,
        agent_start_dir=None,
        max_steps=10**9,
        success_termination_mode="all",
    )
    env.reset(seed=0)
    rows = np.random.default_rng(0).integers(0, 7, (64, agents)).tolist()
    actions = itertools.cycle([dict(enumerate(row)) for row in rows])

    def step() -> None:
        _, _, terminations, _, _ = env.step(next(actions))
        if all(terminations.values()):
            env.reset()

    return 1, step
