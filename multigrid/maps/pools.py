"""Pools of maps, as the ``walls`` of a `GridConfig`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_grid, shorten
from multigrid.maps.components import NO_TARGET
from multigrid.maps.layouts import check_cells
from multigrid.maps.target_lists import holds_lists, read_lists
from multigrid.maps.text import ParsedMap, parse_map

__all__ = ["stack_maps"]

# Not in a picture of several lines.
_FILE_NAME = re.compile(r".*[/\\].*|.*\.(map|txt|scen|json)", re.IGNORECASE)


def stack_maps(walls: Any) -> NDArray[np.bool_] | ParsedMap:
    """Check the maps of a pool, and stack them.

    Args:
        walls: one map or several, each a picture as text, a `ParsedMap` or bool (W, H); or all of them stacked.

    Returns:
        bool (M, W, H), True at a wall; if the maps have agents and targets, a `ParsedMap` of three stacks, in which
        lists of targets are filled with -1.

    Raises:
        TypeError, ValueError: `walls` is something else, or maps are too large, or differ in size or number of agents.

    >>> stack_maps(["..#", "#.."]).shape
    (2, 3, 1)
    """
    expected = (
        "expected a boolean array [x, y], True at a wall, or a picture as text, or a pool of either, all of one size "
        "and with as many agents"
    )
    if isinstance(walls, np.ndarray) and walls.ndim == 3:
        check_grid(walls.shape[1], walls.shape[2], len(walls))
        pool: Sequence[Any] = list(walls)
    elif isinstance(walls, ParsedMap) and getattr(walls.walls, "ndim", 0) == 3:
        pool = _unstack(walls, expected)
    elif isinstance(walls, str | ParsedMap) or (isinstance(walls, np.ndarray) and walls.ndim == 2):
        pool = [walls]
    elif isinstance(walls, np.ndarray | Sequence):
        pool = [] if isinstance(walls, np.ndarray) else walls
    else:
        raise TypeError(f"walls is of type {type(walls).__name__}; {expected}{_hint_at_files(walls)}")
    if len(pool) == 0:
        raise ValueError(f"walls holds no map; {expected}")
    pictures: list[ParsedMap] = []
    for index, one in enumerate(pool):
        picture = _check_map(index, one, expected)
        first = pictures[0] if pictures else picture
        if picture.walls.ndim != 2 or picture.walls.size == 0 or picture.walls.shape != first.walls.shape:
            raise ValueError(
                f"map {index} of walls has the shape {picture.walls.shape}, the first {first.walls.shape}; {expected}"
            )
        if len(picture.agents) != len(first.agents):
            raise ValueError(
                f"map {index} of walls shows {len(picture.agents)} agents, the first {len(first.agents)}; {expected}"
            )
        if picture.targets.ndim != first.targets.ndim:
            raise ValueError(f"map {index} of walls has lists of targets, or has none, unlike the first; {expected}")
        pictures.append(picture)
    width, height = pictures[0].walls.shape
    check_grid(width, height, len(pictures))
    stacks = ParsedMap(*(np.stack(field) for field in zip(*_fill_lists(pictures), strict=True)))
    for stack in stacks:
        stack.setflags(write=False)
    return stacks if len(pictures[0].agents) else stacks.walls


def _fill_lists(pictures: list[ParsedMap]) -> list[ParsedMap]:
    """Return pictures whose lists of targets, if they have some, are of one length."""
    if pictures[0].targets.ndim == 2:
        return pictures
    longest = max(picture.targets.shape[1] for picture in pictures)
    filler = [((0, 0), (0, longest - picture.targets.shape[1]), (0, 0)) for picture in pictures]
    return [
        picture._replace(targets=np.pad(picture.targets, widths, constant_values=NO_TARGET))
        for picture, widths in zip(pictures, filler, strict=True)
    ]


def _unstack(stacks: ParsedMap, expected: str) -> list[Any]:
    try:
        return [ParsedMap(*fields) for fields in zip(*stacks, strict=True)]
    except Exception as error:  # other fields may raise any error
        raise ValueError(f"walls is a ParsedMap whose fields have not all as many maps; {expected}") from error


def _check_map(index: int, one: Any, expected: str) -> ParsedMap:
    if isinstance(one, str):
        try:
            return parse_map(one)
        except ValueError as error:
            raise ValueError(f"map {index} of walls: {error}{_hint_at_files(one)}") from error
    fields: tuple[Any, ...] = tuple(one) if isinstance(one, ParsedMap) else (one, (), ())
    walls, agents, targets = fields
    if not isinstance(walls, np.ndarray) or walls.dtype != np.bool_:
        kind = walls.dtype if isinstance(walls, np.ndarray) else type(walls).__name__
        raise TypeError(f"map {index} of walls is of {kind}; {expected}{_hint_at_files(walls)}")
    no_cells = np.empty((0, 2), dtype=np.int64)
    for name, given in (("agents", agents), ("targets", targets)):
        if not isinstance(given, Sequence) and not (isinstance(given, np.ndarray) and given.ndim):
            raise TypeError(
                f"the {name} of map {index} of walls are of type {type(given).__name__}; expected integers (N, 2)"
            )
    counts = len(agents), len(targets)
    cells = []
    for name, given, count in zip(("agents", "targets"), (agents, targets), counts, strict=True):
        check = read_lists if name == "targets" and holds_lists(given) else check_cells
        called = f"the {name} of map {index} of walls"
        cells.append(check(called, given, counts[0]) if counts[0] or count else no_cells)
    # Not a subclass of ndarray, which could stack, compare and index differently.
    return ParsedMap(np.asarray(walls), *cells)


def _hint_at_files(walls: Any) -> str:
    """Return the advice for the path of a file, "" for anything else."""
    if isinstance(walls, PathLike) or (isinstance(walls, str) and _FILE_NAME.fullmatch(walls)):
        return f"; to read a file, use walls=multigrid.maps.load_map({shorten(walls)})"
    return ""
