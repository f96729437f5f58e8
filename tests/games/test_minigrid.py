"""Minigrid: recorded episodes of the original, its ids, and what is added for several agents."""

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from helpers import same
from multigrid import games, testing
from multigrid.games.minigrid import Minigrid
from multigrid.games.minigrid._grid import AGENT, BALL, DOOR, EMPTY, GOAL, KEY, LAVA, WALL
from multigrid.games.minigrid._options import COLOURS
from multigrid.games.minigrid._pictures import list_marks
from multigrid.games.minigrid._tasks import Task, list_ids
from multigrid.runtime.compiled import COMPILED
from multigrid.scenarios import RecordEpisode, load, replay, save

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


def count_things(state: Any) -> dict[tuple[int, int], int]:
    """Return how many keys and balls of each colour are in cells, in boxes and with agents."""
    kinds = [tuple(cell[:2]) for cell in state["cells"].reshape(-1, 3).tolist()]
    kinds += [tuple(thing[:2]) for thing in state["carried"].tolist()]
    inside = [*state["inside"].ravel().tolist(), *state["carried"][:, 2].tolist()]
    kinds += [(KEY, colour - 1) for colour in inside if colour]
    return {kind: kinds.count(kind) for kind in kinds if kind[0] in {KEY, BALL}}


@pytest.mark.parametrize("game_id", IDS)
def test_a_world_does_not_depend_on_the_number_of_agents(game_id: str) -> None:
    """Cells, missions and agent 0 are those of one agent; the others stand in empty cells, as many as there may be."""
    numbers = [1]
    for num_agents in range(2, 8):
        try:
            games.config(game_id, num_agents=num_agents)
        except ValueError as error:
            assert f"num_agents is {num_agents}, but where agents begin" in str(error)  # noqa: PT017
            break
        numbers.append(num_agents)
    alone: Any = games.parallel_env(game_id, num_agents=1)
    many: Any = games.parallel_env(game_id, num_agents=numbers[-1])
    for seed in range(5):
        alone.reset(seed=seed)
        many.reset(seed=seed)
        one, state = alone.get_state(), many.get_state()
        for name in ("cells", "inside", "objects"):
            np.testing.assert_array_equal(one[name], state[name])
        for name in ("location", "direction", "mission_number", "aim"):
            np.testing.assert_array_equal(one[name][0], state[name][0])
        assert len({tuple(cell) for cell in state["location"].tolist()}) == numbers[-1]
        assert all(state["cells"][x, y, 0] == EMPTY for x, y in state["location"])


@pytest.mark.parametrize("ends", ["any", "each"])
@pytest.mark.parametrize(
    "game_id",
    [
        "DoorKey-6x6",
        "ObstructedMaze-2Dlhb",
        "PutNear-8x8-N3",
        "Fetch-8x8-N3",
        "Dynamic-Obstacles-6x6",
        "KeyCorridorS4R3",
    ],
)
def test_agents_share_no_cell_and_lose_no_thing(game_id: str, ends: str) -> None:
    """Two agents are never in one cell; keys and balls stay as many as they were, but on goals and in doors."""
    env: Any = games.parallel_env(f"MiniGrid-{game_id}-v0", num_agents=3, ends=ends, max_steps=150)
    random, num_put = np.random.default_rng(3), 0
    for seed in range(6):
        env.reset(seed=seed)
        before = env.get_state()
        while env.agents:
            present = [env.possible_agents.index(agent) for agent in env.agents]
            env.step({agent: int(random.choice(env.action_space(agent).n)) for agent in env.agents})
            state = env.get_state()
            if not env.agents:
                break
            there = [tuple(state["location"][i].tolist()) for i in present if not state["ended"][i]]
            assert len(set(there)) == len(there)
            gone = [i for i in present if state["ended"][i]]
            grounds = [int(state["cells"][tuple(state["location"][i])][0]) for i in gone]
            num_put += sum(ground in {KEY, BALL} for ground in grounds)
            lost = count_things(before).items() - count_things(state).items()
            assert not lost or GOAL in grounds or DOOR in grounds
            before = state
    assert num_put > 0 or ends == "any" or not game_id.startswith("Fetch")


