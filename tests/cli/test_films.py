"""Films: the palette is that of all pixels of the samples; frames are even."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image

import multigrid
from multigrid.cli._films import _Palette, film_frames
from multigrid.scenarios.tracing import trace_episode

pytestmark = pytest.mark.heavy


def picture(colours, seed):
    """A picture of runs of random lengths, as drawings have them: uint8 (37, 53, 3)."""
    random = np.random.default_rng(seed)
    table = random.integers(256, size=(colours, 3))
    lengths = random.integers(1, 9, size=37 * 53)
    runs = np.repeat(random.integers(colours, size=len(lengths)), lengths)[: 37 * 53]
    return table[runs].astype(np.uint8).reshape(37, 53, 3)


def entries(pixels):
    """The palette by counting pixel by pixel: the 128 most frequent colours, then Pillow's choice for the rest."""
    every = [tuple(pixel) for pixel in pixels.reshape(-1, 3).tolist()]
    counts = Counter(every)
    exact = sorted(counts, key=lambda colour: (-counts[colour], colour))[:128]
    rest = [pixel for pixel in every if pixel not in set(exact)]
    if not rest:
        return exact
    chosen = Image.fromarray(np.array([rest], dtype=np.uint8)).quantize(128).getpalette()
    return exact + [tuple(colour) for colour in np.reshape(chosen, (-1, 3)).tolist()]


@pytest.mark.parametrize("colours", [1, 5, 128, 129, 700])
def test_the_palette_is_that_of_all_pixels(colours):
    """Frequent colours are exact, and each pixel of a frame has the first of the nearest entries."""
    sample, frame = picture(colours, seed=colours), picture(max(3, colours // 2), seed=1)
    palette, expected = _Palette(sample), entries(sample)
    for pixels in (sample, frame):
        shown = np.asarray(palette.image(pixels).convert("RGB"), dtype=np.int64)
        away = ((pixels[:, :, None].astype(np.int64) - np.array(expected)) ** 2).sum(axis=3)
        np.testing.assert_array_equal(shown, np.array(expected)[away.argmin(axis=2)])


@pytest.mark.parametrize("pixels", [None, 65, 240, 333])
def test_frames_of_films_are_even(pixels):
    """The frame of a film with its caption has even sides, as videos and browsers need them."""
    for name in ("rooms-17x13-8", "empty-9x7-2"):
        frame = next(film_frames(trace_episode(multigrid.scenarios.get(name)), pixels=pixels, steps=[0]))
        assert {side % 2 for side in frame.shape[:2]} == {0}
