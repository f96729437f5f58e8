"""Checks of flags that several commands have."""

from __future__ import annotations

from typing import Any

__all__ = ["LARGEST_SEED", "check_flags"]

LARGEST_SEED = 2**31 - 1


def check_flags(options: Any, **least: int) -> None:
    """Raise a ValueError if a flag is below its least value, or ``seed`` above `LARGEST_SEED`."""
    for name, bound in least.items():
        if getattr(options, name) < bound:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(options, name)}; expected at least {bound}")
    if options.seed > LARGEST_SEED:
        raise ValueError(f"--seed is {options.seed}; expected at most {LARGEST_SEED}")
