"""The vector env gives, to the bit, what SyncVectorEnv and lists of single envs give; and what it may never do."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import hashlib
import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers import vector as wrappers
from hypothesis import given
from hypothesis import strategies as st

import multigrid
from multigrid import GridConfig, MultiGridEnv, MultiGridVectorEnv, Outcome, vector_env
from multigrid.config import Collisions, OnTarget, Part
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from oracle import Oracle
from played import STRICT

GRID_WORLD = "multigrid/GridWorld-v0"
MODES = list(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
by_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)

POOL = np.array([
    [[False, False, True, False], [False, True, False, False], [False, False, False, False]],
    [[False, False, False, False], [True, False, False, True], [False, False, False, False]],
])  # fmt: skip
# The pool as pictures that set the layout, so that drawing the map is all that a reset draws.
PICTURES = ["a.A\n.#.\n#.b\n.B.", "B.b\n#..\n..A\n#a."]
METRICS = {"success", "arrival_step", "csr", "isr", "sum_of_costs", "makespan", "throughput"}


def same(one: Any, other: Any, where: str = "") -> None:
    """Fail unless two things are alike to the bit: types, keys, dtypes, shapes and values, however nested."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert set(one) == set(other), where
        for key in one:
            same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for index, pair in enumerate(zip(one, other, strict=True)):
            same(*pair, f"{where}/{index}")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        if one.dtype == object:
            same(one.tolist(), other.tolist(), where)
        else:
            assert one.tobytes() == other.tobytes(), (where, one, other)
    else:
        assert one == other, where


def streams(envs: Any) -> list[str]:
    """The full state of each row's generator, comparable with ==."""
    return [str(generator.bit_generator.state) for generator in envs.np_random]


class OracleEnv(gymnasium.Env[Any, Any]):
    """The oracle of the documented code, with the spaces and arrays that a vector env needs."""

    def __init__(self, size: int) -> None:
        cell = Box(0, size - 1, (2,), np.int64)
        self.observation_space, self.action_space = Dict(agent=cell, target=cell), Discrete(4)
        self._oracle = Oracle(size)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begin an episode."""
        return self._arrays(*self._oracle.reset(seed))

    def step(self, action: Any) -> Any:
        """Move one cell."""
        return self._arrays(*self._oracle.step(int(action)))

    def _arrays(self, observation: dict[str, list[int]], *rest: Any) -> Any:
        return {part: np.array(cell) for part, cell in observation.items()}, *rest


def documented(size: int, limit: int | None) -> gymnasium.Env[Any, Any]:
    """One documented env, from the oracle."""
    env: Any = OracleEnv(size)
    return env if limit is None else TimeLimit(env, limit)


def ours(size: int, limit: int | None) -> gymnasium.Env[Any, Any]:
    """One documented env, from this package."""
    return gymnasium.make(GRID_WORLD, size=size, max_episode_steps=limit, disable_env_checker=True)


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


@by_mode
@pytest.mark.parametrize("limit", [None, 7])
@pytest.mark.parametrize("size", [2, 3, 5, 9])
@pytest.mark.parametrize("make", [documented, ours])
def test_it_gives_what_sync_vector_env_gives(
    make: Callable[..., Any], size: int, limit: int | None, mode: AutoresetMode
) -> None:
    """Over whole episodes all that it returns, and what is left of the streams, equal Gymnasium's own vector env."""
    one = gymnasium.make_vec(GRID_WORLD, num_envs=6, size=size, max_episode_steps=limit, autoreset_mode=mode)
    other = sync(make, 6, size, limit, mode)
    assert isinstance(one, GridWorldVectorEnv)
    random = np.random.default_rng(size)
    ends = lockstep(one, other, 5, 150, random) + lockstep(one, other, [3, 1, 4, 1, 5, 9], 40, random)
    ends += lockstep(one, other, [8, None, None, 2, None, 7], 40, random) + lockstep(one, other, None, 40, random)
    if make is ours:
        # From here on the generators are held, and the kernels take their states from outside.
        assert one.np_random_seed == other.np_random_seed
        assert streams(one) == streams(other)
        ends += lockstep(one, other, None, 40, random)
        assert streams(one) == streams(other)
    assert ends > (60 if limit else {2: 150, 3: 60, 5: 15, 9: 3}[size])


@by_mode
def test_without_copies_it_gives_the_same(mode: AutoresetMode) -> None:
    """With copy=False the values are those of Gymnasium's own vector env all the same."""
    one = GridWorldVectorEnv(6, size=3, max_episode_steps=7, autoreset_mode=mode, copy=False)
    assert lockstep(one, sync(documented, 6, 3, 7, mode), 1, 150, np.random.default_rng(1)) > 60


def test_which_ids_give_which_vector_env() -> None:
    """The package's id makes its own vector env by default; the documents' ids make a SyncVectorEnv, as they say."""
    assert repr(gymnasium.make_vec(GRID_WORLD, num_envs=3)) == f"GridWorldVectorEnv({GRID_WORLD}, num_envs=3)"
    for envs in (
        gymnasium.make_vec("gymnasium_env/GridWorld-v0", num_envs=3),
        gymnasium.make_vec("gym_examples/GridWorld-v0", num_envs=3),
        gymnasium.make_vec(GRID_WORLD, num_envs=3, vectorization_mode="sync"),
    ):
        assert type(envs) is SyncVectorEnv
        envs.close()


@by_mode
def test_spaces_and_metadata_are_those_of_sync_vector_env(mode: AutoresetMode) -> None:
    """Spaces, one row's and all rows', samples of them, and the declared autoreset mode are Gymnasium's."""
    one = gymnasium.make_vec(GRID_WORLD, num_envs=4, size=3, autoreset_mode=mode)
    other = sync(documented, 4, 3, None, mode)
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(one, name) == getattr(other, name)
    assert one.metadata["autoreset_mode"] is mode
    assert "autoreset_mode" not in MultiGridVectorEnv.metadata
    one.action_space.seed(3)
    other.action_space.seed(3)
    same(one.action_space.sample(), other.action_space.sample())
    assert vector_env(2, autoreset_mode=mode.value).metadata["autoreset_mode"] is mode


