"""Run a game's kernels on the arrays of E worlds: on threads, with the users' generators kept up to date."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.maps._cells import NO_TARGET
from multigrid.runtime.arrays import ARRAYS, MAP_ARRAYS, STATE_PARTS, Arrays
from multigrid.runtime.compiled import OFF, find_plain
from multigrid.runtime.generators import make_foreign
from multigrid.runtime.kernels import Kernels
from multigrid.runtime.sharing import Sharing
from multigrid.runtime.snapshots import StateBuffer
from multigrid.runtime.threads import PLAY, RESET, RESET_ENDED, WRITE, ZEROS, Threads
from multigrid.runtime.world_generators import WorldGenerators

_FEWEST_AGENTS_THREADED = 2**12
"""The fewest, in all worlds, that several threads play; for fewer, two threads on busy cores take longer than one."""
_FEWEST_AGENTS_SHARED, _FEWEST_BYTES_SHARED = 2**16, 2**17
"""The fewest, of all worlds and of an array, that threads write together; a task takes longer than to write fewer."""
_CHECK_VARIABLE = "MULTIGRID_CHECK"
Rows: TypeAlias = tuple[NDArray[np.int64], Mapping[str, Any]]
"""The arguments of `KernelCalls.set_rows`."""
_UNPICKLED = ("_address_table", "_address_tables", "_buffer", "_buffer_table", "_step_worlds", "_threads", "kernels")


def is_checked() -> bool:
    """Return whether MULTIGRID_CHECK asks for checks of all invariants, and for games to be interpreted."""
    return os.environ.get(_CHECK_VARIABLE, "") not in OFF


class KernelCalls:
    """The arrays of E worlds, and calls of kernels on them.

    After each kernel, another one writes the observations of the worlds that have changed, if there are parts other
    than *agent* and *target*, which are the state itself; where threads share the work, it is part of their tasks.
    An exception of a signal handler may interrupt an interpreted kernel, and comes before or after a compiled one.

    Interpreted kernels, and those of few agents, run on one thread.
    """

    def __init__(self, config: GridConfig, arrays: Arrays, num_threads: int) -> None:
        self.config = config
        self.kernels = self._find_kernels()
        self.arrays = arrays
        self.num_worlds = len(arrays.steps)
        self._generators = WorldGenerators(arrays.streams)
        self._num_threads = (
            num_threads if self.kernels.are_compiled and arrays.actions.size >= _FEWEST_AGENTS_THREADED else 1
        )
        self._shares_writing = self._num_threads > 1 and arrays.actions.size >= _FEWEST_AGENTS_SHARED
        self._sharing = Sharing()
        # The threads share all arrays but the scratch.
        self._thread_arrays = _copy_for_threads(arrays, self._num_threads)
        self.is_changing = False
        """Whether a call has begun to change the worlds, which whoever makes it sets to False after its last change.

        After an exception it stays True: the worlds are half changed, and all must begin anew.
        """
        # Whether a step can call the kernel without any of the checks in `_run`; False until a call has made them.
        self._direct = False
        self._constant_bytes: dict[str, bytes] | None = None
        self._observes = config.flatten or not STATE_PARTS.keys() >= set(config.parts)
        self._pack_arrays()
        self.kernels.prepare_arrays(arrays, self._address_table)
        if is_checked():
            drawn = MAP_ARRAYS if config.draws_maps else ()
            found = ARRAYS.check_static(arrays, {})
            self._constant_bytes = {name: content for name, content in found.items() if name not in drawn}

    def _find_kernels(self) -> Kernels:
        """Return the kernels of the configuration's game, which are not pickled."""
        raise NotImplementedError

    def _pack(self, arrays: Arrays) -> Any:
        """Return the arrays in the form that the kernels take."""
        return self.kernels.pack(arrays)

    def _pack_arrays(self) -> None:
        self._address_tables = [self._pack(arrays) for arrays in self._thread_arrays]
        self._address_table = self._address_tables[0]
        self._buffer: StateBuffer | None = None
        self._buffer_table: Any = None
        self._threads = Threads(self.kernels.play_tasks, self._num_threads)
        self._step_worlds = self.kernels.step_and_observe[self.config.flatten] if self._observes else self.kernels.step

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
        tables = [self._pack(one) for one in thread_arrays]
        # In one call, so that no exception of a signal handler leaves tables without their arrays.
        vars(self).update(
            arrays=thread_arrays[0],
            _thread_arrays=thread_arrays,
            _address_tables=tables,
            _address_table=tables[0],
            _buffer=None,
            _threads=Threads(self.kernels.play_tasks, threads.count),
        )
        threads.close()

    def __copy__(self) -> KernelCalls:
        """Return a copy with its own arrays, except the constant ones, and the same generators."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        shared = set(ARRAYS.constant) - set(MAP_ARRAYS if self.config.draws_maps else ())
        copy.arrays = ARRAYS.copy(self.arrays, ARRAYS.rows.keys() - shared)
        if (own := self.kernels.own) is not None:
            copy.arrays = copy.arrays._replace(own=own.copy(self.arrays.own, own.arrays))
        copy._generators = self._generators.copy(copy.arrays.streams)
        copy._thread_arrays = _copy_for_threads(copy.arrays, len(self._thread_arrays))
        copy._pack_arrays()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _UNPICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.kernels = self._find_kernels()
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
        can_share = self.kernels.are_compiled and (
            source is None or (source.dtype == to.dtype and source.flags.c_contiguous)
        )
        if self._sharing.is_on and to.nbytes >= _FEWEST_BYTES_SHARED and can_share:
            address = ZEROS if source is None else source.ctypes.data
            self._threads.run(self._address_tables, WRITE, (0, to.nbytes), at=(to.ctypes.data, address))
        else:
            _write_alone(to, source)
        self._sharing.add_work(time.perf_counter() - begin)

    def set_rows(self, worlds: NDArray[np.int64], rows: Mapping[str, Any]) -> None:
        """Set the rows of K worlds, int64 (K,), in some arrays."""
        self.is_changing = True
        for name, values in rows.items():
            getattr(self.arrays, name)[worlds] = values

    def _run(
        self, kernel: Any, *arguments: Any, drawing: Iterable[int] | None = None, rows: Rows | None = None
    ) -> None:
        """Run a kernel that changes worlds, with arguments after the address table, and write their observations.

        `drawing` are the worlds that draw random numbers, whose generators are updated; None for all. Before it, `rows`
        are set. Raises ValueError, before any change, for a generator in a state that is not safe to draw from.
        """
        entries = self._generators.entries
        if self._direct and not entries and rows is None:
            self.is_changing = True
            kernel(self._address_table, *arguments)
            self.observe()
            return
        compiled, foreign = self._generators.prepare(drawing) if entries else ([], None)
        self._check_invariants("before", kernel)
        self.is_changing = True
        if rows is not None:
            self.set_rows(*rows)
        if foreign is not None or not self.kernels.are_compiled:
            assert foreign is None or self.num_worlds == 1
            self._interpret(kernel, *arguments, generator=foreign)
            self.observe()
        elif self._threads.count > 1:
            self._share(kernel, *arguments)
        else:
            kernel(self._address_table, *arguments)
            self.observe()
        self._generators.update_generators(compiled)
        self._check_failure()
        self._check_invariants("after", kernel)

    def _check_failure(self, *, is_played: bool = True) -> None:
        """Raise RuntimeError if a function of a game has raised an exception; if it was played, a reset must follow."""
        if self.kernels.own is None or not self.arrays.failed[0]:
            return
        failed = self.arrays.failed.item()
        self.arrays.failed[0] = 0
        message = self.kernels.describe_failure(failed)
        if is_played:
            message += "; the worlds are half played: call reset(), of all worlds, to go on"
        raise RuntimeError(message)

    def _share(self, kernel: Any, *arguments: Any) -> None:
        """Run a compiled kernel, and write observations, on all threads, or on this one while that is faster."""
        begin = time.perf_counter()
        task = {self.kernels.play: PLAY, self.kernels.reset: RESET, self.kernels.reset_ended: RESET_ENDED}.get(kernel)
        if self._sharing.is_on and task is not None:
            first, last, *rest = arguments
            self._threads.run(self._address_tables, task, (first, last), *rest)
        else:
            kernel(self._address_table, *arguments)
            self.observe()
        if task == PLAY:
            self._sharing.add_task(time.perf_counter() - begin)

    def _interpret(self, kernel: Any, *arguments: Any, generator: np.random.Generator | None = None) -> None:
        """Let Python run a kernel, which a signal handler may interrupt, and which may draw from another generator."""
        # An interrupted kernel leaves the scratch dirty.
        ARRAYS.clean_scratch(self.arrays)
        arrays = self.arrays._replace(hooks=self.kernels.hooks)
        if generator is not None:
            arrays = arrays._replace(streams=make_foreign(arrays.streams, generator))
        # 64-bit arithmetic is meant to wrap.
        with np.errstate(over="ignore"):
            find_plain(kernel)(arrays, *arguments)

    def observe(self) -> None:
        """Write the observations of the worlds that have changed since they were written."""
        if not self._observes:
            return
        kernel = self.kernels.observe[self.config.flatten]
        if self.kernels.are_compiled:
            kernel(self._address_table, 0, self.num_worlds)
        else:
            self._interpret(kernel, 0, self.num_worlds)

    def _find_breach(self, arrays: Arrays, address_table: Any, *, skip: bool) -> str:
        """Return what is wrong in states, or ""; `skip` leaves out worlds that have had no reset yet."""
        if self.kernels.are_compiled:
            breach = int(self.kernels.find_breach(address_table, 0, len(arrays.steps), skip))
        else:
            if not skip:  # an earlier check may have been interrupted
                ARRAYS.clean_scratch(arrays)
            with np.errstate(over="ignore"):
                breach = int(self.kernels.find_breach(address_table, 0, len(arrays.steps), skip))
        return "" if breach < 0 else str(self.kernels.describe_breach(arrays, breach, self.config))

    def _check_invariants(self, when: str, kernel: Any) -> None:
        if self._constant_bytes is None:
            return
        if problem := self._find_breach(self.arrays, self._address_table, skip=True):
            raise AssertionError(f"{when} {kernel.__name__}: {problem}")
        for arrays in self._thread_arrays:
            ARRAYS.check_static(arrays, self._constant_bytes)


def _copy_for_threads(arrays: Arrays, count: int) -> list[Arrays]:
    return [arrays, *(ARRAYS.copy(arrays, ARRAYS.scratch) for _ in range(count - 1))]


def _write_alone(to: NDArray[Any], source: NDArray[Any] | None) -> None:
    if source is None:
        # Bytes are filled twice as fast as floats.
        to.view(np.uint8).fill(0)
    else:
        to[...] = source
