"""``python -m benchmarks``: compare the speed of this package with the documented code and with copying arrays."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

import benchmarks
from benchmarks.speed.against import FEWEST_TURNS, compare, turn_of
from benchmarks.speed.measure import FULL, QUICK, measure
from benchmarks.speed.report import print_comparison, print_report
from multigrid.cli._files import check_writable
from multigrid.cli._options import Range, check_numbers, parse


@dataclasses.dataclass(frozen=True)
class BenchOptions:
    """Compare the speed of this package with the documented code and with copying arrays; print medians and ratios.

    Other environments and scaling curves: `python -m benchmarks.peers`.
    """

    json: bool = False
    """Print JSON in place of tables."""
    quick: bool = False
    """Play fewer and shorter rounds, for less than a minute."""
    against: Path | None = None
    """Measure only how much faster or slower this version is than the one in this folder, a checkout that contains
    `multigrid/`; exit with 1 if a figure is worse."""
    turns: Annotated[int, Range(FEWEST_TURNS, 10**6)] = 9
    """With --against: the number of turns, each with new processes of both versions; at least 6."""
    resume: Path | None = None
    """With --against: save the turns in this file, and do not measure again those that it contains."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, print, and return the exit code: 1 if a figure is worse, 2 after an error."""
    try:
        return _run(arguments)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"python -m benchmarks: {error}\n")
        return 2


def _run(arguments: Sequence[str]) -> int:
    options = parse(BenchOptions, arguments, "python -m benchmarks")
    check_numbers(options)
    console = Console(stderr=True, quiet=options.json)
    if options.against is None:
        content = measure(QUICK if options.quick else FULL, console)
    else:
        content = _compare(options, options.against.absolute(), console)
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    elif options.against is None:
        print_report(Console(), content)
    else:
        print_comparison(Console(), content)
    return int(any(row["verdict"] == "worse" for row in content.get("figures", ())))


def _compare(options: BenchOptions, other: Path, console: Console) -> dict[str, Any]:
    if options.resume is not None:
        check_writable("--resume", options.resume.parent, options.resume.name)
        if not options.resume.parent.is_dir():
            raise ValueError(f"there is no folder {options.resume.parent} to save the turns in")
    folders = (Path(benchmarks.__file__).parents[1], other)
    return compare(folders, options.turns, turn_of(QUICK if options.quick else FULL), options.resume, console)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
