"""Write episodes as films: GIF and MP4."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import imageio.v2 as imageio
import imageio_ffmpeg  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multigrid._files import replace_file
from multigrid.rendering._episode import Episode, scene_between, scene_of
from multigrid.rendering._frame import Painter, make_even, readable_size
from multigrid.rendering._text import add_caption, describe_step

HELD_SECONDS = 1.0  # for which the last frame of an episode is shown
_SMOOTH_GIF, _SMOOTH_VIDEO = 20, 30  # frames per second of smooth films
_COLOURS = 256
# The palette is computed from this many frames of each episode, because agents that have arrived look different.
_SAMPLES = 6


def film_frames(
    episode: Episode,
    trails: int = 0,
    *,
    pixels: int | None = None,
    frames_per_step: int = 1,
    steps: Iterable[int] | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of an episode, each uint8 (height, width, 3), up to `Episode.last_shown`.

    A trail covers an agent's last `trails` cells. `pixels` is the longer side of the grid, without the caption below
    it; None chooses one in which numbers are legible. With several frames per step agents glide between cells. `steps`
    are those to draw; None draws all.
    """
    size = readable_size(episode.config) if pixels is None else make_even(pixels)
    painter = Painter(episode.config, size=size, trails=trails)
    last = episode.last_shown
    for step in range(last + 1) if steps is None else steps:
        text, colour = describe_step(episode, step)
        for part in range(frames_per_step if step < last else 1):
            scene = scene_between(episode, step, part / frames_per_step) if part else scene_of(episode, step)
            frame = painter.frame(scene)
            yield add_caption(frame if scene.look.seen is None else _fit(frame, pixels), text, colour)


def _fit(picture: NDArray[np.uint8], pixels: int | None) -> NDArray[np.uint8]:
    """Return the picture of a game with even sides, and the longer one as it should be, unless that is None."""
    sides = np.array(picture.shape[1::-1])
    scaled = np.rint(sides * (pixels or sides.max()) / sides.max()).astype(int).tolist()
    width, height = map(make_even, scaled)
    if (height, width) == picture.shape[:2]:
        return picture
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BOX))


def fit_frames(episodes: Sequence[Episode], max_frames: int) -> list[Episode]:
    """Return the first episodes that fit into `max_frames` frames in total; shorten the first if it does not fit."""
    fitting = [episodes[0].until(max_frames - 1)]
    frames = fitting[0].last_shown + 1
    for episode in episodes[1:]:
        frames += episode.last_shown + 1
        if frames > max_frames:
            break
        fitting.append(episode)
    return fitting


def write_gif(
    path: Path, episodes: list[Episode], fps: float, *, trails: int = 0, pixels: int | None = None, smooth: bool = False
) -> None:
    """Write episodes of one configuration, one after the other, as a GIF that loops forever.

    All frames share one palette, so that the background does not flicker. `fps` counts steps per second. In `smooth`
    films agents glide, at about 20 frames per second. Other arguments are those of `film_frames`.
    """
    look: dict[str, Any] = {"pixels": pixels, "trails": trails}
    samples: list[Any] = []
    for episode in episodes:
        last = episode.last_shown
        steps = np.linspace(0, last, min(_SAMPLES, last + 1)).astype(int).tolist()
        samples += film_frames(episode, steps=steps, **look)
    palette = _Palette(np.concatenate(samples))
    parts = max(1, int(_SMOOTH_GIF / fps)) if smooth else 1
    frames = (frame for episode in episodes for frame in film_frames(episode, frames_per_step=parts, **look))
    images = map(palette.image, frames)
    # A GIF counts hundredths of a second, and players show a frame of one hundredth for ten. So none is below two.
    milliseconds = max(20, 10 * round(100 / fps / parts))
    durations: list[float] = []
    for episode in episodes:
        durations += [milliseconds] * (episode.last_shown * parts) + [milliseconds + 1000 * HELD_SECONDS]
    with replace_file(path) as temporary:
        form: dict[str, Any] = {"append_images": images, "duration": durations, "loop": 0, "optimize": False}
        next(images).save(temporary, format="GIF", save_all=True, **form)


