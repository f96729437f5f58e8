"""Processes that answer each line on their standard input with a line of JSON on their standard output."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any


class ProcessError(Exception):
    """A process did not answer with JSON; the message is the last line that it wrote."""


def last_line(file: IO[str], start: str = "") -> str:
    r"""Return the last line of an open file that begins with `start`, without `start`; "" if there is none.

    >>> import io
    >>> last_line(io.StringIO("collecting\nERROR: no such package\n"), "ERROR:")
    'no such package'
    """
    file.seek(0)
    lines = [line.strip() for line in file if line.strip() and line.startswith(start)]
    return lines[-1].removeprefix(start).strip() if lines else ""


class JsonProcess:
    r"""A process that answers lines on its standard input with lines of JSON.

    Args:
        command: the program and its arguments.
        env: its environment variables.
        cwd: its working directory; None means this process's own.

    Raises:
        OSError: the program cannot be started.

    >>> import contextlib, sys
    >>> echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
    >>> with contextlib.closing(JsonProcess([sys.executable, "-c", echo], env={})) as process:
    ...     process.write('{"seconds": 1}')
    ...     process.read()
    {'seconds': 1}
    """

    def __init__(self, command: Sequence[str], env: dict[str, str], cwd: Path | None = None) -> None:
        with contextlib.ExitStack() as stack:
            self._errors = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors, "text": True}
            self._process = subprocess.Popen(command, env=env, cwd=cwd, **pipes)  # noqa: S603 - our own programs
            stack.pop_all()

    def write(self, line: str) -> None:
        """Write a line; do nothing if the process has ended, as the next `read` raises an error."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def read(self, limit: float = threading.TIMEOUT_MAX) -> Any:
        """Wait for the next line of the process and return its content; kill it after `limit` seconds.

        Raises:
            ProcessError: the process has ended, or the line is not JSON.
        """
        assert self._process.stdout is not None
        timer = threading.Timer(limit, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        try:
            return json.loads(line)
        except json.JSONDecodeError as error:
            message = line.strip() or last_line(self._errors) or f"no answer, exit code {self._process.wait()}"
            raise ProcessError(message) from error

    def close(self) -> None:
        """Close the process's input, which ends it, and kill it if it has not ended after five seconds."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
