"""Memory of results is used again, and never that of a result which somebody still holds."""

from __future__ import annotations

import collections
import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from faces import Vector
from helpers import address, arrays_in, run_python
from multigrid import vector_env
from multigrid.envs import _result_arrays
from multigrid.envs._result_arrays import ResultArrays
from multigrid.runtime.compiled import COMPILED

WORLDS, AGENTS = 1024, 9  # 9,216 rows: arrays of floats are large enough to be kept
ARRAY = np.arange(10_000.0)


def write(to: np.ndarray[Any, Any], source: np.ndarray[Any, Any] | None) -> None:
    """Write an array as one thread does."""
    np.copyto(to, 0 if source is None else source)


HOLDERS: dict[str, Any] = {
    "the array": lambda array: array,
    "a view": lambda array: array[1::7],
    "a view of a view": lambda array: array.reshape(2, -1)[:, ::3].T,
    "a buffer": memoryview,
    "an iterator": iter,
    "a flat iterator": lambda array: array.flat,
    "a field of an object": lambda array: type("Kept", (), {"array": array}),
    "an array of the buffer": lambda array: np.frombuffer(memoryview(array)),
    "a pointer": lambda array: array.ctypes,
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_what_is_held_is_not_written_again(hold: Any) -> None:
    """While any object leads to an array, no later result has its memory; afterwards one has."""
    gc.freeze()  # or all that other tests hold would be searched for garbage
    results = ResultArrays(write)
    array = results.copier("name", ARRAY)()
    where, base, held = address(array), weakref.ref(array.base), hold(array)
    del array
    later = [results.copier("name", -ARRAY)() for _ in range(2)]
    assert where not in [address(one) for one in later]
    assert results._kept["name"][0].tolist() == ARRAY.tolist()
    del held, later
    gc.collect()
    gc.unfreeze()
    assert base() is not None
    assert any(one.base is base() for one in [results.copier("name", ARRAY)() for _ in range(3)])


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
def test_an_array_is_as_new() -> None:
    """What a caller did to an earlier result, also to its shape and flags, does not show in a later one."""
    results = ResultArrays(write)
    for _ in range(5):
        array, zeros = results.copier("name", ARRAY)(), results.zeros("zeros", (100, 250), np.int64)
        assert array.tolist() == ARRAY.tolist()
        assert (zeros.shape, zeros.dtype, zeros.any()) == ((100, 250), np.int64, False)
        for one in (array, zeros):
            one[:] = 7
            one.shape = (1, -1)
            one.flags.writeable = False
        del array, zeros, one


def test_few_arrays_are_kept() -> None:
    """Of results that are all held, the last three are kept, so the memory that is dropped is freed."""
    results = ResultArrays(write)
    held = [results.copier("name", ARRAY)() for _ in range(7)]
    assert len({address(array) for array in held}) == 7
    assert [array.base is kept for array, kept in zip(held[-3:], results._kept["name"], strict=True)] == [True] * 3
    assert len(results._kept["name"]) == 3


@pytest.mark.parametrize("size", [2**13 - 1, 2**25 + 1])
def test_small_and_very_large_arrays_are_new(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of under 64 KiB, of over 256 MiB, and all where counts of references are missing, are not kept."""
    results = ResultArrays(write)
    for array in (np.zeros(size), ARRAY):
        results.copier("name", array)()
        results.zeros("zeros", array.shape, float)
        assert not any(results._kept.values())
        monkeypatch.setattr(_result_arrays, "_CAN_COUNT", False)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_results_of_whole_episodes_stay_as_they_were(mode: AutoresetMode) -> None:
    """Results that a learner holds for any number of steps have the content that they had when they were returned."""
    face = Vector("", mode, size=(9, 7), walls=None, num_agents=AGENTS, max_cycles=6, on_target="restart")
    envs, rng = vector_env(WORLDS, face.config, autoreset_mode=mode), np.random.default_rng(3)
    held: collections.deque[Any] = collections.deque()
    envs.reset(seed=5)
    for _ in range(40):
        results = envs.step(rng.integers(0, 4, envs.num_envs))
        arrays = [array for array in arrays_in([results, face.again(envs, results)]) if array.nbytes >= 2**16]
        assert len(arrays) > 5
        kept = [arrays[k][rng.integers(3) :] for k in rng.permutation(len(arrays))[:4]]
        held.append((kept, [array.tobytes() for array in kept]))
        if rng.random() < 0.4:
            held.popleft()
        for kept, contents in held:
            assert [array.tobytes() for array in kept] == contents
    assert len(held) > 10


def test_copies_of_an_env_share_no_results() -> None:
    """A copy of an env, and a pickled one, write no array that the other has returned."""
    envs = vector_env(WORLDS, num_agents=AGENTS, size=(9, 7))
    envs.reset(seed=1)

    def returned(one: Any) -> set[int]:
        arrays = arrays_in(one.step(np.zeros(envs.num_envs, dtype=np.int64)))
        return {address(array) for array in arrays if array.nbytes >= 2**16}

    others = copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))
    # Nobody holds these, so the env itself uses them again.
    assert (own := returned(envs)) == returned(envs)
    assert all(own.isdisjoint(returned(other)) for other in others)


TRACED = """
import sys
def trace(frame, event, argument):
    if frame.f_code.co_name == "_count_unused":
        frame.f_locals
    return trace
sys.settrace(trace)
from multigrid.envs._result_arrays import ResultArrays
sys.settrace(None)
import numpy as np
copy = ResultArrays(np.copyto).copier("name", np.arange(10_000.0))
one, other = copy(), copy()
print(np.shares_memory(one, other))
"""


def test_a_debugger_at_the_import_shares_no_results() -> None:
    """Where something that looks at the import adds references, no array that is held is written again."""
    assert run_python("-c", TRACED).stdout == "False\n"


FAULTS = """
import resource, numpy as np, multigrid
envs = multigrid.vector_env(8192, num_agents=5, size=(17, 15), observe=("agent", "target"), max_cycles=30)
envs.reset(seed=0)
envs._worlds.arrays.steps[:] = np.arange(8192) % 30
actions = np.random.default_rng(0).integers(0, 4, (40, envs.num_envs))
results = None
for k in range(200):
    if k == 100:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    results = envs.step(actions[k % 40])
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 100)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="page faults are counted on POSIX")
@pytest.mark.skipif(not COMPILED, reason="the same Python code, and interpreted steps take minutes")
def test_a_step_takes_no_new_memory_from_the_system() -> None:
    """A loop that drops the results of earlier steps has next to no page faults, also while worlds end."""
    outcome = run_python("-c", FAULTS)
    assert float(outcome.stdout) < 5, outcome
