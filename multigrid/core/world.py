"""E worlds of one configuration: their arrays, their random streams, reset, step, and states to go back to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._footprint import check_worlds
from multigrid.config import GridConfig
from multigrid.core import arrays as memory
from multigrid.core import generators, pcg64, rules, snapshots
from multigrid.core.arrays import LEFT, Arrays
from multigrid.core.compiled import COMPILED, announce_compilation, interpreted, unsigned
from multigrid.core.held import Generators
from multigrid.core.invariants import SOUND, check_static, find_breach
from multigrid.core.observe import PARTS
from multigrid.core.placement import DRAWN
from multigrid.core.threads import PLAY, RESET, RESET_OVER, Threads
from multigrid.maps.components import WALL

__all__ = ["World", "part_shapes"]

_TASKS = {rules.play_worlds: PLAY, rules.reset_all_worlds: RESET, rules.reset_over_worlds: RESET_OVER}
_CHECK = "MULTIGRID_CHECK"
_NOTHING = ("", "0")


def part_shapes(config: GridConfig) -> dict[str, tuple[int, ...]]:
    """Return the shape of each part of one agent's observation, in order."""
    side = 2 * config.view_radius + 1
    shapes: dict[str, tuple[int, ...]] = {
        "agent": (2,),
        "target": (2,),
        "others": (config.num_agents - 1, 2),
        "view": (3, side, side),
        "walls": (config.width, config.height),
        "action_mask": (config.num_actions,),
    }
    return {part: shapes[part] for part in config.parts}


