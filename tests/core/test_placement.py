"""Layouts: drawn ones against an oracle and in thousands on crowded maps, and the room there is."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigrid import GridConfig
from multigrid.core.worlds import Worlds
from multigrid.runtime import pcg64
from worldgen import components, oracle_layout, walls_of

LAYOUTS = 800


# No map is square, and none looks the same when it is turned or mirrored. After each the cells that agents can use.
MAPS = {
    "a domino": ("#. #. ##", 2),
    "three in a row": ("... ###", 3),
    "components of 1, 2, 3 and 4 cells": (".#..#. ###### ...#.. #####. .####.", 2 + 3 + 4),
    "dominoes and single cells": ("..#.#. ##.#.# ..#.#. .#.### ..#..#", 2 + 5 + 2),
    "a ring and a bar": ("...#. .#.#. ...##", 8 + 2),
    "a winding corridor": ("....... ######. ....... .###### ..####.", 7 + 1 + 7 + 1 + 2),
    "an open field with a pillar": ("..... .#... ..... .....", 19),
    "a comb": (".#.#.#. .#.#.#. ......# #####..", 12 + 2 + 2),
}
MAPS = {name: (walls_of(picture), room) for name, (picture, room) in MAPS.items()}


def drawn(config, seed):
    """Return the first layout of a seed, in a world that follows one of the same seed, and the stream's state."""
    world = Worlds(config, 2)
    world.reset(seeds=np.array([seed, seed]))
    arrays = world.arrays
    cells = [list(map(tuple, part[1].tolist())) for part in (arrays.location, arrays.target)]
    return (int(arrays.map_index[1]), *cells), pcg64.read_stream(arrays.streams[1])


def assert_like_the_oracle(config, maps, seed):
    """Compare one drawn layout, and where the stream then is, with the oracle's."""
    stream = np.random.default_rng(seed)
    expected = oracle_layout(maps, config.num_agents, stream)
    assert drawn(config, seed) == (expected, stream.bit_generator.state)


@pytest.mark.parametrize("name", MAPS)
def test_drawn_layouts_equal_the_oracle(name):
    """On every map, with one agent or few or all that fit, the draws are those of the prose, one by one."""
    one_map, room = MAPS[name]
    for num_agents in sorted({1, 2, room - 1, room}):
        config = GridConfig(walls=one_map, num_agents=num_agents)
        for seed in range(15):
            assert_like_the_oracle(config, [one_map], seed)


@given(size=st.tuples(*[st.integers(1, 5)] * 2), crowd=st.floats(0, 1), seed=st.integers(0), num_maps=st.integers(1, 2))
@settings(max_examples=150, derandomize=True)
def test_drawn_layouts_on_any_map_equal_the_oracle(size, crowd, seed, num_maps):
    """On random maps, alone or in a pool, crowded or not, the draws are those of the prose."""
    maps = list(np.random.default_rng(seed).random((num_maps, *size)) < 0.5)
    room = min(sum(len(cells) > 1 for cells in components(one).values()) for one in maps)
    if room == 0:
        return
    config = GridConfig(walls=maps, num_agents=1 + round(crowd * (room - 1)))
    assert_like_the_oracle(config, maps, seed % 1000)


def test_a_grid_without_walls_equals_the_oracle():
    """Without walls x comes from the width and y from the height, whatever the shape, up to a full board."""
    for size, num_agents in [((4, 3), 1), ((3, 4), 5), ((6, 2), 11), ((2, 5), 10), ((1, 2), 2)]:
        config = GridConfig(size=size, num_agents=num_agents)
        for seed in range(15):
            assert_like_the_oracle(config, [np.zeros(size, bool)], seed)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("spare", [0, 1], ids=["full", "nearly full"])
