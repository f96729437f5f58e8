"""The policy of shortest paths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import BLOCKED_BY_AGENT, DIRECTIONS
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.maps.components import WALL
from multigrid.maps.distances import UNREACHABLE, distances_to
from multigrid.policies.policy import Policy

__all__ = ["shortest_path_policy"]


def shortest_path_policy(generator: np.random.Generator, sidestep: float = 0.5) -> Policy:
    r"""Return a policy under which every agent follows a shortest path around the walls, as if it were alone.

    An agent moves to the neighbouring cell that is nearest to its target; ties are broken at random. On its target it
    stays: without the stay action, by moving against a wall or the edge where there is one. Two agents could block each
    other for ever. So an agent whose last move was blocked by another agent makes, with some probability, a random move
    that neither a wall nor the edge blocks.

    Args:
        generator: for the draws.
        sidestep: that probability, from 0 to 1; with 0, agents never give way.

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
        map_index, cells = int(state["map_index"]), state["location"]
        regions = env.config.components[map_index]
        wanted = cells[:, None] + DIRECTIONS[: env.config.num_actions]
        asked = np.clip(wanted, 0, np.array(regions.shape) - 1)
        free = (asked == wanted).all(axis=2) & (regions[asked[..., 0], asked[..., 1]] != WALL)
        asked = np.where(free[..., None], asked, cells[:, None])
        far = np.empty(free.shape, dtype=np.int64)
        for row, goal in enumerate(state["target"].tolist()):
            place = (map_index, *goal)
            if place not in known:
                known[place] = distances_to(regions, goal)
            far[row] = known[place][asked[row, :, 0], asked[row, :, 1]]
        if env.config.allow_stay:
            # An agent that can stay need not move against a wall to do so.
            far[~free] = UNREACHABLE
        sidesteps = np.isin(state["outcomes"], BLOCKED_BY_AGENT) & (generator.random(len(cells)) < sidestep)
        options = np.where(sidesteps[:, None], free, far == far.min(axis=1, keepdims=True))
        actions = np.where(options, generator.random(options.shape), -1.0).argmax(axis=1).tolist()
        by_agent = dict(zip(env.possible_agents, actions, strict=True))
        return {agent: by_agent[agent] for agent in env.agents}

    return choose
