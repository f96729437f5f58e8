"""Compilation that a signal does not harm.

Numba is not prepared for an exception of a signal handler, KeyboardInterrupt for one, in the midst of its work: at some
places it loses a part of its own registries for good, and every later compilation fails. Signal handlers run in the
main thread, so the work is done in another one.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

__all__ = ["stop_here", "uninterrupted"]

_LOOK = 0.1
"""Seconds after which the main thread looks for signals that the system gave to another thread."""


class _StoppedError(BaseException):
    """The main thread waits for the work to end, for a signal handler has raised an exception."""


class _Work(threading.Thread):
    """Calls a function, and keeps its result or error."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(name="multigrid compilation")
        self._call = call
        self.has_ended = threading.Event()
        self.is_stopped = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self.error = error
        finally:
            self.has_ended.set()

    def wait(self) -> None:
        while not self.has_ended.wait(_LOOK):
            pass
        self.join()


def uninterrupted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that compiles, where no signal handler can raise an exception.

    What a signal handler raises meanwhile is raised as soon as the function has come to `stop_here` or to its end; the
    second such exception is raised at once, and the function goes on alone.

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
        work.start()
        work.wait()
    except BaseException as error:
        work.is_stopped = True
        if work.is_alive():
            work.wait()
        elif work.ident is None and isinstance(error, RuntimeError):  # the system has no thread to give
            return function(*arguments)
        raise
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
