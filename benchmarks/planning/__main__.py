"""``python -m benchmarks.planning``: compare the planners with their goals and with published results."""

from __future__ import annotations

import collections
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import track

from benchmarks.planning.measures import MEASURES, Limits, Task, list_tasks
from benchmarks.planning.rows import Row, RowsError, append_row, read_rows
from benchmarks.planning.table import format_table, list_lines
from benchmarks.pogema import SETS, DataError
from benchmarks.speed.measure import describe_machine
from multigrid.cli._options import parse

Measure = Literal["pibt", "expert", "crowd", "cbs", "lifelong", "lacam"]
Set = Literal["random", "mazes", "warehouse", "movingai", "puzzles", "pathfinding"]

_HEAD = """\
# The planners and their goals

`python -m benchmarks.planning` measured the planners on one core; [Planning](../../planning.md#figures) names the
processor. Times of searches are wall-clock times, all others CPU times. A row of a set shows the sums or ranges over
its numbers of agents, and the longest time; each number of agents has to reach the goals. [rows.csv](rows.csv) has
every instance."""


@dataclasses.dataclass(frozen=True)
class PlanningOptions:
    """Measure the planners on one core: their speed, and their plans beside published ones.

    Each instance adds a row to rows.csv; table.md shows which goals are reached on the instances measured so far. After
    an interruption, --resume continues, also with other sets, measures or samples.
    """

    data: Path
    """A clone of the repository CognitiveAISystems/pogema-benchmark, at commit 3303133."""
    output: Path
    """The folder for rows.csv and table.md; it is created if it does not exist."""
    measures: tuple[Measure, ...] = MEASURES  # type: ignore[assignment]
    """What to measure, in this order: pibt, the time of a step for 512 agents; expert, labels a second; crowd, the time
    to the first plan for 1,000 agents; cbs, proofs of optimality; lifelong, the throughput where each arrival brings a
    new target; lacam, success and costs."""
    sets: tuple[Set, ...] = tuple(SETS)  # type: ignore[assignment]
    """The sets of instances."""
    every: int = 1
    """Take only every K-th instance of each set, beginning with the first one."""
    cbs_seconds: float = 10.0
    """The seconds that conflict-based search may take for an instance."""
    lacam_seconds: float = 10.0
    """The seconds that LaCAM* may take for an instance; it ends early if its plan is optimal."""
    resume: bool = False
    """Keep the rows in the folder, and measure only what they lack."""


class _OptionsError(Exception):
    """A flag has a wrong value, or does not fit the rows in the folder; the message is one line."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, measure, write the table, and return the exit code."""
    options = parse(PlanningOptions, arguments, "python -m benchmarks.planning")
    try:
        _measure(options)
    except (DataError, RowsError, _OptionsError, OSError) as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"benchmarks: interrupted; --resume continues with the rows in {options.output}\n")
        return 130
    return 0


def _measure(options: PlanningOptions) -> None:
    if options.every < 1 or min(options.cbs_seconds, options.lacam_seconds) < 0:
        raise _OptionsError("--every is at least 1, and no number of seconds is negative")
    limits = Limits(options.cbs_seconds, options.lacam_seconds)
    file = options.output / "rows.csv"
    rows = read_rows(file)
    # The table shows the number of all instances of each set in the rows, also of sets that only earlier runs measured.
    known = {*options.sets, *(row.set for row in rows)}
    tasks = list(list_tasks(options.data, [name for name in SETS if name in known], limits))
    if rows and not options.resume:
        raise _OptionsError(f"{file} holds rows; --resume continues with them, or name another folder")
    _check_limits(rows, tasks)
    options.output.mkdir(parents=True, exist_ok=True)
    totals = collections.Counter((task.measure, task.set, task.agents) for task in tasks)
    for task in track(_select(tasks, rows, options), "measuring", console=Console(stderr=True)):
        rows.append(task.measure_row())
        append_row(file, rows[-1])
        _write_table(options.output / "table.md", rows, totals)
    _write_table(options.output / "table.md", rows, totals)
    sys.stdout.write((options.output / "table.md").read_text(encoding="utf-8"))


def _check_limits(rows: Sequence[Row], tasks: Sequence[Task]) -> None:
    limits = {task.measure: task.limit for task in tasks}
    for row in rows:
        if row.limit != limits.get(row.measure, row.limit):
            raise _OptionsError(
                f"{row.measure} has rows with a limit of {row.limit:g} s, not {limits[row.measure]:g} s; "
                "give the same limits, or name another folder"
            )


def _select(tasks: Sequence[Task], rows: Sequence[Row], options: PlanningOptions) -> list[Task]:
    """Return the tasks that the options name and that have no row yet."""
    done = {row.key for row in rows}
    return [
        task
        for measure in options.measures
        for task in tasks
        if task.measure.split()[0] == measure
        and (task.set in options.sets or task.set not in SETS)
        and task.index % options.every == 0
        and task.key not in done
    ]


def _write_table(file: Path, rows: Sequence[Row], totals: collections.Counter[tuple[str, str, int]]) -> None:
    machine = ", ".join(f"{name} {version}" for name, version in describe_machine().items())
    table = format_table(list(list_lines(rows, totals)))
    file.write_text(f"{_HEAD}\n\n{table}\n\n{machine}; one process.\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