class Worlds:
    """MultiGridEnvs one by one, in rows, begun anew by the rules of the three modes: what many worlds are judged by."""

    def __init__(self, config: GridConfig, count: int, mode: AutoresetMode) -> None:
        self.config, self.mode = config, mode
        self.envs = [MultiGridEnv(config) for _ in range(count)]
        self.seen: list[Any] = [None] * (count * config.num_agents)
        self.ends = 0

    def reset(self, seeds: list[Any], chosen: list[int], options: Callable[[int], Any] = lambda e: None) -> list[Any]:
        """Begin an episode in the chosen worlds; the others only show what they showed last."""
        first = {e: self._begin(e, seeds[e], options(e)) for e in chosen}
        num_agents = self.config.num_agents
        rows = []
        for row, shown in enumerate(self.seen):
            e, i = divmod(row, num_agents)
            rows.append([shown, first[e][i][-1] if e in first else {}])
        return rows

    def asked(self) -> list[bool]:
        """Whether the action of each row counts in the next step."""
        return [agent in env.agents for env in self.envs for agent in env.possible_agents]

    def step(self, actions: list[int]) -> list[Any]:
        """Play one step: observation, reward, terminated, truncated and info of each row."""
        rows = []
        for e, env in enumerate(self.envs):
            if not env.agents:
                assert self.mode is NEXT_STEP
                rows += self._begin(e)
            else:
                first = e * self.config.num_agents
                rows += self._played(e, actions[first : first + self.config.num_agents])
        return rows

    def _begin(self, e: int, seed: Any = None, options: Any = None) -> list[Any]:
        seen, infos = self.envs[e].reset(seed=seed, options=options)
        rows = [[listed(seen[agent]), 0.0, False, False, infos[agent] | {"alive": True}] for agent in seen]
        self._show(e, rows)
        return rows

    def _played(self, e: int, actions: list[int]) -> list[Any]:
        env = self.envs[e]
        given = {
            agent: action for agent, action in zip(env.possible_agents, actions, strict=True) if agent in env.agents
        }
        seen, *told, infos = env.step(given)
        over = not env.agents
        rows = []
        for i, agent in enumerate(env.possible_agents):
            if agent in seen:
                row = [listed(seen[agent]), *(one[agent] for one in told), infos[agent] | {"alive": True}]
            else:
                gone = {"distance": 0.0, "outcome": int(Outcome.STAYED), "alive": False}
                row = [listed(self._nothing()), 0.0, False, over, gone]
            if over:
                row[-1] |= {name: value[i].item() if np.ndim(value) else value for name, value in env.metrics().items()}
            rows.append(row)
        self._show(e, rows)
        self.ends += over
        if over and self.mode is SAME_STEP:
            final = rows
            rows = [
                [shown, *row[1:-1], info | {"final_obs": row[0], "final_info": row[-1]}]
                for row, (shown, *_, info) in zip(final, self._begin(e), strict=True)
            ]
        return rows

    def _nothing(self) -> Any:
        space = self.envs[0].observation_space("agent_0")
        if isinstance(space, Dict):
            return {part: np.zeros(box.shape, box.dtype) for part, box in space.items()}
        return np.zeros(space.shape, space.dtype)

    def _show(self, e: int, rows: list[Any]) -> None:
        num_agents = self.config.num_agents
        self.seen[e * num_agents : (e + 1) * num_agents] = [row[0] for row in rows]


def listed(seen: Any) -> Any:
    """One agent's observation without arrays, dtypes included."""
    if isinstance(seen, dict):
        return {part: (str(array.dtype), array.tolist()) for part, array in seen.items()}
    return str(seen.dtype), seen.tolist()


