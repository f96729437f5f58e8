"""Two versions of this package, measured by turns.

In each turn both are started anew, for where a process happens to place its arrays changes what they cost by some
percent (Mytkowicz et al., ASPLOS 2009; Kalibera and Jones, ISMM 2013: repeat at the level where chance comes in).
Within a turn they play round by round, one waiting while the other plays, so that a slow moment of the machine falls
on both. The ratio of a turn is the median of its rounds'.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from multigrid._files import replace_file
from multigrid.cli.bench.intervals import summary
from multigrid.cli.bench.measuring import FULL, QUICK, Effort
from multigrid.cli.bench.peers import last_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FULL_TURN", "QUICK_TURN", "VersionError", "compare"]

QUICK_TURN = dataclasses.replace(QUICK, rounds=16, starts=4)
FULL_TURN = dataclasses.replace(FULL, rounds=32, starts=8)
"""Even numbers, for whoever plays first in a round may find less in the machine's caches, and that alternates."""

Folders: TypeAlias = tuple[Path, Path]


class VersionError(Exception):
    """A version cannot be measured; the message says why in a line."""


def compare(folders: Folders, turns: int, effort: Effort, kept: Path | None, console: Console) -> dict[str, Any]:
    """Measure by turns; return what JSON tells.

    Args:
        folders: of this version and of the other, each with a ``multigrid/``.
        turns: how many, at least `multigrid.cli.bench.intervals.FEWEST_TURNS`.
        effort: how much of each turn.
        kept: a file that the turns are kept in, and that has those of a run that was cut off; or None.
        console: where to show how far it is.

    Raises:
        VersionError: a version does not play, or the file has turns of something else.
    """
    measured = {"code": [_digest(folder) for folder in folders], "effort": repr(effort)}
    done = [] if kept is None or not kept.exists() else _kept(kept, measured)
    if len(done) < turns:
        with console.status("starting both once, to compile what is not compiled yet"):
            for folder in folders:
                with contextlib.closing(_Version(folder, effort)) as version:
                    version.read()
    while len(done) < turns:
        with console.status(f"turn {len(done) + 1} of {turns}"):
            done.append(_turn(folders, effort, len(done)))
        if kept is not None:
            with replace_file(kept) as temporary:
                temporary.write_text(json.dumps({**measured, "turns": done}), encoding="utf-8")
    return {"this": str(folders[0]), "other": str(folders[1]), **summary(done)}


def _kept(file: Path, measured: dict[str, Any]) -> list[dict[str, float]]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        turns: list[dict[str, float]] = content.pop("turns")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise VersionError(f"{file} has no turns; name a file that is not there yet") from error
    if content != measured:
        raise VersionError(f"{file} has turns of other code, or of another effort; name a file that is not there yet")
    return turns


def _turn(folders: Folders, effort: Effort, number: int) -> dict[str, float]:
    """Return, by figure, how many times better this version was than the other."""
    rounds: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        versions = [stack.enter_context(contextlib.closing(_Version(folder, effort))) for folder in folders]
        this, other = (version.read() for version in versions)
        names = [name for name in this if name in other]
        for k in range(effort.rounds):
            for name in names:
                if k >= {"starts": effort.starts, "rest": 0}.get(name, effort.rounds):
                    continue
                _play(versions, name, (number + k) % 2, rounds)
        _play(versions, "rest", number % 2, rounds)
    return {name: statistics.median(ratios) for name, ratios in rounds.items()}


def _play(versions: Sequence[_Version], name: str, first: int, rounds: dict[str, list[float]]) -> None:
    """Play a round with both, and note the ratio of each figure that both give; what adds nothing has none."""
    said = {k: versions[k].play(name) for k in (first, 1 - first)}
    for figure in said[0]:
        this, other = said[0][figure], said[1].get(figure, 0)
        if this > 0 and other > 0:
            rounds.setdefault(figure, []).append(other / this)


def _digest(folder: Path) -> str:
    if not (folder / "multigrid" / "__init__.py").is_file():
        raise VersionError(f"there is no package multigrid in {folder}")
    files = sorted((folder / "multigrid").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


class _Version:
    """A process in which one version plays."""

    def __init__(self, folder: Path, effort: Effort) -> None:
        self._folder = folder
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by close()
        asked = {"seconds": effort.seconds, "agents": effort.agents, "worlds": effort.worlds}
        command = [sys.executable, str(Path(__file__).with_name("version.py")), str(folder), json.dumps(asked)]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._said, "text": True}
        around = {**os.environ, "PYTHONPATH": str(folder)}
        self._process = subprocess.Popen(command, cwd=folder, env=around, **pipes)  # noqa: S603 - our own

    def read(self) -> Any:
        """Wait for its next line; the first one has the names of what can be played."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            said = last_line(self._said) or f"no answer, exit code {self._process.wait()}"
            raise VersionError(f"{self._folder} does not play: {said}")
        return json.loads(line)

    def play(self, name: str) -> dict[str, float]:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # a process that is gone says why in read()
            self._process.stdin.write(f"{name}\n")
            self._process.stdin.flush()
        figures: dict[str, float] = self.read()
        return figures

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._said.close()
