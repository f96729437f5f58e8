"""Find worlds by name: files, runs, scenarios of the suite, and generators; and store worlds in files of runs.

No code in a file is run.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from multigrid._checks import shorten
from multigrid._files import read_bytes
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.game import Game, OtherGameError
from multigrid.games._registry import add_game
from multigrid.games._stored import find_stored, name_game
from multigrid.maps._descriptions import GENERATORS, find_generator, generate_maps, read_generator, read_map
from multigrid.maps._drawn import MapGenerator
from multigrid.scenarios._scenario import RULES, Scenario, load
from multigrid.scenarios._suite import FOLDER, get, name_nearest, names

_CONFIG = "config.json"
_MALFORMED = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""The errors that untrusted JSON can cause when it is read and converted to a `GridConfig`."""

_Content = TypeVar("_Content")
# Larger grids take minutes to read.
_MOST_CELLS = 2**24
# A letter takes up to four bytes, and a file's name up to 255.
_MOST_LETTERS = 48


class _Described(NamedTuple):
    """The content of a description; a field is None if the description does not give it."""

    name: str
    walls: Any  # bool (M, W, H), True at a wall; or a `MapGenerator`
    num_agents: int | None
    config: GridConfig | None  # the configuration with the rules


def find_scenario(source: str | PathLike[str], game: type[Game] | None = None) -> Scenario:
    """Return the scenario in a file or, if there is no such file, the scenario of the suite with this name.

    `game` is that of the file, as for `multigrid.scenarios.load`.
    """
    path = Path(source)
    if not path.is_file() and isinstance(source, str):
        if source in names():
            return load(FOLDER / f"{source}.json", game)
        if not path.exists():
            raise FileNotFoundError(f"{_unknown(source)}; multigrid.scenarios.names() has all")
    return load(path, game)


def find_suite(patterns: Sequence[str], game: type[Game] | None = None) -> dict[str, GridConfig]:
    """Return the worlds of the suite whose names match a pattern, by name; all of them for no pattern.

    None of them is of a game; one that is passed raises a ValueError.
    """
    globs = [pattern if set(pattern) & set("*?[") else f"*{pattern}*" for pattern in patterns or ["*"]]
    found = [name for name in names() if any(fnmatch.fnmatchcase(name, pattern) for pattern in globs)]
    if not found:
        wrong = " ".join(patterns)
        raise ValueError(f"--suite is {wrong}, but no name is like that; {name_nearest(wrong)}")
    return {name: load(FOLDER / f"{name}.json", game).config for name in found}


def name_grid(maps: Sequence[str], config: GridConfig) -> str:
    """Return KIND-WIDTHxHEIGHT-AGENTS; the kind is the name in the description of a single map."""
    kind = "grid" if config.maps is None else "map" if config.num_maps == 1 else "maps"
    if len(maps) == 1:
        # A scenario of the suite may be played with another number of agents.
        kind = re.sub(r"-\d+x\d+-\d+$", "", file_name(Path(maps[0].partition(":")[0]).stem))
    return f"{kind}-{config.width}x{config.height}-{config.num_agents}"


def file_name(name: str) -> str:
    """Return a name without the characters that are not allowed in file names, and not too long for one."""
    letters = (letter if letter.isalnum() or letter in "-_." else "-" for letter in name[:_MOST_LETTERS])
    return "".join(letters).strip(".") or "scenario"


