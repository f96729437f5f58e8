"""The measurement: everything is made, then takes turns, so that a slow moment of the machine falls on everyone."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import track

from multigrid.cli.bench.cases import CROWDS, Case, local_cases
from multigrid.cli.bench.peers import PEERS, PeerError, Player
from multigrid.cli.bench.report import limit_rows, step_rows
from multigrid.cli.bench.scaling import AGENTS, WORLD_COUNTS, Curve, curves
from multigrid.cli.bench.startup import memory_per_world, startup_times

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FULL", "QUICK", "Effort", "measure"]


@dataclasses.dataclass(frozen=True)
class Effort:
    """How many rounds of how many seconds, and how much of what takes long."""

    rounds: int
    seconds: float
    scaling_rounds: int
    starts: int
    agents: tuple[int, ...]
    worlds: tuple[int, ...]
    all_cases: bool


FULL = Effort(31, 0.05, 9, 7, AGENTS, WORLD_COUNTS, all_cases=True)
QUICK = Effort(7, 0.015, 3, 3, (1, 64, 4096), (1, 1000, 100_000), all_cases=False)


def measure(effort: Effort, folder: Path, console: Console) -> tuple[dict[str, Any], list[Curve]]:
    """Return what JSON tells, and the curves.

    Args:
        effort: how much of it.
        folder: where the peers' environments are.
        console: where to show how far it is.
    """
    told: dict[str, list[str]] = {peer.key: [] for peer in PEERS}
    with contextlib.ExitStack() as stack:
        with console.status("making everything"):
            # They start, and compile, while everything else is made.
            players = _started(stack, folder, told, effort)
            contenders = list(local_cases())
            for player in players:
                contenders += _contenders_of(player, told[player.peer.key])
        contenders = _rounds(contenders, told, effort, console)
        versions = {player.peer.key: player.versions for player in players if not _is_silent(player, contenders)}
    scaling = list(curves(effort.agents, effort.worlds))
    for _ in _tracked(effort.scaling_rounds, "scaling", console):
        for curve in scaling:
            curve.measure(effort.seconds)
    with console.status("starting up"):
        starts = startup_times(effort.starts)
    content = {
        "machine": _machine(),
        "rounds": effort.rounds,
        "steps": step_rows(contenders),
        "limits": limit_rows(contenders, scaling),
        "scaling": [curve.row() for curve in scaling],
        "starts": starts,
        "memory": memory_per_world(),
        "peers": [
            {
                "title": peer.title,
                "measured": peer.key in versions,
                "versions": versions.get(peer.key, {}),
                "told": told[peer.key],
                "comparable": peer.comparable,
            }
            for peer in PEERS
        ],
    }
    return content, scaling


def _started(stack: contextlib.ExitStack, folder: Path, told: dict[str, list[str]], effort: Effort) -> list[Player]:
    """Start the peers that are set up; tell why the others do not start."""
    cases = [f"{agents}x{size}" for agents, size in CROWDS]
    players = []
    for peer in PEERS:
        if not (folder / peer.key).exists():
            continue
        chosen = cases if effort.all_cases or not peer.slow else cases[:1]
        with _telling(told[peer.key]):
            players.append(stack.enter_context(contextlib.closing(Player(peer, folder / peer.key, chosen))))
    return players


@contextlib.contextmanager
def _telling(told: list[str]) -> Iterator[None]:
    """A peer that fails is told of, and nothing else comes of it."""
    try:
        yield
    except PeerError as error:
        told.append(str(error))


def _contenders_of(player: Player, told: list[str]) -> list[Case]:
    with _telling(told):
        told += player.failures
        return list(player.contenders())
    return []


def _rounds(contenders: list[Case], told: dict[str, list[str]], effort: Effort, console: Console) -> list[Case]:
    """Play the rounds; return the contenders that came through, for a peer that fails is dropped with all of its."""
    for contender in contenders:
        if contender.peer is None:
            contender.play(0.0)  # compiles what is not compiled yet
    for _ in _tracked(effort.rounds, "measuring", console):
        failed = set()
        for contender in contenders:
            if contender.peer in failed:
                continue
            try:
                contender.measure(effort.seconds)
            except PeerError as error:
                assert contender.peer is not None
                failed.add(contender.peer)
                told[contender.peer].append(str(error))
        contenders = [contender for contender in contenders if contender.peer not in failed]
    return contenders


def _is_silent(player: Player, contenders: Sequence[Case]) -> bool:
    return all(contender.peer != player.peer.key for contender in contenders)


def _tracked(rounds: int, what: str, console: Console) -> Any:
    return track(range(rounds), what, console=console, disable=console.quiet, transient=True)


def _machine() -> dict[str, Any]:
    versions = {name: metadata.version(name) for name in ("numpy", "numba", "gymnasium", "pettingzoo")}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"python": platform.python_version(), "system": platform.platform(), "cores": cores, **versions}
