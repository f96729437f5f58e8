"""Agents that are played by partners: a learner's rows are those of the env in every mode, and partners are drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import multigrid
from helpers import same
from multigrid import policies
from multigrid.policies import Partners
from multigrid.wrappers import VectorReward
from multigrid.wrappers import _vector_records as records

WORLDS = 5
# Neither square nor even: three agents on 4 x 3 cells, whose episodes are short.
WORLD = {"size": (4, 3), "num_agents": 3, "max_cycles": 6}
OWN = [row for row in range(3 * WORLDS) if row % 3 != 1]
by_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


class Constant:
    """A policy of one action, for many worlds and for one."""

    def __init__(self, action):
        self.action, self.calls = action, 0

    def __call__(self, env, observations):
        """Return the action of each agent."""
        assert set(observations) == set(env.agents)
        return dict.fromkeys(env.agents, self.action)

    def act(self, vector_env, observations):
        """Return the action of each row."""
        self.calls += 1
        return np.full(vector_env.num_envs, self.action)


def towards(env, observations):
    """Move by what is observed and by the state of the env, which belong together."""
    actions = {}
    for agent in env.agents:
        cell = env.get_state()["location"][env.possible_agents.index(agent)]
        assert observations[agent]["agent"].tolist() == cell.tolist()
        dx, dy = (observations[agent]["target"] - cell).tolist()
        actions[agent] = 0 if dx > 0 else 2 if dx < 0 else 1 if dy > 0 else 3
    return actions


def towards_all(vector_env, observations):
    """The same for many worlds."""
    dx, dy = (observations["target"] - observations["agent"]).T
    return np.select([dx > 0, dx < 0, dy > 0], [0, 2, 1], 3)


class Towards:
    """The same policy, for many worlds."""

    __call__ = staticmethod(towards)
    act = staticmethod(towards_all)


def pick(returned, rows):
    """The rows of arrays, also in dicts."""
    if isinstance(returned, dict):
        return {name: pick(one, rows) for name, one in returned.items()}
    return returned[rows]


@by_mode
@pytest.mark.parametrize("settings", [{}, {"on_target": "leave"}, {"on_target": "restart", "delays": 0.3}], ids=str)
@pytest.mark.parametrize("partner", [towards, Towards()], ids=["one world", "many worlds"])
def test_the_rows_are_those_of_the_env(mode, settings, partner):
    """A learner gets what the env returns for its rows, in every mode, if the partner's rows play what it chooses."""
    settings = WORLD | settings
    envs = Partners(multigrid.vector_env(WORLDS, autoreset_mode=mode, **settings), {"agent_1": partner})
    plain = multigrid.vector_env(WORLDS, autoreset_mode=mode, **settings)
    assert (envs.num_envs, envs.rows.tolist()) == (len(OWN), OWN)
    assert envs.observation_space["agent"].shape == (len(OWN), 2)
    assert envs.action_space.shape == (len(OWN),)
    generator, ended = np.random.default_rng(0), 0
    observations, infos = envs.reset(seed=7)
    whole = plain.reset(seed=7)
    np.testing.assert_equal((observations, infos), (pick(whole[0], OWN), pick(whole[1], OWN)))
    seen = whole[0]
    for _ in range(40):
        actions = towards_all(plain, seen)
        actions[OWN] = generator.integers(4, size=len(OWN))
        results, expected = envs.step(actions[OWN]), plain.step(actions)
        same(results, tuple(pick(one, OWN) for one in expected))
        seen = expected[0]
        over = plain.episode_over
        ended += over.sum() + len(expected[4].get("_final_info", ()))
        if mode is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": np.repeat(over, 2)}
            again = envs.reset(options=options)
            seen, infos = plain.reset(options={"reset_mask": np.repeat(over, 3)})
            np.testing.assert_equal(again, (pick(seen, OWN), pick(infos, OWN)))
    assert ended > 9


@by_mode
def test_a_partner_is_drawn_for_each_episode(mode):
    """The policy of a world changes when its episode begins, and only then; the reset's seed decides the draws."""
    drawn = []
    for _ in range(2):
        envs = multigrid.vector_env(WORLDS, autoreset_mode=mode, on_target="restart", **WORLD)
        partners = [Constant(action) for action in range(4)]
        envs, rows = Partners(envs, {"agent_2": partners}), []
        steps = envs.unwrapped._worlds.arrays
        envs.reset(seed=3)
        for _ in range(60):
            before = envs.drawn.copy()
            rows.append(before.ravel().tolist())
            played = envs.unwrapped.get_state()["location"][:, 2] if not envs.unwrapped.episode_over.any() else None
            envs.step(np.zeros(envs.num_envs, int))
            if played is not None and mode is not AutoresetMode.SAME_STEP:
                moved = np.clip(played + np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])[before[:, 0]], 0, [3, 2])
                now = envs.unwrapped.get_state()["location"][:, 2]
                assert ((now == moved) | (now == played)).all()
            if mode is AutoresetMode.DISABLED and envs.unwrapped.episode_over.any():
                envs.reset(options={"reset_mask": np.repeat(envs.unwrapped.episode_over, 2)})
            else:
                assert ((envs.drawn == before) | (steps.steps == 0)[:, None]).all()
        drawn.append(rows)
    assert drawn[0] == drawn[1]
    assert {number for row in drawn[0] for number in row} == {0, 1, 2, 3}
    assert len({tuple(row) for row in drawn[0]}) == (60 + 5) // (6 + (mode is AutoresetMode.NEXT_STEP))
    envs = Partners(multigrid.vector_env(WORLDS, **WORLD), {"agent_2": partners[:2]}, draw="world")
    envs.reset(seed=3)
    assert envs.drawn.ravel().tolist() == [0, 1, 0, 1, 0]


