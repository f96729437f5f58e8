"""Lists of targets in the kernels: which target follows, which states have lists, and that all is as before without."""

import json
from pathlib import Path

import numpy as np
import pytest

import judged
from multigrid import GridConfig, parallel_env, vector_env
from multigrid.core.worlds import Worlds
from multigrid.maps._target_lists import Layout
from multigrid.maps._text import ParsedMap
from worldgen import COLLISIONS, components, some_walls

MAP = "...#.\n.#...\n....."
STAY = 4
POGEMA = json.loads((Path(__file__).parents[1] / "golden" / "pogema_lists.json").read_text())
ALONE = GridConfig(walls=MAP, num_agents=1, on_target="restart", allow_stay=True)


def begun(cells):
    """A world whose only agent begins in a corner, with a list of targets."""
    world = Worlds(ALONE)
    world.reset(maps=np.array([0]), layouts=Layout(np.array([[[0, 0, *cells[0]]]]), np.array([[cells]])))
    return world


def test_targets_follow_in_order_and_the_list_begins_again():
    """After the last target of a list comes its first one, again and again."""
    world = begun([(1, 0), (2, 0), (1, 0), (0, 0)])
    for action, target in zip([0, 0, 2, 2] * 3, [(2, 0), (1, 0), (0, 0), (1, 0)] * 3, strict=True):
        world.arrays.actions[:] = action
        world.step()
        assert tuple(world.arrays.target[0, 0].tolist()) == target
        assert world.arrays.arrived.all()
    assert world.arrays.arrivals.item() == 12


@pytest.mark.parametrize("cells", [[(0, 0)], [(0, 0), (0, 0), (0, 0)]], ids=len)
def test_a_repeated_target_is_reached_again_by_standing_there(cells):
    """Who stands on its next target, from the reset or after an arrival, arrives in the next step if it stays."""
    world = begun(cells)
    results = world.arrays.arrivals, world.arrays.rewards, world.arrays.distances
    for action, expected in [*((STAY, [step, 1, 0]) for step in range(1, 6)), (0, [5, 0, 1])]:
        world.arrays.actions[:] = action
        world.step()
        assert [one.item() for one in results] == expected


@pytest.mark.parametrize("autoreset", [False, True])
def test_lists_end_with_their_episode(autoreset, monkeypatch):
    """After a reset without a layout by hand, targets are drawn as in worlds that never had lists."""
    monkeypatch.setenv("MULTIGRID_CHECK", "0")  # the last step begins from arrays that no game has
    config = GridConfig(walls=MAP, num_agents=2, on_target="restart", allow_stay=True, max_cycles=3)
    listed, plain = (Worlds(config, 3, autoreset=autoreset) for _ in range(2))
    for world in (listed, plain):
        world.reset(seeds=np.arange(3))
    layout, lists = np.array([[[0, 0, 0, 0], [4, 0, 4, 0]]] * 3), np.array([[[[0, 0], [-1, -1]], [[4, 0], [4, 1]]]] * 3)
    listed.reset(maps=np.zeros(3, np.int64), layouts=Layout(layout, lists))
    plain.reset(maps=np.zeros(3, np.int64), layouts=Layout(layout, None))
    for world in (listed, plain):
        world.arrays.steps[:] = 2
        world.arrays.actions[:] = 1  # off the targets, so that nothing is drawn in this step
        world.step()
        assert world.arrays.episode_over.all()
    random = np.random.default_rng(3)
    for world in () if autoreset else (listed, plain):
        world.reset_ended()
    for _ in range(40):
        actions = random.integers(0, 5, (3, 2))
        for world in (listed, plain):
            world.arrays.actions[:] = actions
            world.step()
        for name in ("location", "target", "arrivals", "streams"):
            assert (getattr(listed.arrays, name) == getattr(plain.arrays, name)).all(), name
    assert "target_lists" not in listed.snapshot(1)