class World:
    """E worlds of N agents each, played by the same kernels for any E.

    Everything that a kernel reads or writes is in `arrays`; what faces return, they copy.

    Each call is one call of a kernel, which no signal handler interrupts, and what else changes with it: that is done
    at once or, if an exception comes first, by `settle`, which the next call begins with. An interpreted kernel can be
    interrupted; then `check_whole` refuses everything but a reset of all worlds.

    With MULTIGRID_CHECK=1 in the environment, every kernel call is preceded and followed by a check of all invariants.

    >>> world = World(GridConfig(size=(4, 3), num_agents=2))
    >>> world.set_generator(0, np.random.default_rng(7))
    >>> world.reset()
    >>> world.arrays.location.shape
    (1, 2, 2)
    """

    def __init__(
        self, config: GridConfig, num_worlds: int = 1, *, autoreset: bool = False, num_threads: int = 1
    ) -> None:
        self.config = config
        self.num_worlds = num_worlds
        self.arrays = _allocated(config, num_worlds)
        self.arrays.settings[rules.AUTORESET] = autoreset
        self._generators = Generators(self.arrays.streams)
        self._draws_in_steps = autoreset or config.on_target == "restart"
        self._threads = Threads(num_threads if COMPILED else 1)
        # Each thread works on the same worlds' arrays, with scratch of its own.
        self._copies = [self.arrays, *(memory.with_own_scratch(self.arrays) for _ in range(self._threads.count - 1))]
        self._then: tuple[int, Callable[[], object]] | None = None
        self._is_torn = False
        # Whether a step is the kernel's and nothing else; False until a call has found out. Where no generator is held,
        # so is any other call.
        self._direct = False
        self._constant: dict[str, bytes] | None = None
        self._bind()
        announce_compilation()
        rules.chart_moves(self._handle)
        if os.environ.get(_CHECK, "") not in _NOTHING:
            self._constant = check_static(self.arrays, {})

    def _bind(self) -> None:
        self._handles = [memory.handle(arrays) for arrays in self._copies]
        self._handle = self._handles[0]
        self._stage: snapshots.Stage | None = None

    def __copy__(self) -> World:
        """Return a world with arrays of its own, but for those that nothing changes, and the same generators."""
        self.settle()
        copy = object.__new__(World)
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
        return {name: value for name, value in vars(self).items() if name not in ("_handle", "_handles", "_stage")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._direct = False  # the process that goes on may have no compiler
        self._bind()

    @property
    def seen(self) -> list[NDArray[Any]]:
        """What the agents see: an array (E, N, ...) for each part, in order, or with `flatten` one for all of them."""
        arrays = self.arrays
        by_part: dict[str, NDArray[Any]] = {
            "agent": arrays.location,
            "target": arrays.goal,
            "others": arrays.others_part,
            "view": arrays.view_part,
            "walls": arrays.walls_part,
            "action_mask": arrays.action_mask_part,
        }
        return [arrays.flat] if self.config.flatten else [by_part[part] for part in self.config.parts]

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
            seeded: the worlds whose stream is new. A generator that somebody holds is none of theirs from then on.
            then: what else changes with the reset; it may be called twice.

        Raises:
            RuntimeError: a kernel has been interrupted, and these are not all worlds.
        """
        if len(worlds) < self.num_worlds:
            self.check_whole()
        no_layouts = np.empty((0, self.config.num_agents, 4), np.int64)
        no_streams = np.empty((0, pcg64.STREAM_WORDS), np.uint64)
        new = frozenset(seeded)
        chosen = worlds.tolist() if self._generators.held else []
        if streams is not None and self._generators.held:
            self._generators.load(e for e in chosen if e not in new)
            unchanged = [k for k, e in enumerate(chosen) if e not in new]
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
            drawing=[e for e in chosen if e not in new],
        )

    def place(self, e: int, agents: NDArray[np.int64], targets: NDArray[np.int64], map_index: int = 0) -> None:
        """Begin an episode in world e from a layout by hand, which nothing here checks: int64 (N, 2) twice."""
        self.begin(np.array([e]), np.array([map_index]), layouts=np.concatenate([agents, targets], axis=1)[None])

    def reset_over(self) -> None:
        """Begin an episode, with all of it drawn, in every world that is over."""
        self._run(rules.reset_over_worlds, 0, self.num_worlds)

    def step(self) -> int:
        """Play one step of all worlds with the actions in ``arrays.actions``; `autoreset` restarts those that are over.

        Returns:
            `multigrid.core.rules.ALL_VALID`; or, if an action is out of range, the first such row, world * N + agent,
            and then no world has moved.

        Raises:
            RuntimeError: see `check_whole`.
        """
        if self._direct:
            return rules.step_worlds(self._handle, 0, self.num_worlds)
        self.settle()
        self.check_whole()
        draws = bool(self._generators.held) and self._draws_in_steps
        if self._threads.count > 1 or self._constant is not None or draws or not COMPILED:
            bad_row = int(rules.find_bad_action(self._handle, 0, self.num_worlds))
            if bad_row == rules.ALL_VALID:
                self._run(rules.play_worlds, 0, self.num_worlds, drawing=None if draws else ())
            return bad_row
        self._direct = True
        return rules.step_worlds(self._handle, 0, self.num_worlds)

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
            return kernel(self._handle, *arguments)
        compiled, foreign = self._generators.prepare(drawing) if held else ([], None)
        if self._constant is not None:
            self._verify("before", kernel)
        try:
            if foreign is not None:
                assert self.num_worlds == 1
                result = self._interpret(_through(kernel, foreign), self.arrays, arguments)
            elif not COMPILED:
                result = self._interpret(kernel, self._handle, arguments)
            elif self._threads.count > 1 and kernel in _TASKS:
                first, last, *rest = arguments
                self._threads.run(self._handles, _TASKS[kernel], (first, last), *rest)
                result = None
            else:
                if self._is_torn:
                    memory.clean_scratch(self.arrays)
                result = kernel(self._handle, *arguments)
                self._is_torn = False
                self._direct = not held and self._then is None and self._constant is None and self._threads.count == 1
        finally:
            if compiled:
                self._generators.store(compiled)
        if self._constant is not None:
            self._verify("after", kernel)
        return result

    def _interpret(self, kernel: Any, handle: Any, arguments: tuple[Any, ...]) -> Any:
        # A kernel that was interrupted has left something there.
        memory.clean_scratch(self.arrays)
        self._direct = False
        self._is_torn = True
        # 64-bit arithmetic wraps, as it is meant to.
        with np.errstate(over="ignore"):
            result = kernel(handle, *arguments)
        self._is_torn = False
        return result

    def _verify(self, when: str, kernel: Any) -> None:
        assert self._constant is not None
        if self._is_torn:
            return
        with np.errstate(over="ignore"):
            breach = find_breach(self._handle, 0, self.num_worlds, True)
        if breach != SOUND:
            message = snapshots.breach_message(self.arrays, breach, self.config)
            raise AssertionError(f"{when} {kernel.__name__}: {message}")
        for arrays in self._copies:
            check_static(arrays, self._constant)

    def global_state(self, e: int) -> NDArray[np.int64]:
        """Return int64 (N, 4): x, y, target x, target y of each agent of world e; -1s for one that has left."""
        state = np.concatenate([self.arrays.location[e], self.arrays.goal[e]], axis=1)
        state[self.arrays.status[e] == LEFT] = -1
        return state

    def present(self, e: int) -> list[int]:
        """Return the indices of the agents of world e that have not left."""
        rows: list[int] = np.flatnonzero(self.arrays.status[e] != LEFT).tolist()
        return rows

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

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
        """Return the whole state of world e, copied: arrays by name, and the random stream with its type."""
        self._generators.load([e])
        state: dict[str, Any] = {name: getattr(self.arrays, name)[e].copy() for name in snapshots.FIELDS}
        state["np_random"] = self._generators.state(e)
        return state

    def restore(self, e: int, state: dict[str, Any], then: Callable[[], object] | None = None) -> None:
        """Bring world e to a state from `snapshot`, and write its observations anew.

        Args:
            e: which world.
            state: as `snapshot` returns it.
            then: what else changes with the state; it may be called twice.

        Raises:
            TypeError: it is not a dict.
            ValueError: it lacks a field, a field has another shape than this world's, or no game comes to it; nothing
                is changed then.
        """
        self._generators.load([e])
        self.check_whole()
        stage = self._staged(1, single=True)
        stage.read(state)
        stage.arrays.streams[0] = self.arrays.streams[e]
        bits = stage.read_generator(state)
        self._check_states(stage)

        def follow() -> None:
            self._generators.restore(e, bits)
            if then is not None:
                then()

        self._change(follow, rules.restore_worlds, stage.handle, np.array([e]), drawing=())

    def snapshot_many(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the whole states of K worlds, copied: stacked arrays by name, the random streams as uint64 (K, 6)."""
        self._generators.load(worlds.tolist() if self._generators.held else ())
        return {name: getattr(self.arrays, name)[worlds] for name in (*snapshots.FIELDS, "streams")}

    def restore_many(self, worlds: NDArray[np.int64], states: Any, then: Callable[[], object] | None = None) -> None:
        """Bring K worlds to states from `snapshot_many`.

        Args:
            worlds: int64 (K,), no two alike.
            states: as `snapshot_many` returns them.
            then: what else changes with the states; it may be called twice.

        Raises:
            TypeError, ValueError: as `restore`; nothing is changed then.
        """
        self.check_whole()
        stage = self._staged(len(worlds), single=False)
        stage.read(states)
        self._check_states(stage)
        held = worlds.tolist() if self._generators.held else ()
        self._generators.load(held)

        def follow() -> None:
            self._generators.store(held)
            if then is not None:
                then()

        self._change(follow, rules.restore_worlds, stage.handle, worlds, drawing=())

    def _staged(self, num_worlds: int, *, single: bool) -> snapshots.Stage:
        """Return arrays to check states in, those of the last call if they have the size."""
        stage = self._stage
        if stage is None or (stage.num_worlds, stage.single) != (num_worlds, single):
            stage = self._stage = snapshots.Stage(self.arrays, num_worlds, single=single)
        return stage

    def _check_states(self, stage: snapshots.Stage) -> None:
        """Refuse states that no game comes to."""
        if COMPILED:
            breach = find_breach(stage.handle, 0, stage.num_worlds, False)
        else:
            # A check that was interrupted has left something there. 64-bit arithmetic wraps, as it is meant to.
            memory.clean_scratch(self.arrays)
            with np.errstate(over="ignore"):
                breach = find_breach(stage.handle, 0, stage.num_worlds, False)
        if breach != SOUND:
            raise ValueError(snapshots.breach_message(stage.arrays, int(breach), self.config))


def _through(kernel: Any, generator: np.random.Generator) -> Any:
    """Return the kernel, interpreted, with every draw made by the generator itself."""
    bounded = generators.checked_integers(generator)
    return interpreted(kernel, {memory.opened: _identity, unsigned: _identity, pcg64.bounded: bounded})


def _identity(value: Any) -> Any:
    return value


def _allocated(config: GridConfig, num_worlds: int) -> Arrays:
    n, worlds = config.num_agents, num_worlds
    parts = part_shapes(config)
    sizes = [int(np.prod(shape)) for shape in parts.values()]
    regions = config.regions
    num_regions = int(regions.max()) + 1
    radius = config.view_radius
    rimmed = (config.width + 2 * radius, config.height + 2 * radius)
    shapes: dict[str, tuple[int, ...]] = {
        "settings": (rules.NUM_SETTINGS,),
        "regions": regions.shape,
        "region_sizes": (len(regions), num_regions),
        "layouts": (0, n, 4) if config.layouts is None else config.layouts.shape,
        "streams": (worlds, pcg64.STREAM_WORDS),
        **dict.fromkeys(("map_index", "steps", "over", "endings"), (worlds,)),
        **dict.fromkeys(("location", "goal"), (worlds, n, 2)),
        **dict.fromkeys(("status", "arrivals", "arrival_step", "rewards", "terminated", "truncated"), (worlds, n)),
        **dict.fromkeys(("outcomes", "distances", "actions"), (worlds, n)),
        **{
            f"{part}_part": (0 if config.flatten or part not in parts else worlds, n, *parts.get(part, (0,) * rank))
            for part, rank in (("others", 2), ("view", 3), ("walls", 2), ("action_mask", 1))
        },
        "flat": (worlds if config.flatten else 0, n, sum(sizes)),
        **dict.fromkeys(("flat_parts", "flat_sizes"), (len(parts) if config.flatten else 0,)),
        **dict.fromkeys(("occupant", "claimant"), regions.shape[1:]),
        "scaled": (2, max(config.width, config.height)),
        "moves": (*regions.shape, config.num_actions),
        "seen": rimmed if "view" in parts else (0, 0),
        "blocked": (len(regions), *rimmed) if "view" in parts else (0, 0, 0),
        "wish": (n, 2),
        "refusal": (n,),
        "region_agents": (num_regions,),
        "commits": (1,),
    }
    check_worlds(num_worlds, memory.bytes_needed(**shapes))
    arrays = memory.allocate(**shapes)
    arrays.settings[rules.COLLISIONS] = rules.COLLISION_RULES.index(config.collisions)
    arrays.settings[rules.ON_TARGET] = rules.ON_TARGET_RULES.index(config.on_target)
    arrays.settings[rules.SHARED_REWARD] = config.reward == "shared"
    arrays.settings[rules.NUM_ACTIONS] = config.num_actions
    arrays.settings[rules.MAX_CYCLES] = rules.NO_LIMIT if config.max_cycles is None else config.max_cycles
    arrays.regions[...] = regions
    arrays.region_sizes[...] = [np.bincount(labels.ravel(), minlength=num_regions) for labels in regions]
    if "view" in parts:
        arrays.blocked[...] = np.pad(regions == WALL, ((0, 0), (radius, radius), (radius, radius)), constant_values=1)
    if config.layouts is not None:
        arrays.layouts[...] = config.layouts
    memory.clean_scratch(arrays)
    arrays.steps[...] = rules.NOT_BEGUN
    arrays.streams[:, pcg64.INCREMENT_LOW] = 1
    for side, scaled in zip((config.width, config.height), arrays.scaled, strict=True):
        scaled[:side] = np.arange(side) / max(side - 1, 1)
    if config.flatten:
        arrays.flat_parts[...] = [PARTS.index(part) for part in parts]
        arrays.flat_sizes[...] = sizes
    return arrays
