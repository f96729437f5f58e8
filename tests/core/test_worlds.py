"""Worlds: maps and layouts of their own, states that are possible, and arrays that kernels leave clean."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import episode_digest
from multigrid import GridConfig, MultiGridEnv, parallel_env, vector_env
from multigrid.core.kernels import BUILT_IN
from multigrid.core.worlds import NO_SEED, Worlds
from multigrid.maps import parse_map
from multigrid.runtime.compiled import find_plain

CORRIDOR, MIRRORED = "a....B\n..##..\nb.#..A", "B....a\n..##..\nA..#.b"


def test_letters_set_starts_and_targets() -> None:
    """A picture's letters are the layout of every episode, agents in alphabetical order, and nothing is drawn."""
    env = parallel_env(walls=CORRIDOR)
    assert (env.config.num_agents, env.config.width, env.config.height) == (2, 6, 3)
    env.reset(seed=0)
    before = env.np_random.bit_generator.state
    for _ in range(3):
        env.reset()
        assert env.state().tolist() == [[0, 0, 5, 2], [0, 2, 5, 0]]
    assert env.np_random.bit_generator.state == before
    assert env.config.components[0, 2, 1] == env.config.components[0, 2, 2] == 0
    walls = np.array([[False, True], [False, False], [False, False]])
    assert GridConfig(walls="...\n#..") == GridConfig(walls=walls)


def test_python_and_the_kernel_compute_the_same_moves() -> None:
    """The moves of a small map, which Python computes where nothing is compiled, are those of the compiled kernel."""
    worlds = Worlds(GridConfig(walls=[CORRIDOR, MIRRORED]))
    moves, compiled = worlds.arrays.moves.copy(), BUILT_IN.kernels.build_move_table
    for prepare in (compiled, types.SimpleNamespace(py_func=find_plain(compiled), entry=None)):
        worlds.arrays.moves[...] = -1
        rules = BUILT_IN._replace(kernels=types.SimpleNamespace(build_move_table=prepare))
        rules.prepare_arrays(worlds.arrays, worlds._address_table)
        assert (worlds.arrays.moves == moves).all()


def test_worlds_begin_the_streams_of_their_seeds() -> None:
    """A seed begins a stream, `NO_SEED` continues one, and a world that has none yet gets a random seed."""
    config = GridConfig(size=(4, 3), delays=0.2)
    worlds = Worlds(config, 3)
    worlds.reset(seeds=np.array([5, NO_SEED, 2**70], object))
    seeds = worlds.seeds.tolist()
    assert seeds[::2] == [5, 2**70]
    singles = [Worlds(config) for _ in seeds]
    for world, seed in zip(singles, seeds, strict=True):
        world.reset(seeds=np.array([seed], object))
    worlds.reset(np.array([2, 1]), np.array([7, NO_SEED]))
    singles[1].reset()
    singles[2].reset(seeds=np.array([7]))
    assert worlds.seeds.tolist() == [5, seeds[1], 7]
    for e, world in enumerate(singles):
        for name in ("streams", "delay_streams", "location", "target"):
            assert (getattr(world.arrays, name)[0] == getattr(worlds.arrays, name)[e]).all(), (e, name)


def test_a_pool_of_pictures_draws_one_of_their_layouts() -> None:
    """Each episode takes map and layout of one picture of the pool, and over many episodes of every one."""
    env = parallel_env(walls=[CORRIDOR, MIRRORED], observe=("agent", "walls"))
    layouts, seen = {1: [[0, 0, 5, 2], [0, 2, 5, 0]], 0: [[5, 0, 0, 2], [5, 2, 0, 0]]}, set()
    for k in range(40):
        walls = env.reset(seed=3 if k == 0 else None)[0]["agent_0"]["walls"]
        assert walls[2, 2] + walls[3, 2] == 1
        assert env.state().tolist() == layouts[walls[2, 2]]
        seen.add(int(walls[2, 2]))
    assert seen == {0, 1}


def test_options_choose_the_map() -> None:
    """options["map"] sets the map of a pool, with or without a layout, and the map is not drawn then."""
    maps = np.zeros((3, 4, 3), dtype=bool)
    maps[1, 1, 1] = maps[2, 2, 2] = True
    env = parallel_env(walls=maps, num_agents=2, observe=("walls",))
    for index in (2, 1, np.int64(0)):
        observations, _ = env.reset(seed=1, options={"map": index})
        assert (observations["agent_1"]["walls"] == maps[index]).all()
    one_map = parallel_env(walls=maps[2], num_agents=2)
    one_map.reset(seed=1)
    env.reset(seed=1, options={"map": 2})
    assert env.state().tolist() == one_map.state().tolist()
    layout = {"agents": [[1, 1], [0, 0]], "targets": [[3, 0], [1, 0]]}
    env.reset(options={"map": 2, **layout})
    assert env.state().tolist() == [[1, 1, 3, 0], [0, 0, 1, 0]]
    before = env.get_state()
    for options, complaint in (
        ({"map": 1, **layout}, r"location of agent_0 .* \[1, 1\], which is a wall"),
        ({"map": 3}, r"options\['map'\] is 3, but there are 3 maps"),
        ({"map": -1}, r"options\['map'\] is -1; expected an integer of at least 0"),
        (layout, "a layout for one of 3 maps; say which"),
    ):
        with pytest.raises(ValueError, match=complaint):
            env.reset(options=options)
        np.testing.assert_equal(env.get_state(), before)


