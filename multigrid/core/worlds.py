"""E worlds of one configuration: their arrays, their random streams, reset, step, and states to go back to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core import pcg64, rules, snapshots
from multigrid.core.allocation import allocate
from multigrid.core.arrays import LEFT
from multigrid.core.calls import KernelCalls
from multigrid.core.compiled import COMPILED, announce_compilation
from multigrid.core.placement import DRAWN

__all__ = ["Worlds"]


class Worlds(KernelCalls):
    """E worlds of N agents each, played by the same kernels for any E.

    Everything that a kernel reads or writes is in `arrays`; what faces return, they copy.

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
        announce_compilation()
        super().__init__(config, arrays, num_threads)

    @property
    def observation_arrays(self) -> list[NDArray[Any]]:
        """The arrays (E, N, ...) with all observations: one for each part, in order, or with `flatten` a single one."""
        if self.config.flatten:
            return [self.arrays.flat]
        state = {"agent": self.arrays.location, "target": self.arrays.target}
        return [state[part] if part in state else getattr(self.arrays, f"{part}_part") for part in self.config.parts]

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never. Takes effect at once."""
        limit = int(self.arrays.settings[rules.MAX_CYCLES])
        return None if limit == rules.NO_LIMIT else limit

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        self.arrays.settings[rules.MAX_CYCLES] = rules.NO_LIMIT if limit is None else limit

    def reset(self, map_index: int = DRAWN, then: Callable[[], object] | None = None) -> None:
        """Begin an episode in every world. Layouts are drawn, and so are maps unless an index is given.

        Args:
            map_index: from 0, or `DRAWN`.
            then: what else changes with the reset; it may be called twice.
        """
        self._change(then, rules.reset_all_worlds, 0, self.num_worlds, map_index)

    def begin(
        self,
        worlds: NDArray[np.int64],
        maps: NDArray[np.int64],
        streams: NDArray[np.uint64] | None = None,
        layouts: NDArray[np.int64] | None = None,
        *,
        seeded: Iterable[int] = (),
        then: Callable[[], object] | None = None,
    ) -> None:
        """Begin an episode in K worlds, with new streams or by hand.

        Args:
            worlds: int64 (K,), no two alike.
            maps: int64 (K,), the map of each, or `DRAWN`.
            streams: uint64 (K, 6), see `multigrid.core.pcg64`; None goes on with those that there are.
            layouts: int64 (K, N, 4), x, y, target x, target y of each agent, which nothing here checks; or None.
            seeded: the worlds whose stream is new; a generator that a user holds is not theirs from then on.
            then: what else changes with the reset; it may be called twice.

        Raises:
            RuntimeError: a kernel has been interrupted, and these are not all worlds.
        """
        if len(worlds) < self.num_worlds:
            self.check_whole()
        no_layouts = np.empty((0, self.config.num_agents, 4), np.int64)
        no_streams = np.empty((0, pcg64.STREAM_WORDS), np.uint64)
        new = frozenset(seeded)
        indices = worlds.tolist() if self._generators.held else []
        if streams is not None and self._generators.held:
            self._generators.load(e for e in indices if e not in new)
            unchanged = [k for k, e in enumerate(indices) if e not in new]
            streams[unchanged] = self.arrays.streams[worlds[unchanged]]

        def follow() -> None:
            self._generators.forget(new)
            if then is not None:
                then()

        self._change(
            follow,
            rules.begin_worlds,
            worlds,
            maps,
            no_streams if streams is None else streams,
            no_layouts if layouts is None else layouts,
            drawing=[e for e in indices if e not in new],
        )

    def place(self, e: int, agents: NDArray[np.int64], targets: NDArray[np.int64], map_index: int = 0) -> None:
        """Begin an episode in world e from a layout by hand, which nothing here checks: int64 (N, 2) twice."""
        self.begin(np.array([e]), np.array([map_index]), layouts=np.concatenate([agents, targets], axis=1)[None])

    def reset_ended(self) -> None:
        """Begin an episode, on a random map and layout, in every world whose episode is over."""
        self._run(rules.reset_ended_worlds, 0, self.num_worlds)

    def step(self) -> int:
        """Play one step of all worlds with the actions in ``arrays.actions``; `autoreset` restarts those that are over.

        Returns:
            `multigrid.core.rules.ALL_VALID`; or, if an action is out of range, the first such row, world * N + agent,
            and then no world has moved.

        Raises:
            RuntimeError: see `check_whole`.
        """
        if self._direct:
            return rules.step_worlds(self._address_table, 0, self.num_worlds)
        self.settle()
        self.check_whole()
        draws = bool(self._generators.held) and self._draws_in_steps
        if self._threads.count > 1 or self._constant is not None or draws or not COMPILED:
            bad_row = int(rules.find_bad_action(self._address_table, 0, self.num_worlds))
            if bad_row == rules.ALL_VALID:
                self._run(rules.play_worlds, 0, self.num_worlds, drawing=None if draws else ())
            return bad_row
        self._direct = True
        return rules.step_worlds(self._address_table, 0, self.num_worlds)

    def present(self, e: int) -> list[int]:
        """Return the indices of the agents of world e that have not left."""
        rows: list[int] = np.flatnonzero(self.arrays.status[e] != LEFT).tolist()
        return rows

    def generator(self, e: int) -> np.random.Generator:
        """Return the generator that world e draws from, the same object until the world is seeded anew."""
        self._direct = False
        return self._generators.get(e)

    def set_generator(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from this very generator from now on; see `multigrid.core.generators.is_compiled`.

        One that is not compiled is only for a world that is alone.
        """
        self._direct = False
        self._generators.set(e, generator)

    def is_replaced(self, e: int) -> bool:
        """Return whether world e draws from a generator that `set_generator` gave it."""
        return bool(self._generators.held) and self._generators.is_replaced(e)

    def seed_many(self, worlds: NDArray[np.int64], seeds: NDArray[np.uint64]) -> None:
        """Seed the streams of many worlds at once, as ``PCG64(seed)`` would; generators that are held stay behind."""
        self.arrays.streams[worlds] = pcg64.seeded(seeds)
        self._generators.forget(worlds.tolist())

    def snapshot(self, e: int) -> dict[str, Any]:
        """Return the whole state of world e: what `multigrid.core.snapshots.copy_state` returns."""
        return snapshots.copy_state(self.arrays, self._generators, e)

    def snapshot_many(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the whole states of K worlds: what `multigrid.core.snapshots.copy_states` returns."""
        return snapshots.copy_states(self.arrays, self._generators, worlds)

    def restore(
        self,
        worlds: NDArray[np.int64],
        states: Any,
        then: Callable[[], object] | None = None,
        *,
        any_generator: bool = False,
    ) -> None:
        """Bring K worlds to states, and write their observations anew.

        Args:
            worlds: int64 (K,), no two alike.
            states: as `snapshot_many` returns them; or a list of K, as `snapshot` returns them.
            then: what else changes with the states; it may be called twice.
            any_generator: whether a state may have a generator other than PCG64: only for a world that is alone.

        Raises:
            TypeError: a state is no dict.
            ValueError: a state is of another version, it lacks a field, a field has another shape than these worlds',
                or no game comes to it; nothing is changed then.
        """
        held = worlds.tolist() if self._generators.held else ()
        self._generators.load(held)
        self.check_whole()
        stage = self._stage
        if stage is None or stage.num_worlds != len(worlds):
            stage = self._stage = snapshots.Stage(self.arrays, len(worlds))
        bit_states: list[dict[str, Any]] = []
        if isinstance(states, list):
            stage.arrays.streams[...] = self.arrays.streams[worlds]
            bit_states = stage.read_each(states, any_generator=any_generator)
        else:
            stage.read(states)
        stage.check(self.config)

        def follow() -> None:
            self._generators.store(held)
            for e, bits in zip(worlds.tolist(), bit_states, strict=False):
                self._generators.restore(e, bits)
            if then is not None:
                then()

        self._change(follow, rules.restore_worlds, stage.address_table, worlds, drawing=())
