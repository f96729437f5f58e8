"""What a policy remembers of the environment that it plays, and how it reads its state and names its actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv

_Value = TypeVar("_Value")


class _Known(NamedTuple):
    """What a value is made from where maps are drawn: the configuration with the map of the present episode."""

    config: GridConfig


class Memory(Generic[_Value]):
    """A cached value for the last environment, or with `of_many` for each one; a change of `config` replaces it.

    So does another map where maps are drawn, for one world; many worlds have no such value.
    """

    def __init__(self, make: Callable[[Any], _Value], *, of_many: bool = False) -> None:
        self._make, self._of_many = make, of_many
        self._values: WeakKeyDictionary[Any, tuple[GridConfig, bytes, _Value]] = WeakKeyDictionary()

    def of(self, env: Any) -> _Value:
        """Return the value for an environment."""
        entry, walls = self._values.get(env), None
        if env.config.draws_maps and isinstance(env, MultiGridEnv):
            walls = env.get_state()["walls"]
        drawn = b"" if walls is None else walls.tobytes()
        if entry is None or entry[0] is not env.config or entry[1] != drawn:
            known = env if walls is None else _Known(dataclasses.replace(env.config, walls=walls))
            entry = env.config, drawn, self._make(known)
            if not self._of_many:
                self._values.clear()
            self._values[env] = entry
        return entry[2]


def read_state(env: MultiGridEnv, fields: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return some parts of an environment's state in the form that they have for a vector env of one world."""
    state: Any = env.get_state()
    return {name: np.asarray(state[name])[None] for name in fields}


def name_actions(env: MultiGridEnv, actions: Sequence[int]) -> dict[str, int]:
    """Return the actions of the agents in ``env.agents``, given those of all in order."""
    by_agent = dict(zip(env.possible_agents, actions, strict=True))
    return {agent: by_agent[agent] for agent in env.agents}
