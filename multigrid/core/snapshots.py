"""States to go back to: their form, and the arrays of their own in which they are checked before any world changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, shorten
from multigrid.config import GridConfig
from multigrid.core import generators, pcg64
from multigrid.core.arrays import Arrays, clean_scratch, pack
from multigrid.core.compiled import COMPILED
from multigrid.core.held import Generators
from multigrid.core.invariants import RULES, SOUND, find_breach

__all__ = ["FIELDS", "VERSION", "Stage", "breach_message", "copy_state", "copy_states"]

FIELDS = (
    *("map_index", "steps", "episode_over", "location", "target", "status", "arrivals", "arrival_step"),
    *("rewards", "terminated", "truncated", "num_ended", "outcomes", "distances"),
)
"""The arrays that a state has, besides its random stream."""

VERSION = 2
"""Raised when the names or the meaning of a state's fields change, so that a state of another form is refused."""

_EXPECTED = "expected what get_state() of the same configuration returned"


def copy_state(arrays: Arrays, generators: Generators, e: int) -> dict[str, Any]:
    """Return the whole state of world e: the version, copied arrays by name, and the random stream with its type.

    Args:
        arrays: of all worlds.
        generators: theirs.
        e: which world.

    Raises:
        ValueError: the generator is in a state that no PCG64 comes to.
    """
    generators.load([e])
    state: dict[str, Any] = {"version": VERSION}
    state |= {name: getattr(arrays, name)[e].copy() for name in FIELDS}
    return state | {"np_random": generators.state(e)}


