"""Find the step from which an episode only repeats itself: a deadlock, or a livelock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Shorter repetitions occur by chance.
_LEAST_STEPS, _LEAST_ROUNDS = 10, 3
_LONGEST_CYCLE = 64


class Repetition(NamedTuple):
    """The end of an episode, in which a cycle of states repeats until the last step."""

    step: int  # the step after which the cycle begins
    period: int  # the number of steps of the cycle; 1 if nothing changes


def find_repetition(states: NDArray[np.int64]) -> Repetition | None:
    """Return the cycle in which the states, int64 (T + 1, K), repeat until the last one, or None.

    A repetition lasts for at least ten steps and three rounds; cycles of more than 64 steps are not found.

    >>> find_repetition(np.array([[7], *[[1], [2]] * 6]))
    Repetition(step=1, period=2)
    """
    last = len(states) - 1
    for period in range(1, min(_LONGEST_CYCLE, last // _LEAST_ROUNDS) + 1):
        if (states[last - period] != states[last]).any():
            continue
        differing = np.flatnonzero((states[period:] != states[:-period]).any(axis=1))
        step = int(differing[-1]) + 1 if len(differing) else 0
        if last - step >= max(_LEAST_STEPS, _LEAST_ROUNDS * period):
            return Repetition(step, period)
    return None
