"""Threads: the same play as without, and processes of every kind can still be started, and play, afterwards."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from helpers import AROUND, frozen, run_python
from multigrid import MultiGridVectorEnv, vector_env
from multigrid.config import Collisions, OnTarget
from multigrid.core.arrays import Arrays
from multigrid.runtime import sharing, threads
from multigrid.runtime.compiled import COMPILED
from multigrid.runtime.threads import PLAY

# Newer Pythons warn of what is tested here: a process with threads forks.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

SCRATCH = {"occupant", "first_requester", "agent_grid", "requested", "own_cell", "refusal_reason", "component_agents"}
compiled_only = pytest.mark.skipif(not COMPILED, reason="interpreted kernels have no threads")
ONE_MODE = [pytest.param(mode, marks=[pytest.mark.long] * (mode.value != "SameStep")) for mode in AutoresetMode]
by_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


def play(envs: MultiGridVectorEnv, steps: int = 20) -> list[Any]:
    """All that some steps of random play return, and where the worlds and their streams are then."""
    random, returned = np.random.default_rng(1), []
    for _ in range(steps):
        returned.append(frozen(envs.step(random.integers(4, size=envs.num_envs))))
        if envs.autoreset_mode is AutoresetMode.DISABLED:
            over = np.repeat(envs._worlds.arrays.episode_over, envs.config.num_agents)
            if over.any():
                returned.append(frozen(envs.reset(options={"reset_mask": over})))
    return [*returned, frozen(envs.get_state())]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_for_threads(envs: MultiGridVectorEnv) -> None:
    """Wait until the threads of an env, which are started in the background, are there."""
    pool = envs._worlds._threads._pool
    wait_until(lambda: pool is None or bool(pool._started))


def names_of_threads() -> list[str]:
    """The threads of ours that play; one that has compiled ends a moment after its work."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("multigrid-")]


@pytest.fixture(scope="module", autouse=True)
def _without_the_threads_of_other_files() -> None:
    """Envs that another file's tests left to the collector of garbage are collected, and their threads end, first."""
    gc.collect()
    wait_until(lambda: names_of_threads() == [])


@pytest.fixture
def make() -> Iterator[Callable[..., MultiGridVectorEnv]]:
    """`vector_env`, with what it made closed at the end of the test."""
    made: list[MultiGridVectorEnv] = []

    def make_one(num_worlds: int, **settings: Any) -> MultiGridVectorEnv:
        made.append(vector_env(num_worlds, **{"size": (4, 3), "num_agents": 3, "max_cycles": 9, **settings}))
        return made[-1]

    assert names_of_threads() == []
    yield make_one
    for envs in made:
        envs.close()
    assert names_of_threads() == []


@pytest.fixture
def threaded(make: Callable[..., MultiGridVectorEnv]) -> MultiGridVectorEnv:
    """Worlds that have been stepped with threads, which wait for the next step."""
    envs = make(10, num_threads=3, on_target="restart")
    envs.reset(seed=1)
    play(envs, 5)
    wait_for_threads(envs)
    assert len(names_of_threads()) == (2 if COMPILED else 0)
    return envs


def test_each_thread_has_scratch_of_its_own(make: Callable[..., MultiGridVectorEnv]) -> None:
    """Threads share the worlds' arrays, and of the rest no byte; so do they in a copy."""
    envs = make(6, num_threads=3, observe=("view",))
    for world in (envs._worlds, copy.deepcopy(envs)._worlds, pickle.loads(pickle.dumps(envs))._worlds):
        parts = world._thread_arrays
        assert parts[0] is world.arrays
        assert len(parts) == (3 if COMPILED else 1)
        for i, j in ((0, 1), (0, 2), (1, 2)) if COMPILED else ():
            shared = {name for name in Arrays._fields if getattr(parts[i], name) is getattr(parts[j], name)}
            assert shared == set(Arrays._fields) - SCRATCH
            assert not any(np.may_share_memory(getattr(parts[i], name), getattr(parts[j], name)) for name in SCRATCH)


