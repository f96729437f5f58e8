"""Check the memory that a configuration needs, before it is allocated."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from multigrid._checks import shorten
from multigrid.parts import PARTS, Part, resolve_shape

_MOST_BYTES = 2**36
_MOST_BYTES_OF_AN_OBSERVATION = 2**30
# Allocations of more bytes are tried first.
_UNTRIED_BYTES = 2**30
# Measured, in bytes: for a cell of the arrays, for a cell while components are labelled, and for a map.
_BYTES_OF_A_CELL, _BYTES_OF_A_SEARCHED_CELL, _BYTES_OF_A_MAP = 25, 100, 500


def check_grid(width: int, height: int, num_maps: int | None) -> None:
    """Check that the maps of a grid fit into memory; `num_maps` is None for a grid without walls."""
    cells = width * height
    size = f"{shorten(width)} x {shorten(height)} cells"
    if num_maps is None:
        check_memory(f"size is {size}, which", cells * _BYTES_OF_A_CELL, "use a smaller size")
    else:
        needed = num_maps * (cells * _BYTES_OF_A_CELL + _BYTES_OF_A_MAP) + cells * _BYTES_OF_A_SEARCHED_CELL
        check_memory(f"walls has {num_maps} maps of {size}, which", needed, "use smaller or fewer maps")


def check_observations(parts: Collection[Part], extents: Mapping[str, int], *, flatten: bool) -> None:
    """Check that the observations fit into memory.

    `extents` is what `multigrid.parts.name_extents` returns; with `flatten`, the parts are one float32 vector.
    """
    width, height, num_agents = (extents[name] for name in "WHN")
    whole_map = max(width, height) - 1
    causes: dict[Part, tuple[str, str]] = {
        "view": (
            f"view_radius is {shorten(extents['V'] // 2)}",
            f"use a smaller view_radius; {whole_map} shows the whole grid from each of its cells",
        ),
        "walls": (
            f"the grid has {width} x {height} cells",
            "leave 'walls' out of observe, or use a smaller grid or fewer agents",
        ),
        "rgb": (
            f"the grid has {width} x {height} cells of {extents['t']} x {extents['t']} pixels",
            "use a smaller rgb_tile or grid, or 'rgb_view' in place of 'rgb'",
        ),
        "rgb_view": (
            f"view_radius is {shorten(extents['V'] // 2)} and rgb_tile {extents['t']}",
            "use a smaller view_radius or rgb_tile",
        ),
        "others": (f"num_agents is {num_agents}", "leave 'others' out of observe, or use fewer agents"),
    }
    # Other parts are small.
    for part in [part for part in causes if part in parts]:
        field, advice = causes[part]
        cause = f"{field}: the part {part!r} of observe"
        numbers = math.prod(resolve_shape(PARTS[part].shape, extents))
        itemsize = 4 if flatten else np.dtype(PARTS[part].dtype).itemsize
        check_memory(f"{cause}, for one agent,", numbers * itemsize, advice, _MOST_BYTES_OF_AN_OBSERVATION)
        # In the arrays, in a step's results and in the two bounds of a space, each of which has a mask of bools.
        needed = num_agents * numbers * (4 * itemsize + 2)
        check_memory(f"{cause}, for {num_agents} agents, with their spaces,", needed, advice)


def check_worlds(num_worlds: int, needed: int) -> None:
    """Check that the arrays of the worlds, of `needed` bytes, fit into memory."""
    check_memory(f"num_worlds is {shorten(num_worlds)}, which", needed, "use fewer worlds")


def check_memory(what: str, needed: int, advice: str, most: int = _MOST_BYTES) -> None:
    """Check that `needed` bytes are at most `most`, and that the machine has them; the message begins with `what`.

    >>> check_memory("the map", 10**12, "use a smaller one")
    Traceback (most recent call last):
    ValueError: the map takes about 1000000000000 bytes; expected at most 68719476736: use a smaller one
    """
    if needed > most:
        raise ValueError(f"{what} takes about {shorten(needed)} bytes; expected at most {most}: {advice}")
    if needed > _UNTRIED_BYTES:
        try:
            np.empty(needed, dtype=np.uint8)
        except MemoryError as error:
            raise ValueError(
                f"{what} takes about {needed} bytes, which this machine does not have: {advice}"
            ) from error