def told_rows(infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The info of each row, from arrays and masks; where a mask is False there must be nothing."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    names = {name for name in infos if not name.startswith("_")}
    assert set(infos) == names | {f"_{name}" for name in names}
    for name in names:
        values, mask = infos[name], infos[f"_{name}"]
        assert (mask.dtype, mask.shape) == (bool, (count,))
        if isinstance(values, dict):
            column: list[Any] = told_rows(values, count)
            assert not any(one for one, there in zip(column, mask, strict=True) if not there)
        else:
            assert values.shape == (count,)
            assert values.dtype == {"outcome": "int64", "alive": bool, "success": bool, "final_obs": object}.get(
                name, "float64"
            )
            assert not values[~mask].any()
            column = values.tolist()
            if name == "final_obs":
                column = [one if one is None else listed(one) for one in column]
        for row in np.flatnonzero(mask).tolist():
            rows[row][name] = column[row]
    return rows


def rows_of(envs: MultiGridVectorEnv, came: Any) -> list[Any]:
    """What the vector env has returned, row by row, as `Worlds` gives it."""
    observations, *flags, infos = came
    count = envs.num_envs
    assert envs.observation_space.contains(observations)
    if isinstance(observations, dict):
        columns = [[(str(array.dtype), cells) for cells in array.tolist()] for array in observations.values()]
        seen: list[Any] = [dict(zip(observations, row, strict=True)) for row in zip(*columns, strict=True)]
    else:
        seen = [(str(observations.dtype), cells) for cells in observations.tolist()]
    assert [(array.dtype, array.shape) for array in flags] == [
        (np.float64, (count,)),
        (bool, (count,)),
        (bool, (count,)),
    ][: len(flags)]
    return [list(row) for row in zip(seen, *(array.tolist() for array in flags), told_rows(infos, count), strict=True)]


def alike(got: list[Any], expected: list[Any], where: str) -> None:
    """Fail unless rows are equal, NaN being equal to NaN, and 1 to neither 1.0 nor True."""
    for row, (one, other) in enumerate(zip(got, expected, strict=True)):
        assert text(one) == text(other), f"{where}, row {row}"


def text(value: Any) -> str:
    """What repr() gives, but for the order of a dict's keys."""
    if isinstance(value, dict):
        return str([(key, text(value[key])) for key in sorted(value)])
    return str([text(one) for one in value]) if isinstance(value, list) else repr(value)


def play_alike(
    config: GridConfig, mode: AutoresetMode, seed: Any, steps: int, count: int, *, draws: bool = False, **keywords: Any
) -> collections.Counter[str]:
    """Play a vector env and a list of envs alike, with masked resets now and then, and count what there was to see."""
    envs, worlds = vector_env(count, config, autoreset_mode=mode, **keywords), Worlds(config, count, mode)
    random = np.random.default_rng(steps)
    num_agents = config.num_agents
    seeds = [seed + e for e in range(count)] if isinstance(seed, int) else seed
    alike(rows_of(envs, envs.reset(seed=seed)), worlds.reset(seeds, list(range(count))), "reset")
    there_was: collections.Counter[str] = collections.Counter()
    for t in range(steps):
        if draws and t % 9 == 4:
            for e in random.permutation(count)[: 1 + count // 2].tolist():
                assert envs.np_random[e].random() == worlds.envs[e].np_random.random()
                assert envs.np_random[e].integers(9, dtype=np.uint32) == worlds.envs[e].np_random.integers(
                    9, dtype=np.uint32
                )
        asked = np.array(worlds.asked())
        actions = random.integers(config.num_actions, size=count * num_agents)
        actions[~asked] = random.choice([-1, 99, -(2**63), 3], size=(~asked).sum())
        got = rows_of(envs, envs.step(actions))
        alike(got, worlds.step(actions.tolist()), f"step {t}")
        for *_, terminated, truncated, info in got:
            last = info.get("final_info", info)
            there_was["terminated"] += terminated
            there_was["truncated"] += truncated and last["alive"]
            there_was["dead"] += not last["alive"] and not truncated
            there_was["dead at the end"] += not last["alive"] and truncated
            there_was["metrics"] += METRICS.issubset(last)
        over = [not env.agents for env in worlds.envs]
        chosen = random.random(count) < (0.3 if t % 11 == 5 else 0)
        if mode is DISABLED:
            chosen |= over
        if chosen.any():
            again = [None if random.integers(2) else int(random.integers(2**40)) for _ in range(count)]
            options = {"reset_mask": chosen.repeat(num_agents)}
            expected = worlds.reset(again, np.flatnonzero(chosen).tolist())
            alike(rows_of(envs, envs.reset(seed=again, options=options)), expected, f"masked reset {t}")
        if t % 5 == 0:
            same(envs.state(), np.stack([env.state() for env in worlds.envs]))
            figures = [env.metrics() for env in worlds.envs]
            same(envs.metrics(), {name: np.array([one[name] for one in figures]) for name in figures[0]})
    there_was["ends"] = worlds.ends
    envs.close()
    return there_was


@by_mode
@pytest.mark.parametrize("on_target", get_args(OnTarget))
def test_world_i_plays_what_an_env_of_seed_plus_i_plays(on_target: Any, mode: AutoresetMode) -> None:
    """Rows, autoresets, final observations, infos and metrics are those of a list of MultiGridEnvs, by every rule."""
    there_was: collections.Counter[str] = collections.Counter()
    for index, collisions in enumerate(get_args(Collisions)):
        config = GridConfig(
            size=(4, 2),
            num_agents=2 if on_target == "stay" else 3,
            collisions=collisions,
            on_target=on_target,
            reward=("individual", "shared")[index % 2],
            allow_stay=index == 2,
            flatten=index == 3,
            observe=get_args(Part) if index in (0, 3) else None,
            max_cycles=16,
        )
        there_was += play_alike(config, mode, seed=2**50 + index, steps=60, count=4)
    assert there_was["ends"] > 40
    assert there_was["metrics"] == config.num_agents * there_was["ends"]
    assert (there_was["terminated"] > 10) == (on_target != "restart")
    assert there_was["truncated"] > 10
    assert (there_was["dead"] > 100) == (there_was["dead at the end"] > 20) == (on_target == "leave")


@by_mode
def test_draws_from_a_stream_that_was_handed_out_count(mode: AutoresetMode) -> None:
    """Who draws from np_random changes the world's later episodes and targets, as in a single env."""
    for on_target in ("restart", "leave"):
        config = GridConfig(walls=POOL, num_agents=2, on_target=on_target, max_cycles=9)
        assert play_alike(config, mode, seed=3, steps=90, count=3, draws=True)["ends"] > 20


@st.composite
def configs(draw: st.DrawFn) -> GridConfig:
    """Any world whose episodes are short."""
    world = draw(
        st.sampled_from([{"size": (3, 2)}, {"size": (1, 5)}, {"walls": POOL[0]}, {"walls": POOL}, {"walls": PICTURES}])
    )
    if world.get("walls") is not PICTURES:
        world = world | {"num_agents": draw(st.integers(1, 4))}
    names = {"collisions": Collisions, "on_target": OnTarget}
    return GridConfig(
        **world,
        **{field: draw(st.sampled_from(get_args(choice))) for field, choice in names.items()},
        reward=draw(st.sampled_from(["individual", "shared"])),
        observe=draw(st.none() | st.lists(st.sampled_from(get_args(Part)), min_size=1, unique=True).map(tuple)),
        view_radius=draw(st.integers(0, 2)),
        flatten=draw(st.booleans()),
        allow_stay=draw(st.booleans()),
        max_cycles=draw(st.integers(5, 25)),
    )


@given(configs(), st.sampled_from(MODES), st.integers(1, 5), st.booleans(), st.data())
def test_any_worlds_equal_a_list_of_envs(
    config: GridConfig, mode: AutoresetMode, count: int, draws: bool, data: st.DataObject
) -> None:
    """Whatever the configuration, the mode, the number of worlds and the seeds: rows are those of single envs."""
    seeds = st.integers(0, 2**63 - count)
    seed = data.draw(seeds | st.lists(seeds, min_size=count, max_size=count))
    keywords = data.draw(st.fixed_dictionaries({"copy": st.booleans(), "num_threads": st.integers(1, 2)}))
    play_alike(config, mode, seed=seed, steps=30, count=count, draws=draws, **keywords)


def some_envs(count: int = 3, **settings: Any) -> MultiGridVectorEnv:
    """Worlds that are neither square nor symmetric, with a pool of maps."""
    own = {name: settings.pop(name) for name in ("autoreset_mode", "copy", "render_mode") if name in settings}
    return vector_env(count, **own, **{"walls": POOL, "num_agents": 2, "max_cycles": 9, **settings})


def tale(envs: Any, steps: int = 12, seed: int = 5) -> list[Any]:
    """All that some steps of random play return; ended worlds are begun anew where they are not of themselves."""
    random, told = np.random.default_rng(seed), []
    count = envs.num_envs
    for _ in range(steps):
        told.append(envs.step(random.integers(4, size=count)))
        if envs.metadata["autoreset_mode"] is DISABLED:
            over = np.repeat(envs.unwrapped._world.arrays.over, envs.unwrapped.config.num_agents)
            if over.any():
                told.append(envs.reset(options={"reset_mask": over}))
    return told


@contextlib.contextmanager
def refused(envs: MultiGridVectorEnv, error: Any, match: str = "") -> Iterator[None]:
    """Expect an error that leaves all worlds, and the play that follows, as they were."""
    state, seeds, twin = envs.get_state(), envs.np_random_seed, copy.deepcopy(envs)
    with pytest.raises(error, match=match):
        yield
    same(envs.get_state(), state)
    assert envs.np_random_seed == seeds
    same(tale(envs), tale(twin))


def layouts(envs: MultiGridVectorEnv) -> list[Any]:
    """Where the agents and targets of each world are."""
    shown: list[Any] = envs.state().tolist()
    return shown


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
    assert [generator is envs.np_random[row // 2] for row, generator in enumerate(envs.get_attr("np_random"))] == [
        True
    ] * 6
    assert envs.get_attr("render_mode") == ("rgb_array",) * 6
    assert envs.call("max_cycles") == (9,) * 6
    same(envs.call("render"), envs.render())
    same(envs.call("get_state", [1]), (envs.get_state([1]),) * 6)


def test_without_a_seed_worlds_differ_and_tell_their_seeds() -> None:
    """Without a seed no two worlds begin alike, and each plays the episode of the seed that it reports."""
    config = GridConfig(size=(40, 30))
    found = []
    for envs, asked_before in ((vector_env(3, config), True), (vector_env(3, config), False)):
        before = envs.np_random_seed if asked_before else None
        envs.reset(seed=None if asked_before else [None] * 3)
        assert before in (None, envs.np_random_seed)
        found += layouts(envs)
        for seed, shown in zip(envs.np_random_seed, layouts(envs), strict=True):
            single = MultiGridEnv(config)
            single.reset(seed=seed)
            assert single.state().tolist() == shown
    assert all(found[i] != found[j] for i in range(6) for j in range(i))


@pytest.mark.parametrize(
    "seed",
    [
        7,
        np.int64(7),
        np.uint8(7),
        [7, 8, 9],
        (7, 8, 9),
        np.arange(7, 10),
        np.arange(7, 10, dtype=np.uint64),
        range(7, 10),
    ],
    ids=repr,
)
def test_seeds_may_be_any_integers(seed: Any) -> None:
    """A seed is an integer of Python or NumPy, or one for each world in any sequence or array."""
    envs, plain = some_envs(), some_envs()
    same(envs.reset(seed=seed), plain.reset(seed=7))
    same(tale(envs, 40), tale(plain, 40))


def test_the_largest_seeds() -> None:
    """Seeds up to the largest that 64 bits hold, signed, play what single envs of these seeds play."""
    envs = some_envs()
    envs.reset(seed=2**63 - 3)
    assert envs.np_random_seed == (2**63 - 3, 2**63 - 2, 2**63 - 1)
    single = MultiGridEnv(envs.config)
    single.reset(seed=2**63 - 1)
    assert layouts(envs)[2] == single.state().tolist()


@pytest.mark.parametrize(
    ("seed", "error"),
    [
        (-1, ValueError),
        (2**63, ValueError),
        (2**63 - 2, ValueError),
        (True, TypeError),
        (1.0, TypeError),
        ("123", TypeError),
        (np.array(7), TypeError),
        ({7, 8, 9}, TypeError),
        ([1, 2], ValueError),
        ([1, 2, 3, 4], ValueError),
        ([1, -2, 3], ValueError),
        ([1, 2**64, 3], ValueError),
        (np.array([1, 2**63, 3], dtype=np.uint64), ValueError),
        ([1, True, 3], TypeError),
        ([1, 2.0, 3], TypeError),
        (np.array([1.0, 2.0, 3.0]), TypeError),
        ([[1, 2, 3], 1, 2], TypeError),
    ],
    ids=repr,
)
def test_bad_seeds_are_refused(seed: Any, error: Any) -> None:
    """A seed that is no such integer, or one too few or too many, is an error that changes nothing."""
    envs = some_envs()
    envs.reset(seed=1)
    with refused(envs, error, "seed.*expected"):
        envs.reset(seed=seed)


AGENTS, TARGETS = [[0, 0], [2, 3]], [[2, 2], [0, 1]]
MANY_AGENTS = np.array([AGENTS, [[1, 2], [0, 3]], [[1, 1], [0, 0]]])
MANY_TARGETS = np.array([TARGETS, [[2, 1], [0, 1]], [[2, 3], [2, 2]]])
STACKED = {"map": 1, "agents": 3, "targets": 3}
# On the second map [2, 2] and [2, 3] are an island, and the first agent of AGENTS is not on it.
ISLAND = np.array([POOL[0], [[False] * 4, [False, False, True, True], [False, True, False, False]]])


@pytest.mark.parametrize(
    "options",
    [
        {"map": 1},
        {"map": np.int8(0)},
        {"map": [1, 0, 1]},
        {"map": np.array([0, 1, 1])},
        {"map": 0, "agents": AGENTS, "targets": TARGETS},
        {"map": [0, 0, 1], "agents": MANY_AGENTS, "targets": MANY_TARGETS},
        {"map": [0, 0, 1], "agents": MANY_AGENTS.tolist(), "targets": MANY_TARGETS.astype(np.int8)},
        {"map": 0, "agents": AGENTS, "targets": np.array([TARGETS, TARGETS[::-1], TARGETS])},
        {"agents": None, "targets": None, "map": None, "reset_mask": None},
        {"unknown": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("masked", [False, True])
def test_layouts_by_hand(options: dict[str, Any], masked: bool) -> None:
    """Maps and layouts, one for all worlds or one each, are what single envs make of theirs; so is what follows."""
    config = GridConfig(walls=POOL, num_agents=2, on_target="restart", max_cycles=9)
    envs, worlds = vector_env(3, config), Worlds(config, 3, NEXT_STEP)
    alike(rows_of(envs, envs.reset(seed=5)), worlds.reset([5, 6, 7], [0, 1, 2]), "reset")
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

    alike(rows_of(envs, came), worlds.reset([8, None, 9], chosen, of_world), "by hand")
    random = np.random.default_rng(2)
    for t in range(30):
        actions = random.integers(4, size=6)
        alike(rows_of(envs, envs.step(actions)), worlds.step(actions.tolist()), f"step {t}")


def test_one_layout_for_maps_without_a_pool() -> None:
    """Where there is but one map, a layout needs no map named."""
    envs = vector_env(2, walls=POOL[0], num_agents=2)
    envs.reset(seed=0, options={"agents": AGENTS, "targets": TARGETS})
    assert layouts(envs) == [[[0, 0, 2, 2], [2, 3, 0, 1]]] * 2


BAD_OPTIONS = [
    ([1], TypeError, "options are of type list"),
    ("map", TypeError, "options are of type str"),
    ({"map": -1}, ValueError, "map"),
    ({"map": 2}, ValueError, "map.* is 2, but there are 2 maps"),
    ({"map": [0, 2, 0]}, ValueError, "map.* is 2, but there are 2 maps"),
    ({"map": [0, 1]}, ValueError, "2 entries"),
    ({"map": True}, TypeError, "map"),
    ({"map": 1.0}, TypeError, "map"),
    ({"map": [0, 1.0, 0]}, TypeError, "map"),
    ({"map": np.array(1)}, TypeError, "map.*expected"),
    ({"map": "0"}, TypeError, "map"),
    ({"map": 0, "agents": AGENTS}, ValueError, "'agents' without 'targets'"),
    ({"map": 0, "targets": TARGETS}, ValueError, "'targets' without 'agents'"),
    ({"agents": AGENTS, "targets": TARGETS}, ValueError, "one of 2 maps"),
    ({"map": 0, "agents": [[0, 0], [3, 3]], "targets": TARGETS}, ValueError, "agent_1 .*outside"),
    ({"map": 0, "agents": [[0, 0], [1, 1]], "targets": TARGETS}, ValueError, "agent_1 .*wall"),
    ({"map": 0, "agents": [[2, 3], [2, 3]], "targets": TARGETS}, ValueError, "agent_0 and agent_1"),
    ({"map": 0, "agents": AGENTS, "targets": [[0, 0], [0, 1]]}, ValueError, "agent_0 starts on its own target"),
    ({"map": 0, "agents": [[0, 0]], "targets": [[2, 2]]}, ValueError, "shape"),
    ({"map": 0, "agents": [[0, 0], [2]], "targets": TARGETS}, ValueError, "ragged"),
    ({"map": 0, "agents": [[0.0, 0.0], [2.0, 3.0]], "targets": TARGETS}, TypeError, "float64"),
    ({"map": 0, "agents": MANY_AGENTS[:2], "targets": MANY_TARGETS[:2]}, ValueError, "shape"),
    # The layout of the last world is bad on its map alone.
    ({"map": 0, "agents": MANY_AGENTS[[0, 0, 0]], "targets": [TARGETS, TARGETS, [[1, 1], [0, 1]]]}, ValueError, "wall"),
    (
        {"map": [0, 0, 1], "agents": MANY_AGENTS[[0, 0, 0]], "targets": MANY_TARGETS[[0, 0, 0]]},
        ValueError,
        "agent_0 .*reach",
    ),
    ({"reset_mask": [True] * 6}, TypeError, "list.*expected a boolean array"),
    ({"reset_mask": np.ones(6, dtype=int)}, TypeError, "int64.*expected a boolean array"),
    ({"reset_mask": np.ones(3, dtype=bool)}, ValueError, r"\(3,\).*expected .* \(6,\)"),
    ({"reset_mask": np.ones((3, 2), dtype=bool)}, ValueError, r"\(3, 2\).*expected .* \(6,\)"),
    ({"reset_mask": np.zeros(6, dtype=bool)}, ValueError, "False everywhere"),
    ({"reset_mask": np.array([1, 1, 1, 0, 0, 0], dtype=bool)}, ValueError, "agents of world 1"),
]


@pytest.mark.parametrize(("options", "error", "match"), BAD_OPTIONS, ids=lambda value: str(value)[:60])
def test_bad_options_are_refused(options: Any, error: Any, match: str) -> None:
    """Whatever is wrong, in one world or in all, no world is reset, no stream is seeded, and the message says what."""
    envs = some_envs(walls=ISLAND)
    envs.reset(seed=1)
    tale(envs, 4)
    with refused(envs, error, match):
        envs.reset(seed=4, options=options)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", list, tuple]
)
def test_actions_may_be_any_integers(dtype: Any) -> None:
    """An action is an integer of any dtype, in an array or a sequence; the array given is left alone."""
    envs, plain = some_envs(), some_envs()
    envs.reset(seed=1)
    plain.reset(seed=1)
    random = np.random.default_rng(3)
    for _ in range(30):
        actions = random.integers(4, size=6)
        given = dtype(actions.tolist()) if dtype in (list, tuple) else actions.astype(dtype)
        kept = copy.deepcopy(given)
        same(envs.step(given), plain.step(actions))
        same(given, kept)


@pytest.mark.parametrize(
    ("actions", "error", "match"),
    [
        (0, ValueError, r"shape \(\); expected .* \(6,\)"),
        ([0] * 5, ValueError, r"shape \(5,\); expected .* \(6,\)"),
        (np.zeros((3, 2), dtype=int), ValueError, r"shape \(3, 2\); expected .* \(6,\)"),
        (np.zeros((6, 1), dtype=int), ValueError, r"shape \(6, 1\); expected .* \(6,\)"),
        (np.zeros(6), TypeError, "float64; expected integers"),
        (np.zeros(6, dtype=bool), TypeError, "bool; expected integers"),
        (np.zeros(6, dtype=object), TypeError, "object; expected integers"),
        (["0"] * 6, TypeError, "expected integers"),
        (None, ValueError, "expected integers"),
        ([0, 0, 0, 0, 0, 2**64], TypeError, "object; expected integers"),
        ([3, 0, 1, 4, 2, 5], ValueError, r"row 3 \(agent_1 of world 1\).* 4"),
        ([3, 0, 1, 2, -1, 0], ValueError, r"row 4 \(agent_0 of world 2\).* -1"),
        (np.array([3, 2, 1, 2, 3, -128], dtype=np.int8), ValueError, r"row 5 \(agent_1 of world 2\).* -128"),
        # As int64 it would wrap to -2**63, and its lower half to 0.
        (np.array([2**63, 0, 0, 0, 0, 0], dtype=np.uint64), ValueError, r"row 0 \(agent_0 of world 0\)"),
        (np.array([0, 2**32, 0, 0, 0, 0]), ValueError, r"row 1 \(agent_1 of world 0\).* 4294967296"),
    ],
    ids=str,
)
@by_mode
def test_bad_actions_are_refused(actions: Any, error: Any, match: str, mode: AutoresetMode) -> None:
    """One bad action is an error that names row, agent and world, and nothing in any world has moved."""
    envs = some_envs(autoreset_mode=mode)
    envs.reset(seed=1)
    tale(envs, 4)
    with refused(envs, error, match):
        envs.step(actions)


@by_mode
def test_actions_of_parked_agents_are_checked(mode: AutoresetMode) -> None:
    """An agent that has parked is still asked, so its action must be in range; a world that begins anew is not."""
    envs = vector_env(1, size=(4, 2), max_cycles=3, autoreset_mode=mode)
    envs.reset(seed=0, options={"agents": [[0, 0], [0, 1]], "targets": [[1, 0], [3, 1]]})
    assert envs.step([0, 2])[1].tolist() == [1, 0]
    with refused(envs, ValueError, "row 0"):
        envs.step([9, 2])


def arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    """All arrays in what was returned."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray):
        return [value, *arrays_in(value.tolist())] if value.dtype == object else [value]
    return [array for one in value for array in arrays_in(one)] if isinstance(value, list | tuple) else []


def internals(envs: MultiGridVectorEnv) -> list[np.ndarray[Any, Any]]:
    """All arrays that the env itself holds."""
    return [*envs._world.arrays, *arrays_in(list(vars(envs).values())), envs.config.regions]


BUFFERS: list[dict[str, Any]] = [
    {"on_target": "leave", "observe": get_args(Part)},
    {"on_target": "park", "flatten": True},
    {"on_target": "restart"},
]


@by_mode
@pytest.mark.parametrize("settings", BUFFERS, ids=lambda settings: settings["on_target"])
def test_all_that_is_returned_is_fresh(settings: dict[str, Any], mode: AutoresetMode) -> None:
    """No returned array shares memory with another or the env, none ever changes, and writing to one harms nobody."""
    envs, twin = some_envs(autoreset_mode=mode, **settings), some_envs(autoreset_mode=mode, **settings)
    mask = np.array([0, 0, 1, 1, 0, 0], dtype=bool)
    returned = [envs.reset(seed=3), *tale(envs, 40), envs.reset(options={"reset_mask": mask})]
    returned += [envs.get_state(), envs.metrics(), envs.state(), envs.get_state([1, 1])]
    assert any("final_obs" in told[-1] for told in returned[:-4] if isinstance(told, tuple)) == (mode is SAME_STEP)
    arrays = arrays_in(returned)
    module = np.lib.array_utils if hasattr(np.lib, "array_utils") else np  # NumPy 2, and 1
    bounds = module.byte_bounds
    spans = sorted([(*bounds(array), array) for array in arrays], key=lambda span: span[:2])
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    assert not any(np.may_share_memory(array, inner) for array in arrays[-99:] for inner in internals(envs))

    twin.reset(seed=3)
    same([*tale(twin, 40), twin.reset(options={"reset_mask": mask.copy()})], returned[1:-4])
    for _ in range(4):
        kept = copy.deepcopy(returned)
        came = tale(envs, 5)
        same(returned, kept)
        same(came, tale(twin, 5))
        for array in arrays_in(came):
            array.fill(None if array.dtype == object else 1)
        returned = [envs.reset(options={"reset_mask": mask}), twin.reset(options={"reset_mask": mask})]
        same(*returned)


@by_mode
@pytest.mark.parametrize("settings", BUFFERS, ids=lambda settings: settings["on_target"])
def test_without_copies_observations_come_in_the_same_arrays(settings: dict[str, Any], mode: AutoresetMode) -> None:
    """With copy=False each call returns the same observation arrays, written anew; the game itself is not in them."""
    envs = some_envs(autoreset_mode=mode, copy=False, **settings)
    twin = some_envs(autoreset_mode=mode, **settings)
    first, infos = envs.reset(seed=3)
    buffers = arrays_in(first)
    same((first, infos), twin.reset(seed=3))
    rest: list[Any] = [infos]
    for t in range(40):
        came, expected = tale(envs, 1, seed=t), tale(twin, 1, seed=t)
        same(came[-1], expected[-1])
        for observations, *others in came:
            assert all(one is other for one, other in zip(arrays_in(observations), buffers, strict=True))
            rest += others
        kept = copy.deepcopy(rest)
        envs.step(np.zeros(6, dtype=int)) if mode is not DISABLED else envs.reset()
        twin.step(np.zeros(6, dtype=int)) if mode is not DISABLED else twin.reset()
        same(rest, kept)
        for array in buffers:
            array.fill(1)
    same(envs.get_state(), twin.get_state())
    assert not any(np.may_share_memory(array, inner) for array in arrays_in(rest)[-99:] for inner in internals(envs))
    assert not any(np.may_share_memory(array, inner) for array in arrays_in(rest) for inner in buffers)


@by_mode
@pytest.mark.parametrize("on_target", get_args(OnTarget))
@pytest.mark.parametrize("held", [False, True], ids=["", "np_random held"])
def test_play_goes_on_from_a_state(on_target: str, held: bool, mode: AutoresetMode) -> None:
    """From a state, anywhere in an episode, all worlds play on as they did then, streams included; elsewhere too."""
    settings = {"on_target": on_target, "autoreset_mode": mode}
    envs, elsewhere = some_envs(**settings), some_envs(**settings)
    envs.reset(seed=2)
    for seed in range(6):
        if held:
            _ = envs.np_random[1].random(), elsewhere.np_random[2].random()
        state = envs.get_state()
        kept = copy.deepcopy(state)
        first = tale(envs, 15, seed=seed)
        elsewhere.set_state(state)
        envs.set_state(state)
        same(state, kept)
        same(tale(envs, 15, seed=seed), first)
        same(tale(elsewhere, 15, seed=seed), first)
        if held:
            assert streams(elsewhere) == streams(envs)
        tale(envs, 3, seed=seed)


def test_states_of_some_worlds() -> None:
    """States of some worlds, in any order, come into any worlds of another vector env; its other worlds go on."""
    envs, others = some_envs(5), some_envs(2)
    envs.reset(seed=2)
    others.reset(seed=9)
    tale(envs, 20)
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


def test_states_of_no_worlds() -> None:
    """The states of no worlds at all may be set, and change nothing."""
    envs = some_envs()
    envs.reset(seed=2)
    state = envs.get_state()
    envs.set_state(envs.get_state([]), [])
    same(envs.get_state(), state)


def test_a_state_comes_to_an_env_without_a_reset() -> None:
    """A vector env that had no reset can be given states, and then plays; its streams' seeds are not known."""
    envs, fresh = some_envs(), some_envs()
    envs.reset(seed=2)
    tale(envs, 5)
    fresh.set_state(envs.get_state())
    assert fresh.np_random_seed == (-1, -1, -1)
    same(tale(fresh, 30), tale(envs, 30))


def test_repeated_states_try_every_action() -> None:
    """One state repeated, and another action in each world, gives what single steps from that state give."""
    config = GridConfig(walls=POOL, num_agents=2, on_target="restart")
    root, worlds = vector_env(1, config), vector_env(16, config)
    root.reset(seed=8)
    joint = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), axis=-1).reshape(16, 2)
    for t in range(10):
        state = root.get_state()
        worlds.set_state({name: np.repeat(array, 16, axis=0) for name, array in state.items()})
        tried = rows_of(worlds, worlds.step(joint.ravel()))
        for k, actions in enumerate(joint):
            root.set_state(state)
            alike(tried[2 * k : 2 * k + 2], rows_of(root, root.step(actions)), f"step {t}, joint action {k}")


def test_states_of_any_configuration_are_refused_elsewhere() -> None:
    """What is no state, or not of so many worlds, or of another configuration, is an error that changes nothing."""
    envs = some_envs()
    envs.reset(seed=2)
    tale(envs, 4)
    state = envs.get_state()

    def but(**fields: Any) -> dict[str, Any]:
        return {name: value for name, value in {**state, **fields}.items() if value is not None}

    shifted = {name: array.copy() for name, array in state.items()}
    shifted["location"][2, 1] = [3, 0]
    on_wall = np.where(np.arange(3)[:, None, None] == 2, np.argwhere(POOL[state["map_index"][2]])[0], state["goal"])
    together = np.where(np.arange(3)[:, None, None] == 1, state["location"][:, :1], state["location"])
    for bad, error, match in (
        (None, TypeError, "NoneType"),
        ([state], TypeError, "list"),
        ({}, ValueError, "missing"),
        *((but(**{name: None}), ValueError, f"{name} in the state is missing") for name in state),
        *((but(**{name: array[:2]}), ValueError, f"{name} in the state is") for name, array in state.items()),
        (but(steps=state["steps"].astype(np.int32)), ValueError, "steps in the state is int32"),
        (but(steps=[[1], [1, 2]]), ValueError, "steps in the state is ragged"),
        (but(steps=state["steps"] - 99), ValueError, "steps"),
        (but(map_index=state["map_index"] + 2), ValueError, "map_index.*2 maps"),
        (but(status=np.full_like(state["status"], 2)), ValueError, "status"),
        (but(outcomes=state["outcomes"] + 8), ValueError, "outcomes"),
        (but(rewards=state["rewards"] * np.nan), ValueError, "rewards"),
        (but(streams=state["streams"] + np.uint64(2)), ValueError, "streams"),
        (shifted, ValueError, "location.*outside"),
        (but(goal=on_wall), ValueError, "goal.*walls"),
        (but(location=together), ValueError, "location.*one cell"),
        (some_state(num_agents=3), ValueError, "in the state is"),
        (some_state(count=4), ValueError, "in the state is"),
    ):
        with refused(envs, error, match):
            envs.set_state(bad)
    for worlds, error, match in (
        ([0, 1, 1], ValueError, "name each once"),
        ([0, 1, 3], ValueError, "0 to 2"),
        ([-1, 0, 1], ValueError, "0 to 2"),
        ([0, 1], ValueError, "in the state is"),
        ([True, True, True], TypeError, "bool"),
        ([0.0, 1.0, 2.0], TypeError, "float64"),
        ([[0, 1, 2]], TypeError, "shape"),
        (1, TypeError, "shape"),
    ):
        with refused(envs, error, match):
            envs.set_state(state, worlds)
    for worlds in ([3], [-1], [True], [0.5], 1, [[1]]):
        with refused(envs, (TypeError, ValueError), "worlds .*expected integers"):
            envs.get_state(worlds)


def some_state(**settings: Any) -> dict[str, Any]:
    """A state of other worlds."""
    envs = some_envs(**settings)
    envs.reset(seed=0)
    return envs.get_state()


@by_mode
@pytest.mark.parametrize("held", [False, True], ids=["", "np_random held"])
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))], ids=["deepcopy", "pickle"]
)
def test_copies_play_on_alike_and_apart(copied: Callable[[Any], Any], held: bool, mode: AutoresetMode) -> None:
    """A copy made in mid-episode plays on as its original does, and neither feels what the other does."""
    for settings in ({"on_target": "leave"}, {"copy": False, "flatten": True}):
        envs = some_envs(autoreset_mode=mode, **settings)
        _ = copied(envs)
        envs.reset(seed=2)
        tale(envs, 13)
        if held:
            envs.np_random[1].random()
        twin, other = copied(envs), copied(envs)
        tale(other, 30, seed=0)
        told = copy.deepcopy(tale(envs, 30))
        tale(other, 10, seed=1)
        same(copy.deepcopy(tale(twin, 30)), told)
        assert streams(twin) == streams(envs)
        assert twin.np_random_seed == envs.np_random_seed


