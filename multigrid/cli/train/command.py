"""Parse the flags of ``multigrid train``, and import the libraries of its engine only to train."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from multigrid.cli import _options
from multigrid.cli.train.engine import find_engine
from multigrid.cli.train.options import RLlibOptions, SB3Options, TrainOptions, read_options

__all__ = ["main", "parse_flags"]

_Options = TypeVar("_Options", bound=TrainOptions)


@dataclasses.dataclass(frozen=True)
class _Resume:
    """The flag that names a run to continue."""

    resume: Path | None = None


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    console = Console(stderr=True)
    if find_engine(arguments) == "rllib":
        rllib_options = parse_flags(RLlibOptions, arguments)
        with console.status("loading Ray RLlib"):
            from multigrid.cli.train import rllib

        return rllib.train(rllib_options, console)
    sb3_options = parse_flags(SB3Options, arguments)
    with console.status("loading Stable-Baselines3"):
        from multigrid.cli.train import sb3

    return sb3.train(sb3_options, console)


def parse_flags(kind: type[_Options], arguments: Sequence[str]) -> _Options:
    """Return the flags of an engine; the flags of a run to resume are the defaults of the others.

    Raises:
        ValueError: the run to resume is none of this engine; or as `multigrid.cli._options.parse_flags`.

    >>> parse_flags(SB3Options, ["--steps", "2000"]).steps
    2000
    """
    folder = _options.read_some(_Resume, arguments, kind.program).resume
    start = None if folder is None else read_options(folder, kind)
    return _options.parse_flags(kind, arguments, kind.program, start)
