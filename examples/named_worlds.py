"""Worlds in the standard form, from the name of a map and fields of a `GridConfig`, as frameworks pass them."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from multigrid._checks import shorten
from multigrid.config import GridConfig, resolve_config
from multigrid.games._registry import find_config, is_game
from multigrid.scenarios import find_world
from multigrid.wrappers import standard_config

__all__ = ["name_world"]


def name_world(map_name: str | None = None, **fields: Any) -> GridConfig:
    """Return the `multigrid.wrappers.standard_config` of a map and of fields.

    Args:
        map_name: a file, a name of the suite, or GENERATOR:KEY=VALUE,..., as `multigrid.scenarios.find_world` reads it;
            the id of a game, as `multigrid.games.config` takes it; None for a world of the fields alone.
        **fields: fields of `GridConfig`, in place of what the map gives; with the id of a game also its options. A
            sequence may be a list, as YAML and JSON have it.

    Raises:
        TypeError: a field that `GridConfig` does not have, or of the wrong type; or a bad `map_name`.
        OSError: there is no such map.
        ValueError: as `find_world` and `GridConfig`; or `flatten` is False.

    >>> config = name_world("warehouse-17x13-8", on_target="leave", max_cycles=64)
    >>> config.num_agents, config.on_target, config.observation_keys
    (8, 'leave', ('observation', 'action_mask'))
    """
    known = {field.name for field in dataclasses.fields(GridConfig)}
    unknown = sorted(set(fields) - known)
    if unknown and not is_game(map_name):
        raise TypeError(f"there are no fields {unknown}; expected some of {sorted(known)}")
    if not fields.get("flatten", True):
        raise ValueError("flatten is False; expected True, for frameworks take vectors: leave it out")
    if map_name is not None and not isinstance(map_name, str | os.PathLike):
        raise TypeError(
            f"map_name is {shorten(map_name)}; expected a file, a name of the suite, GENERATOR:KEY=VALUE,... or None"
        )
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    if is_game(map_name):
        return standard_config(find_config(str(map_name), **fields))
    if map_name is None:
        return standard_config(resolve_config(None, **fields))
    config = find_world(map_name, num_agents=fields.pop("num_agents", None))
    return standard_config(dataclasses.replace(config, **fields))
