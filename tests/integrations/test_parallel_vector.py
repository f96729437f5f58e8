"""The vector env of any ParallelEnv: its rows are what the envs tell, agents that leave and autoresets included."""

import ast
import copy
import re
from collections import Counter
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import create_empty_array, iterate
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from pettingzoo import ParallelEnv
from pettingzoo.butterfly.knights_archers_zombies import knights_archers_zombies
from pettingzoo.classic.rps import rps
from pettingzoo.utils.conversions import aec_to_parallel

import multigrid
from helpers import frozen, same
from multigrid.integrations import parallel_vector
from multigrid.integrations.parallel_vector import ParallelVectorEnv

MODES = ["NextStep", "SameStep", "Disabled"]
NAMES = ["ant", "bee", "cow"]
LIMIT = 4
ACTIONS = {"discrete": Discrete(4), "box": Box(-1, 1, (2, 1)), "dict": Dict(walk=Discrete(4), turn=Box(-1, 1))}


class Candles(ParallelEnv):
    """Three agents, each of which burns for a few drawn steps and leaves; with `late`, the last comes in step 2.

    It treats its caller as badly as envs do: every observation is written to the same array, and only those who are
    there are told of; with `chatty`, the others too, and with `flagless`, nobody is told that it is over. It keeps what
    it was asked, and which options it got.
    """

    def __init__(self, *, actions="discrete", late=False, chatty=False, flagless=False, render_mode=None, names=NAMES):
        self.metadata = {"name": "candles_v0", "render_modes": ["rgb_array"]}
        self.possible_agents = list(names)
        self.spaces = Box(-9, 9, (2, 2), np.float32), ACTIONS[actions]
        self.late, self.chatty, self.flagless, self.render_mode = late, chatty, flagless, render_mode
        self.stream, self.asked, self.options, self.closed = np.random.default_rng(), [], [], 0
        self.buffers = {agent: np.zeros((2, 2), np.float32) for agent in names}

    def observation_space(self, agent):
        """All see alike."""
        return self.spaces[0]

    def action_space(self, agent):
        """All act alike."""
        return self.spaces[1]

    def reset(self, seed=None, options=None):
        """Draw how long each burns."""
        if seed is not None:
            self.stream = np.random.default_rng(seed)
        self.options.append(options)
        self.clock = 0
        self.left = {agent: int(self.stream.integers(1, 7)) for agent in self.possible_agents}
        self.agents = self.possible_agents[: -1 if self.late else None]
        return self.seen(self.agents), {agent: self.info(agent) for agent in self.agents}

    def step(self, actions):
        """Burn, and pay each its own action."""
        self.clock += 1
        self.asked.append({agent: plain(action) for agent, action in actions.items()})
        paid = {agent: self.possible_agents.index(agent) + 10 * self.worth(actions[agent]) for agent in self.agents}
        there = list(self.agents)
        for agent in there:
            self.left[agent] -= 1
        ended = {agent: self.left[agent] == 0 and not self.flagless for agent in there}
        cut = dict.fromkeys(there, self.clock == LIMIT and not self.flagless)
        self.agents = [agent for agent in there if self.left[agent] > 0 and self.clock < LIMIT]
        if self.late and self.clock == 2 and self.agents:
            self.agents.append(self.possible_agents[-1])
        told = [agent for agent in self.possible_agents if self.chatty or agent in {*there, *self.agents}]
        for agent in set(told).difference(there):
            paid[agent], ended[agent], cut[agent] = 5, True, True
        return self.seen(told), paid, ended, cut, {agent: self.info(agent) for agent in told}

    def worth(self, action):
        """One number, which depends on every part of an action."""
        parts = action.values() if isinstance(action, dict) else [action]
        return float(sum(np.sum(part) for part in parts))

    def seen(self, agents):
        """Write over what was handed out before."""
        for agent in agents:
            self.buffers[agent][:] = [[self.possible_agents.index(agent) + 1, self.left[agent]], [self.clock, 1]]
        return {agent: self.buffers[agent] for agent in agents}

    def info(self, agent):
        """A number, an array, a text and a dict; and one thing that only one agent has."""
        info = {
            "left": self.left[agent],
            "pair": np.array([self.clock, 7]),
            "name": agent,
            "deep": {"clock": self.clock},
        }
        return info | ({"hum": 0.5} if agent == "bee" else {})

    def render(self):
        """A frame that tells which env it is of."""
        return np.full((2, 3, 3), sum(self.left.values()), np.uint8)

    def close(self):
        """Count."""
        self.closed += 1


