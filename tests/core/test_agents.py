"""The number of agents, drawn at every reset: who takes part, what the others look like, and what counts them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import judged
import multigrid
from helpers import crossed
from multigrid import Game, GridConfig, MultiGridEnv, parallel_env, vector_env
from multigrid.scenarios import RecordEpisode, load, replay, save
from worldgen import COLLISIONS, oracle_layout, some_walls


def oracle(config: GridConfig, stream: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """The layout of an episode whose number of agents is drawn before it."""
    number = int(stream.integers(config.least_agents, config.num_agents, endpoint=True))
    _, agents, targets = oracle_layout(config.is_wall, number, stream)
    return agents, targets


@pytest.mark.parametrize(("collisions", "on_target"), crossed(COLLISIONS, ["park", "leave", "stay", "restart"]))
def test_episodes_are_those_of_a_world_without_the_others(collisions: Any, on_target: Any) -> None:
    """Whole episodes are the reference's, which has the agents that take part, and no others."""
    seen = ("agent", "others", "view", "offset")
    rules = {"on_target": on_target, "collisions": collisions, "max_cycles": 30, "reward": "shared"}
    config = GridConfig(walls=some_walls(6, 4, 0.15, 8), num_agents=(1, 6), observe=seen, **rules)
    for seed in range(6):
        env = judged.play_episode(config, seed)
        count = int(env.get_state()["num_agents"])
        metrics = env.metrics()
        assert not metrics["success"][count:].any()
        assert np.isnan(metrics["arrival_step"][count:]).all()
        if on_target != "restart":
            assert metrics["isr"] == metrics["success"].sum() / count
            assert metrics["csr"] == float(metrics["success"][:count].all())
            assert metrics["sum_of_costs"] <= 30 * count


def test_the_number_is_drawn_before_the_layout() -> None:
    """Each world of a vector env draws the number, then the map, then the layout, from its stream, reset by reset."""
    pool = [some_walls(7, 4, 0.1, 1), some_walls(7, 4, 0.1, 2)]
    one_map = GridConfig(walls=pool[0], num_agents=(2, 5))
    envs, streams = vector_env(3, one_map), [np.random.default_rng(4 + world) for world in range(3)]
    envs.reset(seed=4)
    for _ in range(12):
        for world, stream in enumerate(streams):
            agents, targets = oracle(one_map, stream)
            state = envs.get_state([world])
            assert state["num_agents"].tolist() == [len(agents)]
            assert state["location"][0, : len(agents)].tolist() == [list(cell) for cell in agents]
            assert state["target"][0, : len(agents)].tolist() == [list(cell) for cell in targets]
        envs.reset()
    several, stream = MultiGridEnv(dataclasses.replace(one_map, walls=pool)), np.random.default_rng(9)
    several.reset(seed=9)
    number = int(stream.integers(2, 5, endpoint=True))
    assert (len(several.agents), several.map_index) == (number, int(stream.integers(2)))


def test_numbers_are_uniform() -> None:
    """Over many worlds each number from the least to the largest is as frequent as any other."""
    envs = vector_env(4000, size=(6, 4), num_agents=(2, 5))
    envs.reset(seed=0)
    counts = np.bincount(envs.get_state()["num_agents"], minlength=6)
    assert counts[:2].tolist() == [0, 0]
    # 1,000 each, with a deviation of 27.
    assert abs(counts[2:] - 1000).max() < 4.5 * 27.4


def test_equal_numbers_draw_nothing() -> None:
    """A pair of equal numbers is one number, and its episodes are those without a pair."""
    assert GridConfig(num_agents=(3, 3)) == GridConfig(num_agents=3)
    assert GridConfig(num_agents=[2, 3]) == GridConfig(num_agents=3, least_agents=2) != GridConfig(num_agents=3)
    assert dataclasses.replace(GridConfig(num_agents=(2, 5)), size=7).least_agents == 2
    assert dataclasses.replace(GridConfig(num_agents=(2, 5)), num_agents=(1, 4)).least_agents == 1


