"""Levels of environments: what an episode began with, and levels in place of drawn ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import list_names, shorten
from multigrid.config import GridConfig
from multigrid.core.arrays import ABSENT
from multigrid.core.worlds import Worlds
from multigrid.maps._cells import WALL, label_components
from multigrid.maps._layouts import make_layout
from multigrid.maps._levels import Level
from multigrid.maps._text import ParsedMap
from multigrid.runtime.tables import FIRST, NEXT


def check_levels(levels: Any, worlds: Worlds, count: int, label: str) -> dict[str, Any]:
    """Check one level for all of `count` worlds, or one for each, and return rows of `Arrays` that set them.

    There are no rows for None. Raises TypeError or ValueError.
    """
    if levels is None:
        return {}
    config = worlds.config
    if not config.draws_maps:
        raise ValueError(f"there is {label}, but the maps are not drawn; expected walls=RandomWalls(...), or the like")
    if isinstance(levels, ParsedMap) or not isinstance(levels, list | tuple):  # a map is a tuple, too
        levels = [levels] * count
    if len(levels) != count:
        raise ValueError(f"{label} has {len(levels)} levels; expected one, or one for each of {count} worlds")
    checked: dict[int, tuple[Any, Any]] = {}
    for level in levels:
        if id(level) not in checked:
            checked[id(level)] = _check_level(level, config, label)
    walls = np.zeros((count, config.width, config.height), np.bool_)
    cells = np.full((count, config.num_agents, 4), ABSENT)
    for k, level in enumerate(levels):
        walls[k], layout = checked[id(level)]
        cells[k, : len(layout)] = layout
    rows = {"next_cells": cells, "next_walls": walls, "next_ids": np.full(count, ABSENT)}
    if config.game is not None:
        rows |= _stack_states(levels, worlds, label)
        if problem := worlds.check_levels(rows):
            raise ValueError(f"{label}, as the game {config.game.__name__} begins with it: {problem}")
    return rows


def join_rows(levels: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that set levels, and those of a game's arrays that reset options set.

    Raises ValueError for both, if a level has a State: the episode begins with it, and not by the game's functions.
    """
    if own and np.any(levels.get("next_own", False)):
        raise ValueError(
            f"options has a level with the State of an episode, and what sets {list_names(own)} of the State, too; "
            "leave out one of them, or use Level(level.walls, level.agents, level.targets), without State"
        )
    return levels | own


def _stack_states(levels: Sequence[Any], worlds: Worlds, label: str) -> dict[str, NDArray[Any]]:
    """Return rows of a game's own arrays, and which levels have them, bool (K,)."""
    states = [getattr(level, "state", None) for level in levels]
    arrays = {name: getattr(worlds.arrays.own, name)[:1] for name in worlds.own_state}
    rows = {name: np.zeros((len(states), *array.shape[1:]), array.dtype) for name, array in arrays.items()}
    for k, state in enumerate(states):
        if state is None:
            continue
        forms = {name: (value.dtype, value.shape) for name, value in state.items()}
        expected = {name: (array.dtype, array.shape[1:]) for name, array in arrays.items()}
        if forms != expected:
            raise ValueError(f"{label} has the state {shorten(forms)}; expected {shorten(expected)}")
        for name, value in state.items():
            rows[name][k] = value
    has_state = np.array([state is not None for state in states])
    return {"next_own": has_state, **{f"{NEXT} {name}": values for name, values in rows.items()}}


def _check_level(level: Any, config: GridConfig, label: str) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    if not isinstance(level, ParsedMap) or np.ndim(level.walls) != 2 or np.ndim(level.targets) != 2:
        raise TypeError(f"{label} is {shorten(level)}; expected what get_level() returned")
    walls, size = np.asarray(level.walls, np.bool_), (config.width, config.height)
    if walls.shape != size:
        raise ValueError(f"{label} has {walls.shape[0]} x {walls.shape[1]} cells; expected {size[0]} x {size[1]}")
    least, most = config.least_agents or config.num_agents, config.num_agents
    if not least <= len(level.agents) <= most:
        raise ValueError(f"{label} has {len(level.agents)} agents; expected {least} to {most}")
    if config.game is not None and getattr(level, "state", None) is not None:
        # The game may begin as no layout by hand could; `Worlds.check_levels` checks it.
        cells = level.targets if config.has_targets else np.zeros_like(level.agents)
        if np.shape(cells) != np.shape(level.agents):
            raise ValueError(f"{label} has {len(cells)} targets; expected one for each of {len(level.agents)} agents")
        return walls, np.concatenate([level.agents, cells], axis=1)
    form: dict[str, Any] = {"on_target": config.on_target, "label": f"{{}} of {label}"}
    targets = level.targets if config.has_targets else None
    layout: Any = make_layout(label_components(walls), len(level.agents), level.agents, targets, **form)
    return walls, layout.cells


def read_level(worlds: Worlds, e: int) -> Level:
    """Return what the episode of a world began with; raise ValueError unless maps are drawn."""
    if not worlds.config.draws_maps:
        raise ValueError("the maps are not drawn; expected walls=RandomWalls(...), or the like, for levels")
    arrays = worlds.arrays
    cells = arrays.beginnings[e, : arrays.num_agents[e]]
    targets, own = cells[: len(cells) * worlds.config.has_targets, 2:], None
    if worlds.config.game is not None:
        own = {name: getattr(arrays.own, f"{FIRST} {name}")[e] for name in worlds.own_state}
    return Level(arrays.components[e] == WALL, cells[:, :2], targets, own)
