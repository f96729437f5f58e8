"""``multigrid train``: parse the flags, and import the libraries of an engine only to train with it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from multigrid.cli import run_command
from multigrid.cli._train_options import RLlibOptions, SB3Options, parse_train


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    console, options = Console(stderr=True), parse_train(arguments)
    if isinstance(options, RLlibOptions):
        rllib_options = options
        return run_command(lambda: _train_by_rllib(rllib_options, console), options.program, "rllib")
    return _train_by_sb3(options, console)


def _train_by_sb3(options: SB3Options, console: Console) -> int:
    with console.status("loading Stable-Baselines3"):
        from multigrid.cli import _train_sb3
    return _train_sb3.train(options, console)


def _train_by_rllib(options: RLlibOptions, console: Console) -> int:
    with console.status("loading Ray RLlib"):
        from multigrid.cli import _train_rllib
    return _train_rllib.train(options, console)
