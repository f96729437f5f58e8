"""Show on the terminal how far a compilation is."""

from __future__ import annotations

import contextlib
import inspect
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

_CELLS = 24
_COLUMNS = 80  # of a terminal that does not say how wide it is


class Compilation(NamedTuple):
    """How far a compilation is."""

    what: str
    """What is compiled, such as "the rules of the game"."""
    function: str
    """The name of the function that is compiled now."""
    done: int
    """The number of functions that are compiled."""
    total: int
    """The number of functions to compile."""


Show: TypeAlias = Callable[[Compilation | None], object]
"""A function that shows how far a compilation is; None means that it has ended."""


# Each thread has attributes of its own: two may compile by turns.
class CompilationBar(threading.local):
    """A bar on stderr, if that is a terminal, with the function that Numba compiles.

    The line is written when the compilation of a function begins or ends, by no thread of its own, so a bar of the
    program's own on the same line remains visible. `show_compilations` shows the bar in another place.
    """

    def __init__(self, what: str = "") -> None:
        self._what = what
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
                self._show()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is compiled."""
        return not self._under_way

    def begin(self, dispatcher: Any, rules: str = "", hooks: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Show that a function is compiled, for a set of rules with some hooks.

        The first one counts those that it calls, which are compiled with it.
        """
        if not self._under_way:
            self._done, self._total = 0, _count_uncompiled(dispatcher, rules, hooks)
        self._under_way.append(dispatcher.py_func.__name__.strip("_"))
        self._show()

    def _show(self) -> None:
        if not self._under_way:
            _shows[-1](None)
            return
        total = max(self._total, self._done + 1)  # a function is compiled again for arguments of other types
        _shows[-1](Compilation(self._what, self._under_way[-1], self._done, total))


@contextlib.contextmanager
def show_compilations(show: Show) -> Iterator[None]:
    """In a ``with`` block, show compilations by a function, and not by a line and messages on stderr.

    This is for programs with a progress bar of their own, which a second one on the same terminal would break. Threads
    may call the function.

    >>> import numba
    >>> with show_compilations(print):
    ...     CompilationBar("the rules of the game").begin(numba.njit(lambda: 0))
    Compilation(what='the rules of the game', function='<lambda>', done=0, total=1)
    """
    _shows.append(show)
    try:
        yield
    finally:
        _shows.remove(show)


def is_shown_elsewhere() -> bool:
    """Return whether `show_compilations` is in effect, or the terminal is that of a parent process."""
    return _shows[-1] is not _write_line or multiprocessing.parent_process() is not None


def _write_line(compilation: Compilation | None) -> None:
    """Write a line to the terminal, or clear it."""
    # What a program puts in place of stderr is no terminal: Rich, for one, writes each line above its bar.
    stream = sys.__stderr__
    with contextlib.suppress(OSError, ValueError):
        if stream is None or sys.stderr is not stream or is_shown_elsewhere() or not stream.isatty():
            return
        line = ""
        if compilation is not None:
            _, function, done, total = compilation
            filled = _CELLS * done // total
            line = f"  [{'#' * filled}{'.' * (_CELLS - filled)}] {done}/{total} {function}"
        # A line that is longer would continue in the next one, and stay there.
        columns = (os.get_terminal_size(stream.fileno()).columns or _COLUMNS) - 1
        stream.write(f"\r{line[:columns].ljust(columns)}{'' if line else chr(13)}")
        stream.flush()


_shows: list[Show] = [_write_line]


def _count_uncompiled(dispatcher: Any, rules: str, hooks: Mapping[str, Any]) -> int:
    """Return how many of a function, and those that it calls, have no machine code for a set of rules."""
    found = {id(dispatcher.py_func): dispatcher}
    to_do = [dispatcher]
    while to_do:
        function = to_do.pop().py_func
        names, scope = function.__code__.co_names, {**hooks, **function.__globals__}
        values = [scope.get(name) for name in names]
        values += [getattr(value, name, None) for value in values if inspect.ismodule(value) for name in names]
        for called in values:
            key = id(getattr(called, "py_func", None))
            if hasattr(called, "py_func") and key not in found:
                found[key] = called
                to_do.append(called)
    return sum(not _is_compiled(getattr(function, "compiled", function), rules) for function in found.values())


def _is_compiled(dispatcher: Any, rules: str) -> bool:
    signatures = getattr(dispatcher, "overloads", ((),))  # an intrinsic is never compiled alone
    return any(all(getattr(one, "rules", rules) == rules for one in signature) for signature in signatures)
