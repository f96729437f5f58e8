"""Permit one call of an environment at a time: until it returns and resets ``self._call``, others raise RuntimeError.

CPython switches threads and runs signal handlers only where a function starts, after a call and where a loop repeats.
So nothing can run between reading ``self._call`` and setting it, between that and the ``try``, or between the end of
the method and resetting it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from multigrid.config import GridConfig
from multigrid.core.worlds import Worlds

_P = ParamSpec("_P")
_Result = TypeVar("_Result")
_Env = TypeVar("_Env", bound="Face")


class Face:
    """The base class of the environments: their worlds, the seeds of the worlds' streams, and the call under way."""

    _worlds: Worlds
    _call: str | None = None
    # A number of commits, see `Arrays.commits`; the seed from that commit on; and the seed before it.
    _seed_record: tuple[int, Any, Any]

    @property
    def config(self) -> GridConfig:
        """The configuration, which cannot be changed."""
        return self._worlds.config

    def __copy__(self) -> Any:
        # Two environments that share arrays would move each other's agents.
        return copy.deepcopy(self)

    def _recorded_seed(self) -> Any:
        commit, seed, before = self._seed_record
        return seed if self._worlds.arrays.commits.item() >= commit else before

    def _record_seed(self, seed: Any, before: Any) -> None:
        """Record a seed before the kernel call that begins its stream, so that no exception comes between the two."""
        self._seed_record = self._worlds.arrays.commits.item() + 1, seed, before

    def _finish_interrupted_call(self) -> None:
        """Complete a call that an exception interrupted."""
        self._worlds.finish_commit()


def overlapping_call_error(name: str, under_way: str) -> RuntimeError:
    """Return the error for a call during another call."""
    return RuntimeError(
        f"{name}() was called while {under_way}() of the same environment was under way, in another thread or in what "
        "interrupted it; give each thread an environment of its own"
    )


def one_at_a_time(method: Callable[Concatenate[_Env, _P], _Result]) -> Callable[Concatenate[_Env, _P], _Result]:
    """Make a method raise RuntimeError while another such method of the same object runs."""
    name = method.__name__.strip("_")

    @functools.wraps(method)
    def call(self: _Env, /, *args: _P.args, **kwargs: _P.kwargs) -> _Result:
        if self._call is not None:
            raise overlapping_call_error(name, self._call)
        self._call = name
        try:
            self._finish_interrupted_call()
            return method(self, *args, **kwargs)
        finally:
            self._call = None

    return call
