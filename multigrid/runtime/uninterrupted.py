"""Compile without interruptions by signal handlers.

An exception of a signal handler, such as KeyboardInterrupt, can damage Numba's registries, so that every later
compilation fails. Signal handlers run in the main thread, so Numba compiles in another one.
"""

from __future__ import annotations

import _thread
import functools
import threading
from collections.abc import Callable
from typing import Any

_POLL_SECONDS = 0.1
"""Seconds after which the main thread checks for signals that the system delivered to another thread."""


class _StoppedError(BaseException):
    """Ends work after an exception of a signal handler."""


class _Work(threading.Thread):
    """A thread that calls a function and stores its result or error."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(name="multigrid compilation")
        self._call = call
        # Not an Event: an exception of a signal handler in its `wait` would leave a lock held.
        self._end_lock = _thread.allocate_lock()
        self._end_lock.acquire()
        self._start_lock = _thread.allocate_lock()
        self.has_ended = False
        self.is_stopped = False
        self.is_refused = False
        self.result: Any = None
        self.error: BaseException | None = None

    def begin(self) -> None:
        """Start the thread unless `prevent` was called; set `is_refused` if the system refuses."""
        if self._start_lock.acquire(blocking=False):
            try:
                self.start()
            except RuntimeError:
                self.is_refused = self.has_ended = True
                self._end_lock.release()

    def prevent(self) -> bool:
        """Prevent a later start; return False if the thread was started already."""
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
        """Wait until the function has ended."""
        while not self.has_ended:
            self._end_lock.acquire(timeout=_POLL_SECONDS)


def run_uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a thread in which signal handlers do not run.

    The exception of a signal handler is raised when the function next calls `check_stopped`, or ends; a second one is
    raised at once, and the function continues in the background. Outside the main thread, and if the system has no more
    threads, the function is called directly.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    work = _Work(functools.partial(function, *arguments))
    try:
        # An exception of a signal handler could interrupt `Thread.start`, so another thread calls it.
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


def check_stopped() -> None:
    """Raise an error, which `run_uninterrupted` catches, if a signal handler has raised an exception meanwhile."""
    if getattr(threading.current_thread(), "is_stopped", False):
        raise _StoppedError
