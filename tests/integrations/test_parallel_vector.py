"""The vector env of any ParallelEnv: its rows are what the envs tell, agents that leave and autoresets included."""

import ast
import copy
import re
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
from helpers import same
from multigrid.integrations import parallel_vector
from multigrid.integrations.parallel_vector import ParallelVectorEnv
from single_envs import SingleEnvs, listed, play_alike

MODES = ["NextStep", "SameStep", "Disabled"]
NAMES = ["ant", "bee", "cow"]
LIMIT = 4
ACTIONS = {"discrete": Discrete(4), "box": Box(-1, 1, (2, 1)), "dict": Dict(walk=Discrete(4), turn=Box(-1, 1))}


class Candles(ParallelEnv):
    """Three agents, each of which burns for a few drawn steps and leaves; with `late`, the last comes in step 2.

    It treats its caller as badly as envs do: every observation is written to the same array, and only those who are
    there stand in the dicts; with `chatty`, the others too, and with `flagless`, nobody's flags say that it is over. It
    keeps what it was asked, and which options it got.
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
        self.asked.append({agent: listed(action) for agent, action in actions.items()})
        paid = {agent: self.possible_agents.index(agent) + 10 * self.worth(actions[agent]) for agent in self.agents}
        there = list(self.agents)
        for agent in there:
            self.left[agent] -= 1
        ended = {agent: self.left[agent] == 0 and not self.flagless for agent in there}
        cut = dict.fromkeys(there, self.clock == LIMIT and not self.flagless)
        self.agents = [agent for agent in there if self.left[agent] > 0 and self.clock < LIMIT]
        if self.late and self.clock == 2 and self.agents:
            self.agents.append(self.possible_agents[-1])
        named = [agent for agent in self.possible_agents if self.chatty or agent in {*there, *self.agents}]
        for agent in set(named).difference(there):
            paid[agent], ended[agent], cut[agent] = 5, True, True
        return self.seen(named), paid, ended, cut, {agent: self.info(agent) for agent in named}

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


def sampled(envs, singles, random):
    """Return a sampled action for each row."""
    envs.action_space.seed(int(random.integers(1000)))
    return envs.action_space.sample()


def play_as_one_by_one(make, mode, steps, **keywords):
    """Play two envs as a vector env and one by one, compare all rows, and return how often they ended, and how."""
    singles = SingleEnvs([make() for _ in range(2)], mode, native=False)
    envs = ParallelVectorEnv([make] * 2, mode)
    seen = play_alike(envs, singles, [11, 12], steps, **keywords)
    assert [getattr(env, "asked", None) for env in envs.envs] == [getattr(env, "asked", None) for env in singles.envs]
    return seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "settings",
    [{}, {"actions": "box", "chatty": True}, {"actions": "dict", "late": True}, {"chatty": True}, {"flagless": True}],
    ids=str,
)
def test_rows_are_those_of_the_envs(settings, mode):
    """Each row is what its env returns for its agent; that of an absent one is zeros, and its action goes nowhere."""
    keywords = {"act": sampled} if "actions" in settings else {}
    seen = play_as_one_by_one(lambda: Candles(**settings), mode, 120, **keywords)
    names = {"dead", "dead at the end", "truncated"} | ({"terminated"} if "flagless" not in settings else set())
    assert all(seen[name] > 10 for name in names), seen


def walk(envs, singles, random):
    """Return actions for knights and archers that walk off the field now and then."""
    return np.where(random.random(envs.num_envs) < 0.6, 0, random.integers(0, 6, envs.num_envs))


def test_agents_of_a_foreign_env_die_one_by_one():
    """PettingZoo's Knights Archers Zombies, an AEC env made parallel, is played as by hand, deaths included."""

    def make():
        return knights_archers_zombies.parallel_env(line_death=True, max_cycles=55)

    seen = play_as_one_by_one(make, "NextStep", 115, act=walk, resets=False)
    assert min(seen[name] for name in ("terminated", "dead", "truncated", "dead at the end")) > 1, seen


@pytest.mark.parametrize("mode", MODES)
def test_an_aec_env_made_parallel_is_played(mode):
    """What `aec_to_parallel` makes is a ParallelEnv like any other: rock, paper, scissors, for one."""
    seen = play_as_one_by_one(lambda: aec_to_parallel(rps.env(max_cycles=3)), mode, 12)
    assert seen["truncated"] > 8


