"""Play trials in one process or several."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from benchmarks.pogema.playing import Runner, Trial
from benchmarks.pogema.published import Row
from benchmarks.worker_pool import worker_pool

_LOSS = "a process that played ended before its task did; is there enough memory?"


def play_trials(runner: Runner, trials: Sequence[Trial], processes: int = 1) -> Iterator[Row]:
    """Yield the row of each trial as soon as it is finished."""
    if processes == 1:
        yield from map(runner, trials)
        return
    running: set[Future[Row]] = set()
    rest = iter(trials)
    with worker_pool(min(processes, len(trials) or 1), _LOSS) as pool:
        while True:  # a few trials are submitted ahead: no process waits, and an interruption discards few
            while len(running) < 2 * processes and (trial := next(rest, None)) is not None:
                running.add(pool.submit(_play_kept, runner, trial))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


_keep = functools.cache(lambda runner: runner)


def _play_kept(runner: Runner, trial: Trial) -> Row:
    """Return the row of a trial; the first of equal runners plays, which keeps its policies from trial to trial."""
    return _keep(runner)(trial)  # type: ignore[no-any-return]
