"""Find the engine of a training before its libraries, or the other engine's, are imported."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

from multigrid._files import read_bytes

__all__ = ["find_engine"]


def find_engine(flags: Sequence[str]) -> str:
    """Return "rllib" or "sb3": the value of ``--engine``, else the engine of the run that ``--resume`` names.

    Malformed flags and runs give "sb3", whose own checks report them.

    >>> find_engine(["--engine", "rllib"]), find_engine(["--engine=rllib"]), find_engine(["--steps", "9"])
    ('rllib', 'rllib', 'sb3')
    """
    named = _values(flags, "--engine")
    if not named:
        named = [_recorded_engine(Path(folder)) for folder in _values(flags, "--resume")]
    return "rllib" if "rllib" in named else "sb3"


def _values(flags: Sequence[str], name: str) -> list[str]:
    apart = [value for flag, value in itertools.pairwise(flags) if flag == name]
    return apart + [flag.removeprefix(f"{name}=") for flag in flags if flag.startswith(f"{name}=")]


def _recorded_engine(folder: Path) -> str:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads(read_bytes(folder / "config.json"))
        if isinstance(content, dict):
            return str(content.get("engine"))
    return ""
