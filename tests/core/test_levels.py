"""Levels, what an episode begins with: kept, set in place of drawn ones, changed at random, saved."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import re
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import multigrid.scenarios
from helpers import crossed
from multigrid import GridConfig, MultiGridEnv, vector_env
from multigrid.maps import Level, ParsedMap, RandomWalls, mutate, parse_map
from worldgen import components

WALLS = RandomWalls(side=(4, 7), density=(0.1, 0.4))
CONFIG = GridConfig(walls=WALLS, num_agents=(2, 4), observe=("view", "agent", "target"), max_cycles=9)
PICTURE = """
    a.#.B..
    .##...#
    .....C.
    b.#A.c.
    ####...
    ..#....
    .......
"""
LEVEL = Level(*parse_map(PICTURE))


def play(env: MultiGridEnv[Any], seed: int) -> Any:
    """Play an episode with random actions, and return all that its steps returned."""
    random, steps = np.random.default_rng(seed), []
    while env.agents:
        steps.append(env.step({agent: int(random.integers(4)) for agent in env.agents}))
    return steps


def test_a_level_is_what_the_episode_began_with() -> None:
    """It is the map, the cells and the targets right after the reset, also after steps, in a copy, and by a state."""
    env = MultiGridEnv(CONFIG)
    for seed in range(5):
        env.reset(seed=seed)
        state: Any = env.get_state()
        present = len(env.agents)
        level = env.get_level()
        assert (level.walls == state["walls"]).all()
        assert (level.agents == state["location"][:present]).all()
        assert (level.targets == state["target"][:present]).all()
        play(env, seed)
        others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), MultiGridEnv(CONFIG)]
        others[2].set_state(env.get_state())
        assert {one.get_level() for one in (env, *others)} == {level}
        envs = vector_env(3, CONFIG)
        envs.reset(seed=99)
        envs.set_state([env.get_state()], [1])
        assert envs.get_levels([1]) == [level]


def test_levels_are_of_targets_at_the_beginning() -> None:
    """Under *restart*, where agents get new targets, the level has the first ones."""
    env = MultiGridEnv(dataclasses.replace(CONFIG, on_target="restart", max_cycles=60))
    env.reset(seed=3)
    level, targets = env.get_level(), env.get_state()["target"].copy()
    play(env, 0)
    assert not np.array_equal(env.get_state()["target"], targets)
    assert env.get_level() == level


@pytest.mark.parametrize(("collisions", "on_target"), crossed(["symmetric", "soft"], ["park", "leave", "stay"]))
def test_a_level_is_played_as_a_known_map(collisions: Any, on_target: Any) -> None:
    """A reset to a level plays as an environment of that map with these agents, from its first observation on."""
    rules: Any = {"collisions": collisions, "on_target": on_target, "observe": CONFIG.observe, "max_cycles": 30}
    known = MultiGridEnv(GridConfig(walls=LEVEL, **rules))
    drawn = MultiGridEnv(GridConfig(walls=WALLS, num_agents=3, **rules))
    for seed in range(3):
        expected = known.reset(seed=seed), play(known, seed)
        np.testing.assert_equal((drawn.reset(seed=seed, options={"level": LEVEL}), play(drawn, seed)), expected)
        assert drawn.get_level() == LEVEL


def test_a_level_draws_nothing() -> None:
    """A reset to a level leaves the stream as it is: the next episode is the one that would have come in its place."""
    one, other = (MultiGridEnv(CONFIG) for _ in range(2))
    for env in (one, other):
        env.reset(seed=8)
    one.reset(options={"level": LEVEL})
    assert one.agents == ["agent_0", "agent_1", "agent_2"]
    for _ in range(2):
        np.testing.assert_equal(one.reset(), other.reset())
        assert one.get_level() == other.get_level() != LEVEL


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("count", [9, pytest.param(1100, marks=pytest.mark.heavy)], ids=["one thread", "two"])
def test_next_levels_begin_with_the_next_automatic_reset(mode: AutoresetMode, count: int) -> None:
    """A chosen level is that of its world's next episode alone, whose infos have its number, and then forgotten."""
    envs = vector_env(count, CONFIG, autoreset_mode=mode, num_threads=1 + count // 1000)
    others = vector_env(count, CONFIG, autoreset_mode=mode)
    one = count - 2
    for env in (envs, others):
        env.reset(seed=0)
    envs.set_next_levels([one, 3], [LEVEL, mutate(LEVEL, 3, np.random.default_rng(0))], ids=[12, 7])
    chosen, seen = {}, []
    for step in range(3 * 10):
        actions = np.full(envs.num_envs, step % 4)
        results, _ = envs.step(actions), others.step(actions)
        level = results[4]["level"].reshape(count, 4)
        assert (level == level[:, :1]).all()
        assert set(np.flatnonzero(level[:, 0] >= 0).tolist()) in ({3, one}, set())
        seen.append(level[one, 0])
        if seen[-1] >= 0:
            chosen[step] = envs.get_levels([one])[0]
        if "final_info" in results[4] and seen[-2:] == [12, -1]:
            assert results[4]["final_info"]["level"].reshape(count, 4)[one].tolist() == [12] * 4
    assert set(chosen.values()) == {LEVEL}
    assert [number for number, _ in itertools.groupby(seen)] == [-1, 12, -1]
    assert envs.get_levels([0, 1, 2]) == others.get_levels([0, 1, 2])


def test_no_levels_are_refused() -> None:
    """None in place of levels is an error, and the level that waits keeps its number."""
    envs = vector_env(2, CONFIG, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.set_next_levels([1], [LEVEL], [7])
    with pytest.raises(TypeError, match="levels are None; expected a level for each world"):
        envs.set_next_levels([1], None)
    assert envs.reset()[1]["level"].tolist() == [-1] * 4 + [7] * 4


def test_levels_of_resets_of_many_worlds() -> None:
    """`reset` takes one level for all worlds, or one for each that a mask resets; the other worlds keep theirs."""
    envs = vector_env(3, CONFIG, autoreset_mode="Disabled")
    envs.reset(seed=4)
    first, second, third = envs.get_levels()
    mask = np.repeat([True, False, True], 4)
    envs.reset(options={"level": [third, LEVEL], "reset_mask": mask})
    assert envs.get_levels() == [third, second, LEVEL]
    _, infos = envs.reset(options={"level": LEVEL})
    assert set(envs.get_levels()) == {LEVEL}
    assert first != second
    assert (infos["level"] == -1).all()


def test_a_reset_that_is_refused_leaves_no_level() -> None:
    """If a reset to a level is refused, for a generator in a bad state, the next one has drawn levels."""
    envs = vector_env(2, CONFIG, autoreset_mode="Disabled")
    envs.reset(seed=4)
    bits = envs.np_random[0].bit_generator
    good = bits.state
    bits.state = good | {"state": good["state"] | {"inc": 2}}
    with pytest.raises(ValueError, match="np_random is in a state that no PCG64 can reach"):
        envs.reset(options={"level": LEVEL, "reset_mask": np.repeat([True, False], 4)})
    bits.state = good
    assert LEVEL not in envs.get_levels()
    envs.reset()
    assert LEVEL not in envs.get_levels()


def test_an_interrupted_reset_forgets_the_next_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an exception in a reset to a level, the next episodes have drawn levels, as those of a new env."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    envs, others = (vector_env(2, CONFIG) for _ in range(2))
    alone, other = (MultiGridEnv(CONFIG) for _ in range(2))
    envs.reset(seed=3)
    envs.set_next_levels([1], mutate(LEVEL, 3, np.random.default_rng(0)), ids=[7])
    for env, new in ((envs, others), (alone, other)):
        env.reset(seed=3)
        with monkeypatch.context() as patched:
            patched.setattr(env._worlds.kernels, "reset_worlds", interrupt)
            with pytest.raises(KeyboardInterrupt):
                env.reset(options={"level": LEVEL})
        np.testing.assert_equal(env.reset(seed=4), new.reset(seed=4))
    assert alone.get_level() == other.get_level()
    for _ in range(12):
        np.testing.assert_equal(envs.step(np.zeros(8, int)), others.step(np.zeros(8, int)))
    assert envs.get_levels() == others.get_levels()


def test_a_state_has_no_number_of_a_level() -> None:
    """A state that is set is of its own level, and its episode has the number of none."""
    envs = vector_env(2, dataclasses.replace(CONFIG, max_cycles=None))
    envs.reset(seed=0)
    state = envs.get_state([0])
    envs.set_next_levels([0, 1], LEVEL, ids=[4, 5])
    envs.reset()
    envs.set_state(state, [0])
    assert envs.step(np.zeros(8, int))[4]["level"].tolist() == [-1] * 4 + [5] * 4


def test_levels_are_compared_by_content() -> None:
    """Equal maps, cells and targets are one level; it cannot be changed; a pickle and a deep copy are equal to it."""
    same, other = Level(*parse_map(PICTURE)), Level(*parse_map(PICTURE.replace("a.#", "a##")))
    assert (hash(same), same, {same}) == (hash(LEVEL), LEVEL, {LEVEL})
    assert (same != LEVEL, other == LEVEL, other != LEVEL, LEVEL == 3) == (False, False, True, False)
    assert pickle.loads(pickle.dumps(LEVEL)) == copy.deepcopy(LEVEL) == LEVEL
    with pytest.raises(ValueError, match="read-only"):
        LEVEL.walls[0, 0] = True
    with pytest.raises(TypeError, match="state is 3; expected a dict of arrays by name, or None"):
        Level(*LEVEL, state=3)  # type: ignore[arg-type]


def test_levels_are_saved_as_scenarios(tmp_path: Any) -> None:
    """A scenario of a level's map is a file, from which the level is read again."""
    path = tmp_path / "level.json"
    multigrid.scenarios.save(multigrid.scenarios.Scenario("level", GridConfig(walls=LEVEL, max_cycles=9)), path)
    walls: Any = multigrid.scenarios.load(path).config.walls
    assert Level(*(array[0] for array in walls)) == LEVEL


def test_mutations_are_levels() -> None:
    """Each edit is of one cell, all kinds occur, and agents still reach their targets; one seed gives one result."""
    kinds: dict[str, int] = dict.fromkeys(("opened", "closed", "agent", "target"), 0)
    random, level = np.random.default_rng(5), LEVEL
    for _ in range(300):
        changed = mutate(level, 1, random)
        walls = changed.walls.astype(int) - level.walls
        kinds["opened"] += int((walls < 0).sum())
        kinds["closed"] += int((walls > 0).sum())
        kinds["agent"] += int((changed.agents != level.agents).any())
        kinds["target"] += int((changed.targets != level.targets).any())
        reach = components(changed.walls)
        for (x, y), (to_x, to_y) in zip(changed.agents.tolist(), changed.targets.tolist(), strict=True):
            assert (to_x, to_y) in reach[x, y]
            assert (x, y) != (to_x, to_y)
        assert all(len({tuple(cell) for cell in cells.tolist()}) == 3 for cells in changed[1:])
        level = changed
    assert sum(kinds.values()) == 300
    assert min(kinds.values()) > 5
    one, other = (mutate(LEVEL, 20, np.random.default_rng(1)) for _ in range(2))
    assert one == other != LEVEL
    assert mutate(LEVEL, 0, random) == LEVEL == Level(*parse_map(PICTURE))
    assert mutate(parse_map("aA"), 0, random) == Level(*parse_map("aA"))


def test_levels_without_targets_change_too() -> None:
    """Without targets, walls and agents change, and agents may be shut in; they stay in cells of their own."""
    random, level, shut_in = np.random.default_rng(5), Level(*parse_map("a.b\n#.c", targets=False)), 0
    for _ in range(200):
        changed = mutate(level, 1, random)
        moved = (changed.agents != level.agents).any(axis=1).sum()
        assert (changed.walls != level.walls).sum() + moved == 1
        assert not changed.walls[tuple(changed.agents.T)].any()
        assert (len({*map(tuple, changed.agents.tolist())}), changed.targets.shape) == (3, (0, 2))
        shut_in += any(len(reach) == 1 for reach in components(changed.walls).values())
        level = changed
    assert shut_in > 5


@pytest.mark.parametrize(
    ("level", "problem"),
    [
        (Level(*parse_map("a.A\n..."))._replace(), "has 3 x 2 cells; expected 7 x 7"),
        (Level(LEVEL.walls, LEVEL.agents[:1], LEVEL.targets[:1]), "has 1 agents; expected 2 to 4"),
        (Level(LEVEL.walls, LEVEL.agents[[0, 0, 1]], LEVEL.targets), "have the same location"),
        (Level(LEVEL.walls, [[2, 0], [0, 3], [5, 3]], LEVEL.targets), "which is a wall"),
        (Level(LEVEL.walls | (np.arange(7) == 2), LEVEL.agents, LEVEL.targets), "cannot reach|is a wall"),
        (ParsedMap(LEVEL.walls, LEVEL.agents, LEVEL.targets[:, None]), "expected what get_level() returned"),
        (LEVEL.walls, "expected what get_level() returned"),
        ("a.A", "expected what get_level() returned"),
    ],
)
def test_levels_that_do_not_fit_are_refused(level: Any, problem: str) -> None:
    """A level of another size, number of agents or form, or with an agent in a wall, is refused; nothing changes."""
    env, envs = MultiGridEnv(CONFIG), vector_env(2, CONFIG)
    env.reset(seed=1)
    envs.reset(seed=1)
    before = env.get_level()
    pattern = problem if "|" in problem else re.escape(problem)
    with pytest.raises((TypeError, ValueError), match=pattern):
        env.reset(options={"level": level})
    with pytest.raises((TypeError, ValueError), match=pattern):
        envs.set_next_levels([1], [level])
    assert env.get_level() == envs.get_levels()[0] == before
    envs.reset()
    env.reset()
    assert env.get_level() == envs.get_levels()[0]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda envs: envs.set_next_levels([0, 1], [LEVEL]), "has 1 levels; expected one, or one for each of 2 worlds"),
        (lambda envs: envs.set_next_levels([2], LEVEL), "expected integers (K,) from 0 to 1"),
        (lambda envs: envs.set_next_levels([1, 1], LEVEL), "worlds are [1, 1]; name each once"),
        (lambda envs: envs.set_next_levels([0], LEVEL, ids=[-1]), "ids is -1"),
        (lambda envs: envs.set_next_levels([0], LEVEL, ids=[1, 2]), "ids is [1, 2]; expected 1 integers"),
        (lambda envs: vector_env(1).set_next_levels([0], LEVEL), "the maps are not drawn; expected walls=RandomWalls"),
        (lambda envs: vector_env(1).reset(options={"level": LEVEL}), "the maps are not drawn"),
        (lambda envs: vector_env(1, CONFIG).get_levels(), "without an episode; call reset() first"),
        (lambda envs: envs.reset(options={"levels": LEVEL}), "options has the key 'levels'; expected 'level'"),
        (lambda envs: mutate(LEVEL, -1, np.random.default_rng()), "edits is -1"),
        (lambda envs: mutate(LEVEL, 1, 3), "rng is of type int"),
        (lambda envs: mutate(PICTURE, 1, np.random.default_rng()), "expected what get_level() returned"),
        (lambda envs: mutate(ParsedMap([[False]], [[0, 7]], [[0, 0]]), 1, np.random.default_rng()), "outside"),
        (lambda envs: Level([[False] * 2], [[0.9, 0]], [[0, 1]]), "agents is of float64"),
        (lambda envs: mutate(parse_map("aA"), 1, np.random.default_rng()), "no cell that can change"),
    ],
)
def test_bad_calls_are_refused(call: Any, problem: str) -> None:
    """Another number of levels, other worlds, bad numbers, known maps and impossible edits are refused in words."""
    envs = vector_env(2, CONFIG)
    envs.reset(seed=0)
    with pytest.raises((TypeError, ValueError, ResetNeeded), match=re.escape(problem)):
        call(envs)


@pytest.mark.parametrize("change", ["in a wall", "one more", "outside", "on its target", "no field"])
def test_states_of_other_beginnings_are_refused(change: str) -> None:
    """A state whose episode cannot have begun on its map is refused."""
    env = MultiGridEnv(GridConfig(walls=WALLS, num_agents=(2, 3)))
    env.reset(options={"level": Level(LEVEL.walls, LEVEL.agents[:2], LEVEL.targets[:2])})
    state: Any = copy.deepcopy(env.get_state())
    if change == "no field":
        del state["beginnings"]
    else:
        row = {
            "in a wall": [2, 0, 4, 0],
            "one more": [5, 3, 5, 2],
            "outside": [9, 0, 4, 0],
            "on its target": [4, 0, 4, 0],
        }[change]
        state["beginnings"][2 if change == "one more" else 1] = row
    with pytest.raises(ValueError, match="beginnings"):
        env.set_state(state)
