"""E worlds of one configuration: their arrays, their random streams, reset, step, and snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import Outcome
from multigrid.config import GridConfig
from multigrid.core import arrays as memory
from multigrid.core import pcg64, rules
from multigrid.core.arrays import LEFT, Arrays
from multigrid.core.compiled import COMPILED, announce_compilation, interpreted
from multigrid.core.observe import PARTS
from multigrid.core.placement import DRAWN
from multigrid.regions import WALL

__all__ = ["World", "part_shapes"]

_STATE_FIELDS = ("map_index", "steps", "over", "location", "goal", "status", "arrivals", "arrival_step")
_TOLD_FIELDS = ("rewards", "terminated", "truncated", "endings", "outcomes", "distances")


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

    def __init__(self, config: GridConfig, num_worlds: int = 1) -> None:
        self.config = config
        self.num_worlds = num_worlds
        self.arrays = _allocated(config, num_worlds)
        # Generators that the user holds: their state is loaded before a draw and stored after it.
        self._generators: dict[int, np.random.Generator] = {}
        self._draws_in_steps = config.on_target == "restart"
        self._bind()
        announce_compilation()

    def _bind(self) -> None:
        self._handle = memory.handle(self.arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_handle"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()

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

    def step(self, first: int = 0, last: int | None = None) -> int:
        """Play one step of worlds first .. last - 1 (all of them by default) with the actions in ``arrays.actions``.

        Returns:
            `multigrid.core.rules.ALL_VALID`; or, if an action is out of range, the first such row, world * N + agent,
            and then no world has moved.
        """
        last = self.num_worlds if last is None else last
        if COMPILED and not (self._generators and self._draws_in_steps):
            return rules.step_worlds(self._handle, first, last)
        return int(self._run(rules.step_worlds, first, last))

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

    def _run(self, kernel: Any, *arguments: Any) -> Any:
        if not self._generators and COMPILED:
            return kernel(self._handle, *arguments)
        first, last = arguments[:2]
        held = {e: generator for e, generator in self._generators.items() if first <= e < last}
        foreign = {e for e, generator in held.items() if type(generator.bit_generator) is not np.random.PCG64}
        for e in held.keys() - foreign:
            pcg64.load(self.arrays.streams[e], held[e].bit_generator.state)
        # Interpreted 64-bit arithmetic warns where it wraps, as it is meant to.
        with np.errstate(over="ignore"):
            if foreign:
                assert self.num_worlds == 1
                result = _through(kernel, held[0])(self.arrays, *arguments)
            else:
                result = kernel(self._handle, *arguments)
        for e in held.keys() - foreign:
            held[e].bit_generator.state = pcg64.store(self.arrays.streams[e])
        return result

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

    def snapshot(self, e: int) -> dict[str, Any]:
        """Return the whole state of world e, copied: arrays by name, and the random stream with its type."""
        held = self._generators.get(e)
        state: dict[str, Any] = {name: getattr(self.arrays, name)[e].copy() for name in (*_STATE_FIELDS, *_TOLD_FIELDS)}
        state["np_random"] = pcg64.store(self.arrays.streams[e]) if held is None else dict(held.bit_generator.state)
        return state

    def restore(self, e: int, state: dict[str, Any]) -> None:
        """Bring world e to a state from `snapshot`, and write its observations anew.

        Raises:
            TypeError: it is not a dict.
            ValueError: it lacks a field, or a field has another shape than this world's; nothing is changed then.
        """
        checked = self._checked_snapshot(state)
        self.seed(e, checked.pop("np_random"))
        for name, value in checked.items():
            getattr(self.arrays, name)[e] = value
        rules.observe_worlds(self._handle, e, e + 1)

    def _checked_snapshot(self, state: Any) -> dict[str, Any]:
        expected = "expected what get_state() of the same configuration returned"
        if not isinstance(state, dict):
            raise TypeError(f"the state is of type {type(state).__name__}; {expected}")
        checked: dict[str, Any] = {}
        for name in (*_STATE_FIELDS, *_TOLD_FIELDS):
            field = getattr(self.arrays, name)
            value = _array(state.get(name))
            if value is None or value.shape != field.shape[1:] or value.dtype != field.dtype:
                came = (
                    "missing"
                    if name not in state
                    else "ragged"
                    if value is None
                    else f"{value.dtype} of shape {value.shape}"
                )
                raise ValueError(
                    f"{name} in the state is {came}, not {field.dtype} of shape {field.shape[1:]}; {expected}"
                )
            checked[name] = value
        if not 0 <= checked["map_index"] < self.config.num_maps:
            raise ValueError(f"map_index in the state is {checked['map_index']}; there are {self.config.num_maps} maps")
        for name, last in (("steps", None), ("status", LEFT), ("outcomes", max(Outcome)), ("arrivals", None)):
            value = checked[name]
            if (value < 0).any() or (last is not None and (value > last).any()):
                raise ValueError(f"{name} in the state is {value.tolist()}, out of range; {expected}")
        self._check_cells(checked)
        checked["np_random"] = _bit_generator(state.get("np_random"))
        return checked

    def _check_cells(self, state: dict[str, Any]) -> None:
        """Refuse cells where no agent or target can be: kernels rely on it to find another target."""
        regions = self.config.regions[state["map_index"]]
        sizes = np.bincount(regions.ravel())
        within = {}
        for name in ("location", "goal"):
            cells = state[name]
            if (cells < 0).any() or (cells >= regions.shape).any():
                raise ValueError(
                    f"{name} in the state lies outside the {self.config.width} x {self.config.height} grid"
                )
            within[name] = regions[cells[:, 0], cells[:, 1]]
            if (within[name] == WALL).any() or (sizes[within[name]] < 2).any():
                raise ValueError(f"{name} in the state has walls, or cells that can reach no other: {cells.tolist()}")
        if (within["location"] != within["goal"]).any():
            raise ValueError("goal in the state has a cell that its agent cannot reach")
        present = state["location"][state["status"] != LEFT]
        if self.config.collisions != "none" and len(np.unique(present, axis=0)) < len(present):
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
            pcg64.bounded: lambda _streams, _e, limit: int(generator.integers(limit)),
        },
    )


def _identity(arrays: Arrays) -> Arrays:
    return arrays


def _allocated(config: GridConfig, num_worlds: int) -> Arrays:
    n, worlds = config.num_agents, num_worlds
    parts = part_shapes(config)
    sizes = [int(np.prod(shape)) for shape in parts.values()]
    regions = config.regions
    num_regions = int(regions.max()) + 1
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
            for part, rank in zip(PARTS, (1, 1, 2, 3, 2, 1), strict=True)
        },
        "flat": (worlds if config.flatten else 0, n, sum(sizes)),
        **dict.fromkeys(("flat_parts", "flat_sizes"), (len(parts) if config.flatten else 0,)),
        **dict.fromkeys(("occupant", "claimant", "claims"), regions.shape[1:]),
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
    if config.layouts is not None:
        arrays.layouts[...] = config.layouts
    arrays.occupant[...] = memory.NOBODY
    arrays.claimant[...] = memory.NOBODY
    if config.flatten:
        arrays.flat_parts[...] = [PARTS.index(part) for part in parts]
        arrays.flat_sizes[...] = sizes
    return arrays
