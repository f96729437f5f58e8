"""The vector env gives, to the bit, what SyncVectorEnv and lists of single envs give; and what it may never do."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import pickle
from collections.abc import Callable
from typing import Any, get_args

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from editions import EDITIONS, X_Y, Edition, by_edition
from faces import Vector, refused
from helpers import address, arrays_in, crossed, run_python, same
from judged import some_config
from multigrid import GridConfig, MultiGridEnv, MultiGridVectorEnv, vector_env
from multigrid.config import Collisions, OnTarget, Part
from multigrid.core.metrics import METRICS
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.runtime.compiled import JUST_IN_TIME
from single_envs import SingleEnvs, assert_equal, play_native, rows_of
from worldgen import PARTS

GRID_WORLD = "multigrid/GridWorld-v0"
MODES = list(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
PLAYER = Vector("", NEXT_STEP)  # plays any vector env
by_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)

POOL = np.array([
    [[False, False, True, False], [False, True, False, False], [False, False, False, False]],
    [[False, False, False, False], [True, False, False, True], [False, False, False, False]],
])  # fmt: skip


def documented(edition: Edition, size: int, limit: int | None) -> gymnasium.Env[Any, Any]:
    """One env of the documented class."""
    env: Any = edition.documented(size)
    return env if limit is None else TimeLimit(env, limit)


def ours(edition: Edition, size: int, limit: int | None) -> gymnasium.Env[Any, Any]:
    """One documented env, from this package."""
    return gymnasium.make(edition.env_id, size=size, max_episode_steps=limit, disable_env_checker=True)


def sync(make: Callable[..., Any], count: int, size: int, limit: int | None, mode: AutoresetMode) -> Any:
    """Gymnasium's own vector env over single ones."""
    return SyncVectorEnv([functools.partial(make, size, limit)] * count, autoreset_mode=mode)