def plain(value):
    """The same content without arrays, so that == compares it, and no later write reaches it."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class ByHand:
    """One ParallelEnv with a row for each agent, written out: what the rows of the vector env are judged by.

    A row is [observation, reward, terminated, truncated, info, final observation and info or None]; the observation of
    one that is not there is None.
    """

    def __init__(self, env, mode):
        self.env, self.mode = env, mode

    def reset(self, seed=None):
        """The rows of a reset."""
        seen, told = self.env.reset(seed=seed)
        self.before = []
        return [self.row(agent, seen, told) for agent in self.env.possible_agents]

    def row(self, agent, seen, told, outcome=(0, False, False)):
        """One row, copied; an agent is here that was so before the step or is now."""
        here = agent in {*self.before, *self.env.agents}
        info = {**told[agent], "alive": True} if here else {"alive": False}
        return plain([seen[agent] if here else None, *outcome, info, None])

    def step(self, actions):
        """The rows of a step, for an action a row."""
        env, rows = self.env, []
        if not env.agents:
            assert self.mode == "NextStep"
            return self.reset()
        self.before = list(env.agents)
        every = dict(zip(env.possible_agents, actions, strict=True))
        seen, *outcomes, told = env.step({agent: every[agent] for agent in self.before})
        for agent in env.possible_agents:
            outcome = [one[agent] for one in outcomes] if agent in self.before else [0, False, False]
            outcome[2] = outcome[2] or not (env.agents or outcome[1])
            rows.append(self.row(agent, seen, told, outcome))
        if env.agents or self.mode != "SameStep":
            return rows
        return [
            [fresh[0], *row[1:4], fresh[4], [row[0], row[4]]] for row, fresh in zip(rows, self.reset(), strict=True)
        ]


def infos_of(infos, row):
    """What infos in the form of arrays and masks tell of a row."""
    told = {}
    for key in infos:
        if not key.startswith("_") and infos[f"_{key}"][row]:
            value = infos[key]
            told[key] = infos_of(value, row) if isinstance(value, dict) else plain(value[row])
    return told


def rows_of(envs, returned):
    """What `reset` or `step` returned, as rows in the form of `ByHand`."""
    seen, *outcomes, infos = returned
    zeros = [np.zeros(envs.num_envs), *np.zeros((2, envs.num_envs), dtype=bool)]
    rows = []
    outcomes = zip(*(plain(outcome) for outcome in outcomes or zeros), strict=True)
    for row, (one, outcome) in enumerate(zip(iterate(envs.observation_space, seen), outcomes, strict=True)):
        info = infos_of(infos, row)
        final = None
        if "final_info" in info:
            final = [info.pop("final_obs"), info.pop("final_info")]
            final[0] = final[0] if final[1]["alive"] else blank(final[0])
        rows.append([plain(one) if info.get("alive", True) else blank(plain(one)), *outcome, info, final])
    return rows


def blank(observation):
    """None, for an observation that is zeros all over."""
    assert not np.any(observation)


def drawn(envs, random):
    """Actions for all rows."""
    envs.action_space.seed(int(random.integers(1000)))
    return envs.action_space.sample()


def agree(make, mode, steps, seeds=(11, 12), act=drawn):
    """Play the vector env and its envs one by one, comparing all that is told; return what happened, counted."""
    envs, singles = ParallelVectorEnv([make] * len(seeds), mode), [ByHand(make(), mode) for _ in seeds]
    expected = [row for single, seed in zip(singles, seeds, strict=True) for row in single.reset(seed)]
    assert rows_of(envs, envs.reset(seed=list(seeds))) == expected
    size, happened, random = len(envs.possible_agents), Counter(), np.random.default_rng(5)
    for _ in range(steps):
        over = np.array([not single.env.agents for single in singles])
        if mode == "Disabled" and over.any():
            returned = envs.reset(options={"reset_mask": np.repeat(over, size)})
            for k in np.flatnonzero(over):
                fresh = singles[k].reset()
                assert rows_of(envs, returned)[k * size : (k + 1) * size] == fresh
        actions = act(envs, random)
        returned = envs.step(actions)
        one_by_one = list(iterate(envs.action_space, actions))
        expected = [
            row for k, single in enumerate(singles) for row in single.step(one_by_one[k * size : (k + 1) * size])
        ]
        assert rows_of(envs, returned) == expected
        assert [array.dtype for array in returned[1:4]] == [np.float64, np.bool_, np.bool_]
        for _, _, ended, cut, info, final in expected:
            there = (final[1] if final else info)["alive"]
            happened.update(
                {"terminated": ended, "absent": not there, "cut": cut and there, "cut while absent": cut and not there}
            )
    return happened


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "settings", [{}, {"actions": "box", "chatty": True}, {"actions": "dict", "late": True}, {"flagless": True}], ids=str
)
def test_rows_are_what_the_envs_tell(settings, mode):
    """Every row is what its env tells of its agent; one that is not there is zeros, unpaid, and cut with the others."""
    happened = agree(lambda: Candles(**settings), mode, steps=120)
    wanted = {"absent", "cut while absent", "cut"} | ({"terminated"} if "flagless" not in settings else set())
    assert all(happened[name] > 10 for name in wanted), happened


def walk(envs, random):
    """Actions for knights and archers that walk off the field now and then."""
    return np.where(random.random(envs.num_envs) < 0.6, 0, random.integers(0, 6, envs.num_envs))


def test_agents_of_a_foreign_env_die_one_by_one():
    """PettingZoo's Knights Archers Zombies, an AEC env made parallel, is played as by hand, deaths included."""

    def make():
        return knights_archers_zombies.parallel_env(line_death=True, max_cycles=55)

    happened = agree(make, "NextStep", steps=115, act=walk)
    assert min(happened[name] for name in ("terminated", "absent", "cut", "cut while absent")) > 1


