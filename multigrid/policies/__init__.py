"""Policies that need no training: what rollouts are compared with, and what plays the agents that nobody steers.

A policy is called before each step of a `MultiGridEnv`, with the environment and its last observations, and returns
an action for every agent that is still there.

>>> from multigrid import parallel_env
>>> env, policy = parallel_env(size=(6, 4), num_agents=3), shortest_path_policy(np.random.default_rng(0))
>>> observations, _ = env.reset(seed=0)
>>> while env.agents:
...     observations, *_ = env.step(policy(env, observations))
>>> env.metrics()["csr"]
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import DIRECTIONS, Outcome
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps.components import WALL
from multigrid.maps.distances import UNREACHABLE, distances_to

__all__ = ["Policy", "random_policy", "shortest_path_policy"]

Policy: TypeAlias = Callable[[MultiGridEnv, dict[str, Any]], dict[str, int]]
"""From an environment and its last observations to an action for each agent in ``env.agents``."""

_REFUSED = (Outcome.OCCUPIED, Outcome.CONTESTED, Outcome.SWAP)


def random_policy(generator: np.random.Generator) -> Policy:
    """Return a policy under which every agent draws one of its actions, all equally likely.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(num_agents=2)
    >>> observations, _ = env.reset(seed=0)
    >>> random_policy(np.random.default_rng(0))(env, observations)
    {'agent_0': 3, 'agent_1': 2}
    """

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        del observations
        drawn = generator.integers(env.config.num_actions, size=len(env.agents)).tolist()
        return dict(zip(env.agents, drawn, strict=True))

    return choose


def shortest_path_policy(generator: np.random.Generator, sidestep: float = 0.5) -> Policy:
    r"""Return a policy under which every agent follows a shortest path around the walls, as if it were alone.

    Of the cells that it may ask for, an agent asks for the one nearest to its target; which of several is drawn. On
    its target it stays if it can: without the action for it, by asking for a wall or the edge. Two that stand in each
    other's way would do so for ever: so an agent whose last move another one refused makes, with some probability, any
    move that no wall forbids.

    Args:
        generator: for the draws.
        sidestep: that probability; 0 for agents that never give way.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(walls="a#A\n...")
    >>> observations, _ = env.reset()
    >>> shortest_path_policy(np.random.default_rng(0))(env, observations)
    {'agent_0': 1}
    """
    known: dict[tuple[int, ...], NDArray[np.int64]] = {}
    config: GridConfig | None = None

    def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        nonlocal config
        del observations
        state = env.get_state()
        if env.config is not config or len(known) > 4 * env.config.num_agents + 64:
            config = env.config
            known.clear()
        which, cells = int(state["map_index"]), state["location"]
        regions = env.config.regions[which]
        asked = cells[:, None] + DIRECTIONS[: env.config.num_actions]
        free = np.pad(regions, 1, constant_values=WALL)[asked[..., 0] + 1, asked[..., 1] + 1] != WALL
        asked = np.where(free[..., None], asked, cells[:, None])
        far = np.empty(free.shape, dtype=np.int64)
        for row, goal in enumerate(state["goal"].tolist()):
            place = (which, *goal)
            if place not in known:
                known[place] = distances_to(regions, goal)
            far[row] = known[place][asked[row, :, 0], asked[row, :, 1]]
        if env.config.allow_stay:
            # Who can stay need not ask for a wall to do so.
            far[~free] = UNREACHABLE
        astray = np.isin(state["outcomes"], _REFUSED) & (generator.random(len(cells)) < sidestep)
        options = np.where(astray[:, None], free, far == far.min(axis=1, keepdims=True))
        chosen = np.where(options, generator.random(options.shape), -1.0).argmax(axis=1).tolist()
        by_agent = dict(zip(env.possible_agents, chosen, strict=True))
        return {agent: by_agent[agent] for agent in env.agents}

    return choose
