"""``python -m benchmarks.pogema``: play the instances of the POGEMA benchmark, and compare with published results."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from rich.console import Console
from rich.progress import MofNCompleteColumn, TimeElapsedColumn
from rich.text import Text

from benchmarks.pogema.instances import SETS, SINGLE, Instance, Kind, read_instances
from benchmarks.pogema.playing import SEARCHES, PolicySetup, Runner, Trial, blind
from benchmarks.pogema.processes import play_trials
from benchmarks.pogema.published import Row, published
from benchmarks.pogema.rows import RowFile, check_runs, join_rows, key_of, read_rows
from benchmarks.pogema.scores import Line, count_missing, instance_of, scores, summarize
from multigrid._files import remove_unfinished, replace_file
from multigrid.cli import run_program
from multigrid.cli._files import check_writable, make_folder
from multigrid.cli._models import make_policy_factory, match_observations, trained_config
from multigrid.cli._options import Range, check_numbers, parse
from multigrid.cli._progress import ProgressBar
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.policies._baselines import BUILT_IN

_Set = Literal[
    "random", "mazes", "warehouse", "movingai", "puzzles", "pathfinding",
    "warehouse-lists", "random-dense", "mazes-dense",
]  # fmt: skip

_ROWS, _SCORES = "rows.csv", "scores.md"
_NAMES = ("set", "agents", "algorithm", "instances", "CSR", "ISR", "throughput")
_COLUMNS = (*_NAMES, "gap to the bound, %", "with a bound", "seconds")
_OWN = """Relative scores change with the algorithms that take part, so these differ from the published ones. An
instance counts if all algorithms with rows in the score's sets have a row for it."""
_DEFAULTS = {
    "mapf": ("random", "shortest-path", "pibt", "lacam"),
    "lmapf": ("random", "shortest-path", "pibt", "windowed"),
}


@dataclasses.dataclass(frozen=True)
class BenchmarkOptions:
    """Play the instances of the POGEMA benchmark (Skrynnik et al., ICLR 2025), and compare with published results.

    Each instance and policy gives a row of rows.csv. An interrupted run goes on with --resume, also with other sets,
    policies or samples. scores.md has the scores of the benchmark, for the published rows alone and with these rows,
    and success and the gap to a proven bound by number of agents.
    """

    data: Path
    """A clone of the repository CognitiveAISystems/pogema-benchmark, at commit 3303133."""
    sets: tuple[_Set, ...] = get_args(_Set)
    """The sets of instances. The published rows of Warehouse are of warehouse, which POGEMA draws, not of
    warehouse-lists, which are in its files. random-dense and mazes-dense have more agents than random and mazes."""
    kind: Kind = "mapf"
    """mapf: an episode ends when all agents stand on their targets; lmapf: lifelong, with one target after the
    other."""
    policy: tuple[str, ...] = ()
    """random, shortest-path; the planners pibt, windowed, lacam and cbs; the pretrained policy (pretrained,
    pretrained-messages, pretrained-shield); or folders of runs of ``multigrid train``.
    By default random, shortest-path, pibt, and lacam or, for lmapf, windowed."""
    agents: Annotated[tuple[int, ...], Range(1, 10**6)] = ()
    """Play only the instances with these numbers of agents, such as ``--agents 8 16``."""
    every: Annotated[int, Range(1, 10**6)] = 1
    """Play only every K-th scenario of each set, from the first one on."""
    time_limit: Annotated[float, Range(0, 10**9)] = 1.0
    """The seconds of lacam and cbs for an instance. Other policies have no limit."""
    processes: Annotated[int, Range(1, 1024)] = 1
    """The number of processes that play."""
    output: Path | None = None
    """The folder of rows.csv and scores.md; by default a new one, benchmark-runs/DATE-TIME."""
    resume: bool = False
    """Go on with the rows in the folder."""
    join: tuple[Path, ...] = ()
    """Folders of other runs, whose rows are added to this one first."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that play."""
        return self.policy or _DEFAULTS[self.kind]

    @property
    def played_sets(self) -> tuple[str, ...]:
        """The sets with instances of the kind to play."""
        sets = (name for name in SETS if name in self.sets and (self.kind == "mapf" or name not in SINGLE))
        return tuple(name for name in sets if self.numbers_of(name))

    def numbers_of(self, name: str) -> tuple[int, ...]:
        """Return the numbers of agents to play in a set."""
        return tuple(number for number in SETS[name] if not self.agents or number in self.agents)


