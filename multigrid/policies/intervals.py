"""Means over episodes, with the 95 % confidence intervals that belong to them.

- What is 0 or 1 in every episode, as success is, gets Wilson's score interval (Wilson, JASA 1927), which stays within
  0 and 1 and is not empty where all episodes agree (Brown, Cai and DasGupta, Statistical Science 2001).
- Everything else gets the percentile bootstrap over episodes (Efron 1979; Agarwal et al., NeurIPS 2021), from resamples
  that a fixed seed draws, so that the same episodes give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MEASURES", "Estimate", "bootstrap", "estimates", "measured", "wilson"]

MEASURES = ("success", "csr", "isr", "sum_of_costs", "makespan", "throughput")
"""What is told of an episode: whether all its agents arrived, and the figures of `multigrid.core.metrics`."""

_YES_OR_NO = ("success", "csr")
_RESAMPLES = 2000
_TAIL = 2.5
# The quantile of the normal distribution that leaves 2.5 % above it.
_Z = 1.959963984540054


class Estimate(NamedTuple):
    """A mean and its 95 % confidence interval; all NaN for what is not defined."""

    mean: float
    """The mean over episodes."""
    low: float
    """The lower end; NaN for the mean of one number, of which there is no telling."""
    high: float
    """The upper end."""


def measured(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return an episode's `MEASURES` from what `MultiGridEnv.metrics` returned.

    >>> from multigrid import parallel_env
    >>> env = parallel_env(walls="a.A", max_cycles=9)
    >>> _ = env.reset(), env.step({"agent_0": 0}), env.step({"agent_0": 0})
    >>> measured(env.metrics())["success"], measured(env.metrics())["makespan"]
    (1.0, 2.0)
    """
    told = {name: float(metrics[name]) for name in MEASURES[1:]}
    # Under *restart* nobody is ever done.
    return {"success": math.nan if math.isnan(told["csr"]) else float(metrics["success"].all()), **told}


def estimates(episodes: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """Return the estimate of each measure over at least one episode.

    >>> one = {"success": 1.0, "csr": 1.0, "isr": 1.0, "sum_of_costs": 7.0, "makespan": 4.0, "throughput": float("nan")}
    >>> estimates([one, one])["sum_of_costs"]
    Estimate(mean=7.0, low=7.0, high=7.0)
    """
    found = {}
    for name in MEASURES:
        values = np.array([episode[name] for episode in episodes], dtype=np.float64)
        if np.isnan(values).any():
            found[name] = Estimate(math.nan, math.nan, math.nan)
        else:
            found[name] = wilson(values) if name in _YES_OR_NO else bootstrap(values)
    return found


def wilson(values: NDArray[np.float64]) -> Estimate:
    """Return the mean of zeros and ones, and Wilson's interval.

    Args:
        values: float64 (K,), K at least 1.

    >>> [round(number, 3) for number in wilson(np.array([1.0, 1.0, 1.0, 0.0]))]
    [0.75, 0.301, 0.954]
    """
    count, mean = len(values), float(values.mean())
    share = _Z**2 / count
    centre = (mean + share / 2) / (1 + share)
    half = math.sqrt(mean * (1 - mean) * share + share**2 / 4) / (1 + share)
    # Rounding must not push an end past the mean of episodes that all agree.
    return Estimate(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)))


def bootstrap(values: NDArray[np.float64]) -> Estimate:
    """Return the mean, and the middle 95 % of the means of resamples.

    Args:
        values: float64 (K,), K at least 1.

    >>> estimate = bootstrap(np.arange(100.0))
    >>> estimate.mean, 43 < estimate.low < 45, 54 < estimate.high < 56
    (49.5, True, True)
    """
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, math.nan, math.nan)
    generator = np.random.default_rng(0)
    means = [values[generator.integers(len(values), size=len(values))].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [_TAIL, 100 - _TAIL])
    return Estimate(mean, float(low), float(high))