def find_world(
    *maps: str | PathLike[str],
    num_agents: int | None = None,
    base: GridConfig | None = None,
    game: type[Game] | str | None = None,
) -> GridConfig:
    """Return a `GridConfig` for maps given as files, names of the suite or generators; each episode has a new layout.

    A description is one of these, in order of preference:

    - a file: a scenario, a picture in text, or a ``.map`` file of MovingAI; or the folder of a run of
      ``multigrid train``;
    - the name of a scenario of the suite;
    - GENERATOR:KEY=VALUE,... with a generator of `multigrid.maps` and its arguments, such as
      ``rooms:width=11,height=9,room_size=3``. The seed is 0 by default, and ``maps=N`` makes N maps, with
      the seeds seed, seed + 1, ... With ``maps=drawn``, each episode draws a map of its own.

    Several descriptions form a pool; each episode samples one of its maps, which all have the same size. Scenarios
    and runs also give the number of agents, the rules and the observations; the letters of a picture give the
    number of agents.

    Args:
        maps: one description or more.
        num_agents: the number of agents, in place of what the descriptions give.
        base: what the descriptions do not give: the number of agents, the rules, the observations; ``GridConfig()`` by
            default. Its game is played on the maps; if a scenario or a run names a game, it is this one, or it
            is found by its name.
        game: the game of a `base` without one: a class, or the id of a registered game.

    Returns:
        A configuration whose ``walls`` are the maps alone, without the starts and targets that they may show.

    Raises:
        TypeError: a description is neither a str nor a path; or `game` is no game, or `base` has one, too.
        OSError: there is no such file, name or generator, or the file cannot be read.
        ValueError: a file or the arguments of a generator are malformed; the maps differ in size, in their number of
            agents or in their rules; there is no room for the agents; or no game has this id, or a file names another.

    >>> config = find_world("warehouse-17x13-8")
    >>> config.num_agents, config.on_target, config.layouts
    (8, 'stay', None)
    >>> find_world("maze:width=11,height=9,maps=3", num_agents=4).is_wall.shape
    (3, 11, 9)
    """
    if not maps:
        raise ValueError("there is no map; expected a file, a name of the suite, or GENERATOR:KEY=VALUE,...")
    if game is not None:
        base = add_game(base, game)
    base = GridConfig() if base is None else base
    described = [_read(source, base) for source in maps]
    drawn = next((one for one in described if isinstance(one.walls, MapGenerator)), None)
    if drawn is not None and len(described) > 1:
        raise ValueError(f"{drawn.name} draws its maps and cannot be in a pool; expected it alone")
    if drawn is None:
        _find_common("size", [(one.name, one.walls.shape[1:]) for one in described])
    fields = [*RULES, "delays", "game", "options"]
    if num_agents is None:
        fields.append("least_agents")
        numbers = [(one.name, one.num_agents) for one in described if one.num_agents is not None]
        num_agents = _find_common("number of agents", numbers) if numbers else base.given["num_agents"]
    configs = [(one.name, one.config) for one in described if one.config is not None]
    own = [(name, config) for name, config in configs if config.game is not None] or [("", base)]
    rules = {}
    for field in fields:
        sources = own if field in {"game", "options"} else configs or [("", base)]
        if any(field in config.given for _, config in sources):
            values = [(name, config.given.get(field, getattr(config, field))) for name, config in sources]
            rules[field] = _find_common(field, values)
    walls = np.concatenate([one.walls for one in described]) if drawn is None else drawn.walls
    if len(described) == 1 and any(config.has_own_maps for _, config in configs):
        walls = None
    return GridConfig(num_agents=num_agents, walls=walls, **rules)


def _find_common(what: str, values: Sequence[tuple[str, Any]]) -> Any:
    """Return the value that all pairs of a name and a value have."""
    first, value = values[0]
    for name, other in values:
        if other != value:
            differ = f"the maps of {first} and {name} differ in their {what}: {value} and {other}"
            raise ValueError(f"{differ}; expected one for all maps of a pool")
    return value


def _read(source: str | PathLike[str], base: GridConfig) -> _Described:
    """Return the content of a description."""
    path = Path(source)
    if (path / _CONFIG).is_file():
        path /= _CONFIG
    if path.is_file():
        content = read_bytes(path)
        if not content.lstrip().startswith(b"{"):
            picture = read_map(path, targets=base.has_targets)
            return _Described(str(source), picture.walls[None], len(picture.agents) or None, None)
        # A scenario may have this file name, too.
        is_run = path.name == _CONFIG and b'"format"' not in content
        # On the maps of path finding, any game can be played.
        game = base.game if re.search(rb'"game"\s*:\s*\{', content) else None
        if is_run:
            config = read_config(path.parent, lambda stored: make_grid(stored["grid"], game))
        else:
            config = load(path, game).config
    elif isinstance(source, str) and source in names():
        config = get(source).config
    elif isinstance(source, str) and find_generator(source) is not None:
        return _Described(source, read_generator(source) or generate_maps(source), None, None)
    elif path.is_dir():
        written = f"{source} is a folder that no `multigrid train` has written"
        raise IsADirectoryError(f"{written}; to use the maps in it, name each file")
    else:
        expected = f"expected one of them, or GENERATOR:KEY=VALUE,... with the generator {', '.join(GENERATORS)}"
        raise FileNotFoundError(f"{_unknown(source)}; {expected}")
    walls = config.walls if config.draws_maps else config.is_wall
    return _Described(str(source), walls, config.num_agents, config)


def _unknown(source: object) -> str:
    nearest = name_nearest(source)
    return f"there is no file {shorten(source)}, nor a scenario of this name in the suite, where {nearest}"


def grid_fields(config: GridConfig) -> dict[str, Any]:
    """Return what `GridConfig.to_dict` returns, for a file; `make_grid` converts it back to an equal configuration.

    A game is its name and digest, with all its options, whose defaults may be edited later.
    """
    game = {} if config.game is None else {"game": name_game(config.game), "options": config.options}
    return config.to_dict() | game


def make_grid(fields: Any, game: type[Game] | None = None) -> GridConfig:
    """Return the configuration of the fields that `grid_fields` returned, which may come from an untrusted file.

    Its game is the one that is passed, or else one of this package or registered, of the stored name and digest; raises
    as `find_stored`.
    """
    size, walls = fields.get("size"), fields.get("walls")
    sides = size if isinstance(size, list) else [size, size]
    if walls is None and math.prod(side for side in sides if isinstance(side, int)) > _MOST_CELLS:
        raise ValueError(f"size is {size}; expected at most {_MOST_CELLS} cells")
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
