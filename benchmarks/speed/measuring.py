"""Measure all cases in alternation, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.progress import track

from benchmarks.speed.cases import Case, local_cases
from benchmarks.speed.goals import goal_rows
from benchmarks.speed.kernels import kernel_form
from benchmarks.speed.many_worlds import many_worlds_rows
from benchmarks.speed.rows import copying_rows, limit_rows, step_rows
from benchmarks.speed.scaling import AGENTS, WORLD_COUNTS, Curve
from benchmarks.speed.startup import cold_start_times, memory_per_world, startup_times
from benchmarks.speed.threads import BUSY, QUIET, busy_cores, count_cores, thread_cases
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
        thorough: whether to measure what takes long: cold starts, and a million worlds.
    """

    rounds: int
    seconds: float
    startups: int
    agents: tuple[int, ...]
    worlds: tuple[int, ...]
    thorough: bool


FULL = Effort(31, 0.05, 7, AGENTS, WORLD_COUNTS, thorough=True)
QUICK = Effort(7, 0.015, 3, (1, 64, 4096), (1, 1000, 100_000), thorough=False)


def measure(effort: Effort, console: Console) -> dict[str, Any]:
    """Measure this package and return what `python -m benchmarks --json` prints.

    Args:
        effort: how much to measure.
        console: where to show the progress.
    """
    with console.status("making all environments"):
        cases = _prepare(local_cases())
    play_rounds(cases, effort.rounds, effort.seconds, console)
    threaded = _measure_threads(effort, console)
    with console.status("starting up"):
        starts = startup_times(effort.startups)
        starts += cold_start_times() if effort.thorough else []
    limits = limit_rows(cases)
    if effort.thorough:
        with console.status("making a million worlds"):
            limits += many_worlds_rows(effort.startups)
    content = {
        "machine": describe_machine(),
        "rounds": effort.rounds,
        "thorough": effort.thorough,
        "steps": step_rows([*cases, *threaded]),
        "copying": copying_rows(cases),
        "limits": limits,
        "starts": starts,
        "memory": memory_per_world(),
    }
    return {**content, "goals": goal_rows(content)}


def _measure_threads(effort: Effort, console: Console) -> list[Case]:
    """Measure two threads and one: on the cores as they are, and while all of them are busy."""
    quiet = _prepare(thread_cases(QUIET, busy=False))
    play_rounds(quiet, effort.rounds, effort.seconds, console)
    busy = _prepare(thread_cases(BUSY, busy=True))
    with busy_cores():
        play_rounds(busy, effort.rounds, effort.seconds, console)
    return [*quiet, *busy]


def _prepare(cases: Iterable[Case]) -> list[Case]:
    """Return the cases, once played, which compiles what is not compiled yet."""
    prepared = list(cases)
    for case in prepared:
        case.play(0.0)
    return prepared


def play_rounds(timed: Sequence[Case | Curve], rounds: int, seconds: float, console: Console) -> None:
    """Play each case once a round, and append its costs."""
    for _ in track(range(rounds), "measuring", console=console, disable=console.quiet, transient=True):
        for one in timed:
            one.measure(seconds)


def describe_machine() -> dict[str, Any]:
    """Return the versions of Python, of the system and of the libraries, the number of cores, and the kernels' form."""
    versions = list_versions("numpy", "numba", "gymnasium", "pettingzoo")
    facts = {"python": platform.python_version(), "system": platform.platform(), "cores": count_cores()}
    return {**facts, "kernels": kernel_form(), **versions}
