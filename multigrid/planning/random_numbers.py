"""Random numbers of the planners' kernels: a congruential generator of 32 bits, without arithmetic that wraps around.

The planners break ties with it; the random streams of the game are `multigrid.runtime.pcg64`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.planning.compiled import inlined

__all__ = ["draw_below", "draw_bits", "make_generator"]

# Constants of the 32-bit generator in O'Neill, "PCG", 2014; the product with a state stays below 2**62.
_FACTOR, _SUMMAND, _MASK = 747796405, 2891336453, 0xFFFFFFFF
_LOW_BITS = 16


def make_generator(seed: int) -> NDArray[np.int64]:
    """Return the state of a generator, int64 (1,).

    >>> int(draw_below(make_generator(3), 100)) < 100
    True
    """
    return np.random.SeedSequence(seed).generate_state(1).astype(np.int64)


@inlined
def draw_bits(generator: Any) -> Any:
    """Return a number from 0 to 65,535, and advance the generator."""
    generator[0] = (generator[0] * _FACTOR + _SUMMAND) & _MASK
    return generator[0] >> _LOW_BITS


@inlined
def draw_below(generator: Any, number: int) -> Any:
    """Return a number from 0 to `number` - 1, which is at most 65,536, and advance the generator."""
    return (draw_bits(generator) * number) >> _LOW_BITS
