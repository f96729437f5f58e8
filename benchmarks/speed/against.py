"""Compare the speed of two versions of this package in turns.

Each turn starts new processes of both versions, because the memory layout of a process changes its speed by some
percent (Mytkowicz et al., ASPLOS 2009; Kalibera and Jones, ISMM 2013: repeat at the level where results vary). Within a
turn the versions alternate round by round, so that a slow moment of the machine affects both. The ratio of a turn is
the median of the ratios of its rounds. Both versions are measured by these programs, with the package and the examples
of their own folders.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.speed import cases, measure, starts
from benchmarks.speed.processes import JsonProcess, ProcessError
from multigrid._files import replace_file

if TYPE_CHECKING:
    from rich.console import Console

FEWEST_TURNS = 6
"""With fewer turns, the lowest and the highest ratio enclose the median with a probability below 95 %."""
PROGRAMS = Path(__file__).parent
CODE = f"""
import sys
sys.path[0] = {str(PROGRAMS.parents[1])!r}
import benchmarks  # these programs; all else is found in the folder of the version
sys.path[0] = sys.argv[1]
from benchmarks.speed.against import serve
serve(sys.argv[2])
"""
Folders: TypeAlias = tuple[Path, Path]

# The CPU time of this thread excludes other programs. Windows counts it in ticks of 16 ms, too coarse for a round.
_CLOCK = time.perf_counter if os.name == "nt" else time.thread_time


class VersionError(ValueError):
    """A version cannot be measured; the message says why in one line."""


def turn_of(effort: measure.Effort) -> measure.Effort:
    """Return the effort of a turn: even numbers, so that each version plays first in half of the rounds."""
    return dataclasses.replace(effort, rounds=32 if effort.thorough else 16, startups=8 if effort.thorough else 4)


def compare(
    folders: Folders, turns: int, effort: measure.Effort, file: Path | None, console: Console
) -> dict[str, Any]:
    """Measure two versions in turns and return what `python -m benchmarks --against --json` prints.

    Args:
        folders: the folder of this version and that of the other; each contains ``multigrid/`` and ``examples/``.
        turns: the number of turns, at least `FEWEST_TURNS`.
        effort: how much to measure in a turn.
        file: the file to save each turn in; turns that it contains are not measured again. None saves nothing.
        console: where to show the progress.

    Raises:
        VersionError: a version cannot be measured, or the file does not contain turns of these versions.
    """
    measured = {"code": [_digest(folder) for folder in (*folders, PROGRAMS)], "effort": repr(effort)}
    done = [] if file is None or not file.exists() else _load_turns(file, measured)
    if len(done) < turns:
        with console.status("starting both once, to compile what is not compiled yet"):
            for folder in folders:
                with contextlib.closing(Version(folder, effort)) as version:
                    version.read()
    while len(done) < turns:
        with console.status(f"turn {len(done) + 1} of {turns}"):
            done.append(_play_turn(folders, effort, len(done)))
        if file is not None:
            with replace_file(file) as temporary:
                temporary.write_text(json.dumps({**measured, "turns": done}), encoding="utf-8")
    return {"this": str(folders[0]), "other": str(folders[1]), **summarize(done)}


def summarize(turns: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return a row for each figure, the worst first, and the number expected to differ from 1 by chance.

    Args:
        turns: the ratios of each turn, by figure; figures that are missing in a turn are listed under "left_out".

    >>> content = summarize([{"a step": k / 16} for k in range(1, 10)])
    >>> {key: content["figures"][0][key] for key in ("ratio", "low", "high", "verdict")}
    {'ratio': 0.3125, 'low': 0.125, 'high': 0.5, 'verdict': 'worse'}
    """
    names = dict.fromkeys(name for turn in turns for name in turn)
    rows = []
    for name in names:
        ratios = [turn[name] for turn in turns if name in turn]
        if len(ratios) == len(turns):
            low, high, _ = measure.median_interval(ratios)
            verdict = "worse" if high < 1 else "better" if low > 1 else "no difference"
            figures = {"ratio": statistics.median(ratios), "low": low, "high": high}
            rows.append({"name": name, **figures, "verdict": verdict, "by_turn": ratios})
    rows.sort(key=lambda row: (row["verdict"] != "worse", row["ratio"]))
    coverage = measure.median_interval([1.0] * len(turns))[2]
    left_out = [name for name in names if not all(name in turn for turn in turns)]
    chance = {"coverage": coverage, "by_chance": (1 - coverage) * len(rows)}
    return {"turns": len(turns), **chance, "figures": rows, "left_out": left_out}


