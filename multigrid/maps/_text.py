"""Read and write maps as text, with a line for each row and a character for each cell.

``.`` is a free cell and ``#`` a wall. A lower-case letter is an agent, and the same letter in upper case its target.
A cell is ``[x, y]``: x is the column and y the line, both counted from 0, and y grows downwards.

A picture cannot show a list of targets: they may share cells, and have an order. So lists follow the picture, with a
line for each agent, such as ``a: 2,1 0,0 2,1``, the cells ``x,y`` in order; then the picture has no upper-case letters.
"""

from __future__ import annotations

import textwrap
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multigrid._checks import shorten
from multigrid.maps._layouts import check_cells, holds_lists, read_lists, to_lists

_FREE, _WALL = ".", "#"
_LIST = ":"
_MOST_DIGITS = 18


class ParsedMap(NamedTuple):
    r"""The walls, agents and targets of a map; its fields are the arguments of `format_map`, in order.

    >>> picture = parse_map("a#B\n.bA")
    >>> format_map(*picture) == "a#B\n.bA"
    True
    """

    walls: NDArray[np.bool_]
    """bool (W, H), True at ``[x, y]`` for a wall."""
    agents: NDArray[np.int64]
    """int64 (N, 2), the agents' cells, in the alphabetical order of their letters; N may be 0."""
    targets: NDArray[np.int64]
    """int64 (N, 2), their targets; or lists of targets (N, T, 2), each filled with [-1, -1] after its last cell; (0, 2)
    in a game without targets."""


def parse_map(text: str, *, targets: bool = True) -> ParsedMap:
    """Read a map from a picture in text.

    Indentation that all lines share is dropped, and so are blank lines before and after the picture. Letters need not
    be consecutive. A cell has one character, so a picture shows no target in an agent's cell; lists may have it.

    Args:
        text: the picture, of lines of equal length; after it there may be a line with a list of targets for each agent.
        targets: False for a game without targets, whose agents need none; those of the picture are left out.

    Returns:
        The map, in new arrays.

    Raises:
        TypeError: anything but a str.
        ValueError: no line at all, lines of different lengths, an unknown character, a letter twice, an
            agent without a target or a target without an agent; or a list that is empty, or has a wall or a cell
            outside the picture. The message gives line and column within the picture, counted from 1.

    >>> walls, agents, targets = parse_map('''
    ...     a.#
    ...     ..A
    ... ''')
    >>> walls.shape, np.argwhere(walls).tolist(), agents.tolist(), targets.tolist()
    ((3, 2), [[2, 0]], [[0, 0]], [[2, 1]])
    >>> parse_map('''
    ...     a.#
    ...     b..
    ...     a: 2,1 0,0
    ...     b: 1,1 0,1
    ... ''').targets.tolist()
    [[[2, 1], [0, 0]], [[1, 1], [0, 1]]]
    """
    if not isinstance(text, str):
        raise TypeError(f"the picture is of type {type(text).__name__}; expected a str, one line a row")
    lines = textwrap.dedent("\n".join(text.splitlines())).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    lines, list_lines = _split(lines)
    if not lines:
        raise ValueError(f"the picture is empty; expected at least one line of {_FREE!r}, {_WALL!r} and letters")
    cells = _find_letters(lines)
    walls = np.array([[character == _WALL for character in column] for column in zip(*lines, strict=True)])
    letters = sorted(filter(str.islower, cells))
    agents = np.array([cells[letter] for letter in letters], dtype=np.int64).reshape(-1, 2)
    if not targets:
        return ParsedMap(walls, agents, np.empty((0, 2), np.int64))
    if list_lines:
        return ParsedMap(walls, agents, _read_list_lines(list_lines, cells, walls))
    for letter, cell in cells.items():
        if letter.swapcase() not in cells:
            has, lacks = ("agent", "target") if letter.islower() else ("target", "agent")
            raise ValueError(
                f"{_format_position(*cell)}: {has} {letter!r} has no {lacks}; "
                f"expected one {letter.swapcase()!r} somewhere in the picture"
            )
    goals = np.array([cells[letter.upper()] for letter in letters], dtype=np.int64).reshape(-1, 2)
    return ParsedMap(walls, agents, goals)


