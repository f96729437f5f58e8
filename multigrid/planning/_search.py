"""What all searches have in common: the problem and the budget that they take, and the result that they return.

A search is a function ``search(problem, budget, seed) -> Found`` of a `SearchProblem`, a `Budget` that was started, and
a seed that breaks ties. In its result no two agents are in one cell at the same time, and no two swap their cells;
following and cycles are allowed. After Ctrl-C a search that has a result already raises `Interrupted` with it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._graph import NOWHERE, Graph, Ints, distance_tables

Status = Literal["optimal", "feasible", "unsolvable", "unknown"]


def check_collisions(collisions: str, kind: str) -> None:
    """Raise a ValueError if no planner supports a rule of collisions."""
    if collisions not in ("symmetric", "soft", "none"):
        expected = "expected one of 'symmetric', 'soft', 'none'"
        raise ValueError(f"collisions is {collisions!r}, which no {kind} supports; {expected}")


class SearchProblem(NamedTuple):
    """What a search gets: agents on a graph."""

    graph: Graph  # the cells
    starts: Ints  # int32 (N,), cells, no two equal
    goals: Ints  # int32 (N,), cells, no two equal
    on_target: str  # except "restart"
    horizon: int | None  # the largest makespan of a plan, or None


class Found(NamedTuple):
    """The result of a search."""

    paths: Ints | None  # int32 (T + 1, N): the cells after each step, -1 from the step after leaving
    lower_bound: int  # no plan has a smaller sum of costs
    status: Status  # as in `Plan`; *unsolvable* is proven for the horizon
    expansions: int  # the number of nodes that were expanded


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search that already has a result."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


@dataclasses.dataclass
class Budget:
    """The time and the number of expansions of a search; without a limit of time, a search is deterministic."""

    time_limit: float | None  # seconds from `start` on; None is no limit
    max_expansions: int | None
    _started: float = dataclasses.field(default=0.0, init=False, repr=False)

    def start(self) -> Budget:
        """Start the clock, and return the budget."""
        self._started = time.perf_counter()
        return self

    @property
    def seconds(self) -> float:
        """Seconds since `start`."""
        return time.perf_counter() - self._started

    def expansions_left(self, expansions: int, at_most: int) -> int:
        """Return how many expansions to do before the clock is read again."""
        return at_most if self.max_expansions is None else min(at_most, self.max_expansions - expansions)

    def is_over(self, expansions: int) -> bool:
        """Return whether the search has to end."""
        has_done_all = self.max_expansions is not None and expansions >= self.max_expansions
        return has_done_all or (self.time_limit is not None and self.seconds >= self.time_limit)


def count_costs(paths: Ints, goals: Ints, on_target: str) -> NDArray[np.int64]:
    """Return the step of each agent's arrival, int64 (N,), as `multigrid.core.metrics` counts it, on complete paths.

    Under *stay* it is the first step of the last stay on the target, and at least 1.
    """
    there = paths == goals
    costs: NDArray[np.int64] = there.argmax(axis=0)
    if on_target == "stay":
        away = ~there
        last_away = len(paths) - 1 - away[::-1].argmax(axis=0)
        costs = np.where(away.any(axis=0), last_away + 1, 1)
    return costs


_SHORTEST_CHUNK = 0.01


def run_chunks(run: Callable[[int], tuple[int, bool]], budget: Budget, done: int, count: int) -> int:
    """Call a kernel for a few expansions at a time, so that the clock is read every few hundredths of a second.

    Return the number of expansions done. How many a single call does depends on the machine's speed; the result of the
    search must not.
    """
    chunk, total = 1, 0
    while total < count and not budget.is_over(done + total):
        asked = budget.expansions_left(done + total, min(chunk, count - total))
        began = budget.seconds
        count_done, is_over = run(asked)
        total += count_done
        if is_over:
            break
        if budget.seconds - began < _SHORTEST_CHUNK:
            chunk *= 2
    return total


def search_alone(problem: SearchProblem) -> Found:
    """Return the shortest path of each agent, as if it were alone."""
    graph, starts, goals, on_target, horizon = problem
    distances, agents = distance_tables(graph.neighbours, goals), np.arange(len(starts))
    away = distances[agents, starts]
    charged = np.maximum(away, on_target == "stay")
    steps = int(charged.max())
    if horizon is not None and steps > horizon:
        return Found(None, int(charged.sum()), "unsolvable", 0)
    paths = [starts]
    for step in range(steps):
        options = graph.neighbours[paths[-1]]
        reachable = np.where(options == NOWHERE, np.iinfo(np.int32).max, distances[agents[:, None], options])
        moved = options[agents, reachable.argmin(axis=1)]
        paths.append(np.where((on_target == "leave") & (step >= away), NOWHERE, moved).astype(np.int32))
    return Found(np.stack(paths), int(charged.sum()), "optimal", 0)