@pytest.mark.parametrize("game_id", ["DoorKey-8x8", "PutNear-8x8-N3", "RedBlueDoors-8x8", "LavaCrossingS9N2"])
def test_agents_are_alike(game_id: str) -> None:
    """Where one agent acts in each step, renaming the agents renames what happens, but for the colours of agents."""
    first, second = (games.parallel_env(f"MiniGrid-{game_id}-v0", num_agents=3, order="index") for _ in range(2))
    renamed, random = [2, 0, 1], np.random.default_rng(0)
    first.reset(seed=1)
    second.reset(seed=1)
    by_agent = ("location", "direction", "carried", "mission_number", "aim", "ended")
    state: Any = first.get_state()
    second.set_state(state | {name: state[name][renamed] for name in by_agent})
    for _ in range(60):
        actor, action = int(random.integers(3)), int(random.choice([0, 1, 2, 2, 2, 3, 4, 5]))
        if f"agent_{renamed[actor]}" not in first.agents or not first.agents:
            continue
        done = dict.fromkeys(first.agents, 6) | {f"agent_{renamed[actor]}": action}
        again = dict.fromkeys(second.agents, 6) | {f"agent_{actor}": action}
        one, two = first.step(done), second.step(again)
        assert one[1].get(f"agent_{renamed[actor]}") == two[1].get(f"agent_{actor}")
        state, other = first.get_state(), second.get_state()
        np.testing.assert_array_equal(state["cells"], other["cells"])
        for name in by_agent:
            np.testing.assert_array_equal(state[name][renamed], other[name])


def set_agents(env: Any, places: list[tuple[int, int]], directions: list[int], **changes: Any) -> None:
    """Put the agents of an environment into cells."""
    state = env.get_state()
    env.set_state(state | {"location": np.array(places), "direction": np.array(directions)} | changes)


