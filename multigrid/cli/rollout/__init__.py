"""``multigrid rollout``: let a policy play, tell how well it does, and leave films, recordings and figures."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

import multigrid
import multigrid.scenarios as stored
from multigrid.cli.rolling.intervals import MEASURES, Estimate, estimates
from multigrid.cli.rollout.worlds import BUILT_IN, Played, World, fitted, play, player, suite_worlds, trained_config
from multigrid.config import GridConfig
from multigrid.core.rules import RULES_VERSION

__all__ = ["RolloutOptions", "main", "rollout"]

_LARGEST_SEED = 2**31 - 1
_GRID_FLAGS = frozenset(f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(GridConfig))
_TITLES = {
    "success": "success: all agents arrived",
    "csr": "CSR: cooperative success rate",
    "isr": "ISR: individual success rate",
    "sum_of_costs": "sum of costs (steps)",
    "makespan": "makespan (steps)",
    "throughput": "throughput (arrivals per step)",
}
_SHORT = {"csr": "CSR", "isr": "ISR", "sum_of_costs": "sum of costs"}
_RATES = ("success", "csr", "isr")


@dataclasses.dataclass(frozen=True)
class RolloutOptions:
    """Let a policy play, and tell how well it does: the mean of each metric, with a 95 % confidence interval.

    The world is a scenario's, or those of the suite, or the one that the grid's flags describe, which begin as those
    of a trained model where it plays. Intervals are Wilson's for success and CSR, and percentile bootstraps over
    episodes for the rest. With --output, or one of the kinds of files, a new folder gets metrics.json, episodes.csv and
    those kinds; with none of them named the GIF films, the recordings and the figures.
    """

    grid: Annotated[GridConfig, tyro.conf.arg(name="")] = dataclasses.field(default_factory=GridConfig)
    """The world."""
    policy: str = "shortest-path"
    """random, shortest-path, or the folder of a run of ``multigrid train``. Of a model only weights are read; no code
    in it is run."""
    scenario: Path | None = None
    """A scenario file to play instead of the grid."""
    suite: tuple[str, ...] | None = None
    """Play the scenarios that come with the package, or those whose names have one of these words in them."""
    num_agents_sweep: tuple[int, ...] = ()
    """Play the grid with each of these numbers of agents."""
    episodes: int = 100
    """Episodes in each world."""
    seed: int = 0
    """Episode i is seeded with this plus i, and so are the draws of its policy."""
    json: bool = False
    """Print JSON instead of the table."""
    output: Path | None = None
    """A folder that does not exist yet; where only kinds of files are named, rollouts/DATE-TIME."""
    gif: bool = False
    """Films as GIF."""
    mp4: bool = False
    """Films as MP4."""
    svg: bool = False
    """Animated SVG."""
    record: bool = False
    """Recordings, which ``multigrid replay`` turns into pages."""
    figures: bool = False
    """A heat map of each world; and where worlds differ in their number of agents, success by that number."""
    keep: int = 3
    """How many episodes of each world, the first ones, are filmed and recorded."""
    fps: float = 4.0
    """Steps a second in films."""
    trails: int = 0
    """How many of its last cells an agent draws behind it in GIF and MP4."""
    figure_format: Literal["png", "svg", "pdf"] = "png"
    """What figures are written as."""


@dataclasses.dataclass(frozen=True)
class Told:
    """What the episodes of one world came to."""

    world: World
    """Where they were played."""
    episodes: list[Played]
    """One by one; those to be kept with all that happened."""
    estimates: dict[str, Estimate]
    """By measure."""
    heat: Any
    """A `multigrid.cli._figures.HeatMap`, if figures were asked for."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    try:
        options = _parsed(list(arguments))
        return rollout(options, Console(stderr=True))
    except (ValueError, TypeError, OSError) as error:
        sys.stderr.write(f"multigrid rollout: {error}\n")
        return 2
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("multigrid"):
            raise
        install = 'pip install "multigrid-marl[train]"'
        sys.stderr.write(f"multigrid rollout needs {error.name}, which is not installed: {install}\n")
        return 1


