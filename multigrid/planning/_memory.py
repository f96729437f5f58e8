"""What a policy remembers of the environment that it plays, and how it reads its state and names its actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv

_Value = TypeVar("_Value")


class Memory(Generic[_Value]):
    """A cached value for the last environment, or with `of_many` for each one; a change of `config` replaces it."""

    def __init__(self, make: Callable[[Any], _Value], *, of_many: bool = False) -> None:
        self._make, self._of_many = make, of_many
        self._values: WeakKeyDictionary[Any, tuple[GridConfig, _Value]] = WeakKeyDictionary()

    def of(self, env: Any) -> _Value:
        """Return the value for an environment."""
        entry = self._values.get(env)
        if entry is None or entry[0] is not env.config:
            entry = env.config, self._make(env)
            if not self._of_many:
                self._values.clear()
            self._values[env] = entry
        return entry[1]


def read_state(env: MultiGridEnv, fields: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return some parts of an environment's state in the form that they have for a vector env of one world."""
    state: Any = env.get_state()
    return {name: np.asarray(state[name])[None] for name in fields}


def name_actions(env: MultiGridEnv, actions: Sequence[int]) -> dict[str, int]:
    """Return the actions of the agents in ``env.agents``, given those of all in order."""
    by_agent = dict(zip(env.possible_agents, actions, strict=True))
    return {agent: by_agent[agent] for agent in env.agents}
