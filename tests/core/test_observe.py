"""Observations: of the map that is played, and of the state that a world is brought to."""

from __future__ import annotations

from typing import get_args

import numpy as np

import episode_digest
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


def test_the_offset_is_the_target_seen_from_the_agent() -> None:
    """The offset is the target's cell minus the agent's, scaled by the longest there is; on the target it is 0."""
    layout = {"agents": [[6, 1], [1, 1]], "targets": [[0, 3], [2, 1]]}
    settings = {"size": (7, 4), "num_agents": 2, "observe": ("offset",), "on_target": "leave"}
    plain, flat = parallel_env(**settings), parallel_env(**settings, flatten=True)
    for env, expected in ((plain, [[-6, 2], [1, 0]]), (flat, [[-1, 2 / 3], [1 / 6, 0]])):
        seen = [one if env is flat else one["offset"] for one in env.reset(options=layout)[0].values()]
        np.testing.assert_array_equal(seen, np.array(expected, np.float32 if env is flat else np.int64))
        observations, *_ = env.step(dict.fromkeys(env.agents, Action.RIGHT))
        last = observations["agent_1"] if env is flat else observations["agent_1"]["offset"]
        assert last.tolist() == [0, 0], "it leaves"
    corridor = parallel_env(size=(1, 3), num_agents=1, observe=("offset",), flatten=True)
    seen, _ = corridor.reset(options={"agents": [[0, 2]], "targets": [[0, 0]]})
    assert seen["agent_0"].tolist() == [0, -1]


def test_an_agent_that_has_left_is_absent_in_the_flat_vector_too() -> None:
    """With flatten, cells are scaled by the grid's longest way each, and those of an agent that has left are -1."""
    env = parallel_env(size=(5, 3), num_agents=2, observe=("others",), on_target="leave", flatten=True)
    seen, _ = env.reset(options={"agents": [[0, 0], [3, 1]], "targets": [[4, 2], [4, 1]]})
    assert seen["agent_0"].tolist() == [3 / 4, 1 / 2]
    for _ in range(2):
        seen, *_ = env.step(dict.fromkeys(env.agents, Action.RIGHT))
        assert seen["agent_0"].tolist() == [-1, -1]


def test_a_snapshot_is_restored_with_what_is_seen() -> None:
    """A world brought to a snapshot says and shows at once what the world that it was taken of does."""
    config = GridConfig(walls=episode_digest.POOL, num_agents=3, observe=get_args(Part))
    *_, world = episode_digest.play(config, [1, 2], steps=9)
    other = Worlds(config)
    other.restore(np.array([0]), [world.snapshot(1)])
    np.testing.assert_equal(other.snapshot(0), world.snapshot(1))
    for mine, theirs in zip(other.observation_arrays, world.observation_arrays, strict=True):
        np.testing.assert_array_equal(mine[0], theirs[1])


def test_an_agent_that_is_placed_is_shown_in_its_new_cell() -> None:
    """The observations follow an agent, and its target, that are placed between two steps, and one that walks."""
    world = Worlds(GridConfig(size=(6, 3), num_agents=1, on_target="stay", observe=("offset",)))
    world.set_generator(0, np.random.default_rng(7))
    world.reset()
    world.place(np.array([4, 0]), np.array([1, 2]))
    assert [part[0, 0].tolist() for part in world.observation_arrays] == [[-3, 2]]
    world.walk(np.array([-2, 9]))
    assert [part[0, 0].tolist() for part in world.observation_arrays] == [[-1, 0]]