def rollout(options: RolloutOptions, console: Console) -> int:
    """Play all episodes, print the metrics, and write what was asked for.

    Returns:
        0.

    Raises:
        ValueError: an option out of range, or two that exclude one another.
        FileExistsError: the folder exists already.
    """
    _check(options)
    # Before its world is looked at: a folder that asks for a huge one is refused where its weights do not fit.
    chosen = player(options.policy)
    worlds = _worlds(options)
    if options.output is not None and options.output.exists():
        raise FileExistsError(f"{options.output} exists already and is left alone; name another folder")
    kinds = _kinds(options)
    leave = _leaver() if kinds else None
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("playing", total=len(worlds) * options.episodes)
        told = []
        for world in worlds:
            progress.update(task, description=world.name)
            told.append(_played(world, chosen, options, lambda: progress.advance(task)))
    _report(told, options)
    if leave is not None:
        folder = leave(told, options, kinds, _summary(told, options))
        console.print(Text(f"outputs in {folder}"), soft_wrap=True)
    return 0


def _leaver() -> Callable[..., Path]:
    # Matplotlib, imageio and Pillow are needed by those alone who want files, and are missed before the play.
    from multigrid.cli.rollout.files import leave

    return leave


def _parsed(arguments: list[str]) -> RolloutOptions:
    """Parse the flags; those of the grid begin as the world of a trained model, where one plays."""
    options = tyro.cli(RolloutOptions, args=arguments, prog="multigrid rollout")
    given = {word.split("=")[0].replace("_", "-").replace("--no-", "--") for word in arguments} & _GRID_FLAGS
    elsewhere = "--scenario" if options.scenario is not None else "--suite" if options.suite is not None else ""
    if given and elsewhere:
        raise ValueError(
            f"{elsewhere} has its own world, but {', '.join(sorted(given))} came too; leave out one of them"
        )
    if options.policy in BUILT_IN:
        return options
    start = RolloutOptions(grid=trained_config(Path(options.policy)))
    return tyro.cli(RolloutOptions, args=arguments, prog="multigrid rollout", default=start)


def _check(options: RolloutOptions) -> None:
    for name, bound in {"episodes": 1, "seed": 0, "keep": 0, "trails": 0}.items():
        if getattr(options, name) < bound:
            raise ValueError(f"--{name} is {getattr(options, name)}; expected at least {bound}")
    if options.seed > _LARGEST_SEED:
        raise ValueError(f"--seed is {options.seed}; expected at most {_LARGEST_SEED}")
    if not 0 < options.fps <= 60:
        raise ValueError(f"--fps is {options.fps}; expected more than 0, and at most 60")
    sources = {
        "--scenario": options.scenario is not None,
        "--suite": options.suite is not None,
        "--num-agents-sweep": bool(options.num_agents_sweep),
    }
    named = [name for name, is_named in sources.items() if is_named]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} say different worlds; expected one of them")


def _worlds(options: RolloutOptions) -> list[World]:
    if options.scenario is not None:
        scenario = stored.load(options.scenario)
        worlds = [World(_plain(scenario.name), scenario.config)]
    elif options.suite is not None:
        worlds = suite_worlds(options.suite)
    elif options.num_agents_sweep:
        numbers = sorted(set(options.num_agents_sweep))
        configs = [dataclasses.replace(options.grid, num_agents=number) for number in numbers]
        worlds = [World(_grid_name(config), config) for config in configs]
    else:
        worlds = [World(_grid_name(options.grid), options.grid)]
    for world in worlds:
        if world.config.max_cycles is None:
            raise ValueError(f"max_cycles of {world.name} is None, but episodes are played to their end; set a limit")
    if options.policy in BUILT_IN:
        return worlds
    trained = trained_config(Path(options.policy))
    return [fitted(world, trained) for world in worlds]


def _grid_name(config: GridConfig) -> str:
    return f"grid-{config.width}x{config.height}-{config.num_agents}"


