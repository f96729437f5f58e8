"""The AEC env: equal to PettingZoo's conversion, wrong calls, states in which a cycle begins, and metrics."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.utils import OrderEnforcingWrapper
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec
from pettingzoo.utils.wrappers import CaptureStdoutWrapper

import multigrid
from faces import MASKED, WALLS
from helpers import frozen

RULES = ("park", "leave", "stay", "restart")
SETTINGS = [*({"on_target": rule} for rule in RULES), {**MASKED, "on_target": "leave", "reward": "shared"}]


def some_env(**settings: Any) -> Any:
    """Return an AEC env on a map that is neither square nor symmetric."""
    return multigrid.env(**{"walls": WALLS, "num_agents": 3, "max_cycles": 14, **settings})


def shown(env: Any) -> Any:
    """Return all that an AEC env shows; numbers compare by value, for PettingZoo resets rewards to the int 0."""
    by_agent = [env.rewards, env._cumulative_rewards, env.terminations, env.truncations]
    seen = {agent: env.observe(agent) for agent in env.agents}
    rest = [seen, env.infos, env.unwrapped.state(), env.unwrapped.metrics(), env.unwrapped.agents]
    return [env.agents, env.agent_selection, by_agent, frozen(rest)]


def last(env: Any) -> Any:
    """Return what the selected agent gets, with its observation in a form that compares."""
    seen, *rest = env.last()
    return frozen(seen), *rest


def cycle(env: Any, random: np.random.Generator) -> list[Any]:
    """Play a turn of every agent, with the last ones of agents that have ended; return what each agent gets."""
    returned = []
    for _ in range(len(env.agents)):
        _, _, terminated, truncated, _ = got = last(env)
        returned.append((env.agent_selection, *got))
        env.step(None if terminated or truncated else int(random.integers(4)))
    return returned


def episode(env: Any, seed: int) -> list[Any]:
    """Play on to the end of the episode."""
    random, returned = np.random.default_rng(seed), []
    while env.agents:
        returned.append(cycle(env, random))
    return returned


WRONG = [7, -1, 4, 2**70, None, "x", True, 1.0, [1], {}, np.array([0, 1]), np.True_]
WRONG_OF_ENDED = [value for value in (0, *WRONG, np.array([None])) if value is not None]


def played(rule: str, *, mistakes: bool) -> list[Any]:
    """Play an episode, with every wrong action in every turn or none, each refused; return what is shown."""
    env, random, results = some_env(on_target=rule), np.random.default_rng(6), []
    env.reset(seed=5)
    while env.agents:
        agent, has_ended = env.agent_selection, any(env.last()[2:4])
        expected = f"None, since {agent} has t" if has_ended else "an integer from 0 to 3"
        for action in (WRONG_OF_ENDED if has_ended else WRONG) if mistakes else ():
            with pytest.raises((TypeError, ValueError), match=rf"action for {agent} is .*; expected {expected}"):
                env.step(action)
        results.append(shown(env))
        env.step(None if has_ended else int(random.integers(4)))
    results.append(frozen(env.get_state()))
    return results


@pytest.mark.parametrize("rule", RULES)
def test_a_wrong_action_is_refused_in_its_turn_and_changes_nothing(rule: str) -> None:
    """Each error names the selected agent and what was expected, and the episode is that of a twin without mistakes."""
    assert played(rule, mistakes=True) == played(rule, mistakes=False)


def test_turns_before_a_reset_and_after_the_end() -> None:
    """Without an episode, or after its end, no agent has a turn; the error says to reset, and the env is unchanged."""
    env, twin = some_env(on_target="leave"), some_env(on_target="leave")
    calls = [lambda: env.step(0), lambda: env.step(None), env.last, lambda: env.last(observe=False)]
    for call in (*calls, env.state, env.get_state, env.metrics, lambda: env.observe("agent_0")):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    with pytest.raises(ValueError, match="seed is -1"):
        env.reset(seed=-1)
    for name in ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "num_agents"):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)
    for seed in (1, None):
        for one in (env, twin):
            one.reset(seed=seed)
        assert episode(env, 1) == episode(twin, 1)
        for call in calls:
            with pytest.raises(ResetNeeded, match=r"the episode is over, .* call reset\(\) first"):
                call()
        assert shown(env) == shown(twin)


def test_an_unknown_agent() -> None:
    """A name that no agent has is a KeyError with that name and, shortened, those that exist."""
    env, parallel = multigrid.env(size=9, num_agents=30), multigrid.parallel_env(size=9, num_agents=30)
    env.reset()
    spaces = [env.observation_space, env.action_space, parallel.observation_space, parallel.action_space]
    name: Any
    for name, call in itertools.product(("agent_30", 0, None, ["agent_0"]), (*spaces, env.observe)):
        with pytest.raises(KeyError) as caught:
            call(name)
        message = rf"agent is {re.escape(repr(name))}; expected one of \['agent_0', 'agent_1', .*'agent_15', \.\.\.\]"
        assert re.fullmatch(message, caught.value.args[0])
    assert all(call("agent_29") is call("agent_29") for call in spaces)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_equal_to_pettingzoos_conversion(settings: dict[str, Any]) -> None:
    """In every turn all is shown that PettingZoo's own `parallel_to_aec` shows, copies of the env included."""
    env = some_env(**settings)
    own: Any = OrderEnforcingWrapper(parallel_to_aec(multigrid.parallel_env(env.unwrapped.config)))
    copies = (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one)
    random = np.random.default_rng(2)
    for seed in range(4):
        env.reset(seed=seed)
        own.reset(seed=seed)
        while own.agents:
            assert (shown(env), last(env)) == (shown(own), last(own))
            assert env.last(observe=False) == own.last(observe=False)
            action = None if any(own.last(observe=False)[2:4]) else int(random.integers(4))
            env.step(action)
            own.step(action)
            env = copies[random.integers(4)](env)
        assert shown(env) == shown(own)


