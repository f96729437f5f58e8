"""Run kernels on the arrays of E worlds: on threads, with the users' generators kept up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core import rules, snapshots
from multigrid.core.allocation import with_room
from multigrid.core.invariants import SOUND, check_static, find_breach
from multigrid.core.observe import observe_worlds, observe_worlds_flat, step_and_observe, step_and_observe_flat
from multigrid.core.threads import PLAY, RESET, RESET_ENDED, Threads
from multigrid.runtime import arrays as memory
from multigrid.runtime.arrays import Arrays
from multigrid.runtime.compiled import COMPILED, OFF
from multigrid.runtime.sharing import Sharing
from multigrid.runtime.world_generators import WorldGenerators, interpret_with

__all__ = ["KernelCalls"]

_TASKS = {rules.play_worlds: PLAY, rules.reset_worlds: RESET, rules.reset_ended_worlds: RESET_ENDED}
_STATE_PARTS = frozenset(("agent", "target"))
_FEWEST_AGENTS_THREADED = 2**12
"""Of worlds that several threads play; on busy cores, two threads take longer for fewer."""
_FEWEST_AGENTS_SHARED, _FEWEST_BYTES_SHARED = 2**16, 2**17
"""Of worlds, and of an array, that several threads write together; one thread writes less in the time of a task."""
_CHECK_VARIABLE = "MULTIGRID_CHECK"


class KernelCalls:
    """The arrays of E worlds, and calls of kernels on them.

    After each kernel, another one writes the observations of the worlds that have changed, if there are parts other
    than *agent* and *target*, which are the state itself; where threads share the work, it is part of their tasks.
    Worlds whose observations an exception has prevented are still marked as outdated, so the next call writes them.

    Signal handlers do not interrupt a compiled kernel. A kernel that resets or restores worlds counts in
    `Arrays.commits`; what else follows from it is stored before the call, with the number of commits from which it
    holds. An interpreted kernel can be interrupted; then `check_consistent` refuses all but a full reset.

    With MULTIGRID_CHECK=1 in the environment, all invariants are checked before and after each kernel call.

    Args:
        config: the worlds' configuration.
        arrays: their arrays.
        num_threads: the number of threads that run kernels; interpreted kernels, and those of few agents, run on one.
    """

    def __init__(self, config: GridConfig, arrays: Arrays, num_threads: int) -> None:
        self.config = config
        self.arrays = arrays
        self.num_worlds = len(arrays.steps)
        self._generators = WorldGenerators(arrays.streams)
        self._threads = Threads(num_threads if COMPILED and arrays.actions.size >= _FEWEST_AGENTS_THREADED else 1)
        self._shares_writing = self._threads.count > 1 and arrays.actions.size >= _FEWEST_AGENTS_SHARED
        self._sharing = Sharing()
        # The threads share all arrays but the scratch.
        self._thread_arrays = [arrays, *(memory.copy_scratch(arrays) for _ in range(self._threads.count - 1))]
        # The number of commits after which users' generators follow worlds, and their new states.
        self._pending: tuple[int, Mapping[int, Mapping[str, Any] | None]] | None = None
        self._is_inconsistent = False
        # Whether a step can call the kernel without any of the checks in `_run`; False until a call has made them.
        self._direct = False
        self._constant_bytes: dict[str, bytes] | None = None
        self._observes = config.flatten or not _STATE_PARTS.issuperset(config.parts)
        self._pack_arrays()
        rules.build_move_table(self._address_table)
        if os.environ.get(_CHECK_VARIABLE, "") not in OFF:
            self._constant_bytes = check_static(arrays, {})

    def _pack_arrays(self) -> None:
        self._address_tables = [memory.pack(arrays) for arrays in self._thread_arrays]
        self._address_table = self._address_tables[0]
        self._buffer: snapshots.StateBuffer | None = None
        self._step_worlds: Callable[[Any, int, int], int] = rules.step_worlds
        if self._observes:
            self._step_worlds = step_and_observe_flat if self.config.flatten else step_and_observe

    def _make_room(self, longest: int) -> None:
        """Replace the arrays of lists of targets by larger ones if they are too small; no world changes."""
        arrays, threads = with_room(self.arrays, longest), self._threads
        if arrays is self.arrays:
            return
        lists = {name: getattr(arrays, name) for name in ("target_lists", "list_lengths")}
        thread_arrays = [arrays, *(one._replace(**lists) for one in self._thread_arrays[1:])]
        tables = [memory.pack(one) for one in thread_arrays]
        # In one call, so that no exception of a signal handler leaves tables without their arrays.
        vars(self).update(
            arrays=arrays,
            _thread_arrays=thread_arrays,
            _address_tables=tables,
            _address_table=tables[0],
            _buffer=None,
            _threads=Threads(threads.count),
        )
        threads.close()

    def __copy__(self) -> KernelCalls:
        """Return a copy with its own arrays, except the constant ones, and the same generators."""
        self.finish_commit()
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        changing = [name for name in Arrays._fields if name not in memory.CONSTANT]
        copy.arrays = self.arrays._replace(**{name: getattr(self.arrays, name).copy() for name in changing})
        copy._generators = self._generators.copy(copy.arrays.streams)
        copy._thread_arrays = [copy.arrays, *(memory.copy_scratch(copy.arrays) for _ in self._thread_arrays[1:])]
        copy._threads = Threads(self._threads.count)
        copy._pack_arrays()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        self.finish_commit()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("_address_table", "_address_tables", "_buffer", "_step_worlds")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._direct = False  # the process that loads this may have no compiler
        self._pack_arrays()

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

    def write_array(self, to: NDArray[Any], source: NDArray[Any] | None) -> None:
        """Copy an array into another one, or fill that with zeros; the threads share the work if it is large.

        Args:
            to: the array to write, C-contiguous.
            source: of the same shape; None for zeros.
        """
        if not self._shares_writing:
            _write_alone(to, source)
            return
        begin = time.perf_counter()
        if self._sharing.is_on and to.nbytes >= _FEWEST_BYTES_SHARED and _can_share(to, source):
            self._threads.write(self._address_tables, to, source)
        else:
            _write_alone(to, source)
        self._sharing.add_work(time.perf_counter() - begin)

    def finish_commit(self) -> None:
        """Let the generators of users follow the last reset or restoration, if an exception has prevented it."""
        if self._pending is not None:
            commit, states = self._pending
            if commit == self.arrays.commits.item():
                for e, state in states.items():
                    self._generators.restore(e, state)
            self._pending = None

    @property
    def is_inconsistent(self) -> bool:
        """Whether an interpreted kernel was interrupted, so that all worlds must be reset."""
        return self._is_inconsistent

    def check_consistent(self) -> None:
        """Raise an error if `is_inconsistent`.

        Raises:
            RuntimeError: an interpreted kernel was interrupted, or the generator that it drew from raised an error.
        """
        if self._is_inconsistent:
            raise RuntimeError(
                "an exception interrupted a reset or a step that was run by Python, not compiled, and has left the "
                "worlds half played; call reset(), of all worlds, to go on"
            )

    def _run_commit(
        self,
        kernel: Any,
        *arguments: Any,
        states: Mapping[int, Mapping[str, Any] | None],
        drawing: Iterable[int] | None = None,
    ) -> None:
        """Run a kernel that counts in `Arrays.commits`; then the generators of users get states, or are detached."""
        if not states:
            self._run(kernel, *arguments, drawing=drawing)
            return
        self._direct = False
        self._pending = (self.arrays.commits.item() + 1, states)
        try:
            self._run(kernel, *arguments, drawing=drawing)
        finally:
            self.finish_commit()

    def _run(self, kernel: Any, *arguments: Any, drawing: Iterable[int] | None = None) -> None:
        """Run a kernel that changes worlds, and write their observations.

        Args:
            kernel: the kernel.
            *arguments: what it gets after the address table.
            drawing: the worlds that draw random numbers, whose generators are updated; None for all.
        """
        entries = self._generators.entries
        if self._direct and not entries:
            kernel(self._address_table, *arguments)
            self.observe()
            return
        compiled, foreign = self._generators.prepare(drawing) if entries else ([], None)
        self._check_invariants("before", kernel)
        try:
            if foreign is not None or not COMPILED:
                assert foreign is None or self.num_worlds == 1
                self._interpret(kernel if foreign is None else interpret_with(kernel, foreign), *arguments)
                self.observe()
            elif self._threads.count > 1:
                self._share(kernel, *arguments)
            else:
                self._call(kernel, *arguments)
                self.observe()
        finally:
            if compiled:
                self._generators.update_generators(compiled)
        self._check_invariants("after", kernel)

    def _call(self, kernel: Any, *arguments: Any) -> None:
        """Run a compiled kernel on this thread."""
        if self._is_inconsistent:
            memory.clean_scratch(self.arrays)
        kernel(self._address_table, *arguments)
        self._is_inconsistent = False
        is_checked = self._generators.entries or self._pending is not None or self._constant_bytes is not None
        self._direct = not is_checked and self._threads.count == 1

    def _share(self, kernel: Any, *arguments: Any) -> None:
        """Run a compiled kernel, and write observations, on all threads, or on this one while that is faster."""
        begin = time.perf_counter()
        if self._sharing.is_on and kernel in _TASKS:
            first, last, *rest = arguments
            self._threads.run(self._address_tables, _TASKS[kernel], (first, last), *rest)
        else:
            self._call(kernel, *arguments)
            self.observe()
        if kernel is rules.play_worlds:
            self._sharing.add_task(time.perf_counter() - begin)

    def _interpret(self, kernel: Any, *arguments: Any) -> None:
        """Let Python run a kernel, which a signal handler may interrupt."""
        # An interrupted kernel leaves the scratch dirty.
        memory.clean_scratch(self.arrays)
        self._direct = False
        self._is_inconsistent = True
        # 64-bit arithmetic is meant to wrap.
        with np.errstate(over="ignore"):
            kernel(self.arrays, *arguments)
        self._is_inconsistent = False

    def observe(self) -> None:
        """Write the observations of the worlds that have changed since they were written."""
        if not self._observes:
            return
        kernel = observe_worlds_flat if self.config.flatten else observe_worlds
        if COMPILED:
            kernel(self._address_table, 0, self.num_worlds)
        else:
            self._interpret(kernel, 0, self.num_worlds)

    def _check_invariants(self, when: str, kernel: Any) -> None:
        if self._constant_bytes is None or self._is_inconsistent:
            return
        with np.errstate(over="ignore"):
            breach = find_breach(self._address_table, 0, self.num_worlds, True)
        if breach != SOUND:
            message = snapshots.format_breach(self.arrays, breach, self.config)
            raise AssertionError(f"{when} {kernel.__name__}: {message}")
        for arrays in self._thread_arrays:
            check_static(arrays, self._constant_bytes)


def _write_alone(to: NDArray[Any], source: NDArray[Any] | None) -> None:
    if source is None:
        # Bytes are filled twice as fast as floats.
        to.view(np.uint8).fill(0)
    else:
        to[...] = source


def _can_share(to: NDArray[Any], source: NDArray[Any] | None) -> bool:
    """Return whether threads can copy an array into another one byte by byte."""
    # Where an env was unpickled, there may be no compiled kernels.
    return COMPILED and (source is None or (source.dtype == to.dtype and source.flags.c_contiguous))
