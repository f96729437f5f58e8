"""``multigrid benchmark``: play the instances of the POGEMA benchmark, and compare with its published results."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.progress import MofNCompleteColumn, TimeElapsedColumn
from rich.text import Text

from multigrid._files import remove_unfinished, replace_file
from multigrid.benchmark import Row, published, read_instances
from multigrid.benchmark.engines import play_tasks
from multigrid.benchmark.playing import SEARCHES, Player, Task
from multigrid.benchmark.rows import RowFile, check_runs, join_rows, key_of, read_rows
from multigrid.cli._files import check_writable, make_folder
from multigrid.cli._options import parse
from multigrid.cli._progress import ProgressBar
from multigrid.cli.benchmark.options import BenchmarkOptions, check_options
from multigrid.cli.benchmark.policies import check_models, find_contestant, send_policies
from multigrid.cli.benchmark.report import format_report
from multigrid.core.rules import RULES_VERSION

__all__ = ["BenchmarkOptions", "main"]

_Engine: TypeAlias = Callable[[Player, Sequence[Task]], Iterator[Row]]
_ROWS, _SCORES = "rows.csv", "scores.md"


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return benchmark(parse(BenchmarkOptions, arguments, "multigrid benchmark"), Console(stderr=True))


def benchmark(options: BenchmarkOptions, console: Console) -> int:
    """Play the instances that have no row yet, write the scores, print them, and return 0; 130 after Ctrl-C.

    Raises:
        ValueError: an option is out of range; two exclude one another; or the clone, or rows, are not as expected.
        OSError: a file cannot be read or written, or a process that played was killed.
    """
    check_options(options)
    for name in options.policies:
        if name not in SEARCHES:
            find_contestant(name)
    find = send_policies(options.policies) if options.engine == "ray" else find_contestant
    player = Player(find, options.time_limit)
    _join_earlier(_read_own(options), options, player)
    tasks = list(_list_tasks(options))
    check_models(options.policies, [task.instance for task in tasks])
    # A cluster that cannot be joined is reported before a folder is made.
    with _engine(options) as engine, RowFile((folder := _make_folder(options)) / _ROWS) as file:
        remove_unfinished(folder)
        # Another run may have written rows until now, when the file is locked.
        rows = _join_earlier(file.rows, options, player)
        for row in rows[len(file.rows) :]:
            file.append(row)
        done = {key_of(row) for row in rows}
        missing = [task for task in tasks if task.key not in done]
        try:
            apart = options.engine == "local" and options.processes > 1
            begins = f"starting {options.processes} processes, which may compile" if apart else "playing"
            for row in _play(engine(player, missing), begins, len(tasks), len(missing), console):
                file.append(row)
                rows.append(row)
        except KeyboardInterrupt:
            console.print(Text(f"interrupted; --resume --output {folder} goes on with its rows"), soft_wrap=True)
            return 130
        report = _report(rows, options)
        # Printed first, for the file may be impossible to write.
        sys.stdout.write(report)
        with replace_file(folder / _SCORES) as temporary:
            temporary.write_text(report, encoding="utf-8")
    console.print(Text(f"outputs in {folder}"), soft_wrap=True)
    return 0


def _read_own(options: BenchmarkOptions) -> list[Row]:
    file = None if options.output is None else options.output / _ROWS
    return read_rows(file) if file is not None and file.exists() else []


def _join_earlier(own: Sequence[Row], options: BenchmarkOptions, player: Player) -> list[Row]:
    """Return the rows of the folder, and after them those to join."""
    if own and not options.resume:
        raise ValueError(f"{options.output} holds rows; --resume goes on with them, or name another folder")
    others = []
    for folder in options.join:
        if not (folder / _ROWS).is_file():
            raise ValueError(f"--join is {folder}, which has no {_ROWS}; expected the folder of another run")
        others.append(read_rows(folder / _ROWS))
    rows = join_rows(own, *others)
    check_runs(rows, {(options.kind, name): player.limit_of(name) for name in options.policies}, RULES_VERSION)
    return rows


def _list_tasks(options: BenchmarkOptions) -> Iterator[Task]:
    """Yield all tasks of the flags, by set, number of agents and instance."""
    for name in options.played_sets:
        agents = options.numbers_of(name)
        for instance in read_instances(options.data, name, options.kind, agents=agents, every=options.every):
            for policy in options.policies:
                yield Task(policy, instance)


def _make_folder(options: BenchmarkOptions) -> Path:
    check_writable("--output", options.output, parent="benchmark-runs")
    if options.output is None:
        return make_folder(None, "benchmark-runs")
    options.output.mkdir(parents=True, exist_ok=True)
    return options.output


@contextlib.contextmanager
def _engine(options: BenchmarkOptions) -> Iterator[_Engine]:
    """Return the engine; on a Ray cluster, joined until the end."""
    if options.engine == "local":
        yield functools.partial(play_tasks, processes=options.processes)
        return
    # Ray takes seconds to import, and may be missing.
    from multigrid.cli._ray import connected
    from multigrid.cli.benchmark.cluster import play_on_ray

    with connected(options.address):
        yield play_on_ray


def _play(played: Iterator[Row], begins: str, total: int, missing: int, console: Console) -> Iterator[Row]:
    """Yield the rows, with a progress bar, and end the engine at the end."""
    bar = ProgressBar(console, MofNCompleteColumn(), TimeElapsedColumn())
    with bar.shown(), bar.doing(begins, total, total - missing) as update, contextlib.closing(played):  # type: ignore[type-var]
        for row in played:
            yield row
            update(advance=1, description=f"{row['set']}, {row['agents']} agents")


def _report(rows: Sequence[Row], options: BenchmarkOptions) -> str:
    own = [row for row in rows if row["kind"] == options.kind]
    sets = [name for name in options.sets if any(row["set"] == name for row in own)]
    return format_report(own, published(options.data, options.kind, sets=sets))
