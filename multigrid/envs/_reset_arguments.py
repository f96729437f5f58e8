"""Check the arguments of `reset`, for one world and for many, and of other calls for many worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from multigrid._checks import check_int, check_seed, find_nearest, is_int, name_errors, shorten
from multigrid.config import GridConfig
from multigrid.core.arrays import ABSENT
from multigrid.core.worlds import NO_SEED, Worlds
from multigrid.game import describe
from multigrid.maps._cells import NO_TARGET
from multigrid.maps._layouts import RANDOM_LAYOUT, Layout, holds_lists, is_listed, make_layout
from multigrid.runtime.tables import KEPT

_LARGEST = 2**63 - 1
_KEYS = ("agents", "targets", "map", "level", "reset_mask")
_LEAST_SIMILARITY = 0.8  # below it lie keys of other libraries, such as "mode"


def check_autoreset_mode(mode: Any) -> AutoresetMode:
    """Return an autoreset mode, given itself or its value; raise ValueError for anything else."""
    for one in AutoresetMode:
        if mode is one or (isinstance(mode, str) and mode == one.value):
            return one
    names = ", ".join(repr(one.value) for one in AutoresetMode)
    raise ValueError(f"autoreset_mode is {shorten(mode)}; expected an AutoresetMode or one of {names}")


def check_options(
    options: Any, config: GridConfig, worlds: NDArray[np.int64], num_worlds: int | None = None
) -> tuple[NDArray[np.int64] | None, Layout]:
    """Check the reset options of K worlds, and return maps, int64 (K,) or None, and stacked layouts of them.

    Each option is for one world, and then valid for all, or has an entry for each of the `num_worlds`, unless that is
    None, for an environment of one world.
    """
    if options is None:
        return None, RANDOM_LAYOUT
    options, count = _check_mapping(options), num_worlds or 1
    maps: NDArray[np.int64] | None = None
    if options.get("map") is not None:
        given = options["map"]
        many = given if num_worlds is not None and is_listed(given) else [given] * count
        if len(many) != count:
            raise ValueError(f"options['map'] has {len(many)} entries; expected one, or one for each world")
        maps = np.array([_check_map(one, config) for one in many])
    cells = _read_cells(options, config)
    if cells is None:
        return None if maps is None else maps[worlds], RANDOM_LAYOUT
    maps = np.zeros(count, np.int64) if maps is None else maps
    agents, targets = cells
    by_world = False, False
    if num_worlds is not None:
        by_world = _is_stacked(agents, num_worlds), _has_targets_by_world(agents, targets, config, num_worlds)
    layouts, on_map = [], {}
    for e in worlds.tolist():
        map_index = int(maps[e])
        if any(by_world) or map_index not in on_map:
            own = (one[e] if many else one for one, many in zip(cells, by_world, strict=True))
            on_map[map_index] = _check_layout(config, map_index, *own)
        layouts.append(on_map[map_index])
    return maps[worlds], _stack_layouts(layouts)


def read_own(options: Any, worlds: Worlds, count: int) -> dict[str, NDArray[Any]]:
    """Return the rows (K, ...) of a game's arrays that the reset options of K worlds set, by its function `reset`."""
    config, rows, table = worlds.config, dict[str, NDArray[Any]](), worlds.rules.own
    read = None if config.game is None else describe(config.game).plain.get("reset")
    if config.game is None or read is None or options is None:
        return rows
    with name_errors(f"{config.game.__name__}.reset"):
        given: Any = read(config.game_options, _check_mapping(options), count)
        if not isinstance(given, Mapping):
            raise TypeError(f"it returns {shorten(given)}; expected a dict of arrays by name")
        for name, values in given.items():
            row = None if table is None else table.rows.get(name)
            if row is None or row.mark != KEPT:
                raise ValueError(f"it sets {shorten(name)}; expected arrays of State marked games.KEPT")
            own, array = getattr(worlds.arrays.own, name), np.asarray(values)
            shape = (count, *own.shape[1:])
            if not np.can_cast(array.dtype, own.dtype, "same_kind") or array.shape not in {shape, shape[1:]}:
                raise ValueError(
                    f"it sets {name} to {array.dtype} of shape {array.shape}; expected {own.dtype} of shape {shape}"
                )
            rows[name] = np.broadcast_to(array.astype(own.dtype), shape)
    return rows