@compiled_only
def test_one_thread_and_several_play_the_same_by_turns(
    make: Callable[..., MultiGridVectorEnv], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An env goes on in the same way when it turns from several threads to one, and back, every two steps."""
    monkeypatch.setattr(sharing, "_TRIAL", 0.0)
    monkeypatch.setattr(sharing, "_LEAST_GAIN", 0.0)  # one thread plays in trials alone
    returned, shared = [], []
    for num_threads in (1, 3):
        envs = make(11, on_target="restart", observe=("view",), num_threads=num_threads)
        world = envs._worlds
        run = world._threads.run
        monkeypatch.setattr(world._threads, "run", lambda *args, run=run: (shared.append(args[1]), run(*args))[1])
        returned.append([frozen(envs.reset(seed=3)), *play(envs, 40)])
    assert returned[0] == returned[1]
    assert 10 < shared.count(PLAY) < 30


@by_mode
@pytest.mark.parametrize("on_target", get_args(OnTarget))
def test_any_number_of_threads_plays_the_same(
    on_target: str, mode: AutoresetMode, make: Callable[..., MultiGridVectorEnv]
) -> None:
    """Whole episodes, with all that is returned and drawn, do not depend on the number of threads."""
    returned = []
    for num_threads in (1, 2, 3, 50):
        envs = make(11, on_target=on_target, autoreset_mode=mode, num_threads=num_threads)
        returned.append([frozen(envs.reset(seed=3)), *play(envs, 40), frozen(envs.reset()), *play(envs)])
        returned[-1] += [frozen(envs.reset(options={"reset_mask": np.arange(33) // 3 % 2 == 1})), *play(envs)]
    assert all(one == returned[0] for one in returned[1:])


@pytest.mark.parametrize("collisions", get_args(Collisions))
def test_threads_do_not_meet(collisions: str, make: Callable[..., MultiGridVectorEnv]) -> None:
    """In worlds enough to keep two threads busy at the same time, neither ever writes where the other works."""
    crowd = {"size": (6, 5), "num_agents": 12, "collisions": collisions, "on_target": "restart", "observe": ("view",)}
    count = 1500 if COMPILED else 15  # interpreted, there is one thread in any case
    one, two = (make(count, num_threads=number, **crowd) for number in (1, 2))
    assert frozen(one.reset(seed=0)) == frozen(two.reset(seed=0))
    assert play(one, 12) == play(two, 12)


def test_a_bad_action_moves_no_thread(make: Callable[..., MultiGridVectorEnv]) -> None:
    """An action out of range, in the part of any thread, is refused before any world has moved."""
    envs = make(9, num_threads=3)
    envs.reset(seed=1)
    state = frozen(envs.get_state())
    for row in (0, 13, 26):
        with pytest.raises(ValueError, match=rf"row {row} \(agent_{row % 3} of world {row // 3}\).* 7"):
            envs.step(np.where(np.arange(27) == row, 7, 0))
        assert frozen(envs.get_state()) == state


def test_threads_are_started_when_needed_and_ended(make: Callable[..., MultiGridVectorEnv]) -> None:
    """A step starts as many as were asked for, this one counted; close(), or the end of the env, ends them."""
    envs = make(4, num_threads=3)
    assert names_of_threads() == []
    envs.reset(seed=0)
    play(envs, 3)
    wait_for_threads(envs)
    assert len(names_of_threads()) == (2 if COMPILED else 0)
    envs.close()
    assert names_of_threads() == []
    envs.close()
    for num_worlds, num_threads in ((4, 1), (1, 8)):
        make(num_worlds, num_threads=num_threads).reset(seed=0)
    assert names_of_threads() == []
    lost = vector_env(4, num_threads=2)
    lost.reset(seed=0)
    lost.step(np.zeros(lost.num_envs, dtype=int))
    wait_for_threads(lost)
    assert len(names_of_threads()) == COMPILED
    del lost
    wait_until(lambda: names_of_threads() == [])


@compiled_only
def test_every_thread_plays(make: Callable[..., MultiGridVectorEnv]) -> None:
    """Each thread claims pieces, also after it has slept: it leaves its marks in its own scratch."""
    envs = make(4000, num_threads=3)
    envs.reset(seed=0)
    actions = np.zeros(envs.num_envs, dtype=int)
    scratch = [arrays.own_cell for arrays in envs._worlds._thread_arrays]

    def all_have_played() -> bool:
        envs.step(actions)
        return not any(-7 in cells for cells in scratch)

    for _ in range(2):
        for cells in scratch:
            cells.fill(-7)
        wait_until(all_have_played)
        followers = envs._worlds._threads._pool._followers
        wait_until(lambda: all(follower.sleeps for follower in followers))  # noqa: B023 - called at once


AT_EXIT = {
    "closed": """
class Owner:
    def __init__(self):
        self.envs = multigrid.vector_env(4096, num_agents=1, num_threads=50)
        self.envs.reset(seed=0)
        self.envs.step(np.zeros(4096, dtype=int))
    def __del__(self):
        self.envs.close()
        print("closed")
owner = Owner()
owner.itself = owner
multigrid.kept = owner
""",
    "played": """
import atexit
@atexit.register
def last():
    envs.step(np.zeros(4096, dtype=int))
    print("played")
envs = multigrid.vector_env(2048, num_threads=2, num_agents=2)
envs.reset(seed=0)
""",
}


@compiled_only
@pytest.mark.parametrize("what", AT_EXIT)
def test_an_env_is_closed_or_stepped_while_python_ends(what: str) -> None:
    """A process ends although a finalizer closes an env, or steps one, when its threads may not have started yet."""
    done = run_python("-c", f"import numpy as np, multigrid{AT_EXIT[what]}", timeout=120)
    assert (done.returncode, done.stdout) == (0, f"{what}\n")


@compiled_only
def test_a_thread_of_the_package_may_close_an_env(make: Callable[..., MultiGridVectorEnv]) -> None:
    """Garbage collection may close an env on the thread that starts its threads: it does not wait for itself."""
    envs = make(10, num_threads=3)
    closed: list[bool] = []
    start = threading.Thread.start

    def close_and_start(thread: threading.Thread) -> None:
        if thread.name.startswith("multigrid") and not closed:
            closed.append(True)
            pool.end()
        start(thread)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threading.Thread, "start", close_and_start)
        gate = threading.Event()
        begin = threads._start_followers
        patched.setattr(threads, "_start_followers", lambda *args: (gate.wait(), begin(*args)))
        envs.reset(seed=0)
        pool = envs._worlds._threads._pool
        gate.set()
        wait_for_threads(envs)
    assert closed
    wait_until(lambda: names_of_threads() == [])


@compiled_only
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_thread_that_died(
    make: Callable[..., MultiGridVectorEnv], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a thread has died, the others play its part, and the next step starts new ones."""

    def dies(*_: Any) -> None:
        raise OSError("no room")

    envs, alone = make(10, num_threads=2), make(10)
    for each in (envs, alone):
        each.reset(seed=0)
    monkeypatch.setattr("multigrid.runtime.threads._play_until_idle", dies)
    assert play(envs) == play(alone)
    monkeypatch.undo()
    assert play(envs) == play(alone)
    wait_for_threads(envs)
    # A thread that has died is listed until its exception has been reported.
    wait_until(lambda: len(names_of_threads()) == 1)


@compiled_only
def test_threads_that_cannot_be_started_are_done_without(
    make: Callable[..., MultiGridVectorEnv], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system gives no more threads, those that it gave play all worlds, and close() ends them."""
    start, started = threading.Thread.start, []

    def starts_two(thread: threading.Thread) -> None:
        started.append(thread)
        if len(started) > 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    envs, alone = make(10, num_threads=5), make(10)
    monkeypatch.setattr(threading.Thread, "start", starts_two)
    for each in (envs, alone):
        each.reset(seed=0)
    assert play(envs) == play(alone)
    envs.close()
    assert len(started) == 3
    assert names_of_threads() == []


@compiled_only
def test_threads_have_no_part_in_the_reset_of_one_world(make: Callable[..., MultiGridVectorEnv]) -> None:
    """Worlds that are reset one by one are reset by this thread, for others would only be waited for."""
    envs = make(10, num_threads=3)
    envs.reset(seed=0)
    play(envs, 1)
    board = envs._worlds._threads._pool.board
    before = board.copy()
    envs.reset(options={"reset_mask": np.arange(envs.num_envs) // envs.config.num_agents == 4})
    assert (board == before).all()


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))], ids=["deepcopy", "pickle"]
)
def test_copies_have_no_threads_until_they_play_on(copied: Callable[[Any], Any], threaded: MultiGridVectorEnv) -> None:
    """A copy starts with none of its original's threads, plays on with as many of its own, and closes them alone."""
    before = len(names_of_threads())
    twin = copied(threaded)
    assert len(names_of_threads()) == before
    assert play(twin) == play(threaded)
    wait_for_threads(twin)
    assert len(names_of_threads()) == 2 * before
    twin.close()
    assert len(names_of_threads()) == before


def _play_on(envs: MultiGridVectorEnv, results: Any) -> None:
    returned = play(envs, 30)
    envs.close()
    results.put((returned, names_of_threads()))


@pytest.mark.parametrize("method", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.long)])
def test_the_same_env_plays_on_in_other_processes(method: str, threaded: MultiGridVectorEnv) -> None:
    """Processes started after steps with threads play on with threads of their own, and so does this one."""
    context = multiprocessing.get_context(method)
    results = context.Queue()
    # A daemon, so that one that hangs ends with the tests.
    process = context.Process(target=_play_on, args=(threaded, results), daemon=True)
    process.start()
    returned, left = results.get(timeout=120)
    process.join(timeout=60)
    assert process.exitcode == 0
    assert (returned, left) == (play(threaded, 30), [])


