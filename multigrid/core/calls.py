"""Calls of kernels on the arrays of E worlds: by threads, with generators in step, and safe from interruptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from multigrid.config import GridConfig
from multigrid.core import arrays as memory
from multigrid.core import rules, snapshots
from multigrid.core.arrays import Arrays
from multigrid.core.compiled import COMPILED
from multigrid.core.held import Generators, draw_through
from multigrid.core.invariants import SOUND, check_static, find_breach
from multigrid.core.threads import PLAY, RESET, RESET_ENDED, Threads

__all__ = ["KernelCalls"]

_TASKS = {rules.play_worlds: PLAY, rules.reset_all_worlds: RESET, rules.reset_ended_worlds: RESET_ENDED}
_CHECK = "MULTIGRID_CHECK"
_NOTHING = ("", "0")


class KernelCalls:
    """The arrays of E worlds, and calls of kernels on them.

    Each call is one call of a kernel, which no signal handler interrupts, and what else changes with it: that is done
    at once or, if an exception comes first, by `settle`, which the next call begins with. An interpreted kernel can be
    interrupted; then `check_whole` refuses everything but a reset of all worlds.

    With MULTIGRID_CHECK=1 in the environment, every kernel call is preceded and followed by a check of all invariants.

    Args:
        config: the worlds' configuration.
        arrays: their arrays.
        num_threads: on how many threads kernels run, where they are compiled.
    """

    def __init__(self, config: GridConfig, arrays: Arrays, num_threads: int) -> None:
        self.config = config
        self.arrays = arrays
        self.num_worlds = len(arrays.steps)
        self._generators = Generators(arrays.streams)
        self._threads = Threads(num_threads if COMPILED else 1)
        # Each thread works on the same worlds' arrays, with scratch of its own.
        self._copies = [arrays, *(memory.with_own_scratch(arrays) for _ in range(self._threads.count - 1))]
        self._then: tuple[int, Callable[[], object]] | None = None
        self._is_torn = False
        # Whether a step is the kernel's and nothing else; False until a call has found out. Where no generator is held,
        # so is any other call.
        self._direct = False
        self._constant: dict[str, bytes] | None = None
        self._bind()
        rules.build_move_table(self._address_table)
        if os.environ.get(_CHECK, "") not in _NOTHING:
            self._constant = check_static(arrays, {})

    def _bind(self) -> None:
        self._address_tables = [memory.pack(arrays) for arrays in self._copies]
        self._address_table = self._address_tables[0]
        self._stage: snapshots.Stage | None = None

    def __copy__(self) -> KernelCalls:
        """Return a world with arrays of its own, but for those that nothing changes, and the same generators."""
        self.settle()
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        changing = [name for name in Arrays._fields if name not in memory.CONSTANT]
        copy.arrays = self.arrays._replace(**{name: getattr(self.arrays, name).copy() for name in changing})
        copy._generators = self._generators.copy(copy.arrays.streams)
        copy._copies = [copy.arrays, *(memory.with_own_scratch(copy.arrays) for _ in self._copies[1:])]
        copy._threads = Threads(self._threads.count)
        copy._bind()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("_address_table", "_address_tables", "_stage")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._direct = False  # the process that goes on may have no compiler
        self._bind()

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

    def settle(self) -> None:
        """Do what a call that was interrupted after its kernel has left to do."""
        if self._then is not None:
            commit, then = self._then
            if commit == self.arrays.commits.item():
                then()
            self._then = None

    @property
    def is_torn(self) -> bool:
        """Whether worlds may be half played, so that only a reset of all of them makes sense."""
        return self._is_torn

    def check_whole(self) -> None:
        """Refuse to go on with worlds that are half played.

        Raises:
            RuntimeError: an interpreted kernel was interrupted, or the generator that it drew from has raised.
        """
        if self._is_torn:
            raise RuntimeError(
                "an exception interrupted a reset or a step that was run by Python, not compiled, and has left the "
                "worlds half played; call reset(), of all worlds, to go on"
            )

    def _change(
        self,
        then: Callable[[], object] | None,
        kernel: Any,
        *arguments: Any,
        drawing: Iterable[int] | None = None,
    ) -> None:
        """Call a kernel that counts as a commit, and then what else changes with it."""
        if then is None:
            self._run(kernel, *arguments, drawing=drawing)
            return
        self._direct = False
        self._then = (self.arrays.commits.item() + 1, then)
        try:
            self._run(kernel, *arguments, drawing=drawing)
        finally:
            self.settle()

    def _run(self, kernel: Any, *arguments: Any, drawing: Iterable[int] | None = None) -> Any:
        """Run a kernel on the threads that there are, and keep the generators of the worlds that draw in step."""
        held = self._generators.held
        if self._direct and not held:
            return kernel(self._address_table, *arguments)
        compiled, foreign = self._generators.prepare(drawing) if held else ([], None)
        if self._constant is not None:
            self._verify("before", kernel)
        try:
            if foreign is not None:
                assert self.num_worlds == 1
                result = self._interpret(draw_through(kernel, foreign), self.arrays, arguments)
            elif not COMPILED:
                result = self._interpret(kernel, self._address_table, arguments)
            elif self._threads.count > 1 and kernel in _TASKS:
                first, last, *rest = arguments
                self._threads.run(self._address_tables, _TASKS[kernel], (first, last), *rest)
                result = None
            else:
                if self._is_torn:
                    memory.clean_scratch(self.arrays)
                result = kernel(self._address_table, *arguments)
                self._is_torn = False
                self._direct = not held and self._then is None and self._constant is None and self._threads.count == 1
        finally:
            if compiled:
                self._generators.store(compiled)
        if self._constant is not None:
            self._verify("after", kernel)
        return result

    def _interpret(self, kernel: Any, address_table: Any, arguments: tuple[Any, ...]) -> Any:
        # A kernel that was interrupted has left something there.
        memory.clean_scratch(self.arrays)
        self._direct = False
        self._is_torn = True
        # 64-bit arithmetic wraps, as it is meant to.
        with np.errstate(over="ignore"):
            result = kernel(address_table, *arguments)
        self._is_torn = False
        return result

    def _verify(self, when: str, kernel: Any) -> None:
        assert self._constant is not None
        if self._is_torn:
            return
        with np.errstate(over="ignore"):
            breach = find_breach(self._address_table, 0, self.num_worlds, True)
        if breach != SOUND:
            message = snapshots.breach_message(self.arrays, breach, self.config)
            raise AssertionError(f"{when} {kernel.__name__}: {message}")
        for arrays in self._copies:
            check_static(arrays, self._constant)
