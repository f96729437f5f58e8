"""``multigrid train``: parse the flags, and import the libraries of an engine only to train with it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from multigrid.cli import run_command
from multigrid.cli._options import fill_options
from multigrid.cli._train_options import RLlibOptions, SB3Options, read_train


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    kind, given, start = read_train(arguments)
    extra = "rllib" if kind is RLlibOptions else "train"
    return run_command(lambda: _train(fill_options(kind, given, start)), kind.program, extra)


def _train(options: SB3Options | RLlibOptions) -> int:
    console = Console(stderr=True)
    if isinstance(options, RLlibOptions):
        with console.status("loading Ray RLlib"):
            from multigrid.cli import _train_rllib
        return _train_rllib.train(options, console)
    with console.status("loading Stable-Baselines3"):
        from multigrid.cli import _train_sb3
    return _train_sb3.train(options, console)