_PROGRAM = "python -m benchmarks.pogema"


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code: 2 after an error that the user causes, 130 after Ctrl-C."""
    return run_program(lambda: _run(arguments), _PROGRAM, "benchmark")


def _run(arguments: Sequence[str]) -> int:
    return benchmark(parse(BenchmarkOptions, arguments, _PROGRAM), Console(stderr=True))


def benchmark(options: BenchmarkOptions, console: Console) -> int:
    """Play the instances that have no row yet, write the scores, print them, and return 0; 130 after Ctrl-C."""
    _check(options)
    for name in options.policies:
        if name not in SEARCHES:
            find_policy(name)
    runner = Runner(find_policy, options.time_limit)
    file = None if options.output is None else options.output / _ROWS
    _join_earlier(read_rows(file) if file is not None and file.exists() else [], options, runner)
    data, kind, every = options.data, options.kind, options.every
    trials = [
        Trial(policy, instance)
        for name in options.played_sets
        for instance in read_instances(data, name, kind, agents=options.numbers_of(name), every=every)
        for policy in options.policies
    ]
    _check_models(options.policies, [trial.instance for trial in trials])
    folder = _make_folder(options)
    with RowFile(folder / _ROWS) as rows_file:
        remove_unfinished(folder)
        # Another run may have written rows until now, when the file is locked.
        rows = _join_earlier(rows_file.rows, options, runner)
        for row in rows[len(rows_file.rows) :]:
            rows_file.append(row)
        done = {key_of(row) for row in rows}
        missing = [trial for trial in trials if trial.key not in done]
        begins = f"starting {options.processes} processes, which may compile" if options.processes > 1 else "playing"
        bar = ProgressBar(console, MofNCompleteColumn(), TimeElapsedColumn())
        try:
            # Closing the generator ends the processes.
            played: Any = play_trials(runner, missing, options.processes)
            total, before = len(trials), len(trials) - len(missing)
            with bar.shown(), bar.doing(begins, total, before) as update, contextlib.closing(played):
                for row in played:
                    rows_file.append(row)
                    rows.append(row)
                    update(advance=1, description=f"{row['set']}, {row['agents']} agents")
        except KeyboardInterrupt:
            console.print(Text(f"interrupted; --resume --output {folder} goes on with its rows"), soft_wrap=True)
            return 130
        own = [row for row in rows if row["kind"] == kind]
        sets = [name for name in options.sets if any(row["set"] == name for row in own)]
        report = format_report(own, published(data, kind, sets=sets))
        # Printed first, because writing the file may fail.
        sys.stdout.write(report)
        with replace_file(folder / _SCORES) as temporary:
            temporary.write_text(report, encoding="utf-8")
    console.print(Text(f"outputs in {folder}"), soft_wrap=True)
    return 0


def _join_earlier(own: Sequence[Row], options: BenchmarkOptions, runner: Runner) -> list[Row]:
    """Return the rows of the folder, followed by those to join."""
    if own and not options.resume:
        raise ValueError(f"{options.output} holds rows; --resume goes on with them, or name another folder")
    others = []
    for folder in options.join:
        if not (folder / _ROWS).is_file():
            raise ValueError(f"--join is {folder}, which has no {_ROWS}; expected the folder of another run")
        others.append(read_rows(folder / _ROWS))
    rows = join_rows(own, *others)
    check_runs(rows, {(options.kind, name): runner.limit_of(name) for name in options.policies}, RULES_VERSION)
    return rows


def _make_folder(options: BenchmarkOptions) -> Path:
    check_writable("--output", options.output, parent="benchmark-runs")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    return options.output or make_folder(None, "benchmark-runs")


def _check(options: BenchmarkOptions) -> None:
    """Raise a ValueError if an option is out of range, or two contradict each other."""
    check_numbers(options)
    if options.resume and options.output is None:
        raise ValueError("--resume goes on with the rows in a folder; name it by --output")
    known = sorted({number for name in options.sets for number in SETS[name]})
    if not set(options.agents) <= set(known):
        raise ValueError(
            f"--agents is {' '.join(map(str, options.agents))}; expected some of {', '.join(map(str, known))}, the "
            "numbers of agents in --sets"
        )
    if not options.played_sets:
        raise ValueError(f"--sets has no set of the kind {options.kind}; expected some of {', '.join(SETS)}")
    for name in options.policies:
        if options.policies.count(name) > 1:
            raise ValueError(f"--policy has {name} twice; expected each once")
        if options.kind == "lmapf" and name in SEARCHES:
            raise ValueError(f"--policy {name} plans single episodes; expected pibt or windowed for --kind lmapf")


def find_policy(name: str) -> PolicySetup:
    """Return a built-in policy, or the model in the folder of a run of ``multigrid train``."""
    factory = make_policy_factory(name)
    if name in BUILT_IN:
        return PolicySetup(factory, blind)
    return PolicySetup(factory, functools.partial(_fit, trained_config(Path(name))))


def _fit(trained: GridConfig, config: GridConfig) -> GridConfig:
    return match_observations(f"an instance with {config.num_agents} agents", config, trained)


def _check_models(policies: Sequence[str], instances: Collection[Instance]) -> None:
    """Raise a ValueError if a trained model does not fit an instance: its observations depend on agents and size."""
    kinds = {(one.num_agents, one.walls.shape): one for one in instances}
    for name in policies:
        if name not in BUILT_IN and name not in SEARCHES:
            trained = trained_config(Path(name))
            try:
                for instance in kinds.values():
                    _fit(trained, instance.scenario().config)
            except ValueError as error:
                raise ValueError(f"--policy {name} does not fit all instances, see --agents: {error}") from error


def format_report(own: Sequence[Row], others: Sequence[Row]) -> str:
    """Return tables of scores and of results by number of agents, as Markdown."""
    lines = ["# The POGEMA benchmark", ""]
    if others:
        lines += _format_scores("Scores of the published rows", scores(others))
    missing = count_missing(others)
    if missing:
        lines += [
            "Published rows are missing: "
            + ", ".join(f"{count:,} of {algorithm} in {name}" for (name, algorithm), count in missing.items())
            + ". Instances without them are dropped above; below, each score is the mean over an algorithm's own rows.",
            "",
            *_format_scores("Scores of the published rows, each over its own", scores(others, missing="own")),
        ]
    both = {
        score: by_algorithm
        for score, by_algorithm in scores([*own, *others]).items()
        if score != "Scalability" and any(row["algorithm"] in by_algorithm for row in own)  # seconds of one machine
    }
    if both:
        lines += [*_format_scores("Scores with the rows of this run", both), *_OWN.splitlines(), ""]
    instances = {instance_of(row) for row in own}
    shared = [row for row in others if instance_of(row) in instances]
    lines += _format_lines(summarize([*own, *shared]), {row["algorithm"] for row in own})
    versions = sorted({row["multigrid"] for row in own})
    if len(versions) > 1:
        lines += [f"The rows of this run are of several versions of multigrid: {', '.join(versions)}.", ""]
    return "\n".join(lines)


def _format_scores(title: str, found: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of a table with a row for each algorithm."""
    algorithms = list(dict.fromkeys(name for by_algorithm in found.values() for name in by_algorithm))
    yield from (f"## {title}", "")
    yield f"| algorithm | {' | '.join(found)} |"
    yield f"| --- |{' ---: |' * len(found)}"
    for name in algorithms:
        cells = [_format(by_algorithm.get(name, math.nan)) for by_algorithm in found.values()]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _format_lines(lines: Sequence[Line], own: Collection[str]) -> Iterator[str]:
    """Yield the lines of a table of success, throughput and gaps, and, of own algorithms, seconds."""
    yield from ("## Results by number of agents", "")
    yield from ("Means over the instances of this run, with 95 % confidence intervals.", "")
    order = list(dict.fromkeys(line.set for line in lines))
    rows = []
    for line in sorted(lines, key=lambda line: (order.index(line.set), line.agents)):
        estimates = [_format(*one) for one in (line.csr, line.isr, line.throughput)]
        estimates.append(_format(*(100 * one for one in line.gap), digits=1))
        bounded = str(line.bounded) if line.bounded else ""
        # Seconds of other machines are not compared.
        seconds = _format(line.seconds) if line.algorithm in own else ""
        rows.append([line.set, str(line.agents), line.algorithm, str(line.instances), *estimates, bounded, seconds])
    shown = [k for k in range(len(_COLUMNS)) if any(row[k] for row in rows)]
    aligned = ["---" if name in ("set", "algorithm") else "---:" for name in _COLUMNS]
    for row in (_COLUMNS, aligned, *rows):
        yield f"| {' | '.join(row[k] for k in shown)} |"
    unsolvable = {(line.set, line.agents): line.unsolvable for line in lines if line.unsolvable}
    yield ""
    if unsolvable:
        counts = [f"{count} of {name} with {agents} agents" for (name, agents), count in unsolvable.items()]
        yield from (f"Proven to have no solution: {', '.join(counts)}.", "")


def _format(mean: float, low: float = math.nan, high: float = math.nan, digits: int = 3) -> str:
    """Return a number, with its interval if there is one; "" for NaN."""
    interval = "" if math.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return "" if math.isnan(mean) else f"{mean:.{digits}f}{interval}"
