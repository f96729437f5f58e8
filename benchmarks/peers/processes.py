"""The other environments, and the processes that play them."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed import rounds
from benchmarks.speed.cases import CROWDS, Case, group_name
from benchmarks.speed.processes import JsonProcess, ProcessError

__all__ = ["BASELINE", "PEERS", "Peer", "PeerProcess", "python_path"]

BASELINE = {agents: f"POGEMA priority, N = {agents}" for agents, _ in CROWDS}
"""By number of agents, the case that the others are compared with."""

_START_LIMIT, _ROUND_LIMIT = 600.0, 60.0
"""Seconds after which a process that does not answer is killed; the first start compiles."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """Another library, in a Python environment of its own.

    Attributes:
        key: the name of its folder.
        title: its name and version.
        requirements: what pip installs; it finds the versions of what the library itself requires.
        script: the module of `benchmarks.peer_scripts` that plays it.
        comparable: what is the same as here, and what is not.
        slow: whether it takes too long for a quick run.
    """

    key: str
    title: str
    requirements: tuple[str, ...]
    script: str
    comparable: str
    slow: bool = False


PEERS = (
    Peer(
        "pogema",
        "POGEMA 1.4",
        ("pogema==1.4.0",),
        "play_pogema",
        "The same game: moves, restarts, an empty map, PettingZoo's dicts. Its agents see float32 (3, 11, 11), its "
        "default, or (3, 5, 5) where it says r = 2; ours two cells, or uint8 (3, 5, 5) where it says view.",
    ),
    Peer(
        "rware",
        "rware 2.0",
        ("rware==2.0.0",),
        "play_rware",
        "Robots turn or drive, which takes more steps for the same way, and carry shelves; each sees one cell far. "
        "Tuples of arrays. Its nearest map to 32 x 32 is 34 x 32.",
    ),
    Peer(
        "lbforaging",
        "lb-foraging 2.0",
        ("lbforaging==2.0.0",),
        "play_lbforaging",
        "Agents move, two may come to share a cell, and load food, half as much of it as agents. They see two cells "
        "far, in arrays with room for all agents and food. Tuples of arrays.",
    ),
    Peer(
        "ini_multigrid",
        "ini/multigrid 0.1.0",
        ("multigrid==0.1.0",),
        "play_ini_multigrid",
        "Agents turn or drive, one after the other in random order, and may share a cell, its default. Dicts with "
        "images (7, 7, 3) of what lies ahead, by Numba too.",
    ),
    Peer(
        "jumanji",
        "Jumanji 1.1",
        ("jumanji==1.1.2", "jax==0.10.2", "jaxlib==0.10.2"),
        "play_jumanji",
        "Other games. Batches of worlds by one compiled call on the CPU, on as many threads as JAX takes: compare with "
        "the vector env. Connector's agents leave trails and see the whole map, RobotWarehouse's episodes end in any "
        "collision, as random play does soon, LevelBasedForaging's agents see two cells far.",
        slow=True,
    ),
)


def python_path(home: Path) -> Path:
    """Return the path of the interpreter of a Python environment."""
    return home / "Scripts" / "python.exe" if os.name == "nt" else home / "bin" / "python"


class PeerProcess:
    """Start a process that plays rounds in a peer's environment. Errors are messages; after one, nothing is played.

    Args:
        peer: what to play.
        home: the folder of its Python environment.
        sizes: the numbers of agents and the sides of their grids.

    Attributes:
        cases: what it plays, after `wait`.
        versions: what is installed there, by package, after `wait`.
        messages: one line for each thing that failed.
        failed: whether the process cannot be measured.
    """

    def __init__(self, peer: Peer, home: Path, sizes: Sequence[tuple[int, int]]) -> None:
        self.peer, self.failed = peer, False
        self.cases: list[Case] = []
        self.versions: dict[str, str] = {}
        self.messages: list[str] = []
        self._process: JsonProcess | None = None
        script = Path(__file__).with_name("peer_scripts") / "serve_rounds.py"
        arguments = [rounds.__file__, peer.script, *(f"{agents}x{size}" for agents, size in sizes)]
        # -E, -s: no variables and packages of this Python reach the other, whose `multigrid` may be another package.
        command = [str(python_path(home)), "-E", "-s", "-u", str(script), *arguments]
        try:
            self._process = JsonProcess(command, env=_variables(home))
        except OSError as error:
            self._fail(f"cannot be started: {error.strerror}: {command[0]}")

    def wait(self) -> None:
        """Wait until it has made its environments, and make the cases."""
        ready = self._read(_START_LIMIT)
        self.versions = ready.get("versions", {})
        self.messages += ready.get("failures", [])
        for index, row in enumerate(ready.get("cases", [])):
            agents, worlds = row["agents"], row["worlds"]
            many = f"N = {agents}" if worlds == 1 else f"{agents} x {worlds:,}"
            play = functools.partial(self._play, index)
            self.cases.append(Case(f"{row['name']}, {many}", group_name(agents, row["size"]), play, BASELINE[agents]))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()

    def _play(self, index: int, seconds: float) -> tuple[float, int]:
        if self._process is not None:
            self._process.write(json.dumps({"play": index, "seconds": seconds}))
        answer = self._read(_ROUND_LIMIT + 20 * seconds)
        return answer.get("seconds", math.nan), answer.get("agent_steps", 1)

    def _read(self, limit: float) -> dict[str, Any]:
        """Return its next answer; an empty one if it has failed."""
        if self._process is None or self.failed:
            return {}
        try:
            answer: dict[str, Any] = self._process.read(limit)
        except ProcessError as error:
            self._fail(f"cannot be measured: {error}")
            return {}
        return answer

    def _fail(self, message: str) -> None:
        self.failed = True
        self.messages.append(f"{self.peer.title} {message}")


def _variables(home: Path) -> dict[str, str]:
    """Return environment variables by which JAX stays on the CPU and keeps what it has compiled."""
    return {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(home.parent / ".jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
