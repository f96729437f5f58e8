"""The native vector env under Stable-Baselines3: the play of single envs, their ends, seeds, learning, refusals."""

import copy
import dataclasses

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import VectorWrapper
from gymnasium.wrappers.vector import DictInfoToList, TransformReward
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

from helpers import frozen
from multigrid import GridConfig, MultiGridEnv, games, vector_env
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.integrations.sb3 import to_sb3
from multigrid.wrappers import VectorReward
from own_game import GAME
from vec_envs import POOL, SETTINGS, WORLD, SingleRows, learner, make_native, rows_of

pytestmark = pytest.mark.heavy


def worlds(mode="SameStep"):
    """Two worlds."""
    return vector_env(2, WORLD, autoreset_mode=mode)


def test_the_single_agent_world_is_taken_too():
    """A GridWorldVectorEnv gives the documented info, and at the end of an episode what Stable-Baselines3 needs."""
    vec_env = to_sb3(GridWorldVectorEnv(4, size=3, max_episode_steps=5, autoreset_mode="SameStep"))
    vec_env.seed(0)
    vec_env.reset()
    assert all(set(info) == {"distance"} for info in vec_env.reset_infos)
    keys = set()
    for action in [0, 1, 2, 3] * 10:
        *_, dones, infos = vec_env.step(np.full(4, action))
        for done, info in zip(dones, infos, strict=True):
            keys.add((bool(done), *sorted(info)))
            if done:
                final = info["terminal_observation"]
                assert info["distance"] == float(np.abs(final["agent"] - final["target"]).sum())
                assert info["TimeLimit.truncated"] == (info["distance"] > 0)
    assert keys == {(False, "distance"), (True, "TimeLimit.truncated", "distance", "terminal_observation")}


def test_infos_of_a_game_without_targets():
    """Without targets an info has the outcome, and at the end of an episode the game's metric, but no arrival."""
    vec_env = make_native(GAME, 4, seed=0)
    vec_env.reset()
    assert all(info == {"outcome": 1, "alive": True} for info in vec_env.reset_infos)
    random, keys = np.random.default_rng(0), set()
    for _ in range(80):
        *_, dones, infos = vec_env.step(random.integers(0, 6, 8))
        for done, info in zip(dones, infos, strict=True):
            keys.add((bool(done), *({"distance", "outcome", "arrived", "alive", "opened"} & info.keys())))
            assert info["alive"] is True
    assert {frozenset(one) for one in keys} == {
        frozenset({False, "outcome", "alive"}), frozenset({True, "outcome", "alive", "opened"}),
    }  # fmt: skip


def test_infos_of_games_whose_agents_end_together(monkeypatch):
    """An info names the outcome as the outcome, and has those that a game adds, in each step."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile the games
    expected = {
        "rware-tiny-2ag-v2": {"outcome"},
        "Overcooked-cramped_room-v0": {"outcome", "sparse", "shaped", "events"},
    }
    for game_id, names in expected.items():
        envs = games.vector_env(game_id, 2, autoreset_mode="SameStep")
        vec_env = to_sb3(envs)
        vec_env.reset()
        *_, infos = vec_env.step(np.full(4, 1))
        assert [set(info) for info in infos] == [names] * 4
        assert all(isinstance(info["outcome"], int) for info in infos)


def test_every_row_has_a_frame():
    """env_method("render") has each row's frame, render() a tile of each; without a render_mode they warn: None."""
    vec_env = make_native(WORLD, 2, seed=6, render_mode="rgb_array", num_threads=2)
    vec_env.reset()
    frames = vec_env.get_images()
    np.testing.assert_array_equal(vec_env.env_method("render", indices=[2, 3]), frames)
    assert vec_env.render().size == 2 * frames[0].size
    vec_env.close()
    assert vec_env.vector_env.closed
    vec_env = make_native(WORLD, 2, seed=6)
    vec_env.reset()
    for call, expected in ((vec_env.get_images, [None] * 2), (lambda: vec_env.env_method("render"), [None] * 6)):
        with pytest.warns(UserWarning, match="without a render_mode"):
            assert call() == expected