def test_a_cycle_begins_with_what_the_world_does_without_it() -> None:
    """After a reset, a step or a state of the MultiGridEnv itself, the AECEnv shows it, and a cycle begins."""
    env, other = some_env(), some_env()
    for one in (env, other):
        one.reset(seed=1)
    world, state = env.unwrapped, env.get_state()
    for act in (
        lambda: world.reset(seed=3),
        lambda: world.step(dict.fromkeys(world.agents, 1)),
        lambda: world.set_state(state),
    ):
        env.step(2)
        act()
        other.set_state(world.get_state())
        assert shown(env) == shown(other)
    assert episode(env, 1) == episode(other, 1)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_all_that_is_shown_follows_a_state(settings: dict[str, Any]) -> None:
    """A state brings back agents, selection, observations, rewards, flags and infos, and the play that follows."""
    env, fresh, used = some_env(**settings), some_env(**settings), some_env(**settings)
    random = np.random.default_rng(4)
    for seed in range(4):
        env.reset(seed=seed)
        while env.agents:
            state, before = env.get_state(), shown(env)
            for other in (fresh, used, env):
                other.set_state(state)
                assert shown(other) == before
            assert episode(fresh, seed) == episode(used, seed)
            used.reset(seed=seed)
            for _ in range(int(random.integers(1, 3))):
                used.step(1)
            cycle(env, random)


def test_a_state_in_mid_cycle_is_that_of_its_beginning() -> None:
    """A cycle begins with a state that is set: what agents have chosen before is forgotten, on both sides."""
    env = multigrid.env(walls="a..A\nb..B", on_target="leave")
    env.reset()
    begun, before = env.get_state(), shown(env)
    env.step(1)
    assert env.agent_selection == "agent_1"
    assert frozen(env.get_state()) == frozen(begun)
    env.set_state(begun)
    assert shown(env) == before
    env.step(0)
    env.step(0)
    assert env.unwrapped.state()[:, :2].tolist() == [[1, 0], [1, 1]]


def test_states_are_those_of_the_parallel_env() -> None:
    """States of the two envs are interchangeable, and `unwrapped` is the ParallelEnv that PettingZoo gives back."""
    aec, parallel = some_env(), multigrid.parallel_env(walls=WALLS, num_agents=3, max_cycles=14)
    parallel.reset(seed=3)
    for action in (0, 1, 3):
        parallel.step(dict.fromkeys(parallel.agents, action))
    aec.set_state(parallel.get_state())
    assert frozen(aec.get_state()) == frozen(parallel.get_state())
    assert frozen(aec.metrics()) == frozen(parallel.metrics())
    assert aec_to_parallel(aec) is aec.unwrapped
    assert str(aec) == str(parallel)


def test_agents_that_end_together_are_selected_as_in_play() -> None:
    """Agents that end together are selected in PettingZoo's order, by name: agent_10 before agent_2."""
    layout = {"agents": [[0, y] for y in range(12)], "targets": [[1 + (y not in (2, 10)), y] for y in range(12)]}
    env, other = (multigrid.env(size=(3, 12), num_agents=12, on_target="leave") for _ in range(2))
    env.reset(seed=1, options=layout)
    for _ in range(12):
        env.step(0)
    other.set_state(env.get_state())
    assert env.agent_selection == "agent_10"
    assert shown(other) == shown(env)
    env.step(None)
    other.step(None)
    assert other.agent_selection == env.agent_selection == "agent_2"


def test_render_modes_are_the_envs_own() -> None:
    """PettingZoo's CaptureStdoutWrapper writes into the list of its own env, and of no other; so may others."""
    before = list(multigrid.MultiGridEnv.metadata["render_modes"])
    CaptureStdoutWrapper(multigrid.env(render_mode="human"))
    assert multigrid.MultiGridEnv.metadata["render_modes"] == multigrid.env().metadata["render_modes"] == before
    for env in (multigrid.GridWorldEnv(), multigrid.parallel_env(), multigrid.vector_env(1)):
        env.metadata["render_modes"].append("film")
        assert "film" not in type(env).metadata["render_modes"]
