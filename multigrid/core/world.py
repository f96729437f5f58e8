"""E worlds of one configuration: their arrays, their random streams, reset, step, and snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Outcome
from multigrid.config import GridConfig
from multigrid.core import arrays as memory
from multigrid.core import pcg64, rules
from multigrid.core.arrays import LEFT, PARKED, TRAVELLING, Arrays
from multigrid.core.compiled import COMPILED, announce_compilation, interpreted, unsigned
from multigrid.core.observe import PARTS
from multigrid.core.placement import DRAWN
from multigrid.core.threads import PLAY, RESET, RESET_OVER, Threads
from multigrid.regions import WALL

__all__ = ["World", "part_shapes"]

_EXPECTED_STATE = "expected what get_state() of the same configuration returned"
_STATE_FIELDS = ("map_index", "steps", "over", "location", "goal", "status", "arrivals", "arrival_step")
_TOLD_FIELDS = ("rewards", "terminated", "truncated", "endings", "outcomes", "distances")
_TASKS = {rules.reset_worlds: RESET, rules.reset_over_worlds: RESET_OVER}
_SNAPSHOT_FIELDS = (*_STATE_FIELDS, *_TOLD_FIELDS)


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

    Everything that a kernel reads or writes is in `arrays`; what faces hand out, they copy.

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
        # Generators that the user holds: their state is loaded before a draw and stored after it.
        self._generators: dict[int, np.random.Generator] = {}
        self._draws_in_steps = autoreset or config.on_target == "restart"
        self._threads = Threads(num_threads if COMPILED else 1)
        # Each thread works on the same worlds' arrays, with scratch of its own.
        self._copies = [self.arrays, *(memory.with_own_scratch(self.arrays) for _ in range(self._threads.count - 1))]
        self._bind()
        announce_compilation()
        rules.chart_moves(self._handle)

    def _bind(self) -> None:
        self._handles = [memory.handle(arrays) for arrays in self._copies]
        self._handle = self._handles[0]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_handle", "_handles")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
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

    def reset(self, first: int = 0, last: int | None = None, map_index: int = DRAWN) -> None:
        """Draw a layout for worlds first .. last - 1 (all of them by default) and begin an episode there.

        The map is drawn too, unless its index is given.
        """
        self._run(rules.reset_worlds, first, self.num_worlds if last is None else last, map_index, False)

    def reset_over(self) -> None:
        """Begin an episode, with all of it drawn, in every world that is over."""
        self._run(rules.reset_over_worlds, 0, self.num_worlds)

    def step(self) -> int:
        """Play one step of all worlds with the actions in ``arrays.actions``; `autoreset` restarts those that are over.

        Returns:
            `multigrid.core.rules.ALL_VALID`; or, if an action is out of range, the first such row, world * N + agent,
            and then no world has moved.
        """
        if COMPILED and not (self._generators and self._draws_in_steps):
            if self._threads.count == 1:
                return rules.step_worlds(self._handle, 0, self.num_worlds)
            bad_row = rules.find_bad_action(self._handle, 0, self.num_worlds)
            if bad_row == rules.ALL_VALID:
                self._threads.run(self._handles, PLAY, (0, self.num_worlds))
            return bad_row
        return int(self._run(rules.step_worlds, 0, self.num_worlds))

    def place(self, e: int, agents: NDArray[np.int64], targets: NDArray[np.int64], map_index: int = 0) -> None:
        """Begin an episode in world e from a layout by hand, which nothing here checks: int64 (N, 2) twice."""
        self.arrays.location[e] = agents
        self.arrays.goal[e] = targets
        self._run(rules.reset_worlds, e, e + 1, map_index, True)

    def global_state(self, e: int) -> NDArray[np.int64]:
        """Return int64 (N, 4): x, y, target x, target y of each agent of world e; -1s for one that has left."""
        state = np.concatenate([self.arrays.location[e], self.arrays.goal[e]], axis=1)
        state[self.arrays.status[e] == LEFT] = -1
        return state

    def present(self, e: int) -> list[int]:
        """Return the indices of the agents of world e that have not left."""
        rows: list[int] = np.flatnonzero(self.arrays.status[e] != LEFT).tolist()
        return rows

    def _run(self, kernel: Any, first: int, last: int, *arguments: Any) -> Any:
        if not self._generators and COMPILED:
            if self._threads.count > 1 and last - first > 1:
                return self._threads.run(self._handles, _TASKS[kernel], (first, last), arguments or (0, False))
            return kernel(self._handle, first, last, *arguments)
        held = {e: generator for e, generator in self._generators.items() if first <= e < last}
        foreign = {e for e, generator in held.items() if type(generator.bit_generator) is not np.random.PCG64}
        for e in held.keys() - foreign:
            pcg64.load(self.arrays.streams[e], held[e].bit_generator.state)
        # Interpreted 64-bit arithmetic warns where it wraps, as it is meant to.
        with np.errstate(over="ignore"):
            if foreign:
                assert self.num_worlds == 1
                result = _through(kernel, held[0])(self.arrays, first, last, *arguments)
            else:
                result = kernel(self._handle, first, last, *arguments)
        for e in held.keys() - foreign:
            held[e].bit_generator.state = pcg64.store(self.arrays.streams[e])
        return result

    def close(self) -> None:
        """End the threads; a later step starts new ones."""
        self._threads.close()

    def generator(self, e: int) -> np.random.Generator:
        """Return the generator that world e draws from; the same object from the first call on."""
        if e not in self._generators:
            bits = np.random.PCG64(0)
            bits.state = pcg64.store(self.arrays.streams[e])
            self._generators[e] = np.random.Generator(bits)
        return self._generators[e]

    def set_generator(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from this very generator from now on; not a PCG64's only where there is one world."""
        self._generators[e] = generator

    def seed(self, e: int, bits: np.random.BitGenerator) -> None:
        """Let world e go on from the state of a bit generator, which itself is left alone.

        A generator that has been handed out stays the world's, with the new state, if it is of the same type.
        """
        held = self._generators.get(e)
        if held is not None and type(held.bit_generator) is type(bits):
            held.bit_generator.state = bits.state
        elif type(bits) is np.random.PCG64:
            self._generators.pop(e, None)
            pcg64.load(self.arrays.streams[e], bits.state)
        else:
            copy = type(bits)()
            copy.state = bits.state
            self._generators[e] = np.random.Generator(copy)

    def seed_many(self, worlds: NDArray[np.int64], seeds: NDArray[np.uint64]) -> None:
        """Seed the streams of many worlds at once, as ``PCG64(seed)`` would."""
        streams = pcg64.seeded(seeds)
        self.arrays.streams[worlds] = streams
        for k in [k for k, e in enumerate(worlds.tolist()) if e in self._generators]:
            self._generators[int(worlds[k])].bit_generator.state = pcg64.store(streams[k])

    def snapshot(self, e: int) -> dict[str, Any]:
        """Return the whole state of world e, copied: arrays by name, and the random stream with its type."""
        held = self._generators.get(e)
        state: dict[str, Any] = {name: getattr(self.arrays, name)[e].copy() for name in _SNAPSHOT_FIELDS}
        state["np_random"] = pcg64.store(self.arrays.streams[e]) if held is None else dict(held.bit_generator.state)
        return state

    def restore(self, e: int, state: dict[str, Any]) -> None:
        """Bring world e to a state from `snapshot`, and write its observations anew.

        Raises:
            TypeError: it is not a dict.
            ValueError: it lacks a field, or a field has another shape than this world's; nothing is changed then.
        """
        checked = self._checked_snapshot(state)
        bits = _bit_generator(state.get("np_random"))
        self._restore_fields(np.array([e]), {name: value[None] for name, value in checked.items()})
        self.seed(e, bits)

    def snapshot_many(self, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the whole states of K worlds, copied: stacked arrays by name, the random streams as uint64 (K, 6)."""
        self._store_streams(worlds)
        return {name: getattr(self.arrays, name)[worlds] for name in (*_SNAPSHOT_FIELDS, "streams")}

    def restore_many(self, worlds: NDArray[np.int64], states: Any) -> None:
        """Bring K worlds to states from `snapshot_many`.

        Raises:
            TypeError, ValueError: as `restore`; nothing is changed then.
        """
        checked = self._checked_fields(states, (*_SNAPSHOT_FIELDS, "streams"), (len(worlds),))
        if (checked["streams"][:, pcg64.STREAM_WORDS - 2] > 1).any() or (checked["streams"][:, 3] % 2 == 0).any():
            raise ValueError("streams in the state are no states of PCG64 generators")
        self._check_values(checked)
        self._restore_fields(worlds, checked)
        for e in worlds.tolist():
            if e in self._generators:
                self._generators[e].bit_generator.state = pcg64.store(self.arrays.streams[e])

    def _store_streams(self, worlds: NDArray[np.int64]) -> None:
        """Bring the streams of generators that somebody holds, and may have drawn from, up to date."""
        for e in self._generators.keys() & set(worlds.tolist()):
            pcg64.load(self.arrays.streams[e], self._generators[e].bit_generator.state)

    def _restore_fields(self, worlds: NDArray[np.int64], fields: dict[str, NDArray[Any]]) -> None:
        for name, value in fields.items():
            getattr(self.arrays, name)[worlds] = value
        for e in worlds.tolist():
            rules.observe_worlds(self._handle, e, e + 1)

    def _checked_snapshot(self, state: Any) -> dict[str, NDArray[Any]]:
        checked = self._checked_fields(state, _SNAPSHOT_FIELDS, ())
        self._check_values({name: value[None] for name, value in checked.items()})
        return checked

    def _checked_fields(self, state: Any, names: tuple[str, ...], stacked: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the fields of a state, of one world or stacked, each of the shape and dtype that it must have."""
        if not isinstance(state, dict):
            raise TypeError(f"the state is of type {type(state).__name__}; {_EXPECTED_STATE}")
        checked: dict[str, NDArray[Any]] = {}
        for name in names:
            field = getattr(self.arrays, name)
            shape = (*stacked, *field.shape[1:])
            value = _array(state.get(name))
            if value is None or value.shape != shape or value.dtype != field.dtype:
                came = (
                    "missing"
                    if name not in state
                    else "ragged"
                    if value is None
                    else f"{value.dtype} of shape {value.shape}"
                )
                raise ValueError(
                    f"{name} in the state is {came}, not {field.dtype} of shape {shape}; {_EXPECTED_STATE}"
                )
            checked[name] = value
        return checked

    def _check_values(self, states: dict[str, NDArray[Any]]) -> None:
        """Refuse values that no game comes to, in the stacked states of K worlds."""
        last_status = {"leave": LEFT, "park": PARKED}.get(self.config.on_target, TRAVELLING)
        maps = self.config.num_maps
        for name, first, last, why in (
            ("map_index", 0, maps - 1, f"; there are {maps} maps"),
            ("steps", 0, np.inf, f", out of range; {_EXPECTED_STATE}"),
            ("status", 0, last_status, f", out of range; {_EXPECTED_STATE}"),
            ("outcomes", 0, max(Outcome), f", out of range; {_EXPECTED_STATE}"),
            ("arrivals", 0, np.inf, f", out of range; {_EXPECTED_STATE}"),
            ("rewards", 0, 1, f", out of range; {_EXPECTED_STATE}"),
        ):
            value = states[name]
            within = ((value >= first) & (value <= last)).all(axis=tuple(range(1, value.ndim)))
            for k in np.flatnonzero(~within):
                raise ValueError(f"{name} in the state is {value[k].tolist()}{why}")
        if (states["truncated"].any(axis=1) & ~states["over"]).any():
            raise ValueError(f"truncated in the state has agents whose episode is not over; {_EXPECTED_STATE}")
        self._check_cells(states)

    def _check_cells(self, states: dict[str, NDArray[Any]]) -> None:
        """Refuse cells where no agent or target can be: kernels rely on it to find another target."""
        maps = states["map_index"][:, None]
        within = {}
        for name in ("location", "goal"):
            cells = states[name]
            if (cells < 0).any() or (cells >= (self.config.width, self.config.height)).any():
                raise ValueError(
                    f"{name} in the state lies outside the {self.config.width} x {self.config.height} grid"
                )
            within[name] = self.config.regions[maps, cells[..., 0], cells[..., 1]]
            sizes = self.arrays.region_sizes[maps, within[name]]
            for k in np.flatnonzero(((within[name] == WALL) | (sizes < 2)).any(axis=1)):
                raise ValueError(
                    f"{name} in the state has walls, or cells that can reach no other: {cells[k].tolist()}"
                )
        if (within["location"] != within["goal"]).any():
            raise ValueError("goal in the state has a cell that its agent cannot reach")
        if self.config.collisions == "none":
            return
        for cells, status in zip(states["location"], states["status"], strict=True):
            present = cells[status != LEFT]
            if len(np.unique(present[:, 0] * self.config.height + present[:, 1])) < len(present):
                raise ValueError(f"location in the state has agents in one cell: {present.tolist()}")


def _array(value: Any) -> NDArray[Any] | None:
    try:
        return None if value is None else np.asarray(value)
    except ValueError:
        return None


def _bit_generator(state: Any) -> np.random.BitGenerator:
    """Return a new bit generator in a state; one that takes what it is given for another state is refused too."""
    message = f"np_random in the state is {state!r}; expected the state of one of NumPy's bit generators"
    kind = getattr(np.random, str(state.get("bit_generator")), None) if isinstance(state, dict) else None
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(message)  # noqa: TRY004 - whatever is wrong inside a state is a ValueError
    numbers = state.get("state")
    if isinstance(numbers, dict) and any(isinstance(number, int) and number < 0 for number in numbers.values()):
        raise ValueError(message)  # NumPy 1 would warn, and take another number
    bits: np.random.BitGenerator = kind()
    try:
        bits.state = state
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise ValueError(message) from error
    if kind is np.random.PCG64 and bits.state != state:
        raise ValueError(message)
    return bits


def _through(kernel: Any, generator: np.random.Generator) -> Any:
    """Return the kernel, interpreted, with every draw made by the generator itself."""
    return interpreted(
        kernel,
        {
            memory.opened: _identity,
            unsigned: _identity,
            pcg64.bounded: lambda _streams, _e, limit: int(generator.integers(limit)),
        },
    )


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
    }
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
    arrays.occupant[...] = memory.NOBODY
    arrays.claimant[...] = memory.NOBODY
    for side, scaled in zip((config.width, config.height), arrays.scaled, strict=True):
        scaled[:side] = np.arange(side) / max(side - 1, 1)
    if config.flatten:
        arrays.flat_parts[...] = [PARTS.index(part) for part in parts]
        arrays.flat_sizes[...] = sizes
    return arrays
