"""Write a `GridConfig` into the config.json of a training, and read the file, without running code from it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from multigrid._files import read_bytes
from multigrid.config import GridConfig
from multigrid.core.map_generators import KERNELS
from multigrid.core.rules import RULES_VERSION
from multigrid.game import Game, OtherGameError
from multigrid.games._stored import find_stored, name_game
from multigrid.maps._text import ParsedMap, format_map, parse_map

_MALFORMED = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""The errors that untrusted JSON can cause when it is read and converted to a `GridConfig`."""

_Content = TypeVar("_Content")
_GENERATORS = {one.__name__: one for one in KERNELS}
_OPTIONAL = {"game", "options", "delays", "least_agents"}
# Larger grids take minutes to read.
_MOST_CELLS = 2**24
_LARGEST = 2**31 - 1


def grid_fields(config: GridConfig) -> dict[str, Any]:
    """Return the fields of a configuration for JSON; `make_grid` converts them back to an equal configuration.

    The maps are a list of pictures in text; if they have agents and targets, a dict of ``maps``, ``agents`` and
    ``targets``, because a picture cannot show an agent and a target in one cell. A game is its name and digest; without
    a game there are neither ``game`` nor ``options``; ``delays`` and ``least_agents`` are there unless they are None.
    """
    names = [field.name for field in dataclasses.fields(config) if field.name not in _OPTIONAL]
    fields = {name: getattr(config, name) for name in names}
    if config.game is not None and config.options is not None:
        fields |= {"game": name_game(config.game), "options": dict(config.options)}
    if config.least_agents is not None:
        fields["least_agents"] = config.least_agents
    if config.delays is not None:
        fields["delays"] = dataclasses.asdict(config.delays)
    if config.draws_maps:
        fields["walls"] = {"generator": type(config.walls).__name__, **dataclasses.asdict(config.walls)}
    if config.maps is not None:
        # In a pool, `GridConfig` takes plain lines for the rows of one map.
        end = "\n" if config.height == 1 < config.num_maps else ""
        fields["walls"] = [format_map(walls) + end for walls in config.maps]
    if isinstance(config.walls, ParsedMap):
        cells = {"agents": config.walls.agents.tolist(), "targets": config.walls.targets.tolist()}
        fields["walls"] = {"maps": fields["walls"], **cells}
    return fields


def make_grid(fields: Any, game: type[Game] | None = None) -> GridConfig:
    """Return the configuration of the fields that `grid_fields` returned, which may come from an untrusted file.

    Its game is the one that is passed, or else a registered one of the stored name and digest; raises as `find_stored`.
    """
    size, walls = fields.get("size"), fields.get("walls")
    sides = size if isinstance(size, list) else [size, size]
    if walls is None and math.prod(side for side in sides if isinstance(side, int)) > _MOST_CELLS:
        raise ValueError(f"size is {size}; expected at most {_MOST_CELLS} cells")
    for name in ("num_agents", "view_radius", "max_cycles"):
        if isinstance(fields.get(name), int) and fields[name] > _LARGEST:
            raise ValueError(f"{name} is {fields[name]}; expected at most {_LARGEST}")
    if isinstance(walls, dict) and "generator" in walls:
        options = {name: value for name, value in walls.items() if name != "generator"}
        walls = _GENERATORS[walls["generator"]](**options)
    elif isinstance(walls, dict):
        rows = zip(walls["maps"], walls["agents"], walls["targets"], strict=True)
        walls = [ParsedMap(parse_map(picture).walls, agents, targets) for picture, agents, targets in rows]
    elif isinstance(walls, list):
        walls = [parse_map(one) if isinstance(one, str) else one for one in walls]
    return GridConfig(**{**fields, "walls": walls, "game": find_stored(fields.get("game"), game)})


def read_config(folder: Path, convert: Callable[[dict[str, Any]], _Content]) -> _Content:
    """Read the config.json of a training and return its content, converted by a function."""
    path = folder / "config.json"
    try:
        content = json.loads(read_bytes(path))
        if content["rules"] == RULES_VERSION:
            return convert(content)
    except OtherGameError as error:
        raise ValueError(f"{path}: {error}") from error
    except _MALFORMED as error:
        wrong = f"{path} is not what `multigrid train` writes: {type(error).__name__}: {one_line(error)}"
        raise ValueError(f"{wrong}; expected the folder of a run of `multigrid train`") from error
    trained = f"{path}: {folder} was trained under version {content['rules']!r} of the rules"
    expected = f"this multigrid has version {RULES_VERSION}; use the multigrid that trained it, or train anew"
    raise ValueError(f"{trained}, but {expected}")


def one_line(error: Exception) -> str:
    """Return an error's message on one line, at most 300 characters: a hostile file can make it long."""
    return " ".join(str(error).split())[:300]
