"""Allocate the arrays of a configuration's worlds, and fill in what follows from its maps."""

from __future__ import annotations

import math

import numpy as np

from multigrid._memory import check_worlds
from multigrid.config import GridConfig
from multigrid.core import rules
from multigrid.maps.cells import NO_TARGET
from multigrid.parts import MASK, PARTS, flat_slices
from multigrid.runtime import pcg64
from multigrid.runtime.arrays import Arrays, bytes_needed, clean_scratch, make_arrays

__all__ = ["allocate", "with_room"]


def allocate(config: GridConfig, num_worlds: int) -> Arrays:
    """Allocate the arrays of E worlds, as they are before the first reset.

    Raises:
        ValueError: there is not enough memory.

    >>> allocate(GridConfig(size=(7, 4), num_agents=3), 10).location.shape
    (10, 3, 2)
    """
    extents = _name_extents(config, num_worlds)
    empty = _list_empty(config)
    check_worlds(num_worlds, bytes_needed(extents, empty))
    arrays = make_arrays(extents, empty)
    _write_start(arrays, config)
    arrays.components[...] = config.components
    arrays.component_sizes[...] = [
        np.bincount(labels.ravel(), minlength=arrays.component_sizes.shape[1]) for labels in config.components
    ]
    if "view" in config.parts:
        radius = config.view_radius
        rim = ((0, 0), (radius, radius), (radius, radius))
        arrays.blocked[...] = np.pad(config.is_wall, rim, constant_values=1)
    if config.layouts is not None:
        arrays.layouts[...] = config.layouts
    if config.target_lists is not None:
        arrays.layout_lists[...] = config.target_lists
    for side, scaled in zip((config.width, config.height), arrays.scaled, strict=True):
        scaled[:side] = np.arange(side) / max(side - 1, 1)
    if config.flatten:
        slices = flat_slices(config.part_shapes)
        arrays.flat_parts[...] = [list(PARTS).index(part) for part in slices]
        arrays.flat_sizes[...] = [one.stop - one.start for one in slices.values()]
    return arrays


def with_room(arrays: Arrays, longest: int) -> Arrays:
    """Return the arrays, in which the arrays of lists are replaced by larger ones if they are too small.

    Args:
        arrays: of any number of worlds, whose lists are kept.
        longest: the number of targets for which each list needs room.

    Raises:
        ValueError: there is not enough memory.

    >>> arrays = allocate(GridConfig(num_agents=3, on_target="restart"), 10)
    >>> with_room(arrays, 7).target_lists.shape
    (10, 3, 7, 2)
    """
    num_worlds, num_agents = arrays.arrivals.shape
    if longest <= arrays.target_lists.shape[2]:
        return arrays
    shape = (num_worlds, num_agents, longest, 2)
    check_worlds(num_worlds, math.prod(shape) * arrays.target_lists.itemsize)
    lists, lengths = np.full(shape, NO_TARGET), np.zeros((num_worlds, num_agents), np.int64)
    if len(arrays.list_lengths):
        lists[:, :, : arrays.target_lists.shape[2]] = arrays.target_lists
        lengths[...] = arrays.list_lengths
    return arrays._replace(target_lists=lists, list_lengths=lengths)


def _write_start(arrays: Arrays, config: GridConfig) -> None:
    """Write the settings, and the state before the first reset, to zeroed arrays."""
    arrays.settings[rules.COLLISIONS] = rules.COLLISION_RULES.index(config.collisions)
    arrays.settings[rules.ON_TARGET] = rules.ON_TARGET_RULES.index(config.on_target)
    arrays.settings[rules.SHARED_REWARD] = config.reward == "shared"
    arrays.settings[rules.NUM_ACTIONS] = config.num_actions
    arrays.settings[rules.MAX_CYCLES] = rules.NO_LIMIT if config.max_cycles is None else config.max_cycles
    arrays.steps[...] = rules.NOT_BEGUN
    arrays.streams[:, pcg64.INCREMENT_LOW] = 1
    clean_scratch(arrays)


def _name_extents(config: GridConfig, num_worlds: int) -> dict[str, int]:
    slices = flat_slices(config.part_shapes)
    return config.extents | {
        "E": num_worlds,
        "M": config.num_maps,
        "C": 1 + int(config.components.max()),
        "W+2r": config.width + 2 * config.view_radius,
        "H+2r": config.height + 2 * config.view_radius,
        "L": max(config.width, config.height),
        "S": pcg64.STREAM_WORDS,
        "P": len(slices),
        "T": 0 if config.target_lists is None else config.target_lists.shape[2],
        "D": max((one.stop for one in slices.values()), default=0),
    }


def _list_empty(config: GridConfig) -> set[str]:
    """Return the names of the arrays that are not needed."""
    single = [part for part in config.parts if part == MASK or not config.flatten]
    empty = {f"{part}_part" for part in PARTS if part not in single}
    if not config.flatten:
        empty |= {"flat", "flat_parts", "flat_sizes"}
    if "view" not in config.parts:
        empty |= {"blocked", "agent_grid"}
    if config.layouts is None:
        empty.add("layouts")
    if config.target_lists is None:
        empty |= {"layout_lists", "target_lists", "list_lengths"}
    return empty
