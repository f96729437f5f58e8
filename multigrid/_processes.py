"""Processes that work for this one."""

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

    Functions that it is to run, and their arguments, are pickled. If a process ends before its task is done, because it
    was killed or the machine ran out of memory, say, a ChildProcessError says what is lost, `loss`.
    """
    before = set(multiprocessing.active_children())
    # A forked copy of a process with threads, such as those of a progress bar, may wait for ever.
    pool = _Pool(processes, multiprocessing.get_context("spawn"), _begin)
    try:
        # Python does not notice the end of a process that began after its last task or result: all begin now, before
        # these results.
        for _ in range(processes):
            pool.submit(os.getpid)
        yield pool
    except BaseException as error:
        # `shutdown` below waits for the thread of the pool. Without, Python waits for it at exit, where another
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
        """Submit a task; a process that this starts ignores Ctrl-C while it still imports its modules, too."""
        with _blocked_interrupts():
            return super().submit(fn, *args, **kwargs)


@contextlib.contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Block SIGINT in this thread, and for ever in the processes that it starts, which inherit that."""
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
    # Where signals cannot be blocked, this has to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
