"""``multigrid train``: parse the flags, and import Stable-Baselines3 only to train with it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from multigrid.cli._options import fill_options, read_given
from multigrid.cli._train_options import TrainOptions, read_run
from multigrid.games._files import find_game


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    given = read_given(TrainOptions, arguments, "multigrid train")
    folder = given.get("resume")
    start = None if folder is None else read_run(folder, find_game(given.get("game"))[0])
    options, console = fill_options(TrainOptions, given, start), Console(stderr=True)
    with console.status("loading Stable-Baselines3"):
        from multigrid.cli._train_sb3 import train
    return train(options, console)
