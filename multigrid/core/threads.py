"""Worlds on several threads, which share them well, for kernels leave Python's lock alone.

To wake a thread takes longer than a step of a thousand worlds. So a thread that has done its part looks out for the
next one for a moment, in compiled code, before it goes to sleep; and so does the one that waits for the others.

Numba's own parallel loops are not used: with its OpenMP layer, a forked worker of a process that has run one is killed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from multigrid.core.compiled import kernel
from multigrid.core.rules import play_worlds, reset_over_worlds, reset_worlds
from multigrid.core.shared import load, pause, store

__all__ = ["PLAY", "RESET", "RESET_OVER", "Threads"]

PLAY, RESET, RESET_OVER = range(3)
"""What there is to do: `play_worlds`, `reset_worlds`, `reset_over_worlds`."""

# An order: how many there have been and how many of them are done, and what is to be done with which worlds.
_GIVEN, _DONE, _TASK, _FIRST, _LAST, _MAP_INDEX, _BY_HAND = range(7)
# Two threads that write to one line of the cache wait for each other, and processors fetch lines in pairs.
_ORDER_WIDTH = 16
_PATIENCE = 5000
"""How often a thread looks out before it sleeps. That is some tenths of a millisecond."""


@kernel
def _lead(table: Any, orders: Any, task: int, worlds: Any, layout: Any) -> bool:
    """Divide the worlds among the threads, do the last part, and tell whether all is done."""
    count = orders.shape[0]
    first, last = worlds
    for k in range(count):
        orders[k, _TASK] = task
        orders[k, _MAP_INDEX], orders[k, _BY_HAND] = layout[0], int(layout[1])
        orders[k, _FIRST] = first + (last - first) * k // count
        orders[k, _LAST] = first + (last - first) * (k + 1) // count
        store(orders, k, _GIVEN, orders[k, _GIVEN] + 1)
    _carry_out(table, orders, count - 1)
    store(orders, count - 1, _DONE, orders[count - 1, _GIVEN])
    return _are_done(orders)


@kernel
def _are_done(orders: Any) -> bool:
    """Look out for a moment for the threads to have done what they were given."""
    for k in range(orders.shape[0]):
        looks = 0
        while load(orders, k, _DONE) != orders[k, _GIVEN]:
            looks += 1
            if looks == _PATIENCE:
                return False
            pause()
    return True


@kernel
def _follow(table: Any, orders: Any, k: int) -> None:
    """Carry out what thread k is given, until it has been given nothing for a moment."""
    looks = 0
    while looks < _PATIENCE:
        given = load(orders, k, _GIVEN)
        if given == orders[k, _DONE]:
            looks += 1
            pause()
        else:
            _carry_out(table, orders, k)
            store(orders, k, _DONE, given)
            looks = 0


@kernel
def _carry_out(table: Any, orders: Any, k: int) -> None:
    task, first, last = orders[k, _TASK], orders[k, _FIRST], orders[k, _LAST]
    if task == PLAY:
        play_worlds(table, first, last)
    elif task == RESET:
        reset_worlds(table, first, last, orders[k, _MAP_INDEX], orders[k, _BY_HAND] != 0)
    else:
        reset_over_worlds(table, first, last)


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

    def run(
        self, handles: Sequence[Any], task: int, worlds: tuple[int, int], layout: tuple[int, bool] = (0, False)
    ) -> None:
        """Do `PLAY`, `RESET` or `RESET_OVER` with some worlds, a part of them on each thread.

        Args:
            handles: of the worlds' arrays, one for each thread, with scratch of its own; the same at every call.
            task: what to do.
            worlds: the first, and the one after the last.
            layout: for `RESET`, its map index and whether the layout is set by hand.
        """
        if self._crew is None or self._crew.process != os.getpid() or not self._crew.is_alive():
            self._crew = _Crew(handles)
        self._crew.run(task, worlds, layout)

    def close(self) -> None:
        """End the threads; the next run starts new ones."""
        if self._crew is not None and self._crew.process == os.getpid():
            self._crew.end()
        self._crew = None


class _Crew:
    """The threads of one process."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.process = os.getpid()
        self._handle = handles[-1]
        self._orders = np.zeros((len(handles), _ORDER_WIDTH), dtype=np.int64)
        self._followers: list[_Follower] = []
        self._finalizer = weakref.finalize(self, _dismiss, self._followers)
        # At exit the threads are daemons that end by themselves, and whoever steps once more then still finds them.
        self._finalizer.atexit = False
        try:
            for k, handle in enumerate(handles[:-1]):
                self._followers.append(_Follower(handle, self._orders, k))
        except BaseException:
            self._finalizer()
            raise

    def run(self, task: int, worlds: tuple[int, int], layout: tuple[int, bool]) -> None:
        self._wake()
        try:
            if not _lead(self._handle, self._orders, task, worlds, layout):
                self._wait()
        except KeyboardInterrupt:
            # What has begun is done in full all the same, however often Ctrl-C is pressed meanwhile.
            while not _are_done(self._orders):
                with contextlib.suppress(KeyboardInterrupt):
                    self._wait()
            raise

    def is_alive(self) -> bool:
        return all(follower.thread.is_alive() for follower in self._followers)

    def _wait(self) -> None:
        while not _are_done(self._orders):
            if not self.is_alive():
                raise RuntimeError("a thread that plays worlds has died, and its worlds stand still; make the env anew")
            self._wake()
            time.sleep(0)

    def _wake(self) -> None:
        for follower in self._followers:
            if follower.sleeps:
                follower.calls.put(True)

    def end(self) -> None:
        self._finalizer()
        for follower in self._followers:
            # The collector of garbage may close an env on any thread.
            if follower.thread is not threading.current_thread():
                follower.thread.join()


class _Follower:
    """A thread that does its part of whatever is given."""

    def __init__(self, handle: Any, orders: Any, k: int) -> None:
        self.sleeps = False
        self.calls: SimpleQueue[bool] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, args=(handle, orders, k), name=f"multigrid-{k}", daemon=True)
        self.thread.start()

    def _work(self, handle: Any, orders: Any, k: int) -> None:
        while True:
            _follow(handle, orders, k)
            # Said before it looks once more: whoever gives an order after this look sees it asleep, and calls.
            self.sleeps = True
            if orders[k, _GIVEN] == orders[k, _DONE] and not self.calls.get():
                return
            self.sleeps = False


def _dismiss(followers: list[_Follower]) -> None:
    for follower in followers:
        follower.calls.put(False)
