"""Kernels on several threads, which they share well, for they leave Python's lock alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["Threads"]


class Threads:
    """Threads that are started when they are first needed, and again in a process that was forked since.

    Numba's own parallel loops are not used: with its OpenMP layer, a forked worker of a process that has run one is
    killed.

    >>> Threads(2).run([lambda: 1, lambda: 2])
    [1, 2]
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self.count, "_pool": None, "_process": 0}

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make all calls, the last of them on this thread, and return what they return."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.count - 1, thread_name_prefix="multigrid")
            self._process = os.getpid()
        begun = [self._pool.submit(call) for call in calls[:-1]]
        own = calls[-1]()
        return [*(call.result() for call in begun), own]

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None