def format_map(walls: NDArray[np.bool_], agents: ArrayLike | None = None, targets: ArrayLike | None = None) -> str:
    """Return a map as a picture in text, which `parse_map` reads if no two letters share a cell.

    In a cell with several letters, an agent hides a target, and a lower index hides a higher one. The 27th agent is
    another ``a``, and so on. Lists of targets follow the picture.

    Args:
        walls: bool (W, H), True at ``[x, y]`` for a wall.
        agents: integers (N, 2), the agents' cells, (-1, -1) for an absent agent; None for no agents.
        targets: integers (N, 2), their targets, likewise; or a list of them for each agent.

    Returns:
        H lines of W characters, and N more for lists, without a newline at the end.

    Raises:
        TypeError: arrays of another type.
        ValueError: arrays of another shape, a cell outside the map or in a wall, or agents and targets of different
            numbers.

    >>> print(format_map(np.array([[False, False], [True, False]]), agents=[[0, 0]], targets=[[1, 1]]))
    a#
    .A
    >>> print(format_map(np.zeros((2, 1), bool), agents=[[0, 0]], targets=[[[1, 0], [0, 0]]]))
    a.
    a: 1,0 0,0
    """
    walls = check_walls(walls)
    if targets is not None and holds_lists(targets):
        return "\n".join([format_map(walls, agents), *_format_lists(walls, agents, targets)])
    characters = np.where(walls, _WALL, _FREE)
    counts = []
    for name, letters, given in (("targets", ascii_uppercase, targets), ("agents", ascii_lowercase, agents)):
        if given is None:
            continue
        cells = _check_cells(name, given, walls)
        counts.append(len(cells))
        # Backwards, so that a lower index overwrites a higher one.
        for index in range(len(cells) - 1, -1, -1):
            x, y = cells[index]
            if x >= 0:
                characters[x, y] = letters[index % len(letters)]
    if len(set(counts)) > 1:
        raise ValueError(
            f"there are {counts[1]} agents but {counts[0]} targets; expected as many of one as of the other"
        )
    return "\n".join("".join(line) for line in characters.T.tolist())


def check_walls(walls: Any) -> NDArray[np.bool_]:
    """Check that an array is the walls of one map, bool (W, H) with at least one cell, and return it."""
    expected = "expected a boolean array [x, y], True at a wall"
    if not isinstance(walls, np.ndarray) or walls.dtype != np.bool_:
        kind = f"an array of {walls.dtype}" if isinstance(walls, np.ndarray) else f"of type {type(walls).__name__}"
        raise TypeError(f"walls is {kind}; {expected}")
    if walls.ndim != 2 or walls.size == 0:
        raise ValueError(f"walls has the shape {walls.shape}; {expected}, with at least one cell")
    return walls


def _format_lists(walls: NDArray[np.bool_], agents: ArrayLike | None, targets: Any) -> list[str]:
    count = 0 if agents is None else len(np.asarray(agents))
    if len(targets) != count:
        raise ValueError(
            f"there are {count} agents but {len(targets)} lists of targets; expected as many of one as of the other"
        )
    lines = []
    for index, cells in enumerate(to_lists(read_lists("targets", targets, count))):
        _check_cells(f"the list of agent_{index} in targets", cells, walls)
        letter = ascii_lowercase[index % len(ascii_lowercase)]
        lines.append(f"{letter}{_LIST} " + " ".join(f"{x},{y}" for x, y in cells))
    return lines


def _split(lines: list[str]) -> tuple[list[str], dict[int, str]]:
    """Return the lines of the picture, and the lines with lists of targets by line number."""
    first = next((y for y, line in enumerate(lines) if _LIST in line), len(lines))
    lists = {y + 1: line for y, line in enumerate(lines) if y >= first and line.strip()}
    picture = lines[:first]
    while len(picture) > 1 and not picture[-1].strip():
        picture.pop()
    return picture, lists


