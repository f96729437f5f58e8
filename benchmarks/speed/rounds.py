"""Time rounds of calls, with the standard library alone: `benchmarks` also runs this in other Python installations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["play_round"]


def play_round(step: Callable[[], Any], limit: float) -> tuple[float, int]:
    """Call a function repeatedly until a time limit, and measure the time.

    Args:
        step: the function, which is called at least once.
        limit: the time limit in seconds.

    Returns:
        The seconds that the calls took, and their number.

    >>> seconds, calls = play_round(lambda: None, 0.01)
    >>> seconds >= 0.01, calls > 1
    (True, True)
    """
    calls, before = 0, time.perf_counter()
    while True:
        step()
        calls += 1
        seconds = time.perf_counter() - before
        if seconds >= limit:
            return seconds, calls