def _load_turns(file: Path, measured: dict[str, Any]) -> list[dict[str, float]]:
    try:
        content = json.loads(file.read_bytes())
        turns: list[dict[str, float]] = content.pop("turns")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise VersionError(f"{file} has no turns; name a file that does not exist yet") from error
    if content != measured:
        raise VersionError(f"{file} has turns of other code or of another effort; name a file that does not exist yet")
    return turns


def _play_turn(folders: Folders, effort: measure.Effort, number: int) -> dict[str, float]:
    """Play a turn; return, for each figure, how many times better this version is than the other."""
    ratios: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        versions = [stack.enter_context(contextlib.closing(Version(folder, effort))) for folder in folders]
        this, other = (version.read() for version in versions)
        names = [name for name in this if name in other]
        for k in range(effort.rounds):
            for name in names:
                if k < {"starts": effort.startups, "rest": 0}.get(name, effort.rounds):
                    _play_round(versions, name, (number + k) % 2, ratios)
        _play_round(versions, "rest", number % 2, ratios)
    return {name: statistics.median(values) for name, values in ratios.items()}


def _play_round(versions: Sequence[Version], name: str, first: int, ratios: dict[str, list[float]]) -> None:
    """Play a round with both versions; append the ratio of each figure that is positive in both."""
    figures = {k: versions[k].play(name) for k in (first, 1 - first)}
    for figure, this in figures[0].items():
        other = figures[1].get(figure, 0)
        if this > 0 and other > 0:
            ratios.setdefault(figure, []).append(other / this)


def _digest(folder: Path) -> str:
    if folder != PROGRAMS and not (folder / "multigrid" / "__init__.py").is_file():
        raise VersionError(f"there is no package multigrid in {folder}")
    parts = [folder] if folder == PROGRAMS else [folder / "multigrid", folder / "examples" / "games"]
    files = sorted(path for part in parts for path in part.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


class Version:
    """A process that measures one version; its first answer lists the names for `play`."""

    def __init__(self, folder: Path, effort: measure.Effort) -> None:
        self._folder = folder
        settings = json.dumps({"seconds": effort.seconds, "agents": effort.agents, "worlds": effort.worlds})
        command = [sys.executable, "-c", CODE, str(folder), settings]
        self._process = JsonProcess(command, env={**os.environ, "PYTHONPATH": str(folder)}, cwd=folder)
        self.close = self._process.close

    def read(self) -> Any:
        """Return the next answer of the process."""
        try:
            return self._process.read()
        except ProcessError as error:
            raise VersionError(f"{self._folder} cannot be measured: {error}") from error

    def play(self, name: str) -> dict[str, float]:
        """Play the round with a name and return its figures, where less is better."""
        self._process.write(name)
        figures: dict[str, float] = self.read()
        return figures


def serve(settings: str) -> None:
    """Play rounds, as standard input requests them: the program of a `Version`.

    Each line on standard input is a name of the first answer, and is answered by figures. *starts* are startup times;
    *rest* is memory, and figures computed from the rounds played so far.
    """
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for answer in _answer_lines(**json.loads(settings)):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _answer_lines(seconds: float, agents: list[int], worlds: list[int]) -> Iterator[Any]:
    local, curves = measure.prepare(cases.local_cases()), list(cases.curves(agents, worlds))
    on_curves = measure.prepare(case for curve in curves for case in curve.cases.values())
    by_name = {case.name: case for case in [*local, *on_curves]}
    yield [*by_name, "starts", "rest"]
    for line in sys.stdin:
        name = line.strip()
        if name == "starts":
            yield {row["name"]: row["seconds"] for row in starts.startup_times(1)}
        elif name == "rest":
            memory = {f"memory, {row['name']}": row["bytes"] for row in starts.memory_per_world()}
            yield memory | {row["name"]: row["value"] for row in measure.limit_rows(local, curves)}
        else:
            case, before = by_name[name], _CLOCK()
            _, agent_steps = case.play(seconds)
            case.costs.append(1e6 * (_CLOCK() - before) / agent_steps)
            yield {name: case.costs[-1]}