def has_solution(envs: Any, seed: int, movers: list[int]) -> bool:
    """Whether some of the agents, one at a time, can succeed, by a breadth-first search that all worlds play."""
    moves = [(mover, action) for mover in movers for action in range(6)]
    envs.reset(seed=seed)
    states = {name: array[:1] for name, array in envs.get_state().items() if isinstance(array, np.ndarray)}
    rest, seen = {name: one for name, one in envs.get_state().items() if name not in states}, set()
    actions = np.full((envs.num_worlds, envs.config.num_agents), 6)
    for k, (mover, action) in enumerate(moves):
        actions[k :: len(moves), mover] = action
    while len(states["steps"]):
        found, per = [], envs.num_worlds // len(moves)
        for first in range(0, len(states["steps"]), per):
            rows = np.minimum(first + np.arange(envs.num_worlds) // len(moves), len(states["steps"]) - 1)
            envs.set_state(rest | {name: array[rows] for name, array in states.items()})
            if (envs.step(actions.ravel())[1] > 0).any():
                return True
            after = envs.get_state()
            for row in np.flatnonzero(~envs.episode_over):
                key = b"".join(after[name][row].tobytes() for name in ("location", "direction", "carried", "cells"))
                if key not in seen:
                    seen.add(key)
                    found.append({name: after[name][row] for name in states})
        states = {name: np.array([one[name] for one in found], array.dtype) for name, array in states.items()}
        states["steps"][:] = 0
    return False


@pytest.mark.skipif(not COMPILED, reason="interpreted, searches take minutes")
@pytest.mark.parametrize(
    ("game_id", "num_agents"),
    [
        ("DoorKey-5x5", 2),
        ("DoorKey-6x6", 3),
        ("Unlock", 4),
        ("UnlockPickup", 2),
        ("BlockedUnlockPickup", 2),
        ("RedBlueDoors-6x6", 3),
        ("KeyCorridorS3R2", 2),
        ("ObstructedMaze-1Dlh", 2),
    ],
)
def test_what_one_agent_solves_several_solve(game_id: str, num_agents: int) -> None:
    """Behind no door is anything out of reach because others are in the way: one agent succeeds, or all together do."""
    full_id, options = (
        f"MiniGrid-{game_id}-v0",
        {"order": "index", "observe": "direction", "autoreset_mode": "Disabled"},
    )
    envs = games.vector_env(full_id, 1200, num_agents=num_agents, **options)
    everybody = list(range(num_agents))
    for seed in range(10):
        assert any(has_solution(envs, seed, movers) for movers in [*([one] for one in everybody), everybody]), seed


def test_agents_block_unless_they_overlap() -> None:
    """An agent's cell is not entered, nor is a thing put there; with overlap it is entered."""
    for overlap in (False, True):
        env: Any = games.parallel_env("MiniGrid-Empty-8x8-v0", num_agents=2, order="index", overlap=overlap)
        env.reset(seed=0)
        set_agents(env, [(2, 3), (3, 3)], [0, 3], carried=np.array([[KEY, 4, 0], [0, 0, 0]], np.uint8))
        env.step({"agent_0": 4, "agent_1": 6})
        assert env.get_state()["carried"][0].tolist() == [KEY, 4, 0]
        env.step({"agent_0": 2, "agent_1": 6})
        assert env.get_state()["location"].tolist() == [[2 + overlap, 3], [3, 3]]
        env.step({"agent_0": 6, "agent_1": 2})
        assert env.get_state()["location"].tolist()[1] == [3, 2]


def test_a_door_is_not_closed_on_an_agent() -> None:
    """An open door is closed only if nobody stands in it; one agent walks through, another has the key."""
    env: Any = games.parallel_env("MiniGrid-DoorKey-6x6-v0", num_agents=2, order="index")
    env.reset(seed=0)
    x, y = np.argwhere(env.get_state()["cells"][..., 0] == DOOR)[0].tolist()
    keys = np.array([[0, 0, 0], [KEY, 4, 0]], np.uint8)
    set_agents(env, [(x + 1, y), (x - 1, y)], [2, 0], carried=keys)
    states = []
    for actions in ((6, 5), (2, 6), (6, 5), (0, 6), (0, 6), (2, 6), (6, 5)):
        env.step(dict(zip(env.agents, actions, strict=True)))
        states.append(int(env.get_state()["cells"][x, y, 2]))
    assert states == [0, 0, 0, 0, 0, 0, 1]


def test_who_ends_and_who_is_paid() -> None:
    """A success ends and pays as the options say; a failure ends the episode for one agent alone."""
    goal = {"ends": "any"}, {"ends": "each"}, {"ends": "each", "reward": "all"}, {"reward": "shared"}
    pay = 1 - 0.9 * 1 / 256
    expected = [([pay, 0.0], [True, True]), ([pay, 0.0], [True, False]), ([pay, pay], [True, False])]
    for options, (rewards, ends) in zip(goal, [*expected, ([pay / 2, pay / 2], [True, True])], strict=True):
        env: Any = games.parallel_env("MiniGrid-Empty-8x8-v0", num_agents=2, **options)
        env.reset(seed=0)
        set_agents(env, [(5, 6), (1, 1)], [0, 0])
        _, paid, ended, _, _ = env.step({"agent_0": 2, "agent_1": 0})
        assert (list(paid.values()), list(ended.values())) == (rewards, ends)
    env = games.parallel_env("MiniGrid-DistShift1-v0", num_agents=2)
    env.reset(seed=0)
    set_agents(env, [(2, 1), (1, 3)], [0, 0])
    _, paid, ended, _, _ = env.step({"agent_0": 2, "agent_1": 0})
    assert (list(paid.values()), list(ended.values()), env.agents) == ([0.0, 0.0], [True, False], ["agent_1"])


def test_agents_see_one_another() -> None:
    """Another agent is (10, colour, direction) in all forms of the image, over what is in its cell."""
    cells, directions = [(2, 3), (4, 2), (3, 6)], [0, 1, 3]
    env: Any = games.parallel_env("MiniGrid-Empty-8x8-v0", num_agents=3, observe="image")
    full: Any = games.parallel_env("MiniGrid-Empty-8x8-v0", num_agents=3, observe="image", image="full")
    hot: Any = games.parallel_env("MiniGrid-Empty-8x8-v0", num_agents=3, observe="image", image="onehot")
    shown = []
    for one in (env, full, hot):
        one.reset(seed=0)
        set_agents(one, cells, directions)
        shown.append(one.step(dict.fromkeys(one.agents, 6))[0]["agent_0"])
    # Two cells ahead, one to the left; and one ahead, three to the right.
    assert shown[0][2, 4].tolist() == [AGENT, 1, 1]
    assert shown[0][6, 5].tolist() == [AGENT, 2, 3]
    assert [shown[1][cell].tolist() for cell in cells] == [[AGENT, i, directions[i]] for i in range(3)]
    assert np.flatnonzero(shown[2][6, 5]).tolist() == [AGENT, 11 + 2, 17 + 3]
    assert shown[2].shape == (7, 7, 21)
    env = games.parallel_env("MiniGrid-DoorKey-8x8-v0", num_agents=2, observe="image")
    env.reset(seed=0)
    x = int(np.argwhere(env.get_state()["cells"][1:7, 1, 0] == WALL)[0, 0]) + 1
    y = int(np.argwhere(env.get_state()["cells"][x, 1:7, 0] == WALL)[-1, 0]) + 1
    for other, is_seen in (((x + 1, y), False), ((x - 1, y - 1), True)):
        set_agents(env, [(x - 1, y), other], [0, 2])
        seen = env.step({"agent_0": 6, "agent_1": 6})[0]["agent_0"][..., 0]
        assert (seen == AGENT).any() == is_seen


@pytest.mark.parametrize("agent_view_size", [3, 7])
@pytest.mark.parametrize("num_agents", [1, 3])
def test_pixels_are_those_of_frames(num_agents: int, agent_view_size: int) -> None:
    """The images in pixels of agent 0 are what `render` draws with tiles of that size, of its view and of the grid."""
    options: dict[str, Any] = {"num_agents": num_agents, "agent_view_size": agent_view_size}
    made = [
        games.parallel_env("MiniGrid-DoorKey-8x8-v0", image=image, agent_pov=image == "rgb", tile_size=8, **options)
        for image in ("rgb", "rgb_full")
    ]
    for env, is_view in zip(made, (True, False), strict=True):
        env.render_mode = "rgb_array"
        observations, _ = env.reset(seed=2)
        random = np.random.default_rng(0)
        for _ in range(40):
            if is_view or num_agents == 1:
                np.testing.assert_array_equal(observations["agent_0"]["image"], env.render())
            observations = env.step({agent: int(random.integers(7)) for agent in env.agents})[0]


def test_agents_have_missions_of_their_own() -> None:
    """With missions="own" each agent draws what it is after, and is judged by that."""
    env: Any = games.parallel_env("MiniGrid-GoToDoor-8x8-v0", num_agents=4, missions="own")
    words = set()
    for seed in range(5):
        observations, _ = env.reset(seed=seed)
        words.add(len({one["mission"] for one in observations.values()}))
        state = env.get_state()
        for i, one in enumerate(observations.values()):
            kind, colour, x, y = state["aim"][i, :4]
            assert state["cells"][x, y].tolist() == [kind, colour, 1]
            assert one["mission"] == f"go to the {COLOURS[colour]} door"
    assert max(words) > 1
    with pytest.raises(ValueError, match="missions is OWN, but in DOOR_KEY all agents have one"):
        games.parallel_env("MiniGrid-DoorKey-8x8-v0", missions="own")


@pytest.mark.parametrize(
    ("game_id", "options", "message"),
    [
        ("Empty-5x5", {"reward": "al"}, r"reward is 'al' \(did you mean 'all'\?\); expected one of 'individual', "),
        ("Empty-8x8", {"agent_view_size": 4}, "agent_view_size is 4; expected an odd number"),
        ("Empty-8x8", {"agent_view_size": 1}, "agent_view_size is 1; expected an integer of at least 3"),
        ("Empty-5x5", {"num_agents": 9}, "num_agents is 9, but where agents begin in EMPTY on 5 x 5 cells"),
        ("LavaGapS5", {"num_agents": 4}, "there may be room for 3 only"),
        ("Empty-5x5", {"size": 3}, "size is 3; expected sides from 4"),
        ("LavaCrossingS9N1", {"count": 9}, "count is 9; expected an integer from 1 to 6 for CROSSING on 9 x 9 cells"),
        ("LavaCrossingS9N1", {"size": 8}, "expected odd sides for CROSSING"),
        ("PutNear-6x6-N2", {"count": 3}, "count is 3; expected an integer from 2 to 2 for PUT_NEAR"),
        ("PutNear-6x6-N2", {"size": (4, 5)}, r"size is \(4, 5\); expected a side of at least 6 for PUT_NEAR"),
        ("MultiRoom-N2-S4", {"size": (9, 6)}, r"size is \(9, 6\); expected sides from 7"),
        (
            "MultiRoom-N2-S4",
            {"size": 9, "room_size": 10},
            "room_size is 10; expected an integer of at least 4, and at most 9",
        ),
        ("MemoryS9", {"start_column": 3}, "start_column is 3; expected an integer of at least 0, and at most 2"),
        ("Unlock", {"room_size": 4}, "room_size is 4; expected an integer of at least 5"),
        ("Unlock", {"size": 5}, "size is 5, but by its options the game has"),
        ("RedBlueDoors-6x6", {"size": 6}, "expected a width of twice the height"),
        ("LockedRoom", {"size": 18}, r"expected \(19, 19\) for LOCKED_ROOM"),
        ("Empty-8x8", {"mission": "word"}, "mission is 'word'; expected 'text', 'number', 'words' or 'letters'"),
        ("Empty-8x8", {"action_probability": 1.5}, "action_probability is 1.5; expected a number from 0 to 1"),
        ("Empty-8x8", {"action_probability": -0.5}, "action_probability is -0.5"),
        ("Empty-8x8", {"action_probability": float("nan")}, "action_probability is nan"),
        (
            "Empty-8x8",
            {"no_death": ("goal",)},
            r"no_death is \('goal',\); expected a tuple of some of lava",
        ),
        ("Empty-8x8", {"image": "grey"}, "image is 'grey'; expected one of PARTIAL"),
    ],
)
def test_bad_options_are_refused(game_id: str, options: dict[str, Any], message: str) -> None:
    """Options without a world are refused when the environment is made, with what came and what was expected."""
    with pytest.raises(ValueError, match=message):
        games.parallel_env(f"MiniGrid-{game_id}-v0", **options)


def test_crossings_need_not_be_square() -> None:
    """On a wide grid the rivers run inside it: at even columns and rows, and each along its whole side."""
    env: Any = games.parallel_env("MiniGrid-LavaCrossingS9N1-v0", size=(15, 7), count=7)
    for seed in range(20):
        env.reset(seed=seed)
        is_lava = env.get_state()["cells"][..., 0] == LAVA
        rivers = [is_lava[x, 1:-1].sum() >= 3 for x in range(2, 13, 2)] + [is_lava[1:-1, y].sum() >= 6 for y in (2, 4)]
        assert sum(rivers) == 7
        assert not is_lava[1::2, 1::2].any()


def test_obstacles_are_placed_where_there_is_room() -> None:
    """Obstacles that fill the grid take every free cell but none twice; and narrow grids have room for things apart."""
    env: Any = games.parallel_env("MiniGrid-Dynamic-Obstacles-5x5-v0", size=(6, 4), count=4)
    env.reset(seed=0)
    assert (env.get_state()["cells"][..., 0] == BALL).sum() == 4
    for size, count in (((4, 6), 2), ((9, 4), 3), ((8, 5), 2)):
        env = games.parallel_env("MiniGrid-PutNear-6x6-N2-v0", size=size, count=count)
        for seed in range(9):
            env.reset(seed=seed)
            assert (env.get_state()["cells"][..., 0] >= KEY).sum() == count


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cells", lambda array: array * 9),
        ("cells", lambda array: array * 0),
        ("direction", lambda array: array + 4),
        ("carried", lambda array: array + 2),
        ("mission_number", lambda array: array - 99),
        ("aim", lambda array: array + 20),
        ("objects", lambda array: array - 20),
        ("inside", lambda array: array + 9),
    ],
)
def test_states_that_no_grid_holds_are_refused(name: str, change: Any) -> None:
    """A state with unknown cells, things or missions, or with places outside the grid, is refused."""
    env: Any = games.parallel_env("MiniGrid-Fetch-8x8-N3-v0", num_agents=2)
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(ValueError, match="in the state"):
        env.set_state({**state, name: change(state[name]).astype(state[name].dtype)})
    same(env.get_state(), state)


