"""The peers: what they are, their environments, and the processes in them that play rounds."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from multigrid.cli import peers as scripts
from multigrid.cli.bench.cases import Case, group_of

__all__ = ["PEERS", "Peer", "PeerError", "Player", "default_folder", "last_line", "set_up"]


@dataclasses.dataclass(frozen=True)
class Peer:
    """Another library, in an environment of its own.

    Attributes:
        key: the name of its folder.
        title: its name and version.
        requirements: what pip installs; what the peer itself pins is left to it.
        player: the module beside ``rounds.py`` that plays it.
        comparable: what is, and what is not, the same as here.
        slow: whether it takes too long for a quick run.
    """

    key: str
    title: str
    requirements: tuple[str, ...]
    player: str
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

_START_LIMIT, _ROUND_LIMIT, _INSTALL_LIMIT = 600.0, 60.0, 1800.0
"""Seconds until a peer that gives no answer is given up; a first start compiles."""


class PeerError(Exception):
    """A peer that cannot be set up or played; the message is one line."""


def default_folder() -> Path:
    """Return where the peers' environments are, unless the user says otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "multigrid" / "peers"


def set_up(folder: Path, tell: Callable[[str], None]) -> bool:
    """Make the environments that are not there yet, each as a whole or not at all; return whether all are there."""
    complete = True
    for peer in PEERS:
        home = folder / peer.key
        if home.exists():
            tell(f"{peer.title}: there already, in {home}")
            continue
        part = folder / f".{peer.key}.part"
        try:
            part.mkdir(parents=True)
            tell(f"{peer.title}: installing {' '.join(peer.requirements)}")
            _install(peer, part)
            with contextlib.closing(Player(peer, part, ["8x16"])) as player:
                found = ", ".join(f"{package} {version}" for package, version in player.versions.items())
            part.rename(home)
            tell(f"{peer.title}: set up in {home}: {found}")
        except (PeerError, OSError) as error:
            complete = False
            tell(f"{peer.title}: not set up: {error}")
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return complete


def _install(peer: Peer, home: Path) -> None:
    pip = [str(_python(home)), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *peer.requirements]
    for command in ([sys.executable, "-m", "venv", str(home)], pip):
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                subprocess.run(  # noqa: S603 - our own
                    command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=_INSTALL_LIMIT, check=True
                )
            except subprocess.SubprocessError as error:
                raise PeerError(last_line(said, "ERROR:") or str(error)) from error


def _python(home: Path) -> Path:
    return home / "Scripts" / "python.exe" if os.name == "nt" else home / "bin" / "python"


def last_line(said: Any, start: str = "") -> str:
    """Return the last line of a file that begins so, without that beginning; an empty one if there is none."""
    said.seek(0)
    lines = [line.strip() for line in said if line.strip() and line.startswith(start)]
    return lines[-1].removeprefix(start).strip() if lines else ""


class Player:
    """A process in a peer's environment, which plays rounds when it is asked to.

    Args:
        peer: whose.
        home: the folder of its environment.
        cases: what to play, as "AGENTSxSIZE".

    Raises:
        PeerError: it does not start.
    """

    def __init__(self, peer: Peer, home: Path, cases: Sequence[str]) -> None:
        self.peer = peer
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by close()
        # -E, -s: nothing of this Python's surroundings gets in, least of all a package of the same name.
        program = Path(scripts.__file__).with_name("rounds.py")
        command = [str(_python(home)), "-E", "-s", "-u", str(program), peer.player, *cases]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True, env=_around(home)
            )
        except OSError as error:
            self._said.close()
            raise PeerError(f"{peer.title}: does not start: {error.strerror}: {command[0]}") from error
        self._told: dict[str, Any] | None = None

    def _hello(self) -> dict[str, Any]:
        """Wait until it has made everything, and return what it says of that."""
        if self._told is None:
            self._told = self._read(_START_LIMIT)
        return self._told

    @property
    def versions(self) -> dict[str, str]:
        """What is installed there, by package."""
        return dict(self._hello()["versions"])

    @property
    def failures(self) -> list[str]:
        """What it could not make, a line each."""
        return list(self._hello()["failures"])

    def contenders(self) -> Iterator[Case]:
        """Everything that it plays."""
        for index, case in enumerate(self._hello()["contenders"]):
            agents, worlds = case["agents"], case["worlds"]
            many = f"N = {agents}" if worlds == 1 else f"{agents} x {worlds:,}"
            yield Case(
                f"{case['name']}, {many}",
                group_of(agents, case["size"]),
                functools.partial(self._play, index),
                against=f"POGEMA priority, N = {agents}",
                peer=self.peer.key,
            )

    def _play(self, index: int, seconds: float) -> tuple[float, int]:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # a process that is gone says why below
            self._process.stdin.write(json.dumps({"play": index, "seconds": seconds}) + "\n")
            self._process.stdin.flush()
        answer = self._read(_ROUND_LIMIT + 20 * seconds)
        return answer["seconds"], answer["agent_steps"]

    def _read(self, limit: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        timer = threading.Timer(limit, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        try:
            answer: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError as error:
            said = line.strip() or last_line(self._said) or f"no answer, exit code {self._process.poll()}"
            raise PeerError(f"{self.peer.title}: does not play: {said}") from error
        return answer

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()


def _around(home: Path) -> dict[str, str]:
    """What a peer is started in: JAX stays on the CPU, and keeps what it compiles for the next time."""
    return {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(home.parent / ".jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
