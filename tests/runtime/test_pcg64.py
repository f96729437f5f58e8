"""The compiled stream is NumPy's PCG64: every bounded draw, and the state that it leaves behind."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from multigrid.runtime import pcg64

# 3 * 2**30 rejects a quarter of all draws, 2**31 + 1 nearly half; a power of two rejects none, and 1 draws nothing.
LIMITS = [1, 2, 3, 5, 6, 10, 255, 2**16 + 1, 2**31 - 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 2, 2**32 - 1]


def stream_of(generator):
    """Return the generator's state as a compiled stream."""
    streams = np.zeros((1, pcg64.STREAM_WORDS), np.uint64)
    pcg64.write_stream(streams[0], generator.bit_generator.state)
    return streams


def draw(streams, limit, e=0):
    """Draw; interpreted 64-bit arithmetic would warn where it wraps."""
    with np.errstate(over="ignore"):
        return int(pcg64.draw_integer(streams, e, limit))


@pytest.mark.parametrize("limit", LIMITS)
def test_one_limit_many_draws(limit):
    """A thousand draws below one limit are NumPy's, and so is the state afterwards."""
    generator = np.random.default_rng(limit)
    streams = stream_of(generator)
    assert [draw(streams, limit) for _ in range(1001)] == [int(generator.integers(limit)) for _ in range(1001)]
    assert pcg64.read_stream(streams[0]) == generator.bit_generator.state


@given(
    seed=st.integers(0, 2**128 - 1),
    limits=st.lists(st.one_of(st.sampled_from(LIMITS), st.integers(1, 2**32 - 1)), max_size=40),
)
@example(seed=0, limits=[2, 1, 2, 1, 1, 2])  # the half left over survives limits that draw nothing
@settings(max_examples=300, derandomize=True)
def test_limits_in_any_order(seed, limits):
    """Draws below changing limits are NumPy's one by one, and the two states agree after each, both halves included."""
    generator = np.random.default_rng(seed)
    streams = stream_of(generator)
    for limit in limits:
        assert draw(streams, limit) == generator.integers(limit)
        assert pcg64.read_stream(streams[0]) == generator.bit_generator.state


def test_draws_that_numpy_makes_in_between():
    """A stream may go to and fro between NumPy, which draws anything, and the compiled draws."""
    generator, alone = np.random.default_rng(11), np.random.default_rng(11)
    limits = np.random.default_rng(0).integers(1, 50, size=400).tolist()
    for limit in limits:
        streams = stream_of(generator)
        assert draw(streams, limit) == alone.integers(limit)
        generator.bit_generator.state = pcg64.read_stream(streams[0])
        assert generator.random() == alone.random()
        assert generator.integers(0, 7, size=3, dtype=int).tolist() == alone.integers(0, 7, size=3, dtype=int).tolist()
        assert generator.bit_generator.state == alone.bit_generator.state


def test_streams_do_not_disturb_one_another():
    """A draw from one row leaves the other rows as they are."""
    generators = [np.random.default_rng(seed) for seed in range(3)]
    streams = np.concatenate([stream_of(generator) for generator in generators])
    for e in np.random.default_rng(5).integers(3, size=300).tolist():
        before = streams.copy()
        assert draw(streams, 6, e) == generators[e].integers(6)
        before[e] = streams[e]
        np.testing.assert_array_equal(streams, before)
