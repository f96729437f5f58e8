"""Attributes of the GridWorld of Gymnasium's tutorial that can be set, though kernels store their values."""

# ruff: noqa: SLF001 - these are members of GridWorldEnv

from __future__ import annotations

import enum
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multigrid._checks import is_int, shorten
from multigrid.actions import check_action
from multigrid.envs._env_base import one_at_a_time
from multigrid.maps._layouts import check_cell, check_pair

NOWHERE = -1  # both coordinates of the agent and of the target before the first episode, as in the documented code

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Location:
    """A cell as an attribute of an env, which can be read, set, and written into until a step or a reset replaces it.

    Reading returns a copy, and the env uses what is written into it. A step or a reset discards that of the agent; only
    a reset discards that of the target.
    `field` is the name in `Arrays`, "location" or "target".
    """

    def __init__(self, field: str) -> None:
        self._field = field

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: Any, owner: type) -> Any:
        return self if env is None else _read_location(env, self)

    def __set__(self, env: Any, cell: ArrayLike) -> None:
        _set_location(env, self, cell)

    def own(self, env: Any) -> NDArray[np.int64]:
        """Return the world's own cell."""
        cell: NDArray[np.int64] = getattr(env._worlds.arrays, self._field)[0, 0]
        return cell

    def find(self, env: Any) -> NDArray[Any]:
        """Return the array that a user read or set last, or else the world's own."""
        cell: NDArray[Any] | None = env._user_cells.get(self.name)
        return self.own(env) if cell is None else cell

    def is_changed(self, env: Any) -> bool:
        """Return whether a user has moved the cell, and check it; before the first reset it may be `NOWHERE`."""
        cell = self.find(env)
        if cell.tolist() == self.own(env).tolist():
            return False
        if env._started or NOWHERE not in cell.tolist():
            check_cell(self.name, cell, env.config.components[0])
        return True


@one_at_a_time
def _read_location(env: Any, location: Location) -> NDArray[Any]:
    env._is_plain = False
    return env._user_cells.setdefault(location.name, location.own(env).copy())  # type: ignore[no-any-return]


@one_at_a_time
def _set_location(env: Any, location: Location, cell: ArrayLike) -> None:
    env._is_plain = False
    form = "expected two integers, a cell of the grid"
    env._user_cells[location.name] = check_pair(location.name, cell, form)


def find_step(directions: Any, action: Any) -> NDArray[Any]:
    """Return the step of an action: a key of a dict, or an index of a list."""
    key = action if is_int(action) or isinstance(action, enum.Enum | str) else check_action(action, len(directions))
    try:
        direction = directions[key]
    except LookupError:
        raise ValueError(f"action is {shorten(action)}; expected one of {shorten(list(directions))}") from None
    if isinstance(direction, np.ndarray) and direction.shape == (2,) and direction.dtype.kind in "iu":
        return direction
    return check_pair(f"the direction of action {shorten(key)}", direction, "expected two integers, the step")


class _Replaceable:
    def __init__(self, method: Callable[..., Any]) -> None:
        self._method, self._name, self.__doc__ = method, method.__name__, method.__doc__

    def __get__(self, env: Any, owner: type) -> Any:
        if env is None:
            return self._method
        return vars(env).get(self._name) or types.MethodType(self._method, env)

    def __set__(self, env: Any, method: Any) -> None:
        vars(env).update({"_is_plain": False, "_is_changed": True, self._name: method})

    def __delete__(self, env: Any) -> None:
        del vars(env)[self._name]


def replaceable(method: _Method) -> _Method:
    """Make a method set ``_is_plain`` of an env to False, and ``_is_changed`` to True, when it is replaced there."""
    return cast("_Method", _Replaceable(method))
