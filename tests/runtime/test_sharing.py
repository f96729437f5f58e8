"""Threads share the work where that is faster, and cost next to nothing where it is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from multigrid.runtime import sharing
from multigrid.runtime.sharing import Sharing

ALONE = 0.001
"""Seconds that one thread takes for a task."""


@pytest.fixture(autouse=True)
def _as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials take as long as they do outside the tests, in which all threads always play."""
    monkeypatch.setattr(sharing, "_TRIAL", 0.02)


def spend(tasks: int, shared: Callable[[int], float], one: Sharing) -> float:
    """Count some tasks, of which task k takes `shared(k)` seconds if it is shared; return the seconds of all."""
    spent = 0.0
    for k in range(tasks):
        seconds = shared(k) if one.is_on else ALONE
        one.add_task(seconds)
        spent += seconds
    return spent


def test_work_is_shared_where_that_is_faster() -> None:
    """On idle cores two threads keep nearly all of their gain."""
    assert spend(20_000, lambda _: ALONE / 1.75, Sharing()) < 20_000 * ALONE / 1.7


@pytest.mark.parametrize("factor", [1, 1.5, 4])
def test_sharing_costs_little_where_it_is_slower(factor: float) -> None:
    """Where shared work takes as long or longer, all takes at most a twentieth longer than with one thread."""
    assert spend(20_000, lambda _: factor * ALONE, Sharing()) < 20_000 * ALONE * 1.05


def test_work_that_stalls_now_and_then_is_slower() -> None:
    """Where one shared task in twenty waits for a suspended thread, it does not help that the others are faster."""
    chance = np.random.default_rng(3).random(20_000)
    assert spend(20_000, lambda k: 0.6 * ALONE if chance[k] > 0.05 else 40 * ALONE, Sharing()) < 20_000 * ALONE * 1.1


def test_a_change_is_noticed() -> None:
    """When the cores become idle, or busy, the other way is taken within three seconds of work."""
    one = Sharing()
    for factor in (3, 0.6, 3):
        spend(4000, lambda _, factor=factor: factor * ALONE, one)
        spent = spend(3000, lambda _, factor=factor: factor * ALONE, one)
        assert spent < 1.1 * 3000 * ALONE * min(factor, 1)


def test_the_first_task_of_a_trial_is_not_counted() -> None:
    """A task that wakes the threads, or compiles, decides nothing."""
    one, was_on, on = Sharing(), False, 0
    for _ in range(5000):
        one.add_task((1.0 if not was_on else 0.5 * ALONE) if one.is_on else ALONE)
        was_on = one.is_on
        on += was_on
    assert on > 4500


def test_writing_results_counts() -> None:
    """Threads that play faster, but write results so slowly that a step takes longer, do not share either."""
    one, on = Sharing(), 0
    for _ in range(5000):
        one.add_task(0.5 * ALONE if one.is_on else ALONE)
        one.add_work(2 * ALONE if one.is_on else 0.1 * ALONE)
        on += one.is_on
    assert on < 500
