"""``multigrid bench``: this package beside the documented code, and beside copying the arrays that it returns."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro
from rich.console import Console

import multigrid
from multigrid.cli.bench.against import FULL_TURN, QUICK_TURN, VersionError, compare
from multigrid.cli.bench.intervals import FEWEST_TURNS
from multigrid.cli.bench.measuring import FULL, QUICK, measure
from multigrid.cli.bench.report import print_comparison, print_report

__all__ = ["BenchOptions", "main"]


@dataclasses.dataclass(frozen=True)
class BenchOptions:
    """Measure this package beside the documented code and beside copying what it returns; print medians and ratios.

    Other environments, and curves by number of agents and worlds, are in the repository: `python -m benchmarks`.
    """

    json: bool = False
    """Print JSON in place of tables."""
    quick: bool = False
    """Play fewer and shorter rounds, for less than a minute."""
    against: Path | None = None
    """Measure only how much faster or slower this version is than the one in this folder, a checkout that contains
    `multigrid/`; exit with 1 if a figure is worse."""
    turns: int = 9
    """With --against: how often both are started anew; at least 6."""
    resume: Path | None = None
    """With --against: save the turns in this file, and do not measure again those that it contains."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, print, and return the exit code."""
    options = tyro.cli(BenchOptions, args=list(arguments), prog="multigrid bench")
    console = Console(stderr=True, quiet=options.json)
    if options.against is not None:
        return _compare(options, options.against.absolute(), console)
    content = measure(QUICK if options.quick else FULL, console)
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        print_report(Console(), content)
    return 0


def _compare(options: BenchOptions, other: Path, console: Console) -> int:
    if options.turns < FEWEST_TURNS:
        sys.stderr.write(f"multigrid bench: --turns is {options.turns}; expected at least {FEWEST_TURNS}\n")
        return 2
    if options.resume is not None and not options.resume.parent.is_dir():
        sys.stderr.write(f"multigrid bench: there is no folder {options.resume.parent} to save the turns in\n")
        return 2
    folders = (Path(multigrid.__file__).parents[1], other)
    try:
        content = compare(folders, options.turns, QUICK_TURN if options.quick else FULL_TURN, options.resume, console)
    except VersionError as error:
        sys.stderr.write(f"multigrid bench: {error}\n")
        return 2
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        print_comparison(Console(), content)
    return int(any(row["verdict"] == "worse" for row in content["figures"]))
