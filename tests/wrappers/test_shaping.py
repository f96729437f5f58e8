"""Shaped rewards: the potential that keeps every optimal policy, and the distance reward that does not."""

import copy
import itertools
import math
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from helpers import frozen
from multigrid import Action, GridWorldEnv, parallel_env
from multigrid.wrappers import DistanceReward, PotentialReward, PotentialRewardParallel, SuccessInfo

GAMMA = 0.8
OPEN = "....\n....\n...."
# Who stands in the pocket at (2, 2) is two cells from a target at (4, 2), and ten steps.
POCKET = "......\n.###..\n...#..\n.###.."


class OneAgent(gym.Env[Any, Any]):
    """A world with walls and one agent, as a Gymnasium env."""

    def __init__(self, walls):
        self.world = parallel_env(walls=walls, num_agents=1, max_cycles=None)
        self.observation_space = self.world.observation_space("agent_0")
        self.action_space = self.world.action_space("agent_0")

    def reset(self, *, seed=None, options=None):
        """Begin the agent's episode."""
        observations, infos = self.world.reset(seed, options)
        return observations["agent_0"], infos["agent_0"]

    def step(self, action):
        """Take the agent's step."""
        return tuple(each["agent_0"] for each in self.world.step({"agent_0": action}))


def optimum(walls, wrap):
    """Play every action in every state of the wrapped env, and return the values of the actions by value iteration."""
    env = wrap(OneAgent(walls))
    free = [(x, y) for y, row in enumerate(walls.split("\n")) for x, cell in enumerate(row) if cell == "."]
    states = list(itertools.permutations(free, 2))
    rewards, ends = np.zeros((len(states), 4)), np.zeros((len(states), 4), bool)
    after = np.zeros((len(states), 4), int)
    for index, action in np.ndindex(len(states), 4):
        agent, target = states[index]
        env.reset(options={"agents": [agent], "targets": [target]})
        observation, rewards[index, action], ends[index, action], truncated, _ = env.step(action)
        assert not truncated
        if not ends[index, action]:
            after[index, action] = states.index((tuple(observation["agent"].tolist()), target))
    values = np.zeros((len(states), 4))
    for _ in range(200):
        values = rewards + GAMMA * np.where(ends, 0.0, values.max(axis=1)[after])
    return dict(zip(states, values, strict=True))


def best(values):
    """The actions that no other beats."""
    return set(np.flatnonzero(values > values.max() - 1e-9).tolist())


def constant(observation, info):
    """A potential that is not 0 on the target."""
    return -info["distance"] - 5.0


def crooked(observation, info):
    """A potential that leads away from many targets."""
    x, y = observation["agent"].tolist()
    return 3.0 * x - float(y) ** 2 + 7.0


@pytest.fixture(scope="module", params=[OPEN, POCKET], ids=["open", "pocket"])
def plain(request):
    """A world, and the values of its actions under the documented reward."""
    return request.param, optimum(request.param, lambda env: env)


@pytest.mark.parametrize("potential", [None, constant, crooked], ids=["default", "constant", "crooked"])
def test_a_potential_keeps_every_optimal_action(plain, potential):
    """In every state the same actions are optimal with and without it: all values of a state shift by its potential."""
    walls, values = plain
    shaped = optimum(walls, lambda env: PotentialReward(env, GAMMA, *([potential] if potential else [])))
    potential = potential or (lambda observation, info: -info["distance"])
    for (agent, target), row in values.items():
        assert best(shaped[agent, target]) == best(row), (agent, target)
        distance = abs(agent[0] - target[0]) + abs(agent[1] - target[1])
        shift = potential({"agent": np.array(agent)}, {"distance": float(distance)})
        np.testing.assert_allclose(shaped[agent, target], row - shift, atol=1e-9)


