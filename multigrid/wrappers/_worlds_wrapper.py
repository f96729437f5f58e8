"""The base of the wrappers of vector envs: their configuration, states and metrics stay those of the env."""

from __future__ import annotations

from typing import Any

import gymnasium

from multigrid._checks import shorten
from multigrid.config import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv


class WorldsWrapper(gymnasium.vector.VectorWrapper):
    """A wrapper of a vector env of multigrid; any other env is a TypeError."""

    def __init__(self, env: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        given: Any = env
        if not isinstance(given, gymnasium.vector.VectorEnv) or not isinstance(given.unwrapped, MultiGridVectorEnv):
            came = f"env is {shorten(given)}, of type {type(given).__name__}"
            raise TypeError(f"{came}; expected what multigrid.vector_env(...) returns")
        super().__init__(env)
        self._worlds: MultiGridVectorEnv = given.unwrapped

    @property
    def config(self) -> GridConfig:
        """The worlds' configuration."""
        return self._worlds.config

    def get_state(self, worlds: Any = None, *, single: bool = False) -> Any:
        """Return the env's states, as `multigrid.MultiGridVectorEnv.get_state`."""
        return self._worlds.get_state(worlds, single=True) if single else self._worlds.get_state(worlds)

    def set_state(self, states: Any, worlds: Any = None) -> None:
        """Set the env's states, as `multigrid.MultiGridVectorEnv.set_state`."""
        self._worlds.set_state(states, worlds)

    def metrics(self, *, as_lists: bool = False) -> dict[str, Any]:
        """Return the env's metrics, as `multigrid.MultiGridVectorEnv.metrics`."""
        return self._worlds.metrics(as_lists=as_lists)
