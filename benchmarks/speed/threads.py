"""Compare two threads with one, on idle cores and on cores that another process keeps busy."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

from benchmarks.speed.cases import CROWDS, Case, limited_config
from benchmarks.speed.plays import vector_play
from benchmarks.speed.processes import JsonProcess
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = ["BUSY", "QUIET", "busy_cores", "count_cores", "thread_cases"]

QUIET, BUSY = (8192, 16_384), (256, 1024, 8192)
"""The numbers of worlds that are measured on idle and on busy cores."""

_LEAST_QUIET, _LEAST_BUSY = 1.7, 0.9

# It ends with the process that started it, however that ends: then the end of its standard input is reached.
_SPIN = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print("true", flush=True)
while True:
    pass
"""


def thread_cases(counts: Sequence[int], *, busy: bool) -> list[Case]:
    """Return the cases of one and of two threads, for each of some numbers of worlds.

    Args:
        counts: the numbers of worlds.
        busy: whether they are to be measured inside `busy_cores`.
    """
    agents, size = CROWDS[0]
    where, goal = (", busy cores", _LEAST_BUSY) if busy else ("", _LEAST_QUIET)
    cases = []
    for worlds in counts:
        group = f"{worlds:,} worlds of {agents} agents{where}"
        one, two = (f"{count}, {worlds:,} worlds{where}" for count in ("1 thread", "2 threads"))
        plays = (
            vector_play(MultiGridVectorEnv(limited_config(agents, size), worlds, num_threads=count)) for count in (1, 2)
        )
        cases += [Case(one, group, next(plays), one), Case(two, group, next(plays), one, goal)]
    return cases


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy, each with a process that computes without end."""
    command, env = [sys.executable, "-c", _SPIN], dict(os.environ)
    with contextlib.ExitStack() as stack:
        spinning = [stack.enter_context(contextlib.closing(JsonProcess(command, env))) for _ in range(count_cores())]
        for process in spinning:
            process.read()
        yield
