"""Find the agents that blocked refused moves, in a recorded episode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import BLOCKED_BY_AGENT, DIRECTIONS, Outcome
from multigrid.core.arrays import NOBODY

MOST_BLOCKERS = 3
"""The largest number of agents that can block one move: the others next to the requested cell."""

NO_ACTION = -1
"""The action of an agent that had left, and of every agent at the reset."""

_REQUESTS = (Outcome.MOVED, *BLOCKED_BY_AGENT)


def find_requests(agents: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell that each agent requested: int64 (T + 1, N, 2), also one outside the grid.

    `agents` has the cells after the reset and after each step, int64 (T + 1, N, 2), and `actions` the actions that led
    to them, int64 (T + 1, N); with `NO_ACTION`, or an action of a game, an agent requests its own cell.
    """
    before = np.concatenate([agents[:1], agents[:-1]])
    staying = len(DIRECTIONS) - 1
    moves = np.where(actions == NO_ACTION, staying, np.minimum(actions, staying))
    return np.asarray(before + DIRECTIONS[moves], np.int64)


def find_blockers(
    agents: NDArray[np.int64], present: NDArray[np.bool_], actions: NDArray[np.int64], outcomes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the agents that blocked each refused move: int64 (T + 1, N, MOST_BLOCKERS), filled with `NOBODY`.

    For *occupied* and *swap* this is the agent that stood in the requested cell; for *contested* these are all others
    that requested it. All arrays are by step and agent, (T + 1, N, ...), as in `find_requests`.
    """
    blockers = np.full((*actions.shape, MOST_BLOCKERS), NOBODY, dtype=np.int64)
    requests = find_requests(agents, actions)
    requested = np.isin(outcomes, _REQUESTS) & (actions != NO_ACTION)
    refused = np.isin(outcomes, BLOCKED_BY_AGENT) & (actions != NO_ACTION)
    for step, agent in np.argwhere(refused).tolist():
        contested = outcomes[step, agent] == Outcome.CONTESTED
        others, there = (requests[step], requested[step]) if contested else (agents[step - 1], present[step - 1])
        found = np.flatnonzero((others == requests[step, agent]).all(axis=1) & there)
        found = found[found != agent]
        blockers[step, agent, : len(found)] = found
    return blockers
