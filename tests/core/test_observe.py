"""Observations: of the map that is played, and of the state that a world is brought to."""

from __future__ import annotations

from typing import get_args

import numpy as np

import played
from multigrid import Action, GridConfig, parallel_env
from multigrid.config import Part
from multigrid.core.worlds import Worlds


def test_everything_seen_is_of_the_episodes_own_map() -> None:
    """With a pool, the view, the walls and the action mask are those of the map that is played, whose walls stop."""
    maps = np.zeros((2, 4, 3), dtype=bool)
    maps[1, 2, 1] = True
    env = parallel_env(walls=maps, num_agents=1, observe=("view", "walls", "action_mask"), view_radius=1)
    layout = {"agents": [[1, 1]], "targets": [[0, 0]]}
    for index in (1, 0, 1):
        seen = env.reset(options={"map": index, **layout})[0]["agent_0"]
        assert seen["view"][0].tolist() == [[0, 0, 0], [0, 0, 0], [0, index, 0]]
        assert seen["walls"].tolist() == maps[index].tolist()
        assert seen["action_mask"].tolist() == [1 - index, 1, 1, 1]
        env.step({"agent_0": Action.RIGHT})
        assert env.state()[0, :2].tolist() == [2 - index, 1]


def test_a_snapshot_is_restored_with_what_is_seen() -> None:
    """A world brought to a snapshot says and shows at once what the world that it was taken of does."""
    config = GridConfig(walls=played.POOL, num_agents=3, observe=get_args(Part))
    *_, world = played.play(config, [1, 2], steps=9)
    other = Worlds(config)
    other.restore(np.array([0]), [world.snapshot(1)])
    np.testing.assert_equal(other.snapshot(0), world.snapshot(1))
    for mine, theirs in zip(other.observation_arrays, world.observation_arrays, strict=True):
        np.testing.assert_array_equal(mine[0], theirs[1])
