"""Let worlds draw from NumPy's generators: check the states of bit generators, and keep streams and generators equal.

NumPy's own setters accept states with which NumPy itself reads outside its arrays (MT19937's ``pos``, Philox's
``buffer_pos``) or repeats one number forever (a PCG64 with an even increment, an MT19937 with a key of zeros).
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, shorten
from multigrid.runtime import pcg64

# The arrays of a state: path, dtype and length.
_ARRAYS: dict[str, dict[tuple[str, ...], tuple[type[np.generic], int]]] = {
    "MT19937": {("state", "key"): (np.uint32, 624)},
    "Philox": {("state", "counter"): (np.uint64, 4), ("state", "key"): (np.uint64, 2), ("buffer",): (np.uint64, 4)},
    "SFC64": {("state", "state"): (np.uint64, 4)},
}
# The integers of a state: path and largest value.
_HALF: dict[tuple[str, ...], int] = {("has_uint32",): 1, ("uinteger",): 2**32 - 1}
_PCG64: dict[tuple[str, ...], int] = {("state", "state"): 2**128 - 1, ("state", "inc"): 2**128 - 1, **_HALF}
_INTEGERS: dict[str, dict[tuple[str, ...], int]] = {
    "PCG64": _PCG64,
    "PCG64DXSM": _PCG64,
    "MT19937": {("state", "pos"): 624},
    "Philox": {("buffer_pos",): 4, **_HALF},
    "SFC64": _HALF,
}


def is_compiled(generator: np.random.Generator) -> bool:
    """Return whether the compiled PCG64 draws as this generator: a Generator over PCG64, no subclass of either."""
    return type(generator) is np.random.Generator and type(generator.bit_generator) is np.random.PCG64


def check_state(state: Any) -> None:
    """Raise ValueError for a state that NumPy's bit generator cannot reach; states of other kinds are ignored."""
    kind = state.get("bit_generator") if isinstance(state, Mapping) else None
    if not isinstance(kind, str):
        return
    try:
        if _INTEGERS.get(kind) is _PCG64 and _check_integer(state, ("state", "inc"), 2**128 - 1) % 2 == 0:
            raise ValueError(f"inc is {state['state']['inc']}, which is even; expected an odd number")
        for path, (dtype, length) in _ARRAYS.get(kind, {}).items():
            array = np.asarray(functools.reduce(operator.getitem, path, state))
            if array.dtype != dtype or array.shape != (length,):
                raise ValueError(
                    f"{path[-1]} is {array.dtype} of shape {array.shape}; expected {length} {dtype.__name__}"
                )
        for path, largest in _INTEGERS.get(kind, {}).items():
            _check_integer(state, path, largest)
        # Of the first word only the highest bit counts.
        if kind == "MT19937" and not (np.any(state["state"]["key"][1:]) or state["state"]["key"][0] >> 31):
            raise ValueError("key is zero; expected a key with a bit set, or every number is 0")
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"it is no state of {kind}: {error!r}") from error


def write_checked_stream(stream: NDArray[np.uint64], state: Any) -> None:
    """Write the state of a NumPy PCG64 to a stream, uint64 (6,); raise ValueError for one that no PCG64 can reach."""
    if not _is_plain(state):
        check_state({"bit_generator": "PCG64", **state})
        state = {**state, "state": {name: int(state["state"][name]) for name in ("state", "inc")}}
    pcg64.write_stream(stream, state)


def make_bit_generator(state: Any) -> np.random.BitGenerator:
    """Return a new NumPy bit generator in a given state; raise ValueError for a state that none can reach."""
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


class ForeignStreams(np.ndarray[Any, np.dtype[np.uint64]]):
    """The random streams of a world from which Python draws, see `multigrid.runtime.compiled.Draw`, by a generator."""

    draws: Mapping[str, Callable[..., Any]]
    """The functions in place of those of `multigrid.runtime.pcg64`, by name."""


def make_foreign(streams: NDArray[np.uint64], generator: np.random.Generator) -> ForeignStreams:
    """Return streams from which Python draws by a generator of any kind."""
    foreign = streams.view(ForeignStreams)
    foreign.draws = {
        "draw_integer": functools.partial(_draw_integer, generator),
        "next_float": lambda _streams, _e: float(generator.random()),
    }
    return foreign


def _draw_integer(generator: np.random.Generator, _streams: NDArray[np.uint64], _e: int, limit: int) -> int:
    value = generator.integers(limit)
    if not is_int(value) or not 0 <= int(value) < limit:
        raise ValueError(
            f"np_random.integers({limit}) is {value!r}; expected an integer from 0 to {limit - 1}, "
            "as a numpy.random.Generator returns"
        )
    return int(value)


def _is_plain(state: Any) -> bool:
    """Return whether this is the state of a PCG64 as NumPy returns it, in a fifth of the time of `check_state`."""
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


def _check_integer(state: Any, path: tuple[str, ...], largest: int) -> int:
    value: Any = functools.reduce(operator.getitem, path, state)
    if not is_int(value) or not 0 <= int(value) <= largest:
        raise ValueError(f"{path[-1]} is {shorten(value)}; expected an integer from 0 to {largest}")
    return int(value)


