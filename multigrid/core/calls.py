"""The arrays of E worlds, and the calls of kernels on them, alone or by several threads."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core import generators, rules, states
from multigrid.core.allocation import allocate
from multigrid.core.arrays import ARRAYS, AUTORESET, MAP_ARRAYS, STATE_PARTS, Arrays
from multigrid.core.invariants import RULES
from multigrid.core.kernels import BUILT_IN, Rules
from multigrid.game import Game, describe
from multigrid.parts import MASK
from multigrid.runtime.compiled import OFF, find_plain
from multigrid.runtime.sharing import Sharing
from multigrid.runtime.threads import PLAY, RESET, RESET_ENDED, WRITE, ZEROS, Threads

_FEWEST_AGENTS_THREADED = 2**12
"""The fewest, in all worlds, that several threads play; for fewer, two threads on busy cores take longer than one."""
_FEWEST_AGENTS_SHARED, _FEWEST_BYTES_SHARED = 2**16, 2**17
"""The fewest, of all worlds and of an array, that threads write together; a task takes longer than to write fewer."""
Rows: TypeAlias = tuple[Any, Mapping[str, Any]]
"""Some worlds, and the rows (K, ...) of `Arrays` that are set for them."""
_CHECK_VARIABLE = "MULTIGRID_CHECK"
_UNPICKLED = (
    *("rules", "kernels", "_step", "_observe", "_direct"),
    *("_address_tables", "_address_table", "_buffer", "_buffer_table", "_threads"),
)

# Games are tried in worlds of up to so many cells times actions, and agents; those of the package have been tried.
_MOST_MOVES_TRIED, _MOST_AGENTS_TRIED = 2**16, 64
_PACKAGE = "multigrid.games."
_TRIED: set[tuple[Any, ...]] = set()


class KernelCalls:
    """The arrays of E worlds of one configuration, their random streams, and the calls of kernels that play them.

    Copies have their own arrays, but for the constant ones; pickles have all of them.
    """

    def __init__(
        self, config: GridConfig, num_worlds: int = 1, *, autoreset: bool = False, num_threads: int = 1
    ) -> None:
        if config.game is not None:
            describe(config.game, again=True)
            _try_game(config, config.game)
        self.config, self.num_worlds, self._has_game = config, num_worlds, config.game is not None
        self.rules = _find_rules(config)
        arrays = self.arrays = allocate(config, num_worlds)
        arrays.settings[AUTORESET] = autoreset
        self._generators = generators.WorldGenerators(arrays.streams)
        self._draws_in_steps = autoreset or config.on_target == "restart" or self._has_game
        is_threaded = self.rules.are_compiled and arrays.actions.size >= _FEWEST_AGENTS_THREADED
        self._num_threads = num_threads if is_threaded else 1
        self._shares_writing = self._num_threads > 1 and arrays.actions.size >= _FEWEST_AGENTS_SHARED
        self._sharing = Sharing()
        # The threads share all arrays but the scratch.
        self._thread_arrays = _copy_for_threads(arrays, self._num_threads)
        self.is_changing = False
        """Whether a call has begun to change the worlds, which whoever makes it sets to False after its last change.

        After an exception it stays True: the worlds are half changed, and all must begin anew.
        """
        self._constant_bytes: dict[str, bytes] | None = None
        self._bind_kernels()
        self.rules.prepare_arrays(arrays, self._address_table)
        if is_checked():
            drawn = MAP_ARRAYS if config.draws_maps else ()
            found = ARRAYS.check_static(arrays, {})
            self._constant_bytes = {name: content for name, content in found.items() if name not in drawn}
            self._is_plain = False

    def _bind_kernels(self) -> None:
        """Set all that refers to kernels, or to the addresses of the arrays."""
        self.kernels = kernels = self.rules.kernels
        self._address_tables = [self.rules.pack(arrays) for arrays in self._thread_arrays]
        self._address_table = self._address_tables[0]
        self._buffer: states.StateBuffer | None = None
        self._buffer_table: Any = None
        self._threads = Threads(kernels.play_tasks, self._num_threads)
        self._step: Any = kernels.step_worlds
        self._observe: Any = None
        if self.config.flatten:
            self._step, self._observe = kernels.step_and_observe_flat, kernels.observe_worlds_flat
        elif not STATE_PARTS.keys() >= set(self.config.parts) or self.rules.hooks.has_infos:
            self._step, self._observe = kernels.step_and_observe, kernels.observe_worlds
        # Whether `_run` has nothing to do beside the call, unless users have generators.
        self._is_plain = self.rules.are_compiled and self._num_threads == 1 and self._constant_bytes is None
        # The kernel of a step while `_run` would only call it; None until a step has found that out.
        self._direct: Any = None

    def __copy__(self) -> KernelCalls:
        """Return a copy with its own arrays, except the constant ones, and the same generators."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        shared = set(ARRAYS.constant) - set(MAP_ARRAYS if self.config.draws_maps else ())
        copy.arrays = ARRAYS.copy(self.arrays, ARRAYS.rows.keys() - shared)
        if (own := self.rules.own) is not None:
            copy.arrays = copy.arrays._replace(own=own.copy(self.arrays.own, own.arrays))
        copy._generators = self._generators.copy(copy.arrays.streams)
        copy._thread_arrays = _copy_for_threads(copy.arrays, len(self._thread_arrays))
        copy._bind_kernels()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in _UNPICKLED}
        if self.rules.own is not None:
            own = self.arrays.own
            own = own._replace(**{name: getattr(own, name)[:0] for name in self.rules.own.scratch})
            shared = [arrays._replace(own=own) for arrays in self._thread_arrays]
            state |= {"arrays": shared[0], "_thread_arrays": shared}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.rules = _find_rules(self.config)
        for name in () if self.rules.own is None else self.rules.own.scratch:
            empty = getattr(self.arrays.own, name)
            setattr(self.arrays.own, name, np.zeros((self.num_worlds, *empty.shape[1:]), empty.dtype))
        self._bind_kernels()

    def set_number(self, name: str, value: float) -> None:
        """Set an option that the functions of a game read, a number, from now on."""
        own = self.arrays.own._replace(**{name: value})
        self.close()
        self.is_changing = True
        self._thread_arrays = [arrays._replace(own=own) for arrays in self._thread_arrays]
        self.arrays = self._thread_arrays[0]
        self._bind_kernels()

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

    def set_rows(self, worlds: Any, rows: Mapping[str, Any]) -> None:
        """Set the rows of K worlds, int64 (K,), in some of the `arrays`, by name."""
        self.is_changing = True
        for name, values in rows.items():
            getattr(self.arrays if name in ARRAYS.rows else self.arrays.own, name)[worlds] = values

    def _run(
        self, kernel: Any, *arguments: Any, drawing: Iterable[int] | None = None, changes: Sequence[Rows] = ()
    ) -> Any:
        """Run a kernel that changes worlds, with arguments after the address table, and write their observations.

        `drawing` are the worlds that draw random numbers, whose generators are updated; None for all. Before it, the
        rows in `changes` are set. Return what the kernel returns. Raises ValueError, before any change, for a generator
        in a state that is not safe to draw from, and RuntimeError if a function of a game fails.
        """
        entries = self._generators.entries
        if self._is_plain and not entries and not changes:  # nothing to do beside the call
            self.is_changing = True
            result = (kernel.entry or kernel)(self._address_table, *arguments)
            if self._observe is not None and kernel is not self._step:
                self.observe()
            if self._has_game:
                self._check_failure()
            return result
        drawn = [] if not entries else list(entries) if drawing is None else list(drawing)
        self._generators.update_streams(drawn)
        run = self._share if self.rules.are_compiled else self._interpret
        # The check of a game looks at the actions, too, and a bad one is a mistake of the caller.
        if kernel is self._step and self._constant_bytes is not None:
            self._check_static()  # before `_interpret` cleans the scratch
            bad_row = run(self.kernels.find_bad_action, *arguments)
            if bad_row != rules.ALL_VALID:
                return bad_row
        self._check_invariants("before", kernel)
        self.is_changing = True
        for rows in changes:
            self.set_rows(*rows)
        result = run(kernel, *arguments)
        if kernel is not self._step:
            self.observe()
        self._generators.update_generators(drawn)
        self._check_failure()
        self._check_invariants("after", kernel)
        return result

    def _share(self, kernel: Any, *arguments: Any) -> Any:
        """Run a compiled kernel on all threads, or on this one if it is the only one or faster."""
        if self._threads.count == 1:
            return kernel(self._address_table, *arguments)
        begin = time.perf_counter()
        is_step, result = kernel is self._step, rules.ALL_VALID
        if not self._sharing.is_on or not (is_step or kernel is self.kernels.reset_worlds):
            result = kernel(self._address_table, *arguments)
        elif not is_step:
            self._threads.run(self._address_tables, RESET_ENDED if arguments[2] else RESET, arguments[:2])
        elif (result := self.kernels.find_bad_action(self._address_table, *arguments)) == rules.ALL_VALID:
            self._threads.run(self._address_tables, PLAY, arguments)
        if is_step:
            self._sharing.add_task(time.perf_counter() - begin)
        return result

    def _interpret(self, kernel: Any, *arguments: Any) -> Any:
        """Let Python run a kernel, which a signal handler may interrupt."""
        # Ctrl-C may have interrupted the cleaning after an exception.
        ARRAYS.clean_scratch(self.arrays)
        arrays = self.arrays._replace(hooks=self.rules.hooks)
        with _interpreting(arrays):
            return find_plain(kernel)(arrays, *arguments)

    def observe(self) -> None:
        """Write the observations of the worlds that have changed since they were written."""
        if self._observe is None:
            return
        if self.rules.are_compiled:
            self._observe(self._address_table, 0, self.num_worlds)
        else:
            self._interpret(self._observe, 0, self.num_worlds)

    def write_array(self, to: NDArray[Any], source: NDArray[Any] | None) -> None:
        """Copy an array into another one, C-contiguous and of the same shape; None fills it with zeros.

        The threads share the work if it is large.
        """
        if not self._shares_writing:
            _write_alone(to, source)
            return
        begin = time.perf_counter()
        # Where an env was unpickled, there may be no compiled kernels. Threads copy byte by byte.
        can_share = self.rules.are_compiled and (
            source is None or (source.dtype == to.dtype and source.flags.c_contiguous)
        )
        if self._sharing.is_on and to.nbytes >= _FEWEST_BYTES_SHARED and can_share:
            address = ZEROS if source is None else source.ctypes.data
            self._threads.run(self._address_tables, WRITE, (0, to.nbytes), at=(to.ctypes.data, address))
        else:
            _write_alone(to, source)
        self._sharing.add_work(time.perf_counter() - begin)

    def _check_failure(self, *, is_played: bool = True) -> None:
        """Raise RuntimeError if a function of a game has raised an exception; if it was played, a reset must follow."""
        failed = self.arrays.failed.item()
        if failed == 0 or self.rules.describe_failure is None:
            return
        self.arrays.failed[0] = 0
        message = self.rules.describe_failure(failed)
        if is_played:
            message += "; the worlds are half played: call reset(), of all worlds, to go on"
        raise RuntimeError(message)

    def _find_breach(self, arrays: Arrays, address_table: Any, *, skip: bool) -> str:
        """Return what is wrong in states, or ""; `skip` leaves out worlds that have had no reset yet."""
        if self.rules.are_compiled:
            breach = int(self.kernels.find_breach(address_table, 0, len(arrays.steps), skip))
        else:
            with _interpreting(arrays):
                breach = int(self.kernels.find_breach(address_table, 0, len(arrays.steps), skip))
        return "" if breach < 0 else _describe_breach(arrays, breach, self.config)

    def _check_invariants(self, when: str, kernel: Any) -> None:
        if self._constant_bytes is None:
            return
        if problem := self._find_breach(self.arrays, self._address_table, skip=True):
            raise AssertionError(f"{when} {find_plain(kernel).__name__}: {problem}")
        self._check_static()

    def _check_static(self) -> None:
        assert self._constant_bytes is not None
        for arrays in self._thread_arrays:
            ARRAYS.check_static(arrays, self._constant_bytes)


