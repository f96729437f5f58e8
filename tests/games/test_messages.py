"""Messages: what agents send with their actions, and all observe in the next step, in path finding and in games."""

import dataclasses
import re

import gymnasium
import numpy as np
import pytest
from sample_games import KeyAndDoor

import multigrid
from helpers import same
from multigrid import GridConfig, games, testing
from multigrid.core.arrays import LEFT
from multigrid.datasets._rows import rows_of_episodes, rows_of_worlds
from multigrid.scenarios import RecordEpisode, load, replay, save
from multigrid.scenarios.tracing import trace_episode

WALLS = "..#...\n.#....\n......\n...#.."
MAZES = multigrid.maps.Mazes(size=(7, 5))
WORLDS = {
    "leave": {"walls": WALLS, "num_agents": 3, "on_target": "leave", "max_cycles": 40},
    "drawn": {"walls": MAZES, "num_agents": (2, 4), "delays": 0.4, "on_target": "park", "max_cycles": 30},
    "game": {"game": KeyAndDoor, "num_agents": 3, "size": (6, 4), "max_cycles": 30},
    "drawn game": {"game": KeyAndDoor, "walls": MAZES, "num_agents": (2, 3), "delays": 0.4, "max_cycles": 30},
}
each_world = pytest.mark.parametrize("world", WORLDS)
MAKERS = {
    "Foraging-8x8-2p-2f-v3": ["vector", "messages"],
    "rware-tiny-2ag-v2": ["vector", "messages"],
    "Overcooked-cramped_room-v0": ["lossless", "messages"],
    "MiniGrid-DoorKey-6x6-v0": ["direction", "image", "mission", "messages"],
}


def choose(env, random):
    """Return an action with a message for each agent."""
    high = env.action_space(env.possible_agents[0]).nvec
    return {agent: random.integers(high) for agent in env.agents}


@each_world
def test_all_observe_what_was_sent_in_the_last_step(world):
    """Each agent reads a row of bits of each agent, zeros of one that had left; parked and delayed agents send, too."""
    env, random = multigrid.parallel_env(**WORLDS[world], message_bits=3), np.random.default_rng(0)
    left, delayed = 0, 0
    for seed in range(4):
        observations, _ = env.reset(seed=seed)
        assert all((seen["messages"] == np.zeros((env.config.num_agents, 3))).all() for seen in observations.values())
        while env.agents:
            present, sent = env.get_state()["status"] != LEFT, choose(env, random)
            expected = np.zeros((env.config.num_agents, 3), np.int8)
            for index, agent in enumerate(env.possible_agents):
                if present[index]:
                    expected[index] = sent[agent][1:]
            for seen in env.step(sent)[0].values():
                np.testing.assert_array_equal(seen["messages"], expected)
                assert seen["messages"].dtype == np.int8
            left += (~present).sum()
            delayed += (env.get_state()["outcomes"] == multigrid.Outcome.DELAYED).sum()
    assert left > 0 or world == "game"
    assert (delayed > 0) == ("delays" in WORLDS[world])


def test_rows_of_agents_that_have_left_send_nothing():
    """In many worlds, messages in the rows of agents that have left, or of worlds that are reset, reach nobody."""
    envs, num_silent = multigrid.vector_env(4, **WORLDS["leave"], message_bits=2), 0
    envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(80):
        state, sent = envs.get_state(), envs.action_space.sample()
        sends = (state["status"] != LEFT) & ~state["episode_over"][:, None]
        seen = envs.step(sent)[0]["messages"].reshape(4, 3, 3, 2)
        present = envs.get_state()["status"] != LEFT
        expected = np.where(sends[..., None], sent[:, 1:].reshape(4, 3, 2), 0)
        for e, i in np.argwhere(present):
            np.testing.assert_array_equal(seen[e, i], expected[e])
        num_silent += (~sends).sum()
    assert num_silent > 10


@each_world
def test_messages_change_nothing_else(world):
    """With the same moves an episode is that of a world without messages, whatever agents send."""
    silent, talking = (multigrid.parallel_env(**WORLDS[world], message_bits=bits) for bits in (0, 2))
    for seed in range(3):
        random = np.random.default_rng(seed)
        begun, with_messages = silent.reset(seed=seed), talking.reset(seed=seed)
        while silent.agents:
            assert list(with_messages[0]) == list(begun[0])
            for agent, seen in begun[0].items():
                assert list(with_messages[0][agent]) == [*seen, "messages"]
                for part, value in seen.items():
                    np.testing.assert_array_equal(with_messages[0][agent][part], value)
            assert with_messages[1:] == begun[1:]
            sent = choose(talking, random)
            begun = silent.step({agent: int(action[0]) for agent, action in sent.items()})
            with_messages = talking.step(sent)
        state = talking.get_state()
        del state["messages"]
        same(state, silent.get_state())


