"""The PettingZoo face: the official suites, one game under every face, determinism, fresh objects, clear errors."""

from __future__ import annotations

import math
import re
import types
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.max_cycles_test import max_cycles_test
from pettingzoo.test.state_test import state_test

from faces import WALLS, Parallel, refused
from helpers import frozen
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv, env, parallel_env
from multigrid.testing import check_env

ON_TARGET = ["park", "leave", "stay", "restart"]
MODES = [*({"on_target": mode} for mode in ON_TARGET), {"flatten": True}, {"allow_stay": True, "num_agents": 5}]
MODES += [{"num_agents": (2, 5), "flatten": True, "on_target": rule} for rule in ON_TARGET]
LAYOUT = {"agents": [[0, 0], [0, 3], [3, 0]], "targets": [[1, 0], [6, 3], [0, 1]]}
PLAYER = Parallel("")  # plays any ParallelEnv


def some_env(**settings: Any) -> MultiGridEnv:
    """A world that is neither square nor symmetric."""
    return parallel_env(**{"walls": WALLS, "num_agents": 3, "max_cycles": 40, **settings})


def actions_of(env: MultiGridEnv, random: np.random.Generator) -> dict[str, int]:
    """Return a random action for each agent that is there."""
    return PLAYER.joint(env, lambda: int(random.integers(env.config.num_actions)))  # type: ignore[no-any-return]


# PettingZoo expects an image or a vector, and a Dict is neither; negative are the states of agents that have left.
@pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy", "ignore:Observation space for", "ignore:The state cont"
)
@pytest.mark.parametrize("settings", MODES, ids=str)
def test_checks_for_authors_and_pettingzoos_own(settings: dict[str, Any]) -> None:
    """The package's checks of a ParallelEnv pass, and PettingZoo's of the AEC env and of states."""
    check_env(some_env(**settings))
    settings = {"num_agents": 3, "size": (5, 3), "max_cycles": 40, **settings}
    api_test(env(**settings), num_cycles=60)
    seed_test(lambda: env(**settings), num_cycles=50)
    state_test(env(**settings), parallel_env(**settings))


@pytest.mark.parametrize(
    "mode", ["leave", *(pytest.param(one, marks=pytest.mark.long) for one in ("park", "stay", "restart"))]
)
def test_rendering_api(mode: str) -> None:
    """PettingZoo's own render test passes, window and arrays; without a mode render() says which modes there are."""
    render_test(lambda render_mode: env(num_agents=2, size=(5, 3), on_target=mode, render_mode=render_mode))
    with pytest.warns(UserWarning, match="render_mode='rgb_array' or 'human'"):
        assert some_env(on_target=mode).render() is None


def test_max_cycles_api() -> None:
    """PettingZoo's own limit test passes; under restart, so that no episode can end before the limit."""
    always = {"on_target": "restart"}
    module = types.SimpleNamespace(env=partial(env, **always), parallel_env=partial(parallel_env, **always))
    max_cycles_test(module)


@pytest.mark.parametrize("mode", ["park", "leave", "stay"])
def test_one_agent_is_the_documented_env(mode: str) -> None:
    """With one agent the ParallelEnv plays the episodes of the Gymnasium env, resets included."""
    one, many = GridWorldEnv(size=4), parallel_env(size=4, num_agents=1, on_target=mode, max_cycles=None)
    random = np.random.default_rng(0)
    for k in range(20):
        alone = one.reset(seed=17 if k == 0 else None)
        returned = [by_agent["agent_0"] for by_agent in many.reset(seed=17 if k == 0 else None)]
        while True:
            (seen, *rest, info), (other_seen, *other_rest, other_info) = alone, returned
            assert frozen(other_seen) == frozen(seen)
            assert (other_rest, other_info["distance"]) == (rest, info["distance"])
            if not many.agents:
                break
            action = int(random.integers(4))
            alone, returned = one.step(action), [by["agent_0"] for by in many.step({"agent_0": action})]
        assert alone[2] is True


@pytest.mark.parametrize("mode", ["park", "leave"])
def test_lists_of_agents_are_never_shared(mode: str) -> None:
    """`agents` is neither `possible_agents` nor a list of another episode, and none changes after it was handed out."""
    one, random = some_env(on_target=mode), np.random.default_rng(0)
    everyone = list(one.possible_agents)
    kept = [(one.possible_agents, everyone), (one.agents, [])]
    for seed in (1, 2):
        one.reset(seed=seed)
        state = one.get_state()
        while one.agents:
            kept.append((one.agents, list(one.agents)))
            one.step(actions_of(one, random))
        one.set_state(state)
        kept.append((one.agents, everyone))
    assert all(earlier == content for earlier, content in kept)
    assert len({id(earlier) for earlier, _ in kept}) == len(kept)
    one.agents.clear()
    one.agents.append("agent_9")
    assert one.agents == one.possible_agents == everyone
    one.reset()
    assert one.agents == one.possible_agents == everyone


