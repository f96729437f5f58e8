"""``multigrid train``: parse the flags, and import the libraries of an engine only to train with it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from rich.console import Console

from multigrid.cli import run_command
from multigrid.cli._options import fill_options
from multigrid.cli._train_options import read_train


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    kind, given, start = read_train(arguments)

    def train() -> int:
        options, console = fill_options(kind, given, start), Console(stderr=True)
        with console.status(f"loading {kind.library}"):
            module = importlib.import_module(f"multigrid.cli._train_{kind.engine}")
        code: int = module.train(options, console)
        return code

    return run_command(train, kind.program, kind.extra)
