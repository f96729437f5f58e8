"""Seeds, sampling and observations, for training with any library."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core.metrics import LABELS
from multigrid.game import describe

__all__ = ["FIRST_TRAINING_SEED", "SUMMED", "list_metrics", "map_parts", "sample_rows", "training_seed"]

FIRST_TRAINING_SEED = 1_000_000
"""The smallest seed of a world in training; smaller seeds are for evaluation, on episodes that no training plays."""

SUMMED = tuple(name for name in LABELS if name != "csr")
"""The metrics that trainings sum over episodes; the sum of the CSR is the number of successes."""


def list_metrics(config: GridConfig) -> tuple[str, ...]:
    """Return the names of the metrics of a whole episode: those of `multigrid.core.metrics`, then those of the game.

    >>> list_metrics(GridConfig())
    ('csr', 'isr', 'sum_of_costs', 'makespan', 'throughput')
    """
    return tuple(LABELS) if config.game is None else (*LABELS, *describe(config.game).metrics)


def training_seed(*entropy: int, worlds: int = 0) -> int:
    """Return a seed for the first world of a training, far from the seeds for other entropy (integers from 0 on).

    `worlds` is the number of further seeds after it that are used; all of them are below 2**32.

    >>> training_seed(0), training_seed(0, 1)
    (2969811710, 3965924996)
    """
    room = 2**32 - FIRST_TRAINING_SEED - worlds
    return FIRST_TRAINING_SEED + int(np.random.SeedSequence(entropy).generate_state(1)[0]) % room


def map_parts(function: Callable[[NDArray[Any]], NDArray[Any]], observations: Any) -> Any:
    """Return observations, a dict of parts or an array, with a function applied to each array.

    >>> map_parts(np.copy, {"agent": np.array([3, 1])})
    {'agent': array([3, 1])}
    """
    if isinstance(observations, dict):
        return {part: function(rows) for part, rows in observations.items()}
    return function(observations)


def sample_rows(probabilities: NDArray[np.float64], generator: np.random.Generator) -> list[int]:
    """Sample an index from each row of a matrix of probabilities (K, A).

    Trained agents sample actions, because with the most probable ones two agents that block each other would repeat
    their blocked moves forever. The sum of a row need not be exactly 1.

    >>> sample_rows(np.array([[0.0, 1.0], [0.5, 0.0]]), np.random.default_rng(0))
    [1, 0]
    """
    thresholds = probabilities.cumsum(axis=1)
    marks = generator.random((len(probabilities), 1)) * thresholds[:, -1:]
    indices: list[int] = (thresholds <= marks).sum(axis=1).tolist()
    return indices


def check_hidden(sizes: Any, *, recurrent: bool) -> tuple[int, ...]:
    """Return the sizes of hidden layers; raise a ValueError unless they are a list of integers of at least 1.

    A recurrent network has at least one: an LSTM in place of the first one.
    """
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 1 for size in sizes):
        raise ValueError(f"hidden is {sizes!r}; expected a list of layers of at least 1")
    if recurrent and not sizes:
        raise ValueError("hidden is empty; expected the size of the LSTM of a recurrent network, and then of layers")
    return tuple(sizes)


def count_weights(grid: GridConfig, hidden: tuple[int, ...], *, recurrent: bool) -> int:
    """Return the number of weights of the policy network and the value network together."""
    sizes = [sum(math.prod(shape) for shape in grid.part_shapes.values()), *hidden]
    layers = sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(sizes))
    if recurrent:
        # The four gates of an LSTM also see its last output, and have two biases each.
        layers += sizes[1] * (4 * (sizes[0] + sizes[1] + 2) - (sizes[0] + 1))
    return 2 * layers + (sizes[-1] + 1) * (grid.num_actions + 1)
