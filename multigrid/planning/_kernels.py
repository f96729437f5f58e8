"""What the kernels of planners and policies need: compilation, with a cache of their own, and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multigrid.runtime.compiled import compile_with, has_compiler, open_cache
from multigrid.runtime.sources import list_sources as list_sources_of_core

_Function = TypeVar("_Function", bound=Callable[..., Any])

COMPILED: bool = has_compiler()  # whether the planners' kernels are compiled; no wheel brings them compiled


def list_sources() -> list[Path]:
    """Return the files that these kernels depend on: those of core's kernels, of planners, and of policies."""
    package = Path(__file__).parents[1]
    return [*list_sources_of_core(), *sorted(package.glob("planning/*.py")), *sorted(package.glob("policies/*.py"))]


_CACHE = open_cache(list_sources(), Path(__file__).parent / "__pycache__", "the planners") if COMPILED else None


def kernel(function: _Function) -> _Function:
    """Compile a function of a planner when it is first called; unlike core's kernels, it may allocate."""
    return compile_with(_CACHE, function, forceinline=False) if COMPILED else function


def inlined(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and inline it; for hot functions with one caller."""
    return compile_with(_CACHE, function, forceinline=True) if COMPILED else function


if COMPILED:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def borrowed(_context: Any, arrays: Any) -> Any:
        """Return a named tuple of arrays without its references to their memory, which the caller has to keep alive.

        Numba counts references atomically where a function takes an array; that takes longer than short functions do.
        """

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            (fields,) = arguments
            # Numba 0.60 compiles calls with None too, in branches that are then not taken.
            if signature.args[0] == types.none:
                return fields
            for k, field in enumerate(signature.args[0]):
                array = context.make_array(field)(context, builder, builder.extract_value(fields, k))
                array.meminfo = array.parent = array.meminfo.type(None)
                fields = builder.insert_value(fields, array._getvalue(), k)  # noqa: SLF001 - as in Numba's own code
            return fields

        return arrays(arrays), codegen

else:

    def borrowed(arrays: Any) -> Any:
        """Return a named tuple unchanged."""
        return arrays


@inlined
def are_equal(one: Any, other: Any) -> bool:
    """Return whether two arrays (N,) are equal."""
    for i in range(one.shape[0]):
        if one[i] != other[i]:
            return False
    return True


# Constants of the 32-bit generator in O'Neill, "PCG", 2014; the product with a state stays below 2**62.
_FACTOR, _SUMMAND, _MASK = 747796405, 2891336453, 0xFFFFFFFF
_LOW_BITS = 16


def make_generator(seed: int) -> NDArray[np.int64]:
    """Return the state of a generator, int64 (1,)."""
    return np.random.SeedSequence(seed).generate_state(1).astype(np.int64)


@inlined
def draw_bits(generator: Any) -> Any:
    """Return a number from 0 to 65,535, and advance the generator."""
    generator[0] = (generator[0] * _FACTOR + _SUMMAND) & _MASK
    return generator[0] >> _LOW_BITS


@inlined
def draw_below(generator: Any, number: int) -> Any:
    """Return a number from 0 to `number` - 1, which is at most 65,536, and advance the generator."""
    return (draw_bits(generator) * number) >> _LOW_BITS