def _read_list_lines(
    lines: dict[int, str], cells: dict[str, tuple[int, int]], walls: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the lists of targets in the alphabetical order of their agents, int64 (N, T, 2)."""
    lists: dict[str, list[tuple[int, int]]] = {}
    for number, line in lines.items():
        where = f"line {number} of the picture, {shorten(line)}"
        letter, _, rest = (part.strip() for part in line.partition(_LIST))
        if not letter.islower() or letter not in cells:
            raise ValueError(f"{where}: there is no agent {letter!r}; expected the letter of an agent before {_LIST!r}")
        if letter in lists:
            raise ValueError(f"{where}: agent {letter!r} has a list already; expected one line for each agent")
        if not rest:
            raise ValueError(f"{where}: the list is empty; expected at least one cell x,y")
        lists[letter] = [_read_cell(where, word, walls) for word in rest.split()]
    for letter, cell in cells.items():
        if letter.isupper():
            raise ValueError(
                f"{_format_position(*cell)}: target {letter!r} beside lists of targets; leave it out, and begin the "
                f"list of agent {letter.lower()!r} with it"
            )
        if letter not in lists:
            raise ValueError(f"{_format_position(*cell)}: agent {letter!r} has no list of targets, unlike others")
    return read_lists("targets", [lists[letter] for letter in sorted(lists)], len(lists))


def _read_cell(where: str, word: str, walls: NDArray[np.bool_]) -> tuple[int, int]:
    numbers = word.split(",")
    if len(numbers) != 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise ValueError(f"{where}: {shorten(word)} is not a cell; expected x,y, two numbers from 0 on")
    if max(map(len, numbers)) > _MOST_DIGITS:
        raise ValueError(f"{where}: {shorten(word)} is outside the picture")
    x, y = map(int, numbers)
    if x >= walls.shape[0] or y >= walls.shape[1]:
        raise ValueError(f"{where}: {word} is outside the picture of {walls.shape[0]} x {walls.shape[1]} cells")
    if walls[x, y]:
        raise ValueError(f"{where}: {word} is a wall; expected a free cell")
    return x, y


def _format_position(x: int, y: int) -> str:
    return f"line {y + 1}, column {x + 1} of the picture"


def _find_letters(lines: list[str]) -> dict[str, tuple[int, int]]:
    """Return the cell of each letter, in reading order."""
    cells: dict[str, tuple[int, int]] = {}
    for y, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise ValueError(
                f"line {y + 1} of the picture, {shorten(line)}, has {len(line)} characters; "
                f"expected {len(lines[0])}, as in line 1, {shorten(lines[0])}"
            )
        for x, character in enumerate(line):
            if character in (_FREE, _WALL):
                continue
            if character not in ascii_letters:
                raise ValueError(
                    f"{_format_position(x, y)}: {character!r} in {shorten(line)}; expected {_FREE!r} for a free cell, "
                    f"{_WALL!r} for a wall, a to z for an agent, or A to Z for its target"
                )
            if character in cells:
                raise ValueError(
                    f"{_format_position(x, y)}: {character!r} stands in {_format_position(*cells[character])} already; "
                    "expected each letter once"
                )
            cells[character] = (x, y)
    return cells


def _check_cells(name: str, given: ArrayLike, walls: NDArray[np.bool_]) -> NDArray[np.int64]:
    cells = check_cells(name, given, None) if np.size(given) else np.empty((0, 2), np.int64)
    for index, (x, y) in enumerate(cells.tolist()):
        if (x, y) == (-1, -1):
            continue
        if not (0 <= x < walls.shape[0] and 0 <= y < walls.shape[1]):
            raise ValueError(
                f"row {index} of {name} is [{x}, {y}]; expected a cell of the map of {walls.shape[0]} x "
                f"{walls.shape[1]} cells, or [-1, -1] for one that is not there"
            )
        if walls[x, y]:
            raise ValueError(f"row {index} of {name} is [{x}, {y}], which is a wall; expected a free cell")
    return cells
