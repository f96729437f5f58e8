"""``multigrid rollout``: play episodes with a policy, report metrics, and write films, recordings and figures."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from multigrid.cli._files import check_new, check_writable
from multigrid.cli._progress import ProgressBar
from multigrid.cli.rollout.dataset import fit_dataset, open_dataset
from multigrid.cli.rollout.files import import_libraries, write_outputs
from multigrid.cli.rollout.options import RolloutOptions, check_options, parse_rollout
from multigrid.cli.rollout.play import NamedConfig, WorldResult, play_world
from multigrid.cli.rollout.policies import PolicyFactory, make_policy_factory
from multigrid.cli.rollout.report import print_report
from multigrid.cli.rollout.worlds import find_worlds, fit_world
from multigrid.datasets.writer import find_folder

__all__ = ["RolloutOptions", "main", "rollout"]


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, and return the exit code."""
    return rollout(parse_rollout(arguments), Console(stderr=True))


def rollout(options: RolloutOptions, console: Console) -> int:
    """Play all episodes, print the metrics, write the files that the options name, and return 0.

    Raises:
        ValueError: an option is out of range, or two exclude one another.
        FileExistsError: the folder or the dataset exists already.
    """
    check_options(options)
    # Load the weights before the world is created: a description of a huge world is rejected if they do not fit it.
    factory = make_policy_factory(options.policy)
    worlds = [fit_world(world, options.policy) for world in find_worlds(options)]
    if options.dataset is not None:
        worlds = fit_dataset(worlds, options.policy)
    check_new(options.output)
    if options.kinds:
        check_writable("--output", options.output, parent="rollouts")
    # A missing library is reported before any episode is played.
    import_libraries(options.kinds)
    results: list[WorldResult] = []
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
    worlds: Sequence[NamedConfig],
    factory: PolicyFactory,
    options: RolloutOptions,
    results: list[WorldResult],
    console: Console,
) -> None:
    """Play all worlds, append the result of each to a list, and write the dataset if there is one."""
    bar = ProgressBar(console, MofNCompleteColumn())
    with (
        contextlib.nullcontext() if options.dataset is None else open_dataset(worlds[0], options) as writer,
        bar.shown(),
        bar.doing("playing", len(worlds) * options.episodes) as update,
    ):
        for world in worlds:
            update(description=world.name)
            results.append(play_world(world, factory, options, lambda: update(advance=1), writer))
