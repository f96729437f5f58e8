"""Run kernels on several threads, in parallel because kernels release Python's lock.

A task is divided into pieces. The calling thread, the leader, and the other threads, the followers, claim them one by
one until none is left. Then the leader waits, in compiled code, for the pieces that followers still play. So the task
is complete when `_play_tasks` returns, and no signal handler runs before. The leader does not wait for a follower that
sleeps or has died, for such a follower has claimed no piece.

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
from numpy.typing import NDArray

from multigrid.core.observe import observe_any_worlds
from multigrid.core.rules import play_worlds, reset_ended_worlds, reset_worlds
from multigrid.runtime.atomics import add, exchange_if, load, pause, store, yield_core
from multigrid.runtime.compiled import inlined, kernel
from multigrid.runtime.raw_memory import clear_memory, copy_memory

__all__ = ["PLAY", "RESET", "RESET_ENDED", "Threads"]

PLAY, RESET, RESET_ENDED, _WRITE = range(4)
"""The tasks: `play_worlds`, `reset_worlds`, `reset_ended_worlds`, each with the observations; and to write an array."""

# The board, int64 (3, 16), describes the task. Each row has its own pair of cache lines, for threads that write to one
# line slow each other down. A ticket is the task's number and, in its lower half, the number of unclaimed pieces.
_TICKET, _DONE, _TASK = range(3)
_KIND, _FIRST, _LAST, _PIECES, _MAP_INDEX, _TO, _SOURCE = range(7)
_ZEROS = 0
"""In place of the address of a source."""
_BOARD = (3, 16)
_UNCLAIMED_MASK, _NUMBER_MASK = 2**32 - 1, 2**31 - 1
_PIECES_A_THREAD = 8
"""The number of pieces for each thread; more than one, so that no thread waits long for the last piece."""
_SPINS = 5000
"""The spins of an idle follower before it sleeps: some tenths of a millisecond."""

_here = threading.local()
"""With an attribute `is_own` in the threads of this module."""


@kernel
def _play_tasks(  # noqa: PLR0917 - kernels have no keywords
    address_table: Any, board: Any, kind: int, first: int, last: int, map_index: int, most_pieces: int
) -> None:
    """Play pieces of tasks: as the leader of one, or, if `most_pieces` is 0, as a follower.

    The leader begins a task on worlds, or bytes, first .. last - 1, and returns when all of its pieces are done. A
    follower returns when there has been no piece for `_SPINS` spins. Both are one kernel, for each would compile the
    whole game.
    """
    pieces = min(most_pieces, last - first)
    if pieces > 0:
        board[_TASK, _KIND], board[_TASK, _FIRST], board[_TASK, _LAST] = kind, first, last
        board[_TASK, _PIECES], board[_TASK, _MAP_INDEX] = pieces, map_index
        store(board, _DONE, 0, 0)
        # A new number, so that a follower that has read the last ticket cannot claim with it.
        number = ((load(board, _TICKET, 0) >> 32) + 1) & _NUMBER_MASK
        store(board, _TICKET, 0, (number << 32) + pieces)
    spins = 0
    while pieces > 0 or spins < _SPINS:
        ticket = load(board, _TICKET, 0)
        if ticket & _UNCLAIMED_MASK > 0:
            if exchange_if(board, _TICKET, 0, ticket, ticket - 1):
                # The task cannot change until this piece is done.
                _play_piece(address_table, board, (ticket & _UNCLAIMED_MASK) - 1)
                add(board, _DONE, 0, 1)
                spins = 0
        elif pieces > 0 and load(board, _DONE, 0) == pieces:
            break
        else:
            spins += 1
            pause()
            if pieces > 0 and spins % _SPINS == 0:
                yield_core()


@inlined
def _play_piece(address_table: Any, board: Any, piece: int) -> None:
    first, worlds = load(board, _TASK, _FIRST), load(board, _TASK, _LAST) - load(board, _TASK, _FIRST)
    pieces, kind = load(board, _TASK, _PIECES), load(board, _TASK, _KIND)
    begin, end = first + worlds * piece // pieces, first + worlds * (piece + 1) // pieces
    if kind == _WRITE:
        to, source = load(board, _TASK, _TO) + begin, load(board, _TASK, _SOURCE)
        if source == _ZEROS:
            clear_memory(to, end - begin)
        else:
            copy_memory(to, source + begin, end - begin)
        return
    if kind == PLAY:
        play_worlds(address_table, begin, end)
    elif kind == RESET:
        reset_worlds(address_table, begin, end, load(board, _TASK, _MAP_INDEX))
    else:
        reset_ended_worlds(address_table, begin, end)
    observe_any_worlds(address_table, begin, end)


def _play_until_idle(address_table: Any, board: Any) -> None:
    """Play pieces as a follower."""
    _play_tasks(address_table, board, PLAY, 0, 0, 0, 0)


class Threads:
    """Threads that are started when they are first needed, and again in a forked process.

    Args:
        count: the number of threads, with the calling one; above 1 only for compiled kernels.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: _Pool | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self.count, "_pool": None}

    def run(self, address_tables: Sequence[Any], kind: int, worlds: tuple[int, int], map_index: int = 0) -> None:
        """Run a task; exceptions of signal handlers are raised before or after it.

        Args:
            address_tables: one of the worlds' arrays for each thread, with its own scratch; the same at every call.
            kind: `PLAY`, `RESET` or `RESET_ENDED`.
            worlds: the first, and the one after the last.
            map_index: for `RESET`.
        """
        self._get_pool(address_tables).run(kind, worlds, map_index)

    def write(self, address_tables: Sequence[Any], to: NDArray[Any], source: NDArray[Any] | None) -> None:
        """Copy an array into another one of equal size, or fill it with zeros; both are C-contiguous.

        Args:
            address_tables: as for `run`.
            to: the array to write.
            source: the array to copy, of the same dtype; None for zeros.
        """
        self._get_pool(address_tables).write(to, source)

    def _get_pool(self, address_tables: Sequence[Any]) -> _Pool:
        pool = self._pool
        if pool is None or pool.process != os.getpid() or not pool.is_alive():
            pool = self._pool = _Pool(address_tables)
        return pool

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None and pool.process == os.getpid():
            pool.end()


