"""The games of rware and lbforaging: recorded episodes, their ids and keywords, and what is refused."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

from helpers import frozen, run_python
from multigrid import Outcome, games, show_episode, testing
from multigrid.core.calls import is_checked
from multigrid.games._registry import parse_id
from multigrid.games._ties import _sort_as_set
from multigrid.games.robotic_warehouse import RewardType
from multigrid.runtime.compiled import COMPILED
from multigrid.scenarios import RecordEpisode, load, replay, save

RECORDED = json.loads(Path(__file__).with_name("original_episodes.json").read_text(encoding="utf-8"))
EPISODES = {
    name: [pytest.param(one, id=f"{k}-{one['id']}") for k, one in enumerate(RECORDED[name])] for name in RECORDED
}
STEPS = 40 if is_checked() else None
"""How many steps of a recording are played; with all invariants checked, a whole one takes minutes."""
needs_numba = pytest.mark.skipif(not COMPILED, reason="interpreted, it takes minutes")
TRANSPOSED = ("AGENT_DIRECTION", "AGENT_LOAD")


def sha(value: Any, digits: int = 6) -> str:
    """Return the first digits of a digest of JSON."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:digits]


def list_numbers(observation: Any) -> list[Any]:
    """Return the arrays of numbers of an observation, in the order in which they were recorded."""
    if isinstance(observation, dict) and "self" in observation:
        return [*observation["self"].values(), *(value for cell in observation["sensors"] for value in cell.values())]
    return list(observation.values()) if isinstance(observation, dict) else [observation]


def digest_observations(observations: dict[str, Any]) -> str:
    """Return the digest of all agents' numbers that was recorded."""
    numbers = [np.ravel(array) for one in observations.values() for array in list_numbers(one)]
    return hashlib.sha256(np.concatenate(numbers).astype("<f4").tobytes()).hexdigest()[:10]


def read_warehouse(state: dict[str, Any]) -> list[Any]:
    """Return agents, shelves and requests."""
    columns = (*state["location"].T, state["direction"], state["load"], state["delivered"])
    cells = {int(state["shelf_in"][x, y]): [x, y] for x, y in np.argwhere(state["shelf_in"]).tolist()}
    return [
        np.stack(columns, axis=1).ravel().tolist(),
        [cells[shelf] for shelf in sorted(cells)],
        state["request"].tolist(),
    ]


def read_foraging(state: dict[str, Any], *, begins: bool) -> list[Any]:
    """Return the players' cells and the foods; at the beginning also the levels and the sum of those of foods."""
    places, foods = state["location"][:, ::-1].ravel().tolist(), state["food"][: state["num_food"]].tolist()
    return [places, state["level"].tolist(), foods, int(state["total"])] if begins else [places, foods]


@pytest.mark.parametrize("recorded", EPISODES["foraging"])
def test_recorded_foraging_is_played(recorded: dict[str, Any]) -> None:
    """From the same seeds and actions, states, observations, rewards and ends are those of lbforaging."""
    play_again(recorded)


@pytest.mark.parametrize("recorded", EPISODES["rware"])
def test_recorded_warehouses_are_played(recorded: dict[str, Any]) -> None:
    """From the same seeds and actions, states, observations, rewards and ends are those of rware."""
    play_again(recorded)


