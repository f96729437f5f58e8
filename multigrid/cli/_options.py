"""Check flags that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tyro

from multigrid.config import GridConfig

__all__ = ["LARGEST_SEED", "check_flags", "check_no_grid"]

LARGEST_SEED = 2**31 - 1


def check_flags(options: Any, **least: int) -> None:
    """Raise a ValueError if a flag is below its least value, or ``seed`` above `LARGEST_SEED`."""
    for name, bound in least.items():
        if getattr(options, name) < bound:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(options, name)}; expected at least {bound}")
    if options.seed > LARGEST_SEED:
        raise ValueError(f"--seed is {options.seed}; expected at most {LARGEST_SEED}")


def check_no_grid(arguments: Sequence[str], source: str) -> None:
    """Raise a ValueError if arguments describe a grid although the flag `source` names a world.

    >>> check_no_grid(["--scenario", "maze-17x13-8", "--seed", "3"], "--scenario")
    """
    _, others = tyro.cli(GridConfig, args=arguments, return_unknown_args=True)
    flags = [word for word in arguments if word.startswith("--") and word not in others]
    if flags:
        raise ValueError(f"{source} has its own world, but {', '.join(flags)} came too; leave out one of them")