def test_policies_are_made_for_each_episode():
    """With `per_episode` a policy is made for each world when its episode begins, from seeds that the reset decides."""
    made = []

    def make(seed):
        made.append(seed)
        return towards

    for _ in range(2):
        envs = multigrid.vector_env(2, size=(4, 3), num_agents=3, max_cycles=6, on_target="restart")
        envs = Partners(envs, {"agent_0": make, "agent_2": make}, per_episode=True)
        envs.reset(seed=3)
        assert len(made) % 8 == 4
        for _ in range(7):
            envs.step([0, 1])
    assert (made[:8], len(set(made)), len(made)) == (made[8:], 8, 16)

    def remember(seed):
        policy = Constant(seed % 4)
        policy.remembers = True
        return policy

    envs = Partners(multigrid.vector_env(2, **WORLD), {"agent_1": remember}, per_episode=True)
    with pytest.raises(ValueError, match="a partner is recurrent, and per_episode would forget"):
        envs.reset(seed=3)


def test_draws_go_on_without_a_seed():
    """A reset without seeds, of all worlds or of some, goes on with the draws, in new arrays; all worlds have some."""
    inner = multigrid.vector_env(WORLDS, **WORLD)
    inner.reset(seed=0)
    envs = Partners(inner, {"agent_1": [Constant(action) for action in range(4)]})
    envs.reset(options={"reset_mask": np.repeat(np.arange(WORLDS) == 2, 2)})
    envs.step(np.zeros(envs.num_envs, int))
    drawn = []
    for _ in range(8):
        envs.reset(seed=[None] * WORLDS)
        drawn.append(envs.drawn)
    assert len({numbers.tobytes() for numbers in drawn}) > 4


def test_states_are_those_of_the_env():
    """After `set_state`, partners play on from the restored state."""
    envs = Partners(multigrid.vector_env(2, **WORLD | {"max_cycles": 40}), {"agent_1": Towards()})
    envs.reset(seed=1)
    states, actions = envs.get_state(), np.array([0, 3, 1, 2])
    first = [envs.step(actions) for _ in range(3)]
    envs.set_state(states)
    np.testing.assert_equal([envs.step(actions) for _ in range(3)], first)


def test_it_composes_with_other_wrappers():
    """Rewards, statistics and masks of wrappers inside and outside are those of the learner's rows."""
    make = lambda: multigrid.vector_env(WORLDS, autoreset_mode="SameStep", **WORLD)  # noqa: E731
    reward = lambda seen, rewards, *rest: rewards + seen["agent"][:, 0]  # noqa: E731
    inside = Partners(VectorReward(make(), reward), {"agent_1": Towards()})
    outside = VectorReward(Partners(make(), {"agent_1": Towards()}), reward)
    counted = records.RecordEpisodeStatistics(Partners(make(), {"agent_1": Towards()}))
    results = [
        (envs.reset(seed=2), [envs.step(np.zeros(len(OWN), int)) for _ in range(14)]) for envs in (inside, outside)
    ]
    same(*results)
    counted.reset(seed=2)
    for _ in range(14):
        infos = counted.step(np.zeros(len(OWN), int))[-1]
        assert "episode" not in infos or infos["episode"]["r"].shape == (len(OWN),)
    assert counted.episode_count >= 2 * len(OWN)
    disabled = Partners(multigrid.vector_env(WORLDS, autoreset_mode="Disabled", **WORLD), {"agent_1": Towards()})
    counted = records.RecordEpisodeStatistics(disabled)
    counted.reset(seed=2)
    while not (over := disabled.unwrapped.episode_over).any():
        counted.step(np.zeros(len(OWN), int))
    counted.reset(options={"reset_mask": np.repeat(over, 2)})
    assert (counted.episode_lengths == 0).tolist() == np.repeat(over, 2).tolist()
    with pytest.raises(ValueError, match=r"^the env has partners already; name all partners in one dict$"):
        Partners(inside, {"agent_0": towards})


