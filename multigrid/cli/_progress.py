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
    def shown(self) -> Iterator[None]:
        """Show the bar in the block, on a terminal."""
        if not self.console.is_terminal:
            yield
            return
        with self._progress:
            yield

    @contextlib.contextmanager
    def doing(self, what: str, total: int | None = None, done: int = 0) -> Iterator[Callable[..., None]]:
        """Show another activity in the block.

        Yield a function that takes the finished part and the keywords of rich's `Progress.update`.
        """
        if self._is_logged and not self.console.is_terminal:
            self.console.print(what, highlight=False, markup=False, soft_wrap=True)
        for task in self._tasks:
            self._progress.update(task, visible=False)
        task = self._progress.add_task(what, total=total, completed=done, figures="")
        self._tasks.append(task)

        def update(completed: int | None = None, **state: Any) -> None:
            if task in self._tasks:
                self._progress.update(task, completed=completed, **state)

        try:
            yield update
        finally:
            self._tasks.remove(task)
            self._progress.remove_task(task)
            if self._tasks:
                self._progress.update(self._tasks[-1], visible=True)