def test_agents_are_those_of_the_episode() -> None:
    """`agents`, observations, infos and turns are of the agents that take part; `possible_agents` never changes."""
    env, turns, numbers = (
        parallel_env(num_agents=(1, 4), size=(5, 3)),
        multigrid.env(num_agents=(1, 4), size=(5, 3)),
        [],
    )
    for seed in range(12):
        observations, infos = env.reset(seed=seed)
        turns.reset(seed=seed)
        numbers.append(len(env.agents))
        present = [f"agent_{index}" for index in range(len(env.agents))]
        assert env.agents == turns.agents == list(observations) == list(infos) == present
        assert env.possible_agents == ["agent_0", "agent_1", "agent_2", "agent_3"]
        assert (env.state()[len(present) :] == -1).all()
        assert [tuple(one) for one in observations["agent_0"]["others"][len(present) - 1 :].tolist()] == [(-1, -1)] * (
            4 - len(present)
        )
        with pytest.raises(ValueError, match="actions lack"):
            env.step({})
        assert set(env.step(dict.fromkeys(env.agents, 0))[0]) == set(present)
    assert set(numbers) == {1, 2, 3, 4}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_rows_of_others_are_those_of_agents_that_have_left(mode: Any) -> None:
    """In a vector env their rows are zeros, not alive, never rewarded, and end with no step but the episode's last."""
    options: dict[str, Any] = {"max_cycles": 7, "observe": ("agent", "view"), "autoreset_mode": mode}
    envs = vector_env(3, size=(6, 4), num_agents=(1, 5), **options)
    observations, infos = envs.reset(seed=2)
    random = np.random.default_rng(0)
    for _ in range(60):
        absent = ~infos["alive"]
        numbers = envs.get_state()["num_agents"]
        assert absent.reshape(3, 5).tolist() == [[i >= number for i in range(5)] for number in numbers]
        assert not any(array[absent].any() for array in observations.values())
        # Actions of the others are ignored, whatever they are.
        actions = np.where(absent, 99, random.integers(0, 4, 15))
        observations, rewards, terminated, _, infos = envs.step(actions)
        same = envs.get_state()["num_agents"] == numbers
        rows = absent & same.repeat(5)
        assert not rewards[rows].any()
        assert not terminated[rows].any()


def test_a_layout_sets_the_number() -> None:
    """A layout by hand has from the least to the largest number of agents; with lists, too."""
    env = parallel_env(num_agents=(2, 4), size=(5, 3), on_target="restart")
    env.reset(options={"agents": [[0, 0], [1, 0], [2, 2]], "targets": [[4, 0], [3, 0], [0, 2]]})
    assert env.agents == ["agent_0", "agent_1", "agent_2"]
    env.reset(options={"agents": [[0, 0], [1, 0]], "targets": [[[4, 0], [1, 1]], [[3, 0]]]})
    assert (len(env.agents), env.get_state()["target_lists"][2:].min()) == (2, -1)
    before = env.get_state()
    for number in (1, 5):
        cells = [[x, 0] for x in range(number)]
        with pytest.raises(ValueError, match="has the shape"):
            env.reset(options={"agents": cells, "targets": [[x, 2] for x in range(number)]})
    assert all(np.array_equal(env.get_state()[name], before[name]) for name in ("location", "num_agents"))  # type: ignore[literal-required]


def test_recordings_and_copies_have_the_number(tmp_path: Any) -> None:
    """A recording, saved and read again, replays the agents of its episode; the env goes on from its state."""
    env = RecordEpisode(parallel_env(num_agents=(2, 5), size=(6, 4), max_cycles=8))
    for seed in range(3):
        env.reset(seed=seed)
        count, state = len(env.agents), env.unwrapped.get_state()
        while env.agents:
            env.step(dict.fromkeys(env.agents, seed))
        scenario = env.scenario("some")
        save(scenario, tmp_path / "some.json")
        read = load(tmp_path / "some.json")
        assert read == scenario
        assert (read.config.least_agents, read.config.num_agents) == (2, 5)
        assert [len(step.observations) for step in replay(read)] == [count] * (len(scenario.actions) + 1)
        other = parallel_env(env.unwrapped.config)
        other.set_state(state)
        assert len(other.agents) == count


