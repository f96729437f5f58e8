"""Phrases for what agents observe: where something is, and pictures of cells in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COMPASS = ("east", "west", "south", "north")
"""The sides of a cell where y + 1 is south, for `place`."""


def place(offset: Sequence[float], sides: Sequence[str]) -> str:
    """Return in words where a cell is, given its offset and the names of the sides: x + 1, x - 1, y + 1 and y - 1.

    >>> place((2, -1), COMPASS), place((0, 0), COMPASS)
    ('2 east, 1 north', 'here')
    """
    across, along = offset
    steps = [(across, sides[across < 0]), (along, sides[2 + (along < 0)])]
    return ", ".join(f"{abs(count):g} {side}" for count, side in steps if count) or "here"


def draw(title: str, cells: Sequence[Sequence[str]], meanings: Mapping[str, str], *, is_flipped: bool = False) -> str:
    """Return a picture of cells [x][y] with a title, and what those characters mean that are in it.

    The first row is y = 0, or if it is flipped, the largest y, so that y + 1 is up.

    >>> print(draw("The map", [["@", "."], ["#", "."]], {"@": "you", "#": "wall"}))
    The map (@ you, # wall):
    @#
    ..
    """
    rows = ["".join(row) for row in zip(*cells, strict=True)]
    found = [f"{letter} {meaning}" for letter, meaning in meanings.items() if any(letter in row for row in rows)]
    legend = f" ({', '.join(found)})" if found else ""
    return "\n".join([f"{title}{legend}:", *(rows[::-1] if is_flipped else rows)])


def join(things: Sequence[str]) -> str:
    """Return things in a row, or "nothing".

    >>> join(["a key 2 east, 1 north", "a ball here"]), join([])
    ('a key 2 east, 1 north; a ball here', 'nothing')
    """
    return "; ".join(things) or "nothing"
