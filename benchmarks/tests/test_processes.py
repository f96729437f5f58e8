"""Processes that work for another one: what becomes of them, and of it, when one of them ends."""

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import wait

import pytest

from benchmarks.worker_pool import worker_pool

LOSS = "the sum is lost; the same command adds it up again"


def kill(child):
    """Kill a process by its id."""
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)


def kill_in_a_task(which, children):
    """Kill the first or the second of two workers as soon as both have tasks; `children` gets both."""
    before = set(multiprocessing.active_children())
    with worker_pool(2, LOSS) as pool:
        tasks = [pool.submit(time.sleep, 120) for _ in range(2)]
        children += sorted(set(multiprocessing.active_children()) - before, key=lambda child: child.pid or 0)
        kill(children[which])
        tasks[0].result()


def kill_between_tasks():
    """Kill a worker that waits for a task, and then give it one."""
    before = set(multiprocessing.active_children())
    with worker_pool(1, LOSS) as pool:
        pool.submit(os.getpid).result()
        (child,) = set(multiprocessing.active_children()) - before
        kill(child)
        child.join()
        pool.submit(os.getpid).result()


@pytest.mark.parametrize("which", [0, 1], ids=["first", "second"])
def test_a_worker_that_is_killed_is_an_error_with_a_plain_sentence(which):
    """Where a worker is killed, even while it starts, the error says what is lost, and the other ends at once."""
    children = []
    begin = time.monotonic()
    with pytest.raises(ChildProcessError, match=f"^{LOSS}$"):
        kill_in_a_task(which, children)
    assert time.monotonic() - begin < 110, "the task of the other worker has ended"
    assert len(children) == 2
    for child in children:
        # Not `join`: the pool's thread may have waited for the process already, and then there is no exit code.
        assert wait([child.sentinel], timeout=60) == [child.sentinel]


def test_a_worker_that_is_killed_without_a_task_is_the_same_error():
    """Where a worker is killed while it waits, the next task notices it."""
    with pytest.raises(ChildProcessError, match=f"^{LOSS}$"):
        kill_between_tasks()


def test_errors_of_tasks_are_their_own():
    """What a task raises is raised as it is."""
    with pytest.raises(ZeroDivisionError), worker_pool(1, LOSS) as pool:
        pool.submit(divmod, 1, 0).result()


def test_workers_never_see_an_interrupt():
    """Ctrl-C reaches all processes of a terminal: in workers it is blocked from their start on, here as before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with worker_pool(1, LOSS) as pool:
        assert signal.SIGINT in pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert signal.SIGINT not in before