PARTED = "..#..#\n..#.#.\n..#..#\n..#..."


@pytest.mark.parametrize("many", [False, True], ids=["one world", "vector env"])
@pytest.mark.parametrize(
    ("agent", "field", "changed"),
    [
        (0, "target", [1, 0, 4, 0]),
        (1, "target", [1, 1, 3, 3]),
        (2, "target", [4, 3, 0, 2]),
        (2, "location", [5, 1, 5, 1]),
        (2, "location", [2, 0, 4, 3]),
        (1, "target", [0, 2, 1, 1]),
    ],
)
def test_states_of_cells_out_of_reach_are_refused(agent: int, field: str, changed: list[int], many: bool) -> None:
    """An agent in a wall or in a cell that is cut off, or a target behind walls or of another agent, is refused."""
    config = GridConfig(walls=PARTED, num_agents=3, on_target="stay", allow_stay=True)
    env: Any = vector_env(1, config) if many else MultiGridEnv(config)
    env.reset(seed=0, options={"agents": [[0, 0], [0, 1], [3, 3]], "targets": [[1, 1], [0, 3], [4, 3]]})
    env.step(np.zeros(3, dtype=int) if many else dict.fromkeys(env.agents, 0))
    state, before = env.get_state(), env.get_state()
    state["location"][..., agent, :], state["target"][..., agent, :] = changed[:2], changed[2:]
    state["distances"][..., agent] = abs(changed[0] - changed[2]) + abs(changed[1] - changed[3])
    with pytest.raises(ValueError, match=f"{field} in the state"):
        env.set_state(state)
    np.testing.assert_equal(env.get_state(), before)
    env.set_state(before)


def test_an_agent_may_stand_where_another_has_left() -> None:
    """Under *leave* a state in which an agent stands in the cell of one that has left is a state of the game."""
    env = MultiGridEnv(GridConfig(size=(4, 1), num_agents=2, on_target="leave"))
    env.reset(options={"agents": [[1, 0], [0, 0]], "targets": [[2, 0], [3, 0]]})
    for _ in range(2):
        env.step(dict.fromkeys(env.agents, 0))
    state = env.get_state()
    assert state["location"].tolist() == [[2, 0], [2, 0]]
    env.reset(seed=1)
    env.set_state(state)
    np.testing.assert_equal(env.get_state(), state)


NARROW = parse_map("a.B\nb.A")


@pytest.mark.parametrize(
    ("change", "error", "complaint"),
    [
        ({"walls": NARROW.walls.astype(int)}, TypeError, "walls is of int64; expected a boolean array"),
        ({"agents": [[0, 0], [0, 0]]}, ValueError, "agent_0 and agent_1 in the agents of walls have the same"),
        ({"agents": [[0, 0], [3, 0]]}, ValueError, r"agent_1 in the agents of walls is \[3, 0\], outside"),
        ({"agents": [[0, 0], [-1, -1]]}, ValueError, r"is \[-1, -1\], outside the 3 x 2 grid"),
        ({"agents": [[0, 0], [2, 0]]}, ValueError, r"agent_1 starts on its own target, \[2, 0\]"),
        ({"agents": [[0.5, 0], [1, 0]]}, TypeError, "the agents of walls is of float64"),
        ({"targets": [[2, 1]]}, ValueError, r"the targets of walls has the shape \(1, 2\); expected"),
        ({"targets": []}, ValueError, r"the targets of walls has the shape \(0,\); expected"),
        ({"agents": []}, ValueError, r"the targets of walls has the shape \(2, 2\); expected"),
    ],
)
@pytest.mark.parametrize("stacked", [False, True])
def test_pictures_made_by_hand_are_checked(
    change: dict[str, Any], error: type[Exception], complaint: str, stacked: bool
) -> None:
    """A ParsedMap that no parser has read, or a stack of them, is checked like a layout by hand."""
    picture = NARROW._replace(**change)
    if stacked:
        picture = type(picture)(*(np.array([field]) for field in picture))
    with pytest.raises(error, match=complaint):
        GridConfig(walls=picture)


@pytest.mark.parametrize(
    "config", list(episode_digest.configs()), ids=lambda config: f"{config.collisions}-{config.on_target}"
)
def test_scratch_is_left_clean(config: GridConfig) -> None:
    """After every reset and step no agent, claim or count is left in the arrays that kernels share between worlds."""
    for world in episode_digest.play(config, [1, 2, 3], steps=60):
        assert (world.arrays.occupant == -1).all()
        assert (world.arrays.first_requester == -1).all()
        assert not world.arrays.agent_grid.any()
        assert not world.arrays.component_agents.any()
