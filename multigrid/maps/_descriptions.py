"""Read a map from a file of any kind, and generate maps from a description such as ``maze:width=11,height=9``.

MovingAI's maps and scenarios: https://movingai.com/benchmarks/formats.html (Sturtevant, 2012). Of a map's letters,
``.`` and ``G`` (ground) and ``S`` (swamp) are free cells here; ``@`` and ``O`` (out of bounds), ``T`` (trees) and ``W``
(water, which cannot be entered from the ground) are walls. Maps of the League of Robot Runners also have ``S`` (service
points) and ``E`` (emitter points), both free. In both files x is the column and y the row, counted from 0 at the upper
left, as everywhere in this package.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, check_seed, is_int, is_real, shorten
from multigrid._files import read_bytes, replace_file
from multigrid._memory import check_grid
from multigrid.maps._drawn import MapGenerator, Mazes, RandomWalls, Rooms, Warehouses
from multigrid.maps._generators import maze, random_map, rooms, warehouse
from multigrid.maps._text import ParsedMap, check_walls, parse_map

GENERATORS: dict[str, Callable[..., NDArray[np.bool_]]] = {
    function.__name__: function for function in (maze, random_map, rooms, warehouse)
}
"""The generators of maps, by name."""

_DRAWING: dict[str, Callable[..., MapGenerator]] = {
    "maze": Mazes, "random_map": RandomWalls, "rooms": Rooms, "warehouse": Warehouses
}  # fmt: skip
# The key of the number of maps; all other keys are arguments of a generator.
_COUNT = "maps"
_DRAWN = re.compile(r",maps=drawn(?=,|$)")
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
    if name is None or not _DRAWN.search(description):
        return None
    arguments = _parse_arguments(called, name, _DRAWN.sub("", description).partition(":")[2])
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


_PASSABLE, _BLOCKED = ".GSE", "@OTW"
_COLUMNS = "bucket, map, map width, map height, start x, start y, goal x, goal y, optimal length"
_NUM_COLUMNS = len(_COLUMNS.split(","))


class ScenarioRow(NamedTuple):
    """A row of a scenario file: one agent's problem.

    >>> ScenarioRow(0, "den312d.map", 65, 81, start=(13, 19), goal=(16, 19), optimal_length=3.0).goal
    (16, 19)
    """

    bucket: int
    """The class of difficulty: the optimal length divided by 4, rounded down."""
    map_name: str
    """The map's file, as the scenario file names it."""
    width: int
    """The map's width in cells."""
    height: int
    """Its height in cells."""
    start: tuple[int, int]
    """The cell (x, y) where the agent starts."""
    goal: tuple[int, int]
    """The cell (x, y) that it has to reach."""
    optimal_length: float
    """The length of a lone agent's shortest path with diagonal steps, which cost the square root of 2 and cut no
    corner. So it is at most the number of steps that this package's four directions need."""


def load_map(path: str | PathLike[str]) -> NDArray[np.bool_]:
    r"""Read a ``.map`` file. CRLF line ends, no newline at the end and blank lines at the end are accepted.

    Returns:
        bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is too large, not regular or malformed; the message gives the line and what was expected.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.map"
    ...     _ = path.write_text("type octile\nheight 2\nwidth 3\nmap\n.T.\n..@\n")
    ...     load_map(path).tolist()
    [[False, False], [True, False], [False, True]]
    """
    lines = _read_lines(path)
    words = _get_line(lines, 1).split()
    if words != ["type", "octile"]:
        others = "" if words[:1] == ["type"] else "; multigrid.maps.read_map reads pictures in text, too"
        raise _make_error(path, lines, 1, f"'type octile'{others}")
    height, width = _read_header_number(path, lines, 2, "height"), _read_header_number(path, lines, 3, "width")
    if _get_line(lines, 4).split() != ["map"]:
        raise _make_error(path, lines, 4, "'map'")
    first = 5
    for number in range(first, first + height):
        row = _get_line(lines, number)
        if len(row) != width:
            count = f"row {number - first + 1} of {height}, of {width} letters"
            raise _make_error(path, lines, number, count + (f", not {len(row)}" if row else ""))
        for column, letter in enumerate(row, start=1):
            if letter not in _PASSABLE + _BLOCKED:
                letters = ", ".join(_PASSABLE + _BLOCKED)
                raise _make_error(path, lines, number, f"a letter out of {letters} in column {column}, not {letter!r}")
    if len(lines) > first - 1 + height:
        raise _make_error(path, lines, first + height, f"the end of the file after {height} rows")
    return np.array([[letter in _BLOCKED for letter in column] for column in zip(*lines[first - 1 :], strict=True)])


def save_map(path: str | PathLike[str], walls: NDArray[np.bool_]) -> None:
    r"""Write a ``.map`` file, with ``.`` for free cells and ``@`` for walls; an existing file is replaced at the end.

    Args:
        path: the file.
        walls: bool (W, H), True at ``[x, y]`` for a wall.

    Raises:
        OSError: the file cannot be written.
        TypeError, ValueError: not a boolean array of two axes with at least one cell.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_map(Path(folder) / "small.map", np.array([[True, False, False]]))
    ...     (Path(folder) / "small.map").read_text()
    'type octile\nheight 3\nwidth 1\nmap\n@\n.\n.\n'
    """
    width, height = check_walls(walls).shape
    rows = ["".join(row) for row in np.where(walls, _BLOCKED[0], _PASSABLE[0]).T.tolist()]
    _write_lines(path, ["type octile", f"height {height}", f"width {width}", "map", *rows])


