"""The frame as the observation."""

import itertools

import numpy as np
import pytest

from multigrid import GridWorldEnv
from multigrid.wrappers import PixelObservation


def means(frame, size):
    """Shrink a frame pixel by pixel: each is the mean of a part that begins where its row and its column do."""
    height, width, _ = frame.shape
    small = np.zeros((3, size, size), int)
    for row, column in np.ndindex(size, size):
        top, left = height * row // size, width * column // size
        part = frame[top : top + int(np.ceil(height / size)), left : left + int(np.ceil(width / size))]
        small[:, row, column] = part.reshape(-1, 3).mean(axis=0)
    return small


@pytest.mark.parametrize("size", [84, 64])
def test_each_observation_is_the_frame_made_small(size):
    """Over a whole episode every pixel is the mean of its part of the env's frame, and all else is the env's own."""
    plain, env = (GridWorldEnv("rgb_array", size=4) for _ in range(2))
    env = PixelObservation(env, **({} if size == 84 else {"size": size}))
    (_, *rest), (seen, *rest_seen) = plain.reset(seed=10), env.reset(seed=10)
    draws, pictures = np.random.default_rng(4), []
    while len(pictures) < 6:
        assert rest_seen == rest
        assert (seen.shape, seen.dtype, seen.flags["C_CONTIGUOUS"]) == ((3, size, size), np.uint8, True)
        pictures.append((seen, means(plain.render(), size)))
        action = draws.integers(4)
        (_, *rest), (seen, *rest_seen) = plain.step(action), env.step(action)
    for picture, expected in pictures:
        np.testing.assert_array_equal(picture, expected)


@pytest.mark.parametrize(("height", "width", "size"), [(20, 33, 7), (9, 9, 9), (300, 40, 1)])
def test_frames_of_any_shape_are_made_square(height, width, size):
    """Rows and columns are shrunk each by its own measure, down to a pixel; none is stretched."""
    env = GridWorldEnv("rgb_array")
    picture = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
    env.render = lambda: picture
    np.testing.assert_array_equal(PixelObservation(env, size=size).reset()[0], means(picture, size))
    with pytest.raises(ValueError, match=f"size is 301, but the env's frames are {width} x {height} pixels"):
        PixelObservation(env, size=301).reset()


@pytest.mark.parametrize("size", [36, 84])
def test_agent_and_target_look_different(size):
    """Every layout of a grid looks different, with blue in the middle of the agent's cell and red in the target's."""
    env = PixelObservation(GridWorldEnv("rgb_array", size=4), size=size)
    cells = [[x, y] for x in range(4) for y in range(4)]
    seen = set()
    for agent, target in itertools.permutations(cells, 2):
        picture, _ = env.reset(options={"agents": [agent], "targets": [target]})
        for (x, y), colour in ((agent, [0, 0, 255]), (target, [255, 0, 0])):
            assert picture[:, (2 * y + 1) * size // 8, (2 * x + 1) * size // 8].tolist() == colour
        seen.add(picture.tobytes())
    assert len(seen) == 16 * 15
