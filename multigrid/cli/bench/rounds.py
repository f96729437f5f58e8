"""Rounds of calls, timed. It imports the standard library alone, for `benchmarks` runs it in other Pythons, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["play_round"]


def play_round(step: Callable[[], Any], limit: float) -> tuple[float, int]:
    """Call a function until a time is over.

    Args:
        step: what to call, at least once.
        limit: seconds.

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