class _Palette:
    """A palette of at most 256 colours. Frequent ones are exact, whereas Pillow's conversion can turn white to grey."""

    def __init__(self, picture: NDArray[np.uint8]) -> None:
        image: Any = Image.fromarray(picture)
        counted = sorted(image.getcolors(picture.size), key=lambda one: (-one[0], one[1]))
        frequent, others = counted[: _COLOURS // 2], counted[_COLOURS // 2 :]
        self._entries = np.array([colour for _, colour in frequent], np.int64)
        if others:
            counts, rest = zip(*others, strict=True)
            pixels = np.repeat(np.array([rest], np.uint8), counts, axis=1)
            found = Image.fromarray(pixels).quantize(_COLOURS // 2).getpalette()
            self._entries = np.concatenate([self._entries, np.reshape(found or [], (-1, 3))])
        # The index of the nearest entry of each colour, or -1 if it is not computed yet.
        self._nearest = np.full(1 << 24, -1, dtype=np.int16)

    def image(self, frame: NDArray[np.uint8]) -> Image.Image:
        """Return a frame in the palette's colours."""
        packed = _pack(frame)
        indices = self._nearest[packed]
        is_new = indices < 0
        if is_new.any():
            for colour in np.unique(packed[is_new]).tolist():
                channels = colour >> 16, colour >> 8 & 255, colour & 255
                self._nearest[colour] = ((self._entries - channels) ** 2).sum(axis=1).argmin()
            indices = self._nearest[packed]
        image = Image.fromarray(indices.astype(np.uint8))
        image.putpalette(self._entries.astype(np.uint8).tobytes())
        return image


def _pack(pixels: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return each colour as a number 0xRRGGBB."""
    with_zero = np.zeros((*pixels.shape[:-1], 4), np.uint8)
    # One channel at a time, which is three times as fast as all of them.
    for channel in range(3):
        with_zero[..., 2 - channel] = pixels[..., channel]
    numbers: NDArray[np.uint32] = with_zero.view("<u4")[..., 0]
    return numbers


def write_mp4(
    path: Path, episode: Episode, fps: float, *, trails: int = 0, pixels: int | None = None, smooth: bool = False
) -> None:
    """Write an episode as H.264 video with 4:2:0 colours, which all players and browsers support.

    Arguments are as in `write_gif`, but smooth videos have about 30 frames per second.
    """
    parts = max(1, round(_SMOOTH_VIDEO / fps)) if smooth else 1
    rate = fps * parts
    held, written, frame = round(HELD_SECONDS * rate), 0, np.empty(0, np.uint8)
    with replace_file(path) as temporary:
        form: dict[str, Any] = {"codec": "libx264", "pixelformat": "yuv420p", "macro_block_size": 2}
        form |= {"ffmpeg_log_level": "error", "output_params": ["-movflags", "+faststart"]}
        writer: Any = imageio.get_writer(temporary, format="FFMPEG", mode="I", fps=rate, **form)
        # After an exception, imageio's own context manager does not stop ffmpeg.
        with contextlib.closing(writer):
            for frame in film_frames(episode, trails, pixels=pixels, frames_per_step=parts):
                writer.append_data(frame)
                written += 1
            for _ in range(held):
                writer.append_data(frame)
        # imageio does not report that ffmpeg failed, as on a full disk.
        try:
            num_frames, _ = imageio_ffmpeg.count_frames_and_secs(str(temporary))
        except RuntimeError as error:
            raise OSError(f"{path} could not be written as a film; is the disk full?") from error
        if num_frames != written + held:
            raise OSError(f"{path} would have {num_frames} frames in place of {written + held}; is the disk full?")
