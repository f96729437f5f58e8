"""CPython's floor of a step of one world: creating the objects that the step returns, without playing."""

from __future__ import annotations

from typing import Any

from multigrid.envs.grid_world import GridWorldEnv
from multigrid.envs.parallel import MultiGridEnv


class GridWorldFloor:
    """The step of a `GridWorldEnv` that does nothing but create what it returns: two copied arrays, and dicts."""

    def __init__(self, env: GridWorldEnv) -> None:
        observation, info = env.reset(seed=0)
        self._agent, self._target = observation["agent"], observation["target"]
        self._distance = info["distance"]

    def step(self, _action: int) -> tuple[dict[str, Any], int, bool, bool, dict[str, Any]]:
        """Return new objects of the same types and sizes as those of `GridWorldEnv.step`."""
        observation = {"agent": self._agent.copy(), "target": self._target.copy()}
        return observation, 0, False, False, {"distance": self._distance}


class ParallelFloor:
    """The step of a `MultiGridEnv` that does nothing but create what it returns: two copied arrays, and dicts by agent.

    Args:
        env: an env whose agents observe *agent* and *target*.
    """

    def __init__(self, env: MultiGridEnv) -> None:
        _, infos = env.reset(seed=0)
        self._agents = env.possible_agents
        state = env.state()
        self._cells, self._targets = state[:, :2].copy(), state[:, 2:].copy()
        self._rewards, self._ends = [0.0] * len(state), dict.fromkeys(self._agents, False)
        self._infos = [tuple(infos[agent].values()) for agent in self._agents]

    def step(self, _actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Return new objects of the same types and sizes as those of `MultiGridEnv.step`."""
        agents, rows = self._agents, zip(self._agents, self._cells.copy(), self._targets.copy())
        return (
            {agent: {"agent": cell, "target": target} for agent, cell, target in rows},
            dict(zip(agents, self._rewards)),
            self._ends.copy(),
            self._ends.copy(),
            {agent: {"distance": a, "outcome": b, "arrived": c} for agent, (a, b, c) in zip(agents, self._infos)},
        )
