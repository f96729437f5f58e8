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
from multigrid.envs._exclusive import one_at_a_time
from multigrid.maps._layouts import check_cell, check_pair

NOWHERE = -1  # both coordinates of the agent and of the target before the first episode, as in the documented code

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Location:
    """A cell as an attribute of an env, which can be read, set, and written into until a step or a reset replaces it.

    Users read a copy of the kernel's array. A step replaces the agent's copy, and a reset those of agent and target.
    `field` is the name in `Arrays`, "location" or "target".
    """

    def __init__(self, field: str) -> None:
        self._field = field

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, env: Any, owner: type) -> Any:
        return self if env is None else _read_location(env, self)

    def __set__(self, env: Any, cell: ArrayLike) -> None:
        _set_location(env, self, cell)

    def is_used(self, env: Any) -> bool:
        """Return whether the array that a user read or set last is still current."""
        used = vars(env).get(self._name)
        return used is not None and used[0] == self._moment(env)

    def own(self, env: Any) -> NDArray[np.int64]:
        """Return the world's own cell."""
        cell: NDArray[np.int64] = getattr(env._worlds.arrays, self._field)[0, 0]
        return cell

    def find(self, env: Any) -> NDArray[Any]:
        """Return the array that a user read or set last, if it is still current, or else the world's own."""
        return vars(env)[self._name][1] if self.is_used(env) else self.own(env)

    def use(self, env: Any, cell: ArrayLike) -> NDArray[Any]:
        """Use another array of two integers, and return it; `is_changed` checks whether the cell is in the grid."""
        array = check_pair(self._name, cell, "expected two integers, a cell of the grid")
        vars(env)[self._name] = self._moment(env), array
        return array

    def is_changed(self, env: Any) -> bool:
        """Return whether a user has moved the cell, and check it; before the first reset it may be `NOWHERE`."""
        if not self.is_used(env):
            return False
        used = self.find(env)
        if used.tolist() == self.own(env).tolist():
            return False
        if env._started or NOWHERE not in used.tolist():
            check_cell(self._name, used, env.config.components[0])
        return True

    def _moment(self, env: Any) -> tuple[int, int]:
        """Return two counters: a reset changes one, and for the agent so does a step, even if it raises."""
        arrays = env._worlds.arrays
        return arrays.commits.item(), 0 if self._field == "target" else arrays.steps.item()


@one_at_a_time
def _read_location(env: Any, location: Location) -> NDArray[Any]:
    env._is_plain = False
    return location.find(env) if location.is_used(env) else location.use(env, location.own(env).copy())


@one_at_a_time
def _set_location(env: Any, location: Location, cell: ArrayLike) -> None:
    location.use(env, cell)
    env._is_plain = False


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
