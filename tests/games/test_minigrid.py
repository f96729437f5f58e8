"""Minigrid: recorded episodes of the original, its ids, and what is added for several agents."""

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from multigrid import games
from multigrid.games.minigrid._tasks import list_ids

EPISODES = json.loads(Path(__file__).with_name("minigrid_episodes.json").read_text(encoding="utf-8"))["episodes"]
IDS = [f"MiniGrid-{name}" for name in list_ids()]


def sha(value: Any, digits: int = 6) -> str:
    """Return the first digits of a digest of JSON."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:digits]


def sha_of_frame(frame: Any) -> str:
    """Return the first digits of the digest of a frame."""
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()[:6]


def read_stream(env: Any) -> list[int]:
    """Return the random stream as it was recorded."""
    state = env.np_random.bit_generator.state
    return [state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]]


def read_image(observation: Any) -> list[Any]:
    """Return the cells of a view, column by column."""
    return observation["image"].reshape(-1, 3).tolist()  # type: ignore[no-any-return]


def digest_beginning(env: Any, observation: Any) -> str:
    """Return the digest of an episode's beginning that was recorded."""
    state = env.get_state()
    boxes = [[x, y, int(state["inside"][x, y]) - 1] for x, y in np.argwhere(state["inside"]).tolist()]
    agent = [*state["location"][0].tolist(), int(state["direction"][0])]
    shown = [read_image(observation), int(observation["direction"])]
    return sha([agent, state["cells"].reshape(-1, 3).tolist(), boxes, read_stream(env), observation["mission"], *shown])


@pytest.mark.parametrize("game_id", IDS)
def test_recorded_episodes_are_played(game_id: str) -> None:
    """Agents, cells, streams, observations, rewards and their types, ends and frames are those of minigrid."""
    recorded = [one for one in EPISODES if one["id"] == game_id]
    assert recorded
    for episode in recorded:
        options = {"max_steps": episode["max_steps"]} if "max_steps" in episode else {}
        env: Any = gymnasium.make(f"multigrid/{game_id}", render_mode="rgb_array", **options).unwrapped
        seen: Any = gymnasium.make(
            f"multigrid/{game_id}", render_mode="rgb_array", agent_pov=True, tile_size=8, **options
        ).unwrapped
        for segment in episode["segments"]:
            observation, info = env.reset(seed=segment["seed"])
            digests = [segment["digests"][k : k + 6] for k in range(0, len(segment["digests"]), 6)]
            assert (digest_beginning(env, observation), info) == (digests[0], {})
            for action, digest in zip(segment["actions"], digests[1:], strict=True):
                observation, reward, terminated, truncated, info = env.step(int(action))
                shown = [read_image(observation), int(observation["direction"])]
                assert (sha([*shown, reward, int(terminated), int(truncated)]), info) == (digest, {})
            assert sha(read_stream(env)) == segment["end"]
            if not seen._started:
                seen.reset(seed=0)
            seen.set_state(env.get_state())
            assert sha_of_frame(env.render()) + sha_of_frame(seen.render()) == segment["frames"]


def test_the_ids_of_minigrid_are_registered() -> None:
    """`gymnasium.make` and `make_vec` know the 76 ids that are neither of BabyAI nor of WFC, and play alike."""
    assert len(IDS) == 76
    assert {f"multigrid/{game_id}" for game_id in IDS} == {name for name in gymnasium.registry if "/MiniGrid-" in name}
    for game_id in ("MiniGrid-Fetch-5x5-N2-v0", "MiniGrid-MultiRoom-N4-S5-v1"):
        envs: Any = gymnasium.make_vec(f"multigrid/{game_id}", num_envs=3, mission="text")
        rows, _ = envs.reset(seed=5)
        assert envs.observation_space.contains(rows)
        for k in range(3):
            env: Any = gymnasium.make(f"multigrid/{game_id}")
            observation, _ = env.reset(seed=5 + k)
            assert env.observation_space.contains(observation)
            assert rows["mission"][k] == observation["mission"]
            np.testing.assert_array_equal(rows["image"][k], observation["image"])


@pytest.mark.parametrize("game_id", ["MiniGrid-DoorKey-7x7-v0", "MiniGrid-MultiRoom-N2-S4-v1"])
def test_ids_near_known_ones_are_refused(game_id: str) -> None:
    """An id that minigrid does not have is none, and the message names one that is near."""
    with pytest.raises(ValueError, match="did you mean 'MiniGrid-"):
        games.parallel_env(game_id)
