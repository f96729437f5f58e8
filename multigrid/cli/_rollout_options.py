"""The flags of ``multigrid rollout``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from multigrid.cli._episodes import EpisodeOptions, parse_episodes
from multigrid.cli._options import Range

FILMS = frozenset({"gif", "mp4", "svg"})
"""The kinds of files that show a whole episode."""


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


def parse_rollout(arguments: Sequence[str]) -> RolloutOptions:
    """Parse the flags, as `parse_episodes`."""
    options = parse_episodes(
        RolloutOptions, arguments, "multigrid rollout", lambda given: [given.get("policy", RolloutOptions.policy)]
    )
    if not options.shield:
        return options
    if options.policy not in ("pretrained", "pretrained-shield"):
        raise ValueError(f"--shield goes with --policy pretrained; --policy is {options.policy}")
    return dataclasses.replace(options, policy="pretrained-shield", shield=False)
