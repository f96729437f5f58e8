"""Worlds on several threads, which share them well, for kernels leave Python's lock alone.

A task is cut into pieces. The thread that calls, the leader, and the others, the followers, claim them one by one until
none is left. Then the leader waits, in compiled code, for the pieces that followers still play. So a task is done in
full when `_lead` returns, and no signal handler runs before. Nobody waits for a follower that sleeps or has died, for
such a one has claimed no piece.

To wake a thread takes longer than a step of a thousand worlds. So a follower that finds nothing to claim looks out for
the next task for a moment, in compiled code, before it goes to sleep.

Numba's own parallel loops are not used: with its OpenMP layer, a forked worker of a process that has run one is killed.
"""

from __future__ import annotations

import _thread
import os
import threading
import time
import weakref
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from multigrid.core.atomics import add, exchange_if, load, pause, store, yield_core
from multigrid.core.compiled import kernel
from multigrid.core.rules import commit, play_worlds, reset_ended_worlds, reset_worlds

__all__ = ["PLAY", "RESET", "RESET_ENDED", "Threads"]

PLAY, RESET, RESET_ENDED = range(3)
"""The tasks: `play_worlds`, `reset_worlds`, `reset_ended_worlds`."""

# The board, int64 (3, 16). Each row has cache lines of its own: threads that write to one line wait for each other, and
# processors fetch lines in pairs. A ticket is the task's number and, in its lower half, how many pieces are unclaimed.
_TICKET, _DONE, _TASK = range(3)
_KIND, _FIRST, _LAST, _PIECES, _MAP_INDEX = range(5)
_BOARD = (3, 16)
_UNCLAIMED = 2**32 - 1
_LAST_NUMBER = 2**31 - 1
_PIECES_A_THREAD = 8
"""Into how many pieces a thread's share is cut, so that no thread waits long for the last."""
_PATIENCE = 5000
"""How often a follower looks out before it sleeps. That is some tenths of a millisecond."""


@kernel
def _lead(address_table: Any, board: Any, task: Any, most_pieces: int) -> None:
    """Do a task, (kind, first world, the one after the last, map index), with whatever followers are awake."""
    kind, first, last, map_index = task
    pieces = min(most_pieces, last - first)
    board[_TASK, _KIND], board[_TASK, _FIRST], board[_TASK, _LAST] = kind, first, last
    board[_TASK, _PIECES], board[_TASK, _MAP_INDEX] = pieces, map_index
    store(board, _DONE, 0, 0)
    # Another number than the last task's, so that a follower that read the last ticket cannot claim with it.
    number = (load(board, _TICKET, 0) >> 32) + 1 & _LAST_NUMBER
    store(board, _TICKET, 0, (number << 32) + pieces)
    _claim(address_table, board)
    looks = 0
    while load(board, _DONE, 0) != pieces:
        looks += 1
        pause()
        if looks % _PATIENCE == 0:
            yield_core()
    if kind == RESET:
        commit(address_table)


@kernel
def _claim(address_table: Any, board: Any) -> bool:
    """Play pieces until none is unclaimed; return whether there was one."""
    found = False
    ticket = load(board, _TICKET, 0)
    while ticket & _UNCLAIMED > 0:
        if exchange_if(board, _TICKET, 0, ticket, ticket - 1):
            found = True
            # From here on the task stays as it is until this piece is done.
            _play_piece(address_table, board, (ticket & _UNCLAIMED) - 1)
            add(board, _DONE, 0, 1)
        ticket = load(board, _TICKET, 0)
    return found


@kernel
def _play_piece(address_table: Any, board: Any, piece: int) -> None:
    first, worlds = load(board, _TASK, _FIRST), load(board, _TASK, _LAST) - load(board, _TASK, _FIRST)
    pieces, kind = load(board, _TASK, _PIECES), load(board, _TASK, _KIND)
    begin, end = first + worlds * piece // pieces, first + worlds * (piece + 1) // pieces
    if kind == PLAY:
        play_worlds(address_table, begin, end)
    elif kind == RESET:
        reset_worlds(address_table, begin, end, load(board, _TASK, _MAP_INDEX))
    else:
        reset_ended_worlds(address_table, begin, end)