@each_world
def test_states_have_the_messages(world):
    """Worlds of equal states observe equal messages, and go on alike; other numbers than bits are refused."""
    one, other = (multigrid.vector_env(2, **WORLDS[world], message_bits=3) for _ in range(2))
    one.reset(seed=1), other.reset(seed=7)
    one.action_space.seed(3)
    for _ in range(4):
        actions = one.action_space.sample()
        expected = one.step(actions)
    other.set_state(one.get_state())
    assert (other.get_state()["messages"] == one.get_state()["messages"]).all()
    assert one.get_state()["messages"].any()
    actions = one.action_space.sample()
    expected, found = one.step(actions), other.step(actions)
    np.testing.assert_array_equal(found[0]["messages"], expected[0]["messages"])
    state = one.get_state()
    if "actions" in state:
        state["actions"][1] = 3 * one.config.num_actions
        other.set_state(state)
        assert not other.get_state()["actions"][1].any()  # no function of a game finds a message in an action
    state["messages"][1, 0, 2] = 2
    with pytest.raises(ValueError, match="messages in the state has other numbers than 0 and 1"):
        one.set_state(state)


def test_a_flat_vector_has_the_messages():
    """With `flatten`, the bits are numbers of the vector, in their place among the parts."""
    config = GridConfig(num_agents=3, size=(5, 3), observe=("agent", "messages", "offset"), message_bits=2)
    env, flat = (multigrid.parallel_env(dataclasses.replace(config, flatten=flatten)) for flatten in (False, True))
    env.reset(seed=0), flat.reset(seed=0)
    sent = {"agent_0": [0, 1, 0], "agent_1": [1, 0, 1], "agent_2": [3, 1, 1]}
    seen = env.step(sent)[0]["agent_1"]["messages"]
    assert seen.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert flat.step(sent)[0]["agent_1"][2:8].tolist() == seen.ravel().tolist()
    assert flat.observation_space("agent_1").shape == (10,)


@pytest.mark.parametrize("game_id", MAKERS)
def test_messages_are_beside_what_a_game_shows(game_id):
    """In each game of the package, agents observe the messages beside what they observe without, on every face."""
    env, envs = (
        games.parallel_env(game_id, message_bits=2, num_agents=2),
        games.vector_env(game_id, 3, message_bits=2, num_agents=2),
    )
    env.reset(seed=4), envs.reset(seed=4)
    random = np.random.default_rng(0)
    for _ in range(5):
        sent = choose(env, random)
        rows = np.zeros((6, 3), np.int64)
        rows[:2] = list(sent.values())
        observations, many = env.step(sent)[0], envs.step(rows)[0]
        assert observations["agent_1"] in env.observation_space("agent_1")
        assert list(observations["agent_1"]) == list(many) == MAKERS[game_id]
        bits = [action[1:].tolist() for action in sent.values()]
        assert observations["agent_1"]["messages"].tolist() == many["messages"][0].tolist() == bits
        assert not many["messages"][2:].any()


def test_other_faces_take_messages():
    """The AEC env, and those of `gymnasium.make` and `make_vec`, take an action with bits, and show them."""
    turns = multigrid.env(num_agents=2, size=(5, 3), message_bits=2)
    turns.reset(seed=0)
    turns.step(np.array([1, 0, 1]))
    turns.step(np.array([0, 1, 1]))
    assert turns.observe("agent_0")["messages"].tolist() == [[0, 1], [1, 1]]
    game_id = "multigrid/MiniGrid-Empty-6x6-v0"
    one, many = gymnasium.make(game_id, message_bits=1), gymnasium.make_vec(game_id, num_envs=2, message_bits=1)
    one.reset(seed=0), many.reset(seed=0)
    assert one.step(np.array([2, 1]))[0]["messages"].tolist() == [[1]]
    assert many.step(np.array([[2, 1], [0, 0]]))[0]["messages"].tolist() == [[[1]], [[0]]]


