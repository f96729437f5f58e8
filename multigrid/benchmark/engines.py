"""Play many tasks, in this process or in several; the rows come back as they are done.

An engine is a function of a `Player` and tasks that yields a row for each task, in any order. Its processes end when it
is closed. Whoever iterates over it writes the rows, so that one process writes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from multigrid._processes import worker_pool
from multigrid.benchmark.playing import Player, Task
from multigrid.benchmark.published import Row

__all__ = ["play_kept", "play_tasks"]

_WAITING = 2
_LOSS = "a process that played ended before its task did; is there enough memory?"


def play_tasks(player: Player, tasks: Sequence[Task], processes: int = 1) -> Iterator[Row]:
    """Yield the row of each task, as it is done.

    Args:
        player: plays a task; with several processes it is pickled.
        tasks: the tasks.
        processes: the number of processes; with 1, this one plays.

    Raises:
        ChildProcessError: a process ended before its task did, for example because the machine ran out of memory.
    """
    if processes == 1:
        yield from map(player, tasks)
    else:
        yield from _play_apart(player, tasks, processes)


def _play_apart(player: Player, tasks: Sequence[Task], processes: int) -> Iterator[Row]:
    running: set[Future[Row]] = set()
    rest = iter(tasks)
    with worker_pool(min(processes, len(tasks) or 1), _LOSS) as pool:
        while True:
            # A few tasks wait, so that no process does, and an interruption finds few of them.
            while len(running) < _WAITING * processes and (task := next(rest, None)) is not None:
                running.add(pool.submit(play_kept, player, task))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def play_kept(player: Player, task: Task) -> Row:
    """Return the row of a task; the first of equal players plays, which keeps its policies from task to task."""
    return _keep(player)(task)


@functools.cache
def _keep(player: Player) -> Player:
    return player
