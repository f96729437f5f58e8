"""Encode arrays of integers as short strings, which codec.js decodes."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack"]

_BITS, _MORE = 7, 0x80


def pack(rows: NDArray[Any]) -> str:
    """Return integers (R, L) as base64, with one byte for a small change along a row and about none for no change.

    - Each row is written as differences, the first one from 0.
    - A difference d is written as 2d, or as -2d - 1 if it is negative.
    - A run of zeros, which may continue in the next row, is written as a 0 and the number of zeros after the first.
    - These numbers are written in groups of seven bits, the lowest first. The eighth bit is set in all bytes of a
      number except its last.

    >>> base64.b64decode(pack(np.array([[5, 5, 5, 4], [0, 0, 200, 200]]))).hex(" ")
    '0a 00 01 01 00 01 90 03 00 00'
    """
    differences = np.diff(rows.astype(np.int64), axis=1, prepend=0).ravel()
    signless = np.where(differences < 0, -2 * differences - 1, 2 * differences)
    begins = np.ones(len(signless), dtype=np.bool_)
    begins[1:] = (signless[1:] != 0) | (signless[:-1] != 0)
    starts = np.flatnonzero(begins)
    heads, following = signless[starts], np.diff(starts, append=len(signless)) - 1
    numbers = np.stack([heads, following], axis=1)[np.stack([heads >= 0, heads == 0], axis=1)]
    groups: list[NDArray[np.int64]] = []
    left = numbers
    while not groups or left.any():
        groups.append(left)
        left = left >> _BITS
    digits = np.stack(groups, axis=1)
    rest = digits >> _BITS
    used = digits > 0
    used[:, 0] = True
    packed = (digits % _MORE + np.where(rest > 0, _MORE, 0)).astype(np.uint8)[used]
    return base64.b64encode(packed.tobytes()).decode("ascii")
