"""What a policy remembers of the environment that it plays, and how it reads its state and names its actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import ROW_COLUMN_ACTIONS
from multigrid.config import GridConfig
from multigrid.envs.grid_world_vector import RowColumnGridWorldVectorEnv
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv

_Value = TypeVar("_Value")


class _Known(NamedTuple):
    """What a value is made from where maps are drawn: an empty map for each world, for the walls are in the states."""

    config: GridConfig
    num_worlds: int
    drawn: GridConfig  # the configuration of the environment


class Memory(Generic[_Value]):
    """The value computed for an environment, in whatever wrappers it comes.

    It is computed again if `config` changes. Where maps are drawn, that of one world is computed again if its map
    changes, and that of many worlds covers all their maps. Only the last environment's value is kept, or with `of_many`
    that of each. A pickle includes the value, and the first environment with the same config, number of worlds and map
    uses it. With `of_many` a pickle has none, since no result depends on them.
    """

    def __init__(self, make: Callable[[Any], _Value], *, of_many: bool = False) -> None:
        self._make, self._of_many = make, of_many
        self._values: WeakKeyDictionary[Any, tuple[GridConfig, Any, _Value]] = WeakKeyDictionary()
        self._unpickled: tuple[GridConfig, Any, _Value] | None = None

    def of(self, env: Any) -> _Value:
        """Return the value for an environment."""
        env = env.unwrapped
        config, worlds = env.config, getattr(env, "num_worlds", 1)
        if config.draws_maps and isinstance(env, MultiGridEnv):
            worlds = env.map_walls.tobytes()
        entry = self._values.get(env, self._unpickled)
        if entry is None or entry[1] != worlds or (entry[0] is not config and entry[0] != config):
            entry = config, worlds, self._make(_know(env) if config.draws_maps else env)
            if not self._of_many:
                self._values.clear()
        self._values[env], self._unpickled = (config, *entry[1:]), None
        return entry[2]

    def __getstate__(self) -> dict[str, Any]:
        last = None if self._of_many else next(iter(self._values.values()), self._unpickled)
        return {**vars(self), "_values": None, "_unpickled": last}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _values=WeakKeyDictionary())


def _know(env: Any) -> _Known:
    config, num_worlds = env.config, getattr(env, "num_worlds", 1)
    no_walls = np.zeros((num_worlds, config.width, config.height), np.bool_)
    return _Known(dataclasses.replace(config, walls=no_walls), num_worlds, config)


def read_state(env: MultiGridEnv, fields: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return parts of an environment's state, and a drawn map, in the form that a vector env of one world has."""
    unwrapped: Any = env.unwrapped
    state = unwrapped.get_state()
    walls = ("walls",) if env.config.draws_maps else ()
    return {name: np.asarray(state[name])[None] for name in (*fields, *walls)}


def read_states(vector_env: MultiGridVectorEnv) -> dict[str, NDArray[Any]]:
    """Return the states of all worlds; where maps are drawn, map m is that of world m."""
    states = dict[str, Any](vector_env.get_state())
    return states | {"map_index": np.arange(vector_env.num_worlds)} if vector_env.config.draws_maps else states


def number_actions(vector_env: MultiGridVectorEnv, actions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers that an environment's `step` expects for actions."""
    is_turned = isinstance(vector_env, RowColumnGridWorldVectorEnv)
    return np.argsort(ROW_COLUMN_ACTIONS)[actions] if is_turned else actions


def name_actions(env: MultiGridEnv, actions: Sequence[int]) -> dict[str, int]:
    """Return the actions of the agents in ``env.agents``, given those of all in order."""
    by_agent = dict(zip(env.possible_agents, actions, strict=True))
    return {agent: by_agent[agent] for agent in env.agents}
