"""Play the episodes of a rollout."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from multigrid.cli.rollout.options import FILMS, RolloutOptions
from multigrid.cli.rollout.policies import PolicyFactory
from multigrid.config import GridConfig
from multigrid.datasets.writer import DatasetWriter
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation.estimates import LowerBounds, gap_of, measure_episode
from multigrid.evaluation.results import Evaluation
from multigrid.rendering.scene import Episode
from multigrid.scenarios import RecordEpisode, Scenario
from multigrid.scenarios.tracing import EpisodeTrace

__all__ = ["NO_EXTRAS", "EpisodeExtras", "EpisodeResult", "NamedConfig", "WorldResult", "play_episode", "play_world"]


@dataclasses.dataclass(frozen=True)
class NamedConfig:
    """A configuration and its name."""

    name: str
    """The name in the table and in the names of files."""
    config: GridConfig
    """The configuration; all its episodes have the same layout if `walls` contains agents and targets."""


@dataclasses.dataclass(frozen=True)
class EpisodeResult:
    """The result of one episode."""

    seed: int
    """The seed of the reset and of the policy."""
    steps: int
    """The number of steps."""
    measures: dict[str, float]
    """The metrics, as `measure_episode` returns them, and the gap if it was asked for."""
    episode: Episode | None
    """The episode as arrays, or None if `watch` was False."""
    recording: Scenario | None
    """The episode as a scenario that can be replayed, or None if `record` was False."""


class EpisodeExtras(NamedTuple):
    """What a rollout computes of each episode besides the metrics."""

    bounds: LowerBounds | None = None
    """If given, the measures have "gap", NaN unless all agents arrive."""
    writer: DatasetWriter | None = None
    """If given, it gets the rows of the episode."""


NO_EXTRAS = EpisodeExtras()
"""Nothing."""


@dataclasses.dataclass(frozen=True)
class WorldResult:
    """All episodes of one configuration."""

    world: NamedConfig
    """The configuration."""
    episodes: list[EpisodeResult]
    """The episodes, ordered by seed; only the first ``--keep`` of them have arrays and recordings."""
    estimates: Evaluation
    """The mean of each measure, with its confidence interval."""
    heat: Any
    """A `multigrid.cli._figures.HeatMap`, or None if no figures are written. Its module needs Matplotlib: typed Any."""


def play_episode(
    world: NamedConfig,
    factory: PolicyFactory,
    seed: int,
    *,
    watch: bool = False,
    record: bool = False,
    extras: EpisodeExtras = NO_EXTRAS,
) -> EpisodeResult:
    """Play one episode to its end.

    Args:
        world: a configuration with a limit of steps.
        factory: returns the policy.
        seed: the seed of the reset and of the policy; equal seeds give equal episodes.
        watch: whether to return the episode as arrays.
        record: whether to return a recording.
        extras: what else is computed.

    >>> from multigrid.cli.rollout.policies import make_policy_factory
    >>> world = NamedConfig("pass", GridConfig(walls="a.A", max_cycles=9))
    >>> result = play_episode(world, make_policy_factory("shortest-path"), seed=0)
    >>> result.steps, result.measures["success"]
    (2, 1.0)
    """
    env = MultiGridEnv(world.config)
    recorder = RecordEpisode(env) if record else None
    face: Any = env if recorder is None else recorder
    buffer = None
    if extras.writer is not None:
        face = extras.writer.wrap(face)
        buffer = extras.writer.make_buffer(face)
    policy = factory(seed)
    trace = EpisodeTrace(env) if watch else None
    observations, _ = face.reset(seed=seed)
    if buffer is not None:
        buffer.begin(observations)
    if trace is not None:
        trace.note()
    bound = None if extras.bounds is None else extras.bounds.of(env)
    while env.agents:
        actions = policy(env, observations)
        results = face.step(actions)
        observations = results[0]
        if trace is not None:
            trace.note(actions)
        if buffer is not None:
            buffer.add(actions, results)
    if buffer is not None and extras.writer is not None:
        extras.writer.add(buffer.rows(seed, extras.writer.num_episodes))
    name = f"{world.name}-{seed}"
    measures = measure_episode(env.metrics())
    if bound is not None:
        measures["gap"] = gap_of(measures, bound)
    return EpisodeResult(
        seed=seed,
        steps=int(env.get_state()["steps"]),
        measures=measures,
        episode=None if trace is None else trace.episode(name),
        recording=None if recorder is None else recorder.scenario(name),
    )


def play_world(
    world: NamedConfig,
    factory: PolicyFactory,
    options: RolloutOptions,
    advance: Callable[[], None],
    writer: DatasetWriter | None = None,
) -> WorldResult:
    """Play all episodes of a configuration, which has a limit of steps; call `advance` after each.

    Args:
        world: the configuration.
        factory: returns the policy of an episode for its seed.
        options: the flags.
        advance: is called.
        writer: if given, it gets the rows of all episodes.
    """
    heat: Any = None
    if "figures" in options.kinds:
        from multigrid.cli._figures import HeatMaps

        heat = HeatMaps()
    extras = EpisodeExtras(None if options.gap is None else LowerBounds(options.gap), writer)
    results = []
    for number in range(options.episodes):
        keep = number < options.keep
        watch = heat is not None or (keep and bool(options.kinds & FILMS))
        record = keep and "record" in options.kinds
        result = play_episode(world, factory, options.seed + number, watch=watch, record=record, extras=extras)
        if heat is not None:
            heat.add(result.episode)
        # Whole episodes of large worlds take much memory.
        results.append(result if keep else dataclasses.replace(result, episode=None))
        advance()
    estimates = Evaluation(world.config, [result.seed for result in results], [result.measures for result in results])
    return WorldResult(world, results, estimates, None if heat is None else heat.most_played())
