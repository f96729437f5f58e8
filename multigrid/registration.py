"""Register the environments with Gymnasium and PettingZoo."""

from __future__ import annotations

import contextlib

import gymnasium
import pettingzoo
from gymnasium.envs.registration import EnvSpec

__all__ = ["register_all"]

_GRID_WORLD = "multigrid.envs.grid_world:GridWorldEnv"
_MULTI_GRID = "multigrid/MultiGrid-v0"


def register_all() -> None:
    """Register the ids, except those that are registered already or that Gymnasium refuses."""
    # For the documented ids, make_vec must return Gymnasium's SyncVectorEnv, as documented.
    _register("multigrid/GridWorld-v0", _GRID_WORLD, "multigrid.envs.grid_world_vector:GridWorldVectorEnv")
    _register("gymnasium_env/GridWorld-v0", _GRID_WORLD)
    _register("gym_examples/GridWorld-v0", _GRID_WORLD, max_episode_steps=300)
    spec = EnvSpec("multigrid/GridWorld-v1", "multigrid.envs.grid_world:RowColumnGridWorldEnv")
    spec.vector_entry_point = "multigrid.envs.grid_world_vector:RowColumnGridWorldVectorEnv"
    # Under the same name as GridWorld-v0, Gymnasium would warn that GridWorld-v0 is out of date.
    spec.name = "GridWorld-v1"
    gymnasium.registry.setdefault(spec.id, spec)
    # PettingZoo has a registry since 1.27.
    if hasattr(pettingzoo, "register"):
        if _MULTI_GRID not in pettingzoo.parallel_registry:
            pettingzoo.register("parallel", _MULTI_GRID, "multigrid.envs._factories:parallel_env")
        if _MULTI_GRID not in pettingzoo.aec_registry:
            pettingzoo.register("aec", _MULTI_GRID, "multigrid.envs._factories:env")


def _register(env_id: str, entry_point: str, vector: str | None = None, max_episode_steps: int | None = None) -> None:
    # Gymnasium refuses the id if another package has registered it without a version.
    if env_id not in gymnasium.registry:
        with contextlib.suppress(gymnasium.error.RegistrationError):
            gymnasium.register(env_id, entry_point, vector_entry_point=vector, max_episode_steps=max_episode_steps)
