"""The command line. A command's module and its libraries are imported only when the command runs."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from multigrid._checks import find_nearest
from multigrid._version import __version__
from multigrid.game import OtherGameError
from multigrid.integrations.extras import list_versions, missing_library

_COMMANDS = {
    "train": "train agents by PPO, with Stable-Baselines3",
    "play": "play with the keyboard",
    "rollout": "let a policy play, and report how well it does",
    "evaluate": "compare policies on the same episodes",
    "replay": "turn a recording, or two of one layout, into a page for the browser",
}

# The extras of libraries that are in one extra only.
_EXTRAS = {"h5py": "datasets", "minari": "datasets", "yaml": "benchmark", "tensorboard": "loggers"}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code.

    It is 0 for success, 1 if a library or a display is missing, or the reader of the output has gone, 2 for bad
    arguments, 130 when interrupted.

    Args:
        arguments: the words after ``multigrid``; None means ``sys.argv[1:]``.
    """
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    program = f"multigrid {command}" if command in _COMMANDS else "multigrid"
    return run_program(lambda: _run(command, rest), program, "train" if command == "train" else "cli")


def _run(command: str, arguments: list[str]) -> int:
    """Run a command, or print what there is instead of one."""
    if command in _COMMANDS:
        code: int = importlib.import_module(f"multigrid.cli.{command}").main(arguments)
        return code
    if command in ("-h", "--help"):
        lines = [f"  {name:11}{purpose}\n" for name, purpose in _COMMANDS.items()]
        sys.stdout.write(f"usage: multigrid COMMAND [flags]\n\n{''.join(lines)}\n")
        sys.stdout.write("multigrid COMMAND --help lists the flags of a command\n")
        sys.stdout.write("multigrid --version prints the versions that a bug report needs\n")
        return 0
    if command == "--version":
        sys.stdout.write(_describe_versions())
        return 0
    meant = find_nearest(command, _COMMANDS, 0.6)
    hint = f" (did you mean {meant}?)" if meant else ""
    sys.stderr.write(f"multigrid: {command!r} is not a command{hint}; expected one of {', '.join(_COMMANDS)}\n")
    return 2


def _describe_versions() -> str:
    """Return lines with the versions of this package, Python and libraries, and with how kernels are compiled."""
    import platform

    names = ["numpy", "numba", "gymnasium", "pettingzoo"]
    found = list_versions(*names, "pygame-ce", "pygame")
    names += [name for name in ("pygame-ce", "pygame") if name in found] or ["pygame"]
    lines = [f"multigrid {__version__}", f"Python {platform.python_version()}, {platform.platform()}"]
    lines += [f"{name} {found.get(name, 'is not installed')}" for name in names]
    try:
        from multigrid.runtime.compiled import KERNELS
    except Exception as error:  # noqa: BLE001 - a broken library is what the report is about
        kernels = f"unknown, for {type(error).__name__}: {error}"
    else:
        kernels = KERNELS if KERNELS == "interpreted" else f"compiled {KERNELS}"
    return "\n".join([*lines, f"kernels: {kernels}", ""])


@contextlib.contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Raise SystemExit on SIGTERM and SIGHUP, so that files are cleaned up; ignored signals stay ignored."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _replace_unencodable() -> Iterator[None]:
    """Let standard output and error show "?" for characters that their encoding lacks."""
    before = {one: one.errors for one in (sys.stdout, sys.stderr) if isinstance(one, io.TextIOWrapper)}
    for stream in before:
        stream.reconfigure(errors="replace")
    try:
        yield
    finally:
        for stream, errors in before.items():
            stream.reconfigure(errors=errors)


def run_program(run: Callable[[], int], program: str, extra: str) -> int:
    """Do what `run_command` does; Ctrl-C and signals end the command when its files are cleaned up, Ctrl-C with 130."""
    try:
        with _replace_unencodable(), _exit_on_signals():
            code = run_command(run, program, extra)
            if sys.stdout is not None:  # as after ``>&-``
                sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        sys.stderr.write(f"{program}: interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader has seen enough. What is buffered goes nowhere, or Python would print an error at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def run_command(run: Callable[[], int], program: str, extra: str) -> int:
    """Run a command, which needs an extra of pyproject.toml; print errors that users cause; return the exit code."""
    try:
        return run()
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("multigrid"):
            raise
        library = error.name.partition(".")[0]
        if library not in ("rich", "tyro"):
            extra = _EXTRAS.get(library, "train" if extra == "cli" else extra)
        sys.stderr.write(f"{missing_library(program, error, extra)}\n")
        return 1
    except (ValueError, TypeError, OSError) as error:
        # What a library's message calls game= is a flag here.
        of_game = isinstance(error.__cause__, OtherGameError)
        hint = "; on the command line, name a game with --game, an id or FILE.py:CLASS" if of_game else ""
        sys.stderr.write(f"{program}: {error}{hint}\n")
        return 2