@contextlib.contextmanager
def _interpreting(arrays: Arrays) -> Iterator[None]:
    """Let 64-bit arithmetic wrap, and clean the scratch after an exception, such as one of a signal handler."""
    try:
        with np.errstate(over="ignore"):
            yield
    except BaseException:
        ARRAYS.clean_scratch(arrays)
        raise


def is_checked() -> bool:
    """Return whether MULTIGRID_CHECK asks for checks of all invariants, and for games to be interpreted."""
    return os.environ.get(_CHECK_VARIABLE, "") not in OFF


def _find_rules(config: GridConfig, *, interpreted: bool | None = None) -> Rules:
    generator = config.walls if config.draws_maps else None
    if config.game is None and generator is None and not config.draws_images:
        return BUILT_IN
    from multigrid.core.games import compile_rules

    if interpreted is None:
        interpreted = is_checked() and config.game is not None
    options = {"has_delays": config.delays is not None, "has_images": config.draws_images, "interpreted": interpreted}
    return compile_rules(config.game, generator, **options)


def _try_game(config: GridConfig, game: type[Game]) -> None:
    """Call the functions of a game in one world, the first time that an environment of it is made."""
    is_large = (
        config.width * config.height * config.num_actions > _MOST_MOVES_TRIED or config.num_agents > _MOST_AGENTS_TRIED
    )
    if is_large or game.__module__.startswith(_PACKAGE):
        return
    found = _find_rules(config, interpreted=False)
    size = config.num_agents, config.least_agents, config.width, config.height
    key = (found.name, *size, repr(config.options), type(config.walls), config.delays is None)
    if key in _TRIED:
        return
    from multigrid.core.hook_types import try_hooks

    parts: list[Any] = [*config.parts, *describe(game).parts, MASK]
    tried = dataclasses.replace(config, observe=tuple(dict.fromkeys(parts)), flatten=False)
    try_hooks(describe(game), found, allocate(tried, 1))
    again: Any = tried.prepared
    for name, value in config.prepared.items():
        if not _are_equal(value, again.get(name)):
            raise ValueError(
                f"{game.__name__}.prepare returns another {name!r} when it is called again with the same options; "
                "expected the same: give a generator of random numbers a seed"
            )
    _TRIED.add(key)


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal, also arrays with NaN, and tuples of such."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def _describe_breach(arrays: Arrays, breach: int, config: GridConfig) -> str:
    """Return the error message for what `find_breach` returned for states."""
    k, rule = divmod(breach, len(RULES))
    field, how = RULES[rule]
    value = getattr(arrays, field)[k].tolist()
    problem = how.format(value=value, maps=config.num_maps, width=config.width, height=config.height)
    where = f" (world {k} of {len(arrays.steps)})" if len(arrays.steps) > 1 else ""
    return f"{field} in the state {problem}{where}; {states.EXPECTED}"


def _copy_for_threads(arrays: Arrays, count: int) -> list[Arrays]:
    return [arrays, *(ARRAYS.copy(arrays, ARRAYS.scratch) for _ in range(count - 1))]


def _write_alone(to: NDArray[Any], source: NDArray[Any] | None) -> None:
    if source is None:
        # Bytes are filled twice as fast as floats.
        to.view(np.uint8).fill(0)
    else:
        to[...] = source
