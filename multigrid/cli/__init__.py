"""The command line. A command's module and its libraries are imported only when the command runs."""

from __future__ import annotations

import _thread
import contextlib
import importlib
import io
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

from multigrid._checks import find_nearest
from multigrid.integrations.extras import missing_library

_COMMANDS = {
    "train": "train agents by PPO, with Stable-Baselines3 or, on one machine or many, with Ray RLlib",
    "play": "play with the keyboard",
    "rollout": "let a policy play, and report how well it does",
    "evaluate": "compare policies on the same episodes",
    "replay": "turn a recording, or two of one layout, into a page for the browser",
    "benchmark": "play the POGEMA benchmark, and compare with its published results",
}

_FORMER = {
    "bench": "in a checkout of the source: python -m benchmarks",
    "docs": "the pages are in the folder docs of the source (README: The site)",
}

_PATIENCE = 0.01
"""Seconds after which a finalizer has ended."""

# The extras of libraries that are in one extra only.
_EXTRAS = {
    "h5py": "datasets",
    "minari": "datasets",
    "ray": "rllib",
    "tensorboard": "loggers",
    "wandb": "loggers",
    "yaml": "benchmark",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 0 for success, 2 for bad arguments, 130 when interrupted.

    Args:
        arguments: the words after ``multigrid``; None means ``sys.argv[1:]``.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None and isinstance(sys.stdout, io.TextIOWrapper):
        # A path of bytes that are no text is printed as it came.
        sys.stdout.reconfigure(errors="surrogateescape")
    if not words or words[0] in ("-h", "--help"):
        lines = [f"  {command:11}{purpose}" for command, purpose in _COMMANDS.items()]
        sys.stdout.write("usage: multigrid COMMAND [flags]\n\n" + "\n".join(lines) + "\n\n")
        sys.stdout.write("multigrid COMMAND --help lists the flags of a command\n")
        sys.stdout.write("multigrid --version prints the versions that a bug report needs\n")
        return 0
    if words[0] == "--version":
        from multigrid.cli._version import describe

        sys.stdout.write(describe())
        return 0
    if words[0] in _FORMER:
        sys.stderr.write(f"multigrid: {words[0]} is no longer a command; {_FORMER[words[0]]}\n")
        return 2
    if words[0] not in _COMMANDS:
        meant = find_nearest(words[0], _COMMANDS, 0.6)
        hint = f" (did you mean {meant}?)" if meant else ""
        sys.stderr.write(f"multigrid: {words[0]!r} is no command{hint}; expected one of {', '.join(_COMMANDS)}\n")
        return 2
    try:
        with _exit_on_signals(), _keep_interruptions():
            return run_command(
                lambda: importlib.import_module(f"multigrid.cli.{words[0]}").main(words[1:]),
                f"multigrid {words[0]}",
                "train" if words[0] == "train" else "cli",
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"multigrid {words[0]}: interrupted\n")
        return 130


@contextlib.contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Raise SystemExit on SIGTERM, which schedulers send, and on SIGHUP, which a closed terminal sends.

    Files are then cleaned up as after Ctrl-C. A signal that is ignored, as SIGHUP under ``nohup``, stays ignored.
    """
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
def _keep_interruptions() -> Iterator[None]:
    """Raise the KeyboardInterrupt again that a finalizer was interrupted by, for Python only prints it there.

    llvmlite has many finalizers, and Ctrl-C while kernels are loaded would be ignored in some of them.
    """
    before, interrupted = sys.unraisablehook, threading.get_ident()

    def repeat_later() -> None:
        time.sleep(_PATIENCE)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(interrupted, signal.SIGINT)
        else:  # Windows
            _thread.interrupt_main()

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            # In another thread: raised in here, it would be ignored, too.
            _thread.start_new_thread(repeat_later, ())
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def run_command(run: Callable[[], int], program: str, extra: str) -> int:
    """Run a command, print errors that users cause, and return the exit code.

    Args:
        run: the command; it returns an exit code.
        program: names the command.
        extra: the extra of pyproject.toml that has the libraries of the command.
    """
    try:
        return run()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("multigrid"):
            raise
        library = error.name.partition(".")[0]
        if library not in ("rich", "tyro"):
            extra = _EXTRAS.get(library, "train" if extra == "cli" else extra)
        sys.stderr.write(f"{missing_library(program, error, extra)}\n")
        return 1
    except (ValueError, TypeError, OSError) as error:
        # A path may have letters that no encoding has.
        sys.stderr.write(f"{program}: {error}\n".encode(errors="backslashreplace").decode())
        return 2