def test_a_copy_plays_on_in_another_process() -> None:
    """What was pickled in mid-episode plays on in a spawned process as it does here, infos included."""
    envs = some_envs(on_target="leave", autoreset_mode=SAME_STEP, num_threads=2)
    envs.reset(seed=6)
    tale(envs, 5)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told = pool.apply_async(tale, (envs, 40)).get(timeout=120)
    same(told, tale(envs, 40))


def over_both(wrap: Callable[[VectorEnv[Any, Any, Any]], Any], mode: AutoresetMode) -> tuple[Any, Any]:
    """A wrapper over the vector env, and over Gymnasium's own."""
    return wrap(GridWorldVectorEnv(5, size=3, max_episode_steps=7, autoreset_mode=mode)), wrap(
        sync(documented, 5, 3, 7, mode)
    )


def play_wrapped(one: Any, other: Any, steps: int = 120) -> None:
    """Play both alike, with full resets now and then, and where a world has ended for good."""
    random = np.random.default_rng(0)
    over = False
    for t in range(steps):
        if t % 40 == 0 or over:
            same(one.reset(seed=t), other.reset(seed=t), f"reset {t}")
        actions = random.integers(4, size=5)
        came, expected = one.step(actions), other.step(actions)
        for infos in (came[-1], expected[-1]):
            for info in infos if isinstance(infos, list) else [infos]:
                info.get("episode", {}).pop("t", None)  # seconds
        same(came, expected, f"step {t}")
        over = one.metadata["autoreset_mode"] is DISABLED and (came[2] | came[3]).any()


