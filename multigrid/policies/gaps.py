"""Gaps: by how much the sum of costs of an episode is above a bound that no plan can be below."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from multigrid.envs.parallel import MultiGridEnv
from multigrid.planning import Problem, bounds
from multigrid.policies.intervals import UNDEFINED, Estimate, bootstrap

__all__ = ["LowerBounds", "estimate_gap", "gap_of"]


class LowerBounds:
    r"""The lower bounds of the layouts that episodes begin with; equal layouts are bounded once.

    Args:
        seconds: the time for each layout.

    >>> from multigrid.config import GridConfig
    >>> env = MultiGridEnv(GridConfig(walls="a.A\n#..\nB.b", max_cycles=9))
    >>> _ = env.reset()
    >>> LowerBounds(seconds=1.0).of(env)
    4.0
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[tuple[bytes, ...], float] = {}

    def of(self, env: MultiGridEnv) -> float:
        """Return a sum of costs that no plan is below, from the present state of an environment.

        Raises:
            ValueError: the rules are not supported, see `multigrid.planning.solve`.
        """
        problem = Problem.of(env)
        key = tuple(array.tobytes() for array in (problem.walls, problem.starts, problem.targets))
        if key not in self._known:
            self._known[key] = bounds(problem, self._seconds).lower
        return self._known[key]


def gap_of(measures: Mapping[str, float], bound: float) -> float:
    """Return by which share the sum of costs of an episode is above a bound; NaN unless all agents arrived.

    Args:
        measures: as `multigrid.policies.evaluation.measure_episode` returns them.
        bound: no plan has a smaller sum of costs.

    >>> gap_of({"success": 1.0, "sum_of_costs": 10.0}, bound=8.0)
    0.25
    """
    return measures["sum_of_costs"] / bound - 1 if measures["success"] else math.nan


def estimate_gap(gaps: Sequence[float]) -> Estimate:
    """Return the mean of the gaps that are not NaN, with its 95 % confidence interval.

    >>> estimate_gap([0.25, float("nan"), 0.75])
    Estimate(mean=0.5, low=0.25, high=0.75)
    """
    values = np.array([gap for gap in gaps if not np.isnan(gap)])
    return bootstrap(values) if len(values) else UNDEFINED
