"""The base class of the environments: one call at a time; after one that was cut off, only those that begin anew.

``self._call`` has the name of the call under way. From the first change that a call makes to its last one,
`Worlds.is_changing` is set. If an exception, be it of a signal handler, comes between the two, it stays set,
``self._call`` is `CUT_OFF`, and all methods but `reset`, `set_state` and `close` raise RuntimeError. An exception that
comes earlier, such as that for a bad argument, leaves the environment as it was.

CPython switches threads and runs signal handlers only where a function starts, after a call, and where code jumps, from
Python 3.11 on only backwards. So nothing can run between reading ``self._call`` and setting it, between that and the
``try``, or between the end of the method and setting it again: no jump is taken there.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from multigrid.config import GridConfig
from multigrid.core.worlds import Worlds

_P = ParamSpec("_P")
_Result = TypeVar("_Result")
_Env = TypeVar("_Env", bound="EnvBase")

CUT_OFF = "cut off"
AFTER_CALL = (None, CUT_OFF)
"""What ``self._call`` is after a call, by `Worlds.is_changing`: an expression with ``if`` would jump."""


class EnvBase:
    """The base class of the environments: their worlds, and the call under way."""

    _worlds: Worlds
    _call: str | None = None

    @property
    def config(self) -> GridConfig:
        """The configuration, which cannot be changed."""
        return self._worlds.config

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind_arrays()

    def _bind_arrays(self) -> None:
        """Bind the arrays that each step reads and writes."""

    def __copy__(self) -> Any:
        # Two environments that share arrays would move each other's agents.
        return copy.deepcopy(self)

    def _refusal(self, name: str, under_way: str | None) -> RuntimeError:
        """Return the error for a call during another one, or after one that was cut off."""
        if under_way == CUT_OFF:
            return RuntimeError(
                f"an exception has interrupted a call before {name}(), and what it changes is half done: call reset(), "
                "or set_state(), of all worlds, to go on"
            )
        return RuntimeError(
            f"{name}() was called while {under_way}() of the same environment was under way, in another thread or in "
            "what interrupted it; give each thread an environment of its own"
        )


def one_at_a_time(method: Callable[Concatenate[_Env, _P], _Result]) -> Callable[Concatenate[_Env, _P], _Result]:
    """Make a method raise RuntimeError while another such method of the object runs, or after one that was cut off."""
    name = method.__name__.strip("_")
    allowed = (None, CUT_OFF) if name in {"reset", "set_state"} else (None,)

    @functools.wraps(method)
    def call(self: _Env, /, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        worlds, under_way = self._worlds, self._call
        if under_way in allowed:
            self._call = name
        else:
            raise self._refusal(name, under_way)
        try:
            if under_way is not None:
                worlds.mend()
            result = method(self, *args, **kwargs)
            worlds.is_changing = False
            return result
        finally:
            self._call = AFTER_CALL[worlds.is_changing]

    return call


def forward(inner: str, name: str, doc: str) -> Any:
    """Return a property of a wrapper that reads and sets one of the environment in its attribute `inner`."""

    def write(wrapper: Any, value: Any) -> None:
        setattr(getattr(wrapper, inner), name, value)

    return property(operator.attrgetter(f"{inner}.{name}"), write, doc=doc)


SHAPING = "The weight of shaped rewards, of a game with an option `shaping`; what is set holds from the next step on."


class HasShaping(EnvBase):
    """The base class of environments of games; a subclass of `multigrid.GridWorldEnv` may use the name `shaping`."""

    @property
    def shaping(self) -> float:
        """The weight of shaped rewards, of a game with an option `shaping`; what is set holds from the next step on.

        Raises:
            AttributeError: there is no such option.
            TypeError, ValueError: a value that the option cannot have; the env is unchanged.
        """
        if "shaping" not in (self.config.options or {}):
            raise AttributeError("shaping is an option of games with shaped rewards; there is no such game")
        return float(self._worlds.arrays.own.shaping)

    @shaping.setter
    @one_at_a_time
    def shaping(self, weight: float) -> None:
        options = {**(self.config.given["options"] or {}), "shaping": weight}
        checked = dataclasses.replace(self.config, options=options).options or {}
        self._worlds.set_number("shaping", checked["shaping"])
