"""Helpers that tests of several folders share."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import multigrid

AROUND = {**os.environ, "PYTHONPATH": str(Path(multigrid.__file__).parents[1])}
"""The environment of a Python in another process that imports the package under test."""


def run_python(*arguments: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in another process, to its end, and return its exit code and output as text."""
    keywords = {"env": AROUND, "capture_output": True, "text": True, "timeout": 300, **keywords}
    return subprocess.run([sys.executable, *arguments], check=False, **keywords)


def frozen(value: Any) -> Any:
    """Copy a value into a form that == compares to the bit: types, dtypes and shapes included, NaN equal to NaN."""
    if isinstance(value, dict):
        return {key: frozen(one) for key, one in value.items()}
    if isinstance(value, list):
        return [frozen(one) for one in value]
    if isinstance(value, tuple):
        return tuple(frozen(one) for one in value)
    if isinstance(value, np.ndarray):
        kept = frozen(value.tolist()) if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, kept
    if isinstance(value, float | np.floating) and math.isnan(value):
        return type(value).__name__, "nan"
    return (type(value).__name__, value) if isinstance(value, bool | int | float | np.generic) else value


def same(one: Any, other: Any, where: str = "") -> None:
    """Fail unless two values are alike to the bit, however nested."""
    assert frozen(one) == frozen(other), where


def arrays_in(value: Any) -> list[np.ndarray]:
    """Return all arrays in what a call returned."""
    return [part for part in parts_in(value) if isinstance(part, np.ndarray)]


def parts_in(value: Any) -> list[Any]:
    """Return all dicts, lists and arrays in what a call returned; of tuples, which cannot change, only the content."""
    if isinstance(value, np.ndarray):
        return [value, *parts_in(value.tolist())[1:]] if value.dtype == object else [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    own = [value] if isinstance(value, dict | list) else []
    return own + [part for one in inner for part in parts_in(one)]


def spoil(value: Any) -> None:
    """Overwrite all arrays, and empty all dicts and lists, in what a call returned."""
    for part in parts_in(value):
        if isinstance(part, np.ndarray):
            part.fill(None if part.dtype == object else 1)
        else:
            part.clear()
