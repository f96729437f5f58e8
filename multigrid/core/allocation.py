"""Allocate the arrays of worlds, as they are before the first reset."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shorten
from multigrid._delays import DelayEvents, tabulate_counts, tabulate_durations
from multigrid._memory import check_memory, check_worlds
from multigrid._tiles import paint_ground, paint_sprites
from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.core import rules
from multigrid.core.arrays import (
    ABSENT,
    ARRAYS,
    COLLISIONS,
    DELAY_EVENTS,
    LEAST_AGENTS,
    LEAST_DELAY,
    LEVEL_ARRAYS,
    MAX_CYCLES,
    NUM_ACTIONS,
    ON_TARGET,
    PART_ARRAYS,
    RADIUS,
    SHARED_REWARD,
    STATE_PARTS,
    Arrays,
)
from multigrid.core.states import DELAY_FIELDS
from multigrid.game import Game, describe, is_number
from multigrid.parts import MASK, PARTS, flat_slices
from multigrid.runtime import pcg64


def allocate(config: GridConfig, num_worlds: int) -> Arrays:
    """Return the arrays of E worlds before the first reset; raise ValueError if there is not enough memory."""
    slices = flat_slices(config.part_shapes)
    # What kernels write: the parts of the flat vector; or else all parts that are not the state itself.
    written = list(slices) if config.flatten else [part for part in config.parts if part not in STATE_PARTS]
    extents = config.extents | {
        "E": num_worlds,
        "M": num_worlds if config.draws_maps else config.num_maps,
        "C": config.width * config.height // 2 + 2 if config.draws_maps else 1 + int(config.components.max()),
        # The rules look up the move of a delayed agent, too.
        "B": max(config.num_actions, len(Action)) if config.delays is not None else config.num_actions,
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
    arrays.settings[COLLISIONS] = rules.COLLISION_RULES.index(config.collisions)
    arrays.settings[ON_TARGET] = rules.ON_TARGET_RULES.index(config.on_target)
    arrays.settings[SHARED_REWARD] = config.reward == "shared"
    arrays.settings[NUM_ACTIONS] = config.num_actions << config.message_bits
    arrays.settings[MAX_CYCLES] = rules.NO_LIMIT if config.max_cycles is None else config.max_cycles
    if config.delays is not None:
        arrays.settings[DELAY_EVENTS] = get_args(DelayEvents).index(config.delays.events)
        arrays.settings[LEAST_DELAY] = config.delays.duration[0]
        arrays.delay_counts[...] = tabulate_counts(config.delays, config.num_agents)
        arrays.delay_durations[...] = tabulate_durations(config.delays)
        arrays.delay_streams[:, pcg64.INCREMENT_LOW] = 1
    arrays.settings[LEAST_AGENTS] = config.least_agents or config.num_agents
    arrays.settings[RADIUS] = config.view_radius
    arrays.num_agents[...] = config.num_agents
    arrays.steps[...] = rules.NOT_BEGUN
    arrays.streams[:, pcg64.INCREMENT_LOW] = 1
    ARRAYS.clean_scratch(arrays)
    _fill_maps(arrays, config)
    if config.draws_images:
        arrays.ground[...] = paint_ground(config.rgb_tile)
        arrays.sprites[...] = paint_sprites(config.num_agents, config.rgb_tile)
    if config.layouts is not None:
        arrays.layouts[...] = config.layouts
    if config.target_lists is not None:
        arrays.layout_lists[...] = config.target_lists
    for side, scaled in zip((config.width, config.height), arrays.scaled, strict=True):
        scaled[:] = np.minimum(np.arange(len(scaled)) / max(side - 1, 1), 1)
    if config.flatten:
        arrays.flat_sizes[...] = [one.stop - one.start for one in slices.values()]
    if config.game is not None:
        from multigrid.core.games import make_table

        empty = {f"{part}_part" for part in config.part_specs if config.flatten or part not in config.parts}
        game = describe(config.game)
        table = make_table(game, has_levels=config.draws_maps)
        extents = config.extents | {"E": num_worlds} | ({} if config.draws_maps else {"M": config.num_maps})
        needed = table.count_bytes(extents, empty)
        check_memory(f"State with the parts of {game.name}", needed, "use smaller shapes or fewer worlds")
        own = table.allocate(extents, empty)
        numbers = {name: value for name, value in (config.options or {}).items() if is_number(game.options[name])}
        arrays = arrays._replace(own=own._replace(**numbers))
        for name in config.prepared.keys() & table.rows.keys() - set(table.constant):
            expected = "expected an array that State declares without E"
            raise ValueError(f"{game.name}.prepare returns {name}, which is no constant; {expected}")
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
    """Copy a constant that a game's `prepare` has returned; raise ValueError if its form or a number does not fit."""
    try:
        found = np.asarray(value)
    except ValueError:  # it is ragged
        found = np.asarray(None)
    is_number = found.dtype.kind in "iufb"
    if not is_number or found.shape != array.shape:
        what = "nothing" if value is None else f"an array of {found.dtype} of shape {found.shape}"
        what = what if is_number or value is None else shorten(value)
        expected = f"expected numbers of shape {array.shape}"
        raise ValueError(f"{game.__name__}.prepare returns {what} for {name}; {expected}")
    with np.errstate(invalid="ignore", over="ignore"):
        array[...] = found
    changed = np.argwhere(array != found)
    if array.dtype.kind != "f" and len(changed):
        number = found[tuple(changed[0])]
        raise ValueError(f"{game.__name__}.prepare returns {number} in {name}, which {array.dtype} does not hold")


def _list_empty(config: GridConfig) -> set[str]:
    """Return the names of the arrays that are not needed."""
    single = [part for part in config.parts if part == MASK or not config.flatten]
    empty = {PART_ARRAYS[part] for part in PARTS if part not in {*single, *STATE_PARTS}}
    if not config.flatten:
        empty |= {"flat", "flat_sizes"}
    if "view" not in config.parts:
        empty |= {"blocked", "agent_grid"}
    if not config.draws_images:
        empty |= {"ground", "sprites"}
    if config.layouts is None:
        empty.add("layouts")
    if config.target_lists is None:
        empty |= {"layout_lists", "target_lists", "list_lengths"}
    if not config.draws_maps:
        empty |= set(LEVEL_ARRAYS)
    if not config.message_bits:
        empty.add("messages")
    if config.delays is None:
        empty |= {"delay_counts", "delay_durations", *DELAY_FIELDS}
    return empty