def test_options_set_the_layout():
    """Options are for one reset: a dict as the vector env takes it, or a list with a dict for each row."""
    config = GridConfig(walls=POOL, num_agents=2)
    vec_env, single = make_native(config, 2), MultiGridEnv(config)
    one = {"agents": [(0, 0), (2, 3)], "targets": [(2, 0), (1, 2)], "map": 1}
    other = {"agents": [(0, 1), (2, 2)], "targets": [(1, 3), (0, 3)], "map": 0}
    both = {name: [one[name], other[name]] for name in one}
    for options, of_worlds in ((one, [one, one]), ([one, one, other, other], [one, other]), (both, [one, other])):
        vec_env.set_options(options)
        seen = vec_env.reset()
        for world, layout in enumerate(of_worlds):
            expected, infos = single.reset(options=layout)
            rows = slice(2 * world, 2 * world + 2)
            assert frozen(rows_of(seen)[rows]) == frozen(list(expected.values()))
            assert vec_env.reset_infos[rows] == list(infos.values())
    assert frozen(vec_env.reset()) != frozen(seen), "the next reset draws"
    drawn = []
    for options in ([{}] * 4, None, one, None):
        vec_env.set_options(options)
        if options is not one:
            vec_env.seed(5)
            drawn.append(frozen(vec_env.reset()))
    assert drawn[0] == drawn[1] == drawn[2]


def test_options_may_have_lists_of_targets():
    """Lists go through to the worlds, the same for all or for each row."""
    vec_env = make_native(GridConfig(walls=POOL[0], num_agents=2, on_target="restart", allow_stay=True), 2)
    one = {"agents": [(0, 1), (2, 2)], "targets": [[(1, 3)], [(0, 3), (0, 3), (2, 2)]]}
    other = one | {"targets": [[(0, 1), (1, 3)], [(0, 3)]]}
    for options, of_worlds in ((one, [one, one]), ([one, copy.deepcopy(one), other, other], [one, other])):
        vec_env.set_options(options)
        vec_env.reset()
        for state, given in zip(vec_env.vector_env.get_state(single=True), of_worlds, strict=True):
            kept = [[tuple(cell) for cell in cells if cell[0] >= 0] for cells in state["target_lists"].tolist()]
            assert kept == given["targets"]


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"reset_mask": np.ones(4, dtype=bool)}, ValueError, "'reset_mask', but reset.* resets every world"),
        ([{"map": 0}], ValueError, "there are 1 options; expected 4"),
        ([{"map": 0}, {"map": 1}, {"map": 0}, {"map": 0}], ValueError, "row 1 differ .* of world 0"),
        ([{"map": 0}, {"map": 0}, {"map": 1}, {}], ValueError, "row 3 differ .* of world 1"),
        ([{"map": 0}, {"map": 0}, {}, {}], ValueError, r"row 2 has the options \[\], row 0 \['map'\]"),
        ("map", TypeError, "options are of type str"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, error, complaint):
    """The error says what is wrong, and the next reset has the options that were set before."""
    vec_env = make_native(GridConfig(walls=POOL, num_agents=2), 2)
    vec_env.set_options({"agents": [(0, 0), (2, 3)], "targets": [(2, 0), (1, 2)], "map": 1})
    with pytest.raises(error, match=complaint):
        vec_env.set_options(options)
    seen = vec_env.reset()
    assert seen["agent"].tolist() == [[0, 0], [2, 3]] * 2


@pytest.mark.parametrize(
    "settings",
    [{}, {"flatten": True}, {"flatten": True, "on_target": "leave", "allow_stay": True}, {"on_target": "leave"}],
    ids=str,
)
def test_action_masks_are_those_of_the_last_observations(settings):
    """A row's mask forbids the edge and the walls around where it stands now, and nothing to who has left."""
    parts = ("target", "action_mask", "others")
    config = GridConfig(num_agents=2, walls=POOL, observe=parts, max_cycles=9, **settings)
    vec_env = make_native(config, copy=False)
    singles = SingleRows(dataclasses.replace(config, flatten=False), [20, 21, 22])
    assert vec_env.action_masks().all(), "before the first reset nobody knows"
    vec_env.seed(20)
    vec_env.reset()
    seen = singles.reset()
    random = np.random.default_rng(4)
    departed = False
    for _ in range(60):
        observed = [np.frombuffer(parts["action_mask"][-1], np.int8) == 1 for parts in seen]
        departed |= any(not mask.any() for mask in observed)
        expected = [(mask | (not mask.any())).tolist() for mask in observed]
        masks = vec_env.action_masks()
        assert (masks.dtype, masks.tolist()) == (bool, expected)
        masks[:] = False
        by_row = vec_env.env_method("action_masks", indices=[4, 1])
        assert [mask.tolist() for mask in by_row] == [expected[4], expected[1]]
        actions = random.integers(0, config.num_actions, 6)
        vec_env.step(actions)
        seen = [row[0] for row in singles.step(actions.tolist())]
    assert departed == (config.on_target == "leave")
    assert VecMonitor(vec_env).has_attr("action_masks"), "also through a wrapper"


