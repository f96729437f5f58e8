"""Pursuit: the prey walks at random, and is caught by two or more agents that stand beside it together.

Run: python -m examples.games.train pursuit
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import multigrid
from multigrid import games


class Pursuit(multigrid.Game):
    """All who stand beside the prey when there are `needed` of them get 1, and there is another prey."""

    options = {"needed": 2, "speed": 0.5}
    parts = {"prey": multigrid.PartSpec(np.int64, "2", None, None, "the prey's cell minus its own.")}
    targets = False
    training = {
        "size": 5,
        "num_agents": 3,
        "max_cycles": 40,
        "steps": 400_000,
        "expect": "a few minutes on one core; examples.games.train ends with 15 preys caught an episode.",
    }

    class State(NamedTuple):
        """The prey's cell, and how many were caught in this episode."""

        prey: Annotated[NDArray[np.int64], "E 2"]
        caught: Annotated[NDArray[np.int64], "E"]

    def begin(w, s, e):
        s.prey[e, 0], s.prey[e, 1] = games.draw_free_cell(w, e)

    def may_enter(w, s, e, i, x, y):
        return x != s.prey[e, 0] or y != s.prey[e, 1]

    def after_moves(w, s, e):
        beside = 0
        for i in range(w.location.shape[1]):
            beside += distance(w, s, e, i) == 1
        if beside >= s.needed:
            s.caught[e] += 1
            for i in range(w.location.shape[1]):
                w.rewards[e, i] = distance(w, s, e, i) == 1
            s.prey[e, 0], s.prey[e, 1] = games.draw_free_cell(w, e)
        elif games.draw_float(w, e) < s.speed:
            flee(w, s, e)

    def write_prey(w, s, e, i, out):
        out[0], out[1] = s.prey[e, 0] - w.location[e, i, 0], s.prey[e, 1] - w.location[e, i, 1]

    def metric_caught(w, s, e):
        return s.caught[e]

    def marks(scene: Any) -> Iterator[games.Mark]:
        yield games.Mark(scene.prey, "#a5d6a7", "P")


def distance(w, s, e, i):
    """Return the number of steps from agent i to the prey."""
    return abs(w.location[e, i, 0] - s.prey[e, 0]) + abs(w.location[e, i, 1] - s.prey[e, 1])


def flee(w, s, e):
    """Move the prey to a random cell beside it, if that is free."""
    step = games.DIRECTIONS[games.draw_integer(w, e, 0, 4)]
    x, y = s.prey[e, 0] + step[0], s.prey[e, 1] + step[1]
    if games.is_free(w, e, x, y):
        s.prey[e, 0], s.prey[e, 1] = x, y
