"""Shape rewards by a potential, which speeds learning up and keeps the optimal policies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import gymnasium
from gymnasium.utils import RecordConstructorArgs
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from multigrid._checks import is_real, shorten

Potential: TypeAlias = Callable[[Any, dict[str, Any]], float]
"""A function that returns the potential of a state from an agent's observation and info in that state."""


def minus_distance(observation: Any, info: dict[str, Any]) -> float:  # noqa: ARG001
    """Return minus the distance in the info: 0 on the target, lower farther away."""
    return -float(info["distance"])


class PotentialReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Add gamma times the potential of the next state, minus that of the current state, to every reward.

    The potential of a terminal state counts as 0, whatever the function returns. If the episode is truncated, the
    potential of its last state counts, because learners bootstrap from that state. With the learner's own `gamma`, the
    discounted sum of the terms added to an episode that terminates is minus the potential of its first state, whatever
    the actions. So the optimal policies are those of the unshaped reward.

    A learner then estimates the unshaped values minus the potential. This is easiest if the potential has the scale of
    the env's returns, such as minus a tenth of the distance. After a call of `set_state` of the wrapped env, the next
    reward is wrong, because the wrapper keeps the old potential.

    Source: Ng, Harada and Russell 1999, "Policy invariance under reward transformations"; the terminal states of
    episodes of any length: Grzes 2017, "Reward shaping in episodic reinforcement learning".

    Args:
        env: any env; with the default `potential`, one whose infos have ``distance``.
        gamma: the discount of the learner, 0 to 1. With another discount the theorem does not hold.
        potential: a function of the observation and the info in a state; it must depend on the state alone.

    Raises:
        TypeError: `gamma` is not a real number, or `potential` cannot be called.
        ValueError: `gamma` is out of range.
        ValueError: in `reset` or `step`, a potential is not a finite number; the env has been reset or stepped.

    >>> from multigrid import Action, GridWorldEnv
    >>> env = PotentialReward(GridWorldEnv(), gamma=0.5)
    >>> observation, info = env.reset(options={"agents": [[0, 4]], "targets": [[2, 4]]})
    >>> [env.step(Action.RIGHT)[1] for _ in range(2)]
    [1.5, 2.0]

    See the page "Custom rewards" (docs/how_to/rewards.md in the source).
    """

    def __init__(self, env: gymnasium.Env[Any, Any], gamma: float, potential: Potential = minus_distance) -> None:
        self.gamma = _check(gamma, potential)
        # Gymnasium writes no functions as JSON.
        own: dict[str, Any] = {} if potential is minus_distance else {"potential": potential}
        RecordConstructorArgs.__init__(self, gamma=self.gamma, **own)
        gymnasium.Wrapper.__init__(self, env)
        self.potential = potential
        self._current = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the env, and store the potential of the first state."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._current = _evaluate(self.potential, observation, info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step the env, and add the difference of potentials to the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        reached = 0.0 if terminated else _evaluate(self.potential, observation, info)
        shaped = float(reward) + self.gamma * reached - self._current
        self._current = reached
        return observation, shaped, terminated, truncated, info


class PotentialRewardParallel(BaseParallelWrapper[str, Any, Any]):
    """Shape the reward of each agent of a PettingZoo ParallelEnv as `PotentialReward` does.

    The potential of an agent that terminates counts as 0. Under ``on_target="restart"`` nobody terminates, and the next
    state of an arrival has the potential of the new target. With the default potential and a discount of 1, an agent
    that arrives by one step, and whose new target is 8 cells away, gets the env's 1, plus -8, minus -1: -6. The optimal
    policies are kept, because the next steps are rewarded for coming nearer. With several learners, shaping keeps the
    Nash equilibria (Devlin and Kudenko 2011, "Theoretical considerations of potential-based reward shaping for
    multi-agent systems").

    The arguments are those of `PotentialReward`; the potential is a function of the agent's own observation and info.

    Raises:
        TypeError, ValueError: as `PotentialReward`, or `env` is not a ParallelEnv.

    >>> import multigrid
    >>> env = PotentialRewardParallel(multigrid.parallel_env(size=(4, 3), num_agents=2), gamma=0.5)
    >>> layout = {"agents": [[0, 0], [3, 2]], "targets": [[2, 0], [0, 2]]}
    >>> observations, infos = env.reset(options=layout)
    >>> env.step({"agent_0": multigrid.Action.RIGHT, "agent_1": multigrid.Action.RIGHT})[1]
    {'agent_0': 1.5, 'agent_1': 1.5}
    """

    def __init__(self, env: ParallelEnv[str, Any, Any], gamma: float, potential: Potential = minus_distance) -> None:
        if not isinstance(env, ParallelEnv):
            raise TypeError(f"env is {shorten(env)} of type {type(env).__name__}; expected a PettingZoo ParallelEnv")
        super().__init__(env)
        self.gamma = _check(gamma, potential)
        self.potential = potential
        self._current: dict[str, float] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        """Reset the env, and store the potential of each agent's first state."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._current = {agent: _evaluate(self.potential, seen, infos[agent]) for agent, seen in observations.items()}
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, dict[str, float], dict[str, bool], dict[str, bool], Any]:
        """Step the env and add the difference of potentials to each agent's reward."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        shaped, reached = {}, {}
        for agent, reward in rewards.items():
            now = (observations[agent], infos[agent])
            reached[agent] = 0.0 if terminations[agent] else _evaluate(self.potential, *now)
            shaped[agent] = float(reward) + self.gamma * reached[agent] - self._current[agent]
        self._current = reached
        return observations, shaped, terminations, truncations, infos

    def get_state(self) -> dict[str, Any]:
        """Return the env's state and the potentials of the agents' current states."""
        env: Any = self.env
        return {"env": env.get_state(), "potentials": dict(self._current)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Set a state that `get_state` of this wrapper returned.

        Raises:
            TypeError, ValueError: the state is not of this form.
        """
        env: Any = self.env
        given: Any = state
        if not isinstance(given, dict) or not {"env", "potentials"} <= given.keys():
            raise TypeError(f"the state is of type {type(given).__name__}; expected what get_state() returned")
        if not isinstance(given["potentials"], dict):
            raise TypeError(f"its potentials are {shorten(given['potentials'])}; expected a dict of floats by agent")
        env.set_state(state["env"])
        self._current = dict(state["potentials"])


def _check(gamma: float, potential: Any) -> float:
    """Check both arguments, and return the discount as a float."""
    if not is_real(gamma) or not 0 <= gamma <= 1:
        kind = ValueError if is_real(gamma) else TypeError
        raise kind(f"gamma is {shorten(gamma)}; expected the discount of the learner, from 0 to 1")
    if not callable(potential):
        raise TypeError(f"potential is of type {type(potential).__name__}; expected a function of observation and info")
    return float(gamma)


def _evaluate(potential: Potential, observation: Any, info: dict[str, Any]) -> float:
    """Return the potential of a state, or raise a ValueError if it is not a finite number."""
    value = float(potential(observation, info))
    if not math.isfinite(value):
        raise ValueError(f"the potential of a state is {value}; expected a finite number")
    return value
