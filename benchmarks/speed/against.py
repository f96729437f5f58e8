"""Compare the speed of two versions of this package in turns.

Each turn starts new processes of both versions, because the memory layout of a process changes its speed by some
percent (Mytkowicz et al., ASPLOS 2009; Kalibera and Jones, ISMM 2013: repeat at the level where results vary). Within a
turn the versions alternate round by round, so that a slow moment of the machine affects both. The ratio of a turn is
the median of the ratios of its rounds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.speed.intervals import summary
from benchmarks.speed.measuring import FULL, QUICK, Effort
from benchmarks.speed.processes import JsonProcess, ProcessError
from multigrid._files import read_bytes, replace_file

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FULL_TURN", "QUICK_TURN", "VersionError", "compare"]

QUICK_TURN = dataclasses.replace(QUICK, rounds=16, startups=4)
FULL_TURN = dataclasses.replace(FULL, rounds=32, startups=8)
"""Even numbers, so that each version plays first in half of the rounds: caches may favour the first or the second."""

Folders: TypeAlias = tuple[Path, Path]


class VersionError(ValueError):
    """A version cannot be measured; the message says why in one line."""


def compare(folders: Folders, turns: int, effort: Effort, file: Path | None, console: Console) -> dict[str, Any]:
    """Measure two versions in turns and return what `python -m benchmarks --against --json` prints.

    Args:
        folders: the folder of this version and that of the other; each contains ``multigrid/`` and what measures it.
        turns: the number of turns, at least `benchmarks.speed.intervals.FEWEST_TURNS`.
        effort: how much to measure in a turn.
        file: the file to save each turn in; turns that it contains are not measured again. None saves nothing.
        console: where to show the progress.

    Raises:
        VersionError: a version cannot be measured, or the file does not contain turns of these versions.
    """
    measured = {"code": [_digest(folder) for folder in folders], "effort": repr(effort)}
    done = [] if file is None or not file.exists() else _load_turns(file, measured)
    if len(done) < turns:
        with console.status("starting both once, to compile what is not compiled yet"):
            for folder in folders:
                with contextlib.closing(_Version(folder, effort)) as version:
                    version.read()
    while len(done) < turns:
        with console.status(f"turn {len(done) + 1} of {turns}"):
            done.append(_play_turn(folders, effort, len(done)))
        if file is not None:
            with replace_file(file) as temporary:
                temporary.write_text(json.dumps({**measured, "turns": done}), encoding="utf-8")
    return {"this": str(folders[0]), "other": str(folders[1]), **summary(done)}


def _load_turns(file: Path, measured: dict[str, Any]) -> list[dict[str, float]]:
    try:
        content = json.loads(read_bytes(file))
        turns: list[dict[str, float]] = content.pop("turns")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise VersionError(f"{file} has no turns; name a file that does not exist yet") from error
    if content != measured:
        raise VersionError(f"{file} has turns of other code or of another effort; name a file that does not exist yet")
    return turns


def _play_turn(folders: Folders, effort: Effort, number: int) -> dict[str, float]:
    """Play a turn; return, for each figure, how many times better this version is than the other."""
    ratios: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        versions = [stack.enter_context(contextlib.closing(_Version(folder, effort))) for folder in folders]
        this, other = (version.read() for version in versions)
        names = [name for name in this if name in other]
        for k in range(effort.rounds):
            for name in names:
                if k < {"starts": effort.startups, "rest": 0}.get(name, effort.rounds):
                    _play_round(versions, name, (number + k) % 2, ratios)
        _play_round(versions, "rest", number % 2, ratios)
    return {name: statistics.median(values) for name, values in ratios.items()}


def _play_round(versions: Sequence[_Version], name: str, first: int, ratios: dict[str, list[float]]) -> None:
    """Play a round with both versions; append the ratio of each figure that is positive in both."""
    figures = {k: versions[k].play(name) for k in (first, 1 - first)}
    for figure, this in figures[0].items():
        other = figures[1].get(figure, 0)
        if this > 0 and other > 0:
            ratios.setdefault(figure, []).append(other / this)


def _digest(folder: Path) -> str:
    if not (folder / "multigrid" / "__init__.py").is_file():
        raise VersionError(f"there is no package multigrid in {folder}")
    files = sorted(path for part in ("multigrid", "benchmarks/speed") for path in (folder / part).rglob("*.py"))
    return hashlib.sha256(b"".join(read_bytes(path) for path in files)).hexdigest()


class _Version:
    """A process that measures one version."""

    def __init__(self, folder: Path, effort: Effort) -> None:
        self._folder = folder
        settings = json.dumps({"seconds": effort.seconds, "agents": effort.agents, "worlds": effort.worlds})
        command = [sys.executable, str(Path(__file__).with_name("version.py")), str(folder), settings]
        self._process = JsonProcess(command, env={**os.environ, "PYTHONPATH": str(folder)}, cwd=folder)
        self.close = self._process.close

    def read(self) -> Any:
        """Return the next answer of the process; the first answer lists the names for `play`."""
        try:
            return self._process.read()
        except ProcessError as error:
            raise VersionError(f"{self._folder} cannot be measured: {error}") from error

    def play(self, name: str) -> dict[str, float]:
        """Play the round with a name and return its figures."""
        self._process.write(name)
        figures: dict[str, float] = self.read()
        return figures
