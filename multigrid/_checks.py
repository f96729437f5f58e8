"""Checks of arguments, and how messages show them."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

__all__ = ["check_int", "check_seed", "is_int", "shorten"]

_LARGEST = 2**63 - 1

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
