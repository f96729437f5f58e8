"""What the wrappers of minigrid do, by options of Minigrid or in a few lines, beside recorded episodes."""

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from multigrid import games
from multigrid.games.minigrid import Minigrid
from multigrid.games.minigrid._grid import BALL, GOAL, LAVA
from multigrid.scenarios import RecordEpisode, load, replay, save

EPISODES = json.loads(Path(__file__).with_name("minigrid_wrappers.json").read_text(encoding="utf-8"))["episodes"]
WRAPPERS = sorted({one["wrapper"] for one in EPISODES})
OPTIONS: dict[str, dict[str, Any]] = {
    "FullyObsWrapper": {"image": "full"},
    "ImgObsWrapper": {"observe": "image"},
    "OneHotPartialObsWrapper": {"image": "onehot"},
    "RGBImgObsWrapper": {"image": "rgb_full"},
    "RGBImgPartialObsWrapper": {"image": "rgb"},
    "FlatObsWrapper": {"observe": ("image", "mission"), "mission": "letters"},
    "ViewSizeWrapper(5)": {"agent_view_size": 5},
    "ViewSizeWrapper(3)": {"agent_view_size": 3},
    "DictObservationSpaceWrapper": {"mission": "words"},
    "SymbolicObsWrapper": {"image": "full"},
    "StochasticActionWrapper(0.7)": {"action_probability": 0.7},
    "NoDeath(lava,ball)": {"no_death": ("lava", "ball")},
}


def find_symbols(image: Any) -> Any:
    """Return the cells of the whole grid as the page says for SymbolicObsWrapper."""
    types = np.where(image[..., 0] == 1, -1, image[..., 0].astype(int))
    return np.dstack([*np.indices(types.shape), types])


def find_direction(env: Any) -> Any:
    """Return the direction to the goal as the page says for DirectionObsWrapper."""
    (x, y), (goal_y, goal_x) = env.agent_pos, np.argwhere(env.get_state()["cells"][..., 0].T == GOAL)[0]
    return np.arctan2(goal_y - y, goal_x - x)


def digest(observation: Any, *rest: Any) -> str:
    """Return the digest that was recorded of a step."""

    def describe(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: describe(value[name], name) for name in sorted(value)}
        if key == "mission":
            return value if isinstance(value, str) else value.tolist()
        if key == "direction":
            return int(value)
        array = np.ascontiguousarray(value)
        return [hashlib.sha256(array.tobytes()).hexdigest()[:16], str(array.dtype), list(np.shape(value))]

    text = json.dumps([describe(observation), *rest], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:6]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_have_a_counterpart(wrapper: str) -> None:
    """With one agent, an option or a few lines give the same observations, rewards, ends and streams as a wrapper."""
    for episode in (one for one in EPISODES if one["wrapper"] == wrapper):
        made: Any = gymnasium.make(f"multigrid/{episode['id']}", **OPTIONS.get(wrapper, {}))
        env, counts = made.unwrapped, Counter[Any]()
        if wrapper == "FlatObsWrapper":
            made = gymnasium.wrappers.FlattenObservation(made)
        seeds = [5, 9] * 9 if wrapper.startswith("Reseed") else [episode["seed"], *[None] * 9]

        def change(observation: Any, made: Any = made) -> Any:
            if wrapper == "SymbolicObsWrapper":
                observation["image"] = find_symbols(observation["image"])
            if wrapper.startswith("DirectionObsWrapper"):
                observation["goal_direction"] = find_direction(made.unwrapped)
            return observation

        found = [digest(change(made.reset(seed=seeds.pop(0))[0]))]
        for action in episode["actions"]:
            if action == "r":
                found.append(digest(change(made.reset(seed=seeds.pop(0))[0])))
                continue
            observation, reward, terminated, truncated, _ = made.step(int(action))
            key = (env.agent_pos, env.agent_dir, action) if wrapper == "ActionBonus" else env.agent_pos
            counts[key] += 1
            reward += wrapper.endswith("Bonus") and 1 / math.sqrt(counts[key])
            found.append(digest(change(observation), float(reward), int(terminated), int(truncated)))
        assert "".join(found) == episode["digests"], episode["id"]
        state = env.np_random.bit_generator.state
        stream = [state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]]
        assert hashlib.sha256(json.dumps(stream, separators=(",", ":")).encode()).hexdigest()[:6] == episode["end"]


