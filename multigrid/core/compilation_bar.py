"""A line on the terminal that shows how far a compilation is."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["CompilationBar"]

_CELLS = 24
_COLUMNS = 79


# Each thread has attributes of its own: two may compile by turns.
class CompilationBar(threading.local):
    """A bar on stderr, if that is a terminal, with the function that Numba compiles.

    The line is written when a function begins or ends, by no thread of its own: a bar of the program's own that is on
    the same line stays.

    >>> bar = CompilationBar()
    >>> bar.watch(max, 3, 5)
    5
    """

    def __init__(self) -> None:
        self._under_way: list[str] = []
        self._done = 0
        self._total = 0

    def watch(self, compile_function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what compiles a function and, before it, those that it calls; clear the line after the last one."""
        outer = len(self._under_way)
        try:
            return compile_function(*arguments)
        finally:
            if len(self._under_way) > outer:
                del self._under_way[outer:]
                self._done += 1
                self._write(self._line() if self._under_way else "")

    def begin(self, dispatcher: Any) -> None:
        """Show that a function is compiled; the first one counts those that it calls, which are compiled with it."""
        if not self._under_way:
            self._done, self._total = 0, _count_uncompiled(dispatcher)
        self._under_way.append(dispatcher.py_func.__name__.strip("_"))
        self._write(self._line())

    def _line(self) -> str:
        total = max(self._total, self._done + 1)  # a function is compiled again for arguments of other types
        filled = _CELLS * self._done // total
        return f"  [{'#' * filled}{'.' * (_CELLS - filled)}] {self._done}/{total} {self._under_way[-1]}"

    def _write(self, line: str) -> None:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            if sys.stderr.isatty():
                end = "" if line else "\r"
                sys.stderr.write(f"\r{line[:_COLUMNS].ljust(_COLUMNS)}{end}")
                sys.stderr.flush()


def _count_uncompiled(dispatcher: Any) -> int:
    """Return the number of functions without machine code among a function and those that it calls."""
    found = {id(dispatcher): dispatcher}
    to_do = [dispatcher]
    while to_do:
        function = to_do.pop().py_func
        names, scope = function.__code__.co_names, function.__globals__
        values = [scope.get(name) for name in names]
        values += [getattr(value, name, None) for value in values if inspect.ismodule(value) for name in names]
        for called in values:
            if hasattr(called, "overloads") and id(called) not in found:
                found[id(called)] = called
                to_do.append(called)
    return sum(not function.overloads for function in found.values())
