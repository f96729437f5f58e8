"""The environments: they check arguments, convert observations and render; the rules are in `multigrid.core`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multigrid.envs.grid_world import GridWorldEnv, RowColumnGridWorldEnv

__all__ = ["GridWorldEnv", "RowColumnGridWorldEnv"]


def __getattr__(name: str) -> Any:
    # Imported when it is first used: the environments import Numba.
    if name in __all__:
        return getattr(importlib.import_module("multigrid.envs.grid_world"), name)
    raise AttributeError(f"module 'multigrid.envs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