@pytest.mark.parametrize(
    ("partners", "more", "error", "message"),
    [
        ([towards], {}, TypeError, "partners is of type list; expected a dict of policies by agent"),
        ({}, {}, ValueError, "partners is [], which leaves every agent to the learner, of 3"),
        (
            dict.fromkeys(["agent_0", "agent_1", "agent_2"], towards),
            {},
            ValueError,
            "which leaves no agent to the learner",
        ),
        ({"agent_3": towards}, {}, ValueError, "partners has 'agent_3'; the agents are agent_0, agent_1, agent_2"),
        ({"agent_1": []}, {}, ValueError, "the partners of agent_1 are []; expected at least one policy"),
        ({"agent_1": [towards, 3]}, {}, TypeError, "a partner of agent_1 is 3 of type int; expected a function"),
        (
            {"agent_1": towards},
            {"per_episode": "no"},
            TypeError,
            "per_episode is 'no' of type str; expected True or False",
        ),
        ({"agent_1": towards}, {"draw": "step"}, ValueError, "draw is 'step'; expected one of 'episode', 'world'"),
    ],
)
def test_bad_arguments(partners, more, error, message):
    """What cannot be partners is refused when the env is made."""
    with pytest.raises(error, match=re.escape(message)):
        Partners(multigrid.vector_env(2, **WORLD), partners, **more)


def test_bad_calls():
    """Actions of other rows, partners with too few, and steps before a reset are refused; no world is stepped."""
    wrong = Constant(0)
    wrong.act = lambda vector_env, observations: np.zeros(4, int)
    floats = Constant(1.9)
    mute = lambda env, observations: None  # noqa: E731
    lacking = lambda env, observations: {"agent_0": 1}  # noqa: E731
    for partner, message in (
        (wrong, "act of a policy returned int64 of shape (4,); expected integers, an action for each of 6 rows"),
        (floats, "act of a policy returned float64 of shape (6,); expected integers"),
        (mute, "the partner agent_1 returned None; expected a dict with an action for each of"),
        (lacking, "the partner agent_1 returned actions for agent_0; expected a dict with an action for each of"),
    ):
        envs = Partners(multigrid.vector_env(2, **WORLD), {"agent_1": partner})
        with pytest.raises(ResetNeeded, match=r"^there is no episode yet; call reset\(\) of the env with its partners"):
            envs.step([0] * 4)
        envs.reset(seed=0)
        before = envs.get_state()
        for actions in ([0] * 6, [0.0] * 4):
            with pytest.raises(ValueError, match=r"^actions are .*; expected integers of shape \(4,\), an action for"):
                envs.step(actions)
        with pytest.raises(ValueError, match=re.escape(message)):
            envs.step([0] * 4)
        np.testing.assert_equal(envs.get_state(), before)
    with pytest.raises(TypeError, match=r"^env is .*; expected what multigrid.vector_env\(...\) returns$"):
        Partners(multigrid.parallel_env(), {"agent_1": towards})


def test_stable_baselines3_learns_from_the_rows():
    """`to_sb3` takes an env with partners: a VecEnv of the rows that are left, with the seeds and frames of worlds."""
    pytest.importorskip("stable_baselines3", reason="the adapter needs Stable-Baselines3")
    from multigrid.integrations.sb3 import to_sb3

    envs = multigrid.vector_env(WORLDS, autoreset_mode="SameStep", render_mode="rgb_array", **WORLD)
    vec_env = to_sb3(Partners(envs, {"agent_1": Towards()}))
    plain = to_sb3(multigrid.vector_env(WORLDS, autoreset_mode="SameStep", **WORLD))
    assert vec_env.seed(4) == [4 + k // 2 for k in range(len(OWN))]
    plain.seed(4)
    observations, whole = vec_env.reset(), plain.reset()
    for _ in range(15):
        np.testing.assert_equal(observations, pick(whole, OWN))
        actions = towards_all(None, whole)
        actions[OWN] = 1
        observations, rewards, dones, infos = vec_env.step(actions[OWN])
        whole, rewards_of_all, dones_of_all, infos_of_all = plain.step(actions)
        np.testing.assert_equal((rewards, dones), (rewards_of_all[OWN], dones_of_all[OWN]))
        np.testing.assert_equal(infos, [infos_of_all[row] for row in OWN])
    images, frames = vec_env.get_images(), vec_env.env_method("render")
    np.testing.assert_equal(frames, [images[k // 2] for k in range(len(OWN))])
    assert len({image.tobytes() for image in images}) == len(images) == WORLDS
    assert vec_env.get_attr("np_random_seed") == plain.get_attr("np_random_seed", OWN)


def test_teams_play_many_worlds():
    """A team of policies of many worlds can be a partner."""
    team = policies.team({"agent_0": Constant(0), "agent_1": Constant(1), "agent_2": Constant(2)})
    envs = Partners(multigrid.vector_env(2, **WORLD), {"agent_1": team, "agent_2": team})
    envs.reset(seed=0)
    assert envs.step([0, 0])[1].shape == (2,)