@pytest.fixture
def writing(make: Callable[..., MultiGridVectorEnv]) -> MultiGridVectorEnv:
    """Worlds whose threads write large arrays together, as those of more agents do."""
    envs = make(40, num_threads=3)
    envs.reset(seed=0)
    envs._worlds._shares_writing = True
    return envs


@compiled_only
@pytest.mark.parametrize(("dtype", "size"), [("bool", 2**19 + 1), ("float64", 700_003)])
def test_threads_write_each_byte_of_an_array_and_no_other(dtype: str, size: int, writing: MultiGridVectorEnv) -> None:
    """Three threads copy an array, and fill one with zeros, from its first byte to its last one."""
    random = np.random.default_rng(5)
    for _ in range(20):
        source = (random.random(size) < 0.5).astype(dtype)
        around = np.full(size + 24, 7, dtype)
        to = around[11 : 11 + size]
        writing._worlds.write_array(to, source)
        assert to.tobytes() == source.tobytes()
        writing._worlds.write_array(to, None)
        assert not to.any()
        assert around[:11].all()
        assert around[11 + size :].all()


@compiled_only
def test_threads_copy_values_not_bytes(writing: MultiGridVectorEnv) -> None:
    """An array that is not contiguous, or of another type, is copied by its values."""
    for source in (np.arange(2**16)[::-1], np.arange(2**16, dtype=">i8"), np.arange(2**16, dtype="i4")):
        to = np.zeros(2**16, dtype=np.int64)
        writing._worlds.write_array(to, source)
        assert to.tolist() == source.tolist()


