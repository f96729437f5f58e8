"""Collect episodes as arrays while they are played."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from multigrid.core.arrays import LEFT
from multigrid.core.states import WALLS, walls_of
from multigrid.envs.parallel import MultiGridEnv
from multigrid.rendering._episode import NO_ACTION, Episode
from multigrid.rendering._scene import Look, find_look
from multigrid.scenarios._recording import replay
from multigrid.scenarios._scenario import Scenario

__all__ = ["EpisodeTrace", "trace_episode"]

_FIELDS = ("location", "target", "status", "distances", "arrivals", "outcomes", "rewards")


class EpisodeTrace:
    """Collect the episode that an environment plays: call `note` after its reset and after each step.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(size=(4, 3), num_agents=2)
    >>> trace = EpisodeTrace(env)
    >>> _ = env.reset(seed=0)
    >>> trace.note()
    >>> actions = {"agent_0": 0, "agent_1": 3}
    >>> _ = env.step(actions)
    >>> trace.note(actions)
    >>> trace.episode("first").agents.shape
    (2, 2, 2)
    """

    def __init__(self, env: MultiGridEnv) -> None:
        self._env = env
        self._states: list[dict[str, Any]] = []
        self._actions: list[list[int] | None] = []
        self._looks: list[Look] = []

    def note(self, actions: Mapping[str, Any] | None = None) -> None:
        """Add the environment's current state to the episode, and the actions by agent that led to it.

        Without the actions of all steps, pictures cannot show which agents blocked a refused move.
        """
        state: Any = self._env.get_state()
        self._states.append({name: state[name] for name in _FIELDS} | {WALLS: walls_of(self._env.config, state)})
        self._looks.append(find_look(self._env.config, self._env._worlds.arrays, 0))  # noqa: SLF001 - copies nothing
        agents = self._env.possible_agents
        self._actions.append(None if actions is None else [self._read_move(actions.get(agent)) for agent in agents])

    def _read_move(self, action: Any) -> int:
        """Return an action without its message."""
        number = NO_ACTION if action is None else int(np.ravel(action)[0])
        return number if number < 0 else number % self._env.config.num_actions

    def episode(self, name: str) -> Episode:
        """Return the episode so far, with a name for its title.

        Raises:
            ValueError: `note` has not been called.
        """
        if not self._states:
            raise ValueError("nothing has been noted; call note() after the reset, and after each step")
        fields = {field: np.stack([state[field] for state in self._states]) for field in _FIELDS}
        rows = [[NO_ACTION] * self._env.config.num_agents, *(row for row in self._actions[1:] if row is not None)]
        return Episode(
            name=name,
            config=self._env.config,
            walls=self._states[0][WALLS],
            agents=fields["location"],
            targets=fields["target"],
            present=fields["status"] != LEFT,
            **{name: fields[name] for name in ("distances", "arrivals", "outcomes", "rewards")},
            metrics=self._env.metrics(),
            actions=np.array(rows, dtype=np.int64) if len(rows) == len(self._states) else None,
            looks=tuple(self._looks) if any(map(any, self._looks)) else None,
        )


def trace_episode(scenario: Scenario) -> Episode:
    """Replay a recorded episode, compare each step with the recording, and return it as arrays.

    Raises:
        ValueError: as `multigrid.scenarios.replay`.

    >>> import multigrid.scenarios
    >>> trace_episode(multigrid.scenarios.get("empty-9x7-2")).metrics["csr"]
    1.0
    """
    env = scenario.env()
    trace = EpisodeTrace(env)
    steps = replay(scenario, env)
    # A scenario without actions raises an error at the first step.
    for _ in itertools.islice(steps, 1):
        trace.note()
    for _, actions in zip(steps, [] if scenario.actions is None else scenario.actions.tolist(), strict=True):
        trace.note(dict(zip(env.possible_agents, actions, strict=True)))
    return trace.episode(scenario.name)
