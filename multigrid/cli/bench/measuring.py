"""Measure all cases in alternation, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.progress import track

from multigrid.cli.bench.cases import Case, local_cases
from multigrid.cli.bench.report import limit_rows, step_rows
from multigrid.cli.bench.scaling import AGENTS, WORLD_COUNTS, Curve
from multigrid.cli.bench.startup import memory_per_world, startup_times
from multigrid.integrations.extras import list_versions

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FULL", "QUICK", "Effort", "describe_machine", "measure", "play_rounds"]


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        rounds: how often each case is played.
        seconds: how long a round lasts.
        startups: how many new Python processes are timed.
        agents: the numbers of agents on the scaling curves.
        worlds: the numbers of worlds on the scaling curves.
    """

    rounds: int
    seconds: float
    startups: int
    agents: tuple[int, ...]
    worlds: tuple[int, ...]


FULL = Effort(31, 0.05, 7, AGENTS, WORLD_COUNTS)
QUICK = Effort(7, 0.015, 3, (1, 64, 4096), (1, 1000, 100_000))


def measure(effort: Effort, console: Console) -> dict[str, Any]:
    """Measure this package and return what `multigrid bench --json` prints.

    Args:
        effort: how much to measure.
        console: where to show the progress.
    """
    with console.status("making all environments"):
        cases = list(local_cases())
        for case in cases:
            case.play(0.0)  # compiles what is not compiled yet
    play_rounds(cases, effort.rounds, effort.seconds, console)
    with console.status("starting up"):
        starts = startup_times(effort.startups)
    return {
        "machine": describe_machine(),
        "rounds": effort.rounds,
        "steps": step_rows(cases),
        "limits": limit_rows(cases),
        "starts": starts,
        "memory": memory_per_world(),
    }


def play_rounds(timed: Sequence[Case | Curve], rounds: int, seconds: float, console: Console) -> None:
    """Play each case once a round, and append its costs."""
    for _ in track(range(rounds), "measuring", console=console, disable=console.quiet, transient=True):
        for one in timed:
            one.measure(seconds)


def describe_machine() -> dict[str, Any]:
    """Return the versions of Python, of the system and of the installed libraries, and the number of cores."""
    versions = list_versions("numpy", "numba", "gymnasium", "pettingzoo")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"python": platform.python_version(), "system": platform.platform(), "cores": cores, **versions}
