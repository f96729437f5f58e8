"""A bridge: agents walk to targets on both sides of a river, and the bridge carries one of them at a time.

Run: python -m examples.games.train bridge
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import multigrid
from multigrid import games


class Bridge(multigrid.Game):
    """The free cells between two columns are the bridge; who asks first enters, once nobody is on it."""

    options = {"west": 3, "east": 5}
    parts = {"is_busy": multigrid.PartSpec(np.uint8, "1", 0, 1, "1 while somebody is on the bridge.")}

    training = {
        "walls": "..###..\n.......\n..###..",
        "west": 2,
        "east": 4,
        "num_agents": 3,
        "on_target": "leave",
        "max_cycles": 40,
        "steps": 400_000,
        "expect": "a few minutes on one core; in examples.games.train, all agents arrive.",
    }

    class State(NamedTuple):
        """How many have been let onto the bridge in this step."""

        entering: Annotated[NDArray[np.int64], "E"]

    def begin(w, s, e):
        for i in range(w.location.shape[1]):
            while is_on(s, w.location[e, i, 0]):
                w.location[e, i, 0], w.location[e, i, 1] = games.draw_free_cell(w, e)

    def may_enter(w, s, e, i, x, y):
        if not is_on(s, x) or is_on(s, w.location[e, i, 0]):
            return True
        if s.entering[e] > 0 or is_busy(w, s, e):
            return False
        s.entering[e] += 1
        return True

    def after_moves(w, s, e):
        s.entering[e] = 0

    def write_is_busy(w, s, e, i, out):
        out[0] = is_busy(w, s, e)

    def marks(scene: Any) -> Iterator[games.Mark]:
        for x in range(scene.west, scene.east + 1):
            for y in range(scene.height):
                if not scene.walls[x, y]:
                    yield games.Mark((x, y), "#d7ccc8")


def is_on(s, x):
    """Return whether a column belongs to the bridge."""
    return s.west <= x <= s.east


def is_busy(w, s, e):
    """Return whether an agent is on the bridge."""
    for i in range(w.location.shape[1]):
        if is_on(s, w.location[e, i, 0]) and w.status[e, i] != games.LEFT:
            return True
    return False
