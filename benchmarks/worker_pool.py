"""A pool of worker processes, which benchmarks and tools play in."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any


@contextlib.contextmanager
def worker_pool(processes: int, loss: str) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes. After an error or Ctrl-C they end at once; they never outlive this process.

    Functions and their arguments are pickled. If a process ends before its task is done, for example because it was
    killed, a ChildProcessError is raised, with the message `loss`.
    """
    before = set(multiprocessing.active_children())
    # A forked copy of a process with threads, such as those of a progress bar, may wait for ever.
    pool = _Pool(processes, multiprocessing.get_context("spawn"), _begin)
    try:
        # If a process starts after the last task or result, the pool does not notice its end. So all start now, before
        # these results.
        for _ in range(processes):
            pool.submit(os.getpid)
        yield pool
    except BaseException as error:
        # `shutdown` below waits for the thread of the pool. Otherwise Python would wait for it at exit, where another
        # Ctrl-C is printed as a traceback.
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        if isinstance(error, BrokenProcessPool):
            raise ChildProcessError(loss) from error
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _Pool(ProcessPoolExecutor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task; a process that this starts ignores Ctrl-C also while it imports its modules."""
        with _blocked_interrupts():
            return super().submit(fn, *args, **kwargs)


@contextlib.contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Block SIGINT in this thread, and for ever in the processes that it starts, which inherit the mask."""
    if os.name == "nt":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Prepare a process: the parent alone reacts to Ctrl-C, and the process ends when the parent has ended."""
    # Needed where signals cannot be blocked.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
