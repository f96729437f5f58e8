"""``python -m benchmarks.learners``: measure how fast each learning library trains, all of them in turns."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.learners.table import LEARNERS, Learner, format_page
from benchmarks.peers.environments import default_folder
from benchmarks.speed.measuring import describe_machine
from multigrid._files import replace_file
from multigrid.cli._files import write_json
from multigrid.cli._options import parse

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "frameworks"

# The tested set, which has an environment, too, so that all are installed alike.
_TESTED = 'pip install -c constraints.txt -e ".[examples]"'
# Libraries differ in how many threads they take.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclasses.dataclass(frozen=True)
class LearnerOptions:
    """Measure the training with each library; write learners.json and learners.md in docs/frameworks.

    Each library has an environment in a folder, which is made if it does not exist; all of them have 8 GB. EPyMARL and
    HARL are no packages: they are measured with --checkouts.
    """

    only: tuple[str, ...] = ()
    """Measure these libraries alone; by default all."""
    rounds: int = 3
    """How often each is measured."""
    folder: Path = dataclasses.field(default_factory=lambda: default_folder().parent / "learners")
    """The folder of the environments."""
    checkouts: Path | None = None
    """The folder of clones of EPyMARL and HARL, whose names are epymarl and HARL."""
    output: Path = PAGE
    """The folder to write to."""


class _LearnerError(Exception):
    """A library cannot be installed or does not train; the message says which."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, write the results, and return the exit code."""
    options = parse(LearnerOptions, arguments, "python -m benchmarks.learners")
    unknown = set(options.only) - {learner.name for learner in LEARNERS}
    if unknown:
        known = ", ".join(learner.name for learner in LEARNERS)
        sys.stderr.write(f"benchmarks: --only names {', '.join(sorted(unknown))}; expected some of {known}\n")
        return 2
    if options.rounds < 1:
        sys.stderr.write(f"benchmarks: --rounds is {options.rounds}; expected at least 1\n")
        return 2
    chosen = [learner for learner in LEARNERS if learner.name in options.only or not options.only]
    checkouts = None if options.checkouts is None else options.checkouts.absolute()
    if checkouts is None:
        chosen = [learner for learner in chosen if not learner.needs]
    if not chosen:
        sys.stderr.write(f"benchmarks: --only names {', '.join(options.only)}; expected --checkouts, too\n")
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    try:
        content = measure(chosen, options.folder.absolute(), options.rounds, checkouts)
    except _LearnerError as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return 1
    write_json(options.output / "learners.json", content)
    with replace_file(options.output / "learners.md") as temporary:
        temporary.write_text(format_page(content), encoding="utf-8")
    sys.stdout.write(json.dumps(content, indent=2) + "\n")
    return 0


def measure(learners: Sequence[Learner], folder: Path, rounds: int, checkouts: Path | None = None) -> dict[str, Any]:
    """Return the rates of some libraries, in turns, as `format_page` takes them.

    Raises:
        _LearnerError: a library cannot be installed, or does not train.
    """
    homes = {learner.name: _set_up(learner, folder) for learner in learners}
    rates: dict[str, list[float]] = {learner.name: [] for learner in learners}
    for number in range(rounds):
        for learner in learners:
            home = homes[learner.name]
            few, many = (train(learner, home, steps, checkouts) for steps in (learner.few, learner.many))
            rates[learner.name].append(round((learner.many - learner.few) * learner.agent_steps / (many - few), 1))
            sys.stderr.write(f"round {number + 1}, {learner.name}: {rates[learner.name][-1]:,.0f} a second\n")
    versions = {one.name: _find_version(one, homes[one.name], checkouts) for one in learners}
    rows = [{"name": one.name, "version": versions[one.name], "rates": rates[one.name]} for one in learners]
    return {
        "machine": describe_machine(),
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "rows": rows,
    }


def train(learner: Learner, home: Path, steps: int, checkouts: Path | None = None) -> float:
    """Train for some steps, and return the seconds of CPU time of all processes.

    Raises:
        _LearnerError: the training fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        values = {"steps": steps, "folder": f"{folder}/run", "checkouts": checkouts}
        command = [str(home / "bin" / "python"), "-m", *(part.format(**values) for part in learner.program.split())]
        return cpu_seconds(command, {**os.environ, **_ONE_THREAD, "PYTHONPATH": str(ROOT)})


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the seconds of CPU time of a command and of the processes that it starts and waits for.

    Raises:
        _LearnerError: its exit code is not 0.
    """
    process = subprocess.Popen(  # noqa: S603 - our own
        command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise _LearnerError(f"{' '.join(command)} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _set_up(learner: Learner, folder: Path) -> Path:
    """Return the environment of a library, which is made if it does not exist."""
    home = folder / (learner.package if learner.needs else learner.recipe or "tested")
    if (home / "complete").exists():
        return home
    install = f"{_TESTED} {learner.needs}".strip()
    if learner.recipe:
        install = (ROOT / ".ci" / "recipes" / f"{learner.recipe}.txt").read_text().splitlines()[0]
        install = install.removeprefix("# install: ")
    sys.stderr.write(f"{learner.name}: installing in {home}\n")
    script = f'"$PYTHON" -m venv --clear "$HOME_OF_IT" && source "$HOME_OF_IT/bin/activate" && {install}'
    environment = {**os.environ, "PYTHON": sys.executable, "HOME_OF_IT": str(home)}
    done = subprocess.run(  # noqa: S603 - a recipe of this repository
        ["/bin/bash", "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise _LearnerError(f"{learner.name} cannot be installed: {done.stderr[-2000:]}")
    (home / "complete").touch()
    return home


def _find_version(learner: Learner, home: Path, checkouts: Path | None) -> str:
    program = f"import importlib.metadata as m; print(m.version({learner.package!r}).split('+')[0])"
    command = [str(home / "bin" / "python"), "-c", program]
    if learner.needs:
        command = ["git", "-C", f"{checkouts}/{learner.package}", "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
