"""What all searches have in common: the budget that they get, and the result that they give.

A search is a function of plain data, ``search(graph, starts, goals, *, on_target, horizon, budget, seed) -> Found``:

- ``graph``: a `multigrid.planning.graph.Graph`; ``starts`` and ``goals``: int32 (N,), cells of it.
- ``on_target``: "stay", "leave" or "park", as in `multigrid.core.rules`.
- ``horizon``: the largest makespan of a plan, or None; ``budget``: a started `Budget`; ``seed``: breaks ties.

No two agents are in one cell at the same time, and no two swap their cells; following and cycles are allowed.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Budget", "Found", "Rule", "Status"]

Status = Literal["optimal", "feasible", "unsolvable", "unknown"]
Rule = Literal["stay", "leave", "park"]


class Found(NamedTuple):
    """The result of a search."""

    paths: NDArray[np.int32] | None
    """int32 (T + 1, N): the cell of each agent after each step, -1 from the step after it has left; or None."""
    lower_bound: int
    """No plan has a smaller sum of costs."""
    status: Status
    """*optimal*: the sum of costs is the lower bound; *feasible*: it may be more; *unsolvable*: there is no plan within
    the horizon; *unknown*: none was found."""
    expansions: int
    """The number of nodes that were expanded."""


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
        """Return how many expansions to do before the next look at the clock.

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
