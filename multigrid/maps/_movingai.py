"""MovingAI's maps and scenarios: https://movingai.com/benchmarks/formats.html (Sturtevant, 2012).

Of a map's letters, ``.`` and ``G`` (ground) and ``S`` (swamp) are free cells here; ``@`` and ``O`` (out of bounds),
``T`` (trees) and ``W`` (water, which cannot be entered from the ground) are walls. Maps of the League of Robot Runners
also have ``S`` (service points) and ``E`` (emitter points), both free.
In both files x is the column and y the row, counted from 0 at the upper left, as everywhere in this package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, is_real, shorten
from multigrid._files import read_bytes, replace_file
from multigrid.maps._text import check_walls

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
