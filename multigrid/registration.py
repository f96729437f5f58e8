"""Register the environments with Gymnasium and PettingZoo."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator
from typing import Any, NoReturn

import gymnasium
import pettingzoo
from gymnasium.envs.registration import EnvSpec

__all__ = ["refuse_several_agents", "register_all"]

_GRID_WORLD = "multigrid.envs.grid_world:GridWorldEnv"
_MULTI_GRID = "multigrid/MultiGrid-v0"
_SIZES, _LEVELS = ("tiny", "small", "medium", "large"), ("", "-easy", "-hard")


def register_all() -> None:
    """Register the ids, except those that are registered already or that Gymnasium refuses."""
    # For the documented ids, make_vec must return Gymnasium's SyncVectorEnv, as documented.
    _register("multigrid/GridWorld-v0", _GRID_WORLD, "multigrid.envs.grid_world_vector:GridWorldVectorEnv")
    _register("gymnasium_env/GridWorld-v0", _GRID_WORLD)
    _register("gym_examples/GridWorld-v0", _GRID_WORLD, max_episode_steps=300)
    # For the error: without the id, Gymnasium suggests GridWorld.
    _register(_MULTI_GRID, "multigrid.registration:refuse_several_agents")
    # Not by `gymnasium.register`, which looks at all ids for each, and not each by `EnvSpec`, which parses its id.
    tuples = EnvSpec("multigrid/tuples-v0", "multigrid.games._tuple_env:TupleEnv", disable_env_checker=True)
    for name, version in _list_originals():
        spec = copy.copy(tuples)
        spec.id, spec.name, spec.version = f"multigrid/{name}-v{version}", name, version
        spec.kwargs = {"game_id": f"{name}-v{version}"}
        gymnasium.registry.setdefault(spec.id, spec)
    # PettingZoo has a registry since 1.27.
    if hasattr(pettingzoo, "register"):
        if _MULTI_GRID not in pettingzoo.parallel_registry:
            pettingzoo.register("parallel", _MULTI_GRID, "multigrid.envs._factories:parallel_env")
        if _MULTI_GRID not in pettingzoo.aec_registry:
            pettingzoo.register("aec", _MULTI_GRID, "multigrid.envs._factories:env")


def _list_originals() -> Iterator[tuple[str, int]]:
    """Yield the names and versions of the ids that rware 2.0.0 and lbforaging 2.0.0 register when they are imported."""
    for size, agents, level in itertools.product(_SIZES, range(1, 20), _LEVELS):
        yield f"rware-{size}-{agents}ag{level}", 2
    for sight, side, players, foods, coop in itertools.product(
        ("", "-2s"), range(5, 20), range(2, 10), range(1, 5), ("", "-coop")
    ):
        yield f"Foraging{sight}-{side}x{side}-{players}p-{foods}f{coop}", 3


def _register(env_id: str, entry_point: str, vector: str | None = None, max_episode_steps: int | None = None) -> None:
    # Gymnasium refuses the id if another package has registered it without a version.
    if env_id not in gymnasium.registry:
        with contextlib.suppress(gymnasium.error.RegistrationError):
            gymnasium.register(env_id, entry_point, vector_entry_point=vector, max_episode_steps=max_episode_steps)


def refuse_several_agents(**_options: Any) -> NoReturn:
    """Raise the error of ``gymnasium.make("multigrid/MultiGrid-v0")``, for Gymnasium's environments have one agent.

    >>> gymnasium.make("multigrid/MultiGrid-v0", num_agents=4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gymnasium.error.UnregisteredEnv: multigrid/MultiGrid-v0 has several agents, and Gymnasium's environments have one...
    """
    raise gymnasium.error.UnregisteredEnv(
        f"{_MULTI_GRID} has several agents, and Gymnasium's environments have one; call multigrid.parallel_env(...), "
        "or multigrid.vector_env(...) for many worlds"
    )