def check_reset_mask(options: Any, num_worlds: int, num_agents: int) -> NDArray[np.int64]:
    """Check ``options["reset_mask"]``, and return the worlds to reset, int64 (K,); all without a mask."""
    mask = _check_mapping(options).get("reset_mask")
    if mask is None:
        return np.arange(num_worlds)
    expected = f"expected a boolean array of shape ({num_worlds * num_agents},), with at least one True"
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        kind = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
        raise TypeError(f"options['reset_mask'] is of {kind}; {expected}")
    if mask.shape != (num_worlds * num_agents,) or not mask.any():
        what = f"has the shape {mask.shape}" if mask.any() else "is False everywhere"
        raise ValueError(f"options['reset_mask'] {what}; {expected}")
    by_world = mask.reshape(num_worlds, num_agents)
    mixed = np.flatnonzero(by_world.any(axis=1) != by_world.all(axis=1))
    if len(mixed):
        problem = f"differs between the agents of world {mixed[0]}"
        raise ValueError(f"options['reset_mask'] {problem}; a world resets as a whole")
    return np.flatnonzero(by_world[:, 0])


def check_seeds(seed: Any, num_worlds: int) -> NDArray[Any] | None:
    """Return the seeds, (num_worlds,): s + i for an integer s; objects if one takes over 64 bits; None for None."""
    if seed is None:
        return None
    if is_int(seed):
        first = check_seed(seed)
        if first + num_worlds - 1 <= _LARGEST:
            return first + np.arange(num_worlds)
        return np.array([first + world for world in range(num_worlds)], dtype=object)
    if not is_listed(seed):
        raise TypeError(f"seed is of type {type(seed).__name__}; expected an integer, a list of them, or None")
    if len(seed) != num_worlds:
        raise ValueError(f"there are {len(seed)} seeds; expected one for each of {num_worlds} worlds")
    seeds = [NO_SEED if one is None else check_seed(one) for one in seed]
    return np.array(seeds, dtype=np.int64 if max(seeds) <= _LARGEST else object)


def check_worlds(worlds: Any, num_worlds: int, *, once: bool = False) -> NDArray[np.int64]:
    """Return the indices of some worlds, int64 (K,), no two alike if `once`; of all if `worlds` is None."""
    if worlds is None:
        return np.arange(num_worlds)
    array = np.asarray(worlds)
    expected = f"expected integers (K,) from 0 to {num_worlds - 1}"
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"worlds are {array.dtype} of shape {array.shape}; {expected}")
    if array.size and not (array.min() >= 0 and array.max() < num_worlds):
        raise ValueError(f"worlds go from {array.min()} to {array.max()}; {expected}")
    if once and len(np.unique(array)) < len(array):
        raise ValueError(f"worlds are {shorten(array.tolist())}; name each once")
    return array.astype(np.int64)


def check_states(states: Any, worlds: NDArray[np.int64]) -> Any:
    """Return the states for some worlds; a list has one for each."""
    if isinstance(states, list | tuple) and len(states) != len(worlds):
        raise ValueError(f"there are {len(states)} states; expected one for each of {len(worlds)} worlds")
    return list(states) if isinstance(states, tuple) else states


def check_none_over(episode_over: NDArray[Any]) -> None:
    """Raise ResetNeeded if the episode of a world is over."""
    if episode_over.any():
        over = np.flatnonzero(episode_over)
        what = f"the episodes of {len(over)} worlds are over, the first is world {over[0]}"
        advice = "reset them with options={'reset_mask': ...}, or use another autoreset_mode"
        raise ResetNeeded(f"{what}; {advice}")


