"""What agents observe, in words: known texts of each game, nothing more than is seen, and actions in answers."""

import re
from pathlib import Path

import gymnasium
import pytest
from sample_games import KeyAndDoor

import multigrid
from multigrid import games
from multigrid.envs.parallel import MultiGridEnv
from multigrid.testing import frozen

GOLDEN = Path(__file__).parents[1] / "golden" / "words.txt"
ALL = ("agent", "target", "offset", "others", "view", "walls", "action_mask", "delayed", "delay_left")
MAP = "..#...\n.#....\n......"
CASES = {
    "paths": (lambda: multigrid.parallel_env(walls=MAP, num_agents=3, observe=ALL, delays=0.5), 4),
    "own game": (lambda: multigrid.parallel_env(game=KeyAndDoor, num_agents=2, size=(5, 3)), 1),
    "partial": (lambda: games.parallel_env("MiniGrid-DoorKey-8x8-v0", num_agents=2), 9),
    "onehot": (lambda: games.parallel_env("MiniGrid-Fetch-8x8-N3-v0", num_agents=2, image="onehot"), 2),
    "full": (lambda: games.parallel_env("MiniGrid-Unlock-v0", num_agents=2, image="full"), 1),
    "lossless": (lambda: games.parallel_env("Overcooked-cramped_room-v0", dynamics="old"), 250),
    "features": (
        lambda: games.parallel_env("Overcooked-coordination_ring-v0", observe="features", random_objects=0.5),
        5,
    ),
    "v2": (
        lambda: games.parallel_env("OvercookedV2-grounded_coord_simple-v0", agent_view_size=2, random_reset=True),
        9,
    ),
    "foraging": (lambda: games.parallel_env("Foraging-8x8-3p-2f-v3"), 0),
    "foraging grid": (lambda: games.parallel_env("Foraging-8x8-3p-2f-v3", grid_observation=True, sight=3), 4),
    "warehouse": (lambda: games.parallel_env("rware-tiny-3ag-v2", msg_bits=2), 60),
    "warehouse image": (lambda: games.parallel_env("rware-tiny-2ag-v2", observation_type="image_dict"), 20),
}


def play(env, steps, seed=3):
    """Yield the observations of a reset and of some steps of random play."""
    spaces = {agent: env.action_space(agent) for agent in env.possible_agents}
    for number, space in enumerate(spaces.values()):
        space.seed(number + seed)
    yield env.reset(seed=seed)[0]
    for _ in range(steps):
        if env.agents:
            yield env.step({agent: spaces[agent].sample() for agent in env.agents})[0]


@pytest.mark.parametrize("name", CASES)
def test_what_agents_observe_is_said(name):
    """The text of an agent in a known state is that of tests/golden/words.txt, in every game."""
    make, steps = CASES[name]
    env = make()
    list(play(env, steps))
    golden = dict(re.findall(r"^== (.+)\n((?:(?!== ).*\n)+)", GOLDEN.read_text(encoding="utf-8"), re.MULTILINE))
    assert f"{multigrid.describe(env, 'agent_1')}\n" == golden[name]
    assert set(golden) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_equal_observations_have_equal_words(name):
    """The text depends on the observation alone: it is the same whenever an agent observes the same."""
    env, texts = CASES[name][0](), {}
    for seed in range(2):
        for observations in play(env, 40, seed):
            for agent in env.agents:
                seen = agent, repr(frozen(observations[agent]))
                assert texts.setdefault(seen, multigrid.describe(env, agent)) == multigrid.describe(env, agent)
    assert len(set(texts.values())) > 9


@pytest.mark.parametrize(
    ("game_id", "observe"),
    [
        ("Foraging-8x8-2p-2f-v3", "rgb"),
        ("Foraging-8x8-2p-2f-v3", ("agent", "vector")),
        ("Overcooked-cramped_room-v0", ("lossless", "action_mask")),
        ("Overcooked-cramped_room-v0", ("agent",)),
        ("OvercookedV2-cramped_room_v2-v0", "rgb"),
        ("rware-tiny-2ag-v2", "rgb"),
    ],
)
def test_a_game_says_its_own_parts_alone(game_id, observe):
    """Images, masks and parts of every game are no matter of the game's own words."""
    env = games.parallel_env(game_id, observe=observe)
    env.reset(seed=0)
    text = multigrid.describe(env, "agent_1")
    assert ("You see an image" in text) == (observe == "rgb")
    assert ("You are at [" in text) == ("agent" in observe)
    assert "Actions: " in text


def test_the_number_of_agents_may_be_drawn():
    """Where agents may be missing, the text says how many there are at most, and who is not there."""
    env = multigrid.parallel_env(num_agents=(2, 5), size=(5, 4), observe=("agent", "others"))
    env.reset(seed=1)
    assert len(env.agents) < 5
    text = multigrid.describe(env, "agent_0")
    assert "one of up to 5 agents" in text
    assert "agent_4 is not there." in text


def test_what_is_hidden_changes_no_word():
    """Agents outside the view, a delay and a target that are not observed make no difference."""
    env = multigrid.parallel_env(size=(9, 4), num_agents=2, observe="view", view_radius=1, delays=0.5)
    texts = set()
    for other, target in (([8, 3], [7, 0]), ([7, 2], [8, 1])):
        env.reset(seed=len(texts), options={"agents": [[1, 1], other], "targets": [[4, 1], target]})
        texts.add(multigrid.describe(env, "agent_0"))
    assert len(texts) == 1


@pytest.mark.parametrize("name", ["paths", "own game"])
def test_flat_vectors_have_the_same_words(name):
    """A flat vector is said in cells, as the parts that it was made of."""
    config = CASES[name][0]().config
    envs = [MultiGridEnv(config), MultiGridEnv(multigrid.GridConfig(**{**config.given, "flatten": True}))]
    for _ in zip(*(play(env, 12) for env in envs), strict=True):
        for agent in envs[0].agents:
            assert multigrid.describe(envs[0], agent) == multigrid.describe(envs[1], agent)


