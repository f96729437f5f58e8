"""The folders of runs, their checkpoints, and the curve of a training so far.

A checkpoint is a folder RUN/checkpoints/STEPS, where STEPS is the number of steps trained, in twelve digits. It appears
when it is complete. A process that is killed loses the training since the last one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from multigrid._files import create_folder, open_file, remove_unfinished, replace_file
from multigrid.cli._files import check_new, check_writable, make_folder, write_json
from multigrid.cli._held_out import HeldOut
from multigrid.cli._train_options import TrainOptions, describe, read_run

if TYPE_CHECKING:
    from rich.console import Console

_CHECKPOINTS = "checkpoints"
_ROW, _EVALUATION = "row.", "evaluation."
# The arrays of `HeldOut`.
_RESULTS = ("success", "steps", "returns", "isr")
# The number of checkpoints that stay; older ones are deleted.
KEPT = 3


def open_run(options: TrainOptions, *packages: str) -> Path:
    """Return the folder of a run, new or to be resumed, with a config.json that has the flags and the versions."""
    if options.resume is None:
        check_new(options.folder)
        check_writable("--folder", options.folder, parent="runs")
        folder = make_folder(options.folder)
        write_json(folder / "config.json", describe(options, *packages))
        return folder
    check_writable("--resume", options.resume)
    remove_unfinished(options.resume)
    remove_unfinished(options.resume / _CHECKPOINTS)
    flags = dataclasses.replace(options, folder=None, resume=None)
    if flags != read_run(options.resume, options.engine):
        write_json(options.resume / "config.json", describe(flags, *packages))
    return options.resume


def check_libraries(*names: str) -> None:
    """Raise a ModuleNotFoundError if a library is not installed that is imported at the end of a training."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)


def resume_command(folder: Path) -> str:
    """Return the command that continues a run."""
    return f"multigrid train --resume {shlex.quote(str(folder))}"


def print_headline(console: Console, folder: Path, options: TrainOptions, steps: int, done: int) -> None:
    """Print which agents are trained on which map, for how many steps, in which folder."""
    count, rest = options.grid.num_agents, f"{steps - done:,} more" if done else f"{steps:,}"
    line = f"training {count} agent{'s' * (count != 1)} on {options.world_name} for {rest} steps in {folder}"
    console.print(Text(line), soft_wrap=True)


@contextlib.contextmanager
def resumable(console: Console, folder: Path) -> Iterator[None]:
    """Print how to continue a run if an error, a signal or Ctrl-C ends it."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit):
        # After SIGHUP the terminal is gone, and a pipe may be.
        with contextlib.suppress(OSError):
            console.print(Text(f"to continue: {resume_command(folder)}"), soft_wrap=True)
        raise


def find_last(run: Path) -> tuple[Path | None, int]:
    """Return the last checkpoint of a run, or None, and the steps trained until then."""
    last = max(_list(run / _CHECKPOINTS), default=None)
    return last, 0 if last is None else int(last.name)


def _list(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir() and path.name.isdecimal())


class Checkpoints:
    """The checkpoints of a run: `every` so many steps (0 for none), after the `last` ones that were trained.

    >>> checkpoints = Checkpoints(Path("runs/mine"), every=1000, last=0)
    >>> [steps for steps in range(0, 4000, 768) if checkpoints.is_due(steps)][0]
    1536
    """

    def __init__(self, run: Path, every: int, last: int) -> None:
        self._folder, self._every, self.last = run / _CHECKPOINTS, every, last

    def is_due(self, steps: int) -> bool:
        """Return whether a multiple of `every` has been passed since the last checkpoint."""
        return self._every > 0 and steps // self._every > self.last // self._every

    def save(self, steps: int, write: Callable[[Path], None]) -> None:
        """Save a checkpoint, whose files `write` writes to a folder, then delete those that are too old."""
        path = self._folder / f"{steps:012}"
        try:
            with create_folder(path) as temporary:
                write(temporary)
        except OSError as error:
            raise OSError(f"the checkpoint {path} cannot be written, and the training has stopped: {error}") from error
        self.last = steps
        for old in _list(self._folder)[:-KEPT]:
            # Renamed first, so that a process that is killed here leaves no checkpoint of which files are missing.
            hidden = old.with_name(f".{old.name}.old")
            with contextlib.suppress(OSError):
                old.rename(hidden)
            shutil.rmtree(hidden, ignore_errors=True)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name as an .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type] # mypy takes a name for that of another argument
    with replace_file(path) as temporary:
        temporary.write_bytes(buffer.getvalue())


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays in an .npz file by name; no code in it is run."""
    # Opened here, for np.load leaves a malformed file open.
    with open_file(path) as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@dataclasses.dataclass
class Curve:
    """A row of numbers for each rollout, all with the same columns; and for each evaluation the steps, and the results.

    >>> curve = Curve([{"steps": 64, "seconds": 0.5}, {"steps": 128, "seconds": 1.0}])
    >>> curve.to_arrays()["row.seconds"].tolist()
    [0.5, 1.0]
    >>> Curve.from_arrays(curve.to_arrays()) == curve
    True
    """

    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    evaluations: list[tuple[int, HeldOut]] = dataclasses.field(default_factory=list)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return one-dimensional arrays of R rows and two-dimensional ones of M evaluations, by name."""
        columns = self.rows[0] if self.rows else {}
        arrays = {_ROW + column: np.array([row[column] for row in self.rows]) for column in columns}
        arrays[f"{_EVALUATION}trained"] = np.array([trained for trained, _ in self.evaluations], dtype=np.int64)
        for name in _RESULTS if self.evaluations else ():
            arrays[_EVALUATION + name] = np.array([getattr(one, name) for _, one in self.evaluations])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Curve:
        """Return the curve from which `to_arrays` made the arrays; other names are ignored."""
        columns = {name.removeprefix(_ROW): array.tolist() for name, array in arrays.items() if name.startswith(_ROW)}
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        trained = arrays[f"{_EVALUATION}trained"].tolist()
        if not trained:
            return cls(rows)
        results = zip(*(arrays[_EVALUATION + name] for name in _RESULTS), strict=True)
        return cls(rows, [(steps, HeldOut(*values)) for steps, values in zip(trained, results, strict=True)])