@pytest.mark.parametrize(
    ("game", "settings"),
    [("Foraging-5x5-2p-1f-v3", {}), (KeyAndDoor, {"walls": MAZES, "num_agents": (2, 3), "delays": 0.4})],
)
def test_games_keep_what_the_checks_ask(game, settings):
    """With messages, a game keeps all that `check_game` asks, also on drawn maps with delays and drawn agents."""
    testing.check_game(game, **{**settings, "message_bits": 2})


def test_recordings_have_the_messages(tmp_path):
    """A recorded episode is played again with its messages, and shows which agent has blocked a move."""
    env = RecordEpisode(multigrid.parallel_env(walls="a..A\nb..B", observe=("agent", "messages"), message_bits=7))
    env.reset(seed=0)
    env.step({"agent_0": [1, *[1] * 7], "agent_1": [3, *[0, 1] * 3, 0]})
    save(env.scenario("talk"), tmp_path / "talk.json")
    scenario = load(tmp_path / "talk.json")
    assert scenario.actions.max() >= 64
    *_, last = replay(scenario)
    assert last.observations["agent_0"]["messages"].tolist() == [[1] * 7, [0, 1, 0, 1, 0, 1, 0]]
    assert trace_episode(scenario).blockers[1, :, 0].tolist() == [1, 0]


def test_messages_are_said_and_read():
    """`describe` says what each agent sent, and `parse_action` takes the bits of an answer as its message."""
    env = multigrid.parallel_env(num_agents=3, size=(5, 3), message_bits=3)
    env.reset(seed=0)
    answers = {"agent_0": "up, say 101", "agent_1": "left", "agent_2": "110: I go down."}
    env.step({agent: multigrid.parse_action(env, agent, text) for agent, text in answers.items()})
    said = re.findall(r".* said .*", multigrid.describe(env, "agent_1"))
    assert said == ["agent_0 said 101.", "You said 000.", "agent_2 said 110."]


@pytest.mark.parametrize("text", ["up, say 01", "up, say 0 1", "I say 1011: down"])
def test_what_is_said_has_as_many_digits_as_a_message(text):
    """More or fewer digits after "say" are an error, instead of a message of zeros."""
    env = multigrid.parallel_env(num_agents=1, size=(5, 3), message_bits=3)
    env.reset(seed=0)
    assert multigrid.parse_action(env, "agent_0", "1 up, and say 0 1 1").tolist() == [1, 0, 1, 1]
    with pytest.raises(ValueError, match=r"the text says [01]+; expected a message of 3 bits"):
        multigrid.parse_action(env, "agent_0", text)


def test_an_action_alone_sends_zeros():
    """On every face a single number is an action without a message; larger ones are refused, and nothing changes."""
    settings = {"num_agents": 2, "size": (5, 3), "message_bits": 2}
    env, turns = multigrid.parallel_env(**settings), multigrid.env(**settings)
    envs = multigrid.vector_env(2, **settings)
    env.reset(seed=0), turns.reset(seed=0), envs.reset(seed=0)
    before = env.get_state(), envs.get_state()
    for bad in (4, [4, 0, 0], [0, 0, 2], [[1], [0, 1]], [0, 0]):
        with pytest.raises(
            ValueError, match=r"action for agent_1 is .*; expected an integer from 0 to 3, (or|and then)"
        ):
            env.step({"agent_0": 0, "agent_1": bad})
        with pytest.raises(ValueError, match=r"expected an integer from 0 to 3, (or|and then)"):
            turns.step(bad)
    with pytest.raises(ValueError, match="expected an integer from 0 to 3, or"):
        envs.step([0, 4, 0, 0])
    for dtype in (float, bool):
        with pytest.raises(TypeError, match=f"actions are of {np.dtype(dtype)}"):
            envs.step(np.zeros((4, 3), dtype))
    same(env.get_state(), before[0]), same(envs.get_state(), before[1])
    assert not env.step({"agent_0": 3, "agent_1": 0})[0]["agent_0"]["messages"].any()
    assert not envs.step([3, 0, 3, 0])[0]["messages"].any()
    turns.step(3), turns.step([0, 1, 0])
    assert turns.observe("agent_0")["messages"].tolist() == [[0, 0], [1, 0]]
    assert envs.step(np.tile([0, 0, 1], (4, 1)).astype(np.uint64))[0]["messages"][:, :, 1].all()


