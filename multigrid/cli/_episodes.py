"""The episodes of ``multigrid rollout`` and ``evaluate``: flags, worlds, how one is played, and tables of results."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from rich.table import Table
from rich.text import Text

import multigrid
from multigrid.cli._models import match_observations, trained_config
from multigrid.cli._options import LARGEST_SEED, Range, WorldOptions, check_numbers, fill_options, read_given
from multigrid.config import GridConfig
from multigrid.core.metrics import DELAYS, DELAYS_LABEL, LABELS
from multigrid.core.rules import RULES_VERSION
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation._estimates import Estimate, LowerBounds, gap_of, measure_played
from multigrid.evaluation._playing import play
from multigrid.games._files import find_game
from multigrid.planning._controllers import check_rules
from multigrid.policies._baselines import BUILT_IN, PolicyFactory
from multigrid.rendering._episode import Episode
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios._worlds import file_name, find_scenario, find_suite, name_grid
from multigrid.scenarios.tracing import EpisodeTrace

if TYPE_CHECKING:
    from rich.console import Console

    from multigrid.datasets._writer import DatasetWriter

# The contents of the cells of the tables.
TITLE = "mean [95 % confidence interval]"

_MOST_COLUMNS = 8
"""The most metrics that are columns of a table; more are its rows."""
# The metrics of large numbers, for which one decimal is enough.
_COUNTS = ("sum_of_costs", "makespan")

_Options = TypeVar("_Options", bound="EpisodeOptions")
# The kinds of files that show a whole episode.
FILMS = frozenset({"gif", "mp4", "svg"})
# Policies whose agents wait for one another on any layout.
_COORDINATED = ("pibt", "windowed", "pretrained-messages", "pretrained-shield")


@dataclasses.dataclass(frozen=True)
class EpisodeOptions(WorldOptions):
    """The flags that say which episodes are played, and what is printed of them."""

    program: ClassVar[str]

    scenario: str | None = None
    """A scenario file, or the name of one of the suite, to play in its own layout instead of the grid."""
    suite: tuple[str, ...] | None = None
    """Play the scenarios of the package, or those whose names contain one of these words."""
    num_agents_sweep: Annotated[tuple[int, ...], Range(1, LARGEST_SEED)] = ()
    """Play the grid with each of these numbers of agents."""
    episodes: Annotated[int, Range(1, 10**9)] = 100
    """Episodes in each world."""
    seed: Annotated[int, Range(0, LARGEST_SEED)] = 0
    """Episode i and its policy are seeded with this number plus i."""
    gap: Annotated[float | None, Range(0.001, 10**9)] = None
    """Also report the gap: the sum of costs divided by a lower bound, which is computed for each layout in at most this
    many seconds, minus 1. It is the mean over the episodes in which all agents arrive."""
    json: bool = False
    """Print JSON instead of the table."""


@dataclasses.dataclass(frozen=True)
class RolloutOptions(EpisodeOptions):
    """Play episodes with a policy, and report the mean of each metric with a 95 % confidence interval.

    The worlds are a scenario, scenarios of the suite, or the grid that the flags describe, on maps or without; for a
    trained model, the defaults of these flags are those of its training. Intervals are Wilson's for success and CSR,
    and percentile bootstraps over episodes for other metrics. With --output, or with a flag for a kind of file, a new
    folder gets metrics.json, episodes.csv and these kinds of files; with --output alone, GIF films, recordings and
    figures.
    """

    program: ClassVar[str] = "multigrid rollout"

    policy: str = "shortest-path"
    """random, which is the default with --game; shortest-path; the planners pibt, windowed and lacam; the
    pretrained policy (pretrained, pretrained-messages, or pretrained-shield, whose agents' moves are all granted); or
    the folder of a run of ``multigrid train``. Of a model only weights are read; no code in it is run."""
    dataset: str | None = None
    """Also write all episodes as a Minari dataset of this name, (NAMESPACE/)NAME-vVERSION: see multigrid.datasets.
    Observations are of the standard form, a vector and an action mask; those of a trained model are its own."""
    output: Path | None = None
    """A folder that does not exist yet; by default rollouts/DATE-TIME if kinds of files are given."""
    gif: bool = False
    """Films as GIF."""
    mp4: bool = False
    """Films as MP4."""
    svg: bool = False
    """Animated SVG."""
    record: bool = False
    """Recordings, which ``multigrid replay`` turns into pages."""
    figures: bool = False
    """A heat map of each world and, if worlds differ in their number of agents, success by that number."""
    keep: Annotated[int, Range(0, 10**9)] = 3
    """The number of episodes of each world, from the first, that are filmed and recorded."""
    fps: Annotated[float, Range(0.01, 60)] = 4.0
    """Steps a second in films."""
    trails: Annotated[int, Range(0, 10**6)] = 0
    """The number of an agent's last cells that its trail covers in GIF and MP4."""
    pixels: Annotated[int | None, Range(64, 4096)] = None
    """The longer side of the picture in GIF and MP4; by default 512, or for large grids 24 a cell, at most 1280."""
    smooth: bool = False
    """In GIF and MP4, agents glide from cell to cell; the files are larger."""
    figure_format: Literal["png", "svg", "pdf"] = "png"
    """The format of figures."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of files to write; empty if no files are written."""
        named = frozenset(kind for kind in (*FILMS, "record", "figures") if getattr(self, kind))
        return named or (frozenset() if self.output is None else frozenset({"gif", "record", "figures"}))


def parse_episodes(kind: type[_Options], arguments: Sequence[str]) -> _Options:
    """Parse the flags; the grid's defaults are those of the first trained model among the given policies."""
    given = read_given(kind, arguments, kind.program)
    policies = given.get("policies") or given.get("cross_play") or [given.get("policy", RolloutOptions.policy)]
    trained = next((policy for policy in policies if policy not in BUILT_IN), None)
    game, _ = find_game(given.get("game"))
    if game is not None and issubclass(kind, RolloutOptions):
        given.setdefault("policy", "random")
    start = None if trained is None else kind(grid=trained_config(Path(trained), game))
    return fill_options(kind, given, start)


def check_episodes(options: EpisodeOptions) -> None:
    """Raise a ValueError if an option of the episodes is out of range, or two exclude one another."""
    check_numbers(options)
    sweep = options.num_agents_sweep or None
    sources = {"scenario": options.scenario, "suite": options.suite, "num-agents-sweep": sweep}
    flags = [f"--{name}" for name, value in sources.items() if value is not None]
    # A map can be played with several numbers of agents.
    if options.map and (options.scenario is not None or options.suite is not None):
        flags.insert(0, "--map")
    if len(flags) > 1:
        raise ValueError(f"{' and '.join(flags)} say different worlds; expected one of them")


def describe_episodes(options: EpisodeOptions) -> dict[str, Any]:
    """Return for JSON which episodes were played, and by which versions."""
    versions = {"rules": RULES_VERSION, "multigrid": multigrid.__version__}
    return {"seed": options.seed, "episodes": options.episodes, **versions}


def find_worlds(options: EpisodeOptions) -> dict[str, GridConfig]:
    """Return the worlds to play, by name."""
    if options.scenario is not None:
        scenario = find_scenario(options.scenario, options.grid.game)
        if scenario.start is not None:
            game = scenario.config.game
            what = "with delays or drawn agents" if game is None else f"of the game {game.__name__}"
            raise ValueError(
                f"--scenario is {options.scenario}, a recording {what}, which "
                "begins in a state that no layout describes; use multigrid replay or play, or --map for its map"
            )
        worlds = {file_name(scenario.name): scenario.config}
    elif options.suite is not None:
        worlds = find_suite(options.suite, options.grid.game)
    else:
        swept = [dataclasses.replace(options.grid, num_agents=n) for n in sorted(set(options.num_agents_sweep))]
        worlds = {name_grid(options.map_names, config): config for config in swept or [options.grid]}
    for name, config in worlds.items():
        if config.max_cycles is None:
            raise ValueError(f"max_cycles of {name} is None, but episodes are played to their end; set a limit")
    return worlds


def fit_world(name: str, config: GridConfig, policy: str) -> GridConfig:
    """Return a world with the observations that a policy needs, as `match_observations` does for a model."""
    if policy in _COORDINATED and _lacks_stay(config):
        raise ValueError(
            f"{policy} lets agents wait for one another, but those of {name} cannot stay; add --allow-stay, or "
            "name a scenario with allow_stay=True"
        )
    return config if policy in BUILT_IN else match_observations(name, config, trained_config(Path(policy), config.game))


def let_wait(config: GridConfig, policies: Iterable[str]) -> GridConfig:
    """Return a world with the action stay if one of the policies needs it: a planner, or a trained model."""
    waits = any(name in (*_COORDINATED, "lacam") for name in policies) and _lacks_stay(config)
    waits |= any(trained_config(Path(name), config.game).allow_stay for name in policies if name not in BUILT_IN)
    return dataclasses.replace(config, allow_stay=True) if waits else config


def tell_stay(console: Console, given: Mapping[str, GridConfig], worlds: Mapping[str, GridConfig]) -> None:
    """Print a line if `let_wait` has let agents stay in a world."""
    if any(config.allow_stay and not given[name].allow_stay for name, config in worlds.items()):
        line = "Agents can stay, as with --allow-stay: one of the policies lets them wait."
        console.print(Text(line), soft_wrap=True)


def _lacks_stay(config: GridConfig) -> bool:
    """Return whether planners support the rules of a configuration except for a missing `allow_stay`."""
    return not is_supported(config) and is_supported(dataclasses.replace(config, allow_stay=True))


def is_supported(config: GridConfig) -> bool:
    """Return whether planners support the rules of a configuration."""
    try:
        check_rules(config)
    except ValueError:
        return False
    return True


class EpisodeResult(NamedTuple):
    """The result of one episode: its metrics, its arrays if it was watched, and its scenario if it was recorded."""

    seed: int
    steps: int
    measures: dict[str, float]
    episode: Episode | None
    recording: Scenario | None


def play_episode(
    name: str,
    config: GridConfig,
    factory: PolicyFactory,
    seed: int,
    *,
    watch: bool = False,
    record: bool = False,
    bounds: LowerBounds | None = None,
    writer: DatasetWriter | None = None,
) -> EpisodeResult:
    """Play one episode of a world to its end; the seed is that of the reset and of the policy.

    With `watch` the result has the episode as arrays, with `record` as a scenario that can be replayed, and with
    `bounds` a "gap", NaN unless all agents arrive. A writer gets the rows of the episode.
    """
    env = MultiGridEnv(config)
    recorder = RecordEpisode(env) if record else None
    wrapped: Any = env if recorder is None else recorder
    if writer is not None:
        wrapped = writer.wrap(wrapped)
    buffer = None if writer is None else writer.make_buffer(wrapped)
    trace = EpisodeTrace(env) if watch else None
    policy, bound, rewards = factory(seed), None, 0.0
    for actions, step in play(wrapped, lambda _, observations: policy(env, observations), seed):
        rewards += sum(step.rewards.values())
        if trace is not None:
            trace.note(actions)
        if buffer is not None:
            buffer.note(actions, step)
        if actions is None and bounds is not None:
            bound = bounds.of(env)
    if writer is not None and buffer is not None:
        writer.add(buffer.rows(seed, writer.num_episodes))
    measures = measure_played(env, rewards)
    if bound is not None:
        measures["gap"] = gap_of(measures, bound)
    watched = None if trace is None else trace.episode(f"{name}-{seed}")
    recording = None if recorder is None else recorder.scenario(f"{name}-{seed}")
    return EpisodeResult(seed, int(env.get_state()["steps"]), measures, watched, recording)


def defined_names(results: Collection[Mapping[str, Estimate]]) -> list[str]:
    """Return the metrics that are defined in at least one result, without "csr", which is the mean of "success"."""
    names = dict.fromkeys(name for result in results for name in result if name != "csr")
    return [name for name in names if not all(math.isnan(result[name].mean) for result in results)]


def make_table(title: str, *columns: str) -> Table:
    """Return a table with a column of names and columns of numbers."""
    # Text, because the names of folders and worlds may look like rich's markup.
    table = Table(title=Text(title, "bold"), title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=number == 0)
    return table


def table_by_row(head: str, rows: Mapping[str, Mapping[str, Estimate]], title: str) -> Table:
    """Return a table with a row for each result, by name, and a column for each metric; many metrics are the rows."""
    names = defined_names(rows.values())

    def cell(name: str, row: str) -> Text:
        # A cell breaks before its interval, if at all.
        return Text(" ".join(format_estimate(name, rows[row][name], 2)).strip().replace(", ", "\N{EN DASH}"))

    if len(names) > _MOST_COLUMNS:
        table = make_table(title, "metric", *rows)
        for name in names:
            table.add_row(Text(label_of(name)[0]), *(cell(name, row) for row in rows))
        return table
    table = make_table(title, head, *(label_of(name)[0] for name in names))
    for row in rows:
        table.add_row(Text(row), *(cell(name, row) for name in names))
    return table


def title_of(subject: str, episodes: int, of_each: str = "") -> str:
    """Return the title of a table.

    >>> title_of("pibt", 20, " of each world")
    'pibt: 20 episodes of each world, mean [95 % confidence interval]'
    """
    return f"{subject}: {'1 episode' if episodes == 1 else f'{episodes} episodes'}{of_each}, {TITLE}"


def label_of(name: str) -> tuple[str, str]:
    """Return the short name and the meaning of a metric."""
    if name == "gap":
        return "gap", "cost above the bound, as a share of it"
    if name == "success":
        return f"success ({LABELS['csr'].short})", "all agents arrived"
    if name == "return":
        return "return", "the rewards of an agent in an episode"
    label = DELAYS_LABEL if name == DELAYS else LABELS.get(name)
    return (name, "a metric of the game") if label is None else (label.short, re.split("[:,]", label.meaning)[0])


def format_estimate(name: str, estimate: Estimate, digits: int = 3, sign: str = "") -> tuple[str, str]:
    """Return a mean and its interval as text; counts have one decimal, other metrics `digits`.

    >>> format_estimate("makespan", Estimate(7.25, 6.0, 8.5)), format_estimate("isr", Estimate(0.5, 0.25, 0.75), 2)
    (('7.2', '[6.0, 8.5]'), ('0.50', '[0.25, 0.75]'))
    """
    if math.isnan(estimate.mean):
        return "-", ""
    form = f"{sign}.1f" if name in _COUNTS else f"{sign}.{digits}f"
    if math.isnan(estimate.low):
        return format(estimate.mean, form), ""
    return format(estimate.mean, form), f"[{estimate.low:{form}}, {estimate.high:{form}}]"


def measures_in_csv(measures: Mapping[str, float]) -> dict[str, str]:
    """Return the metrics of an episode for CSV, with empty text for undefined ones."""
    return {name: "" if math.isnan(value) else repr(value) for name, value in measures.items()}


def list_numbers(estimates: Mapping[str, Estimate]) -> dict[str, dict[str, float | None]]:
    """Return the estimate of each metric for JSON, as `numbers_of` does."""
    return {name: numbers_of(estimate) for name, estimate in estimates.items()}


def numbers_of(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate for JSON, with None in place of NaN."""
    return {part: None if math.isnan(value) else value for part, value in estimate._asdict().items()}