def test_spaces_are_exact_and_the_same_object() -> None:
    """The spaces say what is observed, to the bound and the dtype, and each call returns the same one."""
    observe = ("others", "agent", "view", "offset", "walls", "action_mask")
    one = parallel_env(size=(6, 4), num_agents=3, observe=observe, view_radius=1)
    expected = {
        "others": Box(np.full((2, 2), -1), np.array([[5, 3]] * 2), dtype=np.int64),
        "agent": Box(np.zeros(2, np.int64), np.array([5, 3]), dtype=np.int64),
        "view": Box(0, 1, (3, 3, 3), np.uint8),
        "offset": Box(np.array([-5, -3]), np.array([5, 3]), dtype=np.int64),
        "walls": Box(0, 1, (6, 4), np.uint8),
        "action_mask": Box(0, 1, (4,), np.int8),
    }
    assert list(one.reset(seed=0)[0]["agent_1"]) == list(one.observation_space("agent_1")) == list(expected)
    assert (one.observation_space("agent_1"), one.action_space("agent_1")) == (Dict(expected), Discrete(4))
    assert parallel_env(allow_stay=True).action_space("agent_0") == Discrete(5)
    for agent in one.possible_agents:
        assert one.observation_space(agent) is one.observation_space(agent) is one.observation_spaces[agent]
        assert one.action_space(agent) is one.action_space(agent) is one.action_spaces[agent]
    flat = parallel_env(size=(6, 4), num_agents=2, flatten=True).observation_space("agent_0")
    assert flat == Box(np.array([0, 0, 0, 0, -1, -1], np.float32), np.ones(6, np.float32), dtype=np.float32)
    assert one.state_space == Box(np.full((3, 4), -1), np.array([[5, 3, 5, 3]] * 3), dtype=np.int64)


def test_skrl_and_others_recognise_the_class() -> None:
    """The public class is a direct subclass of ParallelEnv, which some libraries look for, with its metadata."""
    assert pettingzoo.ParallelEnv in MultiGridEnv.__bases__
    assert MultiGridEnv.metadata["render_fps"] == 4
    assert MultiGridEnv.metadata["name"] == "multigrid_v0"
    assert parallel_env().render_mode is None


@pytest.mark.parametrize("kind", ["parallel", "aec"])
def test_pettingzoo_makes_it(kind: str) -> None:
    """pettingzoo.make, where PettingZoo has it, finds the registered id and hands the options on."""
    assert hasattr(pettingzoo, "make") == (tuple(map(int, version("pettingzoo").split(".")[:2])) >= (1, 27))
    if hasattr(pettingzoo, "make"):
        made = pettingzoo.make(kind, "multigrid/MultiGrid-v0", num_agents=4, max_cycles=7)
        assert (made.possible_agents, made.unwrapped.max_cycles) == ([f"agent_{i}" for i in range(4)], 7)


def test_step_after_the_end() -> None:
    """A finished env answers five new empty dicts, whatever it is given."""
    one = some_env(max_cycles=1)
    one.reset(seed=0)
    one.step(dict.fromkeys(one.agents, 0))
    given: Any
    for given in ({}, {"agent_0": 0}, {"agent_0": 99}, {"nobody": 99}, None, [7], 3.5):
        returned = one.step(given)
        assert returned == ({}, {}, {}, {}, {})
        assert len({id(part) for part in (*returned, *one.step(given))}) == 10


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_bad_actions_are_refused(on_target: str, steps: int) -> None:
    """A bad action is an error that names the agent, also after one has parked or left, and nobody has moved."""
    one = some_env(on_target=on_target)
    one.reset(seed=2, options=LAYOUT)
    for _ in range(steps):
        one.step({"agent_0": 0, "agent_1": 3, "agent_2": 1})
    agents, first, good = one.agents, one.agents[0], dict.fromkeys(one.agents, 1)
    assert first == ("agent_1" if steps and on_target == "leave" else "agent_0")
    cases: list[tuple[Any, Any, str]] = [
        ({agent: 1 for agent in agents if agent != "agent_1"}, ValueError, r"actions lack \['agent_1'\]"),
        ({**dict.fromkeys(one.possible_agents, 1), "agent_9": 1}, ValueError, r"unknown \['agent_9'\]"),
        ({**good, first: 9, "agent_2": "x"}, ValueError, f"action for {first} is 9"),
        *((wrong, ValueError, f"actions lack {re.escape(str(agents))}") for wrong in ({}, {0: 0, 1: 0, 2: 0})),
        (np.zeros(3, int), TypeError, "actions are of type ndarray; expected a dict"),
        *((wrong, TypeError, f"are of type {type(wrong).__name__}; expected a dict") for wrong in (3, None, [0, 0, 0])),
    ]
    for agent in (first, "agent_2"):
        for bad, error, complaint in ((4, ValueError, "4; .* allow_stay=True"), (0.0, TypeError, "0.0 of type float")):
            cases.append(({**good, agent: bad}, error, f"action for {agent} is {complaint}"))
    state = one.get_state()
    for actions, error, complaint in cases:
        one.set_state(state)
        with refused(PLAYER, one, error, complaint):
            one.step(actions)


