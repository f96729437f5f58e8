"""Tag in two teams: an agent of the first team tags those of the second beside it; one team gets what the other loses.

Run: python -m examples.games.train tag
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import multigrid
from multigrid import games


class Tag(multigrid.Game):
    """The first `chasers` agents tag the others, who are put elsewhere; the rewards of a step sum to zero."""

    options = {"chasers": 2}
    parts = {"is_chaser": multigrid.PartSpec(np.uint8, "1", 0, 1, "1 if it is a chaser.")}
    targets = False
    training = {
        "size": 6,
        "num_agents": 4,
        "max_cycles": 40,
        "steps": 600_000,
        "expect": "a few minutes on one core; both teams learn, and examples.games.train ends with 10 tags an episode.",
    }

    class State(NamedTuple):
        """The number of tags in this episode."""

        tags: Annotated[NDArray[np.int64], "E"]

    def after_moves(w, s, e):
        for i in range(s.chasers):
            for j in range(s.chasers, w.location.shape[1]):
                apart = abs(w.location[e, i, 0] - w.location[e, j, 0]) + abs(w.location[e, i, 1] - w.location[e, j, 1])
                if apart == 1:
                    w.rewards[e, i] += 1
                    w.rewards[e, j] -= 1
                    w.location[e, j, 0], w.location[e, j, 1] = games.draw_free_cell(w, e)
                    s.tags[e] += 1

    def write_is_chaser(w, s, e, i, out):
        out[0] = i < s.chasers

    def metric_tags(w, s, e):
        return s.tags[e]

    def marks(scene: Any) -> Iterator[games.Mark]:
        for cell in scene.agents[: scene.chasers]:
            yield games.Mark(cell, "#ef9a9a")
