"""The command line. A command's module, and what it needs, is imported when the command is asked for."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import signal
import sys
import threading
from collections.abc import Iterator

__all__ = ["main"]

_COMMANDS = {
    "train": "train agents by PPO, with Stable-Baselines3 or, on one machine or many, with Ray RLlib",
    "play": "play with the keyboard",
    "rollout": "let a policy play, and report how well it does",
    "replay": "turn a recording into a page for the browser",
    "bench": "measure the documented code, other environments and this one, side by side",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 0 for success, 2 for bad arguments, 130 when interrupted.

    Args:
        arguments: the words after ``multigrid``; None takes them from the command line.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in ("-h", "--help"):
        lines = [f"  {command:8}{purpose}" for command, purpose in _COMMANDS.items()]
        sys.stdout.write("usage: multigrid COMMAND [flags]\n\n" + "\n".join(lines) + "\n\n")
        sys.stdout.write("multigrid COMMAND --help lists the flags of a command\n")
        return 0
    if words[0] not in _COMMANDS:
        sys.stderr.write(f"multigrid: {words[0]!r} is no command; expected one of {', '.join(_COMMANDS)}\n")
        return 2
    try:
        with _ended_by_sigterm():
            return _run(words[0], words[1:])
    except KeyboardInterrupt:
        sys.stderr.write(f"multigrid {words[0]}: interrupted\n")
        return 130


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, by which schedulers end what they started, clean up as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(command: str, flags: list[str]) -> int:
    name, extra, needing = "train.sb3" if command == "train" else command, "train", command
    # Asked before a module is imported, so that neither engine needs what the other is built upon.
    if command == "train" and ("--engine=rllib" in flags or ("--engine", "rllib") in itertools.pairwise(flags)):
        name, extra, needing = "train.rllib", "rllib", "train --engine rllib"
    try:
        module = importlib.import_module(f"multigrid.cli.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("multigrid"):
            raise
        install = f'pip install "multigrid-marl[{extra}]"'
        sys.stderr.write(f"multigrid {needing} needs {error.name}, which is not installed: {install}\n")
        return 1
    code: int = module.main(flags)
    return code
