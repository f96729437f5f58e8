"""Run a game's kernels on the arrays of E worlds: on threads, with the users' generators kept up to date."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.maps._cells import NO_TARGET
from multigrid.runtime import arrays as memory
from multigrid.runtime.arrays import Arrays
from multigrid.runtime.compiled import COMPILED, OFF
from multigrid.runtime.sharing import Sharing
from multigrid.runtime.snapshots import StateBuffer
from multigrid.runtime.threads import PLAY, RESET, RESET_ENDED, WRITE, ZEROS, Threads
from multigrid.runtime.world_generators import WorldGenerators, interpret_with

_FEWEST_AGENTS_THREADED = 2**12
"""The fewest, in all worlds, that several threads play; for fewer, two threads on busy cores take longer than one."""
_FEWEST_AGENTS_SHARED, _FEWEST_BYTES_SHARED = 2**16, 2**17
"""The fewest, of all worlds and of an array, that threads write together; a task takes longer than to write fewer."""
_CHECK_VARIABLE = "MULTIGRID_CHECK"
_UNPICKLED = ("_address_table", "_address_tables", "_buffer", "_step_worlds", "_threads")


class Game(NamedTuple):
    """The kernels of a game, which get an address table, and mostly the first world and the one after the last.

    `multigrid.core.worlds.GAME` is the built-in one.
    """

    prepare: Any
    """Compute constant arrays, once."""
    reset: Any
    """Begin an episode, on a given map or a `RANDOM` one."""
    begin: Any
    """Begin an episode in K worlds, with given maps, streams, layouts and lists of targets."""
    reset_ended: Any
    """Begin an episode where the last one is over."""
    restore: Any
    """Copy the states of another table to K worlds."""
    find_bad_action: Any
    """Return the first row, world * N + agent, whose action is out of range; a negative number if there is none."""
    play: Any
    """Play a step."""
    step: Any
    """Find a bad action as `find_bad_action`, and play a step if there is none."""
    step_and_observe: tuple[Any, Any]
    """Do as `step`, then as `observe`."""
    observe: tuple[Any, Any]
    """Write the outdated observations: one for an array of each part, one for flat vectors."""
    play_tasks: Any
    """Play pieces of tasks, see `multigrid.runtime.threads`."""
    find_breach: Any
    """Return the first broken invariant of all worlds, or of those that had a reset; a negative number if none is."""
    describe_breach: Any
    """No kernel: return the error message for what `find_breach` returned, given the arrays, it, and the config."""


class KernelCalls:
    """The arrays of E worlds, and calls of kernels on them.

    After each kernel, another one writes the observations of the worlds that have changed, if there are parts other
    than *agent* and *target*, which are the state itself; where threads share the work, it is part of their tasks.
    If an exception prevents this, the worlds are still marked as outdated, so the next call writes them.

    Signal handlers do not interrupt a compiled kernel. A kernel that resets or restores worlds increments
    `Arrays.commits`. What else changes with it is stored before the call, with the number of commits from which it is
    valid. An interpreted kernel can be interrupted; then `check_consistent` refuses all but a full reset.

    Interpreted kernels, and those of few agents, run on one thread.
    """

    game: ClassVar[Game]
    """The kernels, which are not pickled."""

    def __init__(self, config: GridConfig, arrays: Arrays, num_threads: int) -> None:
        self.config = config
        self.arrays = arrays
        self.num_worlds = len(arrays.steps)
        self._generators = WorldGenerators(arrays.streams)
        self._num_threads = num_threads if COMPILED and arrays.actions.size >= _FEWEST_AGENTS_THREADED else 1
        self._shares_writing = self._num_threads > 1 and arrays.actions.size >= _FEWEST_AGENTS_SHARED
        self._sharing = Sharing()
        # The threads share all arrays but the scratch.
        self._thread_arrays = [arrays, *(memory.copy_scratch(arrays) for _ in range(self._num_threads - 1))]
        # The number of commits after which users' generators follow worlds, and their new states.
        self._pending: tuple[int, Mapping[int, Mapping[str, Any] | None]] | None = None
        self.is_inconsistent = False
        """Whether an interpreted kernel was interrupted, so that all worlds must be reset."""
        # Whether a step can call the kernel without any of the checks in `_run`; False until a call has made them.
        self._direct = False
        self._constant_bytes: dict[str, bytes] | None = None
        self._observes = config.flatten or not memory.STATE_PARTS.keys() >= set(config.parts)
        self._pack_arrays()
        self.game.prepare(self._address_table)
        if os.environ.get(_CHECK_VARIABLE, "") not in OFF:
            self._constant_bytes = memory.check_static(arrays, {})

    def _pack_arrays(self) -> None:
        self._address_tables = [memory.pack(arrays) for arrays in self._thread_arrays]
        self._address_table = self._address_tables[0]
        self._buffer: StateBuffer | None = None
        self._threads = Threads(self.game.play_tasks, self._num_threads)
        self._step_worlds = self.game.step_and_observe[self.config.flatten] if self._observes else self.game.step

    def _make_room(self, longest: int) -> None:
        """Replace the arrays of lists of targets if they are too small; raise ValueError without enough memory."""
        old, threads = self.arrays, self._threads
        if longest <= old.target_lists.shape[2]:
            return
        shape = (*old.arrivals.shape, longest, 2)
        check_worlds(self.num_worlds, math.prod(shape) * old.target_lists.itemsize)
        lists, lengths = np.full(shape, NO_TARGET), np.zeros(old.arrivals.shape, np.int64)
        if len(old.list_lengths):
            lists[:, :, : old.target_lists.shape[2]] = old.target_lists
            lengths[...] = old.list_lengths
        thread_arrays = [one._replace(target_lists=lists, list_lengths=lengths) for one in self._thread_arrays]
        tables = [memory.pack(one) for one in thread_arrays]
        # In one call, so that no exception of a signal handler leaves tables without their arrays.
        vars(self).update(
            arrays=thread_arrays[0],
            _thread_arrays=thread_arrays,
            _address_tables=tables,
            _address_table=tables[0],
            _buffer=None,
            _threads=Threads(self.game.play_tasks, threads.count),
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
        copy._pack_arrays()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        self.finish_commit()
        return {name: value for name, value in vars(self).items() if name not in _UNPICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._direct = False  # the process that loads this may have no compiler
        self._pack_arrays()

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

    def write_array(self, to: NDArray[Any], source: NDArray[Any] | None) -> None:
        """Copy an array into another one, C-contiguous and of the same shape, or fill that with zeros for None.

        The threads share the work if it is large.
        """
        if not self._shares_writing:
            _write_alone(to, source)
            return
        begin = time.perf_counter()
        # Where an env was unpickled, there may be no compiled kernels. Threads copy byte by byte.
        can_share = COMPILED and (source is None or (source.dtype == to.dtype and source.flags.c_contiguous))
        if self._sharing.is_on and to.nbytes >= _FEWEST_BYTES_SHARED and can_share:
            address = ZEROS if source is None else source.ctypes.data
            self._threads.run(self._address_tables, WRITE, (0, to.nbytes), at=(to.ctypes.data, address))
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

    def check_consistent(self) -> None:
        """Raise RuntimeError if an interpreted kernel was interrupted, or its generator raised an error."""
        if self.is_inconsistent:
            raise RuntimeError(
                "an exception interrupted a reset or a step that was run by Python, not compiled, and has left the "
                "worlds half played; call reset(), of all worlds, to go on"
            )

    def _run_commit(
        self, kernel: Any, *arguments: Any, states: Mapping[int, Any], drawing: Iterable[int] | None = None
    ) -> None:
        """Run a kernel that increments `Arrays.commits`; then the generators of users get states, or are detached."""
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
        """Run a kernel that changes worlds, with arguments after the address table, and write their observations.

        `drawing` are the worlds that draw random numbers, whose generators are updated; None for all.
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
        if self.is_inconsistent:
            memory.clean_scratch(self.arrays)
        kernel(self._address_table, *arguments)
        self.is_inconsistent = False
        is_checked = self._generators.entries or self._pending is not None or self._constant_bytes is not None
        self._direct = not is_checked and self._threads.count == 1

    def _share(self, kernel: Any, *arguments: Any) -> None:
        """Run a compiled kernel, and write observations, on all threads, or on this one while that is faster."""
        begin = time.perf_counter()
        task = {self.game.play: PLAY, self.game.reset: RESET, self.game.reset_ended: RESET_ENDED}.get(kernel)
        if self._sharing.is_on and task is not None:
            first, last, *rest = arguments
            self._threads.run(self._address_tables, task, (first, last), *rest)
        else:
            self._call(kernel, *arguments)
            self.observe()
        if task == PLAY:
            self._sharing.add_task(time.perf_counter() - begin)

    def _interpret(self, kernel: Any, *arguments: Any) -> None:
        """Let Python run a kernel, which a signal handler may interrupt."""
        # An interrupted kernel leaves the scratch dirty.
        memory.clean_scratch(self.arrays)
        self._direct = False
        self.is_inconsistent = True
        # 64-bit arithmetic is meant to wrap.
        with np.errstate(over="ignore"):
            kernel(self.arrays, *arguments)
        self.is_inconsistent = False

    def observe(self) -> None:
        """Write the observations of the worlds that have changed since they were written."""
        if not self._observes:
            return
        kernel = self.game.observe[self.config.flatten]
        if COMPILED:
            kernel(self._address_table, 0, self.num_worlds)
        else:
            self._interpret(kernel, 0, self.num_worlds)

    def _find_breach(self, arrays: Arrays, address_table: Any, *, skip: bool) -> str:
        """Return what is wrong in states, or ""; `skip` leaves out worlds that have had no reset yet."""
        if COMPILED:
            breach = int(self.game.find_breach(address_table, 0, len(arrays.steps), skip))
        else:
            if not skip:  # an earlier check may have been interrupted
                memory.clean_scratch(arrays)
            with np.errstate(over="ignore"):
                breach = int(self.game.find_breach(address_table, 0, len(arrays.steps), skip))
        return "" if breach < 0 else str(self.game.describe_breach(arrays, breach, self.config))

    def _check_invariants(self, when: str, kernel: Any) -> None:
        if self._constant_bytes is None or self.is_inconsistent:
            return
        if problem := self._find_breach(self.arrays, self._address_table, skip=True):
            raise AssertionError(f"{when} {kernel.__name__}: {problem}")
        for arrays in self._thread_arrays:
            memory.check_static(arrays, self._constant_bytes)


def _write_alone(to: NDArray[Any], source: NDArray[Any] | None) -> None:
    if source is None:
        # Bytes are filled twice as fast as floats.
        to.view(np.uint8).fill(0)
    else:
        to[...] = source
