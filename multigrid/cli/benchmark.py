"""``multigrid benchmark``: play the instances of the POGEMA benchmark, and compare with its published results."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

from rich.console import Console
from rich.progress import MofNCompleteColumn, TimeElapsedColumn
from rich.text import Text

from multigrid._files import remove_unfinished, replace_file
from multigrid.benchmark import SETS, Instance, Kind, Row, published, read_instances
from multigrid.benchmark._playing import SEARCHES, PolicySetup, Runner, Trial, blind, play_trials
from multigrid.benchmark._rows import RowFile, check_runs, join_rows, key_of, read_rows
from multigrid.cli._benchmark_report import format_report
from multigrid.cli._files import check_writable, make_folder
from multigrid.cli._models import make_policy_factory, match_observations, trained_config
from multigrid.cli._options import Range, check_numbers, parse
from multigrid.cli._progress import ProgressBar
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.policies._named import BUILT_IN

_Set = Literal["random", "mazes", "warehouse", "movingai", "puzzles", "pathfinding"]

_ROWS, _SCORES = "rows.csv", "scores.md"
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
    """The sets of instances."""
    kind: Kind = "mapf"
    """mapf: an episode ends when all agents stand on their targets; lmapf: lifelong, with one target after the
    other."""
    policy: tuple[str, ...] = ()
    """random, shortest-path; the planners pibt, windowed, lacam and cbs; the learned pretrained and pretrained-shield;
    or folders of runs of ``multigrid train``.
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
        """The sets with instances to play: of the kind "lmapf" there is no pathfinding."""
        sets = (name for name in SETS if name in self.sets and (self.kind, name) != ("lmapf", "pathfinding"))
        return tuple(name for name in sets if self.numbers_of(name))

    def numbers_of(self, name: str) -> tuple[int, ...]:
        """Return the numbers of agents that are played of a set."""
        return tuple(number for number in SETS[name] if not self.agents or number in self.agents)


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    gone = [word for word in arguments if word.partition("=")[0] in ("--engine", "--address")]
    if gone:
        raise ValueError(
            f"{gone[0]} is gone, with the Ray engine of this command: --processes plays on one machine; on several, "
            "divide --sets or --agents among them, and join their rows by --join"
        )
    return benchmark(parse(BenchmarkOptions, arguments, "multigrid benchmark"), Console(stderr=True))


def benchmark(options: BenchmarkOptions, console: Console) -> int:
    """Play the instances that have no row yet, write the scores, print them, and return 0; 130 after Ctrl-C."""
    _check(options)
    for name in options.policies:
        if name not in SEARCHES:
            find_policy(name)
    runner = Runner(find_policy, options.time_limit)
    _join_earlier(_read_own(options), options, runner)
    trials = list(_list_trials(options))
    _check_models(options.policies, [trial.instance for trial in trials])
    folder = _make_folder(options)
    with RowFile(folder / _ROWS) as file:
        remove_unfinished(folder)
        # Another run may have written rows until now, when the file is locked.
        rows = _join_earlier(file.rows, options, runner)
        for row in rows[len(file.rows) :]:
            file.append(row)
        done = {key_of(row) for row in rows}
        missing = [trial for trial in trials if trial.key not in done]
        try:
            begins = (
                f"starting {options.processes} processes, which may compile" if options.processes > 1 else "playing"
            )
            played = play_trials(runner, missing, options.processes)
            for row in _play(played, begins, len(trials), len(missing), console):
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


def _join_earlier(own: Sequence[Row], options: BenchmarkOptions, runner: Runner) -> list[Row]:
    """Return the rows of the folder, and after them those to join."""
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


def _list_trials(options: BenchmarkOptions) -> Iterator[Trial]:
    """Yield all trials of the flags, by set, number of agents and instance."""
    for name in options.played_sets:
        agents = options.numbers_of(name)
        for instance in read_instances(options.data, name, options.kind, agents=agents, every=options.every):
            for policy in options.policies:
                yield Trial(policy, instance)


def _make_folder(options: BenchmarkOptions) -> Path:
    check_writable("--output", options.output, parent="benchmark-runs")
    if options.output is None:
        return make_folder(None, "benchmark-runs")
    options.output.mkdir(parents=True, exist_ok=True)
    return options.output


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


def _check(options: BenchmarkOptions) -> None:
    """Raise a ValueError if an option is out of range, or two do not go together."""
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
    """Check that trained models can play instances."""
    # The observations depend on nothing else.
    kinds = {(one.num_agents, one.walls.shape): one for one in instances}
    for name in policies:
        if name in BUILT_IN or name in SEARCHES:
            continue
        trained = trained_config(Path(name))
        refused = {kind for kind, instance in kinds.items() if not _fits(trained, instance)}
        if not refused:
            continue
        numbers = sorted({number for number, _ in kinds})
        playable = [str(number) for number in numbers if number not in {number for number, _ in refused}]
        what = f"{', '.join(playable)}: give --agents {' '.join(playable)}"
        raise ValueError(
            f"--policy {name} was trained with {trained.num_agents} agents to see {', '.join(trained.parts)}, and the "
            f"instances have {', '.join(map(str, numbers))} agents, of which it can play "
            f"{what if playable else 'none: train it with --observe agent target view, which fits all instances'}"
        )


def _fits(trained: GridConfig, instance: Instance) -> bool:
    try:
        _fit(trained, instance.scenario().config)
    except ValueError:
        return False
    return True
