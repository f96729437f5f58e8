"""E worlds of one configuration: their random streams, resets, steps and states."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.core import generators, rules, states
from multigrid.core.arrays import ABSENT, ARRAYS, LEFT, MAX_CYCLES, PART_ARRAYS, RANDOM, TRAVELLING
from multigrid.core.calls import KernelCalls, Rows
from multigrid.core.metrics import DELAYS, METRICS
from multigrid.game import describe
from multigrid.maps._cells import NO_TARGET
from multigrid.maps._layouts import RANDOM_LAYOUT, Layout
from multigrid.parts import Part
from multigrid.runtime import pcg64
from multigrid.runtime.threads import Threads

NO_SEED, UNKNOWN_SEED = -2, -1
"""In place of seeds: of a world that has no random stream yet, and of one whose stream was set without a seed."""

_NO_WORLDS = np.zeros(0, np.int64)

# More than any grid's side, and so little that its sum with a location does not overflow.
_FARTHEST = 2**32


class Worlds(KernelCalls):
    """E worlds of N agents each, of any game, played by the same kernels for any E.

    Kernels read and write `arrays`; environments return copies of them. The parts *agent* and *target* are arrays of
    the state. If there are others, a second kernel writes them for the worlds that have changed; the kernel of a step
    writes them itself. With `autoreset`, a step resets the worlds whose episode is over.

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
        super().__init__(config, num_worlds, autoreset=autoreset, num_threads=num_threads)
        self.seeds: NDArray[Any] = np.full(num_worlds, NO_SEED)
        """The seeds of the random streams, (E,), `NO_SEED` or `UNKNOWN_SEED`: int64, or objects for larger ones."""
        self._are_seeded = False
        self.foreign: np.random.Generator | None = None
        """A generator of another kind than PCG64, from which an environment of one world draws its layouts itself."""

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never. Takes effect at once."""
        return self.arrays.max_cycles or None

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

    @property
    def own_infos(self) -> dict[str, NDArray[Any]]:
        """The infos that a game adds, (E, N), by name."""
        names = () if self.config.game is None else describe(self.config.game).infos
        return {name: getattr(self.arrays.own, f"{name}_info") for name in names}

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
        """Return the `metrics` of K worlds for each of their agents, float64 (len(self.metrics), K, N)."""
        figures = np.empty((len(self.metrics), len(worlds), self.config.num_agents))
        if self.rules.are_compiled:
            self.kernels.write_metrics(self._address_table, worlds, figures)
        else:
            self._interpret(self.kernels.write_metrics, worlds, figures)
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
        return self._generators.get(e) if self.foreign is None else self.foreign

    def set_generator(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from a generator over PCG64, which also sets its stream of delays; or note a `foreign` one.

        Raises ValueError with delays for a PCG64 in a state that none can reach.
        """
        delays, is_foreign = self.arrays.delay_streams[e : e + 1], not generators.is_compiled(generator)
        if len(delays) and not is_foreign:
            stream = np.zeros((1, pcg64.STREAM_WORDS), np.uint64)
            generators.write_checked_stream(stream[0], generator.bit_generator.state)
            delays = pcg64.jump_streams(stream)
        self._direct, self.is_changing = None, True
        self.arrays.delay_streams[e : e + 1] = delays
        self.foreign = generator if is_foreign else None
        if is_foreign:
            self._generators.entries.pop(e, None)
        else:
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
            maps: the indices of the maps, int64 (K,), or `RANDOM`; None draws all.
            layouts: stacks, cells int64 (K, N, 4) and lists int64 (K, N, T, 2), not checked; by default random ones.
            rows: rows (K, ...) by name that are set in the `arrays` before the reset.

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
            self.foreign = None
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

    def mend(self) -> None:
        """Give up the episodes of half changed worlds, before a call that begins all of them anew."""
        self._bind_kernels()  # an option may have been half set
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
            self._direct = self._step.entry
        self.is_changing = is_changing
        return bad_row

    def compile_ends(self, *, begins: bool, measures: bool) -> None:
        """Compile the kernels that the ends of episodes need, so that no later step waits for them.

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
        """Set the cells of the only agent of the only world, and of its target, int64 (2,), unchecked, between steps.

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

        Raises ValueError for a `foreign` generator, and if one is in a state that a PCG64 cannot reach, as does
        `snapshot_many`.
        """
        if self.foreign is not None:
            kind = type(self.foreign.bit_generator).__name__
            raise ValueError(f"np_random is a {type(self.foreign).__name__} over {kind}; a state has that of a PCG64")
        self._generators.update_streams([e])
        state = {name: array[e].copy() for name, array in states.list_fields(self.arrays, self._own_saved).items()}
        if self.config.draws_maps:
            state |= {name: field[0] for name, field in states.read_maps(self.arrays, np.array([e])).items()}
        if len(self.arrays.list_lengths):
            state |= {name: lists[0] for name, lists in self._copy_lists(np.array([e])).items()}
        return {"version": states.VERSION, **state, "np_random": pcg64.read_stream(self.arrays.streams[e])}

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

    def restore(self, worlds: NDArray[np.int64], given: Any) -> None:
        """Set the states of K worlds, int64 (K,), no two alike, and write their observations.

        `given` is what `snapshot_many` returned, or a list of what `snapshot` returned. Nothing is changed if an error
        is raised: TypeError for a state that is no dict, and ValueError for one of another version or form, or that
        breaks a rule of `multigrid.core.invariants`.
        """
        held = worlds.tolist() if self._generators.entries else []
        buffer, longest = self._buffer, states.find_longest(given)
        if buffer is None or (buffer.num_worlds, buffer.longest) != (len(worlds), longest):
            buffer = states.StateBuffer(self.arrays, len(worlds), longest, self._own_saved)
            table = self.rules.pack(buffer.arrays)
            # The table has the buffer's addresses; no signal handler runs between the two, for there is no call.
            self._buffer, self._buffer_table = buffer, table
        if isinstance(given, list):
            buffer.read_each(given)
        else:
            buffer.read(given)
        buffer.count_lists()
        buffer.label_maps(self.config)
        if problem := self._find_breach(buffer.arrays, self._buffer_table, skip=False):
            raise ValueError(problem)
        if longest:
            self._make_room(longest)
        self._run(self.kernels.restore_worlds, self._buffer_table, worlds, drawing=())
        self._generators.update_generators(held)
        self.foreign = None
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