def test_arrays_grow_only_for_lists():
    """Without lists there are no arrays of them; longer ones later keep those of other worlds."""
    world = Worlds(ALONE, 2)
    world.reset()
    assert world.arrays.target_lists.size == world.arrays.list_lengths.size == 0
    for e, length, room in ((0, 2, 2), (1, 5, 5), (1, 3, 5)):
        lists = np.array([[[[4, y % 3] for y in range(length)]]])
        world.reset(np.array([e]), maps=np.array([0]), layouts=Layout(np.array([[[0, 0, 4, 0]]]), lists))
        assert world.arrays.target_lists.shape == (2, 1, room, 2)
        assert world.arrays.list_lengths[e].item() == length
    assert world.arrays.target_lists[1, 0].tolist() == [[4, 0], [4, 1], [4, 2], [-1, -1], [-1, -1]]
    assert world.snapshot(0)["target_lists"].tolist() == [[[4, 0], [4, 1]]]
    assert world.snapshot(1)["target_lists"].tolist() == [[[4, 0], [4, 1], [4, 2]]]
    assert world.snapshot_many(np.array([0]))["target_lists"].shape == (1, 1, 2, 2)


@pytest.mark.parametrize("collisions", COLLISIONS)
@pytest.mark.parametrize("reward", ["individual", "shared"])
def test_play_is_that_of_the_reference(collisions, reward):
    """Whole episodes with lists of different lengths are the reference's, and nothing is drawn."""
    random = np.random.default_rng(7)
    for seed in range(8):
        walls = some_walls(6, 4, 0.15, seed)
        free = np.array(sorted(max(components(walls).values(), key=len)))
        number = int(random.integers(1, min(6, len(free))))
        rules = {"on_target": "restart", "collisions": collisions, "reward": reward, "allow_stay": bool(seed % 2)}
        seen = {"observe": ("agent", "target", "others", "view", "offset"), "view_radius": 1, "max_cycles": 30}
        config = GridConfig(walls=walls, num_agents=number, **rules, **seen)
        starts = random.permutation(free)[:number]
        # Few cells, so that targets repeat, are shared, and are reached.
        near = random.permutation(free)[: 2 + number]
        lists = [random.choice(near, int(random.integers(1, 6))).tolist() for _ in range(number)]
        judged.play_episode(config, seed, {"agents": starts, "targets": lists})


def states():
    """An env under *restart* and its states: at a reset with lists, and after two steps."""
    env = parallel_env(walls=MAP, num_agents=2, on_target="restart", allow_stay=True)
    env.reset(seed=1, options={"agents": [[0, 0], [4, 0]], "targets": [[[0, 0], [0, 0], [2, 0]], [[4, 1]]]})
    kept = [env.get_state()]
    for action in (3, 1):
        env.step({"agent_0": STAY, "agent_1": action})
        kept.append(env.get_state())
    return env, kept


ONE = [[4, 1], [-1, -1], [-1, -1]]
BAD_STATES = [
    ({"target_lists": [[[0, 0], [3, 0], [2, 0]], ONE]}, "a cell that its agent cannot reach"),
    ({"target_lists": [[[0, 0], [9, 0], [2, 0]], ONE]}, "a cell that its agent cannot reach"),
    ({"target_lists": [[[0, 0], [-1, -1], [2, 0]], ONE]}, "does not end in rows of -1"),
    ({"target_lists": [[[0, 0], [0, 0], [2, 0]], [[4, 1], [-1, 5], [-1, -1]]]}, "does not end in rows of -1"),
    ({"target_lists": [[[-1, -1]] * 3, ONE]}, "to some agents only"),
    ({"target_lists": [[0, 0], [1, 0]]}, r"not int64 of shape \(2, 2, 2\)"),
    ({"target_lists": [[[0.0, 0.0]], [[1.0, 0.0]]]}, "target_lists in the state is float64"),
]


