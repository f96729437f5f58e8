"""NumPy's generators that users hold: which states of theirs are safe to draw from, and what they draw.

NumPy's own setters accept states with which NumPy itself reads outside its arrays (MT19937's ``pos``, Philox's
``buffer_pos``) or repeats one number for ever (a PCG64 with an even increment, an MT19937 with a key of zeros).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, shown
from multigrid.core import pcg64

__all__ = ["bit_generator", "check_state", "checked_integers", "is_compiled", "load"]

# The arrays of a state by name: where it stands, its dtype and its length.
_ARRAYS: dict[str, dict[tuple[str, ...], tuple[type[np.generic], int]]] = {
    "MT19937": {("state", "key"): (np.uint32, 624)},
    "Philox": {("state", "counter"): (np.uint64, 4), ("state", "key"): (np.uint64, 2), ("buffer",): (np.uint64, 4)},
    "SFC64": {("state", "state"): (np.uint64, 4)},
}
# The integers, with the largest that each may be.
_HALF: dict[tuple[str, ...], int] = {("has_uint32",): 1, ("uinteger",): 2**32 - 1}
_PCG64: dict[tuple[str, ...], int] = {("state", "state"): 2**128 - 1, ("state", "inc"): 2**128 - 1, **_HALF}
_INTEGERS: dict[str, dict[tuple[str, ...], int]] = {
    "PCG64": _PCG64,
    "PCG64DXSM": _PCG64,
    "MT19937": {("state", "pos"): 624},
    "Philox": {("buffer_pos",): 4, **_HALF},
    "SFC64": _HALF,
}
_PCG64_KINDS = ("PCG64", "PCG64DXSM")


def is_compiled(generator: np.random.Generator) -> bool:
    """Return whether the compiled PCG64 draws what this generator draws: a Generator over PCG64, no subclass of either.

    >>> is_compiled(np.random.default_rng(0)), is_compiled(np.random.Generator(np.random.SFC64(0)))
    (True, False)
    """
    return type(generator) is np.random.Generator and type(generator.bit_generator) is np.random.PCG64


def check_state(state: Any) -> None:
    """Check the state of one of NumPy's bit generators; that of any other kind is not looked at.

    Args:
        state: what the ``state`` attribute of a bit generator returns.

    Raises:
        ValueError: the bit generator never comes to this state.

    >>> check_state(np.random.Philox(3).state)
    """
    kind = state.get("bit_generator") if isinstance(state, Mapping) else None
    if not isinstance(kind, str):
        return
    try:
        if kind in _PCG64_KINDS and _integer(state, ("state", "inc"), 2**128 - 1) % 2 == 0:
            raise ValueError(f"inc is {state['state']['inc']}, which is even; expected an odd number")
        for path, (dtype, length) in _ARRAYS.get(kind, {}).items():
            array = np.asarray(_at(state, path))
            if array.dtype != dtype or array.shape != (length,):
                raise ValueError(
                    f"{path[-1]} is {array.dtype} of shape {array.shape}; expected {length} {dtype.__name__}"
                )
        for path, largest in _INTEGERS.get(kind, {}).items():
            _integer(state, path, largest)
        if kind == "MT19937" and not _has_bits(np.asarray(state["state"]["key"])):
            raise ValueError("key is zero; expected a key with a bit set, or every number is 0")
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"it is no state of {kind}: {error!r}") from error


def load(stream: NDArray[np.uint64], state: Any) -> None:
    """Write the state of a NumPy PCG64 into a stream: uint64 (6,), see `multigrid.core.pcg64`.

    Raises:
        ValueError: no PCG64 comes to this state; the stream is then as it was.

    >>> load(np.zeros(6, np.uint64), np.random.PCG64(7).state)
    """
    if not _is_plain(state):
        check_state({"bit_generator": "PCG64", **state})
        state = {**state, "state": {name: int(state["state"][name]) for name in ("state", "inc")}}
    pcg64.load(stream, state)


def bit_generator(state: Any) -> np.random.BitGenerator:
    """Return a new bit generator of NumPy's in a state.

    Raises:
        ValueError: it is no state that one of NumPy's bit generators comes to.

    >>> bit_generator(np.random.SFC64(3).state).random_raw() == np.random.SFC64(3).random_raw()
    True
    """
    kind = state.get("bit_generator") if isinstance(state, dict) else None
    if not isinstance(kind, str) or kind not in _INTEGERS:
        raise ValueError("expected the state of one of NumPy's bit generators")
    check_state(state)
    bits: np.random.BitGenerator = getattr(np.random, kind)(0)
    try:
        bits.state = state
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise ValueError(f"it is no state of {kind}: {error!r}") from error
    return bits


def checked_integers(generator: np.random.Generator) -> Callable[[Any, int, int], int]:
    """Return what draws for the kernels through a generator, as `multigrid.core.pcg64.bounded` does from a stream.

    Raises:
        ValueError: at a draw, where ``generator.integers(limit)`` is no integer from 0 to limit - 1.

    >>> checked_integers(np.random.default_rng(0))(None, 0, 1)
    0
    """

    def bounded(_streams: NDArray[np.uint64], _e: int, limit: int) -> int:
        value = generator.integers(limit)
        if not is_int(value) or not 0 <= int(value) < limit:
            raise ValueError(
                f"np_random.integers({limit}) is {value!r}; expected an integer from 0 to {limit - 1}, "
                "as a numpy.random.Generator returns"
            )
        return int(value)

    return bounded


def _is_plain(state: Any) -> bool:
    """Whether it is such a state as NumPy returns, which is told in a fifth of the time that `check_state` takes."""
    try:
        inner, has_half, half = state["state"], state["has_uint32"], state["uinteger"]
        number, increment = inner["state"], inner["inc"]
    except (TypeError, KeyError, IndexError):
        return False
    return (
        type(number) is type(increment) is type(has_half) is type(half) is int
        and 0 <= number < 2**128
        and 0 <= increment < 2**128
        and increment % 2 == 1
        and 0 <= has_half <= 1
        and 0 <= half < 2**32
    )


def _at(state: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        state = state[name]
    return state


def _integer(state: Any, path: tuple[str, ...], largest: int) -> int:
    value = _at(state, path)
    if not is_int(value) or not 0 <= int(value) <= largest:
        raise ValueError(f"{path[-1]} is {shown(value)}; expected an integer from 0 to {largest}")
    return int(value)


def _has_bits(key: NDArray[np.uint32]) -> bool:
    """Say whether an MT19937 goes anywhere from a key, of whose first word only the highest bit counts."""
    return bool(key[1:].any() or key[0] >> 31)
