"""Register the environments with Gymnasium and PettingZoo."""

from __future__ import annotations

import contextlib

import gymnasium
import pettingzoo

__all__ = ["register_all"]

_GRID_WORLD = "multigrid.envs.grid_world:GridWorldEnv"


def register_all() -> None:
    """Register the ids, except those that are registered already or that Gymnasium refuses."""
    limits = {
        "multigrid/GridWorld-v0": None,
        "gymnasium_env/GridWorld-v0": None,
        "gym_examples/GridWorld-v0": 300,
    }
    for env_id, max_episode_steps in limits.items():
        if env_id in gymnasium.registry:
            continue
        # For the documented ids, make_vec must return Gymnasium's SyncVectorEnv, as documented.
        vector = "multigrid.envs.grid_world_vector:GridWorldVectorEnv" if env_id.startswith("multigrid/") else None
        # Refused where the same id without a version is registered, which means an env of somebody else.
        with contextlib.suppress(gymnasium.error.RegistrationError):
            gymnasium.register(
                id=env_id,
                entry_point=_GRID_WORLD,
                vector_entry_point=vector,
                max_episode_steps=max_episode_steps,
            )
    # PettingZoo has a registry since 1.27.
    if hasattr(pettingzoo, "register"):
        if "multigrid/MultiGrid-v0" not in pettingzoo.parallel_registry:
            pettingzoo.register("parallel", "multigrid/MultiGrid-v0", "multigrid.envs.parallel:parallel_env")
        if "multigrid/MultiGrid-v0" not in pettingzoo.aec_registry:
            pettingzoo.register("aec", "multigrid/MultiGrid-v0", "multigrid.envs.aec:env")
