"""Arguments that are checked the same way everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["checked_int", "checked_seed", "is_int"]

_LARGEST = 2**63 - 1


def is_int(value: object) -> bool:
    """Say whether a value is an integer, Python's or NumPy's; a bool is none.

    >>> is_int(np.int8(3)), is_int(True), is_int(3.0)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def checked_int(name: str, value: Any, least: int, otherwise: str = "") -> int:
    """Return the value as an int.

    Args:
        name: what the messages call it.
        value: an int or a NumPy integer.
        least: the smallest that is allowed.
        otherwise: what else is expected, for the messages, such as " or None for no limit".

    Raises:
        TypeError: anything that is not an integer.
        ValueError: an integer that is too small, or that 64 bits do not hold.

    >>> checked_int("width", np.int64(7), 1)
    7
    """
    expected = f"expected an integer of at least {least}{otherwise}"
    if not is_int(value):
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; {expected}")
    if value < least:
        raise ValueError(f"{name} is {value}; {expected}")
    if value > _LARGEST:
        raise ValueError(f"{name} is {value}; {expected}, and at most {_LARGEST}, which 64 bits hold")
    return int(value)


def checked_seed(seed: Any) -> int:
    """Return the seed of one world as an int.

    Args:
        seed: an int or a NumPy integer of at least 0, of any size.

    Raises:
        TypeError: anything that is not an integer.
        ValueError: a negative integer.

    >>> checked_seed(np.uint8(7))
    7
    """
    expected = "expected an integer of at least 0, or None"
    if not is_int(seed):
        raise TypeError(f"seed is {seed!r} of type {type(seed).__name__}; {expected}")
    if seed < 0:
        raise ValueError(f"seed is {seed}; {expected}")
    return int(seed)
