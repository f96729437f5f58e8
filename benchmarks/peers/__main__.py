"""``python -m benchmarks.peers``: this package and other environments, all of them in turns."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.peers.environments import default_folder, set_up_peers
from benchmarks.peers.measuring import FULL, QUICK, measure
from benchmarks.peers.processes import BASELINE
from benchmarks.peers.report import print_report
from multigrid.cli._options import parse

FORMATS = (".png", ".svg", ".pdf")
"""The suffixes of a plot."""


@dataclasses.dataclass(frozen=True)
class BenchmarkOptions:
    """Measure this package beside other environments, and by number of agents and worlds; print medians and ratios.

    The other environments are measured once `python -m benchmarks.peers --setup-peers` has installed them.
    """

    json: bool = False
    """Print JSON in place of tables."""
    quick: bool = False
    """Play fewer and shorter rounds, for less than a minute."""
    plot: Path | None = None
    """Write the scaling curves, log-log, to this file: PNG, SVG or PDF, by its suffix."""
    setup_peers: bool = False
    """Install the other environments, 1.5 GB in all, with venv and pip, and measure nothing."""
    peers_folder: Path = dataclasses.field(default_factory=default_folder)
    """The folder of the other environments."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, print, and return the exit code."""
    options = parse(BenchmarkOptions, arguments, "python -m benchmarks.peers")
    folder = options.peers_folder.absolute()
    if options.setup_peers:
        console = Console(soft_wrap=True, highlight=False, markup=False)
        return 0 if set_up_peers(folder, console.print) else 1
    if options.plot is not None and options.plot.suffix not in FORMATS:
        sys.stderr.write(f"benchmarks: --plot is {options.plot}; expected a name that ends in {', '.join(FORMATS)}\n")
        return 2
    if options.plot is not None and not options.plot.parent.is_dir():
        sys.stderr.write(f"benchmarks: there is no folder {options.plot.parent} to write the plot to\n")
        return 2
    if options.plot is not None and find_spec("matplotlib") is None:
        sys.stderr.write("benchmarks: --plot needs matplotlib, which is not installed: pip install matplotlib\n")
        return 1
    content, curves = measure(QUICK if options.quick else FULL, folder, Console(stderr=True, quiet=options.json))
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        print_report(Console(), content, folder)
    if options.plot is not None:
        from benchmarks.peers.plot import write_plot

        costs = {row["name"]: row["microseconds_per_agent_step"] for row in content["steps"]}
        pogema = [(agents, costs[name]) for agents, name in BASELINE.items() if name in costs]
        write_plot(options.plot, curves, pogema)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