def test_all_faces_say_the_same():
    """The AEC env, the env of Gymnasium and that with tuples say what the ParallelEnv says."""
    turns = multigrid.env(num_agents=2, size=(4, 3))
    turns.reset(seed=5)
    env = multigrid.parallel_env(num_agents=2, size=(4, 3))
    env.reset(seed=5)
    assert multigrid.describe(turns, "agent_1") == multigrid.describe(env, "agent_1")
    tuples, env = gymnasium.make("multigrid/Foraging-5x5-2p-1f-v3"), games.parallel_env("Foraging-5x5-2p-1f-v3")
    for one in (tuples, env):
        one.reset(seed=5)
    assert multigrid.describe(tuples, "agent_1") == multigrid.describe(env, "agent_1")
    one, env = (
        gymnasium.make("multigrid/MiniGrid-DoorKey-5x5-v0"),
        games.parallel_env("MiniGrid-DoorKey-5x5-v0", num_agents=1),
    )
    for each in (one, env):
        each.reset(seed=5)
    assert multigrid.describe(one) == multigrid.describe(env) == multigrid.describe(one, "agent_0")
    single = gymnasium.make("multigrid/GridWorld-v1")
    single.reset(seed=5)
    assert "Actions: right [0, 1], up [-1, 0], left [0, -1], down [1, 0]." in multigrid.describe(single)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("left", 2),
        ("Not left, but UP!", 1),
        ("up/down", 3),
        ("I pick up\nthe key", 5),
        ("Pick-up", 5),
        ("**pick_up**.", 5),
    ],
)
def test_the_last_action_of_an_answer_counts(text, action):
    """Capitals, signs and how a name of several words is joined make no difference."""
    env = multigrid.parallel_env(game=KeyAndDoor, num_agents=2, size=(5, 3))
    env.reset(seed=0)
    assert multigrid.parse_action(env, "agent_1", text) == action


def test_names_of_actions_may_have_capitals():
    """An answer names an action whatever the capitals of either; of two names that only `_` tells apart, its own."""

    class Jumps(multigrid.Game):
        actions = ("Jump", "jump_up", "jumpup")

    env = multigrid.parallel_env(game=Jumps, num_agents=1, size=(5, 3))
    env.reset(seed=0)
    answers = {text: multigrid.parse_action(env, "agent_0", text) for text in ("JUMP", "Jump_up", "jumpup", "jump up")}
    assert answers == {"JUMP": 5, "Jump_up": 6, "jumpup": 7, "jump up": 6}


def test_an_answer_may_have_a_message():
    """The last group of as many bits is the message, zeros without one; the result is in the action space."""
    env = games.parallel_env("rware-tiny-2ag-v2", msg_bits=3)
    env.reset(seed=0)
    for text, expected in (("forward 011", [1, 0, 1, 1]), ("load", [4, 0, 0, 0]), ("101: left, 110", [2, 1, 1, 0])):
        action = multigrid.parse_action(env, "agent_1", text)
        assert action in env.action_space("agent_1")
        assert action.tolist() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("upright", "the text names no action: 'upright'; expected one of up, left, down"),
        ("", "the text names no action: ''; expected one of up, left, down"),
        ("left, or right", "the text names right, which agent_0 may not do now; expected one of up, left, down"),
    ],
)
def test_an_answer_without_an_action_is_refused(text, message):
    """The error lists what the agent's mask allows."""
    env = multigrid.parallel_env(num_agents=1, size=(5, 3), observe=("agent", "action_mask"))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=re.escape(message)):
        multigrid.parse_action(env, "agent_0", text)


def test_what_has_no_words_is_refused():
    """Another env, no text, an unknown agent, one that has left, and an env before its first reset raise errors."""
    env = multigrid.parallel_env(walls="aA.\n#b.\n.B.", on_target="leave")
    with pytest.raises(gymnasium.error.ResetNeeded):
        multigrid.describe(env, "agent_0")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="text is 3 of type int; expected a str"):
        multigrid.parse_action(env, "agent_0", 3)
    env.step({"agent_0": 0, "agent_1": 2})
    for agent in ("agent_0", "agent_7", None):
        with pytest.raises(ValueError, match=f"agent is {agent!r}; expected one in the episode: agent_1"):
            multigrid.describe(env, agent)
    env.step({"agent_1": 1})
    alone = multigrid.parallel_env(walls="aA", num_agents=1, on_target="leave")
    alone.reset(seed=0)
    alone.step({"agent_0": 0})
    for over, agent in ((env, "agent_1"), (alone, None)):
        with pytest.raises(ValueError, match="the episode is over; call reset"):
            multigrid.describe(over, agent)
    for other in (multigrid.vector_env(2), "env"):
        with pytest.raises(TypeError, match="expected an environment of one world"):
            multigrid.describe(other, "agent_0")


def follow(text):
    """Answer as a reader of the text would: one step towards the target that it names."""
    return f"I go {re.search(r'Your target is [0-9]+ ([a-z]+)', text)[1]}."


def test_words_are_enough_to_arrive():
    """Agents that only read the texts, and answer in words, reach their targets."""
    env = multigrid.parallel_env(size=(7, 4), num_agents=2, observe="offset", on_target="leave", collisions="none")
    env.reset(seed=1)
    while env.agents:
        texts = {agent: multigrid.describe(env, agent) for agent in env.agents}
        env.step({agent: multigrid.parse_action(env, agent, follow(text)) for agent, text in texts.items()})
    assert env.metrics()["success"].all()
