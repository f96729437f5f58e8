"""Members of the documented GridWorld that behave as ordinary attributes, though a kernel has their values."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numpy.typing import ArrayLike, NDArray

from multigrid.core.worlds import Worlds
from multigrid.maps.layouts import check_cell, check_pair

__all__ = ["AGENT", "NOWHERE", "TARGET", "Locations", "replaceable"]

AGENT, TARGET = range(2)
NOWHERE = -1
"""Both coordinates of the agent and of the target before the first episode, as in the documented code."""

_NAMES = ("_agent_location", "_target_location")
_Method = TypeVar("_Method", bound=Callable[..., Any])


class Locations:
    """The arrays of the agent's and the target's cell that users have read or set, and may write into.

    As in the documented code, the agent has another array after each step, and both have others after each reset.

    >>> from multigrid.config import GridConfig
    >>> world, locations = Worlds(GridConfig(size=3, num_agents=1, on_target="stay")), Locations()
    >>> location = locations.use(world, AGENT)
    >>> location += 1
    >>> locations.find(world, AGENT).tolist(), world.arrays.location.tolist()
    ([1, 1], [[[0, 0]]])
    """

    def __init__(self) -> None:
        self._used: dict[int, tuple[tuple[int, int], NDArray[Any]]] = {}

    def find(self, world: Worlds, which: int) -> NDArray[Any]:
        """Return the array of a cell that is used, or else the world's own."""
        used = self._find_used(world, which)
        return used if used is not None else (world.arrays.target if which == TARGET else world.arrays.location)[0, 0]

    def use(self, world: Worlds, which: int) -> NDArray[Any]:
        """Return the array of a cell, to be read and written into: integers (2,)."""
        used = self._find_used(world, which)
        return used if used is not None else self.set(world, which, self.find(world, which).copy())

    def _find_used(self, world: Worlds, which: int) -> NDArray[Any] | None:
        if which not in self._used:
            return None
        moment, location = self._used[which]
        return location if moment == _find_moment(world, which) else None

    def set(self, world: Worlds, which: int, location: ArrayLike) -> NDArray[Any]:
        """Use another array of a cell, which may lie outside the grid until `check` is called, and return it.

        Raises:
            TypeError, ValueError: these are not two integers.
        """
        location = check_pair(_NAMES[which], location, "expected two integers [x, y], a cell of the grid")
        self._used[which] = _find_moment(world, which), location
        return location

    def check(self, world: Worlds, *, may_be_nowhere: bool) -> list[NDArray[Any]] | None:
        """Return both cells, or None if they are the world's own.

        Raises:
            ValueError: a cell is outside the grid; with `may_be_nowhere` it may have the coordinate `NOWHERE`.
        """
        if not self._used:
            return None
        cells = [world.arrays.location[0, 0], world.arrays.target[0, 0]]
        is_changed = False
        for which in (AGENT, TARGET):
            location = self.find(world, which)
            if location.tolist() != cells[which].tolist():
                is_changed = True
                may_stay = may_be_nowhere and NOWHERE in location.tolist()
                cells[which] = location if may_stay else check_cell(_NAMES[which], location, world.config.components[0])
        return cells if is_changed else None

    def are_used(self, world: Worlds) -> bool:
        """Return whether the array of a cell is used now."""
        return self._find_used(world, AGENT) is not None or self._find_used(world, TARGET) is not None


def _find_moment(world: Worlds, which: int) -> tuple[int, int]:
    """Return two numbers, of which a reset or the agent's step changes one, also if the call is then interrupted."""
    return world.arrays.commits.item(), 0 if which == TARGET else world.arrays.steps.item()


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
    """Set ``_is_plain`` of an env to False, and ``_is_changed`` to True, when the method is replaced on it.

    >>> class Env:
    ...     @replaceable
    ...     def observe(self):
    ...         return 1
    >>> env = Env()
    >>> env.observe = lambda: 2
    >>> env.observe(), env._is_plain, env._is_changed, Env().observe()
    (2, False, True, 1)
    """
    return cast("_Method", _Replaceable(method))
