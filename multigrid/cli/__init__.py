"""The command line. A command's module and its libraries are imported only when the command runs."""

from __future__ import annotations

import _thread
import codecs
import contextlib
import importlib
import io
import signal
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

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


# What replaces a character that the encoding lacks, by the first of these words in the character's name.
_WORDS = "AND + VERTICAL | DRAWINGS - BLOCK # SHADE # BRAILLE * BULLET * DASH - HYPHEN - MINUS - MULTIPLICATION x"
_WORDS += " PLUS-MINUS +- ELLIPSIS ... RIGHTWARDS -> LEFTWARDS <- MIDDLE . QUOTATION '"
_IN_ASCII = dict(zip(_WORDS.split()[::2], _WORDS.split()[1::2], strict=True))


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 0 for success, 2 for bad arguments, 130 when interrupted.

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
def _keep_interruptions() -> Iterator[None]:
    """Raise KeyboardInterrupt again after a finalizer, such as llvmlite's, in which Python only prints it."""
    before, interrupted = sys.unraisablehook, threading.get_ident()

    def repeat_later() -> None:
        time.sleep(0.01)  # until the finalizer has ended
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(interrupted, signal.SIGINT)
        else:  # Windows
            _thread.interrupt_main()

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            # Another thread raises it later, because it would be ignored here, too.
            _thread.start_new_thread(repeat_later, ())
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _replace(error: Any) -> tuple[str | bytes, int]:
    """Return what replaces the first character that cannot be encoded; bytes of a path that are not text stay."""
    character, end = error.object[error.start], error.start + 1
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), end
    words = unicodedata.name(character, "").split()
    plain = next((plain for word, plain in _IN_ASCII.items() if word in words), None)
    return plain or character.encode("ascii", "backslashreplace"), end


class _Screen(io.FileIO):
    """A file that takes everything: what cannot be written, and all that follows, is dropped, and the error kept."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        if self.error is None:
            try:
                return super().write(data)
            except OSError as error:
                self.error = error
        return len(data)


@contextlib.contextmanager
def show_all(program: str) -> Iterator[None]:
    """In a ``with`` block, standard output and error raise nothing, in any encoding, on a full disk, or in a pipe.

    At the end, an error of standard output is reported in one line, and raises SystemExit with 1; except for a pipe
    whose reader has seen enough.
    """
    codecs.register_error("multigrid", _replace)
    # A bar of compilations is shown if the last two are the same.
    before: dict[str, Any] = {name: getattr(sys, name) for name in ("stdout", "stderr", "__stderr__")}
    screens = {stream: _Screen(stream.fileno(), "w", closefd=False) for stream in before.values() if _is_file(stream)}
    # Without a stream, as after ``>&-``, what is written goes nowhere.
    after: dict[Any, Any] = {None: io.StringIO()}
    for stream, screen in screens.items():
        stream.flush()
        is_fast = stream.line_buffering or stream.write_through
        form: dict[str, Any] = {"encoding": stream.encoding, "errors": "multigrid", "line_buffering": is_fast}
        after[stream] = io.TextIOWrapper(io.BufferedWriter(screen), **form)
    try:
        for name, stream in before.items():
            setattr(sys, name, after.get(stream, stream))
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)
        for stream in after.values():
            stream.flush()
        failure = getattr(screens.get(before["stdout"]), "error", None)
        if failure is not None and not isinstance(failure, BrokenPipeError):
            with contextlib.suppress(OSError):
                sys.stderr.write(f"{program}: standard output cannot be written: {failure.strerror}\n")
            raise SystemExit(1)


def _is_file(stream: Any) -> bool:
    """Return whether a stream is a file, a pipe or a terminal, and not that of a notebook, or of Windows' console."""
    return type(stream) is io.TextIOWrapper and isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO)


def run_program(run: Callable[[], int], program: str, extra: str) -> int:
    """Do what `run_command` does, whatever the terminal can show, see `show_all`.

    Signals and Ctrl-C end the command when its files are cleaned up, Ctrl-C with 130.
    """
    with show_all(program):
        try:
            with _exit_on_signals(), _keep_interruptions():
                return run_command(run, program, extra)
        except KeyboardInterrupt:
            sys.stderr.write(f"{program}: interrupted\n")
            return 130


def run_command(run: Callable[[], int], program: str, extra: str) -> int:
    """Run a command, which needs an extra of pyproject.toml; print errors that users cause; return the exit code."""
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
        # What a library's message calls game= is a flag here.
        of_game = isinstance(error.__cause__, OtherGameError)
        hint = "; on the command line, name a game with --game FILE.py:CLASS" if of_game else ""
        # The message may contain a path that cannot be encoded.
        sys.stderr.write(f"{program}: {error}{hint}\n".encode(errors="backslashreplace").decode())
        return 2
