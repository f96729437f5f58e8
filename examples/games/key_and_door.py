"""Key and door: an agent picks up the key, and its carrier alone may pass the door, for a reward that ends the episode.

Run: python -m examples.games.train key_and_door
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid import Game, PartSpec, games

NOBODY, PICK_UP = -1, 5


class KeyAndDoor(Game):
    """An agent picks up the key; the door lets in its carrier alone, and pays 5."""

    actions = ("pick_up",)
    options = {"penalty": 0.01}
    parts = {
        "has_key": PartSpec(np.uint8, "1", 0, 1, "1 if it carries the key."),
        "goal": PartSpec(np.int64, "2", None, None, "the key's cell minus its own, or the door's."),
    }
    targets = False
    training = {"reward": "shared", "max_cycles": 40, "steps": 200_000, "expect": "98 % opened in minutes on one core."}

    class State(NamedTuple):
        """Where things are; the carrier is an agent, or `NOBODY`."""

        key: Annotated[NDArray[np.int64], "E 2"]
        door: Annotated[NDArray[np.int64], "E 2"]
        carrier: Annotated[NDArray[np.int64], "E"]

    def begin(w, s, e):
        s.key[e, 0], s.key[e, 1] = games.draw_free_cell(w, e)
        s.door[e, 0], s.door[e, 1] = s.key[e, 0], s.key[e, 1]
        while s.door[e, 0] == s.key[e, 0] and s.door[e, 1] == s.key[e, 1]:
            s.door[e, 0], s.door[e, 1] = games.draw_free_cell(w, e)
        s.carrier[e] = NOBODY

    def may_enter(w, s, e, i, x, y):
        return x != s.door[e, 0] or y != s.door[e, 1] or s.carrier[e] == i

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            w.rewards[e, i] -= s.penalty
            if w.actions[e, i] == PICK_UP and is_at(w, e, i, s.key) and s.carrier[e] == NOBODY:
                s.carrier[e] = i
            if s.carrier[e] == i and is_at(w, e, i, s.door):
                w.rewards[e, i] += 5
                games.end_episode(w, e)

    def legal(w, s, e, i, action):
        return s.carrier[e] == NOBODY

    def write_has_key(w, s, e, i, out):
        out[0] = s.carrier[e] == i

    def write_goal(w, s, e, i, out):
        cell = s.key if s.carrier[e] == NOBODY else s.door
        out[0], out[1] = cell[e, 0] - w.location[e, i, 0], cell[e, 1] - w.location[e, i, 1]

    def check(w, s, e):
        return NOBODY <= s.carrier[e] < w.location.shape[1]

    def metric_opened(w, s, e):
        return int(s.carrier[e] != NOBODY and is_at(w, e, s.carrier[e], s.door))

    def marks(scene):
        yield games.Mark(scene.door, "#8d6e63", "D")
        if scene.carrier == NOBODY:
            yield games.Mark(scene.key, "#ffd54f", "K")


def is_at(w, e, i, cell):
    """Return whether agent i is at a cell, which each world has."""
    return w.location[e, i, 0] == cell[e, 0] and w.location[e, i, 1] == cell[e, 1]