def copy_states(arrays: Arrays, generators: Generators, worlds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the whole states of K worlds: the version int64 (K,), stacked arrays, the random streams uint64 (K, 6).

    Args:
        arrays: of all worlds.
        generators: theirs.
        worlds: int64 (K,).

    Raises:
        ValueError: a generator is in a state that no PCG64 comes to.
    """
    generators.load(worlds.tolist() if generators.held else ())
    states = {name: getattr(arrays, name)[worlds] for name in (*FIELDS, "streams")}
    return {"version": np.full(len(worlds), VERSION)} | states


class Stage:
    """Arrays for the states of K worlds, which share everything that is no state with the arrays of all worlds.

    Args:
        arrays: of all worlds.
        num_worlds: K.
    """

    def __init__(self, arrays: Arrays, num_worlds: int) -> None:
        self._fields = {
            name: np.zeros((num_worlds, *getattr(arrays, name).shape[1:]), getattr(arrays, name).dtype)
            for name in (*FIELDS, "streams")
        }
        self.arrays = arrays._replace(**self._fields)
        self.address_table = pack(self.arrays)
        self.num_worlds = num_worlds

    def read(self, states: Any) -> None:
        """Copy states from stacked arrays by name, (K, ...).

        Raises:
            TypeError: they are no dict.
            ValueError: they are of another version; or a field is missing, or has another shape or dtype.
        """
        _check_version(states, "the state", (self.num_worlds,))
        for name, field in self._fields.items():
            _copy(states, name, field, "the state")

    def read_each(self, states: Sequence[Any], *, any_generator: bool) -> list[dict[str, Any]]:
        """Copy K states of single worlds. A PCG64 goes into the stream; any other generator leaves that as it is.

        Args:
            states: a dict for each world.
            any_generator: whether there may be generators other than PCG64.

        Returns:
            The states of NumPy's bit generators, copied.

        Raises:
            TypeError: a state is no dict.
            ValueError: as `read`; or the generator's state is none that one of NumPy's bit generators comes to.
        """
        bit_states = []
        for k, state in enumerate(states):
            called = "the state" if len(states) == 1 else f"state {k}"
            _check_version(state, called)
            for name in FIELDS:
                _copy(state, name, self._fields[name][k, ...], called)
            bits = _read_generator(self.arrays.streams[k], state, called)
            if bits["bit_generator"] != "PCG64" and not any_generator:
                raise ValueError(f"np_random in {called} is a {bits['bit_generator']}; expected a PCG64")
            bit_states.append(bits)
        return bit_states

    def check(self, config: GridConfig) -> None:
        """Check what was read.

        Args:
            config: the worlds'.

        Raises:
            ValueError: no game comes to a state.
        """
        if COMPILED:
            breach = find_breach(self.address_table, 0, self.num_worlds, False)
        else:
            # A check that was interrupted has left something there. 64-bit arithmetic wraps, as it is meant to.
            clean_scratch(self.arrays)
            with np.errstate(over="ignore"):
                breach = find_breach(self.address_table, 0, self.num_worlds, False)
        if breach != SOUND:
            raise ValueError(breach_message(self.arrays, int(breach), config))


def breach_message(arrays: Arrays, breach: int, config: GridConfig) -> str:
    """Return what is wrong with a state.

    Args:
        arrays: the states.
        breach: what `multigrid.core.invariants.find_breach` returned of them.
        config: theirs.
    """
    k, rule = divmod(breach, len(RULES))
    field, how = RULES[rule]
    value = getattr(arrays, field)[k].tolist()
    problem = how.format(value=value, maps=config.num_maps, width=config.width, height=config.height)
    where = f" (world {k} of {len(arrays.steps)})" if len(arrays.steps) > 1 else ""
    return f"{field} in the state {problem}{where}; {_EXPECTED}"


def _check_version(state: Any, called: str, shape: tuple[int, ...] = ()) -> None:
    """Refuse what is no state of this version: an int, or for K worlds an array (K,) of them."""
    if not isinstance(state, dict):
        raise TypeError(f"{called} is of type {type(state).__name__}; {_EXPECTED}")
    version: Any = state.get("version")
    is_whole = version.dtype.kind in "iu" if isinstance(version, np.ndarray) else is_int(version)
    if not is_whole or np.any(version != VERSION):
        found = shorten(version) if "version" in state else "missing, as in states of older versions"
        raise ValueError(f"version in {called} is {found}; expected {VERSION}, that of get_state() in this multigrid")
    if np.shape(version) != shape:
        raise ValueError(f"version in {called} is of shape {np.shape(version)}, not {shape}; {_EXPECTED}")


def _copy(states: dict[str, Any], name: str, field: NDArray[Any], called: str) -> None:
    """Copy a field of a state, or of stacked ones, into an array of the shape and dtype that it must have."""
    array = states.get(name)
    if type(array) is not np.ndarray or array.dtype is not field.dtype or array.shape != field.shape:
        array = _checked(states, name, field, called)
    # A bool that is neither 0 nor 1 in memory is True to NumPy, and anything to compiled code.
    field[...] = array.view(np.uint8) != 0 if field.dtype == np.bool_ else array


def _checked(states: dict[str, Any], name: str, field: NDArray[Any], called: str) -> NDArray[Any]:
    complaint = ""
    array: NDArray[Any] = np.empty(0)
    if name not in states:
        complaint = "missing"
    else:
        try:
            array = np.asarray(states[name])
        except (ValueError, TypeError):
            complaint = "ragged, or no array"
    if not complaint and (array.shape != field.shape or array.dtype != field.dtype):
        complaint = f"{array.dtype} of shape {array.shape}"
    if complaint:
        raise ValueError(f"{name} in {called} is {complaint}, not {field.dtype} of shape {field.shape}; {_EXPECTED}")
    return array


def _read_generator(stream: NDArray[np.uint64], state: dict[str, Any], called: str) -> dict[str, Any]:
    bits = state.get("np_random")
    try:
        if isinstance(bits, dict) and bits.get("bit_generator") == "PCG64":
            generators.load(stream, bits)
            return dict(pcg64.store(stream))
        return dict(generators.bit_generator(bits).state)
    except ValueError as error:
        raise ValueError(
            f"np_random in {called} is {shorten(bits)}: {error}; expected the state of one of NumPy's bit generators"
        ) from error