WORLDS = [
    {"size": (4, 3), "num_agents": 3, "max_cycles": 16},
    {"size": (3, 5), "num_agents": 4, "max_cycles": 9, "flatten": True, "reward": "shared", "collisions": "priority"},
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("world", WORLDS, ids=["dict", "flat"])
@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_it_plays_what_the_native_vector_env_plays(on_target, world, mode):
    """Over MultiGridEnvs, rows are theirs, as those of MultiGridVectorEnv are (test_vector.py), in the same spaces."""
    config = multigrid.GridConfig(on_target=on_target, **world)
    native = multigrid.MultiGridVectorEnv(config, 3, autoreset_mode=mode)
    envs = ParallelVectorEnv([lambda: multigrid.MultiGridEnv(config)] * 3, mode)
    names = "num_envs", "single_observation_space", "single_action_space", "observation_space", "action_space"
    assert [getattr(envs, name) for name in names] == [getattr(native, name) for name in names]
    assert envs.metadata["autoreset_mode"] is native.metadata["autoreset_mode"] is AutoresetMode(mode)
    seen = play_as_one_by_one(lambda: multigrid.MultiGridEnv(config), mode, 120)
    assert seen["ends"] > 8
    assert (seen["dead"] > 8) == (on_target == "leave")


class Alone(gymnasium.Env):
    """A ParallelEnv of one agent, as a Gymnasium env, for Gymnasium's own vector env."""

    def __init__(self, env):
        self.env, (self.agent,) = env, env.possible_agents
        self.observation_space, self.action_space = env.observation_space(self.agent), env.action_space(self.agent)

    def reset(self, *, seed=None, options=None):
        """Reset."""
        seen, infos = self.env.reset(seed=seed, options=options)
        return seen[self.agent].copy(), infos[self.agent]

    def step(self, action):
        """Step."""
        observation, *rest = (one[self.agent] for one in self.env.step({self.agent: action}))
        return observation.copy(), *rest


@pytest.mark.parametrize("mode", MODES)
def test_one_agent_is_what_gymnasium_makes_of_it(mode):
    """Envs of one agent return what Gymnasium's SyncVectorEnv does, infos and their masks included; `alive` is ours."""
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
        last = returned[-1]
        for infos in (last, last.get("final_info", {})):
            alive = infos.pop("alive", True), infos.pop("_alive", True)
            assert np.array_equal(*alive) or infos is not last
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


def lives(envs):
    """How long the agents of each env are to burn: what its seed decides."""
    return [list(env.left.values()) for env in envs.envs]


def alone(seed):
    """Return the same of a single env."""
    env = Candles()
    env.reset(seed=seed)
    return list(env.left.values())


def test_seeds():
    """Seed s gives env k the seed s + k, a list or an array one to each."""
    envs = ParallelVectorEnv([Candles] * 3)
    for seed in (5, np.int64(5), [5, 6, 7], np.array([5, 6, 7])):
        envs.reset(seed=seed)
        assert lives(envs) == [alone(5), alone(6), alone(7)]


def test_envs_without_a_seed_differ():
    """Without a seed, every env draws for itself."""
    envs = ParallelVectorEnv([lambda: Candles(names=list("abcdefghijkl"))] * 3)
    envs.reset()
    one, two, three = lives(envs)
    assert one != two != three != one


def test_options_are_those_of_the_envs_that_are_reset():
    """The envs of the mask get the other options, in a dict of their own; the rest get nothing."""
    envs = ParallelVectorEnv([Candles] * 3)
    envs.reset(seed=5)
    options = {"reset_mask": np.array([True] * 3 + [False] * 3 + [True] * 3), "map": 3}
    envs.reset(options=options)
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
    ({"seed": [1, 2.5]}, TypeError, "seed is 2.5 of type float"),
    ({"seed": "ab"}, TypeError, "seed is 'a' of type str"),
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
        rows = listed(list(iterate(envs.observation_space, seen)))
        for k, env in enumerate(envs.envs):
            assert rows[2 * k] == listed(env.shown["left"])
            if step < 2:
                assert rows[2 * k + 1] == listed(env.shown["right"])
            else:
                assert rows[2 * k + 1] == listed(next(iterate(envs.observation_space, create_empty_array(space, 1))))
        assert envs.observation_space.contains(seen)
        actions = envs.action_space.sample()
        seen, *_ = envs.step(actions)
        chosen = listed(list(iterate(envs.action_space, actions)))
        for k, env in enumerate(envs.envs):
            there = (
                dict(zip(["left", "right"], chosen[2 * k :], strict=False)) if step == 0 else {"left": chosen[2 * k]}
            )
            assert listed(env.asked) == there


def test_gymnasium_counts_each_row():
    """Gymnasium's RecordEpisodeStatistics sums the rewards of each row up to its end."""
    envs = RecordEpisodeStatistics(ParallelVectorEnv([Candles] * 2))
    envs.reset(seed=3)
    random, paid, count = np.random.default_rng(0), np.zeros(6), 0
    for _ in range(60):
        _, rewards, ended, cut, infos = envs.step(random.integers(0, 4, 6))
        paid += rewards
        for row in np.flatnonzero(ended | cut):
            assert infos["episode"]["r"][row] == paid[row]
            count, paid[row] = count + (paid[row] > 0), 0
    assert count > 20


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