@pytest.mark.parametrize(("game_id", "action"), [("Dynamic-Obstacles-5x5", 3), ("DoorKey-5x5", 7), ("DoorKey-5x5", -1)])
def test_actions_out_of_range_are_refused(game_id: str, action: int) -> None:
    """Each kind of environment refuses an action that the task does not have, and is as before."""
    full_id, message = f"MiniGrid-{game_id}-v0", f"is {action}; expected an integer from 0 to"
    alone: Any = gymnasium.make(f"multigrid/{full_id}").unwrapped
    envs: Any = gymnasium.make_vec(f"multigrid/{full_id}", num_envs=2)
    env: Any = games.parallel_env(full_id, num_agents=2)
    for one, actions in ((alone, action), (envs, [0, action]), (env, {"agent_0": 0, "agent_1": action})):
        one.reset(seed=0)
        before = one.get_state()
        with pytest.raises(ValueError, match=message):
            one.step(np.array(actions) if one is envs else actions)
        same(one.get_state(), before)
    with pytest.raises(ValueError, match="expected an integer from 0 to"):
        env.step({"agent_0": 2, "agent_1": 2**70})
    same(env.get_state(), before)


def test_cells_by_hand_are_emptied() -> None:
    """Agents whose cells are given stand there, in the world of the seed, whatever was in these cells."""
    env: Any = games.parallel_env("MiniGrid-DoorKey-8x8-v0", num_agents=2)
    env.reset(seed=3)
    drawn = env.get_state()
    env.reset(seed=3, options={"agents": [[0, 0], [6, 6]]})
    state = env.get_state()
    assert state["location"].tolist() == [[0, 0], [6, 6]]
    changed = np.argwhere((state["cells"] != drawn["cells"]).any(axis=2)).tolist()
    assert changed == [[0, 0], [6, 6]]
    assert state["cells"][[0, 6], [0, 6], 0].tolist() == [EMPTY, EMPTY]