@pytest.mark.parametrize("mode", MODES)
def test_an_aec_env_made_parallel_is_played(mode):
    """What `aec_to_parallel` makes is a ParallelEnv like any other: rock, paper, scissors, for one."""
    happened = agree(lambda: aec_to_parallel(rps.env(max_cycles=3)), mode, steps=12)
    assert happened["cut"] > 8


class Alone(gymnasium.Env):
    """A ParallelEnv of one agent, as a Gymnasium env, for Gymnasium's own vector env."""

    def __init__(self, env):
        self.env, (self.agent,) = env, env.possible_agents
        self.observation_space, self.action_space = env.observation_space(self.agent), env.action_space(self.agent)

    def reset(self, *, seed=None, options=None):
        """Reset."""
        seen, told = self.env.reset(seed=seed, options=options)
        return seen[self.agent].copy(), told[self.agent]

    def step(self, action):
        """Step."""
        return tuple(one[self.agent] for one in plain_seen(self.env.step({self.agent: action})))


def plain_seen(returned):
    """The same, with observations that are copies."""
    seen, *rest = returned
    return {agent: array.copy() for agent, array in seen.items()}, *rest


@pytest.mark.parametrize("mode", MODES)
def test_one_agent_is_what_gymnasium_makes_of_it(mode):
    """Envs of one agent are told as by Gymnasium's SyncVectorEnv, infos and their masks included; `alive` is ours."""
    envs = ParallelVectorEnv([lambda: Candles(names=["bee"])] * 3, mode)
    theirs = SyncVectorEnv([lambda: Alone(Candles(names=["bee"]))] * 3, autoreset_mode=mode)
    assert (envs.num_envs, envs.observation_space, envs.action_space) == (
        3,
        theirs.observation_space,
        theirs.action_space,
    )
    returned, expected = envs.reset(seed=4), theirs.reset(seed=4)
    random, endings = np.random.default_rng(0), 0
    for _ in range(60):
        told = returned[-1]
        for infos in (told, told.get("final_info", {})):
            alive = infos.pop("alive", True), infos.pop("_alive", True)
            assert np.array_equal(*alive) or infos is not told
        same(returned, expected)
        over = np.zeros(3, dtype=bool) if len(returned) == 2 else returned[2] | returned[3]
        endings += over.sum()
        if mode == "Disabled" and over.any():
            returned, expected = (one.reset(options={"reset_mask": over.copy()}) for one in (envs, theirs))
        else:
            actions = random.integers(0, 4, 3)
            returned, expected = envs.step(actions), theirs.step(actions)
    assert endings > 20


