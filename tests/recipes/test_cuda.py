"""NVIDIA's compiler takes the kernels of the game, on a machine without a GPU; nothing runs on one here."""

import re
from types import SimpleNamespace

import numba
import pytest
from numba import cuda

from multigrid.core import observe, rules

CAPABILITY = (8, 0)  # sm_80


@pytest.fixture(autouse=True)
def no_device(monkeypatch):
    """Functions that a kernel calls are compiled for the GPU at hand, which is asked for its capability."""
    device = SimpleNamespace(compute_capability=CAPABILITY)
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: device)


def compile_for_gpu(play):
    """Return the PTX of a kernel in which each thread plays one world, and the functions that it lacks."""

    def play_world(address_table, num_worlds):
        e = cuda.grid(1)
        if e < num_worlds:
            play(address_table, e, e + 1)

    signature = numba.void(numba.int64[:, ::1], numba.int64)
    ptx, _ = cuda.compile(play_world, signature, cc=CAPABILITY, device=False, abi="numba")
    return ptx, re.findall(r"^\s*\.extern\s+\.func.*?(\w+)\s*$", ptx, flags=re.MULTILINE)


@numba.njit
def reset(address_table, first, last):
    """Begin episodes from random layouts."""
    rules.reset_worlds(address_table, first, last, False)


KERNELS = [reset, rules.step_worlds, observe.step_and_observe, observe.step_and_observe_flat]


@pytest.mark.parametrize("play", KERNELS, ids=lambda play: play.py_func.__name__)
def test_the_kernels_become_ptx(play):
    """Resets, steps with draws and autoresets, and observations: all that they call is in the code."""
    ptx, missing = compile_for_gpu(play)
    assert ".target sm_80" in ptx
    assert len(re.findall(r"^\.visible \.entry ", ptx, flags=re.MULTILINE)) == 1
    assert missing == []
