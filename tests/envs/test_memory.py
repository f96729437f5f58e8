"""Nothing grows: memory, threads and open files are after many calls what they were after a few."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import multigrid
from apart import play_apart
from multigrid.envs.grid_world_vector import GridWorldVectorEnv

pytestmark = pytest.mark.heavy

FACES = ("GridWorldEnv", "MultiGridEnv", "AEC", "vector", "threads", "GridWorldVectorEnv")
CALLS = {"step": 800, "reset": 200, "state": 100, "mistake": 100, "render": 40, "copy": 100, "life": 100}
"""How many calls of each kind a round has. Whatever stays behind of Python's is at least one block of its allocator."""
WARM_UP = {"copy": 4, "life": 2}
"""How many rounds come before the first that is measured: what copies use is cached in many places."""
TRACED = {"step": 400, "reset": 150, "state": 150}
"""The same where also lists and tables that grow in place are looked for, to the byte, which takes long."""
PROCESS = {"step": 6_000, "reset": 1_200}
"""The same for the memory of the whole process, a rough measure."""
LONG_CALLS = dict.fromkeys(("step", "reset"), 333_334) | dict.fromkeys(("state", "mistake", "render"), 33_334)
LONG_CALLS |= dict.fromkeys(("copy", "life"), 6_667)
"""The same under `--long`: three rounds make a million steps and a million resets of every face, and of what takes a
hundred times as long, a hundredth or more."""
ROUNDS, MOST_ROUNDS = 3, 9
"""How often it is measured, and how often where all rounds have grown: caches fill for a while, leaks for ever."""


def make(face: str) -> Any:
    """An env of a face, after its first reset."""
    world = {"size": (5, 3), "num_agents": 2, "observe": ("agent", "target", "view"), "max_cycles": 20}
    env: Any
    if face == "GridWorldEnv":
        env = multigrid.GridWorldEnv("rgb_array", size=4)
    elif face == "MultiGridEnv":
        env = multigrid.parallel_env(render_mode="rgb_array", render_size=32, render_trails=3, **world)
    elif face == "AEC":
        env = multigrid.env(render_mode="rgb_array", render_size=32, **world)
    elif face == "GridWorldVectorEnv":
        env = GridWorldVectorEnv(2, size=4, max_episode_steps=20, render_mode="rgb_array")
    else:
        threads = 3 if face == "threads" else 1
        env = multigrid.vector_env(threads, num_threads=threads, render_mode="rgb_array", **world)
    env.reset(seed=1)
    return env


def kinds(face: str, env: Any) -> dict[str, Callable[[int], None]]:  # noqa: C901 - one function for each kind
    """What is done again and again, each with the number of the call."""
    many, core = face in ("vector", "threads", "GridWorldVectorEnv"), env.unwrapped
    actions = np.random.default_rng(1).integers(0, 4, (50, getattr(env, "num_envs", 2)))

    def step(number: int) -> None:
        if many:
            env.step(actions[number % 50])
        elif face == "GridWorldEnv":
            env.step(number % 4)
        elif face == "MultiGridEnv":
            env.step(dict.fromkeys(env.agents, number % 4)) if env.agents else env.reset()
        else:
            _, _, terminated, truncated, _ = env.last()
            env.step(None if terminated or truncated else number % 4)
            if not env.agents:
                env.reset()

    def reset(number: int) -> None:
        env.reset(seed=None if number % 2 else number)

    def state(number: int) -> None:
        core.set_state(core.get_state())
        core.metrics()
        if face == "MultiGridEnv":
            core.np_random = np.random.default_rng(number)

    def mistake(number: int) -> None:
        for call in (
            lambda: env.reset(options={"map": 7 + number}),
            lambda: core.set_state({**core.get_state(), "location": np.array(number)}),
            lambda: (
                core.step([9] * getattr(core, "num_envs", 1))
                if face != "MultiGridEnv"
                else core.step({"agent_0": 9, "agent_1": 0})
            ),
        ):
            try:
                call()
            except (TypeError, ValueError, ResetNeeded):
                pass
            else:
                # GridWorldVectorEnv and MultiGridEnv after its end have nothing against the last.
                assert many or not getattr(core, "agents", True)

    def render(number: int) -> None:
        core.render()

    def copied(number: int) -> None:
        for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(core))):
            other.unwrapped.get_state()
            other.close()

    def life(number: int) -> None:
        other = make(face)
        if many:
            other.step(actions[0])
        if not many or number % 10 == 0:
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


def traced() -> int:
    """What Python and NumPy have allocated, in bytes."""
    return tracemalloc.get_traced_memory()[0]


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
    env = make(face)
    for name, call in kinds(face, env).items():
        os.write(1, f"case {name} of {face}\n".encode())
        repeat(call, WARM_UP.get(name, 1) * CALLS[name])
        before = opened()
        check(
            f"{name} of {face}: blocks",
            call,
            CALLS[name],
            sys.getallocatedblocks,
            each=0.85 if name in WARM_UP else 0.6,
        )
        if name in TRACED:
            tracemalloc.start()
            repeat(call, TRACED[name])
            check(f"{name} of {face}: bytes of Python's", call, TRACED[name], traced, each=50)
            tracemalloc.stop()
        calls = LONG_CALLS[name] if long else PROCESS.get(name, 0)
        if calls:
            check(f"{name} of {face}: bytes of the process", call, calls, resident, each=90)
        after = opened()
        assert after == before, f"{face}: after {name}, threads and open files are {after}, and were {before}"
    env.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("multigrid")], "threads are left"
    sys.stdout.write("nothing has grown\n")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system has no /proc to read memory from")
@pytest.mark.parametrize("face", FACES)
def test_nothing_grows(face: str, request: pytest.FixtureRequest) -> None:
    """Steps, resets, states, mistakes, frames, copies and closed envs leave no memory, thread or open file behind."""
    long = request.config.getoption("--long")
    play_apart("test_memory:watch", face, long, timeout=4 * 3600 if long else 300)
