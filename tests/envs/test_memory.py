"""Nothing grows: memory, threads and open files are after many calls what they were after a few."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from crash_cases import run_in_process
from faces import Face, GridWorlds, Parallel, Turns, Vector

pytestmark = pytest.mark.heavy

NEXT_STEP = AutoresetMode.NEXT_STEP
WORLD: dict[str, Any] = {"observe": ("agent", "target", "view"), "max_cycles": 20}
FACES: dict[str, Face] = {
    "GridWorldEnv": Face(""),
    "MultiGridEnv": Parallel("", render_size=32, render_trails=3, **WORLD),
    "AEC": Turns("", render_size=32, **WORLD),
    "vector": Vector("", NEXT_STEP, **WORLD),
    "threads": Vector("", NEXT_STEP, num_threads=3, **WORLD),
    "GridWorldVectorEnv": GridWorlds("", NEXT_STEP),
}
ONLY_LONG = ("GridWorldEnv", "AEC", "vector", "GridWorldVectorEnv")  # their code is that of the others, or little more
# How many calls of each kind a round has. Whatever stays behind of Python's is at least one block of its allocator.
CALLS = {"step": 400, "reset": 100, "state": 60, "mistake": 60, "render": 40, "copy": 40, "life": 40}
# How many rounds come before the first that is measured: what copies use is cached in many places.
WARM_UP = {"copy": 4, "life": 2}
# Under `--long`, the memory of the whole process is measured as well, which is rough: the rounds make a million steps
# and a million resets of every face, and of what takes a hundred times as long, a hundredth or more. What kernels
# allocate, tests/test_cost.py counts every day.
LONG_CALLS = dict.fromkeys(("step", "reset"), 500_000) | dict.fromkeys(("state", "mistake", "render"), 50_000)
LONG_CALLS |= dict.fromkeys(("copy", "life"), 10_000)
# How often it is measured, and how often where all rounds have grown: caches fill for a while, leaks for ever.
ROUNDS, MOST_ROUNDS = 2, 9


def kinds(face: Face, env: Any) -> dict[str, Callable[[int], None]]:
    """Return what is done again and again, each with the number of the call."""
    core = env.unwrapped

    def step(number: int) -> None:
        face.again(env, face.step(env, face.joint(env, lambda: number % 4)))

    def reset(number: int) -> None:
        env.reset(seed=None if number % 2 else number)

    def state(number: int) -> None:
        core.set_state(core.get_state())
        core.metrics()
        if type(face) is Parallel:
            core.np_random = np.random.default_rng(number)

    def mistake(number: int) -> None:
        for call in (
            lambda: env.reset(options={"map": 7 + number}),
            lambda: core.set_state({**core.get_state(), "location": np.array(number)}),
            lambda: core.step(face.with_action(core, 9)),
        ):
            # A world that is over has nothing against the last.
            with contextlib.suppress(TypeError, ValueError, ResetNeeded):
                call()

    def render(number: int) -> None:
        core.render()

    def copied(number: int) -> None:
        for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(core))):
            other.unwrapped.get_state()
            other.close()

    def life(number: int) -> None:
        other = face.started(steps=1, render_mode="rgb_array")
        if not isinstance(face, Vector) or number % 10 == 0:
            other.unwrapped.render()
        other.close()
        other.close()

    every = {"step": step, "reset": reset, "state": state, "mistake": mistake}
    return every | {"render": render, "copy": copied, "life": life}


def resident() -> int:
    """The memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def opened() -> tuple[int, int]:
    """The threads and the open files of this process."""
    gc.collect()
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def repeat(call: Callable[[int], None], times: int) -> None:
    """Call it a number of times, and let the collector of garbage have its turn."""
    for number in range(times):
        call(number)
    gc.collect()


def check(what: str, call: Callable[[int], None], calls: int, measure: Callable[[], int], each: float) -> None:
    """Refuse growth in every round: a cache that fills, or a table that doubles, does so in one."""
    measured, grown = [measure()], np.inf
    while len(measured) <= ROUNDS or (len(measured) <= MOST_ROUNDS and grown >= each * calls):
        repeat(call, calls)
        measured.append(measure())
        grown = min(np.diff(measured))
    assert grown < each * calls, f"{what}: {calls} calls leave {grown} behind each time: {measured}"


def watch(face: str, long: bool) -> None:
    """Measure, in a process apart, that no kind of call leaves anything behind."""
    env = FACES[face].started(render_mode="rgb_array")
    for name, call in kinds(FACES[face], env).items():
        os.write(1, f"case {name} of {face}\n".encode())
        repeat(call, WARM_UP.get(name, 1) * CALLS[name])
        before, each = opened(), 0.85 if name in WARM_UP else 0.6
        check(f"{name} of {face}: blocks", call, CALLS[name], sys.getallocatedblocks, each)
        if long:
            check(f"{name} of {face}: bytes of the process", call, LONG_CALLS[name], resident, each=90)
        after = opened()
        assert after == before, f"{face}: after {name}, threads and open files are {after}, and were {before}"
    env.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("multigrid")], "threads are left"
    sys.stdout.write("nothing has grown\n")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system has no /proc to read memory from")
@pytest.mark.parametrize("face", [pytest.param(face, marks=[pytest.mark.long] * (face in ONLY_LONG)) for face in FACES])
def test_nothing_grows(face: str, request: pytest.FixtureRequest) -> None:
    """Steps, resets, states, mistakes, frames, copies and closed envs leave no memory, thread or open file behind."""
    long = request.config.getoption("--long")
    run_in_process("test_memory:watch", face, long, timeout=4 * 3600 if long else 300)
