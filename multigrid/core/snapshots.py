"""States that somebody gives, read into arrays of their own, where they are checked before any world changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.core import generators, pcg64
from multigrid.core.arrays import Arrays
from multigrid.core.invariants import RULES

__all__ = ["FIELDS", "breach_message", "read_many", "read_one", "stage"]

FIELDS = (
    *("map_index", "steps", "over", "location", "goal", "status", "arrivals", "arrival_step"),
    *("rewards", "terminated", "truncated", "endings", "outcomes", "distances"),
)
"""The arrays that a state has, besides its random stream."""

_EXPECTED = "expected what get_state() of the same configuration returned"


def stage(arrays: Arrays, num_worlds: int) -> Arrays:
    """Return arrays for the states of K worlds, which share everything that is no state with the given ones."""
    names = (*FIELDS, "streams")
    shapes = {name: (num_worlds, *getattr(arrays, name).shape[1:]) for name in names}
    return arrays._replace(**{name: np.zeros(shapes[name], getattr(arrays, name).dtype) for name in names})


def read_many(staged: Arrays, states: Any) -> None:
    """Copy the states of K worlds, arrays (K, ...) by name, into the staged arrays.

    Raises:
        TypeError: they are no dict.
        ValueError: a field is missing, or has another shape or dtype.
    """
    for name in (*FIELDS, "streams"):
        field = getattr(staged, name)
        field[...] = _checked(states, name, field.shape, field.dtype)


def read_one(staged: Arrays, state: Any) -> dict[str, Any]:
    """Copy the state of one world, arrays and ``np_random``, into the staged arrays, which have room for one.

    A PCG64 is copied to the stream; of any other generator the stream is left as it is.

    Returns:
        The state of NumPy's bit generator, copied.

    Raises:
        TypeError: it is no dict.
        ValueError: a field is missing, has another shape or dtype, or is no state of one of NumPy's bit generators.
    """
    for name in FIELDS:
        field = getattr(staged, name)[0]
        getattr(staged, name)[0] = _checked(state, name, field.shape, field.dtype)
    bits = state.get("np_random")
    try:
        if isinstance(bits, dict) and bits.get("bit_generator") == "PCG64":
            generators.load(staged.streams[0], bits)
            return dict(pcg64.store(staged.streams[0]))
        return dict(generators.bit_generator(bits).state)
    except ValueError as error:
        raise ValueError(
            f"np_random in the state is {bits!r}: {error}; expected the state of one of NumPy's bit generators"
        ) from error


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


def _checked(state: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a field of a state, of the shape and dtype that it must have."""
    if not isinstance(state, dict):
        raise TypeError(f"the state is of type {type(state).__name__}; {_EXPECTED}")
    if name not in state:
        raise ValueError(f"{name} in the state is missing, not {dtype} of shape {shape}; {_EXPECTED}")
    try:
        array = np.asarray(state[name])
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{name} in the state is ragged, or no array; expected {dtype} of shape {shape}; {_EXPECTED}"
        ) from error
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{name} in the state is {array.dtype} of shape {array.shape}, not {dtype} of shape {shape}; {_EXPECTED}"
        )
    # A bool that is neither 0 nor 1 in memory is True to NumPy, and anything to compiled code.
    return array.view(np.uint8) != 0 if dtype == np.bool_ else array
