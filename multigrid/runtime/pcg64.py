"""NumPy's PCG64 stream and its bounded integers, bit for bit, in compiled code.

The generator is O'Neill's PCG XSL RR 128/64 (HMC-CS-2014-0905); the bounded integers are Lemire's (ACM TOMACS 29(1),
2019) on 32-bit numbers, two from each 64-bit one, the lower half first.

Seeds are hashed to states by O'Neill's seed_seq with NumPy's constants, as ``numpy.random.SeedSequence`` documents.

A stream is a row of six uint64: the upper and lower halves of the state, the upper and lower halves of the increment,
whether a 32-bit half is left over, and that half.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.runtime.compiled import function, kernel, unsigned

STREAM_WORDS = 6
_STATE_HIGH, _STATE_LOW, _INCREMENT_HIGH, INCREMENT_LOW, HAS_HALF, HALF = range(STREAM_WORDS)

_MASK64 = (1 << 64) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_MULTIPLIER_HIGH = np.uint64(_MULTIPLIER >> 64)
_MULTIPLIER_LOW = np.uint64(_MULTIPLIER & _MASK64)
_MULTIPLIER_LOW_1 = np.uint64(_MULTIPLIER >> 32 & 0xFFFFFFFF)
_MULTIPLIER_LOW_0 = np.uint64(_MULTIPLIER & 0xFFFFFFFF)
_MASK32 = np.uint64(0xFFFFFFFF)
_ZERO, _ONE, _11 = np.uint64(0), np.uint64(1), np.uint64(11)
_STEP = 2.0**-53
_16, _32, _58, _63, _64 = np.uint64(16), np.uint64(32), np.uint64(58), np.uint64(63), np.uint64(64)

_POOL_SIZE = 4
_HASH_A, _MULTIPLIER_A = np.uint64(0x43B0D7E5), np.uint64(0x931E8875)
_HASH_B, _MULTIPLIER_B = np.uint64(0x8B51F9DD), np.uint64(0x58F38DED)
_MIX_LEFT, _MIX_RIGHT = np.uint64(0xCA01F9DD), np.uint64(0x4973F715)


@function
def _next_uint64(streams: NDArray[np.uint64], e: int) -> Any:
    """Advance stream e and return 64 bits."""
    high, low = streams[e, _STATE_HIGH], streams[e, _STATE_LOW]
    # The upper 64 bits of low * _MULTIPLIER_LOW, by halves.
    low_0, low_1 = low & _MASK32, low >> _32
    cross_0, cross_1 = low_1 * _MULTIPLIER_LOW_0, low_0 * _MULTIPLIER_LOW_1
    middle = (low_0 * _MULTIPLIER_LOW_0 >> _32) + (cross_0 & _MASK32) + (cross_1 & _MASK32)
    carry = low_1 * _MULTIPLIER_LOW_1 + (cross_0 >> _32) + (cross_1 >> _32) + (middle >> _32)

    product_low = low * _MULTIPLIER_LOW
    new_low = product_low + streams[e, INCREMENT_LOW]
    new_high = high * _MULTIPLIER_LOW + low * _MULTIPLIER_HIGH + carry + streams[e, _INCREMENT_HIGH]
    if new_low < product_low:
        new_high += _ONE
    streams[e, _STATE_HIGH], streams[e, _STATE_LOW] = new_high, new_low
    mixed = new_high ^ new_low
    turn = new_high >> _58
    return (mixed >> turn) | (mixed << ((_64 - turn) & _63))


@function
def _next_uint32(streams: NDArray[np.uint64], e: int) -> Any:
    """Return 32 bits of stream e: the half that is left over, or the lower half of 64 new bits."""
    if streams[e, HAS_HALF] != _ZERO:
        streams[e, HAS_HALF] = _ZERO
        return streams[e, HALF]
    bits = _next_uint64(streams, e)
    streams[e, HAS_HALF] = _ONE
    streams[e, HALF] = bits >> _32
    return bits & _MASK32


@function
def draw_integer(streams: NDArray[np.uint64], e: int, limit: int) -> Any:
    """Draw an integer from 0 .. limit - 1, with limit <= 2**32, as ``Generator.integers(limit)``; none for limit 1."""
    if limit == 1:
        return 0
    count, row = np.uint64(limit), unsigned(e)
    product = _next_uint32(streams, row) * count
    if product & _MASK32 < count:
        # Below the threshold the product would favour some numbers.
        threshold = (_MASK32 + _ONE - count) % count
        while product & _MASK32 < threshold:
            product = _next_uint32(streams, row) * count
    return np.int64(product >> _32)


@function
def next_float(streams: NDArray[np.uint64], e: int) -> Any:
    """Draw a number from 0 to below 1, as ``Generator.random()``."""
    return np.float64(_next_uint64(streams, unsigned(e)) >> _11) * _STEP


@function
def draw_share(streams: NDArray[np.uint64], e: int, shares: NDArray[np.float64]) -> Any:
    """Draw k with the probability of at most k in ``shares[k]``, float64 (K,), the last 1; draw nothing if K is 1."""
    low, high = 0, shares.shape[0] - 1
    if high == 0:
        return 0
    share = next_float(streams, e)
    if share < shares[0]:
        return 0
    while low + 1 < high:
        middle = (low + high) // 2
        if share < shares[middle]:
            high = middle
        else:
            low = middle
    return high


@function
def is_stream(streams: NDArray[np.uint64], e: int) -> bool:
    """Return whether stream e is in a state that a PCG64 can reach."""
    is_odd = streams[e, INCREMENT_LOW] & _ONE == _ONE
    return bool(is_odd and streams[e, HAS_HALF] <= _ONE and streams[e, HALF] <= _MASK32)


def write_stream(stream: NDArray[np.uint64], state: Mapping[str, Any]) -> None:
    """Write the ``state`` attribute of a NumPy PCG64 to a stream, uint64 (6,), without checks."""
    number, increment = state["state"]["state"], state["state"]["inc"]
    halves = number >> 64, number & _MASK64, increment >> 64, increment & _MASK64
    # In one assignment, which no signal handler interrupts.
    stream[:] = np.array([*halves, state["has_uint32"], state["uinteger"]], np.uint64)


def read_stream(stream: NDArray[np.uint64]) -> Any:
    """Return a stream, uint64 (6,), as a value for the ``state`` attribute of a NumPy PCG64."""
    state_high, state_low, increment_high, increment_low, has_half, half = stream.tolist()
    inner = {"state": state_high << 64 | state_low, "inc": increment_high << 64 | increment_low}
    return {"bit_generator": "PCG64", "state": inner, "has_uint32": has_half, "uinteger": half}


def jump_streams(streams: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return K streams, uint64 (K, 6), as ``PCG64.jumped()`` does: the same sequences from far behind on.

    >>> stream = seed_streams(np.array([7], np.uint64))
    >>> read_stream(jump_streams(stream)[0]) == np.random.PCG64(7).jumped().state
    True
    """
    jumped = np.zeros_like(streams)
    for to, stream in zip(jumped, streams, strict=True):
        bits = np.random.PCG64(0)
        bits.state = read_stream(stream)
        write_stream(to, bits.jumped().state)
    return jumped


