"""ini/multigrid, whose package is named multigrid too: its empty room, with agents that turn and drive."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("multigrid", "gymnasium", "numba", "numpy")


def contenders(agents: int, size: int) -> dict[str, Callable[[], tuple[int, Callable[[], Any]]]]:
    """Return what makes an empty room of that size, walls included."""
    return {"ini/multigrid": functools.partial(_made, agents, size)}


def _made(agents: int, size: int) -> tuple[int, Callable[[], Any]]:
    # By name, for what an import statement of this name means here is not what it means there.
    env = importlib.import_module("multigrid.envs").EmptyEnv(
        size=size,
        agents=agents,
        agent_start_pos=None,
        agent_start_dir=None,
        max_steps=10**9,
        success_termination_mode="all",
    )
    env.reset(seed=0)
    drawn = np.random.default_rng(0).integers(0, 7, (64, agents)).tolist()
    actions = itertools.cycle([dict(enumerate(row)) for row in drawn])

    def play() -> None:
        _, _, terminations, _, _ = env.step(next(actions))
        if all(terminations.values()):
            env.reset()

    return 1, play
