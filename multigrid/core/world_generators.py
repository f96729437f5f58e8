"""Synchronize the generators that users have with the random streams of the worlds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.core import generators
from multigrid.runtime import pcg64


@dataclasses.dataclass
class _Entry:
    generator: np.random.Generator
    last_state: dict[str, Any] | None = None
    """Its state when it last equalled the world's stream."""
    pending_state: dict[str, Any] | None = None
    """In an unfinished copy, the state that the copied generator must get."""


class WorldGenerators:
    """The generators that users have, by world; other worlds have only their streams.

    Kernels draw from the streams. If `multigrid.core.generators.is_compiled` holds for a generator, its state is
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
        if entry is not None and not generators.is_compiled(entry.generator):
            return dict(entry.generator.bit_generator.state)
        return dict(pcg64.read_stream(self._streams[e]))

    def _compiled(self, worlds: Iterable[int]) -> Iterator[tuple[_Entry, NDArray[np.uint64]]]:
        """Yield the entries of worlds whose generators are compiled, with the worlds' streams."""
        for e in worlds:
            entry = self.entries.get(e)
            if entry is not None and generators.is_compiled(entry.generator):
                yield entry, self._streams[e]

    def update_streams(self, worlds: Iterable[int]) -> None:
        """Update the streams of worlds from their generators, from which users may have drawn."""
        for entry, stream in self._compiled(worlds):
            state: Any = entry.generator.bit_generator.state
            if state != entry.last_state:
                try:
                    generators.write_checked_stream(stream, state)
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
        compiled = [e for e in drawing if generators.is_compiled(self.entries[e].generator)]
        foreign = [self.entries[e].generator for e in drawing if e not in compiled]
        try:
            for generator in foreign:
                generators.check_state(generator.bit_generator.state)
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
            self.entries[e] = _Entry(np.random.Generator(generators.make_bit_generator(state)))
