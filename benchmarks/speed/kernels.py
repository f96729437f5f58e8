"""Which form of the kernels is in use."""

from __future__ import annotations

from multigrid.runtime.compiled import KERNELS

__all__ = ["AHEAD_OF_TIME", "INTERPRETED", "JUST_IN_TIME", "kernel_form"]

AHEAD_OF_TIME, JUST_IN_TIME, INTERPRETED = "compiled ahead of time", "compiled just in time", "interpreted"


def kernel_form() -> str:
    """Return how the kernels were compiled, see `multigrid.runtime.compiled.KERNELS`."""
    return INTERPRETED if KERNELS == INTERPRETED else f"compiled {KERNELS}"
