"""The worlds of the game: its kernels, its arrays before the first reset, and what only its worlds can do."""

from __future__ import annotations

import dataclasses
import functools
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._delays import DelayEvents, tabulate_counts, tabulate_durations
from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.core import delays, observe, rules
from multigrid.core.hooks import DEFAULTS
from multigrid.core.invariants import RULES, find_breach
from multigrid.core.metrics import DELAYS, METRICS, write_metrics
from multigrid.core.tasks import play_tasks
from multigrid.game import Game, describe, is_number
from multigrid.parts import MASK, PARTS, flat_slices
from multigrid.runtime import pcg64, worlds
from multigrid.runtime.arrays import ABSENT, ARRAYS, LEAST_AGENTS, LEVEL_ARRAYS, PART_ARRAYS, STATE_PARTS, Arrays
from multigrid.runtime.calls import is_checked
from multigrid.runtime.compiled import COMPILED
from multigrid.runtime.kernels import Kernels
from multigrid.runtime.snapshots import DELAY_FIELDS, EXPECTED


def _describe_breach(arrays: Arrays, breach: int, config: GridConfig) -> str:
    """Return the error message for what `find_breach` returned for states."""
    k, rule = divmod(breach, len(RULES))
    field, how = RULES[rule]
    value = getattr(arrays, field)[k].tolist()
    problem = how.format(value=value, maps=config.num_maps, width=config.width, height=config.height)
    where = f" (world {k} of {len(arrays.steps)})" if len(arrays.steps) > 1 else ""
    return f"{field} in the state {problem}{where}; {EXPECTED}"


KERNELS = Kernels(
    prepare=rules.build_move_table,
    reset=rules.reset_worlds,
    begin=rules.begin_worlds,
    reset_ended=rules.reset_ended_worlds,
    restore=rules.restore_worlds,
    find_bad_action=rules.find_bad_action,
    play=rules.play_worlds,
    step=rules.step_worlds,
    step_and_observe=(observe.step_and_observe, observe.step_and_observe_flat),
    observe=(observe.observe_worlds, observe.observe_worlds_flat),
    place=rules.place_agent,
    walk=rules.walk_agent,
    measure=write_metrics,
    play_tasks=play_tasks,
    find_breach=find_breach,
    describe_breach=_describe_breach,
    describe_failure=None,
    are_compiled=COMPILED,
    hooks=SimpleNamespace(**DEFAULTS),
    rules="",
    own=None,
)


@functools.cache
def _find_built_in() -> Kernels:
    """Return the kernels of the built-in game on known maps, as Python calls them."""
    return KERNELS.change(lambda kernel: getattr(kernel, "entry", kernel))


_TRIED: set[tuple[Any, ...]] = set()
# The games of the package have been tried.
_PACKAGE = "multigrid.games."
# Games are tried in worlds of up to so many cells times actions, and agents.
_MOST_MOVES_TRIED, _MOST_AGENTS_TRIED = 2**16, 64

# More than any grid's side, and so little that its sum with a location does not overflow.
_FARTHEST = 2**32


