"""What both bridges to Stable-Baselines3 promise; test_sb3.py and test_supersuit.py have what is special to one."""

import dataclasses

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit

from helpers import crossed, frozen
from multigrid import Action, GridConfig, MultiGridEnv, games
from own_game import GAME, ORIGINALS, check_brought
from single_envs import exact
from vec_envs import BRIDGES, POOL, SETTINGS, WORLD, SingleRows, learner, play, returned_rows, rows_of

# Newer Pythons warn of what SuperSuit does: it forks, and NumPy's threads are there already.
FLAT = dataclasses.replace(WORLD, flatten=True)
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")]


@pytest.fixture(params=BRIDGES)
def bridge(request):
    """The name of a bridge."""
    return str(request.param)


@pytest.fixture
def make(bridge, closing):
    """Make a VecEnv of a bridge."""
    return lambda *arguments, **keywords: closing(BRIDGES[bridge](*arguments, **keywords))


ROWS = [
    {},
    {"flatten": True},
    {"on_target": "leave"},
    {"on_target": "leave", "flatten": True, "max_cycles": 9},
    {"on_target": "stay", "num_agents": 2, "observe": ("view", "target")},
    {"on_target": "restart", "max_cycles": 11, "reward": "shared"},
    {"walls": POOL, "size": None, "max_cycles": 8},
    {"num_agents": 1, "allow_stay": True},
    {"flatten": True, "observe": ("offset", "action_mask", "others"), "on_target": "restart", "max_cycles": 11},
]


@pytest.mark.parametrize(("settings", "bridge"), crossed(ROWS, list(BRIDGES)), indirect=["bridge"], ids=str)
def test_rows_are_those_of_single_envs(settings, bridge, make):
    """Row world * num_agents + agent is that of a ParallelEnv seeded seed + world, and what was returned stays."""
    config = GridConfig(**{name: value for name, value in (SETTINGS | settings).items() if value is not None})
    vec_env, singles = make(config, seed=20), SingleRows(config, [20, 21, 22], as_supersuit="supersuit" in bridge)
    returned = [vec_env.reset()]
    before = [frozen(returned[0])]
    assert list(map(exact, rows_of(returned[0]))) == singles.reset()
    assert frozen(vec_env.reset_infos) == frozen(singles.reset_infos)
    random = np.random.default_rng(4)
    for _ in range(150):
        actions = random.integers(0, config.num_actions, vec_env.num_envs)
        returned.append(vec_env.step(actions))
        before.append(frozen(returned[-1]))
        assert frozen(returned_rows(returned[-1])) == frozen(singles.step(actions.tolist()))
        if "native" in bridge:
            assert frozen(vec_env.reset_infos) == frozen(singles.reset_infos)
    assert frozen(returned) == before
    assert len(singles.ends) >= 6
    assert ({"alone", "dead"} <= set(singles.ends)) == (config.on_target == "leave")


@pytest.mark.parametrize(
    ("moves", "truncated"),
    [(["toward"], False), (["away", "away"], True), (["away", "toward"], False)],
    ids=["arrived", "out of time", "arrived in the last step"],
)
def test_a_time_limit_differs_from_an_end(moves, truncated, make):
    """TimeLimit.truncated stands in the infos of ended rows alone, True where time ran out before all had arrived."""
    vec_env = make(GridConfig(size=(2, 1), num_agents=1, max_cycles=2), 2, seed=0)
    seen, sides = vec_env.reset(), set()
    for _ in range(8):
        target_right = seen["target"][:, 0] > seen["agent"][:, 0]
        sides.update(target_right.tolist())
        for step, move in enumerate(moves, start=1):
            actions = np.where(target_right == (move == "toward"), Action.RIGHT, Action.LEFT)
            seen, rewards, dones, infos = vec_env.step(actions)
            at_end = step == len(moves)
            assert dones.tolist() == [at_end] * 2
            assert [info.get("TimeLimit.truncated") for info in infos] == [truncated if at_end else None] * 2
            assert rewards.tolist() == [float(move == "toward")] * 2
    assert sides == {False, True}


def test_seeds_decide(make):
    """A seed repeats the play of its vec env and, given again, begins it anew; another seed plays otherwise."""
    one, other = make(WORLD, seed=3), make(WORLD, seed=4)
    first = play(one, 30)
    assert play(one, 30) != first, "the second reset goes on with the streams"
    one.seed(3)
    assert play(one, 30) == first
    assert play(other, 30) != first


