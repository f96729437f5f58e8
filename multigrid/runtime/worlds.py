"""E worlds of one configuration and any game: reset, step, random streams, and states to save and restore."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.maps._target_lists import RANDOM_LAYOUT, Layout
from multigrid.parts import Part
from multigrid.runtime import generators, pcg64, snapshots
from multigrid.runtime.arrays import LEFT, PART_ARRAYS, RANDOM, TRAVELLING, Arrays
from multigrid.runtime.calls import KernelCalls, Rows


class Worlds(KernelCalls):
    """E worlds of N agents each, of any game, played by the same kernels for any E.

    Kernels read and write `arrays`, which come in the state before the first reset; environments return copies of them.
    `draws_in_steps` says whether steps draw random numbers.
    """

    def __init__(self, config: GridConfig, arrays: Arrays, *, draws_in_steps: bool, num_threads: int) -> None:
        self._draws_in_steps = draws_in_steps
        super().__init__(config, arrays, num_threads)

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
        return () if self.kernels.own is None else self.kernels.own.state

    def count_own_numbers(self) -> int:
        """Return how many numbers the arrays have that a game adds to the state of a world."""
        return sum(getattr(self.arrays.own, name)[0].size for name in self.own_state)

    def reset(self, map_index: int = RANDOM, rows: Rows | None = None) -> None:
        """Begin an episode in every world, from a random layout, on a given map or `RANDOM` ones; set rows before."""
        self._run(self.kernels.reset, 0, self.num_worlds, map_index, rows=rows)

    def begin(
        self,
        worlds: NDArray[np.int64],
        maps: NDArray[np.int64],
        streams: NDArray[np.uint64] | None = None,
        layouts: Layout = RANDOM_LAYOUT,
        *,
        seeded: Iterable[int] = (),
        rows: Rows | None = None,
    ) -> None:
        """Begin an episode in K worlds, int64 (K,), no two alike, each on a map, int64 (K,), or a `RANDOM` one.

        Args:
            worlds: the worlds.
            maps: their maps.
            streams: the new random streams, uint64 (K, 6), see `multigrid.runtime.pcg64`; None continues the old ones.
                Those of delays begin where NumPy's ``PCG64.jumped()`` would set them.
            layouts: stacks, cells int64 (K, N, 4) and lists int64 (K, N, T, 2), not checked.
            seeded: the worlds whose stream is new, which are detached from the generators that users have.
            rows: what is set before.

        Raises ValueError if there is not enough memory for the lists.
        """
        if layouts.lists is not None:
            self._make_room(layouts.lists.shape[2])
        entries = self._generators.entries
        drawing = list(entries.keys() & set(worlds.tolist()) - set(seeded)) if entries else []
        if entries and streams is not None:
            self._generators.update_streams(drawing)
            unchanged = np.isin(worlds, drawing)
            streams[unchanged] = self.arrays.streams[worlds[unchanged]]
        if streams is not None and self.config.delays is not None:
            is_new = np.isin(worlds, list(seeded))
            delays = self.arrays.delay_streams[worlds]
            delays[is_new] = pcg64.jump_streams(streams[is_new])
            streams = np.concatenate([streams, delays], axis=1)
        arrays = (
            worlds,
            maps,
            np.empty((0, pcg64.STREAM_WORDS), np.uint64) if streams is None else streams,
            np.empty((0, self.config.num_agents, 4), np.int64) if layouts.cells is None else layouts.cells,
            np.empty((0, 0, 0, 2), np.int64) if layouts.lists is None else layouts.lists,
        )
        # Compiled ahead of time, the kernel takes no other memory layout; just in time, it would be compiled again.
        contiguous = map(np.ascontiguousarray, arrays)
        self._run(self.kernels.begin, *contiguous, drawing=drawing, rows=rows)
        for e in seeded:
            entries.pop(e, None)

    def start_streams(self, worlds: NDArray[np.int64], streams: NDArray[np.uint64]) -> None:
        """Set the random streams of K worlds, int64 (K,), without an episode: uint64 (K, 6)."""
        self.arrays.streams[worlds] = streams
        if self.config.delays is not None:
            self.arrays.delay_streams[worlds] = pcg64.jump_streams(streams)

    def reset_ended(self) -> None:
        """Begin an episode, on a random map and layout, in every world whose episode is over."""
        self._run(self.kernels.reset_ended, 0, self.num_worlds)

    def step(self) -> int:
        """Play one step of all worlds with ``arrays.actions``; with `autoreset`, reset those that are over.

        Return -1; or, if an action is out of range, the first such row, world * N + agent, and no world is stepped.
        `is_changing` is as before, unless this raises an error.
        """
        if self._direct:
            return self._step_worlds(self._address_table, 0, self.num_worlds)  # type: ignore[no-any-return]
        is_changing, self.is_changing = self.is_changing, False
        bad_row = self._step_indirectly()
        self.is_changing = is_changing
        return bad_row

    def _step_indirectly(self) -> int:
        has_draws = bool(self._generators.entries) and self._draws_in_steps
        if self._threads.count > 1 or self._constant_bytes is not None or has_draws or not self.kernels.are_compiled:
            bad_row = int(self.kernels.find_bad_action(self._address_table, 0, self.num_worlds))
            if bad_row < 0:
                self._run(self.kernels.play, 0, self.num_worlds, drawing=None if has_draws else ())
            return bad_row
        self._direct = self.kernels.own is None
        self.is_changing = True
        bad_row = int(self._step_worlds(self._address_table, 0, self.num_worlds))
        self._step_worlds = getattr(self._step_worlds, "entry", self._step_worlds)  # faster from the second call on
        self._check_failure()
        return bad_row

    def find_departed(self) -> NDArray[np.bool_]:
        """Return which agents had left before the last step of their world: bool (E, N)."""
        departed: NDArray[np.bool_] = (self.arrays.status == LEFT) & ~self.arrays.terminated
        return departed

    def find_acting(self) -> NDArray[np.bool_]:
        """Return which agents' actions count, for they have neither left nor parked: bool (E, N)."""
        acting: NDArray[np.bool_] = self.arrays.status == TRAVELLING
        return acting

    def get_generator(self, e: int) -> np.random.Generator:
        """Return the generator that world e draws from, the same object until the world gets a new seed."""
        self._direct = False
        return self._generators.get(e)

    def set_generator(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from a generator; with several worlds, one over PCG64, which sets the stream of delays, too.

        Raises ValueError with delays for a PCG64 in a state that none can reach.
        """
        self._direct = False
        delays = self.arrays.delay_streams[e : e + 1]
        if len(delays) and generators.is_compiled(generator):
            stream = np.zeros((1, pcg64.STREAM_WORDS), np.uint64)
            generators.write_checked_stream(stream[0], generator.bit_generator.state)
            delays = pcg64.jump_streams(stream)
        self.is_changing = True
        self.arrays.delay_streams[e : e + 1] = delays
        self._generators.set(e, generator)

    def is_generator_replaced(self, e: int) -> bool:
        """Return whether world e draws from a generator that was passed to `set_generator`."""
        entry = self._generators.entries.get(e)
        return entry is not None and entry.is_replacement

    def read_walls(self) -> NDArray[np.bool_]:
        """Return the map of each world, bool (E, W, H)."""
        if self.config.draws_maps:
            return snapshots.read_maps(self.arrays, slice(None))[snapshots.WALLS]
        return self.config.is_wall[self.arrays.map_index]

    def snapshot(self, e: int) -> dict[str, Any]:
        """Return the whole state of world e: the version, copied arrays by name, and the random stream with its type.

        Raises ValueError if the generator is in a state that a PCG64 cannot reach; so does `snapshot_many`.
        """
        self._generators.update_streams([e])
        state = {name: array[e].copy() for name, array in snapshots.list_fields(self.arrays, self.own_state).items()}
        if self.config.draws_maps:
            state |= {name: field[0] for name, field in snapshots.read_maps(self.arrays, np.array([e])).items()}
        if len(self.arrays.list_lengths):
            state |= {name: lists[0] for name, lists in self._copy_lists(np.array([e])).items()}
        return {"version": snapshots.VERSION, **state, "np_random": self._generators.copy_state(e)}

    def snapshot_many(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the whole states of K worlds: the version int64 (K,), stacked arrays, the streams uint64 (K, 6)."""
        self._generators.update_streams(worlds.tolist() if self._generators.entries else ())
        fields = snapshots.list_fields(self.arrays, self.own_state) | {"streams": self.arrays.streams}
        states = {name: array[worlds] for name, array in fields.items()}
        if self.config.draws_maps:
            states |= snapshots.read_maps(self.arrays, worlds)
        if len(self.arrays.list_lengths):
            states |= self._copy_lists(worlds)
        return {"version": np.full(len(worlds), snapshots.VERSION)} | states

    def _copy_lists(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the lists of targets of K worlds under their name in states; {} if none of them has lists."""
        longest = int(self.arrays.list_lengths[worlds].max(initial=0))
        return {snapshots.LISTS: self.arrays.target_lists[worlds, :, :longest]} if longest else {}

    def restore(self, worlds: NDArray[np.int64], states: Any, *, any_generator: bool = False) -> None:
        """Set the states of K worlds, int64 (K,), no two alike, and write their observations.

        `states` is what `snapshot_many` returned, or a list of what `snapshot` returned; with `any_generator`, for a
        single world, a state may have a generator other than PCG64. Nothing is changed if an error is raised: TypeError
        for a state that is no dict, and ValueError for one of another version or form, or that play cannot reach.
        """
        entries = self._generators.entries
        self._generators.update_streams(worlds.tolist() if entries else ())
        buffer, longest = self._buffer, snapshots.find_longest(states)
        if buffer is None or (buffer.num_worlds, buffer.longest) != (len(worlds), longest):
            buffer = snapshots.StateBuffer(self.arrays, len(worlds), longest, self.own_state)
            table = self._pack(buffer.arrays)
            # The table has the buffer's addresses; no signal handler runs between the two, for there is no call.
            self._buffer, self._buffer_table = buffer, table
        bit_states: Iterable[dict[str, Any]] = ()
        if isinstance(states, list):
            buffer.arrays.streams[...] = self.arrays.streams[worlds]
            bit_states = buffer.read_each(states, any_generator=any_generator)
        else:
            buffer.read(states)
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
        self._run(self.kernels.restore, self._buffer_table, worlds, drawing=())
        self._direct = self._direct and not held
        for e, bits in held.items():
            self._generators.restore(e, bits)