@kernel
def _follow(address_table: Any, board: Any) -> None:
    """Play pieces of whatever task there is, until there has been none for a moment."""
    looks = 0
    while looks < _PATIENCE:
        if _claim(address_table, board):
            looks = 0
        else:
            looks += 1
            pause()


class Threads:
    """Threads that are started when they are first needed, and again in a process that was forked since.

    Args:
        count: how many there are with the one that calls; above 1 only for compiled kernels.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._crew: _Crew | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self.count, "_crew": None}

    def run(self, address_tables: Sequence[Any], kind: int, worlds: tuple[int, int], map_index: int = 0) -> None:
        """Do `PLAY`, `RESET` or `RESET_ENDED` with some worlds; an exception is raised before or after all of it.

        Args:
            address_tables: of the worlds' arrays, one for each thread, with scratch of its own; the same at every call.
            kind: what to do.
            worlds: the first, and the one after the last.
            map_index: for `RESET`.
        """
        crew = self._crew
        if crew is None or crew.process != os.getpid() or not crew.is_alive():
            crew = self._crew = _Crew(address_tables)
        crew.run(kind, worlds, map_index)

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        crew, self._crew = self._crew, None
        if crew is not None and crew.process == os.getpid():
            crew.end()


class _Crew:
    """The threads of one process."""

    def __init__(self, address_tables: Sequence[Any]) -> None:
        self.process = os.getpid()
        self._address_table = address_tables[-1]
        self._most_pieces = _PIECES_A_THREAD * len(address_tables)
        self._board = np.zeros(_BOARD, dtype=np.int64)
        self._followers = [
            _Follower(address_table, self._board, k) for k, address_table in enumerate(address_tables[:-1])
        ]
        # Not an Event, in whose `wait` an exception of a signal handler leaves a lock behind.
        self._started: list[bool] = []
        self._finalizer = weakref.finalize(self, _dismiss, self._followers)
        # At exit the threads are daemons that end by themselves, and whoever steps once more then still finds them.
        self._finalizer.atexit = False
        # An exception of a signal handler would leave `Thread.start` half done. Signal handlers run on the main thread,
        # so another one starts them, which this call begins or does not.
        try:
            _thread.start_new_thread(_start, (self._followers, self._started))
        except RuntimeError:  # the system has no thread to give, or Python ends
            self._started.append(True)

    def run(self, kind: int, worlds: tuple[int, int], map_index: int) -> None:
        for follower in self._followers:
            if follower.sleeps:
                follower.sleeps = False
                follower.calls.put(True)
        _lead(self._address_table, self._board, (kind, *worlds, map_index), self._most_pieces)

    def is_alive(self) -> bool:
        return not any(follower.has_ended for follower in self._followers)

    def end(self) -> None:
        self._finalizer()
        while not self._started:
            time.sleep(0.001)
        for follower in self._followers:
            # The collector of garbage may close an env on any thread, and the system may have refused to start one.
            if follower.thread.ident is not None and follower.thread is not threading.current_thread():
                follower.thread.join()


class _Follower:
    """A thread that plays pieces of whatever task there is."""

    def __init__(self, address_table: Any, board: Any, k: int) -> None:
        self.sleeps = self.has_ended = False
        self.calls: SimpleQueue[bool] = SimpleQueue()
        self.thread = threading.Thread(
            target=self._work, args=(address_table, board), name=f"multigrid-{k}", daemon=True
        )

    def _work(self, address_table: Any, board: Any) -> None:
        try:
            while True:
                _follow(address_table, board)
                self.sleeps = True
                if not self.calls.get():
                    return
                self.sleeps = False
        finally:
            self.has_ended = True


def _start(followers: list[_Follower], started: list[bool]) -> None:
    """Start the threads, or as many as the system gives: those that there are play everything. Then say so."""
    try:
        for follower in followers:
            follower.thread.start()
    except RuntimeError:
        pass
    finally:
        started.append(True)


def _dismiss(followers: list[_Follower]) -> None:
    for follower in followers:
        follower.calls.put(False)