@compiled_only
def test_large_results_are_written_where_nothing_is_compiled(tmp_path: Path, writing: MultiGridVectorEnv) -> None:
    """An env whose threads write its results writes them alone in a process that interprets the kernels."""
    (tmp_path / "envs").write_bytes(pickle.dumps(writing))
    code = """
import pathlib, pickle, sys, numpy as np
envs, to = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()), np.zeros(2**16)
envs._worlds.write_array(to, np.ones(2**16))
print(to.sum())
"""
    interpreted = {**AROUND, "MULTIGRID_JIT": "0", "NUMBA_DISABLE_JIT": "1"}
    done = run_python("-c", code, str(tmp_path / "envs"), env=interpreted)
    assert done.stdout == "65536.0\n", done.stderr


@compiled_only
@pytest.mark.parametrize("mode", ONE_MODE)
def test_large_results_do_not_depend_on_the_number_of_threads(mode: AutoresetMode) -> None:
    """Results that the threads write together are, to the bit, those of one thread."""
    played = []
    for num_threads in (1, 3):
        settings = {"size": (9, 7), "max_cycles": 4, "on_target": "leave"}
        envs = vector_env(8200, num_agents=9, autoreset_mode=mode, num_threads=num_threads, **settings)
        envs.reset(seed=3)
        played.append(play(envs, steps=5))
    assert played[0] == played[1]


@compiled_only
def test_worlds_of_few_agents_are_played_by_one_thread() -> None:
    """Under 4,096 rows no thread is started, whatever was asked for; from then on as many as were asked for."""
    code = """
import threading, time, numpy as np, multigrid
for worlds in (1023, 1024):
    envs = multigrid.vector_env(worlds, num_agents=4, num_threads=3)
    envs.reset(seed=0)
    envs.step(np.zeros(envs.num_envs, dtype=int))
    pool = envs._worlds._threads._pool
    while pool is not None and not pool._started:  # in the background
        time.sleep(0.001)
    print(envs.num_threads, sum(thread.name.startswith("multigrid") for thread in threading.enumerate()))
"""
    assert run_python("-c", code).stdout.splitlines() == ["3 0", "3 2"]