def test_what_is_no_potential_changes_what_is_optimal():
    """Another discount, or the distance as reward, pays for waiting in the pocket, and drops some shortest ways."""
    values, bonus = (optimum(POCKET, wrap) for wrap in (lambda env: env, lambda env: PotentialReward(env, 1.0)))
    state, waits = ((2, 2), (4, 2)), {Action.RIGHT, Action.UP, Action.DOWN}
    assert best(values[state]) == {Action.LEFT}
    assert best(bonus[state]) == best(optimum(POCKET, DistanceReward)[state]) == waits
    values, paid = optimum(OPEN, lambda env: env), optimum(OPEN, DistanceReward)
    assert all(best(paid[state]) <= best(values[state]) for state in values)
    assert (best(values[(0, 0), (3, 1)]), best(paid[(0, 0), (3, 1)])) == ({Action.RIGHT, Action.UP}, {Action.RIGHT})


@pytest.mark.parametrize("limit", [3, 60])
def test_what_a_potential_adds_depends_on_the_ends_only(limit):
    """What is added along an episode is minus the first potential, and the last one if the episode was merely cut."""
    bare = gym.make("multigrid/GridWorld-v0", size=4, max_episode_steps=limit)
    env = PotentialReward(gym.make("multigrid/GridWorld-v0", size=4, max_episode_steps=limit), GAMMA, constant)
    draws, endings = np.random.default_rng(1), set()
    for seed in range(30):
        first = -bare.reset(seed=seed)[1]["distance"] - 5
        assert env.reset(seed=seed)[1]["distance"] == -first - 5
        added, steps, terminated, truncated = 0.0, 0, False, False
        while not (terminated or truncated):
            action = draws.integers(4)
            _, reward, terminated, truncated, info = bare.step(action)
            _, shaped, *rest = env.step(action)
            assert (type(shaped), *rest) == (float, terminated, truncated, info)
            added, steps = added + GAMMA**steps * (shaped - reward), steps + 1
        endings.add((terminated, truncated))
        expected = -first + (0.0 if terminated else GAMMA**steps * (-info["distance"] - 5))
        assert added == pytest.approx(expected, abs=1e-9)
    assert endings > ({(True, False)} if limit == 60 else {(False, True)})


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_each_agent_has_a_potential_of_its_own(on_target):
    """Over whole episodes each agent's reward grows by what its own distance says, 0 for one that terminates."""
    settings = {"size": (5, 3), "num_agents": 3, "on_target": on_target, "max_cycles": 40}
    bare, env = parallel_env(**settings), PotentialRewardParallel(parallel_env(**settings), GAMMA, constant)
    draws, ended = np.random.default_rng(3), set()
    for seed in range(12):
        left = {agent: -info["distance"] - 5 for agent, info in bare.reset(seed=seed)[1].items()}
        env.reset(seed=seed)
        while bare.agents:
            actions = {agent: draws.integers(4) for agent in bare.agents}
            _, rewards, terminations, truncations, infos = bare.step(actions)
            observations, shaped, *rest = env.step(actions)
            assert rest == [terminations, truncations, infos]
            assert observations.keys() == shaped.keys() == rewards.keys()
            for agent, reward in rewards.items():
                reached = 0.0 if terminations[agent] else -infos[agent]["distance"] - 5
                assert shaped[agent] == pytest.approx(reward + GAMMA * reached - left[agent])
                left[agent] = reached
            ended |= {(terminations[agent], truncations[agent]) for agent in rewards}
        assert env.agents == []
        assert env.step({}) == ({}, {}, {}, {}, {})
    assert (False, True) in ended
    assert ((True, False) in ended) == (on_target in ("park", "leave"))


