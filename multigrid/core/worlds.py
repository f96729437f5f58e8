"""E worlds of one configuration: reset, step, random streams, and states to save and restore."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core import rules, snapshots
from multigrid.core.allocation import allocate
from multigrid.core.calls import KernelCalls
from multigrid.core.metrics import METRICS, write_metrics
from multigrid.core.placement import RANDOM
from multigrid.maps.target_lists import RANDOM_LAYOUT, Layout
from multigrid.runtime import pcg64
from multigrid.runtime.arrays import LEFT, TRAVELLING
from multigrid.runtime.compiled import COMPILED

__all__ = ["Worlds"]

_NO_LISTS = np.empty((0, 0, 0, 2), np.int64)
# More than any grid's side; with this and a location, sums of 64 bits do not overflow.
_FARTHEST = 2**32


class Worlds(KernelCalls):
    """E worlds of N agents each, played by the same kernels for any E.

    Kernels read and write `arrays`; environments return copies of them.

    >>> world = Worlds(GridConfig(size=(4, 3), num_agents=2))
    >>> world.set_generator(0, np.random.default_rng(7))
    >>> world.reset()
    >>> world.arrays.location.shape
    (1, 2, 2)
    """

    def __init__(
        self, config: GridConfig, num_worlds: int = 1, *, autoreset: bool = False, num_threads: int = 1
    ) -> None:
        arrays = allocate(config, num_worlds)
        arrays.settings[rules.AUTORESET] = autoreset
        self._draws_in_steps = autoreset or config.on_target == "restart"
        super().__init__(config, arrays, num_threads)

    @property
    def observation_arrays(self) -> list[NDArray[Any]]:
        """The observations, (E, N, ...): an array for each of `GridConfig.observation_keys`, or a single one."""
        if self.config.flatten:
            return [self.arrays.flat, self.arrays.action_mask_part][: max(1, len(self.config.observation_keys))]
        state = {"agent": self.arrays.location, "target": self.arrays.target}
        shape = self.arrays.location.shape[:2]
        return [
            state[part] if part in state else getattr(self.arrays, f"{part}_part").reshape(*shape, *part_shape)
            for part, part_shape in self.config.part_shapes.items()
        ]

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never. Takes effect at once."""
        limit = int(self.arrays.settings[rules.MAX_CYCLES])
        return None if limit == rules.NO_LIMIT else limit

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        self.arrays.settings[rules.MAX_CYCLES] = rules.NO_LIMIT if limit is None else limit

    def reset(self, map_index: int = RANDOM) -> None:
        """Begin an episode in every world, from a random layout, on a given map or `RANDOM` ones."""
        self._run(rules.reset_worlds, 0, self.num_worlds, map_index)

    def begin(
        self,
        worlds: NDArray[np.int64],
        maps: NDArray[np.int64],
        streams: NDArray[np.uint64] | None = None,
        layouts: Layout = RANDOM_LAYOUT,
        *,
        seeded: Iterable[int] = (),
    ) -> None:
        """Begin an episode in K worlds.

        Args:
            worlds: int64 (K,), no two alike.
            maps: int64 (K,), the map of each, or `RANDOM`.
            streams: the new random streams, uint64 (K, 6), see `multigrid.runtime.pcg64`; None continues the old ones.
            layouts: stacks, cells int64 (K, N, 4) and lists int64 (K, N, T, 2), not checked.
            seeded: the worlds whose stream is new, which are detached from the generators that users hold.

        Raises:
            RuntimeError: an interpreted kernel was interrupted, and these are not all worlds.
            ValueError: there is not enough memory for the lists.
        """
        if len(worlds) < self.num_worlds:
            self.check_consistent()
        if layouts.lists is not None:
            self._make_room(layouts.lists.shape[2])
        no_layouts = np.empty((0, self.config.num_agents, 4), np.int64)
        no_streams = np.empty((0, pcg64.STREAM_WORDS), np.uint64)
        entries = self._generators.entries
        forgotten: dict[int, None] = {}
        drawing: list[int] = []
        if entries:
            forgotten = dict.fromkeys(seeded)
            drawing = [e for e in worlds.tolist() if e not in forgotten]
        if entries and streams is not None:
            self._generators.update_streams(drawing)
            unchanged = np.isin(worlds, drawing)
            streams[unchanged] = self.arrays.streams[worlds[unchanged]]
        arrays = (
            worlds,
            maps,
            no_streams if streams is None else streams,
            no_layouts if layouts.cells is None else layouts.cells,
            _NO_LISTS if layouts.lists is None else layouts.lists,
        )
        # Compiled ahead of time, the kernel takes no other memory layout; just in time, it would be compiled again.
        contiguous = map(np.ascontiguousarray, arrays)
        self._run_commit(rules.begin_worlds, *contiguous, states=forgotten, drawing=drawing)

    def reset_ended(self) -> None:
        """Begin an episode, on a random map and layout, in every world whose episode is over."""
        self._run(rules.reset_ended_worlds, 0, self.num_worlds)

    def step(self) -> int:
        """Play one step of all worlds with ``arrays.actions``; with `autoreset`, reset those that are over.

        Returns:
            `multigrid.core.rules.ALL_VALID`; or, if an action is out of range, the first such row, world * N + agent,
            and then no world is stepped.

        Raises:
            RuntimeError: see `check_consistent`.
        """
        if self._direct:
            return self._step_worlds(self._address_table, 0, self.num_worlds)
        self.finish_commit()
        self.check_consistent()
        has_draws = bool(self._generators.entries) and self._draws_in_steps
        if self._threads.count > 1 or self._constant_bytes is not None or has_draws or not COMPILED:
            bad_row = int(rules.find_bad_action(self._address_table, 0, self.num_worlds))
            if bad_row == rules.ALL_VALID:
                self._run(rules.play_worlds, 0, self.num_worlds, drawing=None if has_draws else ())
            return bad_row
        self._direct = True
        return self._step_worlds(self._address_table, 0, self.num_worlds)

    def measure(self, worlds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the `multigrid.core.metrics` of K worlds for each of their agents, float64 (7, K, N)."""
        figures = np.empty((len(METRICS), len(worlds), self.config.num_agents))
        write_metrics(self._address_table, worlds, figures)
        return figures

    def place(self, location: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        """Move the only agent of the only world, and its target, between two steps: the episode goes on from there.

        No arrival is counted before the next step, even if the agent is placed on its target.

        Args:
            location: int64 (2,), a cell; not checked.
            target: int64 (2,), a cell that can be reached from there, or the same one; not checked.

        Raises:
            RuntimeError: see `check_consistent`.
            ValueError: there are more worlds or agents, or `on_target` is not "stay".

        >>> world = Worlds(GridConfig(size=3, num_agents=1, on_target="stay"))
        >>> world.set_generator(0, np.random.default_rng(7))
        >>> world.reset()
        >>> world.place(np.array([0, 2]), np.array([1, 0]))
        >>> world.arrays.distances.item()
        3.0
        """
        self._check_single()
        self._run(rules.place_agent, *location.tolist(), *target.tolist(), drawing=())

    def walk(self, step: NDArray[np.int64]) -> None:
        """Play one step in which the only agent of the only world asks for any cell, clipped to the grid.

        Args:
            step: int64 (2,), the distance ``[dx, dy]`` of that cell.

        Raises:
            RuntimeError: see `check_consistent`.
            ValueError: there are more worlds or agents, or `on_target` is not "stay", or there are walls.

        >>> world = Worlds(GridConfig(size=3, num_agents=1, on_target="stay"))
        >>> world.set_generator(0, np.random.default_rng(7))
        >>> world.reset()
        >>> world.place(np.array([0, 2]), np.array([1, 0]))
        >>> world.walk(np.array([1, -9]))
        >>> world.arrays.location.tolist(), world.arrays.terminated.item()
        ([[[1, 0]]], True)
        """
        self._check_single()
        dx, dy = (max(-_FARTHEST, min(distance, _FARTHEST)) for distance in step.tolist())
        self._run(rules.walk_agent, dx, dy, drawing=())

    def _check_single(self) -> None:
        config = self.config
        if self.num_worlds != 1 or config.num_agents != 1 or config.on_target != "stay" or config.maps is not None:
            raise ValueError(
                f"there are {self.num_worlds} worlds of {config.num_agents} agents, and on_target is "
                f"{config.on_target!r}; expected one world without walls, one agent and 'stay'"
            )
        self.check_consistent()

    def find_present(self, e: int) -> list[int]:
        """Return the indices of the agents of world e that have not left."""
        rows: list[int] = np.flatnonzero(self.arrays.status[e] != LEFT).tolist()
        return rows

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
        """Let world e draw from a generator; with several worlds, one over PCG64."""
        self._direct = False
        self._generators.set(e, generator)

    def is_generator_replaced(self, e: int) -> bool:
        """Return whether world e draws from a generator that was passed to `set_generator`."""
        return bool(self._generators.entries) and self._generators.is_replaced(e)

    def snapshot(self, e: int) -> dict[str, Any]:
        """Return the whole state of world e: the version, copied arrays by name, and the random stream with its type.

        Raises:
            ValueError: the generator is in a state that a PCG64 cannot reach.
        """
        self._generators.update_streams([e])
        state = {name: getattr(self.arrays, name)[e].copy() for name in snapshots.FIELDS}
        if len(self.arrays.list_lengths):
            state |= {name: lists[0] for name, lists in self._copy_lists(np.array([e])).items()}
        return {"version": snapshots.VERSION, **state, "np_random": self._generators.copy_state(e)}

    def snapshot_many(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the whole states of K worlds: the version int64 (K,), stacked arrays, and the streams uint64 (K, 6).

        Raises:
            ValueError: a generator is in a state that a PCG64 cannot reach.
        """
        self._generators.update_streams(worlds.tolist() if self._generators.entries else ())
        states = {name: getattr(self.arrays, name)[worlds] for name in (*snapshots.FIELDS, "streams")}
        if len(self.arrays.list_lengths):
            states |= self._copy_lists(worlds)
        return {"version": np.full(len(worlds), snapshots.VERSION)} | states

    def _copy_lists(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the lists of targets of K worlds under their name in states; {} if none of them has lists."""
        longest = int(self.arrays.list_lengths[worlds].max(initial=0))
        return {snapshots.LISTS: self.arrays.target_lists[worlds, :, :longest]} if longest else {}

    def restore(self, worlds: NDArray[np.int64], states: Any, *, any_generator: bool = False) -> None:
        """Set the states of K worlds, and write their observations.

        Args:
            worlds: int64 (K,), no two alike.
            states: as `snapshot_many` returns them; or a list of K, as `snapshot` returns them.
            any_generator: whether a state may have a generator other than PCG64: only with a single world.

        Raises:
            TypeError: a state is no dict.
            ValueError: a state is of another version, lacks a field, has a field of another shape than these worlds',
                or cannot be reached by playing; nothing is changed then.
        """
        entries = self._generators.entries
        self._generators.update_streams(worlds.tolist() if entries else ())
        self.check_consistent()
        buffer, longest = self._buffer, snapshots.find_longest(states)
        if buffer is None or (buffer.num_worlds, buffer.longest) != (len(worlds), longest):
            buffer = self._buffer = snapshots.StateBuffer(self.arrays, len(worlds), longest)
        bit_states: Iterable[dict[str, Any]] = ()
        if isinstance(states, list):
            buffer.arrays.streams[...] = self.arrays.streams[worlds]
            bit_states = buffer.read_each(states, any_generator=any_generator)
        else:
            buffer.read(states)
            if entries:
                bit_states = map(pcg64.read_stream, buffer.arrays.streams)
        buffer.check(self.config)
        if longest:
            self._make_room(longest)
        by_world = zip(worlds.tolist(), bit_states, strict=False)
        held = {e: bits for e, bits in by_world if e in entries or bits["bit_generator"] != "PCG64"}
        self._run_commit(rules.restore_worlds, buffer.address_table, worlds, states=held, drawing=())
