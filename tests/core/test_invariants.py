"""Whole episodes of random play, against the reference and under renaming; and which states a game can come to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judged
from helpers import crossed
from multigrid import Delays, GridConfig, MultiGridEnv, vector_env
from multigrid.envs.vector import MultiGridVectorEnv
from worldgen import COLLISIONS, PARTS, room, some_walls

ON_TARGET = ["park", "leave", "stay", "restart"]


@st.composite
def configurations(draw: st.DrawFn) -> GridConfig:
    """Any world that has room for two agents at least; crowded ones are as likely as empty ones."""
    width, height = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    walls = some_walls(width, height, draw(st.sampled_from([0.0, 0.2, 0.5])), draw(st.integers(0, 999)))
    if room(walls) < 2:
        width, height = 4, 3
        walls = np.zeros((width, height), dtype=bool)
    most = draw(st.integers(1, min(room(walls), 7)))
    return GridConfig(
        # An empty grid may be said as a map, or as a size.
        **({"walls": walls} if walls.any() or draw(st.booleans()) else {"size": (width, height)}),
        num_agents=draw(st.sampled_from([most, (1, most), (max(most - 2, 1), most)])),
        collisions=draw(st.sampled_from(COLLISIONS)),
        on_target=draw(st.sampled_from(ON_TARGET)),
        reward=draw(st.sampled_from(["individual", "shared"])),
        observe=tuple(draw(st.lists(st.sampled_from(PARTS), min_size=1, unique=True))),
        view_radius=draw(st.integers(0, 3)),
        flatten=draw(st.booleans()),
        allow_stay=draw(st.booleans()),
        max_cycles=draw(st.sampled_from([1, 7, 40])),
        delays=draw(st.sampled_from([None, 0.3, Delays(0.2, (2, 4)), Delays(0.5, (1, 3), events="poisson")])),
    )


@settings(max_examples=150)
@given(config=configurations(), seed=st.integers(0, 2**32 - 1))
def test_play_is_that_of_the_reference(config: GridConfig, seed: int) -> None:
    """Every observation, reward, flag and info of an episode is what the prose says it is."""
    judged.play_episode(config, seed)


@pytest.mark.parametrize(("collisions", "on_target"), crossed(COLLISIONS, ON_TARGET))
def test_a_crowd_plays_as_the_reference_does(collisions: str, on_target: str) -> None:
    """In a large world full of agents too, where refusals run along many chains at once."""
    walls = some_walls(13, 9, 0.1, seed=4)
    seen = {"observe": ("agent", "target", "view"), "view_radius": 1, "max_cycles": 12}
    rules = {"collisions": collisions, "on_target": on_target}
    judged.play_episode(GridConfig(walls=walls, num_agents=room(walls) - 14, **rules, **seen), seed=5)


def renamed(config: GridConfig, layout: np.ndarray, order: tuple[int, ...], actions: np.ndarray) -> list[Any]:
    """An episode in which agent k of the layout plays under the index order[k]; what befell k, step by step."""
    env = MultiGridEnv(config)
    place = np.argsort(order)
    env.reset(options={"agents": layout[place, :2], "targets": layout[place, 2:]})
    steps = []
    for row in actions:
        if not env.agents:
            break
        names = {k: f"agent_{order[k]}" for k in range(config.num_agents) if f"agent_{order[k]}" in env.agents}
        seen, rewards, terminations, truncations, infos = env.step({name: int(row[k]) for k, name in names.items()})
        state = env.state()
        for k, name in names.items():
            results = [one[name] for one in (rewards, terminations, truncations, infos)]
            parts = {part: value.tolist() for part, value in seen[name].items()}
            steps.append([k, state[order[k]].tolist(), *results, parts])
    return steps


@pytest.mark.heavy
@pytest.mark.parametrize(("on_target", "reward"), crossed(["park", "leave", "stay"], ["individual", "shared"]))
def test_symmetric_does_not_know_the_agents_names(on_target: str, reward: str) -> None:
    """Under symmetric an episode of renamed agents is the renamed episode, for every permutation of four agents."""
    random = np.random.default_rng(5)
    walls = np.array([list(row) for row in ["....#", "..#..", "....."]]).T == "#"
    rules = {"on_target": on_target, "reward": reward, "allow_stay": True, "max_cycles": 60}
    config = GridConfig(walls=walls, num_agents=4, observe=("agent", "target", "view"), **rules)
    for _ in range(2):
        cells = random.permutation(np.argwhere(~walls))
        layout = np.hstack([cells[:4], cells[2:6]])
        actions = random.integers(0, 5, (60, 4))
        plain = renamed(config, layout, (0, 1, 2, 3), actions)
        assert plain
        for order in itertools.permutations(range(4)):
            assert renamed(config, layout, order, actions) == plain


@pytest.mark.parametrize("collisions", ["priority", "soft"])
def test_the_other_rules_do_know_them(collisions: str) -> None:
    """The test above can fail: where an index decides, some renaming changes the episode."""
    config = GridConfig(size=(3, 2), num_agents=2, collisions=collisions, on_target="stay", max_cycles=20)
    layout = np.array([[0, 0, 0, 1], [2, 0, 2, 1]])
    actions = np.array([[0, 2]])
    assert renamed(config, layout, (1, 0), actions) != renamed(config, layout, (0, 1), actions)


FOUR_BY_THREE = "....\n.#..\n...."
LISTED = [
    "ab.c\n.#..\n....\na: 0,0 0,0 0,1\nb: 2,0 1,0\nc: 3,0",
    "a.b.\n.#..\nc...\na: 1,0\nb: 2,0 0,0 2,0\nc: 0,2 1,2",
]
VALUES: dict[str, list[Any]] = {
    "i": [-1, 0, 1, 2, 3, 4, 8, 2**53, 2**53 + 1],
    "u": [0, 1, 2, 3, 2**32 - 1, 2**32, 2**63],
    "f": [-1.0, 0.0, 1 / 3, 0.5, 1.0, 2.0],
    "b": [False, True],
}
SETTINGS: list[dict[str, Any]] = [
    {"on_target": "park", "reward": "shared"},
    {"on_target": "leave", "reward": "shared", "max_cycles": 4},
    {"on_target": "leave", "collisions": "none"},
    {"on_target": "stay", "delays": Delays(0.4, (2, 3))},
    {"on_target": "park", "delays": (0.3, 1, 1)},
    {"on_target": "park", "num_agents": (1, 3), "max_cycles": 12},
    {"on_target": "leave", "num_agents": (2, 3), "reward": "shared", "delays": 0.2},
    {"on_target": "stay"},
    {"on_target": "stay", "num_agents": 1},
    {"on_target": "restart", "collisions": "none"},
    {"on_target": "restart", "reward": "shared", "max_cycles": 3},
    {"on_target": "restart", "walls": LISTED, "allow_stay": True, "max_cycles": 4},
]


def moments(settings: dict[str, Any]) -> tuple[MultiGridVectorEnv, list[dict[str, Any]]]:
    """An env of one world, and its states after a reset, after a step with rewards, and at the end."""
    env = vector_env(1, **{"walls": [FOUR_BY_THREE, "#...\n....\n...."], "num_agents": 3, "max_cycles": 9, **settings})
    random = np.random.default_rng(5)
    for seed in itertools.count(2):
        env.reset(seed=seed)
        states = [env.get_state()]
        while not states[-1]["episode_over"].all():
            env.step(random.integers(0, 4, env.num_envs))
            states.append(env.get_state())
        rewarded = [state for state in states if state["rewards"].any()]
        if rewarded:
            break
    return env, [states[0], rewarded[0], states[-1]]


def changes(states: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The states, with each entry of each field set to each value, and each field to that of each other state."""
    for state, name in itertools.product(states, states[0].keys() - {"version"}):
        for index, value in itertools.product(np.ndindex(state[name].shape), VALUES[state[name].dtype.kind]):
            if not (state[name].dtype == np.int8 and value > 127):
                changed = state[name].copy()
                changed[index] = value
                yield {**state, name: changed}
        for other in states:
            yield {**state, name: other[name]}


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_one_change_is_refused_if_kernels_cannot_play_on(settings: dict[str, Any]) -> None:
    """A state with one field changed is refused where kernels would leave their arrays; never one of a game."""
    env, states = moments(settings)
    taken = 0
    for state in changes(states):
        (world,) = judged.split({"version": state["version"], **state})
        broken = judged.breaches(env.config, world)
        broken += ["steps out of range"] * (int(world["steps"]) > 2**53)
        try:
            env.set_state(state)
        except ValueError:
            assert broken, f"refused, but a game can come to {world}"
        else:
            assert not judged.unsafe(broken), f"taken, but {broken}: {world}"
            taken += 1
    assert taken > len(states), "other states than those of the game were taken, too"
