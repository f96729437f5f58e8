"""What all searches have in common: the instance and the budget that they take, and the result that they return.

A search is a function ``search(instance, budget, seed) -> Found`` of an `Instance`, a `Budget` that was started, and a
seed that breaks ties. In its result no two agents are in one cell at the same time, and no two swap their cells;
following and cycles are allowed. After Ctrl-C a search that has a result already raises `Interrupted` with it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.graph import Graph

__all__ = [
    "Budget",
    "Found",
    "Instance",
    "Interrupted",
    "Rule",
    "Status",
    "check_collisions",
    "count_costs",
    "run_chunks",
]

Status = Literal["optimal", "feasible", "unsolvable", "unknown"]
Rule = Literal["stay", "leave", "park"]

_SUPPORTED = ("symmetric", "soft", "none")


def check_collisions(collisions: str, kind: str) -> None:
    """Raise a ValueError if no planner supports a rule of collisions.

    Args:
        collisions: the rule.
        kind: "method" or "controller", for the error message.

    >>> check_collisions("priority", "method")
    Traceback (most recent call last):
    ValueError: collisions is 'priority', which no method supports; expected one of 'symmetric', 'soft', 'none'
    """
    if collisions not in _SUPPORTED:
        raise ValueError(
            f"collisions is {collisions!r}, which no {kind} supports; "
            f"expected one of {', '.join(map(repr, _SUPPORTED))}"
        )


class Instance(NamedTuple):
    """Agents on a graph."""

    graph: Graph
    """The cells."""
    starts: NDArray[np.int32]
    """int32 (N,), cells, no two equal."""
    goals: NDArray[np.int32]
    """int32 (N,), cells, no two equal."""
    on_target: Rule
    """As in `multigrid.core.rules`."""
    horizon: int | None
    """The largest makespan of a plan, or None."""


class Found(NamedTuple):
    """The result of a search."""

    paths: NDArray[np.int32] | None
    """int32 (T + 1, N): the cell of each agent after each step, -1 from the step after it has left; or None."""
    lower_bound: int
    """No plan has a smaller sum of costs."""
    status: Status
    """*optimal*: the sum of costs is the lower bound; *feasible*: it may be larger; *unsolvable*: no plan keeps
    the horizon, which is proven; *unknown*: no plan was found."""
    expansions: int
    """The number of nodes that were expanded."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search that has a result already.

    Args:
        found: the result so far.
    """

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


@dataclasses.dataclass
class Budget:
    """The time and the number of expansions that a search may use; None is no limit.

    A search that is bound by expansions alone is deterministic.

    >>> budget = Budget(time_limit=None, max_expansions=100).start()
    >>> budget.is_over(99), budget.is_over(100)
    (False, True)
    """

    time_limit: float | None
    """Seconds from `start` on."""
    max_expansions: int | None
    """The number of expansions."""
    _started: float = dataclasses.field(default=0.0, init=False, repr=False)

    def start(self) -> Budget:
        """Start the clock, and return the budget."""
        self._started = time.perf_counter()
        return self

    @property
    def seconds(self) -> float:
        """Seconds since `start`."""
        return time.perf_counter() - self._started

    @property
    def seconds_left(self) -> float:
        """Seconds until the time is over; infinite without a limit."""
        return np.inf if self.time_limit is None else self.time_limit - self.seconds

    def expansions_left(self, expansions: int, at_most: int) -> int:
        """Return how many expansions to do before the clock is read again.

        Args:
            expansions: the number of expansions so far.
            at_most: the length of a chunk.

        >>> Budget(time_limit=None, max_expansions=100).expansions_left(70, at_most=50)
        30
        """
        return at_most if self.max_expansions is None else min(at_most, self.max_expansions - expansions)

    def is_over(self, expansions: int) -> bool:
        """Return whether the search has to end.

        Args:
            expansions: the number of expansions so far.
        """
        return self.seconds_left <= 0 or (self.max_expansions is not None and expansions >= self.max_expansions)


def count_costs(paths: NDArray[np.int32], goals: NDArray[np.int32], on_target: str) -> NDArray[np.int64]:
    """Return the cost of each agent, int64 (N,): the step of its arrival, as `multigrid.core.metrics` counts it.

    Under *stay* it is the first step of the last stay on the target, and at least 1.

    Args:
        paths: int32 (T + 1, N), as in `Found`, after which each agent has arrived.
        goals: int32 (N,).
        on_target: the rule.

    >>> count_costs(np.array([[7], [8], [7], [8]]), np.array([8]), "stay").tolist()
    [3]
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

    The number of expansions of a call depends on the speed of the machine; the result must not depend on it.

    Args:
        run: does up to a given number of expansions; returns how many, and whether its caller has something to do
            before the next ones.
        budget: what the search may use.
        done: the number of expansions so far.
        count: the number of expansions to do.

    Returns:
        The number of expansions done.

    >>> run_chunks(lambda count: (count, False), Budget(None, 30).start(), 10, 100)
    20
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
