"""The AEC env: states in which a cycle begins, what follows them, and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.utils.conversions import aec_to_parallel
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
    rest = [seen, env.infos, env.unwrapped.state(), env.metrics(), env.unwrapped.agents]
    return [env.agents, env.agent_selection, by_agent, frozen(rest)]


def cycle(env: Any, random: np.random.Generator) -> list[Any]:
    """Play a cycle, with the last steps of agents that have ended; return what each agent gets."""
    returned = []
    for _ in range(len(env.agents)):
        _, _, terminated, truncated, _ = last = env.last()
        returned.append((env.agent_selection, frozen(last[0]), *last[1:]))
        env.step(None if terminated or truncated else int(random.integers(4)))
    return returned


def episode(env: Any, seed: int) -> list[Any]:
    """Play on to the end of the episode."""
    random, returned = np.random.default_rng(seed), []
    while env.agents:
        returned.append(cycle(env, random))
    return returned


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


def test_bad_states_and_no_states() -> None:
    """Before a reset there is no state, and a state that is refused leaves what is shown as it was."""
    env = some_env()
    for call in (env.get_state, env.metrics):
        with pytest.raises(ResetNeeded, match="call reset"):
            call()
    with pytest.raises(TypeError, match="the state is of type NoneType"):
        env.set_state(None)
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        _ = env.agents
    env.reset(seed=2)
    env.step(2)
    state, before = env.get_state(), shown(env)
    with pytest.raises(ValueError, match="steps in the state"):
        env.set_state({**state, "steps": state["steps"] - 999})
    assert shown(env) == before
    assert env.agent_selection == "agent_1"


def test_render_modes_are_the_envs_own() -> None:
    """PettingZoo's CaptureStdoutWrapper writes into the list of its own env, and of no other."""
    before = list(multigrid.MultiGridEnv.metadata["render_modes"])
    CaptureStdoutWrapper(multigrid.env(render_mode="human"))
    assert multigrid.MultiGridEnv.metadata["render_modes"] == before
    assert multigrid.env().metadata["render_modes"] == before
    envs: list[Any] = [multigrid.GridWorldEnv(), multigrid.parallel_env(), multigrid.vector_env(1)]
    for env in envs:
        env.metadata["render_modes"].append("film")
        assert "film" not in type(env).metadata["render_modes"]