def test_states_whose_lists_do_not_fit_are_refused():
    """A list out of reach, or of another form, is refused, and nothing changes."""
    env, kept = states()
    before = env.get_state()
    for changes, message in BAD_STATES:
        changed = {**kept[-1], **{name: np.array(value) for name, value in changes.items()}}
        with pytest.raises(ValueError, match=message):
            env.set_state(changed)
        np.testing.assert_equal(env.get_state(), before)
    env.reset(seed=4)
    drawn = env.get_state()
    assert "target_lists" not in drawn
    for one in (*kept, drawn):  # one without lists brings back the draws, and the stream
        env.set_state(one)
        np.testing.assert_equal(env.get_state(), one)
    env = parallel_env(walls=MAP, num_agents=2, on_target="stay", allow_stay=True)
    with pytest.raises(ValueError, match="under another rule than on_target='restart'"):
        env.set_state(kept[0])


def test_states_of_single_and_many_worlds_are_interchangeable():
    """A vector env takes states with and without lists, of any lengths, and gives back the same bytes."""
    env, (first, _, last) = states()
    env.reset(seed=2)
    single = [first, env.get_state(), last]
    env.reset(options={"agents": [[1, 0], [4, 2]], "targets": [[[0, 0]], [[4, 1]]]})
    single.append(env.get_state())
    many = vector_env(4, env.config)
    many.reset(seed=9)
    many.set_state(single)
    for given, kept in zip(single, many.get_state(single=True), strict=True):
        assert given.keys() == kept.keys()
        np.testing.assert_equal(kept, given)
    stacked = many.get_state()
    assert stacked["target_lists"].shape == (4, 2, 3, 2)
    assert (stacked["target_lists"][1] == -1).all()
    other = vector_env(4, env.config)
    other.reset(seed=1)
    other.set_state(stacked)
    np.testing.assert_equal(other.get_state(), stacked)
    many.set_state(single[::-1])
    np.testing.assert_equal(many.get_state(single=True), single[::-1])
    many.set_state(stacked)
    env.set_state(many.get_state([2], single=True)[0])
    np.testing.assert_equal(env.get_state(), last)
    assert many.get_state([1]).keys() == stacked.keys() - {"target_lists"}


@pytest.mark.parametrize("index", range(len(POGEMA)))
def test_play_is_pogemas(index):
    """With the same lists and actions, cells, targets, rewards and the throughput are POGEMA's in every step."""
    episode = POGEMA[index]
    rules = {"on_target": "restart", "collisions": episode["collisions"], "max_cycles": episode["limit"]}
    env = parallel_env(walls="\n".join(episode["map"]), num_agents=len(episode["starts"]), allow_stay=True, **rules)
    env.reset(options={"agents": episode["starts"], "targets": episode["lists"]})
    for actions, cells, given in zip(episode["actions"], episode["cells"], episode["rewards"], strict=True):
        rewards = env.step(dict(zip(env.possible_agents, map(int, actions), strict=True)))[1]
        assert env.state().ravel().tolist() == cells
        assert [int(reward) for reward in rewards.values()] == [int(digit) for digit in given]
    assert env.agents == []
    assert env.metrics()["throughput"] == pytest.approx(episode["throughput"])


def test_a_pool_of_maps_gives_each_its_lists():
    """Maps with lists give those of the map drawn, in each episode, as long as they are."""
    walls = np.zeros((4, 2), bool)
    maps = [ParsedMap(walls, [[0, 0]], [[[1, 0], [0, 0], [2, 1]]]), ParsedMap(walls, [[3, 1]], [[[3, 1]]])]
    env = parallel_env(walls=maps, on_target="restart", allow_stay=True, max_cycles=4)
    seen = set()
    for seed in range(12):
        env.reset(seed=seed if seed < 6 else None)
        state = env.get_state()
        index = int(state["map_index"])
        seen.add(index)
        assert state["target_lists"].tolist() == maps[index].targets
        assert state["target"].tolist() == [maps[index].targets[0][0]]
        while env.agents:
            env.step({"agent_0": STAY})
        assert env.metrics()["throughput"] == float(index)
    assert seen == {0, 1}