def test_actions_of_departed_agents_are_not_examined() -> None:
    """Whatever an agent that has left is given, the others play on as if it had been given nothing."""
    for departed in ("anything", None, 99, -1, 10**30, math.nan):
        one, other = some_env(on_target="leave"), some_env(on_target="leave")
        for each in (one, other):
            each.reset(seed=0, options=LAYOUT)
            each.step({"agent_0": 0, "agent_1": 3, "agent_2": 1})
        assert one.agents == ["agent_1", "agent_2"]
        random = np.random.default_rng(0)
        while other.agents:
            actions = actions_of(other, random)
            gone: Any = {agent: departed for agent in one.possible_agents if agent not in one.agents}
            assert frozen(one.step({**gone, **actions})) == frozen(other.step(actions))


@pytest.mark.parametrize("settings", [{"on_target": "leave"}, {"flatten": True}, {"observe": "rgb"}])
def test_a_restored_state_can_be_observed(settings: dict[str, Any]) -> None:
    """`observe_all` returns the last observations and infos, also of agents that have just left, and of a state."""
    config = GridConfig(size=(6, 4), num_agents=4, allow_stay=True, max_cycles=30, **settings)
    env, other = MultiGridEnv(config), MultiGridEnv(config)
    with pytest.raises(ResetNeeded):
        env.observe_all()
    other.reset(seed=9)
    shown, random = env.reset(seed=1), np.random.default_rng(3)
    while env.agents:
        before = env.get_state()
        other.set_state(before)
        for seen in (env.observe_all(), other.observe_all()):
            np.testing.assert_equal(seen, shown)
        np.testing.assert_equal(env.get_state(), before)
        results = env.step({agent: int(random.integers(5)) for agent in env.agents})
        shown = results[0], results[4]
    np.testing.assert_equal(env.observe_all(), shown)


def test_the_limit_can_be_set_in_mid_episode() -> None:
    """max_cycles takes effect at once, None for never included."""
    one = some_env(on_target="restart", max_cycles=5)
    one.reset(seed=0)
    one.max_cycles = 2**63 - 1
    assert not any(one.step(dict.fromkeys(one.agents, 0))[3].values())
    one.max_cycles = None
    for _ in range(49):
        one.step(dict.fromkeys(one.agents, 0))
    assert one.max_cycles is None
    one.max_cycles = 51
    assert all(one.step(dict.fromkeys(one.agents, 0))[3].values())
    assert one.agents == []
    one.reset(seed=0)
    one.step(dict.fromkeys(one.agents, 0))
    one.max_cycles = np.int64(1)  # passed already: the next step is the last
    assert all(one.step(dict.fromkeys(one.agents, 0))[3].values())
    assert one.config.max_cycles == 5


def test_a_bad_limit_changes_nothing() -> None:
    """max_cycles set on an env is checked as the one of a GridConfig is, with the same words."""
    one = some_env()
    one.reset(seed=0)
    limit: Any
    for limit in (0, -1, -7, 2**63, 10**30, 2.5, True, "7", math.nan, [3]):
        error = ValueError if type(limit) is int else TypeError
        complaint = rf"max_cycles is {'1000' if limit == 10**30 else re.escape(repr(limit))}.*; expected"
        with pytest.raises(error, match=complaint):
            GridConfig(max_cycles=limit)
        with refused(PLAYER, one, error, complaint):
            one.max_cycles = limit