def test_masks_alone_are_arrays():
    """Where the mask is all that is observed, and so an array, the masks are those of an observation with others."""
    alone, both = (
        make_native(GridConfig(num_agents=2, walls=POOL, observe=parts), seed=3)
        for parts in ("action_mask", ("agent", "action_mask"))
    )
    for first, second in (
        (alone.reset(), both.reset()),
        *((alone.step([k] * 6)[0], both.step([k] * 6)[0]) for k in (1, 2)),
    ):
        assert first.tolist() == second["action_mask"].tolist()
        assert frozen(alone.action_masks()) == frozen(both.action_masks())


def test_masks_that_are_not_observed_are_not_there():
    """Without the part "action_mask" there is no such attribute, and the error names what to observe."""
    vec_env = make_native(WORLD)
    assert not VecMonitor(vec_env).has_attr("action_masks")
    for ask in (vec_env.action_masks, lambda: vec_env.env_method("action_masks")):
        with pytest.raises(AttributeError, match=r"only agent, target, others .* part 'action_mask' in observe"):
            ask()


def test_attributes_are_those_of_the_vector_env():
    """get_attr and seed() tell each row what its world has; set_attr sets for all rows what is not built upon."""
    env = vector_env(2, WORLD, autoreset_mode="SameStep", render_mode="rgb_array")
    vec_env = to_sb3(env)
    assert vec_env.unwrapped.vector_env is env
    assert vec_env.get_attr("max_cycles", [0, 4]) == [40, 40]
    assert (vec_env.render_mode, vec_env.metadata["render_fps"]) == ("rgb_array", 4)
    assert vec_env.seed() != vec_env.seed()
    for seed in (2**64, 8):
        assert vec_env.seed(seed) == [seed] * 3 + [seed + 1] * 3
    vec_env.reset()
    assert vec_env.get_attr("np_random_seed", [2, 3]) == [8, 9]
    assert vec_env.get_attr("np_random") == [env.np_random[0]] * 3 + [env.np_random[1]] * 3
    assert vec_env.has_attr("num_worlds")
    with pytest.raises(IndexError):
        vec_env.get_attr("config", 6)
    for indices in (None, range(6)):
        vec_env.set_attr("note", indices, indices=indices)
        assert vec_env.get_attr("note", -1) == [indices]
    for name, indices, complaint in (
        ("note", [0, 2], r"'note' is set for rows \[0, 2\], but all rows share one"),
        ("config", None, "'config' cannot be set once the vector env is made"),
    ):
        with pytest.raises((ValueError, AttributeError), match=complaint):
            vec_env.set_attr(name, GridConfig(), indices=indices)
    assert (env.note, env.config) == (range(6), WORLD)


def test_methods_are_called_once_for_all_worlds():
    """env_method calls the vector env's method with its arguments, and gives each row asked for the result."""
    vec_env = make_native(WORLD, 2)
    vec_env.reset()
    saved = vec_env.env_method("get_state", [1], indices=[0, 1])
    assert saved[0] is saved[1]
    vec_env.env_method("set_state", saved[0], worlds=[0])
    (state,) = vec_env.env_method("state", indices=4)
    np.testing.assert_array_equal(state, vec_env.vector_env.state())
    np.testing.assert_array_equal(state[0], state[1])
    for ask in (vec_env.env_method, vec_env.get_attr):
        with pytest.raises(AttributeError, match="no_such_thing"):
            ask("no_such_thing")


def nearness(*step):
    """The env's reward, less a tenth of the distance after the step."""
    return step[1] - 0.1 * step[4]["distance"]