def lockstep(one: Any, other: Any, seed: Any, steps: int, random: np.random.Generator) -> int:
    """Play two vector envs of one-agent worlds alike, with masked resets now and then, and count the ends."""
    count, mode = one.num_envs, one.metadata["autoreset_mode"]
    same(one.reset(seed=seed), other.reset(seed=seed), "reset")
    ends = 0
    for t in range(steps):
        actions = random.integers(4, size=count)
        came = one.step(actions)
        same(came, other.step(actions), f"step {t}")
        over = came[2] | came[3]
        ends += over.sum()
        mask = random.random(count) < (0.3 if t % 13 == 7 else 0)
        if mode is DISABLED:
            mask |= over
        if mask.any():
            drawn: list[Any] = random.integers(1000, size=count).tolist()
            again = [None, None, drawn[0], drawn, [drawn[0], None] * (count // 2)][random.integers(5)]
            resets = [envs.reset(seed=again, options={"reset_mask": mask.copy()}) for envs in (one, other)]
            same(*resets, f"masked reset {t}")
    return ends


@pytest.mark.parametrize(("mode", "limit"), crossed(MODES, [None, 7]))
@pytest.mark.parametrize(("make", "size"), [(documented, 2), (documented, 5), (ours, 3)])
@by_edition
def test_it_gives_what_sync_vector_env_gives(
    edition: Edition, make: Callable[..., Any], size: int, limit: int | None, mode: AutoresetMode
) -> None:
    """Over whole episodes all that it returns, and what is left of the streams, equal Gymnasium's own vector env."""
    one = gymnasium.make_vec(edition.env_id, num_envs=6, size=size, max_episode_steps=limit, autoreset_mode=mode)
    other = sync(functools.partial(make, edition), 6, size, limit, mode)
    assert type(one) is edition.vector
    random = np.random.default_rng(size)
    ends = lockstep(one, other, 5, 150, random) + lockstep(one, other, [3, 1, 4, 1, 5, 9], 40, random)
    ends += lockstep(one, other, [8, None, None, 2, None, 7], 40, random) + lockstep(one, other, None, 40, random)
    for _ in range(2 * (make is ours)):
        # From here on the generators are held, and the kernels take their states from outside.
        assert one.np_random_seed == other.np_random_seed
        states = [[str(held.bit_generator.state) for held in envs.np_random] for envs in (one, other)]
        assert states[0] == states[1]
        ends += lockstep(one, other, None, 40, random)
    assert ends > (60 if limit else {2: 150, 3: 60, 5: 15}[size])


def test_which_ids_give_which_vector_env() -> None:
    """The package's id makes its own vector env by default; the documents' ids make a SyncVectorEnv, as they say."""
    for one in EDITIONS:
        assert repr(gymnasium.make_vec(one.env_id, num_envs=3)) == f"{one.vector.__name__}({one.env_id}, num_envs=3)"
    for name, how in (("gymnasium_env", None), ("gym_examples", None), ("multigrid", "sync")):
        envs = gymnasium.make_vec(f"{name}/GridWorld-v0", num_envs=3, vectorization_mode=how)
        assert type(envs) is SyncVectorEnv
        envs.close()


@by_edition
def test_attributes_are_those_of_sync_vector_env(edition: Edition) -> None:
    """Attributes and frames of each env are those of Gymnasium's own vector env; another name is an error."""
    settings: Any = {"num_envs": 3, "size": 4, "render_mode": "rgb_array"}
    one: Any = gymnasium.make_vec(edition.env_id, **settings)
    other: Any = gymnasium.make_vec(edition.env_id, vectorization_mode="sync", **settings)
    for envs in (one, other):
        envs.reset(seed=2)
        envs.step(np.array([1, 0, 2]))
    for name in ("size", "window_size", "render_mode", "np_random_seed", "_agent_location", "_target_location"):
        same(one.get_attr(name), other.get_attr(name), name)
    same(one.render(), other.render())
    for name in ("observation_space", "action_space"):
        assert one.get_attr(name) == other.get_attr(name)
    states = [[str(each.bit_generator.state) for each in envs.get_attr("np_random")] for envs in (one, other)]
    assert states[0] == states[1]
    with pytest.raises(AttributeError, match=r"has no attribute 'speed' .* vectorization_mode='sync'"):
        one.get_attr("speed")
    with pytest.raises(ValueError, match=r"render_mode is 'human'; .* vectorization_mode='sync'"):
        gymnasium.make_vec(edition.env_id, render_mode="human")
    other.close()


@by_edition
def test_actions_of_the_documented_envs(edition: Edition) -> None:
    """Integers of any type are taken; a bad action is refused as it came, and no env is stepped."""
    envs, random = edition.vector(4, size=3), np.random.default_rng(0)
    observations, _ = envs.reset(seed=0)
    for kind in (np.uint8, np.int8, np.uint64, np.int64, list):
        actions = random.integers(4, size=4)
        steps = np.array(edition.steps)[actions]
        expected = np.where(envs.episode_over[:, None], observations["agent"], observations["agent"] + steps)
        over = envs.episode_over
        observations, *_ = envs.step(actions.tolist() if kind is list else actions.astype(kind))
        same(observations["agent"][~over], np.clip(expected, 0, 2)[~over])
    before = envs.get_state()
    for bad in (4, 5, -1, 2**63 - 1, -(2**63)):
        with pytest.raises(ValueError, match=rf"^action for row 1 \(agent_0 of world 1\) is {bad}; expected"):
            envs.step([0, bad, 1, 2])
        same(envs.get_state(), before)
    for wrong in ([0, 1], [[0, 1, 2, 3]], 0, [0.0, 1.0, 2.0, 3.0], [True] * 4, ["0"] * 4):
        with pytest.raises((ValueError, TypeError), match=r"^actions (have the shape|are of) "):
            envs.step(wrong)
        same(envs.get_state(), before)


@by_mode
def test_spaces_and_metadata_are_those_of_sync_vector_env(mode: AutoresetMode) -> None:
    """Spaces, one row's and all rows', samples of them, and the declared autoreset mode are Gymnasium's."""
    one = gymnasium.make_vec(GRID_WORLD, num_envs=4, size=3, autoreset_mode=mode)
    other = sync(functools.partial(documented, X_Y), 4, 3, None, mode)
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(one, name) == getattr(other, name)
    assert one.metadata["autoreset_mode"] is mode
    assert "autoreset_mode" not in MultiGridVectorEnv.metadata
    one.action_space.seed(3)
    other.action_space.seed(3)
    same(one.action_space.sample(), other.action_space.sample())
    assert vector_env(2, autoreset_mode=mode.value).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize(("on_target", "mode"), crossed(get_args(OnTarget), MODES))
def test_world_i_plays_what_an_env_of_seed_plus_i_plays(on_target: Any, mode: AutoresetMode) -> None:
    """Rows, autoresets, final observations, infos and metrics are those of a list of MultiGridEnvs, by every rule."""
    seen: collections.Counter[str] = collections.Counter()
    for index, collisions in enumerate(get_args(Collisions)):
        config = GridConfig(
            size=(4, 2),
            num_agents=2 if on_target == "stay" else 3,
            collisions=collisions,
            on_target=on_target,
            reward=("individual", "shared")[index % 2],
            allow_stay=index == 2,
            flatten=index == 3,
            observe=tuple(PARTS) if index in (0, 3) else None,
            max_cycles=16,
        )
        seen += play_native(config, mode, seed=2**50 + index, steps=60, count=4, draws=index in (1, 4))
    assert seen["ends"] > 40
    assert seen["metrics"] == config.num_agents * seen["ends"]
    assert (seen["terminated"] > 10) == (on_target != "restart")
    assert seen["truncated"] > 10
    assert (seen["dead"] > 100) == (seen["dead at the end"] > 20) == (on_target == "leave")


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from(MODES), st.integers(1, 5), st.booleans(), st.data())
def test_any_worlds_equal_a_list_of_envs(
    number: int, mode: AutoresetMode, count: int, draws: bool, data: st.DataObject
) -> None:
    """Whatever the configuration, the mode, the number of worlds and the seeds: rows are those of single envs."""
    seeds = st.integers(0, 2**63 - count) | st.integers(0, 2**200)
    seed = data.draw(seeds | st.lists(seeds, min_size=count, max_size=count))
    keywords = data.draw(st.fixed_dictionaries({"copy": st.booleans(), "num_threads": st.integers(1, 2)}))
    config = dataclasses.replace(some_config(number), max_cycles=5 + number % 21)
    play_native(config, mode, seed=seed, steps=30, count=count, draws=draws, **keywords)


def some_envs(count: int = 3, **settings: Any) -> MultiGridVectorEnv:
    """Worlds that are neither square nor symmetric, with a pool of maps."""
    own = {name: settings.pop(name) for name in ("autoreset_mode", "copy", "render_mode") if name in settings}
    return vector_env(count, **own, **{"walls": POOL, "num_agents": 2, "max_cycles": 9, **settings})


def test_streams_stay_the_same_objects_until_a_seed() -> None:
    """A world's Generator stays the same until a seeded reset, which leaves it and the other worlds' alone."""
    envs = some_envs()
    envs.reset(seed=4)
    held = envs.np_random
    assert envs.np_random_seed == (4, 5, 6)
    before = [generator.bit_generator.state for generator in held]
    envs.reset(seed=[7, 8, None], options={"reset_mask": np.array([1, 1, 0, 0, 1, 1], dtype=bool)})
    assert envs.np_random_seed == (7, 5, 6)
    assert [one is other for one, other in zip(envs.np_random, held, strict=True)] == [False, True, True]
    assert [one.bit_generator.state == state for one, state in zip(held, before, strict=True)] == [True, True, False]
    single = MultiGridEnv(envs.config)
    single.reset(seed=7)
    assert envs.np_random[0].random() == single.np_random.random()


def test_rows_share_their_worlds_stream() -> None:
    """get_attr gives a value for each row, as Gymnasium's own: attributes, streams, seeds, and what calls return."""
    envs = some_envs(render_mode="rgb_array")
    envs.reset(seed=4)
    assert envs.get_attr("np_random_seed") == (4, 4, 5, 5, 6, 6)
    assert all(held is envs.np_random[row // 2] for row, held in enumerate(envs.get_attr("np_random")))
    assert (envs.get_attr("render_mode"), envs.call("max_cycles")) == (("rgb_array",) * 6, (9,) * 6)
    same(envs.call("render"), envs.render())
    same(envs.call("get_state", [1]), (envs.get_state([1]),) * 6)


def test_without_a_seed_worlds_differ_and_tell_their_seeds() -> None:
    """Without a seed no two worlds begin alike, and each plays the episode of the seed that it reports."""
    config, found = GridConfig(size=(40, 30)), []
    for asked_before in (True, False):
        envs = vector_env(3, config)
        before = envs.np_random_seed if asked_before else None
        envs.reset(seed=None if asked_before else [None] * 3)
        assert before in (None, envs.np_random_seed)
        found += envs.state().tolist()
        for seed, shown in zip(envs.np_random_seed, envs.state().tolist(), strict=True):
            single = MultiGridEnv(config)
            single.reset(seed=seed)
            assert single.state().tolist() == shown
    assert all(found[i] != found[j] for i in range(6) for j in range(i))


def test_seeds_may_be_sequences() -> None:
    """There may be a seed for each world, an integer or None, in any sequence or array; else nothing changes."""
    envs, other = some_envs(), some_envs()
    for seed in ([7, 8, 9], (7, 8, 9), np.arange(7, 10), np.arange(7, 10, dtype=np.uint64), range(7, 10)):
        same(envs.reset(seed=seed), other.reset(seed=7))
        same(PLAYER.play(envs, 20), PLAYER.play(other, 20))
    numbers = [[1, 2], [1, 2, 3, 4], [1, -2, 3], [1, -(2**64), 3]]
    others = [np.array(7), {7, 8, 9}, [1, True, 3], [1, 2.0, 3], np.array([1.0, 2.0, 3.0]), [[1, 2, 3], 1, 2]]
    for bad in numbers + others:
        with refused(PLAYER, envs, ValueError if any(bad is one for one in numbers) else TypeError, "seed.*expected"):
            envs.reset(seed=bad)


AGENTS, TARGETS = [[0, 0], [2, 3]], [[2, 2], [0, 1]]
MANY_AGENTS = np.array([AGENTS, [[1, 2], [0, 3]], [[1, 1], [0, 0]]])
MANY_TARGETS = np.array([TARGETS, [[2, 1], [0, 1]], [[2, 3], [2, 2]]])
STACKED = {"map": 1, "agents": 3, "targets": 3}
# On the second map [2, 2] and [2, 3] are an island, and the first agent of AGENTS is not on it.
ISLAND = np.array([POOL[0], [[False] * 4, [False, False, True, True], [False, True, False, False]]])


@pytest.mark.parametrize(
    "options",
    [
        {"map": np.int8(1)},
        {"map": np.array([0, 1, 1])},
        {"map": 0, "agents": AGENTS, "targets": TARGETS},
        {"map": [0, 0, 1], "agents": MANY_AGENTS.tolist(), "targets": MANY_TARGETS.astype(np.int8)},
        {"map": 0, "agents": AGENTS, "targets": np.array([TARGETS, TARGETS[::-1], TARGETS])},
        {"agents": None, "targets": None, "map": None, "reset_mask": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("masked", [False, True])
def test_layouts_by_hand(options: dict[str, Any], masked: bool) -> None:
    """Maps and layouts, one for all worlds or one each, are what single envs make of theirs; so is what follows."""
    config = GridConfig(walls=POOL, num_agents=2, on_target="restart", max_cycles=9)
    envs, singles = vector_env(3, config), SingleEnvs([MultiGridEnv(config) for _ in range(3)], NEXT_STEP)
    assert_equal(rows_of(envs, envs.reset(seed=5)), singles.reset([5, 6, 7]), "reset")
    chosen = [0, 2] if masked else [0, 1, 2]
    given = copy.deepcopy(options)
    if masked:
        given["reset_mask"] = np.isin(np.arange(6) // 2, chosen)
    kept = copy.deepcopy(given)
    came = envs.reset(seed=[8, None, 9], options=given)
    same(given, kept)
    for value in given.values():
        if isinstance(value, np.ndarray):
            value[...] = 1

    def of_world(e: int) -> dict[str, Any]:
        own = {name: options[name] for name in ("map", "agents", "targets") if options.get(name) is not None}
        return {name: value[e] if np.ndim(value) == STACKED[name] else value for name, value in own.items()}

    assert_equal(rows_of(envs, came), singles.reset([8, None, 9], chosen, of_world), "by hand")
    random = np.random.default_rng(2)
    for t in range(30):
        actions = random.integers(4, size=6)
        assert_equal(rows_of(envs, envs.step(actions)), singles.step(actions.tolist()), f"step {t}")


WRONG_LAST = [TARGETS, TARGETS, [[1, 1], [0, 1]]]  # the layout of the last world is bad on its map alone
BAD_OPTIONS = [
    ({"map": [0, 2, 0]}, ValueError, "map.* is 2, but there are 2 maps"),
    ({"map": [0, 1]}, ValueError, "2 entries"),
    ({"map": [0, 1.0, 0]}, TypeError, "map"),
    ({"map": np.array(1)}, TypeError, "map.*expected"),
    ({"agents": AGENTS, "targets": TARGETS}, ValueError, "one of 2 maps"),
    ({"map": 0, "agents": MANY_AGENTS[:2], "targets": MANY_TARGETS[:2]}, ValueError, "are lists"),
    ({"map": 0, "agents": [AGENTS] * 3, "targets": WRONG_LAST}, ValueError, "wall"),
    ({"map": [0, 0, 1], "agents": [AGENTS] * 3, "targets": [TARGETS] * 3}, ValueError, "agent_0 .*reach"),
    ({"reset_mask": [True] * 6}, TypeError, "list.*expected a boolean array"),
    ({"reset_mask": np.ones(6, dtype=int)}, TypeError, "int64.*expected a boolean array"),
    ({"reset_mask": np.ones(3, dtype=bool)}, ValueError, r"\(3,\).*expected .* \(6,\)"),
    ({"reset_mask": np.ones((3, 2), dtype=bool)}, ValueError, r"\(3, 2\).*expected .* \(6,\)"),
    ({"reset_mask": np.zeros(6, dtype=bool)}, ValueError, "False everywhere"),
    ({"reset_mask": np.array([1, 1, 1, 0, 0, 0], dtype=bool)}, ValueError, "agents of world 1"),
]


def test_bad_options_are_refused() -> None:
    """Whatever is wrong, in one world or in all, no world is reset, no stream is seeded, and the message says what."""
    envs = some_envs(walls=ISLAND)
    envs.reset(seed=1)
    PLAYER.play(envs, 4)
    for options, error, match in BAD_OPTIONS:
        with refused(PLAYER, envs, error, match):
            envs.reset(seed=4, options=options)


def test_actions_may_be_any_integers() -> None:
    """An action is an integer of any dtype, in an array or a sequence; the array given is left alone."""
    envs, plain, random = some_envs(), some_envs(), np.random.default_rng(3)
    same(envs.reset(seed=1), plain.reset(seed=1))
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", list, tuple) * 3:
        actions = random.integers(4, size=6)
        given = dtype(actions.tolist()) if callable(dtype) else actions.astype(dtype)
        kept = copy.deepcopy(given)
        same(envs.step(given), plain.step(actions))
        same(given, kept)


BAD_ACTIONS = [
    (0, ValueError, r"shape \(\); expected .* \(6,\)"),
    (np.zeros((3, 2), dtype=int), ValueError, r"shape \(3, 2\); expected .* \(6,\)"),
    (np.zeros(6), TypeError, "float64; expected integers"),
    (np.zeros(6, dtype=bool), TypeError, "bool; expected integers"),
    (None, ValueError, "expected integers"),
    ([0, 0, 0, 0, 0, 2**64], TypeError, "object; expected integers"),
    ([3, 0, 1, 4, 2, 5], ValueError, r"row 3 \(agent_1 of world 1\).* 4"),
    ([3, 0, 1, 2, -1, 0], ValueError, r"row 4 \(agent_0 of world 2\).* -1"),
    # As int64 it would wrap to -2**63, and its lower half to 0.
    (np.array([2**63, 0, 0, 0, 0, 0], dtype=np.uint64), ValueError, r"row 0 \(agent_0 of world 0\)"),
    (np.array([0, 2**32, 0, 0, 0, 0]), ValueError, r"row 1 \(agent_1 of world 0\).* 4294967296"),
]


@by_mode
def test_bad_actions_are_refused(mode: AutoresetMode) -> None:
    """One bad action is an error that names row, agent and world, and nothing in any world has moved."""
    envs = some_envs(autoreset_mode=mode)
    envs.reset(seed=1)
    for num_steps in (0, 4):
        PLAYER.play(envs, num_steps)
        for actions, error, match in BAD_ACTIONS:
            with refused(PLAYER, envs, error, match):
                envs.step(actions)


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
@by_mode
@pytest.mark.parametrize(
    "settings",
    [{"on_target": "park", "observe": get_args(Part)}, {"flatten": True}, {"on_target": "restart"}],
    ids=["park", "flat", "restart"],
)
def test_without_copies_observations_are_views_of_the_worlds(settings: dict[str, Any], mode: AutoresetMode) -> None:
    """With copy=False each call returns the same observation arrays, which nobody can write to; all else is new."""
    envs = some_envs(autoreset_mode=mode, copy=False, **settings)
    twin = some_envs(autoreset_mode=mode, **settings)
    first, infos = envs.reset(seed=3)
    views, rest = arrays_in(first), [infos]
    same((first, infos), twin.reset(seed=3))
    for t in range(40):
        came, expected = PLAYER.play(envs, 1, seed=t), PLAYER.play(twin, 1, seed=t)
        same(came[-1], expected[-1])
        kept = copy.deepcopy(rest)
        for observations, *others in came:
            assert list(map(address, arrays_in(observations))) == list(map(address, views))
            arrays_in(observations)[0].shape = (-1,)  # of this result alone
            rest += others
        same(rest[: len(kept)], kept)
        for array in views:
            with pytest.raises(ValueError, match="read-only"):
                array.fill(1)
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.flags.writeable = True
    same(envs.get_state(), twin.get_state())
    for other in (pickle.loads(pickle.dumps(envs)), copy.deepcopy(envs)):
        assert not any(array.flags.writeable for array in arrays_in(other.reset(seed=4)[0]))
    own = [*envs._worlds.arrays, *arrays_in(list(vars(envs).values())), envs.config.components, *views]
    assert not any(np.may_share_memory(array, inner) for array in arrays_in(rest)[-99:] for inner in own)


@by_mode
def test_without_copies_agents_that_have_left_see_nothing(mode: AutoresetMode) -> None:
    """Under "leave", copy=False changes nothing: each call returns new arrays, with zeros for agents that have left."""
    settings: dict[str, Any] = {"autoreset_mode": mode, "on_target": "leave", "observe": get_args(Part)}
    envs, twin = some_envs(copy=False, **settings), some_envs(**settings)
    same(envs.reset(seed=3), twin.reset(seed=3))
    for t in range(40):
        came = PLAYER.play(envs, 1, seed=t)
        same(came, PLAYER.play(twin, 1, seed=t))
        for array in arrays_in(came):
            array.fill(1)
    same(envs.get_state(), twin.get_state())


@by_mode
@pytest.mark.parametrize("on_target", ["leave", "restart"])
def test_metrics_can_be_left_out(on_target: OnTarget, mode: AutoresetMode) -> None:
    """With metrics=False the infos lack the metrics, those of the last step too, and all else is the same."""
    settings: dict[str, Any] = {"on_target": on_target, "autoreset_mode": mode, "max_cycles": 7}
    one, other = (vector_env(4, size=(4, 3), num_agents=2, metrics=metrics, **settings) for metrics in (True, False))
    same(one.reset(seed=5), other.reset(seed=5))
    ends = 0
    for t in range(60):
        came, expected = PLAYER.play(one, 1, seed=t), PLAYER.play(other, 1, seed=t)
        *_, infos = came[0]
        inner = infos.get("final_info", infos)
        ends += inner["_csr"].sum() if "_csr" in inner else 0
        for name in METRICS if "_csr" in inner else ():
            del inner[name], inner[f"_{name}"]
        same(came, expected)
    assert ends > 40
    same(one.metrics(), other.metrics())


def test_states_of_some_worlds() -> None:
    """States of some worlds, in any order, come into any worlds of another vector env; its other worlds go on."""
    envs, others = some_envs(5), some_envs(2)
    envs.reset(seed=2)
    others.reset(seed=9)
    PLAYER.play(envs, 20)
    state = envs.get_state([4, 1])
    same({name: array[[4, 1]] for name, array in envs.get_state().items()}, state)
    others.set_state(state)
    same(others.get_state(), state)
    before = envs.get_state()
    envs.set_state(state, np.array([0, 3]))
    after = envs.get_state()
    for name, array in before.items():
        same(after[name], np.concatenate([state[name][:1], array[1:3], state[name][1:], array[4:]]))
    same(envs.get_state([]), {name: array[:0] for name, array in before.items()})
    envs.set_state(envs.get_state([]), [])
    same(envs.get_state(), after)


def some_state(**settings: Any) -> dict[str, Any]:
    """A state of other worlds."""
    envs = some_envs(**settings)
    envs.reset(seed=0)
    return envs.get_state()


def test_states_of_any_configuration_are_refused_elsewhere() -> None:
    """What is no state, or not of so many worlds, or of another configuration, is an error that changes nothing."""
    envs = some_envs()
    envs.reset(seed=2)
    PLAYER.play(envs, 4)
    state = envs.get_state()
    on_wall = np.where(np.arange(3)[:, None, None] == 2, np.argwhere(POOL[state["map_index"][2]])[0], state["target"])
    wrong: list[tuple[Any, Any, str]] = [
        ([state], ValueError, "there are 1 states; expected one for each of 3 worlds"),
        *((state | {name: array[:2]}, ValueError, f"{name} in the state is") for name, array in state.items()),
        (state | {"map_index": state["map_index"] + 2}, ValueError, "map_index.*2 maps"),
        (state | {"target": on_wall}, ValueError, "target.*walls"),
        (some_state(num_agents=3), ValueError, "in the state is"),
        (some_state(count=4), ValueError, "in the state is"),
    ]
    for bad, error, match in wrong:
        with refused(PLAYER, envs, error, match):
            envs.set_state(bad)
    wrong = [
        *(
            ([0, 1, 1], ValueError, "name each once"),
            ([0, 1, 3], ValueError, "0 to 2"),
            ([-1, 0], ValueError, "0 to 2"),
        ),
        *(([0, 1], ValueError, "in the state is"), ([True] * 3, TypeError, "bool"), ([0.0] * 3, TypeError, "float64")),
        *(([[0, 1, 2]], TypeError, "shape"), (1, TypeError, "shape")),
    ]
    for worlds, error, match in wrong:
        with refused(PLAYER, envs, error, match):
            envs.set_state(state, worlds)
    for worlds in ([3], [-1], [True], [0.5], 1, [[1]]):
        with refused(PLAYER, envs, (TypeError, ValueError), "worlds .*expected integers"):
            envs.get_state(worlds)


@pytest.mark.parametrize("on_target", get_args(OnTarget))
def test_states_of_single_worlds_and_of_vector_envs_are_interchangeable(on_target: Any) -> None:
    """States of single envs play on in a vector env, over whole episodes, as they do in those envs; and back again."""
    config = GridConfig(walls=POOL, num_agents=3, on_target=on_target, observe=("agent", "view"), max_cycles=9)
    random, ends = np.random.default_rng(8), 0
    singles, envs = [MultiGridEnv(config) for _ in range(4)], vector_env(4, config)
    for k, env in enumerate(singles):
        env.reset(seed=40 + k)
        for _ in range(2 * k):
            env.step(dict(zip(env.agents, random.integers(4, size=len(env.agents)), strict=True)))
    for turn in range(2):
        envs.set_state([env.get_state() for env in singles])
        for t in range(40):
            same(envs.get_state([3, 1], single=True), [singles[3].get_state(), singles[1].get_state()])
            actions = random.integers(4, size=(4, 3))
            together = envs.step(actions.ravel())[0]
            for k, (env, chosen) in enumerate(zip(singles, actions, strict=True)):
                ends += not env.agents
                alone = env.step(dict(zip(config.agents, chosen, strict=True)))[0] if env.agents else env.reset()[0]
                for agent, parts in alone.items():
                    row = 3 * k + config.agents.index(agent)
                    same({part: rows[row] for part, rows in together.items()}, parts, f"turn {turn}, step {t}, {row}")
        singles = [MultiGridEnv(config) for _ in range(4)]
        for env, state in zip(singles, envs.get_state(single=True), strict=True):
            env.set_state(state)
    assert ends >= 24


def test_a_bad_state_in_a_list_changes_no_world() -> None:
    """One bad state among those of single worlds is refused, with which it is, and all worlds are as they were."""
    envs, single = some_envs(), MultiGridEnv(some_envs().config)
    envs.reset(seed=2)
    _ = envs.np_random
    PLAYER.play(envs, 4)
    single.reset(seed=6)
    state: Any = single.get_state()

    def without(name: str) -> dict[str, Any]:
        return {key: value for key, value in state.items() if key != name}

    for bad, error, match in (
        (None, TypeError, "state 1 is of type NoneType"),
        (without("version"), ValueError, "version in state 1 is missing"),
        (without("target"), ValueError, "target in state 1 is missing"),
        (state | {"version": 2}, ValueError, "version in state 1 is 2; expected 3"),
        (state | {"steps": np.int64(-4)}, ValueError, r"steps in the state is -4, .* \(world 1 of 2\)"),
        (envs.get_state([1]), ValueError, "version in state 1 is of shape"),
        (
            state | {"np_random": np.random.Philox(3).state},
            ValueError,
            "np_random in state 1 is .*: it is not of a PCG64",
        ),
        (state | {"np_random": {"bit_generator": "PCG64"}}, ValueError, "np_random in state 1"),
    ):
        with refused(PLAYER, envs, error, match):
            envs.set_state([state, bad], [2, 0])
    for states in ([], [state], [state] * 3):
        with refused(PLAYER, envs, ValueError, f"there are {len(states)} states; expected one for each of 2 worlds"):
            envs.set_state(states, [2, 0])
    before = envs.get_state(single=True)
    envs.set_state([state], [2])
    same(envs.get_state(single=True), [*before[:2], state])
    assert envs.np_random[2].bit_generator.state == state["np_random"]


def test_frames_are_those_of_single_envs() -> None:
    """render() gives a frame for each row, that of its world; without a render mode it warns and gives None."""
    config = GridConfig(walls=POOL, num_agents=2, on_target="leave", max_cycles=9)
    envs, worlds = vector_env(2, config, render_mode="rgb_array"), [MultiGridEnv(config, "rgb_array") for _ in range(2)]
    envs.reset(seed=3)
    for e, env in enumerate(worlds):
        env.reset(seed=3 + e)
    for action in (0, 3, 2, 1):
        frames = envs.render()
        assert isinstance(frames, tuple)
        same(frames, tuple(env.render() for env in worlds for _ in range(2)))
        envs.step(np.full(4, action))
        for env in worlds:
            env.step(dict.fromkeys(env.agents, action))
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert vector_env(2, config).render() is None


@by_mode
def test_nothing_goes_before_a_reset_of_all_worlds(mode: AutoresetMode) -> None:
    """As long as one world had no reset, what needs an episode in every world raises."""
    envs = some_envs(autoreset_mode=mode, render_mode="rgb_array")
    calls = (["step", np.zeros(6, dtype=int)], ["get_state"], ["state"], ["metrics"], ["render"])
    envs.reset(seed=3, options={"reset_mask": np.array([1, 1, 1, 1, 0, 0], dtype=bool)})
    for name, *arguments in calls:
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            getattr(envs, name)(*arguments)
    envs.get_state([0, 1])
    envs.reset(options={"reset_mask": np.array([0, 0, 0, 0, 1, 1], dtype=bool)})
    for name, *arguments in calls:
        getattr(envs, name)(*arguments)


def test_without_autoresets_ended_worlds_must_be_reset() -> None:
    """In DISABLED mode a step with an ended world raises, tells how many there are, and changes nothing."""
    envs, actions = some_envs(autoreset_mode=DISABLED, on_target="restart", max_cycles=3), np.zeros(6, dtype=int)
    envs.reset(seed=0)
    for _ in range(2):
        envs.step(actions)
    envs.reset(options={"reset_mask": np.array([1, 1, 0, 0, 0, 0], dtype=bool)})
    assert envs.step(actions)[3].tolist() == [False, False, True, True, True, True]
    state = envs.get_state()
    with pytest.raises(ResetNeeded, match=r"2 worlds are over, the first is world 1; .*reset_mask"):
        envs.step(actions)
    same(envs.get_state(), state)
    envs.reset(options={"reset_mask": np.array([0, 0, 1, 1, 1, 1], dtype=bool)})
    envs.step(actions)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: vector_env(0), ValueError, "num_worlds is 0"),
        (lambda: vector_env(2.0), TypeError, "num_worlds is 2.0"),
        (lambda: vector_env(True), TypeError, "num_worlds is True"),
        (lambda: vector_env(2, num_threads=0), ValueError, "num_threads is 0"),
        (lambda: vector_env(2, num_threads=None), TypeError, "num_threads is None"),
        (lambda: vector_env(2, copy="no"), TypeError, "copy is 'no' of type str; expected True or False"),
        (lambda: vector_env(2, metrics=np.ones(2)), TypeError, "metrics is .* of type ndarray; expected True or False"),
        (lambda: vector_env(2, autoreset_mode="Never"), ValueError, "'Never'; .*'NextStep', 'SameStep', 'Disabled'"),
        (lambda: vector_env(2, autoreset_mode=None), ValueError, "None; expected .*'NextStep'"),
        (lambda: vector_env(2, render_mode="human"), ValueError, "expected None or 'rgb_array'"),
        (lambda: vector_env(2, {"size": 3}), TypeError, "config is of type dict"),
        (lambda: GridWorldVectorEnv(0), ValueError, "num_envs is 0"),
        (lambda: GridWorldVectorEnv(2, size=1), ValueError, "size is 1"),
        (lambda: GridWorldVectorEnv(2, size=(3, 3)), TypeError, "size is"),
        (lambda: GridWorldVectorEnv(2, max_episode_steps=0), ValueError, "is 0; expected"),
    ],
)
def test_bad_arguments_are_refused(make: Callable[[], Any], error: Any, match: str) -> None:
    """What cannot be made is refused when it is made, with what came and what was expected."""
    with pytest.raises(error, match=match):
        make()


EPISODES = """
import sys
import numpy as np
import multigrid
from examples.games.tag import Tag
from multigrid import GridConfig, games
from multigrid.runtime.kernel_cache import KernelCache

compiled, watch = [], KernelCache.watch
KernelCache.watch = lambda cache, make, *rest: compiled.append(make.__self__.py_func) or watch(cache, make, *rest)
config = eval(sys.argv[1])


def play(envs, num_steps):
    for _ in range(num_steps):
        envs.step(np.zeros(envs.num_envs, np.int64))
        if envs.autoreset_mode.value == "Disabled":
            for e in np.flatnonzero(envs.episode_over):
                envs.reset(options={"reset_mask": (np.arange(envs.num_worlds) == e).repeat(config.num_agents)})


env = multigrid.parallel_env(config)
env.reset(seed=0)
env.step(dict.fromkeys(env.agents, 0))
before = len(compiled)
for _ in range(2):
    while env.agents:
        env.step(dict.fromkeys(env.agents, 0))
    env.reset()
assert compiled[before:] == []
for mode, num_threads in (("NextStep", 1), ("SameStep", 1), ("Disabled", 1), ("NextStep", 2)):
    envs = multigrid.vector_env(4096 if num_threads > 1 else 3, config, autoreset_mode=mode, num_threads=num_threads)
    envs.reset(seed=0)
    play(envs, 1)
    before = len(compiled)
    play(envs, 16)
    assert compiled[before:] == [], mode
print(len(compiled))
"""


@pytest.mark.heavy
@pytest.mark.skipif(not JUST_IN_TIME, reason="nothing is compiled here")
@pytest.mark.parametrize(
    "config",
    [
        "GridConfig(size=(5, 3), max_cycles=6)",
        "GridConfig(size=(5, 3), max_cycles=6, on_target='restart', delays=0.2)",
        "GridConfig(walls=multigrid.maps.RandomWalls(size=(7, 5)), max_cycles=6)",
        "GridConfig(game=Tag, size=(5, 3), num_agents=3, max_cycles=6)",
        "games.config('Foraging-8x8-2p-2f-v3', max_episode_steps=6)",
    ],
)
def test_nothing_is_compiled_in_mid_episode(config: str) -> None:
    """After a reset and a step all is compiled or loaded that two whole episodes need, in each autoreset mode."""
    ended = run_python("-c", EPISODES, config)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 5
