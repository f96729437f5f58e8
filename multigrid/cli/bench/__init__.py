"""``multigrid bench``: this package, what it is compared with, and what limits it, measured side by side in one run."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

import multigrid
from multigrid.cli.bench.against import FULL_TURN, QUICK_TURN, VersionError, compare
from multigrid.cli.bench.intervals import FEWEST_TURNS
from multigrid.cli.bench.measuring import FULL, QUICK, measure
from multigrid.cli.bench.peers import default_folder, set_up
from multigrid.cli.bench.report import print_comparison, print_report

__all__ = ["BenchOptions", "main"]


@dataclasses.dataclass(frozen=True)
class BenchOptions:
    """Measure this package, what it is compared with, and what limits it, taking turns; print medians and ratios.

    Peers are measured too, once `multigrid bench --setup-peers` has made environments of their own for them.
    """

    json: bool = False
    """Print JSON instead of tables."""
    quick: bool = False
    """Fewer and shorter rounds, under a minute."""
    plot: Path | None = None
    """Draw the scaling curves in this file: PNG, log-log."""
    setup_peers: bool = False
    """Make the peers' environments, 1.5 GB in all, with venv and pip, and measure nothing."""
    peers_folder: Path = dataclasses.field(default_factory=default_folder)
    """Where the peers' environments are."""
    against: Path | None = None
    """Measure nothing else than by how much this version is faster or slower than the one in this folder, a checkout
    that contains `multigrid/`; exit with 1 if a figure is worse."""
    turns: int = 9
    """With --against: how often both are started anew; at least 6."""
    resume: Path | None = None
    """With --against: keep the turns in this file, and go on from those in it."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, and print."""
    options = tyro.cli(BenchOptions, args=list(arguments), prog="multigrid bench")
    folder = options.peers_folder.absolute()
    if options.setup_peers:
        console = Console(soft_wrap=True, highlight=False, markup=False)
        return 0 if set_up(folder, console.print) else 1
    if options.plot is not None and not options.plot.parent.is_dir():
        sys.stderr.write(f"multigrid bench: there is no folder {options.plot.parent} to draw in\n")
        return 2
    if options.plot is not None and find_spec("matplotlib") is None:
        sys.stderr.write("multigrid bench --plot needs matplotlib, which is not installed: pip install matplotlib\n")
        return 1
    if options.against is not None:
        return _against(options, options.against.absolute())
    content, curves = measure(QUICK if options.quick else FULL, folder, Console(stderr=True, quiet=options.json))
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        print_report(Console(), content, folder)
    if options.plot is not None:
        from multigrid.cli.bench.plot import write_plot

        write_plot(options.plot, curves, _pogema(content["steps"]))
    return 0


def _against(options: BenchOptions, other: Path) -> int:
    if options.turns < FEWEST_TURNS:
        sys.stderr.write(f"multigrid bench: --turns is {options.turns}; expected at least {FEWEST_TURNS}\n")
        return 2
    if options.resume is not None and not options.resume.parent.is_dir():
        sys.stderr.write(f"multigrid bench: there is no folder {options.resume.parent} to keep the turns in\n")
        return 2
    try:
        content = compare(
            (Path(multigrid.__file__).parents[1], other),
            options.turns,
            QUICK_TURN if options.quick else FULL_TURN,
            options.resume,
            Console(stderr=True, quiet=options.json),
        )
    except VersionError as error:
        sys.stderr.write(f"multigrid bench: {error}\n")
        return 2
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        print_comparison(Console(), content)
    return int(any(row["verdict"] == "worse" for row in content["figures"]))


def _pogema(rows: Sequence[dict[str, Any]]) -> list[tuple[int, float]]:
    """POGEMA's agents and microseconds, where it was measured."""
    start = "POGEMA priority, N = "
    return [
        (int(row["name"].removeprefix(start)), row["microseconds_per_agent_step"])
        for row in rows
        if row["name"].startswith(start)
    ]
