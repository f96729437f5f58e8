"""``python -m benchmarks.peers``: this package and POGEMA in turns, and the costs by number of agents and worlds."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.peers.processes import BASELINE, REQUIREMENT, Pogema, default_folder, set_up
from benchmarks.speed import measure
from benchmarks.speed.cases import CROWDS, Case, Curve, crowd_cases, curves
from benchmarks.speed.processes import ProcessError
from benchmarks.speed.report import format_figure, print_goals, print_machine, print_steps, print_table
from multigrid.cli._options import parse

GOALS = {
    **{f"ParallelEnv, N = {agents}": 6.0 if agents == 8 else 10.0 for agents in BASELINE},
    **{f"ParallelEnv, N = {agents}, view": 5.0 for agents in BASELINE},
    "vector env, 1,024 x 8, view": 50.0,
}
"""How many times faster than POGEMA each should be."""
COMPARABLE = """\
POGEMA 1.4 plays the same game: moves, restarts, an empty map, PettingZoo's dicts, or lists where it says so. Its \
agents see float32 (3, 11, 11), its default, or (3, 5, 5) where it says r = 2; ours two cells, or uint8 (3, 5, 5) \
where it says view."""


@dataclasses.dataclass(frozen=True)
class PeersOptions:
    """Measure this package beside POGEMA, and by number of agents and worlds; print medians and ratios.

    POGEMA is measured once `python -m benchmarks.peers --setup-peers` has installed it.
    """

    json: bool = False
    """Print JSON in place of tables."""
    quick: bool = False
    """Play fewer and shorter rounds, for less than a minute."""
    setup_peers: bool = False
    """Install POGEMA in an environment of its own, with venv and pip, and measure nothing."""
    peers_folder: Path = dataclasses.field(default_factory=default_folder)
    """The folder of that environment."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, print, and return the exit code."""
    options = parse(PeersOptions, arguments, "python -m benchmarks.peers")
    home = options.peers_folder.absolute() / "pogema"
    try:
        if options.setup_peers:
            if home.exists():
                sys.stdout.write(f"{REQUIREMENT} exists already, in {home}\n")
            else:
                set_up(home)
                sys.stdout.write(f"{REQUIREMENT} is set up in {home}\n")
            return 0
        effort = measure.QUICK if options.quick else measure.FULL
        content = measure_all(effort, home, Console(stderr=True, quiet=options.json))
    except (ProcessError, OSError) as error:
        sys.stderr.write(f"python -m benchmarks.peers: {REQUIREMENT} in {home}: {error}\n")
        return 1
    if options.json:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        print_report(Console(), content, home)
    return 0


def measure_all(effort: measure.Effort, home: Path, console: Console) -> dict[str, Any]:
    """Measure; return what ``python -m benchmarks.peers --json`` prints.

    Args:
        effort: how much to measure.
        home: the folder of POGEMA's environment, which may be missing.
        console: where to show the progress.
    """
    with contextlib.ExitStack() as stack:
        with console.status("making all environments"):
            others = stack.enter_context(contextlib.closing(Pogema(home))).cases if home.exists() else []
            cases = [*measure.prepare(_local_cases()), *others]
        measure.play_rounds(cases, effort, console)
    scaling = list(curves(effort.agents, effort.worlds))
    # Memory that is used for the first time is slow: each round is played once before.
    on_curves = measure.prepare(case for curve in scaling for case in curve.cases.values())
    measure.play_rounds(on_curves, dataclasses.replace(effort, rounds=max(1, effort.rounds // 3)), console)
    content = {
        "machine": measure.describe_machine(),
        "rounds": effort.rounds,
        "steps": measure.step_rows(cases),
        "limits": measure.limit_rows([], scaling),
        "scaling": [_curve_row(curve) for curve in scaling],
    }
    return {**content, "goals": measure.goal_rows(content)}


def _local_cases() -> list[Case]:
    against = {f"{agents} agents on {size} x {size}": BASELINE[agents] for agents, size in CROWDS}
    return [dataclasses.replace(case, against=against[case.group], goal=GOALS.get(case.name)) for case in crowd_cases()]


def _curve_row(curve: Curve) -> dict[str, Any]:
    costs = [round(cost, 6) for cost in curve.microseconds]
    return {
        "name": curve.name,
        "axis": curve.axis,
        "counts": list(curve.cases),
        "microseconds_per_agent_step": costs,
    }


def print_report(console: Console, content: dict[str, Any], home: Path) -> None:
    """Print all tables, and what can be compared."""
    print_steps(console, content["steps"])
    for counts, group in itertools.groupby(content["scaling"], key=lambda row: row["counts"]):
        members = list(group)
        rows = [(row["name"], *map(format_figure, row["microseconds_per_agent_step"])) for row in members]
        title = f"Microseconds a step, by number of {members[0]['axis']}"
        print_table(console, title, [f"{count:,}" for count in counts], rows)
    console.print(COMPARABLE + "\n", highlight=False, markup=False)
    if not any(row["name"] in BASELINE.values() for row in content["steps"]):
        command = "python -m benchmarks.peers --setup-peers"
        console.print(f"POGEMA is not set up: {command} does that, in {home}.\n", soft_wrap=True, highlight=False)
    print_goals(console, content["goals"])
    print_machine(console, content)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