def test_missions_are_numbers_and_words() -> None:
    """`games.missions` reads the numbers that vector environments show as the words that others show."""
    for game_id in ("MiniGrid-Fetch-8x8-N3-v0", "MiniGrid-PutNear-8x8-N3-v0", "MiniGrid-LockedRoom-v0"):
        envs: Any = games.vector_env(game_id, 8, num_agents=2)
        numbers = envs.reset(seed=0)[0]["mission"]
        words = games.vector_env(game_id, 8, num_agents=2, mission="text").reset(seed=0)[0]["mission"]
        assert games.missions(game_id, numbers) == list(words)
        with pytest.raises(ValueError, match="expected integers from 0 to "):
            games.missions(game_id, [-1])
    with pytest.raises(ValueError, match="expected an id of Minigrid"):
        games.missions("rware-tiny-2ag-v2", [0])


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("Empty-Random-5x5-v0", {"num_agents": 1}),
    ("Dynamic-Obstacles-6x6-v0", {"num_agents": 3, "ends": "each", "no_death": ("ball",), "action_probability": 0.7}),
    ("DoorKey-6x6-v0", {"num_agents": (1, 3), "reward": "shared"}),
    ("FourRooms-v0", {"num_agents": 3, "image": "rgb_full", "tile_pixels": 3}),
    ("MultiRoom-N4-S5-v1", {"num_agents": 1, "mission": "text"}),
    ("SimpleCrossingS9N3-v0", {"num_agents": 4}),
    ("LavaGapS6-v0", {"num_agents": 3, "reward": "all", "mission": "letters", "no_death": ("lava",)}),
    ("DistShift2-v0", {"num_agents": 2, "overlap": True}),
    ("Fetch-5x5-N2-v0", {"num_agents": 3, "missions": "own", "image": "rgb", "mission": "text", "ends": "each"}),
    ("GoToDoor-5x5-v0", {"num_agents": 3, "missions": "own", "mission": "text"}),
    ("GoToObject-6x6-N2-v0", {"num_agents": 2, "image": "onehot"}),
    ("PutNear-6x6-N2-v0", {"num_agents": 1, "image": "onehot", "mission": "words"}),
    ("MemoryS13Random-v0", {"num_agents": 2}),
    ("RedBlueDoors-6x6-v0", {"num_agents": 2, "agent_view_size": 3}),
    ("LockedRoom-v0", {"num_agents": 3, "see_through_walls": True}),
    ("Playground-v0", {"num_agents": 4, "order": "index"}),
    ("Unlock-v0", {"num_agents": 2}),
    ("UnlockPickup-v0", {"num_agents": 2, "flatten": True}),
    ("BlockedUnlockPickup-v0", {"num_agents": 1}),
    ("KeyCorridorS4R3-v0", {"num_agents": 4, "image": "full"}),
    ("ObstructedMaze-1Dlhb-v0", {"num_agents": 2, "max_steps": 30}),
    ("ObstructedMaze-2Dlhb-v1", {"num_agents": 3, "observe": "image"}),
]


