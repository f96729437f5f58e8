"""Cases that may crash or hang Python, each batch in a process of its own: a crash is a failure that names its case.

A case is a number, from which a function makes all that it does. One case again, with its traceback:
``python tests/crash_cases.py MODULE:FUNCTION NUMBER``.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import multigrid
from multigrid.core import calls
from multigrid.runtime import sharing

# As in conftest.py, which pytest alone reads.
calls._FEWEST_AGENTS_THREADED = 0
sharing._TRIAL = math.inf

FOLDER = Path(__file__).parent
FOLDERS = [FOLDER, *(path for path in FOLDER.iterdir() if path.is_dir())]
ROOT = Path(multigrid.__file__).parents[1]
MOST_FAILURES = 5
STRICT = ("-W", "error", "-W", "ignore:Numba is not installed", "-W", "ignore:.*use of fork:DeprecationWarning")


def run_in_process(function: str, *arguments: Any, timeout: float, **environment: str) -> str:
    """Call ``MODULE:FUNCTION`` in another Python; return what it printed, or fail with the end of its output."""
    command = [sys.executable, "-X", "faulthandler", *STRICT, __file__, function, json.dumps(arguments)]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *FOLDERS])), **environment}
    surroundings |= {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    try:
        done = subprocess.run(
            command, env=surroundings, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
        code, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, output, errors = None, _text(late.stdout), _text(late.stderr)
    if code == 0:
        return output
    how = f"took more than {timeout} s" if code is None else _cause(code)
    cases = [line for line in output.splitlines() if line.startswith("case ")]
    raise AssertionError(
        f"{function} {how}; the last case: {cases[-1] if cases else 'none'}\n{output[-3000:]}\n{errors[-9000:]}"
    )


def _text(output: Any) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _cause(code: int) -> str:
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"


def play_cases(play: Callable[[int], None], numbers: Sequence[int], seconds: float = 60.0) -> None:
    """Play every case in a process apart; fail in the end if one has failed, or at once with the fifth.

    A case that takes longer than `seconds` ends Python, which then says where it hangs.
    """
    compile_kernels()
    failures = 0
    for number in numbers:
        os.write(1, f"case {number}\n".encode())
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            play(number)
        except Exception:  # noqa: BLE001 - whatever it is, it is this case's failure
            failures += 1
            sys.stderr.write(f"case {number} of {play.__module__}:{play.__name__} failed\n{traceback.format_exc()}\n")
        faulthandler.cancel_dump_traceback_later()
        if failures == MOST_FAILURES:
            break
    if failures:
        sys.exit(1)


def compile_kernels() -> None:
    """Make every call of the game once, so that no case waits for the compiler, which may take a minute."""
    for threads in (1, 2):
        envs = multigrid.vector_env(2, num_threads=threads, observe=("view",), autoreset_mode="SameStep", max_cycles=1)
        envs.reset(seed=0)
        envs.step([0] * 4)
        envs.reset(options={"reset_mask": np.array([True, True, False, False])})
        envs.set_state(envs.get_state())
        envs.close()
    env = multigrid.GridWorldEnv()
    env.reset(seed=0)
    env.step(0)


def limit_memory(gigabytes: float) -> None:
    """Let an allocation that is too large fail at once, instead of using up the machine."""
    import resource

    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def load(function: str) -> Callable[..., Any]:
    """Import ``MODULE:FUNCTION`` of the tests."""
    module, name = function.split(":")
    sys.path[:0] = map(str, FOLDERS)
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def main(function: str, arguments: str) -> None:
    """Call a function by its name; a number alone is the one case to play."""
    found, given = load(function), json.loads(arguments)
    if isinstance(given, int):
        play_cases(found, [given])
    else:
        found(*given)


if __name__ == "__main__":
    main(*sys.argv[1:])
