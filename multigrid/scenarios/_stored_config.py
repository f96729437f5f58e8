"""Write a `GridConfig` into the config.json of a training, and read the file, without running code from it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from multigrid._files import read_bytes
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.game import Game, OtherGameError
from multigrid.games._stored import find_stored, name_game

_MALFORMED = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""The errors that untrusted JSON can cause when it is read and converted to a `GridConfig`."""

_Content = TypeVar("_Content")
# Larger grids take minutes to read.
_MOST_CELLS = 2**24
_LARGEST = 2**31 - 1


def grid_fields(config: GridConfig) -> dict[str, Any]:
    """Return what `GridConfig.to_dict` returns, for a file; `make_grid` converts it back to an equal configuration.

    A game is its name and digest, with all its options, whose defaults may be edited later.
    """
    game = {} if config.game is None else {"game": name_game(config.game), "options": config.options}
    return config.to_dict() | game


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
    return GridConfig.from_dict({**fields, "game": None}, find_stored(fields.get("game"), game))


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