def load_scenario(path: str | PathLike[str]) -> list[ScenarioRow]:
    r"""Read a ``.scen`` file of version 1 (or 1.0, which is the same).

    Columns are separated by tabs; in a line without any, by spaces, as MovingAI's own loader allows. CRLF line ends, no
    newline at the end and blank lines at the end are accepted.

    Returns:
        The rows, in the file's order.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is too large, not regular or malformed; the message gives the line and what was expected.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.scen"
    ...     _ = path.write_text("version 1\n0\tsmall.map\t3\t2\t0\t0\t2\t0\t2.82842712\n")
    ...     load_scenario(path)[0].optimal_length
    2.82842712
    """
    lines = _read_lines(path)
    if _get_line(lines, 1).split() not in (["version", "1"], ["version", "1.0"]):
        raise _make_error(path, lines, 1, "'version 1', the only version that is supported")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) != _NUM_COLUMNS:
            expected = f"{_NUM_COLUMNS} columns separated by tabs ({_COLUMNS}), not {len(columns)}"
            raise _make_error(path, lines, number, expected)
        bucket, width, height, *ends = (_parse_number(text, "[0-9]{1,9}", int) for text in (columns[0], *columns[2:8]))
        length = _parse_number(columns[8], r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", float)
        row = ScenarioRow(bucket, columns[1], width, height, (ends[0], ends[1]), (ends[2], ends[3]), length)
        if expected := next(_find_mistakes(row), ""):
            raise _make_error(path, lines, number, expected)
        rows.append(row)
    return rows


def save_scenario(path: str | PathLike[str], rows: Iterable[ScenarioRow]) -> None:
    r"""Write a ``.scen`` file of version 1; an existing file is replaced at the end.

    Optimal lengths have eight decimals, as in the benchmarks, or as many as it takes to read the same number again.

    Args:
        path: the file.
        rows: the rows of the file, in order.

    Raises:
        OSError: the file cannot be written.
        ValueError: a row that `load_scenario` would refuse; the message gives its index.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_scenario(Path(folder) / "small.scen", [ScenarioRow(0, "small.map", 3, 2, (0, 0), (2, 0), 2.0)])
    ...     (Path(folder) / "small.scen").read_text()
    'version 1\n0\tsmall.map\t3\t2\t0\t0\t2\t0\t2.00000000\n'
    """
    lines = ["version 1"]
    for index, row in enumerate(rows):
        if expected := next(_find_mistakes(row), ""):
            raise ValueError(f"row {index} is {shorten(row)}; expected {expected}")
        length = f"{row.optimal_length:.8f}"
        if float(length) != row.optimal_length:
            length = repr(float(row.optimal_length))
        columns = (row.bucket, row.map_name, row.width, row.height, *row.start, *row.goal, length)
        lines.append("\t".join(map(str, columns)))
    _write_lines(path, lines)


def _read_lines(path: str | PathLike[str]) -> list[str]:
    """Return the lines of a file, without blank ones at the end."""
    # An invalid byte becomes a letter that no map has, so the error gives its line.
    text = read_bytes(Path(path)).decode("utf-8-sig", errors="replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _write_lines(path: str | PathLike[str], lines: list[str]) -> None:
    with replace_file(Path(path)) as temporary:
        temporary.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _get_line(lines: list[str], number: int) -> str:
    """Return a line by its number, from 1; an empty string after the end."""
    return lines[number - 1] if number <= len(lines) else ""


def _make_error(path: str | PathLike[str], lines: list[str], number: int, expected: str) -> ValueError:
    got = shorten(lines[number - 1]) if number <= len(lines) else "the file ends"
    return ValueError(f"{path}, line {number}: {got}; expected {expected}")


def _parse_number(text: str, pattern: str, kind: Callable[[str], Any]) -> Any:
    """Convert the text if it matches the pattern, else return it (`int` and `float` also accept "1_000")."""
    return kind(text) if re.fullmatch(pattern, text.strip()) else text


def _read_header_number(path: str | PathLike[str], lines: list[str], number: int, name: str) -> int:
    words = _get_line(lines, number).split()
    if len(words) != 2 or words[0] != name or not re.fullmatch("[1-9][0-9]{,8}", words[1]):
        raise _make_error(path, lines, number, f"{name!r} and a positive integer")
    return int(words[1])


def _find_mistakes(row: object) -> Iterator[str]:
    """Yield what was expected for each mistake in a row; each check relies on the earlier ones."""
    if not isinstance(row, ScenarioRow):
        yield f"a ScenarioRow ({_COLUMNS})"
    fields: tuple[Any, ...] = tuple(row)  # type: ignore[arg-type] # checked above
    bucket, map_name, width, height, start, goal, length = fields
    wholes = {"bucket": bucket, "map width": width, "map height": height}
    for name, cell in (("start", start), ("goal", goal)):
        if not isinstance(cell, tuple) or len(cell) != 2:
            yield f"{name} to be a cell (x, y), not {shorten(cell)}"
        wholes |= {f"{name} x": cell[0], f"{name} y": cell[1]}
    for name, value in wholes.items():
        if not is_int(value) or value < 0:
            yield f"{name} to be an integer of at least 0, not {shorten(value)}"
    if not isinstance(map_name, str) or not map_name or re.search(r"[\t\r\n]", map_name):
        yield f"map to be the name of a file, not {shorten(map_name)}"
    for name, (x, y) in (("start", start), ("goal", goal)):
        if x >= width or y >= height:
            yield f"{name} {(x, y)} to be inside the map of {width} x {height} cells"
    if not is_real(length) or not 0 <= length < math.inf:
        yield f"optimal length to be a number of at least 0, not {shorten(length)}"
