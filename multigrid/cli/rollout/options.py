"""The flags of ``multigrid rollout``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from multigrid.cli._options import (
    LARGEST_SEED,
    Range,
    WorldOptions,
    check_map,
    check_no_grid,
    check_numbers,
    parse_flags,
    read_some,
)
from multigrid.cli.rollout.policies import BUILT_IN, trained_config

__all__ = [
    "FILMS",
    "EpisodeOptions",
    "RolloutOptions",
    "check_episodes",
    "check_options",
    "parse_episodes",
    "parse_rollout",
]

FILMS = frozenset({"gif", "mp4", "svg"})
"""The kinds of files that show a whole episode."""

_PROGRAM = "multigrid rollout"

_Options = TypeVar("_Options", bound="EpisodeOptions")


@dataclasses.dataclass(frozen=True)
class EpisodeOptions(WorldOptions):
    """The flags that say which episodes are played, and what is printed of them."""

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
    """Also report the gap: by how many percent the sum of costs is above a lower bound, which is computed for each
    layout in at most this many seconds. It is the mean over the episodes in which all agents arrive."""
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

    policy: str = "shortest-path"
    """random, shortest-path; the planners pibt, windowed and lacam; the learned pretrained or pretrained-shield; or the
    folder of a run of ``multigrid train``. Of a model only weights are read; no code in it is run."""
    shield: bool = False
    """With --policy pretrained: the same as --policy pretrained-shield, agents whose moves are all granted."""
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


@dataclasses.dataclass(frozen=True)
class _Policy:
    """The flag that names the policy."""

    policy: str = RolloutOptions.policy


def parse_rollout(arguments: Sequence[str]) -> RolloutOptions:
    """Parse the flags, as `parse_episodes`."""
    policy = read_some(_Policy, arguments, _PROGRAM).policy
    options = parse_episodes(RolloutOptions, arguments, _PROGRAM, [policy])
    if not options.shield:
        return options
    if policy not in ("pretrained", "pretrained-shield"):
        raise ValueError(f"--shield goes with --policy pretrained; --policy is {policy}")
    return dataclasses.replace(options, policy="pretrained-shield", shield=False)


def parse_episodes(kind: type[_Options], arguments: Sequence[str], program: str, policies: Sequence[str]) -> _Options:
    """Parse the flags; the configuration of the first trained model replaces the defaults of the grid's flags.

    Args:
        kind: the type of the options.
        arguments: the words after the command.
        program: the command.
        policies: names of built-in policies, and folders of trained models.

    Raises:
        ValueError: flags of the grid are given with ``--scenario`` or ``--suite``, or the policy cannot be read.
    """
    trained = next((policy for policy in policies if policy not in BUILT_IN), None)
    start = None if trained is None else kind(grid=trained_config(Path(trained)))
    options = parse_flags(kind, arguments, program, start)
    for source, name in (("--scenario", options.scenario), ("--suite", options.suite)):
        if name is not None:
            check_no_grid(arguments, source)
    return options


def check_options(options: RolloutOptions) -> None:
    """Raise a ValueError if an option is out of range, or two exclude one another."""
    check_episodes(options)


def check_episodes(options: EpisodeOptions) -> None:
    """Raise a ValueError if an option of the episodes is out of range, or two exclude one another."""
    check_numbers(options)
    check_map(options)
    sweep = options.num_agents_sweep or None
    sources = {"scenario": options.scenario, "suite": options.suite, "num-agents-sweep": sweep}
    flags = [f"--{name}" for name, value in sources.items() if value is not None]
    # A map can be played with several numbers of agents.
    if options.map and (options.scenario is not None or options.suite is not None):
        flags.insert(0, "--map")
    if len(flags) > 1:
        raise ValueError(f"{' and '.join(flags)} say different worlds; expected one of them")