def test_crowded_maps_lay_out(name, spare):
    """Hundreds of layouts a map come to an end, and each is one that the rules allow."""
    one_map, room = MAPS[name]
    num_agents = room - spare
    world = Worlds(GridConfig(walls=one_map, num_agents=num_agents), LAYOUTS)
    world.reset(seeds=np.arange(LAYOUTS))
    reach = components(one_map)
    layouts = set()
    for agents, targets in zip(world.arrays.location.tolist(), world.arrays.target.tolist(), strict=True):
        agents, targets = list(map(tuple, agents)), list(map(tuple, targets))  # noqa: PLW2901 (the same, as keys)
        assert len(set(agents)) == len(set(targets)) == num_agents
        for at, to in zip(agents, targets, strict=True):
            assert len(reach[at]) > 1
            assert to in reach[at] - {at}
        layouts.add((*agents, *targets))
    assert len(layouts) > 1


@pytest.mark.parametrize("name", ["a comb", "components of 1, 2, 3 and 4 cells", "an open field with a pillar"])
@pytest.mark.parametrize("collisions", ["symmetric", "none"])
@pytest.mark.parametrize("held", [False, True], ids=["inside", "held"])
def test_new_targets_under_restart(name, collisions, held):
    """Who arrives gets, after all moves and in agent order, a drawn free cell in reach that is not its own."""
    one_map, _ = MAPS[name]
    reach = components(one_map)
    config = GridConfig(
        walls=one_map, num_agents=4, on_target="restart", collisions=collisions, max_cycles=None, observe=("target",)
    )
    world = Worlds(config)
    if held:
        world.set_generator(0, np.random.default_rng(4))
    world.reset(seeds=None if held else np.array([4]))
    arrays = world.arrays
    actions = np.random.default_rng(4)
    arrivals = 0
    for _ in range(400):
        stream = np.random.default_rng()
        stream.bit_generator.state = world.snapshot(0)["np_random"]
        expected = arrays.target[0].tolist()
        arrays.actions[0] = actions.integers(4, size=4)
        world.step()
        for i, at in enumerate(arrays.location[0].tolist()):
            if at == expected[i]:
                arrivals += 1
                while tuple(expected[i]) not in reach[tuple(at)] - {tuple(at)}:
                    expected[i] = [int(stream.integers(side)) for side in one_map.shape]
                assert arrays.rewards[0, i] == 1
        assert arrays.target[0].tolist() == expected
        assert str(world.snapshot(0)["np_random"]) == str(stream.bit_generator.state)
        assert arrays.distances[0].tolist() == np.abs(arrays.location[0] - arrays.target[0]).sum(axis=1).tolist()
    assert arrivals > 20


@pytest.mark.parametrize("name", MAPS)
def test_one_agent_too_many(name):
    """The room is the number of cells that can reach another, and one agent more is refused with the numbers."""
    one_map, room = MAPS[name]
    free = int((~one_map).sum())
    apart = f": {free - room} of its {free} free cells can reach no other" if free > room else ""
    size = f"{one_map.shape[0]} x {one_map.shape[1]}"
    numbers = f"num_agents is {room + 1}, but the map ({size}) has room for {room}{apart}; use fewer agents"
    with pytest.raises(ValueError, match=re.escape(numbers)):
        GridConfig(walls=one_map, num_agents=room + 1)
    assert GridConfig(walls=one_map, num_agents=room).num_agents == room


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": (4, 3), "num_agents": 13}, "num_agents is 13, but the grid (4 x 3) has room for 12; use"),
        ({"size": 1, "num_agents": 1}, "num_agents is 1, but the grid (1 x 1) has room for 0: 1 of its 1 free cells"),
        ({"walls": ["...\n...", "..#\n###", "...\n###"], "num_agents": 3}, "map 1 (3 x 2) has room for 2; use"),
    ],
)
def test_grids_and_pools_have_room(fields, message):
    """A grid without walls has room for as many agents as cells, one cell for none; a pool as its narrowest map."""
    with pytest.raises(ValueError, match=re.escape(message)):
        GridConfig(**fields)