@by_mode
@pytest.mark.parametrize(
    "wrap",
    [
        wrappers.RecordEpisodeStatistics,
        wrappers.DictInfoToList,
        wrappers.NormalizeReward,
        lambda envs: wrappers.RecordEpisodeStatistics(wrappers.ClipReward(envs, max_reward=0.5)),
    ],
    ids=["RecordEpisodeStatistics", "DictInfoToList", "NormalizeReward", "clipped"],
)
def test_gymnasiums_wrappers_do_as_over_sync_vector_env(wrap: Any, mode: AutoresetMode) -> None:
    """Gymnasium's vector wrappers run over it, and give what they give over Gymnasium's own vector env."""
    play_wrapped(*over_both(wrap, mode))


def play_to_an_end(envs: Any) -> None:
    """Play until the limit of `over_both` has ended an episode."""
    envs.reset(seed=0)
    for _ in range(8):
        envs.step(np.zeros(5, dtype=np.int64))


@by_mode
def test_statistics_are_listed_as_over_sync_vector_env(mode: AutoresetMode) -> None:
    """So do two of them together; in Gymnasiums whose own two fail over its own vector env, they fail alike."""
    one, other = over_both(lambda envs: wrappers.DictInfoToList(wrappers.RecordEpisodeStatistics(envs)), mode)
    if tuple(map(int, version("gymnasium").split(".")[:2])) >= (1, 2):
        play_wrapped(one, other)
    else:
        for envs in (one, other):
            with pytest.raises(KeyError, match="_r"):
                play_to_an_end(envs)


