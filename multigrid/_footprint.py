"""How much memory a configuration takes, found out before any of it is asked for."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from multigrid._checks import shown
from multigrid.parts import PARTS, Part, resolve_shape

__all__ = ["check_grid", "check_observations", "check_worlds"]

_MOST_BYTES = 2**36
_MOST_BYTES_OF_AN_OBSERVATION = 2**30
# Less than this is not asked for on trial.
_LITTLE = 2**30
# As measured: of a world's arrays, of the search for the regions of a map, and of what there is once for each map.
_BYTES_OF_A_CELL, _BYTES_OF_A_SEARCHED_CELL, _BYTES_OF_A_MAP = 25, 100, 500


def check_grid(width: int, height: int, num_maps: int | None) -> None:
    """Refuse a grid that is too large for any machine, or for this one.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        num_maps: how many maps there are; None for a grid without walls.

    Raises:
        ValueError: it is too large; the message has the bytes.

    >>> check_grid(2**10, 2**10, num_maps=None)
    """
    cells = width * height
    size = f"{shown(width)} x {shown(height)} cells"
    if num_maps is None:
        _check(f"size is {size}, which", cells * _BYTES_OF_A_CELL, _MOST_BYTES, "use a smaller size")
    else:
        needed = num_maps * (cells * _BYTES_OF_A_CELL + _BYTES_OF_A_MAP) + cells * _BYTES_OF_A_SEARCHED_CELL
        _check(f"walls has {num_maps} maps of {size}, which", needed, _MOST_BYTES, "use smaller or fewer maps")


def check_observations(parts: Collection[Part], extents: Mapping[str, int], *, flatten: bool) -> None:
    """Refuse observations that are too large for any machine, or for this one.

    Args:
        parts: the parts of an observation.
        extents: those that `multigrid.parts.name_extents` names.
        flatten: whether the parts are one float32 vector.

    Raises:
        ValueError: they are too large; the message has the field and the bytes.

    >>> check_observations(("agent", "view"), {"W": 5, "H": 5, "N": 2, "V": 5}, flatten=False)
    """
    width, height, num_agents = (extents[name] for name in "WHN")
    whole_map = max(width, height) - 1
    causes: dict[Part, tuple[str, str]] = {
        "view": (
            f"view_radius is {shown(extents['V'] // 2)}",
            f"use a smaller view_radius; {whole_map} shows the whole grid from each of its cells",
        ),
        "walls": (
            f"the grid has {width} x {height} cells",
            "leave 'walls' out of observe, or use a smaller grid or fewer agents",
        ),
        "others": (f"num_agents is {num_agents}", "leave 'others' out of observe, or use fewer agents"),
    }
    # Other parts are small.
    for part in [part for part in causes if part in parts]:
        field, advice = causes[part]
        cause = f"{field}: the part {part!r} of observe"
        numbers = math.prod(resolve_shape(PARTS[part].shape, extents))
        itemsize = 4 if flatten else np.dtype(PARTS[part].dtype).itemsize
        _check(f"{cause}, for one agent,", numbers * itemsize, _MOST_BYTES_OF_AN_OBSERVATION, advice)
        # They are in the world's arrays and in what a step returns; and an agent's space has the bounds, with masks.
        needed = num_agents * numbers * (4 * itemsize + 2)
        _check(f"{cause}, for {num_agents} agents, with their spaces,", needed, _MOST_BYTES, advice)


def check_worlds(num_worlds: int, needed: int) -> None:
    """Refuse more worlds than there is memory for, on any machine or on this one.

    Args:
        num_worlds: how many.
        needed: the bytes of their arrays.

    Raises:
        ValueError: there are too many; the message has the bytes.

    >>> check_worlds(1000, 10**6)
    """
    _check(f"num_worlds is {shown(num_worlds)}, which", needed, _MOST_BYTES, "use fewer worlds")


def _check(what: str, needed: int, most: int, advice: str) -> None:
    if needed > most:
        raise ValueError(f"{what} takes about {shown(needed)} bytes; expected at most {most}: {advice}")
    if needed > _LITTLE:
        try:
            np.empty(needed, dtype=np.uint8)
        except MemoryError as error:
            raise ValueError(
                f"{what} takes about {needed} bytes, which this machine does not have: {advice}"
            ) from error
