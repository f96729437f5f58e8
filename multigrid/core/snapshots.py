"""States that somebody gives, read into arrays of their own, where they are checked before any world changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import shown
from multigrid.config import GridConfig
from multigrid.core import generators, pcg64
from multigrid.core.arrays import Arrays, handle
from multigrid.core.invariants import RULES

__all__ = ["FIELDS", "Stage", "breach_message"]

FIELDS = (
    *("map_index", "steps", "over", "location", "goal", "status", "arrivals", "arrival_step"),
    *("rewards", "terminated", "truncated", "endings", "outcomes", "distances"),
)
"""The arrays that a state has, besides its random stream."""

_EXPECTED = "expected what get_state() of the same configuration returned"


class Stage:
    """Arrays for the states of K worlds, which share everything that is no state with the arrays of all worlds.

    Args:
        arrays: of all worlds.
        num_worlds: K.
        single: whether the states come without K, which then is 1.
    """

    def __init__(self, arrays: Arrays, num_worlds: int, *, single: bool) -> None:
        names = (*FIELDS, "streams")
        shapes = {name: (num_worlds, *getattr(arrays, name).shape[1:]) for name in names}
        self.arrays = arrays._replace(**{name: np.zeros(shapes[name], getattr(arrays, name).dtype) for name in names})
        self.handle = handle(self.arrays)
        self.num_worlds, self.single = num_worlds, single
        by_name = {name: getattr(self.arrays, name) for name in (FIELDS if single else names)}
        self._fields = [
            (name, array.reshape(array.shape[1:]) if single else array, array.dtype == np.bool_)
            for name, array in by_name.items()
        ]

    def read(self, states: Any) -> None:
        """Copy states: arrays by name, (K, ...), or of one world without K.

        Raises:
            TypeError: they are no dict.
            ValueError: a field is missing, or has another shape or dtype.
        """
        if not isinstance(states, dict):
            raise TypeError(f"the state is of type {type(states).__name__}; {_EXPECTED}")
        for name, field, is_bool in self._fields:
            array = states.get(name)
            if type(array) is not np.ndarray or array.dtype is not field.dtype or array.shape != field.shape:
                array = _checked(states, name, field.shape, field.dtype)
            # A bool that is neither 0 nor 1 in memory is True to NumPy, and anything to compiled code.
            field[...] = array.view(np.uint8) != 0 if is_bool else array

    def read_generator(self, state: dict[str, Any]) -> dict[str, Any]:
        """Copy the ``np_random`` of one world's state: a PCG64 to the stream, which any other leaves as it is.

        Returns:
            The state of NumPy's bit generator, copied.

        Raises:
            ValueError: it is no state that one of NumPy's bit generators comes to.
        """
        bits = state.get("np_random")
        try:
            if isinstance(bits, dict) and bits.get("bit_generator") == "PCG64":
                generators.load(self.arrays.streams[0], bits)
                return dict(pcg64.store(self.arrays.streams[0]))
            return dict(generators.bit_generator(bits).state)
        except ValueError as error:
            raise ValueError(
                f"np_random in the state is {shown(bits)}: {error}; expected the state of one of NumPy's bit generators"
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


def _checked(states: dict[str, Any], name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a field of some states, of the shape and dtype that it must have."""
    complaint = ""
    array: NDArray[Any] = np.empty(0)
    if name not in states:
        complaint = "missing"
    else:
        try:
            array = np.asarray(states[name])
        except (ValueError, TypeError):
            complaint = "ragged, or no array"
    if not complaint and (array.shape != shape or array.dtype != dtype):
        complaint = f"{array.dtype} of shape {array.shape}"
    if complaint:
        raise ValueError(f"{name} in the state is {complaint}, not {dtype} of shape {shape}; {_EXPECTED}")
    return array
