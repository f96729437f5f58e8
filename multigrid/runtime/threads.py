"""Run kernels on several threads, in parallel because kernels release Python's lock.

A task is divided into pieces. The calling thread, the leader, and the other threads, the followers, claim them one by
one until none is left, all in one kernel of the game, such as `multigrid.core.tasks.play_tasks`. Then the leader waits,
in compiled code, for the pieces that followers still play. So the task is complete when the kernel returns, and no
signal handler runs before. The leader does not wait for a follower that sleeps or has died, for such a follower has
claimed no piece.

Waking a thread takes longer than a step of a thousand worlds. So an idle follower spins in compiled code for a moment
before it sleeps.

Numba's parallel loops are not used: with its OpenMP layer, forked workers of a process that has run one are killed.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

PLAY, RESET, RESET_ENDED, WRITE = range(4)
"""The tasks: step worlds, reset all or those that are over, each with their observations; or write an array."""

# The board, int64 (3, 16), describes the task. Each row has its own pair of cache lines, for threads that write to one
# line slow each other down. A ticket is the task's number and, in its lower half, the number of unclaimed pieces.
TICKET, DONE, TASK = range(3)
KIND, FIRST, LAST, PIECES, TO, SOURCE = range(6)
ZEROS = 0
"""In place of the address of a source."""
_BOARD = (3, 16)
_PIECES_A_THREAD = 8
"""The number of pieces for each thread; more than one, so that no thread waits long for the last piece."""

_here = threading.local()
"""With an attribute `is_own` in the threads of this module."""


def _play_until_idle(play_tasks: Any, address_table: Any, board: Any) -> None:
    play_tasks(address_table, board, PLAY, 0, 0, 0)


class Threads:
    """Threads that are started when they are first needed, and again in a forked process.

    They run a kernel that plays pieces of tasks. `count` includes the calling thread, and is 1 where Python runs the
    kernel.
    """

    def __init__(self, play_tasks: Any, count: int) -> None:
        self.count = count
        self._play_tasks = play_tasks
        self._pool: _Pool | None = None

    def run(self, tables: Sequence[Any], kind: int, part: tuple[int, int], at: tuple[int, int] = (0, 0)) -> None:
        """Run a task on worlds, or for `WRITE` on bytes; exceptions of signal handlers are raised before or after it.

        `tables` has an address table for each thread, which differ in the scratch; it is the same at every call. For
        `WRITE`, `at` is the address to write to, and that of the source, or `ZEROS`.
        """
        pool = self._pool
        if pool is None or pool.process != os.getpid() or not pool.is_alive():
            pool = self._pool = _Pool(self._play_tasks, tables)
        if kind == WRITE:
            # No follower reads these before the next task.
            pool.board[TASK, TO : SOURCE + 1] = at
        pool.run(kind, part)

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None and pool.process == os.getpid():
            pool.end()


class _Pool:
    """The threads of one process."""

    def __init__(self, play_tasks: Any, address_tables: Sequence[Any]) -> None:
        self._play_tasks = play_tasks
        self.process = os.getpid()
        self._address_table = address_tables[-1]
        self._most_pieces = _PIECES_A_THREAD * len(address_tables)
        self.board = np.zeros(_BOARD, dtype=np.int64)
        self._followers = [
            _Follower(play_tasks, address_table, self.board, k) for k, address_table in enumerate(address_tables[:-1])
        ]
        # Not an Event: an exception of a signal handler in its `wait` would leave a lock held.
        self._started: list[bool] = []
        self._finalizer = weakref.finalize(self, _end_followers, self._followers)
        # At exit the threads end as daemons, so an exit handler can still step.
        self._finalizer.atexit = False
        # An exception of a signal handler could interrupt `Thread.start`. Signal handlers run on the main thread, so
        # another thread calls it.
        try:
            _thread.start_new_thread(_start_followers, (self._followers, self._started))
        except RuntimeError:  # the system has no thread to give, or Python ends
            self._started.append(True)

    def run(self, kind: int, part: tuple[int, int]) -> None:
        for follower in self._followers:
            if follower.sleeps:
                follower.sleeps = False
                follower.calls.put(True)
        self._play_tasks(self._address_table, self.board, kind, *part, self._most_pieces)

    def is_alive(self) -> bool:
        return not any(follower.has_ended for follower in self._followers)

    def end(self) -> None:
        self._finalizer()
        # Garbage collection may close an env on a thread of its own, or of another env that is closed there: none of
        # them waits for another. Nor is a daemon waited for while Python ends, for it never runs again.
        if hasattr(_here, "is_own"):
            return
        while not self._started and not sys.is_finalizing():
            time.sleep(0.001)
        for follower in self._followers:
            # The system may have refused to start one.
            if follower.thread.ident is not None and not sys.is_finalizing():
                follower.thread.join()


class _Follower:
    """A thread that plays pieces of tasks."""

    def __init__(self, play_tasks: Any, address_table: Any, board: Any, k: int) -> None:
        self.sleeps = self.has_ended = False
        self.calls: SimpleQueue[bool] = SimpleQueue()
        self.thread = threading.Thread(
            target=self._work, args=(play_tasks, address_table, board), name=f"multigrid-{k}", daemon=True
        )

    def _work(self, play_tasks: Any, address_table: Any, board: Any) -> None:
        _here.is_own = True
        try:
            while True:
                _play_until_idle(play_tasks, address_table, board)
                self.sleeps = True
                if not self.calls.get():
                    return
                self.sleeps = False
        finally:
            self.has_ended = True


def _start_followers(followers: list[_Follower], started: list[bool]) -> None:
    """Start as many of the threads as the system permits, then append to `started`; the others have no work."""
    _here.is_own = True
    try:
        for follower in followers:
            follower.thread.start()
    except RuntimeError:
        pass
    finally:
        started.append(True)


def _end_followers(followers: list[_Follower]) -> None:
    for follower in followers:
        follower.calls.put(False)
