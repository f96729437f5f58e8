"""The measurement: this package and its peers take turns, and then the scaling curves."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.processes import BASELINE, PEERS, PeerProcess
from benchmarks.speed import measuring
from benchmarks.speed.cases import CROWDS, Case, crowd_cases, group_name
from benchmarks.speed.goals import goal_rows
from benchmarks.speed.measuring import describe_machine, play_rounds
from benchmarks.speed.rows import step_rows
from benchmarks.speed.scaling import Curve, curves

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FULL", "QUICK", "Effort", "measure"]

_GOALS = {
    "ParallelEnv, N = 8": 6.0,
    "ParallelEnv, N = 64": 10.0,
    "ParallelEnv, N = 256": 10.0,
    "ParallelEnv, N = 8, view": 5.0,
    "ParallelEnv, N = 64, view": 5.0,
    "ParallelEnv, N = 256, view": 5.0,
    "vector env, 1,024 x 8, view": 50.0,
}
"""How many times faster than POGEMA each should be."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        bench: the rounds of the cases, and the counts on the curves.
        scaling_rounds: how often each curve is played.
        all_sizes: whether slow peers play more than the smallest crowd.
    """

    bench: measuring.Effort
    scaling_rounds: int
    all_sizes: bool


FULL = Effort(measuring.FULL, 9, all_sizes=True)
QUICK = Effort(measuring.QUICK, 3, all_sizes=False)


def measure(effort: Effort, folder: Path, console: Console) -> tuple[dict[str, Any], list[Curve]]:
    """Measure; return what ``python -m benchmarks.peers --json`` prints, and the curves.

    Args:
        effort: how much to measure.
        folder: where the peers' environments are.
        console: where to show the progress.
    """
    rounds, seconds = effort.bench.rounds, effort.bench.seconds
    with contextlib.ExitStack() as stack:
        with console.status("making all environments"):
            # They start, and compile, while this package's environments are made.
            processes = list(_start_processes(stack, folder, effort))
            cases = list(_local_cases())
            for process in processes:
                process.wait()
        play_rounds([*cases, *(case for process in processes for case in process.cases)], rounds, seconds, console)
    measured = {process.peer: process for process in processes if process.cases and not process.failed}
    cases += [case for process in measured.values() for case in process.cases]
    scaling = list(curves(effort.bench.agents, effort.bench.worlds))
    play_rounds(scaling, effort.scaling_rounds, seconds, console)
    messages = {process.peer: process.messages for process in processes}
    content = {
        "machine": describe_machine(),
        "rounds": rounds,
        "steps": step_rows(cases),
        "limits": [curve.rise_row() for curve in scaling],
        "scaling": [curve.row() for curve in scaling],
        "peers": [
            {
                "title": peer.title,
                "measured": peer in measured,
                "versions": measured[peer].versions if peer in measured else {},
                "messages": messages.get(peer, []),
                "comparable": peer.comparable,
            }
            for peer in PEERS
        ],
    }
    return {**content, "goals": goal_rows(content)}, scaling


def _start_processes(stack: contextlib.ExitStack, folder: Path, effort: Effort) -> Iterator[PeerProcess]:
    """Start the peers that are set up."""
    for peer in PEERS:
        if (folder / peer.key).exists():
            sizes = CROWDS if effort.all_sizes or not peer.slow else CROWDS[:1]
            yield stack.enter_context(contextlib.closing(PeerProcess(peer, folder / peer.key, sizes)))


def _local_cases() -> Iterator[Case]:
    """Make this package's cases, to be compared with POGEMA, and play each once, which compiles."""
    against = {group_name(agents, size): BASELINE[agents] for agents, size in CROWDS}
    for case in crowd_cases():
        case.play(0.0)
        yield dataclasses.replace(case, against=against[case.group], goal=_GOALS.get(case.name))
