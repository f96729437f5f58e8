"""What a step and a reset may cost: nothing that grows with the map."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from multigrid import MultiGridEnv, parallel_env
from multigrid.runtime.compiled import JUST_IN_TIME

pytestmark = pytest.mark.heavy


def played(env: MultiGridEnv, steps: int) -> None:
    """Some steps of random play."""
    random = np.random.default_rng(0)
    for _ in range(steps):
        env.step(dict(zip(env.agents, random.integers(0, 4, len(env.agents)).tolist(), strict=True)))


def peak(size: tuple[int, int], resets: int) -> int:
    """The most bytes that are taken at once by resets and steps, beyond what there was before."""
    env = parallel_env(size=size, num_agents=12, observe=("agent", "target", "others", "view"), max_cycles=None)
    env.reset(seed=0)
    played(env, 3)
    tracemalloc.start()
    for _ in range(resets):
        env.reset()
    played(env, 10)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return taken


@pytest.mark.parametrize("resets", [0, 3])
def test_memory_does_not_grow_with_the_map(resets: int) -> None:
    """A step and a reset take as much memory on a map of a million cells as on one of a hundred."""
    small, large = (min(peak(size, resets) for _ in range(3)) for size in ((13, 9), (1300, 900)))
    assert small > 1000
    assert abs(large - small) < 1000


@pytest.mark.skipif(not JUST_IN_TIME, reason="only Numba counts what kernels allocate")
@pytest.mark.parametrize("collisions", ["symmetric", "priority", "soft"])
@pytest.mark.parametrize("on_target", ["park", "leave", "restart"])
def test_kernels_allocate_nothing(collisions: str, on_target: str) -> None:
    """Compiled kernels ask Numba's runtime for no memory."""
    walls = np.random.default_rng(1).random((23, 14)) < 0.2
    settings = {"walls": walls, "num_agents": 20, "observe": ("view", "walls")}
    env = parallel_env(collisions=collisions, on_target=on_target, **settings)
    env.reset(seed=0)
    played(env, 2)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    env.reset()
    played(env, 30)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert (after.alloc - before.alloc, after.free - before.free) == (0, 0)