def test_a_reward_of_ones_own_replaces_the_envs():
    """Rewards, 0 for who has left among them, are those of the wrapped vector env; all else is equal."""
    config = GridConfig(**SETTINGS | {"max_cycles": 9, "on_target": "leave", "flatten": True})
    envs = [VectorReward(vector_env(3, config, autoreset_mode="SameStep"), nearness) for _ in range(2)]
    wrapped, plain, random = to_sb3(envs[0]), make_native(config), np.random.default_rng(2)
    for each in (wrapped, plain):
        each.seed(4)
    envs[1].reset(seed=4)
    assert frozen(wrapped.reset()) == frozen(plain.reset())
    for _ in range(80):
        actions = random.integers(0, 4, 9)
        (seen, rewards, dones, infos), one = wrapped.step(actions), plain.step(actions)
        assert frozen((seen, dones, infos)) == frozen((one[0], one[2], one[3]))
        assert frozen(rewards) == frozen(envs[1].step(actions)[1].astype(np.float32))


def test_wrappers_are_found_by_their_attributes():
    """get_attr and set_attr reach wrappers, the outermost first; methods, and all else, are the vector env's."""
    inner = VectorReward(vector_env(2, WORLD, autoreset_mode="SameStep"), nearness)
    envs = TransformReward(inner, abs)
    vec_env = to_sb3(envs)
    vec_env.reset()
    assert vec_env.get_attr("func", 3) == [abs]
    assert vec_env.get_attr("function", 3) == [nearness]
    assert vec_env.get_attr("num_worlds", 0) == [2]
    assert vec_env.env_is_wrapped(VectorReward, [0, 1]) == [True, True]
    assert vec_env.env_is_wrapped(VecMonitor, 5) == [False]
    vec_env.set_attr("function", lambda *step: step[1] * 0.0 - 2.0)
    assert vec_env.step(np.zeros(6, dtype=int))[1].tolist() == [2.0] * 6
    np.testing.assert_array_equal(vec_env.env_method("state", indices=0)[0], inner.unwrapped.state())


class Scaled(VectorWrapper):
    """A wrapper that changes a space."""

    single_observation_space = Box(0, 1, (3,))


@pytest.mark.parametrize(
    ("thing", "error", "complaint"),
    [
        (DictInfoToList(worlds()), TypeError, "infos of type list; expected the dict of arrays"),
        (Scaled(worlds()), ValueError, r"has the single_observation_space Box\(0.0, 1.0, \(3,\), float32\)"),
        (worlds("NextStep"), ValueError, "autoreset_mode 'NextStep', but .*autoreset_mode=\"SameStep\""),
        (TransformReward(worlds("Disabled"), abs), ValueError, "autoreset_mode 'Disabled'"),
        (WORLD, TypeError, "type GridConfig; expected what multigrid.vector_env"),
        (MultiGridEnv(WORLD), TypeError, "type MultiGridEnv; expected what multigrid.vector_env"),
        (None, TypeError, "type NoneType; expected what multigrid.vector_env"),
    ],
)
def test_other_things_are_refused(thing, error, complaint):
    """The error names the space, the mode or the type that came, and what is expected."""
    with pytest.raises(error, match=complaint):
        to_sb3(thing).reset()


def test_vec_wrappers_of_stable_baselines3_fit(one_thread):
    """VecMonitor counts each row's episodes, VecNormalize and VecFrameStack change what is seen, also at the ends."""
    config = GridConfig(**(SETTINGS | {"max_cycles": 5, "flatten": True}))
    normalised = VecNormalize(make_native(config, seed=1), norm_reward=False)
    wrapped, plain = VecFrameStack(VecMonitor(normalised, info_keywords=("isr",)), 2), make_native(config, seed=1)
    wrapped.reset()
    plain.reset()
    returns, episodes = np.zeros(9), 0
    for action in [0, 1, 2, 3, 3] * 6:
        seen, rewards, dones, infos = wrapped.step(np.full(9, action))
        own = plain.step(np.full(9, action))
        assert (rewards.tolist(), dones.tolist()) == (own[1].tolist(), own[2].tolist())
        np.testing.assert_array_equal(seen[:, 8:], normalised.normalize_obs(own[0]))
        returns += rewards
        for row in np.flatnonzero(dones):
            summary, final = infos[row]["episode"], own[3][row]["terminal_observation"]
            assert (summary["r"], summary["isr"]) == (returns[row], infos[row]["isr"])
            np.testing.assert_array_equal(infos[row]["terminal_observation"][8:], normalised.normalize_obs(final))
            returns[row], episodes = 0, episodes + 1
    assert episodes >= 6 * 9
    learner(VecNormalize(make_native(WORLD))).learn(300)
