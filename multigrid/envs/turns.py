"""One call of an environment at a time.

A compiled kernel lets other threads run, and a signal handler may run between any two lines of Python. So every call
that reads or changes worlds says that it is under way, and a second one is refused.

CPython changes threads and runs signal handlers only where a function starts, after a call and where a loop repeats. So
nothing comes between the look at ``self._call`` and the assignment after it, nor between that and the ``try``, nor
between the end of the method and the assignment that ends the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

__all__ = ["OneCallAtATime", "one_at_a_time", "refusal"]

_P = ParamSpec("_P")
_Result = TypeVar("_Result")
_Env = TypeVar("_Env", bound="OneCallAtATime")


class OneCallAtATime:
    """The base of environments whose calls `one_at_a_time` keeps apart; they set `_call` to None when they are made."""

    _call: str | None
    """The call that is under way."""

    def _complete(self) -> None:
        """Do what a call that an exception interrupted has left to do."""


def refusal(name: str, under_way: str) -> RuntimeError:
    """Return the error for a call that comes while another is under way.

    >>> str(refusal("reset", "step"))[:63]
    'reset() was called while step() of the same environment was und'
    """
    return RuntimeError(
        f"{name}() was called while {under_way}() of the same environment was under way, in another thread or in what "
        "interrupted it; give each thread an environment of its own"
    )


def one_at_a_time(
    method: Callable[Concatenate[_Env, _P], _Result],
) -> Callable[Concatenate[_Env, _P], _Result]:
    """Decorate a method that raises RuntimeError while another such method of the same object is under way.

    >>> class Counter(OneCallAtATime):
    ...     _call = None
    ...
    ...     @one_at_a_time
    ...     def count(self):
    ...         return self.count()
    >>> Counter().count()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: count() was called while count() of the same environment was under way, ...
    """
    name = method.__name__.strip("_")

    @functools.wraps(method)
    def call(self: _Env, /, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        under_way = self._call
        if under_way is None:
            self._call = name
        else:
            raise refusal(name, under_way)
        try:
            self._complete()
            return method(self, *args, **kwargs)
        finally:
            self._call = None

    return call