def _check_mapping(options: Any) -> Mapping[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"options are of type {type(options).__name__}; expected a dict or None")
    # Other keys are ignored, for wrappers and other environments have keys of their own.
    for key in (one for one in options if isinstance(one, str) and one not in _KEYS):
        meant = find_nearest(key, _KEYS, _LEAST_SIMILARITY)
        if meant is not None:
            raise ValueError(f"options has the key {shorten(key)}; expected {meant!r}")
    return options


def _check_map(value: Any, config: GridConfig) -> int:
    if config.draws_maps:
        raise ValueError(f"options['map'] is {shorten(value)}, but the maps are drawn; leave it out")
    if (map_index := check_int("options['map']", value, 0)) >= config.num_maps:
        raise ValueError(f"options['map'] is {map_index}, but there are {config.num_maps} maps")
    return map_index


def _read_cells(options: Mapping[str, Any], config: GridConfig) -> tuple[Any, Any] | None:
    """Return agents and targets, or None without a layout; of several maps, the options must say which."""
    agents, targets = options.get("agents"), options.get("targets") if config.has_targets else None
    if config.has_targets and (agents is None) != (targets is None):
        one, other = ("agents", "targets") if targets is None else ("targets", "agents")
        raise ValueError(f"options has {one!r} without {other!r}; give both, or neither for a random layout")
    if agents is None:
        return None
    if config.draws_maps:
        raise ValueError("options has a layout, but the maps are drawn; leave it out, or give options['level']")
    if options.get("map") is None and config.num_maps > 1:
        raise ValueError(f"options has a layout for one of {config.num_maps} maps; say which with options['map']")
    return agents, targets


def _check_layout(config: GridConfig, map_index: int, agents: Any, targets: Any) -> Layout:
    components, num_agents = config.components[map_index], config.num_agents
    if config.least_agents is not None and is_listed(agents):
        num_agents = min(max(len(agents), config.least_agents), num_agents)
    layout = make_layout(components, num_agents, agents, targets, config.on_target, label="options['{}']")
    if num_agents == config.num_agents:
        return layout
    absent = ((0, config.num_agents - num_agents), (0, 0), (0, 0))
    cells = None if layout.cells is None else np.pad(layout.cells, absent[:2], constant_values=ABSENT)
    lists = None if layout.lists is None else np.pad(layout.lists, absent, constant_values=NO_TARGET)
    return Layout(cells, lists)


def _stack_layouts(layouts: list[Layout]) -> Layout:
    cells = np.array([layout.cells for layout in layouts if layout.cells is not None])  # faster than np.stack
    lists = {index: layout.lists for index, layout in enumerate(layouts) if layout.lists is not None}
    if not lists:
        return Layout(cells, None)
    stack = np.full((*cells.shape[:2], max(one.shape[1] for one in lists.values()), 2), NO_TARGET)
    for index, one in lists.items():
        stack[index, :, : one.shape[1]] = one
    return Layout(cells, stack)


def _has_targets_by_world(agents: Any, targets: Any, config: GridConfig, num_worlds: int) -> bool:
    """Return whether there are targets for each world, rather than for all worlds."""
    if is_listed(targets) and any(holds_lists(one) for one in targets):
        if len(targets) != num_worlds:
            raise ValueError(f"options['targets'] has lists for {len(targets)} worlds; expected {num_worlds}")
        return True
    if not _is_stacked(targets, num_worlds):
        return False
    if config.on_target != "restart" or config.num_agents != num_worlds:
        return True
    # As many worlds as agents: these may be a target for each agent of each world, or a list for each agent.
    if np.shape(targets)[1] != num_worlds:
        return False
    if not _is_stacked(agents, num_worlds):
        what = f"has the shape {np.shape(targets)}: a target for each agent of each world, or a list for each agent"
        advice = "give options['agents'] for each world, too, or the lists for each world"
        raise ValueError(f"options['targets'] {what}; {advice}")
    return True


def _is_stacked(cells: Any, count: int) -> bool:
    try:
        return np.ndim(cells) == 3 and len(cells) == count
    except ValueError:  # ragged
        return False
