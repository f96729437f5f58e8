"""What agents remember: since when they have come no nearer, how long they travel, and where they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._graph import NOWHERE, NUM_COLUMNS, Ints, Places, Tables
from multigrid.planning._kernels import kernel

_RISE = 8
_TRAIL, _PENALTY, _DECAY = 32, 0.5, 0.9
_PENALTIES = (_PENALTY * _DECAY ** np.arange(_TRAIL)).astype(np.float32)
_LARGEST = np.float32(1)
PER_STEP = 4096  # what a priority rises by in each step
_MOST_STEPS = 2**18


class Temperatures(NamedTuple):
    """The temperatures that the scores of an agent's actions are divided by before they become probabilities."""

    calm: float  # of an agent that has come nearer to its target in the last `patience` steps
    restless: float  # of one that has come no nearer for `patience` + 8 steps; in between, it rises linearly
    patience: int  # a number of steps
    arrived: float  # of an agent on its target


class Patience:
    """The temperatures and the priorities of the agents of up to E worlds, in each step of their episodes.

    The agent that has travelled longest, since it got its target or was last on it, has the highest priority; of equal
    ones, the one whose way was longest when it got the target.
    """

    priorities: Ints  # int32 (E * N,), after `observe`; 0 on a target, or without one
    has_begun: NDArray[np.bool_]  # bool (E,), after `observe`: worlds whose earlier steps are not known

    def __init__(self, temperatures: Temperatures) -> None:
        self._temperatures = temperatures
        # The length of each agent's shortest way so far, and the step of it; steps, maps and targets of the last call.
        self._best: Any = None
        self._before: Any = None
        # The last step in which each agent was on its target, or got it; the length of its way at the beginning.
        self._since: Any = None
        self._first: Any = None

    def observe(self, states: Mapping[str, Any], ways: Ints) -> NDArray[np.float32]:
        """Return the temperatures, float32 (E * N,), given the numbers of steps to the targets, int32 (E * N,)."""
        steps, maps, targets = states["steps"], states["map_index"], states["target"]
        now = np.repeat(steps, targets.shape[1])
        if self._before is None or self._before[2].shape != targets.shape:
            self.has_begun = np.ones(len(steps), np.bool_)
            self._best = ways.copy(), now
            self._since, self._first = now, ways.copy()
        else:
            old_steps, old_maps, old_targets = self._before
            self.has_begun = (steps == 0) | (steps < old_steps) | (steps > old_steps + 1) | (maps != old_maps)
            has_begun = (self.has_begun[:, None] | (targets != old_targets).any(axis=2)).ravel()
            is_nearer = has_begun | (ways < self._best[0])
            self._best = np.where(is_nearer, ways, self._best[0]), np.where(is_nearer, now, self._best[1])
            self._since = np.where(has_begun | (ways == 0), now, self._since)
            self._first = np.where(has_begun, ways, self._first)
        self._before = steps.copy(), maps.copy(), targets.copy()
        waited = np.minimum(now - self._since + 1, _MOST_STEPS) * PER_STEP + np.minimum(self._first, PER_STEP - 1)
        self.priorities = np.where(ways > 0, waited, 0).astype(np.int32)
        low, high, patience, arrived = self._temperatures
        rise = np.clip((now - self._best[1] - patience) / _RISE, 0, 1)
        return np.where(ways == 0, arrived, low + (high - low) * rise).astype(np.float32)


class Trail:
    """The last cells of the agents of up to E worlds, which make them less willing to enter those again."""

    def __init__(self, tables: Tables, num_worlds: int, num_agents: int) -> None:
        self._tables = tables
        self._cells = np.full((num_worlds, num_agents, _TRAIL), NOWHERE, np.int32)

    def lower(
        self,
        states: Mapping[str, Any],
        places: Places,
        has_begun: NDArray[np.bool_],
        scores: NDArray[np.float32],
    ) -> None:
        """Lower the scores of actions, float32 (E * N, 5), that lead travelling agents to where they were lately.

        A visit k steps ago costs 0.5 * 0.9**k; a cell costs at most 1 in all. Without this limit, agents that wait for
        one another would not keep waiting. Worlds that have begun, see `Patience`, have no past.
        """
        cells, goals, _ = places
        now = np.array([states["map_index"], states["steps"]])
        self._cells[: len(has_begun)][has_begun] = NOWHERE
        _lower(self._tables.neighbours, now, cells, goals, self._cells, _PENALTIES, scores.reshape(*cells.shape, -1))


@kernel
def _lower(neighbours: Any, now: Any, cells: Any, goals: Any, trail: Any, penalties: Any, scores: Any) -> None:
    length = trail.shape[2]
    for e in range(cells.shape[0]):
        m, step = now[0, e], now[1, e]
        for i in range(cells.shape[1]):
            here = cells[e, i]
            if here == NOWHERE:
                continue
            trail[e, i, step % length] = here
            for a in range(NUM_COLUMNS if here != goals[e, i] else 0):
                after = neighbours[m, here, a] if neighbours[m, here, a] != NOWHERE else here
                total = np.float32(0)
                for age in range(length):
                    if trail[e, i, (step - age) % length] == after:
                        total += penalties[age]
                scores[e, i, a] -= min(total, _LARGEST)