WORLDS = [
    {"size": (4, 3), "num_agents": 3, "max_cycles": 16},
    {"size": (3, 5), "num_agents": 4, "max_cycles": 9, "flatten": True, "reward": "shared", "collisions": "priority"},
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("world", WORLDS, ids=["dict", "flat"])
@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_it_plays_what_the_native_vector_env_plays(on_target, world, mode):
    """Over MultiGridEnvs, rows are those of MultiGridVectorEnv over whole episodes: one set of rules for both."""
    config = multigrid.GridConfig(on_target=on_target, **world)
    native = multigrid.MultiGridVectorEnv(config, 3, autoreset_mode=mode)
    envs = ParallelVectorEnv([lambda: multigrid.MultiGridEnv(config)] * 3, mode)
    names = "num_envs", "single_observation_space", "single_action_space", "observation_space", "action_space"
    assert [getattr(envs, name) for name in names] == [getattr(native, name) for name in names]
    assert envs.metadata["autoreset_mode"] is native.metadata["autoreset_mode"] is AutoresetMode(mode)
    returned, expected = envs.reset(seed=7), native.reset(seed=7)
    check_common(returned, expected)
    random, endings, absent = np.random.default_rng(1), 0, 0
    for _ in range(120):
        actions = random.integers(0, 4, envs.num_envs)
        returned, expected = envs.step(actions), native.step(actions)
        check_common(returned, expected)
        over = (returned[2] | returned[3]).reshape(3, -1).all(axis=1)
        endings, absent = endings + over.sum(), absent + (~returned[4]["alive"]).sum()
        if mode == "Disabled" and over.any():
            options = {"reset_mask": over.repeat(config.num_agents)}
            check_common(envs.reset(options=options), native.reset(options=options))
    assert endings > 20
    assert (absent > 20) == (on_target == "leave")


def check_common(returned, expected):
    """Compare all but the metrics, which only the native env has; an absent row has no info but `alive`."""
    same(returned[:-1], expected[:-1])
    told, native = returned[-1], expected[-1]
    assert ("final_info" in told) == ("final_info" in native)
    both = [(told, native)]
    if "final_info" in told:
        assert all(frozen(told[key]) == frozen(native[key]) for key in ("final_obs", "_final_obs", "_final_info"))
        both.append((told["final_info"], native["final_info"]))
    for one, other in both:
        assert {key for key in one if "final" not in key} == {
            "alive",
            "distance",
            "outcome",
            "_alive",
            "_distance",
            "_outcome",
        }
        same([one["alive"], one["_alive"]], [other["alive"], other["_alive"]])
        for key in ("distance", "outcome"):
            same(one[key], np.where(other["alive"], other[key], other[key].dtype.type(0)))
            same(one[f"_{key}"], other[f"_{key}"] & other["alive"])


@pytest.mark.parametrize("mode", MODES[:2])
def test_nobody_asks_the_absent(mode):
    """Actions of absent agents, and of envs that begin anew, reach no env and change nothing, whatever they are."""
    played = []
    for nonsense in (0, 99):
        envs = ParallelVectorEnv([Candles] * 2, mode)
        told = [plain(envs.reset(seed=3))]
        idle, random = np.zeros(6, dtype=bool), np.random.default_rng(0)
        for _ in range(40):
            returned = envs.step(np.where(idle, nonsense, random.integers(0, 4, 6)))
            told.append(plain(returned))
            alive, ended = returned[4]["alive"], returned[2] | returned[3]
            idle = ~alive | (ended if mode == "NextStep" else ended & ~returned[4].get("_final_obs", np.zeros(6, bool)))
        played.append((told, [env.asked for env in envs.envs]))
    assert played[0] == played[1]


@pytest.mark.parametrize("mode", MODES[:2])
def test_nothing_that_was_returned_changes_later(mode):
    """Every call returns arrays of its own, over envs, too, that always write to the same ones."""
    envs = ParallelVectorEnv([Candles] * 2, mode)
    held = [envs.reset(seed=3)]
    before = [plain(held[0])]
    for _ in range(30):
        held.append(envs.step(np.ones(6, dtype=int)))
        before.append(plain(held[-1]))
    assert plain(held) == before


def lives(envs):
    """How long the agents of each env are to burn: what its seed decides."""
    return [list(env.left.values()) for env in envs.envs]


def alone(seed, resets=1):
    """The same of a single env, after some resets."""
    env = Candles()
    for reset in range(resets):
        env.reset(seed=None if reset else seed)
    return list(env.left.values())


def test_seeds():
    """Seed s gives env k the seed s + k, a list one to each, and None goes on with the stream that an env has."""
    envs = ParallelVectorEnv([Candles] * 3)
    for seed in (5, np.int64(5), [5, 6, 7], np.array([5, 6, 7])):
        envs.reset(seed=seed)
        assert lives(envs) == [alone(5), alone(6), alone(7)]
    envs.reset(seed=[30, None, 31])
    assert lives(envs) == [alone(30), alone(6, resets=2), alone(31)]
    envs.reset()
    assert lives(envs) == [alone(30, resets=2), alone(6, resets=3), alone(31, resets=2)]


def test_envs_without_a_seed_differ():
    """Without a seed, every env draws for itself."""
    envs = ParallelVectorEnv([lambda: Candles(names=list("abcdefghijkl"))] * 3)
    envs.reset()
    one, two, three = lives(envs)
    assert one != two != three != one


@pytest.mark.parametrize("mode", MODES)
def test_a_mask_resets_some_envs(mode):
    """The envs of the mask alone begin anew, with their seeds; the others' rows are as they were, without infos."""
    envs = ParallelVectorEnv([Candles] * 3, mode)
    first, _ = envs.reset(seed=5)
    mask = np.array([True] * 3 + [False] * 3 + [True] * 3)
    options = {"reset_mask": mask, "map": 3}
    before = lives(envs)
    seen, infos = envs.reset(seed=[40, 41, 42], options=options)
    assert lives(envs) == [alone(40), before[1], alone(42)]
    assert seen[3:6].tolist() == first[3:6].tolist() != seen[:3].tolist()
    assert infos["_alive"].tolist() == infos["_left"].tolist() == infos["alive"].tolist() == mask.tolist()
    assert infos["left"].tolist() == [*alone(40), 0, 0, 0, *alone(42)]
    assert [env.options for env in envs.envs] == [[None, {"map": 3}], [None], [None, {"map": 3}]]
    assert list(options) == ["reset_mask", "map"]


@pytest.mark.parametrize("mode", MODES)
def test_there_is_no_step_without_an_episode(mode):
    """Before every env has been reset, a step raises and moves nobody."""
    envs = ParallelVectorEnv([Candles] * 2, mode)
    with pytest.raises(ResetNeeded, match=r"envs \[0, 1\] have no episode, .*; call reset\(\)"):
        envs.step(np.zeros(6, dtype=int))
    envs.reset(seed=3, options={"reset_mask": np.arange(6) < 3})
    with pytest.raises(ResetNeeded, match=r"envs \[1\] have no episode"):
        envs.step(np.zeros(6, dtype=int))
    assert [env.asked for env in envs.envs] == [[], []]


def test_disabled_waits_for_a_reset():
    """In DISABLED mode, a step after the end of an env raises and moves nobody, and a reset of that env helps."""
    envs = ParallelVectorEnv([Candles] * 2, "Disabled")
    envs.reset(seed=3)
    while all(env.agents for env in envs.envs):
        envs.step(np.zeros(6, dtype=int))
    over = [k for k, env in enumerate(envs.envs) if not env.agents]
    asked = [len(env.asked) for env in envs.envs]
    with pytest.raises(ResetNeeded, match=rf"envs {re.escape(str(over))} have no episode, or one that is over"):
        envs.step(np.zeros(6, dtype=int))
    assert [len(env.asked) for env in envs.envs] == asked
    envs.reset(options={"reset_mask": np.repeat([k in over for k in range(2)], 3)})
    envs.step(np.zeros(6, dtype=int))
    assert [len(env.asked) for env in envs.envs] == [one + 1 for one in asked]


BAD_CALLS = [
    ({"seed": -1}, ValueError, "seed is -1; expected an integer of at least 0"),
    ({"seed": True}, TypeError, "seed is True of type bool"),
    ({"seed": 1.5}, TypeError, "seed is 1.5 of type float"),
    ({"seed": [1]}, ValueError, "there are 1 seeds; expected one for each of 2 envs"),
    ({"seed": [1, 2.5]}, TypeError, "a seed is 2.5 of type float"),
    ({"seed": "ab"}, TypeError, "a seed is 'a' of type str"),
    ({"options": {"reset_mask": [True] * 6}}, TypeError, "reset_mask'] is [True, .*; expected a boolean array (6,)"),
    ({"options": {"reset_mask": np.ones(6)}}, TypeError, "reset_mask'] is array([1"),
    ({"options": {"reset_mask": np.ones(2, bool)}}, ValueError, "reset_mask'] is [ True  True]; expected a boolean"),
    ({"options": {"reset_mask": np.ones((2, 3), bool)}}, ValueError, "expected a boolean array (6,)"),
    ({"options": {"reset_mask": np.zeros(6, bool)}}, ValueError, "with at least one True"),
    ({"options": {"reset_mask": np.arange(6) < 4}}, ValueError, "equal over each env's rows"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS, ids=lambda value: str(value)[:60])
def test_bad_arguments_of_reset_change_nothing(call, error, message):
    """A bad seed or mask is an error that says what came and what was expected, before any env is reset."""
    envs = ParallelVectorEnv([Candles] * 2)
    envs.reset(seed=3)
    envs.step(np.zeros(6, dtype=int))
    before = lives(envs)
    pattern = ".*".join(map(re.escape, message.split(".*")))
    with pytest.raises(error, match=pattern):
        envs.reset(**call)
    assert lives(envs) == before
    assert [len(env.options) for env in envs.envs] == [1, 1]


@pytest.mark.parametrize("number", [0, 5, 7, 12])
def test_there_is_an_action_for_each_row(number):
    """Too few actions, or too many, are an error with both numbers, before any env moves."""
    envs = ParallelVectorEnv([Candles] * 2)
    envs.reset(seed=3)
    with pytest.raises(ValueError, match=f"there are {number} actions; expected 6, one for each row"):
        envs.step(np.zeros(number, dtype=int))
    assert [env.asked for env in envs.envs] == [[], []]


class Unlike(Candles):
    """One of them sees more than the others."""

    def observation_space(self, agent):
        """A larger space for the last one."""
        return Box(-9, 9, (5,)) if agent == "cow" else super().observation_space(agent)


ONE = Candles()
BAD_ENVS = [
    ([], ValueError, "made no env, or one twice; expected functions that each make a new one"),
    ([lambda: ONE, lambda: ONE], ValueError, "made no env, or one twice"),
    (
        [Candles, rps.env],
        TypeError,
        "made ['OrderEnforcingWrapper']; expected PettingZoo ParallelEnvs, as aec_to_parallel",
    ),
    ([lambda: Alone(Candles(names=["bee"]))], TypeError, "made ['Alone']; expected PettingZoo ParallelEnvs"),
    (
        [Candles, lambda: Candles(names=["ant", "cow"])],
        ValueError,
        "possible_agents [['ant', 'bee', 'cow'], ['ant', 'cow']]",
    ),
    ([Unlike], ValueError, "all agents need the spaces of ant, (Box(-9.0, 9.0, (2, 2), float32), Discrete(4)); pad"),
    ([Unlike], ValueError, "pad those of {'cow (row 2)': (Box(-9.0, 9.0, (5,), float32), Discrete(4))}"),
    ([Candles, Unlike], ValueError, "pad those of {'cow (row 5)': "),
    ([Candles, lambda: Candles(actions="box")], ValueError, "pad those of {'ant (row 3)': "),
]


@pytest.mark.parametrize(("env_fns", "error", "message"), BAD_ENVS, ids=map(str, range(len(BAD_ENVS))))
def test_envs_that_do_not_fit_together(env_fns, error, message):
    """Factories of no ParallelEnv, of one env twice, or of agents with unequal names or spaces are clear errors."""
    with pytest.raises(error, match=re.escape(message)):
        ParallelVectorEnv(env_fns)


def test_an_unknown_mode_is_refused():
    """There are three autoreset modes, as members or as their values."""
    assert ParallelVectorEnv([Candles]).autoreset_mode is AutoresetMode.NEXT_STEP
    assert ParallelVectorEnv([Candles], AutoresetMode.SAME_STEP).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ValueError, match="'Never' is not a valid AutoresetMode"):
        ParallelVectorEnv([Candles], "Never")


class Mirror(ParallelEnv):
    """Two agents see samples of any space, and act in it; the second leaves after one step."""

    def __init__(self, space):
        self.possible_agents, self.space = ["left", "right"], space

    def observation_space(self, agent):
        """The space."""
        return self.space

    action_space = observation_space

    def reset(self, seed=None, options=None):
        """Both are there."""
        self.space.seed(seed)
        self.agents = list(self.possible_agents)
        self.shown = {agent: self.space.sample() for agent in self.agents}
        return self.shown, {agent: {} for agent in self.agents}

    def step(self, actions):
        """Only the first stays."""
        self.asked, there = actions, self.agents
        self.shown, self.agents = {agent: self.space.sample() for agent in there}, ["left"]
        return self.shown, *(dict.fromkeys(there, one) for one in (0, False, False)), {agent: {} for agent in there}


SPACES = [
    Discrete(5),
    MultiDiscrete([3, 4]),
    MultiBinary(3),
    Box(-5, 5, (2, 1), np.int64),
    Box(0, 1, ()),
    Tuple((Discrete(3), Box(0, 1, (2,)))),
    Dict(near=Discrete(3), far=Dict(left=MultiBinary(2), right=Tuple((Box(0, 1, (2, 2)), Discrete(2))))),
    Text(4, charset="ab"),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_any_space_is_batched(space):
    """Rows of any Gymnasium space are batched as Gymnasium batches them, and actions come back out of a batch."""
    envs = ParallelVectorEnv([lambda: Mirror(copy.deepcopy(space))] * 2)
    seen, _ = envs.reset(seed=8)
    for step in range(3):
        rows = plain(list(iterate(envs.observation_space, seen)))
        for k, env in enumerate(envs.envs):
            assert rows[2 * k] == plain(env.shown["left"])
            if step < 2:
                assert rows[2 * k + 1] == plain(env.shown["right"])
            else:
                assert rows[2 * k + 1] == plain(next(iterate(envs.observation_space, create_empty_array(space, 1))))
        assert envs.observation_space.contains(seen)
        actions = envs.action_space.sample()
        seen, *_ = envs.step(actions)
        chosen = plain(list(iterate(envs.action_space, actions)))
        for k, env in enumerate(envs.envs):
            there = (
                dict(zip(["left", "right"], chosen[2 * k :], strict=False)) if step == 0 else {"left": chosen[2 * k]}
            )
            assert plain(env.asked) == there


def test_gymnasium_counts_each_row():
    """Gymnasium's RecordEpisodeStatistics sums the rewards of each row up to its end."""
    envs = RecordEpisodeStatistics(ParallelVectorEnv([Candles] * 2))
    envs.reset(seed=3)
    random, paid, told = np.random.default_rng(0), np.zeros(6), 0
    for _ in range(60):
        _, rewards, ended, cut, infos = envs.step(random.integers(0, 4, 6))
        paid += rewards
        for row in np.flatnonzero(ended | cut):
            assert infos["episode"]["r"][row] == paid[row]
            told, paid[row] = told + (paid[row] > 0), 0
    assert told > 20


@pytest.mark.parametrize("mode", MODES[:2])
def test_gymnasium_lists_the_infos_of_each_row(mode):
    """Gymnasium's DictInfoToList makes a dict of each row's infos."""
    envs = DictInfoToList(ParallelVectorEnv([Candles] * 2, mode))
    envs.reset(seed=3)
    finals = 0
    for _ in range(40):
        *_, infos = envs.step(np.ones(6, dtype=int))
        for name, info in zip(NAMES * 2, infos, strict=True):
            for one in [info, info["final_info"]] if "final_info" in info else [info]:
                assert one["name"] == name if one["alive"] else "name" not in one
            finals += "final_info" in info
    assert (finals > 20) == (mode == "SameStep")


def test_every_row_has_the_frame_of_its_env():
    """render() gives a frame a row, and the render mode is that of the envs."""
    envs = ParallelVectorEnv([lambda: Candles(render_mode="rgb_array")] * 2)
    envs.reset(seed=3)
    assert (envs.render_mode, ParallelVectorEnv([Candles]).render_mode) == ("rgb_array", None)
    assert envs.metadata["render_modes"] == ["rgb_array"]
    assert [frame[0, 0, 0] for frame in envs.render()] == [sum(alone(seed)) for seed in (3, 3, 3, 4, 4, 4)]


def test_closing_closes_every_env_once():
    """close() may be called again."""
    envs = ParallelVectorEnv([Candles] * 2)
    envs.close()
    envs.close()
    assert [env.closed for env in envs.envs] == [1, 1]


def test_it_knows_nothing_of_grids():
    """It is made for any ParallelEnv: of this package, it imports the checks of arguments alone."""
    nodes = ast.walk(ast.parse(Path(parallel_vector.__file__).read_text()))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.split(".")[0] == "multigrid"} == {"multigrid._checks"}
