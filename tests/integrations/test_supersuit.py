"""The bridge from SuperSuit to Stable-Baselines3: the same play with and without processes, seeds, ends, refusals."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from helpers import run_python
from multigrid.integrations.supersuit import SuperSuitVecEnv, to_sb3
from vec_envs import WORLD, play

COPIES = 3
STEPS = 150

# Newer Pythons warn of what SuperSuit does: it forks, and NumPy's threads are there already.
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")]


@pytest.fixture
def make() -> Iterator[Callable[..., SuperSuitVecEnv]]:
    """`to_sb3`, with what it made closed at the end of the test."""
    made: list[SuperSuitVecEnv] = []

    def make_one(*arguments: Any, **keywords: Any) -> SuperSuitVecEnv:
        made.append(to_sb3(*arguments, **keywords))
        return made[-1]

    yield make_one
    for vec_env in made:
        vec_env.close()


def test_processes_change_nothing(make: Callable[..., SuperSuitVecEnv]) -> None:
    """With 0, 1, 2 or more processes than copies, a seed gives the same play to the bit, infos and later resets too."""
    plays = []
    for num_cpus in (0, 1, 2, 9):
        vec_env = make(WORLD, 5, num_cpus=num_cpus, seed=3)
        plays.append(play(vec_env, 60) + play(vec_env, 20))
    assert all(one == plays[0] for one in plays[1:])


def test_parked_agents_wait_for_the_others(make: Callable[..., SuperSuitVecEnv]) -> None:
    """Rows of a world end together, each agent is paid once, and the rows of other worlds go on."""
    vec_env = make(WORLD, COPIES, seed=0)
    vec_env.reset()
    random = np.random.default_rng(0)
    paid = np.zeros((COPIES, 3))
    alone = 0
    for _ in range(STEPS):
        _, rewards, dones, infos = vec_env.step(random.integers(0, 4, 9))
        paid += rewards.reshape(COPIES, 3)
        ended = dones.reshape(COPIES, 3)
        assert (ended.all(axis=1) == ended.any(axis=1)).all()
        alone += ended.any() and not ended.all()
        for k in np.flatnonzero(ended[:, 0]):
            assert (paid[k] == 1).all() == (not infos[3 * k]["TimeLimit.truncated"])
            assert (paid[k] <= 1).all()
            paid[k] = 0
    assert alone > 0


@pytest.mark.parametrize(("copies", "num_cpus"), [(0, 0), (-1, 0), (2, -1)])
def test_impossible_numbers_are_refused(copies: int, num_cpus: int) -> None:
    """Fewer than one copy, or fewer than zero processes, is an error that shows both numbers and starts nothing."""
    with pytest.raises(ValueError, match=f"copies is {copies} and num_cpus {num_cpus}; expected"):
        to_sb3(WORLD, copies, num_cpus=num_cpus)
    assert multiprocessing.active_children() == []


def test_what_cannot_be_reached_says_so(make: Callable[..., SuperSuitVecEnv]) -> None:
    """Reading what is not shared, setting anything and calling anything are errors that name it."""
    vec_env = make(WORLD, 2)
    with pytest.raises(AttributeError, match=r"'state' is not available.*\['config', 'render_mode'\]"):
        vec_env.get_attr("state")
    with pytest.raises(NotImplementedError, match="'max_cycles' cannot be set"):
        vec_env.set_attr("max_cycles", 5)
    with pytest.raises(NotImplementedError, match=r"state\(\) cannot be called"):
        vec_env.env_method("state")


@pytest.mark.parametrize("num_cpus", [0, 2])
def test_closing_leaves_nobody_behind(num_cpus: int) -> None:
    """close() ends all workers, without an error, and may be called again."""
    vec_env = to_sb3(WORLD, COPIES, num_cpus=num_cpus, seed=0)
    vec_env.reset()
    workers = multiprocessing.active_children()
    assert len(workers) == num_cpus
    vec_env.close()
    assert [worker.exitcode for worker in workers] == [0] * num_cpus
    assert multiprocessing.active_children() == []
    vec_env.close()


def test_workers_that_died_do_not_hinder_closing() -> None:
    """After Ctrl-C in a terminal, which reaches the workers too, close() has nothing to wait for."""
    vec_env = to_sb3(WORLD, COPIES, num_cpus=2, seed=0)
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()
    vec_env.close()
    assert multiprocessing.active_children() == []


FORGETFUL = """
import multigrid, sys
from multigrid.integrations.supersuit import to_sb3
if __name__ == "__main__":
    vec_env = to_sb3(multigrid.GridConfig(), 2, num_cpus=2, seed=0)
    vec_env.reset()
    if "fail" in sys.argv:
        raise SystemExit(3)
"""


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["fail"], 3)])
def test_python_ends_though_nobody_closed(arguments: list[str], code: int) -> None:
    """A program that forgets close(), or fails before it, ends at once and quietly, and its workers with it."""
    result = run_python("-c", FORGETFUL, *arguments, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")