@pytest.mark.parametrize("mode", [NEXT_STEP, DISABLED])
def test_observations_are_flattened_as_over_sync_vector_env(mode: AutoresetMode) -> None:
    """So does FlattenObservation, in the modes that Gymnasium allows it."""
    one, other = over_both(wrappers.FlattenObservation, mode)
    assert one.observation_space == other.observation_space
    play_wrapped(one, other)


def test_observations_are_normalised_as_over_sync_vector_env() -> None:
    """So does NormalizeObservation, which takes vectors, and NEXT_STEP alone."""
    play_wrapped(*over_both(lambda envs: wrappers.NormalizeObservation(wrappers.FlattenObservation(envs)), NEXT_STEP))


def test_statistics_of_worlds_that_are_not_reset_go_on() -> None:
    """RecordEpisodeStatistics finds the mask of a reset where the caller has put it, and counts the other worlds on."""
    envs = wrappers.RecordEpisodeStatistics(GridWorldVectorEnv(4, size=9, max_episode_steps=6, autoreset_mode=DISABLED))
    mask = np.array([True, False, False, True])
    envs.reset(seed=1, options={"reset_mask": np.ones(4, dtype=bool)})
    envs.step(np.zeros(4, dtype=int))
    envs.reset(options={"reset_mask": mask})
    envs.step(np.zeros(4, dtype=int))
    assert envs.episode_lengths.tolist() == [1, 2, 2, 1]