def seed_streams(seeds: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the streams of K seeds: the state in which ``PCG64(seed)`` starts.

    Args:
        seeds: integers (K,), or objects (K,): ints of any size, which takes longer.

    Returns:
        uint64 (K, 6).

    >>> read_stream(seed_streams(np.array([7], np.uint64))[0]) == np.random.PCG64(7).state
    True
    """
    streams = np.zeros((len(seeds), STREAM_WORDS), np.uint64)
    if seeds.dtype == object:
        for stream, seed in zip(streams, seeds.tolist(), strict=True):
            write_stream(stream, np.random.PCG64(seed).state)
        return streams
    with np.errstate(over="ignore"):
        _seed(streams, seeds.astype(np.uint64))
    return streams


@kernel
def _seed(streams: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> None:
    """Write the streams of K seeds, uint64 (K,); the first columns hold the pool of seed_seq meanwhile."""
    for e in range(streams.shape[0]):
        constant = _HASH_A
        for k in range(_POOL_SIZE):
            word = seeds[e] >> _32 if k == 1 else seeds[e] & _MASK32
            streams[e, k], constant = _hash(word if k < 2 else _ZERO, constant, _MULTIPLIER_A)
        for source in range(_POOL_SIZE):
            for k in range(_POOL_SIZE):
                if source != k:
                    hashed, constant = _hash(streams[e, source], constant, _MULTIPLIER_A)
                    mixed = (_MIX_LEFT * streams[e, k] - _MIX_RIGHT * hashed) & _MASK32
                    streams[e, k] = mixed ^ (mixed >> _16)
        state_high, constant = _join_hashes(streams, e, 0, _HASH_B)
        state_low, constant = _join_hashes(streams, e, 2, constant)
        sequence_high, constant = _join_hashes(streams, e, 0, constant)
        sequence_low, constant = _join_hashes(streams, e, 2, constant)
        streams[e, _STATE_HIGH], streams[e, _STATE_LOW] = _ZERO, _ZERO
        streams[e, _INCREMENT_HIGH] = sequence_high << _ONE | sequence_low >> _63
        streams[e, INCREMENT_LOW] = sequence_low << _ONE | _ONE
        _next_uint64(streams, e)
        low = streams[e, _STATE_LOW] + state_low
        carry = _ONE if low < state_low else _ZERO
        streams[e, _STATE_HIGH], streams[e, _STATE_LOW] = streams[e, _STATE_HIGH] + state_high + carry, low
        _next_uint64(streams, e)


@function
def _hash(word: Any, constant: Any, multiplier: Any) -> Any:
    """Return the hash of a word of 32 bits, and the constant for the next word."""
    constant_after = constant * multiplier & _MASK32
    word = (word ^ constant) * constant_after & _MASK32
    return word ^ (word >> _16), constant_after


@function
def _join_hashes(streams: NDArray[np.uint64], e: int, k: int, constant: Any) -> Any:
    """Return the hashes of two words of a pool as one of 64 bits, and the constant for the next word."""
    low, constant = _hash(streams[e, k], constant, _MULTIPLIER_B)
    high, constant = _hash(streams[e, k + 1], constant, _MULTIPLIER_B)
    return low | high << _32, constant
