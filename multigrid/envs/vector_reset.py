"""What the reset of many worlds is asked for, checked before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from multigrid._checks import check_int, is_int, shorten
from multigrid.config import GridConfig
from multigrid.maps.layouts import check_layout

__all__ = ["NO_SEED", "checked_autoreset_mode", "checked_layouts", "checked_mask", "checked_seeds"]

NO_SEED = -2
"""Stands for a seed that nobody gave."""


def checked_autoreset_mode(mode: Any) -> AutoresetMode:
    """Return the mode of a name, or the mode itself.

    Raises:
        ValueError: there is no such mode.

    >>> checked_autoreset_mode("SameStep").name
    'SAME_STEP'
    """
    for one in AutoresetMode:
        if mode is one or (isinstance(mode, str) and mode == one.value):
            return one
    names = ", ".join(repr(one.value) for one in AutoresetMode)
    raise ValueError(f"autoreset_mode is {shorten(mode)}; expected an AutoresetMode or one of {names}")


def checked_mask(options: Mapping[str, Any], num_worlds: int, num_agents: int) -> NDArray[np.int64]:
    """Return the worlds to reset: those of ``options["reset_mask"]``, or all.

    Raises:
        TypeError, ValueError: it is no boolean array (worlds * agents,), equal over a world's rows, with a True.

    >>> checked_mask({"reset_mask": np.array([False, False, True, True])}, 2, 2)
    array([1])
    """
    mask = options.get("reset_mask")
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
        raise ValueError(
            f"options['reset_mask'] differs between the agents of world {mixed[0]}; a world resets as a whole"
        )
    return np.flatnonzero(by_world[:, 0])


def checked_layouts(
    options: Mapping[str, Any], config: GridConfig, num_worlds: int, worlds: NDArray[np.int64]
) -> tuple[NDArray[np.int64] | None, dict[int, NDArray[np.int64]] | None]:
    """Return what ``options`` set by hand: the map of each world, or None; the layouts of the given worlds, or None.

    A layout is what `multigrid.maps.layouts.check_layout` returns.

    Raises:
        TypeError, ValueError: as that; or there is no such map, or agents without targets.

    >>> checked_layouts({"map": 0}, GridConfig(), 3, np.array([0, 2]))
    (array([0, 0, 0]), None)
    """
    maps: NDArray[np.int64] | None = None
    if options.get("map") is not None:
        given = options["map"]
        many = given if _is_listed(given) else [given] * num_worlds
        if len(many) != num_worlds:
            raise ValueError(f"options['map'] has {len(many)} entries; expected one, or one for each world")
        maps = np.array([check_int("options['map']", one, 0) for one in many])
        if maps.max() >= config.num_maps:
            raise ValueError(f"options['map'] is {maps.max()}, but there are {config.num_maps} maps")
    agents, targets = options.get("agents"), options.get("targets")
    if agents is None and targets is None:
        return maps, None
    if agents is None or targets is None:
        one, other = ("agents", "targets") if targets is None else ("targets", "agents")
        raise ValueError(f"options has {one!r} without {other!r}; give both, or neither for a drawn layout")
    if maps is None:
        if config.num_maps > 1:
            raise ValueError(f"options has a layout for one of {config.num_maps} maps; say which with options['map']")
        maps = np.zeros(num_worlds, dtype=np.int64)
    layouts = {}
    for e in worlds.tolist():
        starts, goals = (one[e] if _is_stacked(one, num_worlds) else one for one in (agents, targets))
        layouts[e] = check_layout(config.components[maps[e]], config.num_agents, starts, goals, "options['{}']")
    return maps, layouts


def checked_seeds(seed: Any, num_worlds: int) -> NDArray[np.int64]:
    """Return a seed for each world, or `NO_SEED`: s + i for an integer s, those of a list as they are.

    Raises:
        TypeError, ValueError: it is neither, or out of range, or the list has another length.

    >>> checked_seeds(7, 3)
    array([7, 8, 9])
    """
    if seed is None:
        return np.full(num_worlds, NO_SEED)
    if is_int(seed):
        first = check_int("seed", seed, 0)
        check_int("the last world's seed", first + num_worlds - 1, 0)
        return first + np.arange(num_worlds)
    if not _is_listed(seed):
        raise TypeError(f"seed is of type {type(seed).__name__}; expected an integer, a list of them, or None")
    if len(seed) != num_worlds:
        raise ValueError(f"there are {len(seed)} seeds; expected one for each of {num_worlds} worlds")
    return np.array([NO_SEED if one is None else check_int("a seed", one, 0) for one in seed])


def _is_listed(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_stacked(cells: Any, count: int) -> bool:
    try:
        return np.ndim(cells) == 3 and len(cells) == count
    except ValueError:  # ragged
        return False
