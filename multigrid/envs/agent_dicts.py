"""The observations, rewards, flags and infos of one world, by agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid.envs.annotations import Info
from multigrid.envs.exclusive import one_at_a_time
from multigrid.envs.one_world import OneWorld

__all__ = ["AgentDicts", "to_list", "unknown_agent_error"]

_Results: TypeAlias = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]
"""Observations, rewards, terminations, truncations and infos by agent."""


class AgentDicts(OneWorld):
    """One world, whose results are dicts by agent."""

    possible_agents: list[str]
    _keys: tuple[str, ...]
    """`GridConfig.observation_keys`."""
    _index: dict[str, int]
    """The index of each agent."""

    def _bind_arrays(self) -> None:
        """Bind the arrays that each step reads and writes."""
        arrays = self._world.arrays
        self._actions = arrays.actions[0]
        self._distances, self._outcomes, self._arrived = arrays.distances[0], arrays.outcomes[0], arrays.arrived[0]
        self._rewards = arrays.rewards[0]
        self._terminated, self._truncated, self._num_ended = arrays.terminated[0], arrays.truncated[0], arrays.num_ended
        self._commits, self._steps = arrays.commits, arrays.steps
        self._observed = [part[0] for part in self._world.observation_arrays]

    def _rows(self, agents: list[str]) -> list[int]:
        return [self._index[agent] for agent in agents]

    def _list_present(self) -> list[str]:
        if self._world.arrays.episode_over[0]:
            return []
        return [self.possible_agents[row] for row in self._world.find_present(0)]

    def _observations(self, agents: list[str], rows: list[int] | None = None) -> dict[str, Any]:
        # Each part is copied once, and each agent gets a row of the copy.
        arrays = [part.copy() if rows is None else part[rows] for part in self._observed]
        keys = self._keys
        if not keys:
            return dict(zip(agents, arrays[0]))
        # Python creates a dict with written-out keys four times as fast as one from pairs.
        if len(keys) == 2:
            one, two = keys
            return {agent: {one: a, two: b} for agent, a, b in zip(agents, *arrays)}
        if len(keys) == 3:
            one, two, three = keys
            return {agent: {one: a, two: b, three: c} for agent, a, b, c in zip(agents, *arrays)}
        return {agent: dict(zip(keys, row)) for agent, *row in zip(agents, *arrays)}

    def _infos(self, agents: list[str], rows: list[int] | None = None) -> dict[str, Info]:
        distances, outcomes = to_list(self._distances, rows), to_list(self._outcomes, rows)
        columns = zip(agents, distances, outcomes, to_list(self._arrived, rows))
        return {agent: {"distance": a, "outcome": b, "arrived": c} for agent, a, b, c in columns}

    @one_at_a_time
    def _last_results(self) -> _Results:
        """Return what the last step returned, or would have, if the state was set; after a reset without rewards.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        self._check_started()
        self._world.observe()
        rows = np.flatnonzero(~self._world.find_departed()[0]).tolist()
        agents = [self.possible_agents[row] for row in rows]
        rewards = dict(zip(agents, to_list(self._rewards, rows)))
        terminations = dict(zip(agents, to_list(self._terminated, rows)))
        truncations = dict(zip(agents, to_list(self._truncated, rows)))
        return self._observations(agents, rows), rewards, terminations, truncations, self._infos(agents, rows)


def to_list(values: NDArray[Any], rows: list[int] | None) -> list[Any]:
    """Return the entries of some rows, or of all, as Python's own numbers.

    >>> to_list(np.array([0.5, 0.0, 1.0]), [0, 2])
    [0.5, 1.0]
    """
    listed: list[Any] = (values if rows is None else values[rows]).tolist()
    return listed


def unknown_agent_error(agent: object, expected: Iterable[str]) -> KeyError:
    """Return the error for a name that is none of the expected ones.

    >>> unknown_agent_error("agent_9", ["agent_0", "agent_1"])
    KeyError("agent is 'agent_9'; expected one of ['agent_0', 'agent_1']")
    """
    return KeyError(f"agent is {shorten(agent)}; expected one of {shorten(list(expected))}")
