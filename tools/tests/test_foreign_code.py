"""The kernels' object files for other platforms, linked and run by emulators, do what Numba's code does here.

Each platform is skipped where its compiler or its emulator is missing; on Debian they are in gcc-mingw-w64-x86-64-win32
and wine64, and in gcc-aarch64-linux-gnu and qemu-user.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from object_files import BUILDING, find_folder

import multigrid
from multigrid.core import invariants, observe, rules
from multigrid.core.arrays import ARRAYS
from multigrid.runtime.compiled import KERNELS

HERE = Path(__file__).parent
EMULATORS = {
    "win-amd64": ("x86_64-w64-mingw32-gcc", ["wine"]),
    "linux-aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
}
NUM_WORLDS, NUM_STEPS = 5, 60

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.long,
    pytest.mark.skipif(KERNELS != "just in time", reason="compares with Numba's code"),
]


@pytest.fixture(scope="module", params=EMULATORS)
def platform(request):
    """The name of a platform whose programs run here."""
    compiler, (emulator, *_) = EMULATORS[request.param]
    if shutil.which(compiler) is None or shutil.which(emulator) is None:
        pytest.skip(f"needs {compiler} and {emulator}")
    return request.param


@pytest.fixture(scope="module")
def folder(platform, tmp_path_factory):
    """The folder with the platform's object file."""
    return find_folder(platform, tmp_path_factory.mktemp("object_code"))


@pytest.fixture(scope="module")
def program(platform, folder, tmp_path_factory):
    """A program for the platform that calls the kernels."""
    path = tmp_path_factory.mktemp("program") / "run_kernels.exe"
    # No kernel reaches Python's functions.
    names = ["Py_DecRef", "PyBytes_FromStringAndSize", "PyUnicode_FromString"]
    names += [f"PyErr_{name}" for name in ("Clear", "SetNone", "SetString", "WriteUnraisable")]
    names += [f"PyExc_{name}" for name in ("RuntimeError", "StopIteration", "SystemError")]
    python = path.with_name("python.c")
    python.write_text("#include <stdlib.h>\n" + "".join(f"void {name}(void) {{ abort(); }}\n" for name in names))
    sources = [HERE / "run_kernels.c", BUILDING / "unreached.c", python]
    sources += [BUILDING / "windows.c"] * (platform == "win-amd64")
    options = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{folder}"]
    subprocess.run([EMULATORS[platform][0], *options, *sources, folder / "kernels.o", "-o", path], check=True)
    return path


def move_into_one(arrays):
    """Return copies of arrays that lie one after the other in one block of memory, and the block."""
    places, size = {}, 0
    for name in ARRAYS.arrays:
        places[name] = size
        size += -(-getattr(arrays, name).nbytes // 64) * 64
    memory = np.zeros(size + 64, np.uint8)
    memory = memory[-memory.ctypes.data % 64 :][:size]
    moved = {}
    for name, place in places.items():
        old = getattr(arrays, name)
        moved[name] = memory[place : place + old.nbytes].view(old.dtype).reshape(old.shape)
        moved[name][...] = old
    return arrays._replace(**moved), memory


@pytest.mark.parametrize(
    "options",
    [
        {"num_agents": 1, "size": (6, 5)},
        {"num_agents": 3, "size": (5, 4), "on_target": "restart"},
        {"num_agents": 2, "size": (7, 7), "flatten": True, "on_target": "stay"},
    ],
    ids=["one", "restart", "flat"],
)
def test_episodes_are_those_of_numba(platform, program, folder, tmp_path, options):
    """Resets, steps and observations return the same numbers, and leave every array bit for bit the same."""
    envs = multigrid.vector_env(NUM_WORLDS, **options)
    envs.reset(seed=1)
    config, (arrays, memory) = envs._worlds.config, move_into_one(envs._worlds.arrays)
    table = ARRAYS.write_addresses(arrays)
    offsets = table.copy()
    offsets[:, 0] -= memory.ctypes.data
    actions = arrays.actions
    step = observe.step_and_observe_flat if config.flatten else observe.step_and_observe
    look = observe.observe_worlds_flat if config.flatten else observe.observe_worlds
    kernels = [rules.reset_worlds, look]
    kernels += [step, rules.step_worlds, look, rules.reset_worlds, invariants.find_breach] * NUM_STEPS
    places = re.findall(r"ENTRY\((\w+), ", (folder / "entries.h").read_text())
    random = np.random.default_rng(3)
    numbers = [memory.nbytes, table.nbytes, table.shape[1], len(kernels), actions.ctypes.data - memory.ctypes.data]
    content = np.array([*numbers, actions.nbytes]).tobytes() + offsets.tobytes() + memory.tobytes()
    results = []
    for kernel in kernels:
        last = {rules.reset_worlds: len(results) > 0, invariants.find_breach: 0}.get(kernel)
        chosen = random.integers(0, 5, actions.shape)
        content += np.array([places.index(kernel.__name__), 0, NUM_WORLDS, last or 0]).tobytes() + chosen.tobytes()
        actions[...] = chosen
        results.append(kernel(table, 0, NUM_WORLDS, *([] if last is None else [last])) or 0)
    (tmp_path / "input").write_bytes(content)
    around = {**os.environ, "WINEPREFIX": str(program.with_name("wine")), "WINEDEBUG": "-all"}
    around["WINEDLLOVERRIDES"] = "mscoree=;mshtml="  # which Wine would ask to download
    subprocess.run(
        [*EMULATORS[platform][1], program, "input", "output"], check=True, cwd=tmp_path, env=around, timeout=300
    )
    found = (tmp_path / "output").read_bytes()
    assert np.frombuffer(found[: 8 * len(kernels)], np.int64).tolist() == results
    assert found[8 * len(kernels) :] == memory.tobytes()
    assert (arrays.steps > 0).any()
