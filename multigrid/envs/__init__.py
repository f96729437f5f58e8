"""The environments: they check arguments, convert observations and render; the rules are in `multigrid.core`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multigrid.envs.grid_world import GridWorldEnv

__all__ = ["GridWorldEnv"]


def __getattr__(name: str) -> Any:
    # Imported when it is first used: the environments import Numba.
    if name in __all__:
        from multigrid.envs.grid_world import GridWorldEnv

        return GridWorldEnv
    raise AttributeError(f"module 'multigrid.envs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
