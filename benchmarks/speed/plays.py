"""Functions that play rounds of environments, for a given time each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.rounds import play_round
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv

if TYPE_CHECKING:
    import gymnasium

__all__ = [
    "Play",
    "call_play",
    "frame_play",
    "joint_actions",
    "parallel_play",
    "repeat_steps",
    "sample_actions",
    "single_play",
    "spread_ends",
    "state_play",
    "step_only_play",
    "step_play",
    "vector_play",
]

Play: TypeAlias = Callable[[float], tuple[float, int]]
"""A function that plays for about a given time, in seconds; it returns the time taken and the agent-steps played."""

_MOST_STEPS = 64
"""The largest number of steps whose actions are sampled before the measurement, and then repeated."""
_WORLDS_AT_ONCE = 10_000
"""The number of worlds whose states `spread_ends` copies at once."""


def call_play(step: Callable[[], Any], agent_steps: int) -> Play:
    """Return a play that calls a function, where each call plays `agent_steps` agent-steps."""

    def play(seconds: float) -> tuple[float, int]:
        elapsed, calls = play_round(step, seconds)
        return elapsed, calls * agent_steps

    return play


def single_play(env: gymnasium.Env[Any, Any]) -> Play:
    """Return a play of a Gymnasium env, reset when an episode ends."""
    actions = np.random.default_rng(0).integers(0, 4, 1000).tolist()
    env.reset(seed=0)

    def step() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return call_play(step, len(actions))


def step_only_play(env: gymnasium.Env[Any, Any]) -> Play:
    """Return a play of a Gymnasium env that goes on after the end of an episode, without a reset."""
    env.reset(seed=0)
    return repeat_steps(env.step, np.random.default_rng(0).integers(0, 4, 1000).tolist(), 1)


def repeat_steps(step: Callable[[Any], Any], actions: Sequence[Any], agents: int) -> Play:
    """Return a play that steps one world with these actions again and again, many of them in a call.

    Reading the clock after each step of a few agents would add to the time.
    """
    actions = actions[: max(1, 256 // agents)]

    def step_all() -> None:
        for action in actions:
            step(action)

    return call_play(step_all, agents * len(actions))


def frame_play(env: gymnasium.Env[Any, Any]) -> Play:
    """Return a play of a Gymnasium env that renders after each step."""
    actions = itertools.cycle(np.random.default_rng(0).integers(0, 4, 1000).tolist())
    env.reset(seed=0)

    def step() -> None:
        if env.step(next(actions))[2]:
            env.reset()
        env.render()

    return call_play(step, 1)


def parallel_play(env: MultiGridEnv) -> Play:
    """Return a play of a ParallelEnv whose episodes never end."""
    env.reset(seed=0)
    return repeat_steps(env.step, joint_actions(env), env.config.num_agents)


def joint_actions(env: MultiGridEnv) -> list[dict[str, int]]:
    """Sample actions of all agents, by name, for some steps."""
    rows = sample_actions(env.config.num_agents, env.config.num_actions).tolist()
    return [dict(zip(env.possible_agents, row, strict=True)) for row in rows]


def state_play(env: MultiGridEnv | MultiGridVectorEnv) -> Play:
    """Return a play that sets states in turn; one world counts as its agents, as in a step."""
    states: list[Any] = []
    for seed in range(8):
        env.reset(seed=seed)
        states.append(env.get_state())
    turn = itertools.cycle(states)
    rows = env.num_envs if isinstance(env, MultiGridVectorEnv) else env.config.num_agents
    return call_play(lambda: env.set_state(next(turn)), rows)


def vector_play(env: Any) -> Play:
    """Return a play of a vector env."""
    env.reset(seed=0)
    if isinstance(env.unwrapped, MultiGridVectorEnv):
        spread_ends(env.unwrapped)
    return step_play(env, int(env.single_action_space.n))


def step_play(env: Any, num_actions: int) -> Play:
    """Return a play of a vector env, of any library, that has been reset."""
    actions = itertools.cycle(sample_actions(env.num_envs, num_actions))
    return call_play(lambda: env.step(next(actions)), env.num_envs)


def spread_ends(env: MultiGridVectorEnv) -> None:
    """Set how many steps each world has played, so that a limit ends equally many episodes in every step.

    Without it all worlds would end in one step, whose metrics and resets cost more than all others.
    """
    limit = env.config.max_cycles
    if limit is None:
        return
    for first in range(0, env.num_worlds, _WORLDS_AT_ONCE):
        worlds = np.arange(first, min(first + _WORLDS_AT_ONCE, env.num_worlds))
        states = env.get_state(worlds)
        states["steps"] = worlds * limit // env.num_worlds
        env.set_state(states, worlds)


def sample_actions(rows: int, num_actions: int) -> NDArray[np.int64]:
    """Sample actions for some steps, int64 (steps, rows); fewer steps for more rows."""
    steps = min(_MOST_STEPS, max(8, 2**20 // rows))
    return np.random.default_rng(0).integers(0, num_actions, (steps, rows))