class Worlds(worlds.Worlds):
    """E worlds of N agents each, played by the rules of `multigrid.core.rules`, on some threads.

    With `autoreset`, a step resets the worlds whose episode is over.

    >>> world = Worlds(GridConfig(size=(4, 3), num_agents=2))
    >>> world.set_generator(0, np.random.default_rng(7))
    >>> world.reset()
    >>> world.arrays.location.shape
    (1, 2, 2)
    """

    def __init__(
        self, config: GridConfig, num_worlds: int = 1, *, autoreset: bool = False, num_threads: int = 1
    ) -> None:
        _try_game(config)
        arrays = allocate(config, num_worlds)
        arrays.settings[rules.AUTORESET] = autoreset
        draws = autoreset or config.on_target == "restart" or config.game is not None
        super().__init__(config, arrays, draws_in_steps=draws, num_threads=num_threads)

    @functools.cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics: those of `multigrid.core.metrics`, those of the game, and that of delays."""
        own = () if self.config.game is None else tuple(describe(self.config.game).metrics)
        return (*METRICS, *own) if self.config.delays is None else (*METRICS, *own, DELAYS)

    def _find_kernels(self) -> Kernels:
        return _find_kernels(self.config, interpreted=is_checked() and self.config.game is not None)

    @property
    def max_cycles(self) -> int | None:
        """The number of steps after which an episode is truncated; None for never. Takes effect at once."""
        limit = int(self.arrays.settings[rules.MAX_CYCLES])
        return None if limit == rules.NO_LIMIT else limit

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        self.arrays.settings[rules.MAX_CYCLES] = rules.NO_LIMIT if limit is None else limit

    def mend(self) -> None:
        """Give up the episodes of half changed worlds, before a call that begins all of them anew."""
        for arrays in self._thread_arrays:
            ARRAYS.clean_scratch(arrays)
        self.arrays.steps[...], self.arrays.next_cells[...], self.arrays.failed[...] = rules.NOT_BEGUN, ABSENT, 0

    def measure(self, worlds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the `metrics` of K worlds for each of their agents, float64 (7, K, N); a game may add some."""
        figures = np.empty((len(self.metrics), len(worlds), self.config.num_agents))
        self.kernels.measure(self._address_table, worlds, figures)
        self._check_failure(is_played=False)
        return figures

    def place(self, location: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        """Move the only agent of the only world, and its target, int64 (2,), not checked, between two steps.

        The next step counts the arrival of an agent that is on its target. Raises as `walk`.
        """
        self._check_single()
        self._run(self.kernels.place, *location.tolist(), *target.tolist(), drawing=())

    def walk(self, step: NDArray[np.int64]) -> None:
        """Play one step in which the only agent of the only world asks for the cell ``[dx, dy]`` away, clipped.

        Raises ValueError for other worlds, and where there are walls.
        """
        self._check_single()
        dx, dy = (max(-_FARTHEST, min(distance, _FARTHEST)) for distance in step.tolist())
        self._run(self.kernels.walk, dx, dy, drawing=())

    def _check_single(self) -> None:
        config = self.config
        if self.num_worlds != 1 or config.num_agents != 1 or config.on_target != "stay" or config.maps is not None:
            raise ValueError(
                f"there are {self.num_worlds} worlds of {config.num_agents} agents, and on_target is "
                f"{config.on_target!r}; expected one world without walls, one agent and 'stay'"
            )


def _find_kernels(config: GridConfig, *, interpreted: bool) -> Kernels:
    generator = config.walls if config.draws_maps else None
    if config.game is None and generator is None:
        return _find_built_in()
    from multigrid.core.games import compile_rules

    has_delays = config.delays is not None
    return compile_rules(KERNELS, config.game, generator, has_delays=has_delays, interpreted=interpreted)


def _try_game(config: GridConfig) -> None:
    """Call the functions of a game in one world, the first time that an environment of it is made."""
    key = (config.game, config.num_agents, config.width, config.height, repr(config.options))
    is_large = (
        config.width * config.height * config.num_actions > _MOST_MOVES_TRIED or config.num_agents > _MOST_AGENTS_TRIED
    )
    if config.game is None or key in _TRIED or is_large or config.game.__module__.startswith(_PACKAGE):
        return
    from multigrid.core.hook_types import try_hooks

    game = describe(config.game)
    parts: list[Any] = [*config.parts, *game.parts, MASK]
    tried = dataclasses.replace(config, observe=tuple(dict.fromkeys(parts)), flatten=False)
    try_hooks(game, _find_kernels(config, interpreted=False), allocate(tried, 1))
    _TRIED.add(key)


def allocate(config: GridConfig, num_worlds: int) -> Arrays:
    """Return the arrays of E worlds before the first reset; raise ValueError if there is not enough memory."""
    slices = flat_slices(config.part_shapes)
    # What kernels write: the parts of the flat vector; or else all parts that are not the state itself.
    written = list(slices) if config.flatten else [part for part in config.parts if part not in STATE_PARTS]
    extents = config.extents | {
        "E": num_worlds,
        "M": num_worlds if config.draws_maps else config.num_maps,
        "C": config.width * config.height // 2 + 2 if config.draws_maps else 1 + int(config.components.max()),
        "G": len(config.walls.options) if config.draws_maps else 0,
        "W+2r": config.width + 2 * config.view_radius,
        "H+2r": config.height + 2 * config.view_radius,
        "L": max(config.width, config.height),
        "S": pcg64.STREAM_WORDS,
        "P": len(written),
        "K": 1 + config.num_agents,
        "U": 0 if config.delays is None else len(tabulate_durations(config.delays)),
        "T": 0 if config.target_lists is None else config.target_lists.shape[2],
        "D": max((one.stop for one in slices.values()), default=0),
    }
    empty = _list_empty(config)
    check_worlds(num_worlds, ARRAYS.count_bytes(extents, empty))
    arrays = ARRAYS.allocate(extents, empty)
    arrays.settings[rules.COLLISIONS] = rules.COLLISION_RULES.index(config.collisions)
    arrays.settings[rules.ON_TARGET] = rules.ON_TARGET_RULES.index(config.on_target)
    arrays.settings[rules.SHARED_REWARD] = config.reward == "shared"
    arrays.settings[rules.NUM_ACTIONS] = config.num_actions << config.message_bits
    arrays.settings[rules.MAX_CYCLES] = rules.NO_LIMIT if config.max_cycles is None else config.max_cycles
    if config.delays is not None:
        arrays.settings[delays.DELAY_EVENTS] = get_args(DelayEvents).index(config.delays.events)
        arrays.settings[delays.LEAST_DELAY] = config.delays.duration[0]
        arrays.delay_counts[...] = tabulate_counts(config.delays, config.num_agents)
        arrays.delay_durations[...] = tabulate_durations(config.delays)
        arrays.delay_streams[:, pcg64.INCREMENT_LOW] = 1
    arrays.settings[LEAST_AGENTS] = config.least_agents or config.num_agents
    arrays.num_agents[...] = config.num_agents
    arrays.steps[...] = rules.NOT_BEGUN
    arrays.streams[:, pcg64.INCREMENT_LOW] = 1
    ARRAYS.clean_scratch(arrays)
    _fill_maps(arrays, config)
    if config.layouts is not None:
        arrays.layouts[...] = config.layouts
    if config.target_lists is not None:
        arrays.layout_lists[...] = config.target_lists
    for side, scaled in zip((config.width, config.height), arrays.scaled, strict=True):
        scaled[:side] = np.arange(side) / max(side - 1, 1)
    if config.flatten:
        arrays.flat_sizes[...] = [one.stop - one.start for one in slices.values()]
    if config.game is not None:
        from multigrid.core.games import make_table

        empty = {f"{part}_part" for part in config.part_specs if config.flatten or part not in config.parts}
        game = describe(config.game)
        table = make_table(game)
        own = table.allocate(config.extents | {"E": num_worlds}, empty)
        numbers = {name: value for name, value in (config.options or {}).items() if is_number(game.options[name])}
        arrays = arrays._replace(own=own._replace(**numbers))
        for name in table.constant:
            _fill_constant(config.game, name, getattr(own, name), config.prepared.get(name))
    arrays.written_parts[...] = [list(PARTS | config.part_specs).index(part) for part in written]
    return arrays


def _fill_maps(arrays: Arrays, config: GridConfig) -> None:
    if config.draws_maps:
        arrays.map_options[...] = config.walls.options
        arrays.map_index[...] = np.arange(len(arrays.map_index))
        arrays.blocked[...] = 1
        arrays.next_cells[...], arrays.level_ids[...] = ABSENT, ABSENT
        return
    arrays.components[...] = config.components
    sizes = [np.bincount(labels.ravel(), minlength=arrays.component_sizes.shape[1]) for labels in config.components]
    # Kernels place no agent in a component of one cell, which has no room for a target.
    arrays.component_sizes[...] = sizes if config.has_targets else np.maximum(sizes, 2)
    if "view" in config.parts:
        radius = config.view_radius
        rim = ((0, 0), (radius, radius), (radius, radius))
        arrays.blocked[...] = np.pad(config.is_wall, rim, constant_values=1)


def _fill_constant(game: type[Game], name: str, array: NDArray[Any], value: Any) -> None:
    """Copy a constant that a game's `prepare` has returned; raise ValueError for another shape, or if it is missing."""
    found = np.asarray(value)
    if value is None or found.shape != array.shape:
        what = "nothing" if value is None else f"an array of shape {found.shape}"
        raise ValueError(f"{game.__name__}.prepare returns {what} for {name}; expected one of shape {array.shape}")
    array[...] = found


def _list_empty(config: GridConfig) -> set[str]:
    """Return the names of the arrays that are not needed."""
    single = [part for part in config.parts if part == MASK or not config.flatten]
    empty = {PART_ARRAYS[part] for part in PARTS if part not in {*single, *STATE_PARTS}}
    if not config.flatten:
        empty |= {"flat", "flat_sizes"}
    if "view" not in config.parts:
        empty |= {"blocked", "agent_grid"}
    if config.layouts is None:
        empty.add("layouts")
    if config.target_lists is None:
        empty |= {"layout_lists", "target_lists", "list_lengths"}
    if not config.draws_maps:
        empty |= set(LEVEL_ARRAYS)
    if config.delays is None:
        empty |= {"delay_counts", "delay_durations", *DELAY_FIELDS}
    return empty