class Many:
    """A policy of many worlds, whose actions have messages of ones or none."""

    def __init__(self, *, talks):
        self.talks = talks

    def __call__(self, env, observations):
        return {agent: [1, 1, 1] if self.talks else 1 for agent in env.agents}

    def act(self, vector_env, observations):
        rows = np.ones((vector_env.num_envs, 3), np.int64)
        return rows if self.talks else rows[:, 0]


@pytest.mark.parametrize("num_worlds", [2, 3, 4])
def test_partners_send_what_they_choose(num_worlds):
    """A partner whose actions have no messages sends zeros, and so does a learner, whatever the number of worlds."""
    single = multigrid.vector_env(num_worlds, num_agents=2, size=(5, 3), message_bits=2)
    for partner, sent in (
        *((Many(talks=one), one) for one in (0, 1)),
        *((Many(talks=one).__call__, one) for one in (0, 1)),
    ):
        envs = multigrid.policies.Partners(single, {"agent_1": partner})
        envs.reset(seed=0)
        for actions in (np.zeros(num_worlds, int), np.zeros((num_worlds, 3), int)):
            assert envs.step(actions)[0]["messages"].tolist() == [[[0, 0], [sent, sent]]] * num_worlds


def test_policies_with_and_without_messages_play_together():
    """`cross_play` of two policies gives the same returns whether they play one world or many."""
    config = GridConfig(num_agents=2, size=(5, 3), message_bits=2, max_cycles=9)
    pair = {"talks": Many(talks=True), "does not": Many(talks=False)}
    many = multigrid.cross_play(config, pair, seeds=range(3))
    one = multigrid.cross_play(config, {name: policy.__call__ for name, policy in pair.items()}, seeds=range(3))
    np.testing.assert_array_equal(many.episodes, one.episodes)


@pytest.mark.heavy
def test_masks_have_the_bits():
    """The masks of Stable-Baselines3 allow both values of each bit."""
    from multigrid.integrations.sb3 import MultiGridVecEnv

    vector = multigrid.vector_env(
        2, num_agents=2, size=(5, 3), observe=("agent", "action_mask"), message_bits=2, autoreset_mode="SameStep"
    )
    envs = MultiGridVecEnv(vector)
    envs.reset()
    assert envs.action_masks().shape == (4, 8)
    assert envs.action_masks()[:, 4:].all()
    assert not envs.action_masks()[:, :4].all()


def test_random_play_has_the_bits():
    """Random agents draw actions and both values of each bit."""
    env = multigrid.parallel_env(num_agents=2, size=(5, 3), message_bits=2)
    env.reset(seed=0)
    policy = multigrid.policies.random_policy(np.random.default_rng(0))
    drawn = np.array([list(policy(env, {}).values()) for _ in range(50)])
    assert (drawn.max(axis=(0, 1)) == [3, 1, 1]).all()
    assert env.action_space("agent_0").contains(policy(env, {})["agent_0"])


def test_rows_of_datasets_have_messages():
    """Recorded rows have the actions of the action space, also of policies that send nothing."""
    config = GridConfig(num_agents=2, size=(5, 3), message_bits=2, max_cycles=6)
    (rows,) = rows_of_episodes(multigrid.parallel_env(config), lambda _: Many(talks=False), range(1), with_states=False)
    (many,) = rows_of_worlds(multigrid.vector_env(1, config), lambda *_: np.array([1, 1]), range(1), None)
    for row in (*rows, *many):
        assert row.actions[0].tolist() == [1, 0, 0]


class Named(multigrid.Game):
    """A game that has a key of its own for messages."""

    def observation_space(c):
        return gymnasium.spaces.Dict({"messages": gymnasium.spaces.MultiBinary(3)})

    def make_observations(c, parts):
        return {"messages": np.zeros((len(parts["agent"]), 3), np.int8)}


def test_a_game_has_no_messages_of_its_own_beside_those_of_agents():
    """A game whose observations have the key "messages" refuses message bits."""
    with pytest.raises(ValueError, match=r"Named\.observation_space has the key 'messages'"):
        multigrid.parallel_env(game=Named, message_bits=1)


@pytest.mark.parametrize("bits", [-1, 33, 2.0, True, None, "2"])
def test_bad_numbers_of_bits(bits):
    """A number of bits is an integer from 0 to 32."""
    with pytest.raises((TypeError, ValueError), match=r"message_bits is .*; expected an integer"):
        GridConfig(message_bits=bits)
