"""Means over episodes, with 95 % confidence intervals.

- A metric that is 0 or 1 in every episode, such as success, gets Wilson's score interval (Wilson, JASA 1927), which
  stays within 0 and 1 and is not empty where all episodes agree (Brown, Cai and DasGupta, Statistical Science 2001).
- Any other metric gets the percentile bootstrap over episodes (Efron 1979; Agarwal et al., NeurIPS 2021). The resamples
  come from a generator with a fixed seed, so that equal episodes give equal intervals. Where all values are equal, all
  resamples are, too, and say nothing of other episodes: then there is no interval.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNDEFINED", "Estimate", "bootstrap", "wilson"]

_RESAMPLES = 2000
_TAIL = 2.5
# The 97.5 % quantile of the normal distribution.
_Z = 1.959963984540054


class Estimate(NamedTuple):
    """A mean and its 95 % confidence interval; all NaN if the mean is undefined."""

    mean: float
    """The mean over episodes."""
    low: float
    """The lower end; NaN if there is no interval: for one number, and for a bootstrap of equal numbers."""
    high: float
    """The upper end."""


UNDEFINED = Estimate(math.nan, math.nan, math.nan)
"""The estimate of an undefined mean."""


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
    # Rounding must not move an end past the mean if all episodes agree.
    return Estimate(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)))


def bootstrap(values: NDArray[np.float64]) -> Estimate:
    """Return the mean, and the middle 95 % of the means of resamples; no interval if all values are equal.

    Args:
        values: float64 (K,), K at least 1.

    >>> estimate = bootstrap(np.arange(100.0))
    >>> estimate.mean, 43 < estimate.low < 45, 54 < estimate.high < 56
    (49.5, True, True)
    >>> bootstrap(np.ones(100))
    Estimate(mean=1.0, low=nan, high=nan)
    """
    mean = float(values.mean())
    if values.min() == values.max():
        return Estimate(mean, math.nan, math.nan)
    generator = np.random.default_rng(0)
    means = [values[generator.integers(len(values), size=len(values))].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [_TAIL, 100 - _TAIL])
    return Estimate(mean, float(low), float(high))