def test_gymnasiums_wrappers_take_many_agents() -> None:
    """Over several agents a world, observations are flattened and episodes are counted row by row."""
    envs, wrapped = some_envs(), wrappers.RecordEpisodeStatistics(wrappers.FlattenObservation(some_envs()))
    assert wrapped.observation_space.shape == (6, 6)
    envs.reset(seed=1)
    wrapped.reset(seed=1)
    steps, ended = np.zeros(6, dtype=int), np.zeros(6, dtype=bool)
    counted = 0
    for one, other in zip(tale(envs, 40), tale(wrapped, 40), strict=True):
        same(other[0], np.concatenate([one[0][part].reshape(6, -1) for part in sorted(one[0])], axis=1))
        steps = np.where(ended, 0, steps + 1)
        ended = one[2] | one[3]
        assert other[-1].get("_episode", np.zeros(6)).tolist() == ended.tolist()
        if ended.any():
            assert other[-1]["episode"]["l"][ended].tolist() == steps[ended].tolist()
            counted += ended.sum()
    assert counted > 20


def test_frames_are_those_of_single_envs() -> None:
    """render() gives a frame for each row: that of its world, which drawing does not change."""
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


@pytest.mark.parametrize("settings", [{"walls": POOL, "num_agents": 2}, {"size": 5, "num_agents": 1}], ids=str)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))])
def test_copies_carry_no_pictures(copied: Callable[[Any], Any], settings: dict[str, Any]) -> None:
    """An env that has rendered is copied, its pickle is no larger than before, and the copy renders the same."""
    envs = vector_env(2, render_mode="rgb_array", **settings)
    envs.reset(seed=3)
    size = len(pickle.dumps(envs))
    frames = envs.render()
    assert len(pickle.dumps(envs)) == size
    twin = copied(envs)
    same(twin.render(), frames)
    same(envs.render(), frames)