class _Pool:
    """The threads of one process."""

    def __init__(self, address_tables: Sequence[Any]) -> None:
        self.process = os.getpid()
        self._address_table = address_tables[-1]
        self._most_pieces = _PIECES_A_THREAD * len(address_tables)
        self._board = np.zeros(_BOARD, dtype=np.int64)
        self._followers = [
            _Follower(address_table, self._board, k) for k, address_table in enumerate(address_tables[:-1])
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

    def run(self, kind: int, worlds: tuple[int, int], map_index: int) -> None:
        for follower in self._followers:
            if follower.sleeps:
                follower.sleeps = False
                follower.calls.put(True)
        _play_tasks(self._address_table, self._board, kind, *worlds, map_index, self._most_pieces)

    def write(self, to: NDArray[Any], source: NDArray[Any] | None) -> None:
        # No follower reads these before the next task.
        self._board[_TASK, _TO] = to.ctypes.data
        self._board[_TASK, _SOURCE] = _ZEROS if source is None else source.ctypes.data
        self.run(_WRITE, (0, to.nbytes), 0)

    def is_alive(self) -> bool:
        return not any(follower.has_ended for follower in self._followers)

    def end(self) -> None:
        self._finalizer()
        # Garbage collection may close an env on a thread of its own, or of another env that is closed there: none of
        # them waits for another. Nor can anybody wait for a daemon while Python ends, for it never runs again.
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

    def __init__(self, address_table: Any, board: Any, k: int) -> None:
        self.sleeps = self.has_ended = False
        self.calls: SimpleQueue[bool] = SimpleQueue()
        self.thread = threading.Thread(
            target=self._work, args=(address_table, board), name=f"multigrid-{k}", daemon=True
        )

    def _work(self, address_table: Any, board: Any) -> None:
        _here.is_own = True
        try:
            while True:
                _play_until_idle(address_table, board)
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
