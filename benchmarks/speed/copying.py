"""Copy every byte that steps of a vector env return: the least that the steps can cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.plays import Play, call_play, sample_actions, spread_ends
from multigrid.envs.vector import MultiGridVectorEnv

__all__ = ["copy_play", "count_bytes", "find_arrays", "record_steps"]

_STEPS = 20
"""The number of steps that are recorded where all of them return as many bytes."""

# For large arrays NumPy's `copyto` and `copy` call the C library's memcpy, whose instruction "rep movsb" takes three
# times as long for some pairs of addresses on some processors. `positive` has a loop of its own, with plain loads and
# stores.
_copy = np.positive


def record_steps(env: MultiGridVectorEnv) -> list[list[NDArray[Any]]]:
    """Play steps of worlds that end one after the other; return, for each step, the arrays that it returned.

    Arrays of the same name are represented by that of the first step that returned it: with those of all steps, copies
    would wait for memory, while a step has just written what it copies.
    """
    env.reset(seed=0)
    spread_ends(env)
    limit = env.config.max_cycles
    # With fewer worlds than steps in an episode, no world ends in some of the steps.
    steps = _STEPS if limit is None or env.num_worlds >= limit else limit
    actions = itertools.cycle(sample_actions(env.num_envs, env.config.num_actions))
    known: dict[str, NDArray[Any]] = {}
    recorded = []
    for _ in range(steps):
        arrays = dict(find_arrays(env.step(next(actions))))
        known = arrays | known
        recorded.append([known[name] for name in arrays])
    return recorded


def find_arrays(returned: Any, name: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays in what a step returned, with a name for each.

    >>> [name for name, _ in find_arrays(({"agent": np.zeros(2)}, np.zeros(1), {"distance": np.zeros(1)}))]
    ['/0/agent', '/1', '/2/distance']
    """
    if isinstance(returned, np.ndarray):
        yield name, returned
    elif isinstance(returned, dict | tuple):
        items = returned.items() if isinstance(returned, dict) else enumerate(returned)
        for key, value in items:
            yield from find_arrays(value, f"{name}/{key}")


def count_bytes(steps: Sequence[Sequence[NDArray[Any]]]) -> float:
    """Return the mean number of bytes of a step."""
    return sum(array.nbytes for arrays in steps for array in arrays) / len(steps)


def copy_play(steps: Sequence[Sequence[NDArray[Any]]], rows: int) -> Play:
    """Return a play that copies the arrays of one step after the other, into arrays that exist.

    To allocate new arrays takes a hundred times as long as the copies where the system maps their memory anew for each
    step, so that is left out.

    Args:
        steps: the arrays of each step.
        rows: the number of agent-steps of a step.
    """
    copies: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
    for array in itertools.chain.from_iterable(steps):
        if id(array) not in copies:
            copies[id(array)] = _as_words(array), np.empty_like(_as_words(array))
    turn = itertools.cycle([[copies[id(array)] for array in arrays] for arrays in steps])
    copy = _copy

    def step() -> None:
        for words, copied in next(turn):
            copy(words, copied)

    return call_play(step, rows)


def _as_words(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of the bytes of an array, as uint64 if there is a multiple of eight."""
    content = array.reshape(-1).view(np.uint8)
    return content.view(np.uint64) if content.size % 8 == 0 else content
