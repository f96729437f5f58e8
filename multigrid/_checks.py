"""Check arguments, and the memory that a configuration takes, before anything is allocated."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from multigrid.parts import PARTS, Part, resolve_shape

__all__ = ["check_grid", "check_int", "check_observations", "check_seed", "check_worlds", "is_int", "shorten"]

_LARGEST = 2**63 - 1
_MOST_BYTES = 2**36
_MOST_BYTES_OF_AN_OBSERVATION = 2**30
# A trial allocation is made only for more than this.
_LITTLE = 2**30
# Measured: the arrays of a world, the search for the components of a map, and what is kept for each map.
_BYTES_OF_A_CELL, _BYTES_OF_A_SEARCHED_CELL, _BYTES_OF_A_MAP = 25, 100, 500

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200
_SHORT.maxtuple = _SHORT.maxlist = 16


def shorten(value: object) -> str:
    """Return the `repr` of a value for an error message, shortened; never raise an error.

    >>> shorten([1, "a"]), len(shorten("a" * 1000)), len(shorten(10**9999)) < 100
    ("[1, 'a']", 200, True)
    """
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python does not print integers of thousands of digits
        return f"<a value of type {type(value).__name__} that is too large to show>"


def is_int(value: object) -> bool:
    """Return whether a value is an integer, Python's or NumPy's; a bool is not.

    >>> is_int(np.int8(3)), is_int(True), is_int(3.0)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_int(name: str, value: Any, least: int, otherwise: str = "") -> int:
    """Return the value as an int.

    Args:
        name: the argument's name, for the messages.
        value: an int or a NumPy integer.
        least: the smallest allowed value.
        otherwise: what else is expected, for the messages, such as " or None for no limit".

    Raises:
        TypeError: the value is not an integer.
        ValueError: the value is less than `least`, or does not fit into 64 bits.

    >>> check_int("width", np.int64(7), 1)
    7
    """
    expected = f"expected an integer of at least {least}{otherwise}"
    if not is_int(value):
        raise TypeError(f"{name} is {shorten(value)} of type {type(value).__name__}; {expected}")
    if value < least:
        raise ValueError(f"{name} is {shorten(value)}; {expected}")
    if value > _LARGEST:
        raise ValueError(f"{name} is {shorten(value)}; {expected}, and at most {_LARGEST}, which 64 bits hold")
    return int(value)


def check_seed(seed: Any) -> int:
    """Return the seed of one world as an int.

    Args:
        seed: an int or a NumPy integer of at least 0, of any size.

    Raises:
        TypeError: the seed is not an integer.
        ValueError: the seed is negative.

    >>> check_seed(np.uint8(7))
    7
    """
    expected = "expected an integer of at least 0, or None"
    if not is_int(seed):
        raise TypeError(f"seed is {shorten(seed)} of type {type(seed).__name__}; {expected}")
    if seed < 0:
        raise ValueError(f"seed is {shorten(seed)}; {expected}")
    return int(seed)


def check_grid(width: int, height: int, num_maps: int | None) -> None:
    """Raise an error for a grid that is too large for any machine, or for this one.

    Args:
        width: the number of cells along x.
        height: the number of cells along y.
        num_maps: how many maps there are; None for a grid without walls.

    Raises:
        ValueError: the grid is too large; the message gives the bytes.

    >>> check_grid(2**10, 2**10, num_maps=None)
    """
    cells = width * height
    size = f"{shorten(width)} x {shorten(height)} cells"
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
        ValueError: the observations are too large; the message gives the field and the bytes.

    >>> check_observations(("agent", "view"), {"W": 5, "H": 5, "N": 2, "V": 5}, flatten=False)
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
        "others": (f"num_agents is {num_agents}", "leave 'others' out of observe, or use fewer agents"),
    }
    # Other parts are small.
    for part in [part for part in causes if part in parts]:
        field, advice = causes[part]
        cause = f"{field}: the part {part!r} of observe"
        numbers = math.prod(resolve_shape(PARTS[part].shape, extents))
        itemsize = 4 if flatten else np.dtype(PARTS[part].dtype).itemsize
        _check(f"{cause}, for one agent,", numbers * itemsize, _MOST_BYTES_OF_AN_OBSERVATION, advice)
        # The world's arrays and what a step returns hold them; an agent's space holds their bounds, with masks.
        needed = num_agents * numbers * (4 * itemsize + 2)
        _check(f"{cause}, for {num_agents} agents, with their spaces,", needed, _MOST_BYTES, advice)


def check_worlds(num_worlds: int, needed: int) -> None:
    """Raise an error for more worlds than any machine, or this one, has memory for.

    Args:
        num_worlds: the number of worlds.
        needed: the bytes of their arrays.

    Raises:
        ValueError: there are too many worlds; the message gives the bytes.

    >>> check_worlds(1000, 10**6)
    """
    _check(f"num_worlds is {shorten(num_worlds)}, which", needed, _MOST_BYTES, "use fewer worlds")


def _check(what: str, needed: int, most: int, advice: str) -> None:
    if needed > most:
        raise ValueError(f"{what} takes about {shorten(needed)} bytes; expected at most {most}: {advice}")
    if needed > _LITTLE:
        try:
            np.empty(needed, dtype=np.uint8)
        except MemoryError as error:
            raise ValueError(
                f"{what} takes about {needed} bytes, which this machine does not have: {advice}"
            ) from error
