"""Compile without interruptions by signal handlers.

An exception of a signal handler, such as KeyboardInterrupt, can damage Numba's registries, so that every later
compilation fails. Signal handlers run in the main thread, so Numba compiles in another one.
"""

from __future__ import annotations

import _thread
import atexit
import threading
from collections.abc import Callable
from typing import Any

_POLL_SECONDS = 0.1
"""Seconds after which the main thread checks for signals that the system delivered to another thread."""

_here = threading.local()
"""With an attribute `stops` in the other thread: a list, empty until it must stop."""


class _StoppedError(BaseException):
    """Ends work after an exception of a signal handler."""


def run_uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a thread in which signal handlers do not run.

    The exception of a signal handler is raised at once; the function goes on until it calls `check_stopped`, or ends.
    Outside the main thread, and if the system has no more threads, the function is called directly.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    stops: list[bool] = []
    outcomes: list[tuple[Any, BaseException | None]] = []
    # Not an Event, nor a Thread: an exception of a signal handler in their methods would leave a lock held.
    end = _thread.allocate_lock()
    end.acquire()

    def work() -> None:
        _here.stops = stops
        try:
            outcomes.append((function(*arguments), None))
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            outcomes.append((None, error))
        end.release()

    def wait() -> None:
        while not outcomes:
            end.acquire(timeout=_POLL_SECONDS)

    try:
        _thread.start_new_thread(work, ())
        wait()
    except BaseException as error:
        if isinstance(error, RuntimeError) and "new thread" in str(error):
            return function(*arguments)
        stops.append(True)
        atexit.register(wait)  # Python must not end while a thread compiles
        raise
    result, raised = outcomes[0]
    if raised is not None:
        raise raised
    return result


def check_stopped() -> None:
    """Raise an error, which `run_uninterrupted` catches, if a signal handler has raised an exception meanwhile."""
    if getattr(_here, "stops", None):
        raise _StoppedError
