"""Decide whether threads share the work on worlds, or one thread does all of it: whichever takes less time."""

from __future__ import annotations

_TRIAL = 0.02
"""Seconds of work for which the slower way is tried again, several times the scheduler's usual slices."""
_LEAST_APART, _MOST_APART = 8, 50
"""How many times longer the faster way is used between trials: at first, and once it has won many of them."""
_LEAST_GAIN = 1.1
"""How many times longer one thread must take for the work to be shared."""


class Sharing:
    """Whether threads share the work.

    On cores that other processes keep busy, the system may suspend a thread in the middle of its piece of the work, and
    the others wait for it for milliseconds: then two threads take up to four times as long as one. Nothing says in
    advance whether that will happen. So both ways are timed by turns. The slower one is tried again after intervals
    that grow until the trials take a fiftieth of the time.

    >>> sharing = Sharing()
    >>> sharing.add_task(0.001)
    >>> sharing.is_on
    True
    """

    def __init__(self) -> None:
        self.is_on = True
        self._is_trial = False
        self._apart = _LEAST_APART
        self._costs = {True: 0.0, False: 0.0}  # seconds of work for a task, shared and not
        self._begin(_TRIAL)

    def _begin(self, length: float) -> None:
        # The first task is not counted: it may wake a thread, or compile.
        self._length, self._spent, self._tasks = length, 0.0, -1

    def add_task(self, seconds: float) -> None:
        """Count a task, which was done in the way that `is_on` says."""
        if self._tasks > 0 and self._spent >= _TRIAL and (self._spent >= self._length or self._is_worse()):
            self._decide()
        if self._tasks == 0:
            self._spent = 0.0
        self._tasks += 1
        self._spent += seconds

    def add_work(self, seconds: float) -> None:
        """Count further work on the last task."""
        self._spent += seconds

    def _is_worse(self) -> bool:
        """Return whether sharing, which was the faster way, is so no longer."""
        is_kept = self.is_on and not self._is_trial
        return is_kept and self._spent / self._tasks * _LEAST_GAIN >= self._costs[False]

    def _decide(self) -> None:
        self._costs[self.is_on] = self._spent / self._tasks
        if self._is_trial:
            is_better = self._costs[True] * _LEAST_GAIN < self._costs[False]
            self._apart = _LEAST_APART if is_better == self.is_on else min(2 * self._apart, _MOST_APART)
            self.is_on = is_better
        else:
            self.is_on = not self.is_on
        self._is_trial = not self._is_trial
        self._begin(_TRIAL if self._is_trial else _TRIAL * self._apart)