def test_who_arrives_in_the_last_step_has_ended():
    """An agent that terminates in the step that truncates has no potential left; the other's episode is merely cut."""
    world = parallel_env(size=(5, 3), num_agents=2, on_target="leave", max_cycles=1)
    env = PotentialRewardParallel(world, GAMMA, constant)
    env.reset(options={"agents": [[0, 0], [0, 2]], "targets": [[1, 0], [4, 2]]})
    _, rewards, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, Action.RIGHT))
    assert (terminations, truncations) == ({"agent_0": True, "agent_1": False}, dict.fromkeys(rewards, True))
    assert rewards == {"agent_0": 1 + 6.0, "agent_1": pytest.approx(GAMMA * -8.0 + 9.0)}


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_potential_is_a_finite_number(value):
    """What no finite reward can come of is refused in a reset and in a step, by both wrappers."""
    values = iter([0.0, 0.0, 0.0, *[value] * 4])
    one = PotentialReward(GridWorldEnv(), GAMMA, lambda *_: next(values))
    many = PotentialRewardParallel(parallel_env(size=(5, 3), num_agents=2), GAMMA, lambda *_: next(values))
    one.reset(seed=0), many.reset(seed=0)
    for call in (lambda: one.step(0), lambda: many.step({"agent_0": 0, "agent_1": 0}), one.reset, many.reset):
        with pytest.raises(ValueError, match=f"the potential of a state is {value}; expected a finite number"):
            call()


def test_a_state_takes_its_potentials_along():
    """A wrapped ParallelEnv goes on from a state, a copy or a pickle as it went on itself."""
    env = PotentialRewardParallel(parallel_env(size=(5, 3), num_agents=2), GAMMA)
    env.reset(seed=1)
    env.step({"agent_0": 0, "agent_1": 2})
    state, others = env.get_state(), [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = env.step({"agent_0": 1, "agent_1": 3})[1]
    env.step({"agent_0": 1, "agent_1": 1})
    env.set_state(state)
    assert [one.step({"agent_0": 1, "agent_1": 3})[1] for one in (env, *others)] == [expected] * 3
    before = env.get_state()
    with pytest.raises(TypeError, match="its potentials are None; expected a dict"):
        env.set_state({"env": state["env"], "potentials": None})
    assert frozen(env.get_state()) == frozen(before)


def test_the_distance_reward_is_the_guides():
    """Over whole episodes it is 1 on the step that arrives, and minus a tenth of the Euclidean distance on others."""
    bare, *worlds = (GridWorldEnv(size=6) for _ in range(3))
    env, twice = DistanceReward(worlds[0]), DistanceReward(worlds[1], scale=0.2)
    draws = np.random.default_rng(0)
    for seed in range(5):
        for one in (bare, env, twice):
            one.reset(seed=seed)
        terminated = False
        while not terminated:
            action = draws.integers(4)
            observation, _, terminated, *rest = bare.step(action)
            paid = 1.0 if terminated else -0.1 * math.dist(observation["agent"], observation["target"])
            seen, reward, *others = env.step(action)
            assert frozen((seen, others)) == frozen((observation, [terminated, *rest]))
            assert (type(reward), reward) == (float, pytest.approx(paid))
            assert twice.step(action)[1] == pytest.approx(paid if terminated else 2 * paid)


@pytest.mark.parametrize("target_reward", [100, 2.5, 0])
def test_the_reward_at_the_target_can_be_chosen(target_reward):
    """It is paid on the steps that terminate, as a float, and `is_success` is True on the same steps alone."""
    bare = DistanceReward(GridWorldEnv(size=3))
    limited = TimeLimit(DistanceReward(GridWorldEnv(size=3), target_reward=target_reward), 12)
    env, draws, ends = SuccessInfo(limited), np.random.default_rng(1), {True: 0, False: 0}
    for seed in range(30):
        bare.reset(seed=seed)
        info, flags = env.reset(seed=seed)[1], [False]
        assert list(info.items())[1:] == [("is_success", False)]
        while not any(flags):
            action = draws.integers(4)
            _, paid, terminated, _, bare_info = bare.step(action)
            _, reward, *flags, info = env.step(action)
            assert info == {**bare_info, "is_success": terminated}
            assert (type(reward), reward) == (float, target_reward if terminated else paid)
        ends[terminated] += 1
    assert min(ends.values()) > 3
