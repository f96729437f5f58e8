"""Register the environments with Gymnasium and PettingZoo."""

from __future__ import annotations

from typing import Any, NoReturn

import gymnasium
import pettingzoo

__all__ = ["refuse_several_agents", "register_all"]

_GRID_WORLD = "multigrid.envs.grid_world:GridWorldEnv"


def register_all() -> None:
    """Register the ids, except those that are registered already."""
    limits = {
        "multigrid/GridWorld-v0": None,
        "gymnasium_env/GridWorld-v0": None,
        "gym_examples/GridWorld-v0": 300,
    }
    for env_id, max_episode_steps in limits.items():
        if env_id not in gymnasium.registry:
            # For the documented ids, make_vec must return Gymnasium's SyncVectorEnv, as documented.
            vector = "multigrid.envs.grid_world_vector:GridWorldVectorEnv" if env_id.startswith("multigrid/") else None
            gymnasium.register(
                id=env_id,
                entry_point=_GRID_WORLD,
                vector_entry_point=vector,
                max_episode_steps=max_episode_steps,
            )
    # For the error: without the id, Gymnasium suggests GridWorld.
    if "multigrid/MultiGrid-v0" not in gymnasium.registry:
        gymnasium.register("multigrid/MultiGrid-v0", entry_point="multigrid.registration:refuse_several_agents")
    # PettingZoo has a registry since 1.27.
    if hasattr(pettingzoo, "register"):
        pettingzoo.register("parallel", "multigrid/MultiGrid-v0", "multigrid.envs.parallel:parallel_env")
        pettingzoo.register("aec", "multigrid/MultiGrid-v0", "multigrid.envs.aec:env")


def refuse_several_agents(**_options: Any) -> NoReturn:
    """Raise the error of ``gymnasium.make("multigrid/MultiGrid-v0")``, for Gymnasium's environments have one agent.

    >>> gymnasium.make("multigrid/MultiGrid-v0", num_agents=4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gymnasium.error.UnregisteredEnv: multigrid/MultiGrid-v0 has several agents, and Gymnasium's environments have one...
    """
    raise gymnasium.error.UnregisteredEnv(
        "multigrid/MultiGrid-v0 has several agents, and Gymnasium's environments have one; call "
        "multigrid.parallel_env(...), or multigrid.vector_env(...) for many worlds"
    )
