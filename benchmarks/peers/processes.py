"""POGEMA in a Python environment of its own: how it is installed, and the process that plays rounds in it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed.cases import CROWDS, Case
from benchmarks.speed.processes import JsonProcess, ProcessError, last_line

BASELINE = {agents: f"POGEMA priority, N = {agents}" for agents, _ in CROWDS}
"""By number of agents, the case that the others are compared with."""
REQUIREMENT = "pogema==1.4.0"
SCRIPT = Path(__file__).parents[1] / "peer_scripts" / "play_pogema.py"
_INSTALL_LIMIT, _START_LIMIT, _ROUND_LIMIT = 1800.0, 600.0, 60.0
"""Seconds after which a process that does not end or answer is killed."""


def python_path(home: Path) -> Path:
    """Return the path of the interpreter of a Python environment."""
    return home / "Scripts" / "python.exe" if os.name == "nt" else home / "bin" / "python"


def default_folder() -> Path:
    """Return the folder of other packages' environments, unless the user names another one."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "multigrid" / "peers"


def set_up(home: Path) -> None:
    """Make POGEMA's environment and play what was installed: as a whole, or not at all.

    Raises:
        ProcessError: something failed; the message is one line.
    """
    part = home.with_name(f".{home.name}.part")
    try:
        part.mkdir(parents=True)
        install(part)
        Pogema(part, CROWDS[:1]).close()
        part.rename(home)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def install(home: Path) -> None:
    """Make an environment with `REQUIREMENT` in a folder."""
    pip = [str(python_path(home)), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", REQUIREMENT]
    for command in ([sys.executable, "-m", "venv", str(home)], pip):
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            try:
                subprocess.run(  # noqa: S603 - our own
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=_INSTALL_LIMIT, check=True
                )
            except subprocess.SubprocessError as error:
                raise ProcessError(last_line(output, "ERROR:") or str(error)) from error


class Pogema:
    """A process that plays rounds in POGEMA's environment.

    Args:
        home: the folder of the environment.
        sizes: the numbers of agents and the sides of their grids.

    Attributes:
        cases: what it plays.

    Raises:
        ProcessError: it cannot be started, or has ended; the message is its last line. So does a round.
    """

    def __init__(self, home: Path, sizes: tuple[tuple[int, int], ...] = CROWDS) -> None:
        # -E, -s: no variables and packages of this Python reach the other.
        command = [str(python_path(home)), "-E", "-s", "-u", str(SCRIPT), *(f"{n}x{size}" for n, size in sizes)]
        try:
            self._process = JsonProcess(command, env=dict(os.environ))
        except OSError as error:
            raise ProcessError(f"{error.strerror}: {command[0]}") from error
        self.close = self._process.close
        self.cases = []
        try:
            for index, row in enumerate(self._process.read(_START_LIMIT)):
                agents, size, play = row["agents"], row["size"], functools.partial(self._play, index)
                group = f"{agents} agents on {size} x {size}"
                self.cases.append(Case(f"{row['name']}, N = {agents}", group, play, BASELINE[agents]))
        except BaseException:
            self.close()
            raise

    def _play(self, index: int, seconds: float) -> tuple[float, int]:
        self._process.write(json.dumps({"play": index, "seconds": seconds}))
        answer = self._process.read(_ROUND_LIMIT + 20 * seconds)
        return answer["seconds"], answer["agent_steps"]
