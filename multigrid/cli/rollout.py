"""``multigrid rollout``: play episodes with a policy, report metrics, and write films, recordings and figures."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from multigrid.cli._episodes import (
    FILMS,
    RolloutOptions,
    check_episodes,
    find_worlds,
    fit_world,
    parse_rollout,
    play_episode,
)
from multigrid.cli._files import check_new, check_writable
from multigrid.cli._models import make_policy_factory
from multigrid.cli._progress import ProgressBar
from multigrid.cli._rollout_files import WorldEpisodes, import_libraries, print_report, write_outputs
from multigrid.config import GridConfig
from multigrid.datasets._recipe import find_spec, recipe_of_episodes
from multigrid.datasets._writer import DatasetWriter, find_folder, open_writer
from multigrid.envs import spaces
from multigrid.evaluation import Evaluation, LowerBounds
from multigrid.policies._named import BUILT_IN, PolicyFactory
from multigrid.wrappers import standard_config


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return rollout(parse_rollout(arguments), Console(stderr=True))


def rollout(options: RolloutOptions, console: Console) -> int:
    """Play all episodes, print the metrics, write the files that the options name, and return 0."""
    check_episodes(options)
    # Load the weights before the world is created: a description of a huge world is rejected if they do not fit it.
    factory = make_policy_factory(options.policy)
    worlds = {name: fit_world(name, config, options.policy) for name, config in find_worlds(options).items()}
    if options.dataset is not None:
        worlds = _fit_dataset(worlds, options.policy)
    check_new(options.output)
    if options.kinds:
        check_writable("--output", options.output, parent="rollouts")
    # A missing library is reported before any episode is played.
    import_libraries(options.kinds)
    results: list[WorldEpisodes] = []
    failure: Exception | None = None
    try:
        _play(worlds, factory, options, results, console)
    except Exception as error:
        # The results of a finished run are not lost because its dataset could not be written.
        if len(results) < len(worlds):
            raise
        failure = error
    print_report(results, options)
    if options.dataset is not None and failure is None:
        console.print(Text(f"dataset {options.dataset} in {find_folder(options.dataset)}"), soft_wrap=True)
    if options.kinds:
        console.print(Text(f"outputs in {write_outputs(results, options)}"), soft_wrap=True)
    if failure is not None:
        raise failure
    return 0


def _play(
    worlds: Mapping[str, GridConfig],
    factory: PolicyFactory,
    options: RolloutOptions,
    results: list[WorldEpisodes],
    console: Console,
) -> None:
    """Play all worlds, append the result of each to a list, and write the dataset if there is one."""
    bar = ProgressBar(console, MofNCompleteColumn())
    with (
        _open_dataset(worlds, options) as writer,
        bar.shown(),
        bar.doing("playing", len(worlds) * options.episodes) as update,
    ):
        for name, config in worlds.items():
            update(description=name)
            results.append(_play_world(name, config, factory, options, lambda: update(advance=1), writer))


def _play_world(  # noqa: PLR0917
    name: str,
    config: GridConfig,
    factory: PolicyFactory,
    options: RolloutOptions,
    advance: Callable[[], None],
    writer: DatasetWriter | None,
) -> WorldEpisodes:
    """Play all episodes of a world; call `advance` after each."""
    heat: Any = None
    if "figures" in options.kinds:
        from multigrid.cli._figures import HeatMaps

        heat = HeatMaps()
    bounds = None if options.gap is None else LowerBounds(options.gap)
    results = []
    for number in range(options.episodes):
        keep = number < options.keep
        result = play_episode(
            name,
            config,
            factory,
            options.seed + number,
            watch=heat is not None or (keep and bool(options.kinds & FILMS)),
            record=keep and "record" in options.kinds,
            bounds=bounds,
            writer=writer,
        )
        if heat is not None:
            heat.add(result.episode)
        # Whole episodes of large worlds take much memory.
        results.append(result if keep else dataclasses.replace(result, episode=None))
        advance()
    estimates = Evaluation(config, [result.seed for result in results], [result.measures for result in results])
    return WorldEpisodes(name, results, estimates, None if heat is None else heat.most_played())


def _fit_dataset(worlds: Mapping[str, GridConfig], policy: str) -> dict[str, GridConfig]:
    """Return the single world of a dataset, with the observations to record.

    They are of the standard form, but a single agent's are those of ``multigrid/GridWorld-v0`` where it has these
    rules, and a trained model's are its own.
    """
    if len(worlds) != 1:
        names = ", ".join([*worlds][:3]) + ", ..." * (len(worlds) > 3)
        raise ValueError(f"--dataset holds the episodes of one world, but there are {len(worlds)}: {names}; name one")
    ((name, config),) = worlds.items()
    keeps = policy not in BUILT_IN or find_spec(config) is not None
    return {name: config if keeps else standard_config(config)}


@contextlib.contextmanager
def _open_dataset(worlds: Mapping[str, GridConfig], options: RolloutOptions) -> Iterator[DatasetWriter | None]:
    """Yield a writer of the episodes of the one world, or None without ``--dataset``."""
    if options.dataset is None:
        yield None
        return
    ((name, config),) = worlds.items()
    recipe = recipe_of_episodes(config, options.policy, options.seed, options.episodes)
    check_writable("--dataset", find_folder(options.dataset))
    pair = spaces.observation_space(config), spaces.action_space(config)
    with open_writer(options.dataset, recipe, pair, f"{name}, played by {options.policy}") as writer:
        yield writer