def test_without_a_render_mode_nothing_is_drawn() -> None:
    """render() without a render mode warns and gives None; an unknown mode, and "human", are refused."""
    envs = some_envs()
    envs.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert envs.render() is None
    for mode in ("human", "ansi", 3):
        with pytest.raises(ValueError, match="expected None or 'rgb_array'"):
            some_envs(render_mode=mode)


@pytest.mark.parametrize(
    "call",
    [
        lambda envs: envs.step(np.zeros(6, dtype=int)),
        lambda envs: envs.get_state(),
        lambda envs: envs.state(),
        lambda envs: envs.metrics(),
        lambda envs: envs.render(),
    ],
    ids=["step", "get_state", "state", "metrics", "render"],
)
@by_mode
def test_nothing_goes_before_a_reset(call: Callable[[Any], Any], mode: AutoresetMode) -> None:
    """As long as one world had no reset, what needs an episode in every world raises."""
    envs = some_envs(autoreset_mode=mode, render_mode="rgb_array")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        call(envs)
    envs.reset(seed=3, options={"reset_mask": np.array([1, 1, 1, 1, 0, 0], dtype=bool)})
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        call(envs)
    envs.get_state([0, 1])
    envs.reset(options={"reset_mask": np.array([0, 0, 0, 0, 1, 1], dtype=bool)})
    call(envs)


def test_without_autoresets_ended_worlds_must_be_reset() -> None:
    """In DISABLED mode a step with an ended world raises, tells how many there are, and changes nothing."""
    envs = some_envs(autoreset_mode=DISABLED, on_target="restart", max_cycles=3)
    envs.reset(seed=0)
    actions = np.zeros(6, dtype=int)
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


def test_closing() -> None:
    """close() may be called before a reset and again, and shows in `closed`, as Gymnasium's own."""
    envs = some_envs(num_threads=2)
    envs.close()
    envs.close()
    assert envs.closed
    assert not some_envs().closed


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: vector_env(0), ValueError, "num_worlds is 0"),
        (lambda: vector_env(2.0), TypeError, "num_worlds is 2.0"),
        (lambda: vector_env(True), TypeError, "num_worlds is True"),
        (lambda: vector_env(2, num_threads=0), ValueError, "num_threads is 0"),
        (lambda: vector_env(2, num_threads=None), TypeError, "num_threads is None"),
        (
            lambda: vector_env(2, autoreset_mode="Never"),
            ValueError,
            "'Never'; expected .*'NextStep', 'SameStep', 'Disabled'",
        ),
        (lambda: vector_env(2, autoreset_mode=None), ValueError, "None; expected .*'NextStep'"),
        (lambda: vector_env(2, GridConfig(), size=3), TypeError, "both a config and"),
        (lambda: vector_env(2, {"size": 3}), TypeError, "config is of type dict"),
        (lambda: vector_env(2, sise=3), TypeError, "sise"),
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


def digest() -> str:
    """SHA-256 of all that some play returns, in every mode, with streams inside and handed out."""
    everything = hashlib.sha256()
    for mode in MODES:
        for on_target in get_args(OnTarget):
            envs = some_envs(on_target=on_target, autoreset_mode=mode, observe=get_args(Part))
            told: list[Any] = [envs.reset(seed=1), *tale(envs, 25)]
            told += [np.array([generator.random() for generator in envs.np_random[:2]])]
            told += [*tale(envs, 15), envs.get_state(), envs.metrics()]
            envs.set_state(envs.get_state([2, 0, 2]))
            told += [*tale(envs, 10), envs.state()]
            for array in arrays_in(told):
                everything.update(b"" if array.dtype == object else array.tobytes())
            everything.update(repr(streams(envs)).encode())
    return everything.hexdigest()


def test_interpreted_kernels_play_the_same() -> None:
    """With NUMBA_DISABLE_JIT=1 and every warning an error, what is returned is bit for bit the same."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    here, package = Path(__file__).parent, Path(multigrid.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, *STRICT, "-c", "import test_vector; print(test_vector.digest())"],
        env={
            **surroundings,
            "PYTHONPATH": os.pathsep.join(map(str, (package, here, here.parent))),
            "NUMBA_DISABLE_JIT": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout, done.stderr) == (digest() + "\n", "")
