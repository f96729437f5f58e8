"""The progress bar of a command, which names the current activity."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, TaskID


class ProgressBar:
    """A bar that names the current activity, which `doing` prints if `is_logged` and the console is no terminal."""

    def __init__(self, console: Console, *columns: ProgressColumn, is_logged: bool = False) -> None:
        self.console, self._is_logged = console, is_logged
        text = TextColumn("{task.description}", markup=False)
        self._progress = Progress(text, BarColumn(), *columns, TimeRemainingColumn(), console=console, transient=True)
        self._tasks: list[TaskID] = []  # nested activities, of which the last one is shown

    @contextlib.contextmanager
    def shown(self, *, from_now: bool = True) -> Iterator[Callable[[], None]]:
        """Show the bar from now on, or from the call of the yielded function on, so that a fork copies no thread."""
        if not self.console.is_terminal:
            yield lambda: None
            return
        try:
            if from_now:
                self._progress.start()
            yield self._progress.start
        finally:
            self._progress.stop()

    @contextlib.contextmanager
    def doing(self, what: str, total: int | None = None, done: int = 0) -> Iterator[Callable[..., None]]:
        """Show another activity in the block; yield a function of the finished part and of rich's `Progress.update`."""
        if self._is_logged and not self.console.is_terminal:
            self.console.print(what, highlight=False, markup=False, soft_wrap=True)
        task = self._begin(what, total, done)

        def update(completed: int | None = None, **state: Any) -> None:
            if task in self._tasks:
                self._progress.update(task, completed=completed, **state)

        try:
            yield update
        finally:
            self._end(task)

    def _begin(self, what: str, total: int | None, done: int) -> TaskID:
        for task in self._tasks:
            self._progress.update(task, visible=False)
        self._tasks.append(self._progress.add_task(what, total=total, completed=done, figures=""))
        return self._tasks[-1]

    def _end(self, task: TaskID) -> None:
        self._tasks.remove(task)
        self._progress.remove_task(task)
        if self._tasks:
            self._progress.update(self._tasks[-1], visible=True)
