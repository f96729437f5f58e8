"""Nothing grows: memory, threads and open files are after a million calls what they were after a thousand."""

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

FACES = ("GridWorldEnv", "MultiGridEnv", "AEC", "vector", "threads", "GridWorldVectorEnv")
TRACED = {"step": 300, "reset": 150, "state": 100, "mistake": 80, "render": 60, "copy": 60, "life": 60}
"""How many calls of each kind a round of the exact measurement has: of what Python and NumPy allocate."""
PROCESS = {"step": 12_000, "reset": 5_000}
"""The same for the measurement of the whole process, which is a rough one; under `--long` each kind has a million."""
LONG_CALLS = 500_000
ROUNDS = 2
BYTES = 50
"""How much each call of a round may leave behind, beside what no round at all should: the slack, in bytes."""
TRACED_SLACK, PROCESS_SLACK = 1_500, 250_000


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
        env = GridWorldVectorEnv(3, size=4, max_episode_steps=20, render_mode="rgb_array")
    else:
        threads = 3 if face == "threads" else 1
        env = multigrid.vector_env(4, num_threads=threads, render_mode="rgb_array", **world)
    env.reset(seed=1)
    return env


def kinds(face: str, env: Any) -> dict[str, Callable[[int], None]]:
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
            lambda: core.step([9] * 8) if face != "MultiGridEnv" else core.step({"agent_0": 9, "agent_1": 0}),
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
        other.unwrapped.render()
        if many:
            other.step(actions[0])
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


def check(what: str, call: Callable[[int], None], calls: int, slack: int, measure: Callable[[], int]) -> None:
    """Refuse growth in every round: a cache that fills, or a table that doubles, does so in one."""
    repeat(call, calls // 3)
    measured = [measure()]
    for _ in range(ROUNDS):
        repeat(call, calls)
        measured.append(measure())
    grown = min(np.diff(measured))
    assert grown < BYTES * calls + slack, f"{what}: {calls} calls leave {grown} bytes behind, or more: {measured}"


def watch(face: str, long: bool) -> None:
    """Measure, in a process apart, that no kind of call leaves anything behind."""
    env = make(face)
    for name, call in kinds(face, env).items():
        os.write(1, f"case {name} of {face}\n".encode())
        repeat(call, TRACED[name] // 3)
        before = opened()
        tracemalloc.start()
        check(f"Python's memory, {name} of {face}", call, TRACED[name], TRACED_SLACK, traced)
        tracemalloc.stop()
        calls = LONG_CALLS if long else PROCESS.get(name, 0)
        if calls:
            check(f"the process, {name} of {face}", call, calls, PROCESS_SLACK, resident)
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
