"""The generators that users hold, kept in step with the streams of the worlds that draw from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.core import generators, pcg64
from multigrid.core.arrays import unpack
from multigrid.core.compiled import interpreted, unsigned

__all__ = ["Generators", "draw_through"]


@dataclasses.dataclass
class _Held:
    generator: np.random.Generator
    is_replacement: bool = False
    """Whether it came from outside."""
    known: dict[str, Any] | None = None
    """The state in which it was when it last equalled the world's stream."""
    is_behind: bool = False
    """Whether the stream may have gone on since."""
    copied: dict[str, Any] | None = None
    """In a copy that is not complete: the state that the copied generator gets, wherever this one goes meanwhile."""


class Generators:
    """The generators by world; a world has none before its generator is asked for.

    A kernel draws from the streams. A generator that is compiled (`multigrid.core.generators.is_compiled`) is loaded
    into its stream before a kernel draws, and stored from it afterwards. Any other draws for the kernel itself.

    Args:
        streams: uint64 (E, 6), see `multigrid.core.pcg64`.

    >>> streams = pcg64.seeded(np.array([7], np.uint64))
    >>> held = Generators(streams)
    >>> bool(held.get(0).integers(9) == np.random.default_rng(7).integers(9))
    True
    >>> held.load([0])  # the stream has made that draw, too
    >>> held.state(0) == held.get(0).bit_generator.state
    True
    """

    def __init__(self, streams: NDArray[np.uint64]) -> None:
        self._streams = streams
        self.held: dict[int, _Held] = {}

    def copy(self, streams: NDArray[np.uint64]) -> Generators:
        """Return the generators as they are now, for other streams, to be deep-copied or pickled.

        They are the same objects until then, so that envs which share a generator do so as copies, too.
        """
        copy = Generators(streams)
        copy.held = {
            e: dataclasses.replace(held, copied=dict(held.generator.bit_generator.state))
            for e, held in self.held.items()
        }
        return copy

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for held in self.held.values():
            if held.copied is not None:
                held.generator.bit_generator.state = held.copied
                held.copied = None

    def get(self, e: int) -> np.random.Generator:
        """Return the generator of world e, up to date; from the first call on there is one."""
        held = self.held.get(e)
        if held is None:
            bits = np.random.PCG64(0)
            bits.state = pcg64.store(self._streams[e])
            held = self.held[e] = _Held(np.random.Generator(bits), known=dict(bits.state))
        elif held.is_behind:
            self.load([e])
            self.store([e])
        return held.generator

    def set(self, e: int, generator: np.random.Generator) -> None:
        """Let world e draw from a generator that came from outside."""
        self.held[e] = _Held(generator, is_replacement=True)

    def is_replaced(self, e: int) -> bool:
        """Return whether world e draws from a generator that came from outside."""
        held = self.held.get(e)
        return held is not None and held.is_replacement

    def forget(self, worlds: Iterable[int]) -> None:
        """Let worlds draw from their streams alone; the generators stay as they are."""
        for e in worlds:
            self.held.pop(e, None)

    def state(self, e: int) -> dict[str, Any]:
        """Return the state of world e's bit generator, copied; `load` comes first."""
        held = self.held.get(e)
        if held is not None and not generators.is_compiled(held.generator):
            return dict(held.generator.bit_generator.state)
        return dict(pcg64.store(self._streams[e]))

    def load(self, worlds: Iterable[int]) -> None:
        """Bring the streams of worlds up to date with their generators, which may have been drawn from.

        Raises:
            ValueError: a generator is in a state that no PCG64 comes to.
        """
        for e in worlds:
            held = self.held.get(e)
            if held is None or not generators.is_compiled(held.generator):
                continue
            state: Any = held.generator.bit_generator.state
            if state != held.known:
                try:
                    generators.load(self._streams[e], state)
                except ValueError as error:
                    raise ValueError(
                        f"np_random is in a state that no PCG64 comes to: {error}; seed it, or give it another state"
                    ) from error
                held.known = state

    def store(self, worlds: Iterable[int]) -> None:
        """Bring the generators of worlds up to date with their streams."""
        for e in worlds:
            held = self.held.get(e)
            if held is None or not generators.is_compiled(held.generator):
                continue
            state = pcg64.store(self._streams[e])
            held.generator.bit_generator.state = state
            held.known = state
            held.is_behind = False

    def prepare(self, worlds: Iterable[int] | None) -> tuple[list[int], np.random.Generator | None]:
        """Make the generators of some worlds, or of all, ready for a kernel that draws.

        Returns:
            The worlds to `store` afterwards, and the generator that draws for the kernel itself, or None.

        Raises:
            ValueError: a generator is in a state that is not safe to draw from.
        """
        drawing = [e for e in (self.held if worlds is None else worlds) if e in self.held]
        compiled = [e for e in drawing if generators.is_compiled(self.held[e].generator)]
        foreign = [self.held[e].generator for e in drawing if e not in compiled]
        for generator in foreign:
            _check(generator)
        self.load(compiled)
        for e in compiled:
            self.held[e].is_behind = True
        return compiled, foreign[0] if foreign else None

    def restore(self, e: int, state: dict[str, Any]) -> None:
        """Bring world e's generator to a state, or give it one that has that state.

        Args:
            e: which world.
            state: of one of NumPy's bit generators; a PCG64's is in the stream already.
        """
        held = self.held.get(e)
        if held is not None and type(held.generator.bit_generator) is getattr(np.random, state["bit_generator"]):
            held.generator.bit_generator.state = state
            held.known, held.is_behind = dict(held.generator.bit_generator.state), False
        elif state["bit_generator"] == "PCG64":
            self.held.pop(e, None)
        else:
            self.held[e] = _Held(np.random.Generator(generators.bit_generator(state)))


def draw_through(kernel: Any, generator: np.random.Generator) -> Any:
    """Return a kernel that Python runs on arrays, and in which every draw is made by the generator itself.

    Args:
        kernel: compiled or not.
        generator: one for which `multigrid.core.generators.is_compiled` is False.
    """
    bounded = generators.checked_integers(generator)
    return interpreted(kernel, {unpack: _identity, unsigned: _identity, pcg64.bounded: bounded})


def _identity(value: Any) -> Any:
    return value


def _check(generator: np.random.Generator) -> None:
    """Refuse to draw from a generator that would read outside its arrays, or repeat one number for ever."""
    try:
        generators.check_state(generator.bit_generator.state)
    except ValueError as error:
        raise ValueError(f"np_random is in a state that is not safe to draw from: {error}; seed it anew") from error