def test_cells_of_others_are_in_the_grid() -> None:
    """Kernels read the maps at the cells of all agents, so those of the others are checked, each by itself."""
    env = parallel_env(num_agents=(1, 3), size=(5, 3), observe=("view",))
    env.reset(options={"agents": [[0, 1]], "targets": [[4, 2]]})
    state = env.get_state()
    for far in (-(2**63), 2**62, -1, 5):
        cells = state["location"].copy()
        cells[1] = far, 0
        for fields in ({"location": cells}, {"target": cells}, {"location": cells, "target": cells}):
            with pytest.raises(ValueError, match="in the state"):
                env.set_state({**state, **fields})


def test_states_of_others_are_those_of_a_beginning() -> None:
    """A state with a number out of range, or in which somebody who takes no part has done anything, is refused."""
    env = parallel_env(num_agents=(2, 4), size=(5, 3), on_target="leave")
    env.reset(options={"agents": [[0, 1], [1, 1]], "targets": [[4, 2], [3, 2]]})
    state: Any = env.get_state()
    values = {"status": 0, "arrivals": 1, "arrival_step": 0, "outcomes": 0, "rewards": 1.0, "distances": 2.0}
    for name, value in {**values, "terminated": True, "truncated": True}.items():
        changed = state[name].copy()
        changed[3] = value
        with pytest.raises(ValueError, match="num_agents in the state is 2"):
            env.set_state({**state, name: changed})
    for number in (5, 0, -1):
        with pytest.raises(ValueError, match=f"num_agents in the state is {number}"):
            env.set_state({**state, "num_agents": np.int64(number)})
    # One agent alone would be a state of a world with fewer.
    alone = {name: array.copy() if isinstance(array, np.ndarray) else array for name, array in state.items()}
    for name in ("location", "target", "status", "distances"):
        alone[name][1] = alone[name][2]
    with pytest.raises(ValueError, match="num_agents in the state is 1"):
        env.set_state({**alone, "num_agents": np.int64(1)})
    env.set_state(state)


class Two(Game):
    """Nothing happens, to two agents."""

    def prepare(c):  # noqa: D102, N805 - of a game
        return {"num_agents": 2}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"num_agents": (3, 2)}, "num_agents is from 3 to 2; expected the least number first"),
        ({"num_agents": (0, 2)}, "least_agents is 0; expected an integer of at least 1"),
        (
            {"num_agents": (1, 2, 3)},
            "num_agents is (1, 2, 3) of type tuple; expected an integer of at least 1 or a pair",
        ),
        ({"num_agents": 0}, "num_agents is 0; expected an integer of at least 1"),
        ({"num_agents": (1, 99)}, "num_agents is 99, but the grid (5 x 5) has room for 25"),
        ({"num_agents": 2, "least_agents": 3}, "num_agents is from 3 to 2"),
        ({"num_agents": 2, "least_agents": 1.5}, "least_agents is 1.5 of type float"),
        ({"least_agents": 1, "walls": "a.bA.B"}, "but a map with letters has as many in every episode"),
        ({"num_agents": (1, 2), "game": Two}, "but the game Two has as many in every episode"),
        ({"num_agents": (2, 3), "game": Two}, "num_agents is 3, but by its options the game has 2; leave it out"),
    ],
)
def test_bad_numbers_are_refused(options: Any, problem: str) -> None:
    """A range that no episode can have is refused with its numbers, when the configuration is made."""
    with pytest.raises((TypeError, ValueError), match=re.escape(problem)):
        GridConfig(**options)