def _plain(name: str) -> str:
    """Return a name that a file can have."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".") or "scenario"


def _kinds(options: RolloutOptions) -> frozenset[str]:
    """Return which kinds of files are asked for; none for none at all."""
    named = frozenset(kind for kind in ("gif", "mp4", "svg", "record", "figures") if getattr(options, kind))
    return named or (frozenset() if options.output is None else frozenset({"gif", "record", "figures"}))


def _played(world: World, chosen: Any, options: RolloutOptions, advance: Any) -> Told:
    kinds = _kinds(options)
    heat: Any = None
    if "figures" in kinds:
        from multigrid.cli._figures import HeatMaps

        heat = HeatMaps()
    episodes = []
    for number in range(options.episodes):
        kept = number < options.keep
        watched = heat is not None or (kept and bool(kinds & {"gif", "mp4", "svg"}))
        one = play(world, chosen, options.seed + number, watched=watched, recorded=kept and "record" in kinds)
        if heat is not None:
            heat.add(one.episode)
        # Of the others the figures alone are kept: whole episodes of large worlds take much memory.
        episodes.append(one if kept else dataclasses.replace(one, episode=None))
        advance()
    found = estimates([one.measures for one in episodes])
    return Told(world, episodes, found, None if heat is None else heat.most_played())


def _report(told: list[Told], options: RolloutOptions) -> None:
    # What is read by a program, or piped, goes to standard output; the bar has gone to standard error.
    console = Console(soft_wrap=True)
    if options.json:
        console.file.write(json.dumps(_summary(told, options), indent=2) + "\n")
        return
    episodes = "1 episode" if options.episodes == 1 else f"{options.episodes} episodes"
    title = f"{options.policy}: {episodes}{'' if len(told) == 1 else ' of each world'}, mean [95 % confidence interval]"
    # What users name is Text, in which rich looks for no markup.
    table = Table(title=Text(title, "bold"), title_justify="left")
    defined = [name for name in MEASURES if not all(math.isnan(one.estimates[name].mean) for one in told)]
    if len(told) == 1:
        table.add_column(Text(told[0].world.name))
        table.add_column("mean", justify="right")
        table.add_column("interval", justify="right")
        for name in defined:
            table.add_row(_TITLES[name], *_written(name, told[0].estimates[name]))
    else:
        table.add_column("world", no_wrap=True)
        # All agents arriving and the cooperative success rate are the same wherever both are defined.
        shown = [name for name in defined if name != "csr"]
        for name in shown:
            table.add_column(
                "success (CSR)" if name == "success" and "csr" in defined else _SHORT.get(name, name), justify="right"
            )
        for one in told:
            # A narrow terminal breaks between the mean and its interval, and nowhere else.
            cells = (_written(name, one.estimates[name], digits=2, between="\N{EN DASH}") for name in shown)
            table.add_row(Text(one.world.name), *map(" ".join, cells))
    console.print(table)


def _written(name: str, estimate: Estimate, digits: int = 3, between: str = ", ") -> tuple[str, str]:
    """Return a mean and its interval as text."""
    if math.isnan(estimate.mean):
        return "-", ""
    form = f".{digits}f" if name in _RATES or name == "throughput" else ".1f"
    if math.isnan(estimate.low):
        return format(estimate.mean, form), ""
    return format(estimate.mean, form), f"[{estimate.low:{form}}{between}{estimate.high:{form}}]"


def _summary(told: list[Told], options: RolloutOptions) -> dict[str, Any]:
    """Return everything that is told, for JSON, in which None stands for what is not defined."""
    return {
        "policy": options.policy,
        "seed": options.seed,
        "episodes": options.episodes,
        "rules": RULES_VERSION,
        "multigrid": multigrid.__version__,
        "worlds": [
            {
                "name": one.world.name,
                "num_agents": one.world.config.num_agents,
                "metrics": {name: dict(_numbers(estimate)) for name, estimate in one.estimates.items()},
            }
            for one in told
        ],
    }


def _numbers(estimate: Estimate) -> Iterator[tuple[str, float | None]]:
    for name, value in estimate._asdict().items():
        yield name, None if math.isnan(value) else value
