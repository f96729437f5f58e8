"""Let worlds draw from generators over PCG64 that users hold, and keep those and the worlds' streams equal."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import is_int, shorten
from multigrid.runtime import pcg64

_LARGEST = ("state", 2**128 - 1), ("inc", 2**128 - 1), ("has_uint32", 1), ("uinteger", 2**32 - 1)


def is_compiled(generator: np.random.Generator) -> bool:
    """Return whether the compiled PCG64 draws as this generator: a Generator over PCG64, no subclass of either."""
    return type(generator) is np.random.Generator and type(generator.bit_generator) is np.random.PCG64


def write_checked_stream(stream: NDArray[np.uint64], state: Any) -> None:
    """Write the state of a NumPy PCG64 to a stream, uint64 (6,); raise ValueError for one that no PCG64 can reach.

    NumPy's own setter accepts an even increment, with which one number is repeated forever.
    """
    try:
        inner = state["state"]
        values = inner["state"], inner["inc"], state["has_uint32"], state["uinteger"]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"it is no state of PCG64: {error!r}") from error
    for value, (name, largest) in zip(values, _LARGEST, strict=True):
        if not (type(value) is int or is_int(value)) or not 0 <= value <= largest:
            raise ValueError(f"{name} is {shorten(value)}; expected an integer from 0 to {largest}")
    number, increment, has_half, half = map(int, values)
    if increment % 2 == 0:
        raise ValueError(f"inc is {increment}, which is even; expected an odd number")
    inner = {"state": number, "inc": increment}
    pcg64.write_stream(stream, {"state": inner, "has_uint32": has_half, "uinteger": half})


def make_pcg64(state: Any) -> np.random.PCG64:
    """Return a new PCG64 in a given state; raise ValueError if that is no state of one."""
    if not isinstance(state, dict) or state.get("bit_generator") != "PCG64":
        raise ValueError("it is not of a PCG64")
    stream = np.zeros(pcg64.STREAM_WORDS, np.uint64)
    write_checked_stream(stream, state)
    bits = np.random.PCG64(0)
    bits.state = pcg64.read_stream(stream)
    return bits


@dataclasses.dataclass
class _Entry:
    generator: np.random.Generator
    last_state: dict[str, Any] | None = None
    """Its state when it last equalled the world's stream."""
    pending_state: dict[str, Any] | None = None
    """In an unfinished copy, the state that the copied generator must get."""


class WorldGenerators:
    """The generators over PCG64 that users have, by world; other worlds have only their streams.

    Kernels draw from the streams. The state of a generator is written to the stream before a kernel draws, and read
    back afterwards. The streams are uint64 (E, 6), see `multigrid.runtime.pcg64`.
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

    def _find(self, worlds: Iterable[int]) -> Iterator[tuple[_Entry, NDArray[np.uint64]]]:
        """Yield the generators of some worlds that users have, with the worlds' streams."""
        for e in worlds:
            if e in self.entries:
                yield self.entries[e], self._streams[e]

    def update_streams(self, worlds: Iterable[int]) -> None:
        """Update the streams of worlds from their generators, from which users may have drawn."""
        for entry, stream in self._find(worlds):
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
        for entry, stream in self._find(worlds):
            state = pcg64.read_stream(stream)
            entry.generator.bit_generator.state = state
            entry.last_state = state
