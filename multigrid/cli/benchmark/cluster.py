"""Play tasks on a Ray cluster: an engine, as those of `multigrid.benchmark.engines`.

Each task takes one CPU of any node. A task whose node or process was lost is played again; its row comes once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import ray
from ray.exceptions import (
    LocalRayletDiedError,
    NodeDiedError,
    OutOfMemoryError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

from multigrid.benchmark.engines import play_kept
from multigrid.benchmark.playing import Player, Task
from multigrid.benchmark.published import Row

__all__ = ["play_on_ray"]

_WAITING = 2
_SECONDS_PER_LOOK = 1.0
_CRASHES = 5

# Whether a task is played again is decided here: Ray itself would for ever repeat one that needs too much memory.
_play: Any = ray.remote(max_retries=0)(play_kept)


def play_on_ray(player: Player, tasks: Sequence[Task]) -> Iterator[Row]:
    """Yield the row of each task, as it is done, in any order.

    Ray must have been initialized. Nodes may join and leave. Closed, it leaves the tasks that are being played, at most
    two for each CPU, which end with the connection to Ray: Ray can end this process when tasks are cancelled.

    Args:
        player: plays a task; it is pickled.
        tasks: the tasks.

    Raises:
        ConnectionError: no node with a CPU is left, or this machine does not belong to the cluster any more.
        ChildProcessError: the process of one task was lost five times, for example because its machine ran out of
            memory; or a node lacks this package.
    """
    sent = ray.put(player)
    rest = iter(tasks)
    running: dict[Any, Task] = {}
    crashes: Counter[tuple[Any, ...]] = Counter()
    while True:
        # A few tasks wait, so that no CPU does, and an interruption finds few of them.
        room = max(0, _WAITING * _count_cpus() - len(running))
        running |= {_play.remote(sent, task): task for task in itertools.islice(rest, room)}
        if not running:
            return
        done, _ = ray.wait(list(running), timeout=_SECONDS_PER_LOOK)
        for reference in done:
            task = running.pop(reference)
            row = _take(reference)
            if isinstance(row, RayError):
                # Losses with a node have no limit: they say nothing about the task.
                crashes[task.key] += not isinstance(row, NodeDiedError)
                if crashes[task.key] == _CRASHES:
                    raise ChildProcessError(_describe_crashes(task)) from row
                running[_play.remote(sent, task)] = task
            else:
                yield row


def _take(reference: Any) -> Row | RayError:
    """Return the row of a task that is done, or the error if its node or process was lost."""
    try:
        row: Row = ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, RayError):
            line = str(error.cause).partition("\n")[0]
            raise ChildProcessError(
                f"a node cannot play: {line}; expected the same version of multigrid on all nodes"
            ) from error
        raise error.cause from None
    except (NodeDiedError, OutOfMemoryError, WorkerCrashedError) as error:
        return error
    except LocalRayletDiedError as error:
        raise ConnectionError("this machine does not belong to the Ray cluster any more") from error
    return row


def _describe_crashes(task: Task) -> str:
    return (
        f"{_CRASHES} processes that played {task.instance.name} with {task.algorithm} ended before it did; "
        "is there enough memory?"
    )


def _count_cpus() -> int:
    """Return the number of CPUs of the nodes that are there now.

    Raises:
        ConnectionError: there is none.
    """
    cpus = int(ray.cluster_resources().get("CPU", 0))
    if not cpus:
        raise ConnectionError("the Ray cluster has no CPU; add nodes with `ray start --address=...`")
    return cpus
