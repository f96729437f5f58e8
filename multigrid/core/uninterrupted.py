"""Compilation that a signal does not harm.

Numba is not prepared for an exception of a signal handler, KeyboardInterrupt for one, in the midst of its work: at some
places it loses a part of its own registries for good, and every later compilation fails. Signal handlers run in the
main thread, so the work is done in another one.
"""

from __future__ import annotations

import _thread
import functools
import threading
from collections.abc import Callable
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

__all__ = ["stop_here", "uninterrupted"]

_POLL_SECONDS = 0.1
"""Seconds after which the main thread looks for signals that the system gave to another thread."""


class _StoppedError(BaseException):
    """The main thread waits for the work to end, for a signal handler has raised an exception."""


class _Work(threading.Thread):
    """Calls a function, and keeps its result or error."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(name="multigrid compilation")
        self._call = call
        # Not an Event, in whose `wait` an exception of a signal handler leaves a lock behind.
        self._end_lock = _thread.allocate_lock()
        self._end_lock.acquire()
        self._start_lock = _thread.allocate_lock()
        self.has_ended = False
        self.is_stopped = False
        self.is_refused = False
        self.result: Any = None
        self.error: BaseException | None = None

    def begin(self) -> None:
        """Start, on whatever thread this is called; the system may refuse."""
        if self._start_lock.acquire(blocking=False):
            try:
                self.start()
            except RuntimeError:
                self.is_refused = self.has_ended = True
                self._end_lock.release()

    def prevent(self) -> bool:
        """Prevent a start; return False if it has started already."""
        return self._start_lock.acquire(blocking=False)

    def run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self.error = error
        finally:
            self.has_ended = True
            self._end_lock.release()

    def wait(self) -> None:
        """Return as soon as it has ended."""
        while not self.has_ended:
            self._end_lock.acquire(timeout=_POLL_SECONDS)


def uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that compiles, where no signal handler can raise an exception.

    What a signal handler raises meanwhile is raised as soon as the function has come to `stop_here` or to its end; the
    second such exception is raised at once, and the function continues in the background. On another thread than the
    main one, or where the system has no thread to give, the function is called here.

    Args:
        function: the function. Numba's lock keeps two of them from running at once.
        *arguments: what it is called with.

    Returns:
        What the function returns. What it raises is raised.

    >>> uninterrupted(max, 3, 5)
    5
    """
    # A thread that holds Numba's lock would wait for one that waits for the lock.
    if threading.current_thread() is not threading.main_thread() or global_compiler_lock.is_locked():
        return function(*arguments)
    work = _Work(functools.partial(function, *arguments))
    try:
        # An exception of a signal handler would leave `Thread.start` half done, so another thread calls it.
        try:
            _thread.start_new_thread(work.begin, ())
        except RuntimeError as error:
            if "new thread" not in str(error):
                raise
            work.is_refused = work.has_ended = work.prevent()
        work.wait()
    except BaseException:
        work.is_stopped = True
        if not work.prevent():
            work.wait()
        raise
    if work.is_refused:
        return function(*arguments)
    if work.error is not None:
        raise work.error
    return work.result


def stop_here() -> None:
    """End the work of `uninterrupted`, if a signal handler has raised an exception since it began.

    Raises:
        BaseException: of a class of its own, which nobody but `uninterrupted` sees.

    >>> uninterrupted(stop_here)
    """
    if getattr(threading.current_thread(), "is_stopped", False):
        raise _StoppedError