@pytest.mark.parametrize("form", ["words", "letters"])
def test_missions_are_encoded_in_every_environment(form: str) -> None:
    """Rows of many worlds, and agents, see a mission as `gymnasium.make` encodes it, in the space that they name."""
    for game_id in ("MiniGrid-PutNear-6x6-N2-v0", "MiniGrid-LockedRoom-v0", "MiniGrid-Playground-v0"):
        envs: Any = games.vector_env(game_id, 3, num_agents=2, mission=form)
        rows, _ = envs.reset(seed=4)
        assert envs.observation_space.contains(rows)
        for k in range(3):
            alone: Any = gymnasium.make(f"multigrid/{game_id}", mission=form)
            many: Any = games.parallel_env(game_id, num_agents=2, mission=form)
            one, _ = alone.reset(seed=4 + k)
            assert alone.observation_space.contains(one)
            for i, seen in enumerate(many.reset(seed=4 + k)[0].values()):
                np.testing.assert_array_equal(seen["mission"], one["mission"])
                np.testing.assert_array_equal(rows["mission"][2 * k + i], one["mission"])


def test_actions_are_replaced_by_chance(tmp_path: Path) -> None:
    """Each agent plays another action in its own time; a recording has what was asked for, and replays alike."""
    env: Any = games.parallel_env("MiniGrid-Empty-16x16-v0", num_agents=3, action_probability=0.25, max_steps=200)
    recorder = RecordEpisode(env)
    recorder.reset(seed=0)
    turned = np.zeros(3)
    while recorder.agents:
        before = env.get_state()["direction"]
        recorder.step(dict.fromkeys(recorder.agents, 6))
        turned += before != env.get_state()["direction"]
    save(recorder.scenario("chance"), tmp_path / "chance.json")
    scenario = load(tmp_path / "chance.json", Minigrid)
    assert (np.array(scenario.actions) == 6).all()
    assert len(list(replay(scenario))) == 201
    # A turn is drawn with probability 0.75 * 2 / 7.
    assert (np.abs(turned - 200 * 0.75 * 2 / 7) < 25).all()


def test_what_is_no_death_costs() -> None:
    """An agent that enters lava, or runs into a ball or a wall, goes on if the options say so; another one ends."""
    env: Any = games.parallel_env("MiniGrid-DistShift1-v0", num_agents=2, no_death=("lava",), death_cost=-0.25)
    env.reset(seed=0)
    assert (env.get_state()["cells"][3, 1, 0], env.get_state()["cells"][3, 2, 0]) == (LAVA, LAVA)
    env.set_state(env.get_state() | {"location": np.array([(2, 1), (2, 2)]), "direction": np.array([0, 3])})
    _, paid, ended, _, _ = env.step({"agent_0": 2, "agent_1": 2})
    assert paid["agent_0"] == -0.25
    assert not any(ended.values())
    assert env.get_state()["location"][0].tolist() == [3, 1]
    for no_death, expected in ((("ball",), [-1.5, -1.0]), (("ball", "wall"), [-1.5, -1.5]), ((), [-1.0, -1.0])):
        env = games.parallel_env("MiniGrid-Dynamic-Obstacles-8x8-v0", num_agents=2, no_death=no_death, death_cost=-0.5)
        env.reset(seed=0)
        x, y = next((x, y) for x, y in env.get_state()["objects"][:, :2].tolist() if x > 1)
        state = env.get_state()
        assert state["cells"][x, y, 0] == BALL
        cells = state["cells"].copy()
        cells[x - 1, y] = 1, 0, 0
        env.set_state(
            state | {"cells": cells, "location": np.array([(x - 1, y), (1, 1)]), "direction": np.array([0, 3])}
        )
        _, paid, ended, _, _ = env.step({"agent_0": 2, "agent_1": 2})
        assert list(paid.values()) == expected
        assert list(ended.values()) == [value == -1.0 for value in expected]