def play_again(recorded: dict[str, Any]) -> None:
    """Play recorded episodes, and compare the digest of each step."""
    env: Any = games.parallel_env(recorded["id"], **recorded["kw"])
    is_foraging = recorded["id"].startswith("Foraging")
    bits = recorded["kw"].get("msg_bits", 0)
    for run in recorded["runs"]:
        observations, _ = env.reset(seed=run["seed"])
        state = env.get_state()
        shown = read_foraging(state, begins=True) if is_foraging else read_warehouse(state)
        digests = [run["digests"][k : k + 6] for k in range(0, len(run["digests"]), 6)]
        assert sha([*shown, digest_observations(observations)]) == digests[0]
        for step, (numbers, digest) in enumerate(zip(run["actions"], digests[1:], strict=True), 1):
            if step == STEPS:
                return
            # An action with bits is recorded as action + 5 * (bit 0 + 2 * bit 1 + ...).
            actions = [[n % 5, *(n // 5 >> k & 1 for k in range(bits))] if bits else n for n in numbers]
            observations, rewards, terminated, _, _ = env.step(dict(zip(env.agents, actions, strict=True)))
            state = env.get_state()
            shown = read_foraging(state, begins=False) if is_foraging else read_warehouse(state)
            end = int(all(terminated.values()))
            assert sha([*shown, list(rewards.values()), end, digest_observations(observations)]) == digest, step


@pytest.mark.parametrize(
    ("game_id", "expected"),
    [
        ("rware-small-4ag-v2", {"shelf_rows": 2, "shelf_columns": 3, "num_agents": 4, "request_queue_size": 4}),
        ("rware-large-5ag-hard-v2", {"shelf_rows": 3, "shelf_columns": 5, "request_queue_size": 2}),
        ("rware-tiny-3ag-easy-v2", {"request_queue_size": 6, "observation_type": "FLATTENED", "sensor_range": 1}),
        ("rware-imgdict-Nd-2s-medium-6h-2ag-v2", {"observation_type": "IMAGE_DICT", "column_height": 6}),
        ("rware-img-Nd-tiny-2ag-v2", {"image_observation_directional": False, "observation_type": "IMAGE"}),
        ("rware-3s-2x5-4h-6ag-7req-twostage-v2", {"sensor_range": 3, "reward_type": "TWO_STAGE", "num_agents": 6}),
        ("Foraging-2s-10x12-3p-4f-coop-v3", {"size": (12, 10), "sight": 2, "force_coop": True, "max_num_food": 4}),
        ("Foraging-grid-7x7-2p-1f-v3", {"sight": 7, "grid_observation": True, "force_coop": False}),
    ],
)
def test_what_an_id_means(game_id: str, expected: dict[str, Any]) -> None:
    """Each part of an id sets the option that it sets in the original, also in ids that are not registered there."""
    found = parse_id(game_id)
    assert found is not None
    assert expected.items() <= found[1].items()


@pytest.mark.parametrize(
    "game_id",
    [
        "rware-tiny-2ag-v1",
        "rware-tiny-\u0662ag-v2",
        "Foraging-8x8-2p-1f-v2",
        "Foraging-8-v3",
        "Foraging-\u0668x8-2p-1f-v3",
        "Overcooked-cramped_rom-v0",
    ],
)
def test_other_ids_are_unknown(game_id: str) -> None:
    """An id of another version, of another form, or with other digits than 0 to 9, is none, and a near one is named."""
    with pytest.raises(ValueError, match=rf"the game is '.*' \(did you mean '{game_id[:5]}.*'\?\); multigrid.register"):
        games.parallel_env(game_id)


def test_the_ids_of_the_originals_are_registered() -> None:
    """`gymnasium.make` knows the ids that importing the originals registers, in the namespace of this package."""
    known = [name for name in gymnasium.registry if name.startswith(("multigrid/rware-", "multigrid/Foraging-"))]
    assert len(known) == 4 * 19 * 3 + 15 * 8 * 4 * 2 * 2
    assert all(parse_id(name.removeprefix("multigrid/")) for name in known)


def test_the_games_register_their_ids() -> None:
    """`import multigrid` registers the tutorial's ids alone; the others come with `multigrid.games`, also by an id."""
    code = """
import gymnasium, sys
gymnasium.register("multigrid/rware-tiny-2ag-v2", "user:Env")
before = set(gymnasium.registry)
import multigrid
print(sorted(set(gymnasium.registry) - before), "multigrid.games" in sys.modules)
env = gymnasium.make("multigrid.games:multigrid/Foraging-5x5-2p-1f-v3")
print(env.unwrapped.n_agents, gymnasium.spec("multigrid/rware-tiny-2ag-v2").entry_point)
"""
    done = run_python("-W", "error", "-W", "ignore:Numba is not installed", "-c", code)
    ids = [*(f"{space}/GridWorld-v0" for space in ("gym_examples", "gymnasium_env")), "multigrid/GridWorld-v0"]
    assert done.stdout.splitlines() == [f"{[*ids, 'multigrid/GridWorld-v1']} False", "2 user:Env"], done.stderr


def test_workers_know_the_specs_of_tuples() -> None:
    """A new process that was given the spec, or the id with its module, makes the environment."""
    code = """
import functools, gymnasium, multigrid.games
for made in "multigrid.games:multigrid/Foraging-5x5-2p-1f-v3", gymnasium.spec("multigrid/Foraging-5x5-2p-1f-v3"):
    envs = gymnasium.vector.AsyncVectorEnv([functools.partial(gymnasium.make, made)], context="spawn")
    print(len(envs.reset(seed=0)[0]))
    envs.close()
"""
    done = run_python("-c", code, timeout=60)
    assert done.stdout == "2\n2\n", done.stderr


def test_what_of_gymnasium_takes_no_tuples() -> None:
    """The checker, vector envs and statistics of Gymnasium are for one agent, as the page says."""
    game_id, actions = "multigrid/Foraging-5x5-2p-1f-v3", (0, 0)
    with pytest.raises(AssertionError):
        check_env(gymnasium.make(game_id).unwrapped)
    for env, joint, error in (
        (gymnasium.make_vec(game_id, 3), (np.zeros(3, int),) * 2, "with a sequence"),
        (RecordEpisodeStatistics(gymnasium.make(game_id)), actions, "'float' and 'list'"),
    ):
        env.reset(seed=0)
        with pytest.raises((ValueError, TypeError), match=error):
            env.step(joint)


@pytest.mark.parametrize(
    ("game_id", "keywords", "problem"),
    [
        ("rware-tiny-2ag-v2", {"request_queue_size": 33}, "request_queue_size is 33, and there are 32 shelves"),
        ("rware-tiny-2ag-v2", {"n_agents": 111}, "there are 111 agents, but the map has 10 x 11 cells"),
        ("rware-tiny-2ag-v2", {"shelf_columns": 2}, "shelf_columns is 2; expected an odd number"),
        ("rware-tiny-2ag-v2", {"layout": "xg\nx"}, "expected lines of one length, of x"),
        ("rware-tiny-2ag-v2", {"layout": "x."}, "without a goal"),
        ("rware-tiny-2ag-v2", {"reward_type": "MINE"}, "reward_type is 'MINE'; expected one of GLOBAL, INDIVIDUAL"),
        (
            "rware-img-tiny-2ag-v2",
            {"image_observation_layers": ["AGENT_LOAD"]},
            "AGENT_LOAD is transposed, which a map of 10 x 11 cells",
        ),
        ("rware-tiny-2ag-v2", {"walls": "#..\n..."}, "the grid of RoboticWarehouse has none"),
        ("Foraging-8x8-2p-1f-v3", {"walls": "#..\n...\n...", "size": None}, "the grid of Foraging has none"),
        ("Foraging-8x8-2p-1f-v3", {"players": 65}, "there are 65 players, but the field has 8 x 8 cells"),
        ("Foraging-8x8-2p-1f-v3", {"field_size": (8, 2)}, "the field has 8 rows and 2 columns"),
        ("Foraging-8x8-2p-1f-v3", {"min_player_level": 3}, "min_player_level is 3 and max_player_level is 2"),
        ("Foraging-8x8-2p-2f-v3", {"min_food_level": [2, 1], "max_food_level": [1, 2]}, "min_food_level is 2 and max"),
        ("Foraging-8x8-2p-1f-v3", {"min_food_level": 3}, "min_food_level is 3, and the three lowest players"),
        ("Foraging-8x8-2p-1f-v3", {"max_player_level": [1, 2, 3]}, "expected an integer of at least 0, or 2 of them"),
    ],
)
def test_what_would_fail_later_is_refused(game_id: str, keywords: dict[str, Any], problem: str) -> None:
    """Options that make the original fail deep inside are refused with their numbers when the env is made."""
    with pytest.raises(ValueError, match=problem):
        games.parallel_env(game_id, **keywords)


def test_keywords_of_the_originals_are_taken() -> None:
    """The keywords of the originals set the fields of this package, enums by name or as members of the original's."""
    members: Any = type("Original", (), {"name": "GLOBAL"})
    env = games.parallel_env("rware-tiny-2ag-v2", n_agents=3, max_steps=None, reward_type=members())
    assert (env.config.num_agents, env.config.options["max_steps"]) == (3, 0)
    assert env.config.options["reward_type"] is RewardType.GLOBAL
    foraging = games.parallel_env("Foraging-8x8-2p-1f-v3", field_size=(9, 7), players=4)
    assert (foraging.config.size, foraging.config.num_agents) == ((7, 9), 4)
    with pytest.raises(TypeError, match="both players and num_agents were given"):
        games.parallel_env("Foraging-8x8-2p-1f-v3", players=4, num_agents=4)


@pytest.mark.parametrize(
    ("game_id", "settings"),
    [
        pytest.param("rware-tiny-4ag-v2", {"num_agents": (1, 4), "delays": 0.1}, marks=needs_numba),
        ("Foraging-2s-7x7-3p-2f-v3", {}),
    ],
)
def test_an_original_keeps_what_the_checks_ask(game_id: str, settings: dict[str, Any]) -> None:
    """It plays alike compiled and interpreted and in every environment, with tuples too."""
    testing.check_game(game_id, **settings)


def test_tuples_have_the_flags_of_the_episode() -> None:
    """`gymnasium.make` gives tuples that are in their space, no infos, and one flag for all agents."""
    env: Any = gymnasium.make("multigrid/rware-tiny-4ag-v2", max_steps=3)
    observations, info = env.reset(seed=3)
    assert (env.observation_space.contains(observations), info) == (True, {})
    assert [env.step((0,) * 4)[2:] for _ in range(3)] == [(False, False, {})] * 2 + [(True, False, {})]


def test_steps_after_the_end_go_on() -> None:
    """As in the originals, an environment of tuples is stepped on after its end, and says again that it has ended."""
    env: Any = gymnasium.make("multigrid/rware-tiny-2ag-v2", max_steps=2)
    env.reset(seed=0)
    shown = [env.step((1, 1)) for _ in range(4)]
    assert [one[2:4] for one in shown] == [(False, False), *[(True, False)] * 3]
    assert not np.array_equal(shown[1][0], shown[3][0])


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ((1,), "there are 1 actions; expected 2"),
        ((5, 0), "agent 0 is 5; expected an integer from 0 to 4"),
        ((0, -1), "agent 1"),
        (3, "actions is 3 of type int; expected a tuple of 2, one for each agent"),
        (np.array(3), "of type ndarray; expected a tuple of 2"),
        ({0: 1, 1: 2}, "of type dict; expected a tuple of 2"),
        ({1, 2}, "of type set; expected a tuple of 2"),
        (None, "actions is None of type NoneType; expected a tuple of 2"),
    ],
)
def test_bad_actions_change_nothing(actions: Any, problem: str) -> None:
    """An environment of tuples refuses an action that is none, and another number of them, and stays as it was."""
    env: Any = gymnasium.make("multigrid/rware-tiny-2ag-v2").unwrapped
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises((TypeError, ValueError), match=problem):
        env.step(actions)
    for name, value in env.get_state().items():
        np.testing.assert_equal(value, before[name])


@pytest.mark.parametrize(
    ("game_id", "limit"), [("rware-tiny-2ag-v2", "max_steps"), ("Foraging-8x8-2p-2f-v3", "max_episode_steps")]
)
def test_fixed_games_are_truncated(game_id: str, limit: str) -> None:
    """At the limit of steps the original terminates; with fixed=True the episode is truncated."""
    for fixed in (False, True):
        env: Any = games.parallel_env(game_id, fixed=fixed, **{limit: 3})
        env.reset(seed=0)
        for _ in range(3):
            _, _, terminated, truncated, _ = env.step(dict.fromkeys(env.agents, 0))
        assert set(terminated.values()) == {not fixed}
        assert set(truncated.values()) == {fixed}
        assert env.agents == []


def test_players_begin_where_they_stood_or_not() -> None:
    """A second episode depends on where the first one ended; with fixed=True it does not."""
    crowded = {"players": 23, "field_size": (5, 5), "max_num_food": 0}
    for fixed in (False, True):
        second = []
        for action in (0, 2):
            env: Any = games.parallel_env("Foraging-5x5-9p-1f-v3", fixed=fixed, **crowded)
            env.reset(seed=1)
            env.step(dict.fromkeys(env.agents, action))
            env.reset(seed=2)
            second.append(env.get_state()["location"].tolist())
        assert (second[0] == second[1]) is fixed


@pytest.mark.parametrize(("layout", "axis", "last"), [("x.xg..", 1, 5), ("x\n.\nx\ng\n.", 0, 4)])
def test_the_only_row_or_column_is_at_zero(layout: str, axis: int, last: int) -> None:
    """Normalised coordinates are 0 along a side of one cell, and from 0 to 1 along the other."""
    options = {"layout": layout, "request_queue_size": 1, "normalised_coordinates": True}
    env: Any = games.parallel_env("rware-tiny-2ag-v2", **options)
    for seed in range(5):
        observations, _ = env.reset(seed=seed)
        for one, cell in zip(observations.values(), env.get_state()["location"], strict=True):
            assert (one[axis], one[1 - axis]) == (0, np.float32(cell[1 - axis] / last))


def test_fixed_layers_show_agents_where_they_are() -> None:
    """The layer of directions is transposed as in the original; with fixed=True it is that of the layer of agents."""
    layout, layers = "g....\n.xxx.\n.x.x.\n.xxx.\n....g", ["AGENTS", "AGENT_DIRECTION"]
    for fixed in (False, True):
        env: Any = games.parallel_env(
            "rware-img-Nd-tiny-2ag-v2", layout=layout, image_observation_layers=layers, sensor_range=4, fixed=fixed
        )
        for seed in range(3):
            observations, _ = env.reset(seed=seed)
            whole = observations["agent_0"]
            x, y = env.get_state()["location"][0]
            around = np.zeros((2, 13, 13))
            around[:, y : y + 9, x : x + 9] = whole
            agents, directions = around[:, 4:9, 4:9]
            shown = directions if fixed else directions.T
            assert (agents > 0).tolist() == (shown > 0).tolist()
            expected = [
                [*cell, direction + 1]
                for cell, direction in zip(
                    env.get_state()["location"].tolist(), env.get_state()["direction"].tolist(), strict=True
                )
            ]
            assert sorted(expected) == sorted([int(i), int(j), int(shown[j, i])] for j, i in np.argwhere(shown))


def test_messages_are_numbers_after_the_action() -> None:
    """With msg_bits an action is a sequence, in one world and in many, and the others see its bits."""
    options: dict[str, Any] = {"msg_bits": 2, "sensor_range": 10}
    env: Any = games.parallel_env("rware-tiny-2ag-v2", **options)
    worlds: Any = games.vector_env("rware-tiny-2ag-v2", 2, **options)
    env.reset(seed=3)
    worlds.reset(seed=3)
    observations = env.step({"agent_0": [2, 1, 0], "agent_1": np.array([3, 0, 1])})[0]
    rows = worlds.step(np.array([[2, 1, 0], [3, 0, 1], [0, 1, 1], [0, 0, 0]]))[0]
    assert env.get_state()["messages"].tolist() == [[1, 0], [0, 1]]
    assert worlds.get_state()["messages"].tolist() == [[[1, 0], [0, 1]], [[1, 1], [0, 0]]]
    np.testing.assert_array_equal(rows[0], observations["agent_0"])
    cells = observations["agent_0"][8:].reshape(21 * 21, 9)
    assert cells[cells[:, 0] == 1][:, 5:7].sum(axis=0).tolist() == [1, 1]
    for bad in ([2, 1], [5, 0, 0], [2, 0, 2], [-1, 0, 0]):
        with pytest.raises(ValueError, match="expected an integer from 0 to 4, and then 2 bits"):
            env.step({"agent_0": bad, "agent_1": [0, 0, 0]})
    with pytest.raises(ValueError, match=r"row 3 \(agent_1 of world 1\)"):
        worlds.step([[0, 0, 0]] * 3 + [[0, 0, 2]])


HOSTILE = [
    ("rware-tiny-2ag-v2", "direction", lambda array: array + 4),
    ("rware-tiny-2ag-v2", "load", lambda array: array + 1),
    ("rware-tiny-2ag-v2", "load", lambda array: array + 99),
    ("rware-tiny-2ag-v2", "shelf_in", np.zeros_like),
    ("rware-tiny-2ag-v2", "shelf_in", lambda array: array + 1),
    ("rware-tiny-2ag-v2", "request", lambda array: array * 0),
    ("rware-tiny-2ag-v2", "request", lambda array: array[[0, 0]]),
    ("rware-tiny-2ag-v2", "is_wanted", lambda array: array + 1),
    ("rware-tiny-2ag-v2", "idle", lambda array: array + 1000),
    ("rware-tiny-2ag-v2", "location", lambda array: array[[0, 0]]),
    ("Foraging-8x8-2p-2f-v3", "num_food", lambda array: array + 5),
    ("Foraging-8x8-2p-2f-v3", "num_food", lambda array: array - 1),
    ("Foraging-8x8-2p-2f-v3", "food", lambda array: array[::-1]),
    ("Foraging-8x8-2p-2f-v3", "food", lambda array: array * 100),
    ("Foraging-8x8-2p-2f-v3", "level", lambda array: array - 9),
    ("Foraging-8x8-2p-2f-v3", "place", lambda array: array + 1),
    ("Foraging-8x8-2p-2f-v3", "total", lambda array: array - 9),
]


@pytest.mark.parametrize(("game_id", "name", "change"), HOSTILE)
def test_states_that_play_cannot_reach_are_refused(game_id: str, name: str, change: Any) -> None:
    """A state with shelves, requests, foods or levels that do not go together is refused, and nothing is changed."""
    env: Any = games.parallel_env(game_id)
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(ValueError, match="in the state"):
        env.set_state({**state, name: np.asarray(change(state[name]), state[name].dtype)})
    np.testing.assert_array_equal(env.get_state()["location"], state["location"])
    env.set_state(state)


@pytest.mark.parametrize("game_id", ["rware-tiny-2ag-v2", "Foraging-8x8-2p-2f-v3"])
def test_a_layout_by_hand_replaces_the_places_of_agents_alone(game_id: str) -> None:
    """Agents begin in the cells of a layout, among all shelves or foods, with what the seed gives; states go on."""
    env: Any = games.parallel_env(game_id)
    cells = [[1, 3], [0, 6]]
    states = []
    for seed in (4, 5, 4):
        env.reset(seed=seed, options={"agents": cells})
        states.append(env.get_state())
        env.step(dict.fromkeys(env.agents, 1))
        env.set_state(states[-1])
    for state in states:
        assert state["location"].tolist() == cells
        if "shelf_in" in state:
            assert (state["shelf_in"] > 0).sum() == len(np.unique(state["shelf_in"])) - 1 > 20
            assert state["is_wanted"].sum() == len(state["request"]) > 0
        else:
            assert state["num_food"] == state["num_placed"] == 2
            assert state["level"].min() > 0
    assert frozen(states[0]) == frozen(states[2]) != frozen(states[1])


@pytest.mark.parametrize(
    ("game_id", "letters"), [("rware-tiny-2ag-v2", {"G", "<", ">", "^", "v"}), ("Foraging-8x8-2p-2f-v3", set("1234"))]
)
def test_pictures_show_what_the_game_adds(game_id: str, letters: set[str]) -> None:
    """Text and frames show goals and directions, or the levels of foods."""
    shown = set()
    for seed in range(3):
        env: Any = games.parallel_env(game_id, render_mode="ansi")
        env.reset(seed=seed)
        shown |= {part[1] for part in env.render().replace("m", "m ").split("m") if part[1:2]}
    assert len(shown & letters) > 1
    if "Foraging" in game_id:
        env = RecordEpisode(games.parallel_env(game_id, min_food_level=(98, 105), max_food_level=(99, 106)))
        env.reset(seed=0)
        shown = {mark.letter for mark in show_episode(env).episode.marks[0]}
        assert len(shown) == 2
        assert shown < {"98", "99", "++"}
    env = gymnasium.make(f"multigrid/{game_id}", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape[2] == 3


def test_outcomes_say_why_an_agent_stays() -> None:
    """The outcome of an agent of a warehouse that does not move is the edge, another agent, or a shelf ahead."""
    env: Any = games.parallel_env(
        "rware-tiny-2ag-v2", layout="....\n.xx.\n.xx.\ng...", n_agents=6, request_queue_size=1
    )
    env.reset(seed=0)
    state = env.get_state()
    # At the edge, behind that one, two face to face, one with a shelf before a shelf, one that turns.
    state["location"] = np.array([[0, 0], [0, 1], [2, 3], [3, 3], [1, 1], [3, 0]])
    state["direction"] = np.array([0, 0, 3, 2, 3, 0])
    state["load"] = np.array([0, 0, 0, 0, int(state["shelf_in"][1, 1]), 0])
    env.set_state(state)
    _, _, _, _, infos = env.step(dict(zip(env.agents, (1, 1, 1, 1, 1, 2), strict=True)))
    names = [Outcome(info["outcome"]).name for info in infos.values()]
    assert names == ["EDGE", "OCCUPIED", "SWAP", "SWAP", "OCCUPIED", "STAYED"]


def test_cells_come_in_the_order_of_a_set() -> None:
    """Cells are sorted as Python goes through a set to which they were added, of few cells and of many."""
    random = np.random.default_rng(0)
    for _ in range(200):
        height, count = int(random.integers(1, 30)), int(random.integers(1, 31))
        cells = random.permutation(30 * height)[:count]
        expected = set[tuple[int, int]]()
        for cell in cells.tolist():
            expected.add(divmod(cell, height))
        with np.errstate(over="ignore"):
            _sort_as_set(cells, height, np.zeros(512, np.int64))
        assert [divmod(cell, height) for cell in cells.tolist()] == list(expected)


def test_recordings_hold_any_message(tmp_path: Path) -> None:
    """Actions with more bits than letters have numbers are saved, loaded, and played again to the same state."""
    env: Any = RecordEpisode(games.parallel_env("rware-tiny-2ag-v2", msg_bits=5, max_steps=6))
    env.reset(seed=4)
    random = np.random.default_rng(1)
    while env.agents:
        env.step({agent: [int(random.integers(5)), *random.integers(2, size=5)] for agent in env.agents})
    save(env.scenario("talk"), tmp_path / "talk.json")
    scenario = load(tmp_path / "talk.json", env.unwrapped.config.game)
    assert scenario.actions.max() >= 64
    again = scenario.env()
    for _ in replay(scenario, again):
        pass
    assert again.get_state()["messages"].tolist() == env.unwrapped.get_state()["messages"].tolist()


def test_a_tie_leaves_no_trace() -> None:
    """Chains of one length are told apart, and the state has none of the numbers that this took."""
    layout = "......\n.xx...\n......\n...xx.\ng....g"
    env: Any = games.parallel_env("rware-tiny-2ag-v2", layout=layout, n_agents=12, request_queue_size=1, max_steps=0)
    random = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(400):
        env.step({agent: int(random.choice([1, 1, 1, 2, 3])) for agent in env.agents})
        assert not env.get_state()["scratch"].any()


@pytest.mark.parametrize(
    ("game_id", "options", "message"),
    [
        (
            "rware-tiny-2ag-v2",
            {"layout": 3},
            "layout is 3; expected lines of x (shelf), . (way) and g (goal), as a str",
        ),
        ("Foraging-8x8-2p-999999999999f-v3", {}, "max_num_food is 999999999999; expected an integer of at least 0"),
    ],
)
def test_a_world_that_nothing_holds_is_refused(game_id: str, options: dict[str, Any], message: str) -> None:
    """An option of another type, or a number that no memory holds, is an error that names the game and the option."""
    with pytest.raises((TypeError, ValueError), match=re.escape(message)) as error:
        games.parallel_env(game_id, **options)
    assert ".prepare: " in str(error.value)
