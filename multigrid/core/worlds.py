"""E worlds of one configuration: their arrays, random streams, resets, steps and states."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.core import generators, rules, states
from multigrid.core.allocation import allocate
from multigrid.core.arrays import (
    ABSENT,
    ARRAYS,
    AUTORESET,
    LEFT,
    MAP_ARRAYS,
    MAX_CYCLES,
    PART_ARRAYS,
    RANDOM,
    STATE_PARTS,
    TRAVELLING,
    Arrays,
)
from multigrid.core.invariants import RULES
from multigrid.core.kernels import BUILT_IN, Rules
from multigrid.core.metrics import DELAYS, METRICS
from multigrid.game import Game, describe
from multigrid.maps._cells import NO_TARGET
from multigrid.maps._target_lists import RANDOM_LAYOUT, Layout
from multigrid.parts import MASK, Part
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import OFF, find_plain
from multigrid.runtime.sharing import Sharing
from multigrid.runtime.threads import PLAY, RESET, RESET_ENDED, WRITE, ZEROS, Threads

NO_SEED, UNKNOWN_SEED = -2, -1
"""In place of seeds: of a world that has no random stream yet, and of one whose stream was set without a seed."""

_FEWEST_AGENTS_THREADED = 2**12
"""The fewest, in all worlds, that several threads play; for fewer, two threads on busy cores take longer than one."""
_FEWEST_AGENTS_SHARED, _FEWEST_BYTES_SHARED = 2**16, 2**17
"""The fewest, of all worlds and of an array, that threads write together; a task takes longer than to write fewer."""
Rows: TypeAlias = tuple[Any, Mapping[str, Any]]
"""Some worlds, and the rows (K, ...) of `Arrays` that are set for them."""
_NO_WORLDS = np.zeros(0, np.int64)
_CHECK_VARIABLE = "MULTIGRID_CHECK"
_UNPICKLED = (
    *("rules", "kernels", "_step", "_observe", "_direct"),
    *("_address_tables", "_address_table", "_buffer", "_buffer_table", "_threads"),
)

# Games are tried in worlds of up to so many cells times actions, and agents; those of the package have been tried.
_MOST_MOVES_TRIED, _MOST_AGENTS_TRIED = 2**16, 64
_PACKAGE = "multigrid.games."
_TRIED: set[tuple[Any, ...]] = set()

# More than any grid's side, and so little that its sum with a location does not overflow.
_FARTHEST = 2**32


class Worlds:
    """E worlds of N agents each, of any game, played by the same kernels for any E.

    Kernels read and write `arrays`, which come in the state before the first reset; environments return copies of them.
    After each kernel, another one writes the observations of the worlds that have changed, if there are parts other
    than *agent* and *target*, which are the state itself; that of a step writes them, too. With `autoreset`, a step
    resets the worlds whose episode is over.

    An exception of a signal handler may interrupt an interpreted kernel, and comes before or after a compiled one.
    Interpreted kernels, and those of few agents, run on one thread.

    >>> world = Worlds(GridConfig(size=(4, 3), num_agents=2))
    >>> world.reset(seeds=np.array([7]))
    >>> world.arrays.location.shape
    (1, 2, 2)
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
        self.seeds: NDArray[Any] = np.full(num_worlds, NO_SEED)
        """The seeds of the random streams, (E,), `NO_SEED` or `UNKNOWN_SEED`: int64, or objects for larger ones."""
        self._are_seeded = False
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
        elif not STATE_PARTS.keys() >= set(self.config.parts):
            self._step, self._observe = kernels.step_and_observe, kernels.observe_worlds
        # Whether `_run` has nothing to do beside the call, unless users have generators.
        self._is_plain = self.rules.are_compiled and self._num_threads == 1 and self._constant_bytes is None
        # The kernel of a step while `_run` would only call it; None until a step has found that out.
        self._direct: Any = None

    def __copy__(self) -> Worlds:
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
        return {name: value for name, value in vars(self).items() if name not in _UNPICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.rules = _find_rules(self.config)
        self._bind_kernels()

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never. Takes effect at once."""
        limit = int(self.arrays.settings[MAX_CYCLES])
        return None if limit == rules.NO_LIMIT else limit

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        self.arrays.settings[MAX_CYCLES] = rules.NO_LIMIT if limit is None else limit

    # What the arrays show.

    @property
    def observation_arrays(self) -> list[NDArray[Any]]:
        """The observations, (E, N, ...): an array for each of `GridConfig.observation_keys`, or a single one."""
        if self.config.flatten:
            return [self.arrays.flat, self.arrays.action_mask_part][: max(1, len(self.config.observation_keys))]
        shape = self.arrays.location.shape[:2]
        return [
            self._find_part(part).reshape(*shape, *part_shape) for part, part_shape in self.config.part_shapes.items()
        ]

    def _find_part(self, part: Part) -> NDArray[Any]:
        owner = self.arrays if part in PART_ARRAYS else self.arrays.own
        array: NDArray[Any] = getattr(owner, PART_ARRAYS.get(part, f"{part}_part"))
        return array

    @property
    def own_state(self) -> tuple[str, ...]:
        """The names of the arrays that a game adds to the state."""
        return () if self.rules.own is None else self.rules.own.state

    @property
    def _own_saved(self) -> tuple[str, ...]:
        return () if self.rules.own is None else self.rules.own.saved

    def count_own_numbers(self) -> int:
        """Return how many numbers the arrays have that a game adds to the state of a world."""
        return sum(getattr(self.arrays.own, name)[0].size for name in self.own_state)

    def find_departed(self) -> NDArray[np.bool_]:
        """Return which agents had left before the last step of their world: bool (E, N)."""
        departed: NDArray[np.bool_] = (self.arrays.status == LEFT) & ~self.arrays.terminated
        return departed

    def find_acting(self) -> NDArray[np.bool_]:
        """Return which agents' actions count, for they have neither left nor parked: bool (E, N)."""
        acting: NDArray[np.bool_] = self.arrays.status == TRAVELLING
        return acting

    def read_walls(self) -> NDArray[np.bool_]:
        """Return the map of each world, bool (E, W, H)."""
        if self.config.draws_maps:
            return states.read_maps(self.arrays, slice(None))[states.WALLS]
        return self.config.is_wall[self.arrays.map_index]

    @functools.cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics: those of `multigrid.core.metrics`, those of the game, and that of delays."""
        own = () if self.config.game is None else tuple(describe(self.config.game).metrics)
        return (*METRICS, *own) if self.config.delays is None else (*METRICS, *own, DELAYS)

    def measure(self, worlds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the `metrics` of K worlds for each of their agents, float64 (7, K, N); a game may add some."""
        figures = np.empty((len(self.metrics), len(worlds), self.config.num_agents))
        self.kernels.write_metrics(self._address_table, worlds, figures)
        self._check_failure(is_played=False)
        return figures

    # Random streams.

    def ensure_seeds(self) -> None:
        """Give random seeds to the worlds that have no random stream yet."""
        if self._are_seeded:
            return
        worlds = np.flatnonzero(self.seeds == NO_SEED)
        seeds = np.random.SeedSequence().generate_state(len(worlds), np.uint64) >> np.uint64(1)
        for name, streams in self._start_streams(seeds).items():
            getattr(self.arrays, name)[worlds] = streams
        self._note_seeds(worlds, seeds.astype(np.int64))

    def _start_streams(self, seeds: NDArray[Any]) -> dict[str, NDArray[np.uint64]]:
        """Return rows of the `arrays` with the streams of seeds."""
        streams = pcg64.seed_streams(seeds)
        return {"streams": streams} | (
            {} if self.config.delays is None else {"delay_streams": pcg64.jump_streams(streams)}
        )

    def _note_seeds(self, worlds: Any, seeds: NDArray[Any]) -> None:
        known = self.seeds.astype(object if seeds.dtype.hasobject else self.seeds.dtype)
        known[worlds] = seeds
        self.seeds, self._are_seeded = known, self._are_seeded or NO_SEED not in known

    def get_generator(self, e: int) -> np.random.Generator:
        """Return the generator that world e draws from, the same object until the world gets a new seed."""
        self.ensure_seeds()
        self._direct = None
        return self._generators.get(e)

    def set_generator(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from a generator; with several worlds, one over PCG64, which sets the stream of delays, too.

        Raises ValueError with delays for a PCG64 in a state that none can reach.
        """
        delays = self.arrays.delay_streams[e : e + 1]
        if len(delays) and generators.is_compiled(generator):
            stream = np.zeros((1, pcg64.STREAM_WORDS), np.uint64)
            generators.write_checked_stream(stream[0], generator.bit_generator.state)
            delays = pcg64.jump_streams(stream)
        self._direct, self.is_changing = None, True
        self.arrays.delay_streams[e : e + 1] = delays
        self._generators.set(e, generator)
        self._note_seeds(np.array([e]), np.array([UNKNOWN_SEED]))

    # Resets and steps.

    def reset(
        self,
        worlds: NDArray[np.int64] | None = None,
        seeds: NDArray[Any] | None = None,
        maps: NDArray[np.int64] | None = None,
        layouts: Layout = RANDOM_LAYOUT,
        rows: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin an episode in K worlds, or in all.

        Args:
            worlds: int64 (K,), no two alike; None for all.
            seeds: the seeds of new random streams, int64 or objects (K,), `NO_SEED` where one continues; None continues
                all. A world without a stream gets a random seed. Streams of delays begin where NumPy's
                ``PCG64.jumped()`` would set them, and generators that users have are detached.
            maps: int64 (K,), of which some may be `RANDOM`, as they all are for None.
            layouts: stacks, cells int64 (K, N, 4) and lists int64 (K, N, T, 2), not checked; by default random ones.
            rows: rows (K, ...) by name that are set in the `arrays` before.

        Raises ValueError if there is not enough memory for the lists.
        """
        seeded = _NO_WORLDS
        changes: list[Rows] = [(slice(None) if worlds is None else worlds, rows)] if rows else []
        if seeds is None:
            if not self._are_seeded:
                self.ensure_seeds()
        else:
            seeded = np.arange(self.num_worlds) if worlds is None else worlds
            if NO_SEED in seeds.tolist():
                self.ensure_seeds()
                seeds, seeded = seeds[seeds != NO_SEED], seeded[seeds != NO_SEED]
            changes.append((seeded, self._start_streams(seeds)))
        drawing, entries = None, self._generators.entries
        if entries:
            drawing = entries.keys() & set(range(self.num_worlds) if worlds is None else worlds.tolist())
            drawing -= set(seeded.tolist())
        if maps is None and layouts.cells is None and (worlds is None or len(worlds) == self.num_worlds):
            self._run(self.kernels.reset_worlds, 0, self.num_worlds, False, drawing=drawing, changes=changes)
        else:
            if layouts.lists is not None:
                self._make_room(layouts.lists.shape[2])
            worlds = np.arange(self.num_worlds) if worlds is None else worlds
            arrays = (
                worlds,
                np.full(len(worlds), RANDOM) if maps is None else maps,
                np.empty((0, self.config.num_agents, 4), np.int64) if layouts.cells is None else layouts.cells,
                np.empty((0, 0, 0, 2), np.int64) if layouts.lists is None else layouts.lists,
            )
            # Compiled ahead of time, the kernel takes no other memory layout; just in time, it would be compiled again.
            contiguous = map(np.ascontiguousarray, arrays)
            self._run(self.kernels.begin_worlds, *contiguous, drawing=drawing, changes=changes)
        if seeds is not None:
            for e in seeded.tolist() if entries else ():
                entries.pop(e, None)
            self._note_seeds(seeded, seeds)

    def reset_all(self) -> None:
        """Do as `reset` without arguments, in less time."""
        if not self._are_seeded:
            self.ensure_seeds()
        self._run(self.kernels.reset_worlds, 0, self.num_worlds, False)

    def reset_ended(self) -> None:
        """Begin an episode, on a random map and layout, in every world whose episode is over."""
        self._run(self.kernels.reset_worlds, 0, self.num_worlds, True)

    def set_rows(self, worlds: Any, rows: Mapping[str, Any]) -> None:
        """Set the rows of K worlds, int64 (K,), in some of the `arrays`, by name."""
        self.is_changing = True
        for name, values in rows.items():
            getattr(self.arrays if name in ARRAYS.rows else self.arrays.own, name)[worlds] = values

    def mend(self) -> None:
        """Give up the episodes of half changed worlds, before a call that begins all of them anew."""
        for arrays in self._thread_arrays:
            ARRAYS.clean_scratch(arrays)
        self.arrays.steps[...], self.arrays.next_cells[...], self.arrays.failed[...] = rules.NOT_BEGUN, ABSENT, 0
        self.arrays.next_own[...] = False
        # What was interrupted may have begun other streams.
        self.seeds = np.minimum(self.seeds, UNKNOWN_SEED)

    def check_levels(self, rows: Mapping[str, Any]) -> str:
        """Return what is wrong with rows of levels of a game, those that have a State, or "" if nothing is."""
        chosen = np.flatnonzero(rows["next_own"])
        if len(chosen) == 0:
            return ""
        worlds = Worlds(self.config, len(chosen))
        worlds._observe, worlds._constant_bytes = None, None
        worlds.reset(rows={name: values[chosen] for name, values in rows.items()})
        return worlds._find_breach(worlds.arrays, worlds._address_table, skip=False)

    def step(self) -> int:
        """Play one step of all worlds with ``arrays.actions``; with `autoreset`, reset those that are over.

        Return -1; or, if an action is out of range, the first such row, world * N + agent, and no world is stepped.
        `is_changing` is as before, unless this raises an error.
        """
        if self._direct:
            return self._direct(self._address_table, 0, self.num_worlds)  # type: ignore[no-any-return]
        is_changing, self.is_changing = self.is_changing, False
        has_draws = self._draws_in_steps and bool(self._generators.entries)
        bad_row: int = self._run(self._step, 0, self.num_worlds, drawing=None if has_draws else ())
        if self._is_plain and not has_draws and not self._has_game:
            self._direct = getattr(self._step, "entry", self._step)  # faster from the second call on
        self.is_changing = is_changing
        return bad_row

    def compile_ends(self, *, begins: bool, measures: bool) -> None:
        """Compile what the ends of episodes need, and not the first step, so that no later one takes longer.

        With `begins`, those are resets of some worlds, and with `measures` their metrics.
        """
        if self._threads.count > 1:  # one thread and several of them take turns
            for kernel in filter(None, (self._step, self._observe)):
                kernel(self._address_table, 0, 0)
        if begins:
            self.reset(_NO_WORLDS)
            self.is_changing = False
        if measures:
            self.measure(_NO_WORLDS)

    def place(self, location: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        """Move the only agent of the only world, and its target, int64 (2,), not checked, between two steps.

        The next step counts the arrival of an agent that is on its target. Raises as `walk`.
        """
        self._check_single()
        self._run(self.kernels.place_agent, *location.tolist(), *target.tolist(), drawing=())

    def walk(self, step: NDArray[np.int64]) -> None:
        """Play one step in which the only agent of the only world asks for the cell ``[dx, dy]`` away, clipped.

        Raises ValueError for other worlds, and where there are walls.
        """
        self._check_single()
        dx, dy = (max(-_FARTHEST, min(distance, _FARTHEST)) for distance in step.tolist())
        self._run(self.kernels.walk_agent, dx, dy, drawing=())

    def _check_single(self) -> None:
        config = self.config
        if self.num_worlds != 1 or config.num_agents != 1 or config.on_target != "stay" or config.maps is not None:
            raise ValueError(
                f"there are {self.num_worlds} worlds of {config.num_agents} agents, and on_target is "
                f"{config.on_target!r}; expected one world without walls, one agent and 'stay'"
            )

    # States.

    def snapshot(self, e: int) -> dict[str, Any]:
        """Return the whole state of world e: the version, copied arrays by name, and the random stream with its type.

        Raises ValueError if the generator is in a state that a PCG64 cannot reach; so does `snapshot_many`.
        """
        self._generators.update_streams([e])
        state = {name: array[e].copy() for name, array in states.list_fields(self.arrays, self._own_saved).items()}
        if self.config.draws_maps:
            state |= {name: field[0] for name, field in states.read_maps(self.arrays, np.array([e])).items()}
        if len(self.arrays.list_lengths):
            state |= {name: lists[0] for name, lists in self._copy_lists(np.array([e])).items()}
        return {"version": states.VERSION, **state, "np_random": self._generators.copy_state(e)}

    def snapshot_many(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the whole states of K worlds: the version int64 (K,), stacked arrays, the streams uint64 (K, 6)."""
        self._generators.update_streams(worlds.tolist() if self._generators.entries else ())
        fields = states.list_fields(self.arrays, self._own_saved) | {"streams": self.arrays.streams}
        stacked = {name: array[worlds] for name, array in fields.items()}
        if self.config.draws_maps:
            stacked |= states.read_maps(self.arrays, worlds)
        if len(self.arrays.list_lengths):
            stacked |= self._copy_lists(worlds)
        return {"version": np.full(len(worlds), states.VERSION)} | stacked

    def _copy_lists(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the lists of targets of K worlds under their name in states; {} if none of them has lists."""
        longest = int(self.arrays.list_lengths[worlds].max(initial=0))
        return {states.LISTS: self.arrays.target_lists[worlds, :, :longest]} if longest else {}

    def restore(self, worlds: NDArray[np.int64], given: Any, *, any_generator: bool = False) -> None:
        """Set the states of K worlds, int64 (K,), no two alike, and write their observations.

        `given` is what `snapshot_many` returned, or a list of what `snapshot` returned; with `any_generator`, for a
        single world, a state may have a generator other than PCG64. Nothing is changed if an error is raised: TypeError
        for a state that is no dict, and ValueError for one of another version or form, or that play cannot reach.
        """
        entries = self._generators.entries
        self._generators.update_streams(worlds.tolist() if entries else ())
        buffer, longest = self._buffer, states.find_longest(given)
        if buffer is None or (buffer.num_worlds, buffer.longest) != (len(worlds), longest):
            buffer = states.StateBuffer(self.arrays, len(worlds), longest, self._own_saved)
            table = self.rules.pack(buffer.arrays)
            # The table has the buffer's addresses; no signal handler runs between the two, for there is no call.
            self._buffer, self._buffer_table = buffer, table
        bit_states: Iterable[dict[str, Any]] = ()
        if isinstance(given, list):
            buffer.arrays.streams[...] = self.arrays.streams[worlds]
            bit_states = buffer.read_each(given, any_generator=any_generator)
        else:
            buffer.read(given)
            if entries:
                bit_states = map(pcg64.read_stream, buffer.arrays.streams)
        buffer.count_lists()
        buffer.label_maps(self.config)
        if problem := self._find_breach(buffer.arrays, self._buffer_table, skip=False):
            raise ValueError(problem)
        if longest:
            self._make_room(longest)
        by_world = zip(worlds.tolist(), bit_states, strict=False)
        held = {e: bits for e, bits in by_world if e in entries or bits["bit_generator"] != "PCG64"}
        self._run(self.kernels.restore_worlds, self._buffer_table, worlds, drawing=())
        for e, bits in held.items():
            self._direct = None
            self._generators.restore(e, bits)
        if not self._are_seeded:
            self._note_seeds(worlds, np.maximum(self.seeds[worlds], UNKNOWN_SEED))

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
        tables = [self.rules.pack(one) for one in thread_arrays]
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

    # Calls of kernels.

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
            result = kernel(self._address_table, *arguments)
            if self._observe is not None and kernel is not self._step:
                self.observe()
            if self._has_game:
                self._check_failure()
            return result
        compiled, foreign = self._generators.prepare(drawing) if entries else ([], None)
        self._check_invariants("before", kernel)
        self.is_changing = True
        for rows in changes:
            self.set_rows(*rows)
        if foreign is not None or not self.rules.are_compiled:
            assert foreign is None or self.num_worlds == 1
            result = self._interpret(kernel, *arguments, generator=foreign)
        else:
            result = self._share(kernel, *arguments)
        if kernel is not self._step:
            self.observe()
        self._generators.update_generators(compiled)
        self._check_failure()
        self._check_invariants("after", kernel)
        return result

    def _share(self, kernel: Any, *arguments: Any) -> Any:
        """Run a compiled kernel on all threads, or on this one, alone or while that is faster."""
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

    def _interpret(self, kernel: Any, *arguments: Any, generator: np.random.Generator | None = None) -> Any:
        """Let Python run a kernel, which a signal handler may interrupt, and which may draw from another generator."""
        # An interrupted kernel leaves the scratch dirty.
        ARRAYS.clean_scratch(self.arrays)
        arrays = self.arrays._replace(hooks=self.rules.hooks)
        if generator is not None:
            arrays = arrays._replace(streams=generators.make_foreign(arrays.streams, generator))
        # 64-bit arithmetic is meant to wrap.
        with np.errstate(over="ignore"):
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
        """Copy an array into another one, C-contiguous and of the same shape, or fill that with zeros for None.

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
            if not skip:  # an earlier check may have been interrupted
                ARRAYS.clean_scratch(arrays)
            with np.errstate(over="ignore"):
                breach = int(self.kernels.find_breach(address_table, 0, len(arrays.steps), skip))
        return "" if breach < 0 else _describe_breach(arrays, breach, self.config)

    def _check_invariants(self, when: str, kernel: Any) -> None:
        if self._constant_bytes is None:
            return
        if problem := self._find_breach(self.arrays, self._address_table, skip=True):
            raise AssertionError(f"{when} {find_plain(kernel).__name__}: {problem}")
        for arrays in self._thread_arrays:
            ARRAYS.check_static(arrays, self._constant_bytes)


def is_checked() -> bool:
    """Return whether MULTIGRID_CHECK asks for checks of all invariants, and for games to be interpreted."""
    return os.environ.get(_CHECK_VARIABLE, "") not in OFF


def _find_rules(config: GridConfig, *, interpreted: bool | None = None) -> Rules:
    generator = config.walls if config.draws_maps else None
    if config.game is None and generator is None:
        return BUILT_IN
    from multigrid.core.games import compile_rules

    if interpreted is None:
        interpreted = is_checked() and config.game is not None
    return compile_rules(config.game, generator, has_delays=config.delays is not None, interpreted=interpreted)


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
        if not np.array_equal(value, again.get(name), equal_nan=np.asarray(value).dtype.kind == "f"):
            raise ValueError(
                f"{game.__name__}.prepare returns another {name!r} when it is called again with the same options; "
                "expected the same: give a generator of random numbers a seed"
            )
    _TRIED.add(key)


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
