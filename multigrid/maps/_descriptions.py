"""Read a map from a file of any kind, and generate maps from a description such as ``maze:width=11,height=9``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_seed, shorten
from multigrid._files import read_bytes
from multigrid._memory import check_grid
from multigrid.maps._drawn import MapGenerator, Mazes, RandomWalls, Rooms, Warehouses
from multigrid.maps._generators import maze, random_map, rooms, warehouse
from multigrid.maps._movingai import load_map
from multigrid.maps._text import ParsedMap, parse_map

GENERATORS: dict[str, Callable[..., NDArray[np.bool_]]] = {
    function.__name__: function for function in (maze, random_map, rooms, warehouse)
}
"""The generators of maps, by name."""

_DRAWING: dict[str, Callable[..., MapGenerator]] = {
    "maze": Mazes, "random_map": RandomWalls, "rooms": Rooms, "warehouse": Warehouses
}  # fmt: skip
# The key of the number of maps; all other keys are arguments of a generator.
_COUNT = "maps"
# No picture has a letter followed by a space.
_MOVINGAI_MAP, _MOVINGAI_SCENARIO = re.compile(r"\s*type\s"), re.compile(r"\s*version\s")


def read_map(path: str | PathLike[str], *, targets: bool = True) -> ParsedMap:
    r"""Read a map from a file: a picture in text, as `parse_map` reads it, or a ``.map`` file of MovingAI.

    Args:
        path: the file.
        targets: False for a game without targets, as for `parse_map`.

    Returns:
        The map; a ``.map`` file has no agents and no targets.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is too large, no regular file, or holds no map. The message names the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.txt"
    ...     _ = path.write_text("a.#\n..A\n")
    ...     read_map(path).targets.tolist()
    [[2, 1]]
    """
    # An invalid byte becomes a character that no map has.
    text = read_bytes(Path(path)).decode("utf-8-sig", errors="replace")
    if _MOVINGAI_SCENARIO.match(text):
        raise ValueError(f"{path} lists agents of a map (.scen) and is not a map; expected the map that it names")
    if _MOVINGAI_MAP.match(text):
        no_cells = np.empty((0, 2), dtype=np.int64)
        return ParsedMap(load_map(path), no_cells, no_cells)
    try:
        return parse_map(text, targets=targets)
    except ValueError as error:
        raise ValueError(f"{path} holds no map: {error}") from error


def find_generator(description: str) -> str | None:
    """Return the name of the generator that a description begins with, or None."""
    name = description.partition(":")[0].replace("-", "_")
    return name if name in GENERATORS else None


def generate_maps(description: str) -> NDArray[np.bool_]:
    """Generate the maps of a description GENERATOR:KEY=VALUE,...: bool (M, W, H), True at a wall.

    The keys are the arguments of the generator of this name, and ``maps``, the number of maps, 1 by default. Map i is
    generated with the seed plus i; the seed is 0 by default.

    >>> generate_maps("rooms:width=11,height=9,room_size=3,maps=4").shape
    (4, 11, 9)
    >>> generate_maps("maze:width=11")
    Traceback (most recent call last):
    ValueError: 'maze:width=11' lacks height; maze has the keys width, height, seed, loops, maps
    """
    name, called = find_generator(description), shorten(description)
    if name is None:
        raise ValueError(f"{called} begins with no generator; expected one of {', '.join(GENERATORS)}")
    arguments = _parse_arguments(called, name, description.partition(":")[2])
    try:
        count = check_int(_COUNT, arguments.pop(_COUNT, 1), 1)
        seed = check_seed(arguments.pop("seed", 0), "")
        check_grid(arguments["width"], arguments["height"], count)
        return np.stack([GENERATORS[name](**arguments, seed=seed + number) for number in range(count)])
    except ValueError as error:
        raise ValueError(f"{called}: {error}") from error


def read_generator(description: str) -> MapGenerator | None:
    """Return the generator of a description with ``maps=drawn``, which draws a map at every reset; None for others.

    >>> read_generator("random-map:width=11,height=9,density=0.2,maps=drawn")
    RandomWalls(size=(11, 9), side=None, density=0.2, exact=False)
    """
    name, called = find_generator(description), shorten(description)
    words = description.partition(":")[2].split(",")
    others = [word for word in words if word.replace(" ", "") != f"{_COUNT}=drawn"]
    if name is None or len(others) == len(words):
        return None
    arguments = _parse_arguments(called, name, ",".join(others))
    size = arguments.pop("width"), arguments.pop("height")
    if "seed" in arguments:
        raise ValueError(f"{called}: drawn maps have the seed of the world; leave out seed")
    return _DRAWING[name](size, **arguments)


def _parse_arguments(called: str, name: str, text: str) -> dict[str, Any]:
    """Return the values of KEY=VALUE,... by key."""
    parameters = inspect.signature(GENERATORS[name]).parameters
    # All other parameters are integers. In Python, the seed may also be a generator.
    kinds = {key: float if one.annotation == "float" else int for key, one in parameters.items()} | {_COUNT: int}
    expected = f"{name} has the keys {', '.join(kinds)}"
    arguments: dict[str, Any] = {}
    for word in text.split(",") if text else ():
        key, equals, value = (part.strip() for part in word.partition("="))
        key = key.replace("-", "_")
        if not equals:
            raise ValueError(f"{called}: {shorten(word)} is not KEY=VALUE; {expected}")
        if key not in kinds:
            raise ValueError(f"{called}: there is no key {shorten(key)}; {expected}")
        if key in arguments:
            raise ValueError(f"{called}: {key} comes twice; expected each key once")
        try:
            arguments[key] = kinds[key](value)
        except ValueError as error:
            kind = "a number" if kinds[key] is float else "an integer"
            raise ValueError(f"{called}: {key} is {shorten(value)}; expected {kind}") from error
    required = [key for key, one in parameters.items() if one.default is one.empty and key != "seed"]
    if missing := [key for key in required if key not in arguments]:
        raise ValueError(f"{called} lacks {' and '.join(missing)}; {expected}")
    return arguments
