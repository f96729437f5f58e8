"""What trainings with different libraries share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIRST_TRAINING_SEED", "sample_rows"]

FIRST_TRAINING_SEED = 1_000_000
"""The least seed that a training gives a world; seeds below are for evaluation, on episodes that no training plays."""


def sample_rows(probabilities: NDArray[np.float64], generator: np.random.Generator) -> list[int]:
    """Sample an index from each of K distributions over A indices, by the inverse of the cumulative distribution.

    Trained agents sample their actions and do not take the likeliest: two that block one another, both doing what is
    likeliest, would stand there for ever.

    Args:
        probabilities: float64 (K, A), at least 0; the sum of a row need not be exactly 1.
        generator: for the draws.

    >>> sample_rows(np.array([[0.0, 1.0], [0.5, 0.0]]), np.random.default_rng(0))
    [1, 0]
    """
    thresholds = probabilities.cumsum(axis=1)
    marks = generator.random((len(probabilities), 1)) * thresholds[:, -1:]
    indices: list[int] = (thresholds <= marks).sum(axis=1).tolist()
    return indices