def test_without_a_seed_everything_differs(make):
    """Without a seed, no two worlds and no two vec envs begin alike."""
    layouts = []
    for _ in range(2):
        rows = [frozen((row["agent"], row["target"])) for row in rows_of(make(GridConfig(size=(40, 30))).reset())]
        layouts += [rows[first : first + 2] for first in (0, 2, 4)]
    assert all(layouts[i] != layouts[j] for i in range(6) for j in range(i))


def test_observations_keep_their_spaces(make):
    """The spaces are those of one agent; Dict observations stay Dicts of batches, flat ones a single batch."""
    for config, shapes in ((WORLD, {"agent": (6, 2), "target": (6, 2), "others": (6, 2, 2)}), (FLAT, {"": (6, 8)})):
        vec_env, space = make(config, 2), MultiGridEnv(config).observation_space("agent_0")
        seen = vec_env.reset()
        assert vec_env.observation_space == space
        assert all(space.contains(row) for row in rows_of(seen))
        assert {part: rows.shape for part, rows in (seen if config is WORLD else {"": seen}).items()} == shapes
        assert (vec_env.action_space, vec_env.num_envs) == (Discrete(4), 6)


def test_attributes_are_returned_for_each_row(make):
    """Attributes that all rows share are returned for each row asked for; no row is wrapped."""
    vec_env = make(WORLD, 2, render_mode="rgb_array")
    assert vec_env.get_attr("config") == [WORLD] * 6
    assert (vec_env.get_attr("render_mode", [0, 4]), vec_env.get_attr("config", 5)) == (["rgb_array"] * 2, [WORLD])
    assert (vec_env.env_is_wrapped(TimeLimit), vec_env.env_is_wrapped(TimeLimit, [1, 2])) == ([False] * 6, [False] * 2)
    assert not vec_env.has_attr("no_such_thing")


def test_frames_are_those_of_single_envs(bridge, make):
    """get_images() gives the frame of each world, or under SuperSuit of the first, as a ParallelEnv draws it."""
    vec_env = make(WORLD, 2, seed=6, render_mode="rgb_array")
    vec_env.reset()
    envs = [MultiGridEnv(WORLD, render_mode="rgb_array") for _ in range(1 if "supersuit" in bridge else 2)]
    for k, env in enumerate(envs):
        env.reset(seed=6 + k)
    for _ in range(3):
        np.testing.assert_array_equal(vec_env.get_images(), [env.render() for env in envs])
        vec_env.step(np.full(6, Action.LEFT))
        for env in envs:
            env.step(dict.fromkeys(env.agents, Action.LEFT))


@pytest.mark.parametrize(
    "settings",
    [
        {"flatten": True, "on_target": "leave"},
        pytest.param({}, marks=pytest.mark.long),
        pytest.param({"flatten": True, "on_target": "restart"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_ppo_is_repeatable(settings, one_thread):
    """The same seed gives equal weights, over either bridge and with processes, too; another seed gives others."""
    config = GridConfig(**(SETTINGS | settings | {"max_cycles": 15}))

    def weights(name, seed=7):
        vec_env = BRIDGES[name](config, 4)
        learned = learner(vec_env, seed=seed).learn(800)
        vec_env.close()
        return [tensor.tolist() for tensor in learned.policy.state_dict().values()]

    first = weights("native")
    assert all(weights(name) == first for name in BRIDGES)
    assert weights("native", seed=8) != first


def test_a_game_is_learned_from(make, one_thread):
    """PPO's rollout over either bridge has the actions, the part and the rewards of a game of one's own."""
    vec_env = make(GAME, 12, seed=0)
    assert vec_env.action_space == Discrete(6)
    rollout = learner(vec_env).learn(32 * 24).rollout_buffer
    check_brought(rollout.observations, rollout.actions, rollout.rewards)


@pytest.mark.parametrize(("game_id", "bits"), [*((name, 0) for name in ORIGINALS), ("rware-tiny-2ag-v2", 2)])
def test_the_originals_are_learned_from(game_id, bits, make, one_thread, monkeypatch):
    """PPO over either bridge trains on rware and lb-foraging; it takes every action, and every bit of a message."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile the games
    size, num_actions = ORIGINALS[game_id]
    vec_env = make(games.config(game_id, **({"msg_bits": bits} if bits else {})), 12, seed=0)
    assert vec_env.observation_space.shape == (size + 9 * bits,)
    agent = learner(vec_env)
    before = [weights.clone() for weights in agent.policy.parameters()]
    taken = agent.learn(32 * 24).rollout_buffer.actions
    for column, count in enumerate([num_actions] + [2] * bits):
        assert set(np.unique(taken[..., column])) == set(range(count))
    assert not any(torch.equal(*pair) for pair in zip(before, agent.policy.parameters(), strict=True))