@pytest.mark.heavy
@pytest.mark.skipif(not COMPILED, reason="compares compiled functions with Python")
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_each_task_keeps_what_the_checks_ask(name: str, options: dict[str, Any]) -> None:
    """It plays alike compiled and interpreted, in every kind of environment, from states and from pickles."""
    testing.check_game(f"MiniGrid-{name}", **options)


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_recordings_of_each_task_replay(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Whatever a task draws and shows, a file of a recording has it all."""
    env = RecordEpisode(games.parallel_env(f"MiniGrid-{name}", **options))
    random = np.random.default_rng(0)
    env.reset(seed=1)
    for _ in range(6):
        if env.agents:
            env.step({agent: int(random.integers(env.action_space(agent).n)) for agent in env.agents})
    save(env.scenario("some"), tmp_path / "some.json")
    scenario = load(tmp_path / "some.json", Minigrid)
    assert len(list(replay(scenario))) == 1 + len(scenario.actions)


def test_every_task_is_checked() -> None:
    """The checks above have a world of each task."""
    assert {games.config(f"MiniGrid-{name}").options["task"] for name, _ in KINDS} == set(Task)


def test_a_drop_that_fails_ends_too() -> None:
    """In PutNear, *drop* ends the episode for an agent that carries something, also where nothing can be put."""
    for direction, carried in ((0, 0), (3, KEY)):
        env: Any = games.parallel_env("MiniGrid-PutNear-8x8-N3-v0", num_agents=1, max_steps=10)
        env.reset(seed=1)
        cells = env.get_state()["cells"].copy()
        cells[1:7, 1:7] = EMPTY, 0, 0
        aim = np.array([[KEY, 0, 6, 6, 0, 0]])
        set_agents(env, [(1, 1)], [direction], cells=cells, aim=aim, carried=np.array([[KEY, 0, 0]], np.uint8))
        _, rewards, terminated, _, _ = env.step({"agent_0": 4})
        state = env.get_state()
        assert (rewards["agent_0"], terminated["agent_0"], state["carried"][0, 0]) == (0.0, True, carried)


def test_text_shows_what_is_in_the_cells() -> None:
    """Text has letters for things and colours for walls; a mark of each thing and a badge of each agent are drawn."""
    env: Any = games.parallel_env("MiniGrid-DoorKey-8x8-v0", num_agents=2, render_mode="ansi", max_steps=None)
    env.reset(seed=0)
    assert env.max_cycles == 640
    text = env.render()
    assert {"K", "L", "G"} <= {part[1] for part in text.replace("m", "m ").split("m") if part[1:2]}
    assert text.count("48;2;100;100;100") == 28 + 5
    marks = list(list_marks(env._get_scene().look.seen))
    assert [mark.direction for mark in marks[-2:]] == env.get_state()["direction"].tolist()