@dataclasses.dataclass
class _Entry:
    generator: np.random.Generator
    last_state: dict[str, Any] | None = None
    """Its state when it last equalled the world's stream."""
    pending_state: dict[str, Any] | None = None
    """In an unfinished copy, the state that the copied generator must get."""


class WorldGenerators:
    """The generators that users have, by world; other worlds have only their streams.

    Kernels draw from the streams. If `is_compiled` holds for a generator, its state is
    written to the stream before a kernel draws, and read back afterwards. Any other generator is called by the kernel.
    The streams are uint64 (E, 6), see `multigrid.runtime.pcg64`.
    """

    def __init__(self, streams: NDArray[np.uint64]) -> None:
        self._streams = streams
        self.entries: dict[int, _Entry] = {}

    def copy(self, streams: NDArray[np.uint64]) -> WorldGenerators:
        """Return a copy for other streams, to be deep-copied or pickled.

        Until then the generators are the same objects, so that environments that are copied together still share them.
        """
        copy = WorldGenerators(streams)
        copy.entries = {
            e: dataclasses.replace(entry, pending_state=dict(entry.generator.bit_generator.state))
            for e, entry in self.entries.items()
        }
        return copy

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for entry in self.entries.values():
            if entry.pending_state is not None:
                entry.generator.bit_generator.state = entry.pending_state
                entry.pending_state = None

    def get(self, e: int) -> np.random.Generator:
        """Return the generator of world e, up to date, created at the first call."""
        entry = self.entries.get(e)
        if entry is None:
            bits = np.random.PCG64(0)
            bits.state = pcg64.read_stream(self._streams[e])
            entry = self.entries[e] = _Entry(np.random.Generator(bits), last_state=dict(bits.state))
        return entry.generator

    def set(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from a generator of the user."""
        self.entries[e] = _Entry(generator)

    def copy_state(self, e: int) -> dict[str, Any]:
        """Return a copy of the state of world e's bit generator; `update_streams` must be called first."""
        entry = self.entries.get(e)
        if entry is not None and not is_compiled(entry.generator):
            return dict(entry.generator.bit_generator.state)
        return dict(pcg64.read_stream(self._streams[e]))

    def _compiled(self, worlds: Iterable[int]) -> Iterator[tuple[_Entry, NDArray[np.uint64]]]:
        """Yield the entries of worlds whose generators are compiled, with the worlds' streams."""
        for e in worlds:
            entry = self.entries.get(e)
            if entry is not None and is_compiled(entry.generator):
                yield entry, self._streams[e]

    def update_streams(self, worlds: Iterable[int]) -> None:
        """Update the streams of worlds from their generators, from which users may have drawn."""
        for entry, stream in self._compiled(worlds):
            state: Any = entry.generator.bit_generator.state
            if state != entry.last_state:
                try:
                    write_checked_stream(stream, state)
                except ValueError as error:
                    raise ValueError(
                        f"np_random is in a state that no PCG64 can reach: {error}; seed it, or give it another state"
                    ) from error
                entry.last_state = state

    def update_generators(self, worlds: Iterable[int]) -> None:
        """Update the generators of worlds from their streams."""
        for entry, stream in self._compiled(worlds):
            state = pcg64.read_stream(stream)
            entry.generator.bit_generator.state = state
            entry.last_state = state

    def prepare(self, worlds: Iterable[int] | None) -> tuple[list[int], np.random.Generator | None]:
        """Prepare the generators of some worlds, or of all, for a kernel that draws.

        Return the worlds whose generators must be updated afterwards, and the generator for the kernel to call, or
        None. Raises ValueError for a generator in a state that is not safe to draw from.
        """
        drawing = [e for e in (self.entries if worlds is None else worlds) if e in self.entries]
        compiled = [e for e in drawing if is_compiled(self.entries[e].generator)]
        foreign = [self.entries[e].generator for e in drawing if e not in compiled]
        try:
            for generator in foreign:
                check_state(generator.bit_generator.state)
        except ValueError as error:
            # NumPy would read outside its arrays, or repeat one number forever.
            raise ValueError(f"np_random is in a state that is not safe to draw from: {error}; seed it anew") from error
        self.update_streams(compiled)
        return compiled, foreign[0] if foreign else None

    def restore(self, e: int, state: Mapping[str, Any] | None) -> None:
        """Set the state of world e's generator, or replace it by one in that state, that of a NumPy bit generator.

        That of a PCG64 is in the stream already. None detaches the generator: the world draws only from its stream.
        """
        if state is None:
            self.entries.pop(e, None)
            return
        entry = self.entries.get(e)
        if entry is not None and type(entry.generator.bit_generator) is getattr(np.random, state["bit_generator"]):
            entry.generator.bit_generator.state = state
            entry.last_state = dict(entry.generator.bit_generator.state)
        elif state["bit_generator"] == "PCG64":
            self.entries.pop(e, None)
        else:
            self.entries[e] = _Entry(np.random.Generator(make_bit_generator(state)))
