"""The frame as the observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

from multigrid import GridWorldEnv
from multigrid.wrappers import PixelObservation


def grid_world(size: int) -> GridWorldEnv:
    """Return the documented env, ready to draw."""
    return GridWorldEnv(render_mode="rgb_array", size=size)


def means(frame: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    """Shrink a frame pixel by pixel: each is the mean of a part that begins where its row and its column do."""
    height, width, _ = frame.shape
    small = np.zeros((3, size, size), int)
    for row in range(size):
        for column in range(size):
            top, left = height * row // size, width * column // size
            part = frame[top : top + int(np.ceil(height / size)), left : left + int(np.ceil(width / size))]
            small[:, row, column] = part.reshape(-1, 3).mean(axis=0)
    return small


class Picture(gym.Env[int, int]):
    """An env that shows one picture."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(1)
    render_mode = "rgb_array"

    def __init__(self, height: int, width: int) -> None:
        """Paint it."""
        self.picture = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        """Begin."""
        return 0, {}

    def render(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """Show it."""
        return self.picture


@pytest.mark.parametrize("size", [84, 64])
def test_each_observation_is_the_frame_made_small(size: int) -> None:
    """Over a whole episode every pixel is the mean of its part of the env's frame, and all else is the env's own."""
    plain, env = grid_world(4), PixelObservation(grid_world(4), **({} if size == 84 else {"size": size}))
    (_, *rest), (seen, *rest_seen) = plain.reset(seed=10), env.reset(seed=10)
    draws, pictures = np.random.default_rng(4), []
    while True:
        assert rest_seen == rest
        assert (seen.shape, seen.dtype, seen.flags["C_CONTIGUOUS"]) == ((3, size, size), np.uint8, True)
        pictures.append((seen, means(plain.render(), size)))
        if len(rest) > 1 and rest[1]:
            break
        action = draws.integers(4)
        (_, *rest), (seen, *rest_seen) = plain.step(action), env.step(action)
    assert len(pictures) == 6
    for picture, expected in pictures:
        np.testing.assert_array_equal(picture, expected)


@pytest.mark.parametrize(("height", "width", "size"), [(20, 33, 7), (9, 9, 9), (300, 40, 1)])
def test_frames_of_any_shape_are_made_square(height: int, width: int, size: int) -> None:
    """Rows and columns are shrunk each by its own measure, down to a single pixel, and not at all where they fit."""
    env = PixelObservation(Picture(height, width), size=size)
    np.testing.assert_array_equal(env.reset()[0], means(env.unwrapped.picture, size))


@pytest.mark.parametrize("size", [36, 84])
def test_agent_and_target_look_different(size: int) -> None:
    """Every layout of a grid looks different, with blue in the middle of the agent's cell and red in the target's."""
    env = PixelObservation(grid_world(4), size=size)
    cells = [[x, y] for x in range(4) for y in range(4)]
    seen = set()
    for agent in cells:
        for target in cells:
            if agent == target:
                continue
            picture, _ = env.reset(options={"agents": [agent], "targets": [target]})
            for (x, y), colour in ((agent, [0, 0, 255]), (target, [255, 0, 0])):
                assert picture[:, (2 * y + 1) * size // 8, (2 * x + 1) * size // 8].tolist() == colour
            seen.add(picture.tobytes())
    assert len(seen) == 16 * 15


def test_an_env_without_frames_is_refused() -> None:
    """Without frames to look at there is an error that says how to get them."""
    with pytest.raises(ValueError, match='render_mode None, which gives no frames; make it with render_mode="rgb_a'):
        PixelObservation(GridWorldEnv())


def test_bad_sizes_are_refused() -> None:
    """The side is a positive integer, and no larger than the frame."""
    with pytest.raises(ValueError, match="size is 0"):
        PixelObservation(grid_world(3), size=0)
    with pytest.raises(TypeError, match=r"size is 8\.5"):
        PixelObservation(grid_world(3), size=8.5)
    with pytest.raises(ValueError, match="size is 13, but the env's frames are 33 x 12 pixels"):
        PixelObservation(Picture(12, 33), size=13).reset()
