"""What a run leaves behind; every file is written under a temporary name and moved into place."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
from numpy.typing import NDArray

from multigrid._files import new_folder, replaced

__all__ = ["make_folder", "staged_folder", "write_gif", "write_json", "write_rows"]


def make_folder(folder: Path | None, parent: str = "runs") -> Path:
    """Make a new folder: the one that is named, or ``PARENT/DATE-TIME``, with a number after it if that is taken.

    Raises:
        FileExistsError: the named folder exists already; nothing in it is touched.
    """
    if folder is not None:
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise FileExistsError(f"{folder} exists already and is left alone; name another folder") from error
        return folder
    name = dt.datetime.now(tz=dt.timezone.utc).astimezone().strftime("%Y%m%d-%H%M%S")
    for suffix in ["", *(f"-{number}" for number in range(2, 1000))]:
        made = Path(parent) / (name + suffix)
        with contextlib.suppress(FileExistsError):
            made.mkdir(parents=True)
            return made
    raise FileExistsError(f"{parent}/{name} and all its numbers are taken; name a folder")


@contextlib.contextmanager
def staged_folder(folder: Path | None, parent: str) -> Iterator[tuple[Path, Path]]:
    """Give a hidden folder to write to, and the folder whose name it gets, in one step, if all went well.

    Whatever goes wrong, neither is left.

    Args:
        folder: a name that is free, or None for a folder in `parent`, as `make_folder` names it.
        parent: where that folder is then.

    Raises:
        FileExistsError: the named folder exists already, or does so at the end; nothing in it is touched.
    """
    if folder is not None and os.path.lexists(folder):
        raise FileExistsError(f"{folder} exists already and is left alone; name another folder")
    # A name that is chosen here is taken at once, or another process would choose it too.
    named = make_folder(None, parent) if folder is None else folder
    try:
        with new_folder(named) as stage:
            yield stage, named
    except BaseException:
        if folder is None:
            # A folder that somebody else has put something into is not empty, and stays.
            with contextlib.suppress(OSError):
                named.rmdir()
        raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read."""
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV, under their columns' names even where there is no row."""
    with replaced(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns)
        writer.writeheader()
        writer.writerows(rows)


def write_gif(path: Path, frames: Sequence[NDArray[np.uint8]], frames_per_second: float) -> None:
    """Write frames, uint8 (height, width, 3), as a GIF of half their size that repeats for ever; no frames, no file."""
    if not frames:
        return
    height, width = frames[0].shape[0] // 2, frames[0].shape[1] // 2
    blocks = np.stack([frame[: 2 * height, : 2 * width] for frame in frames]).reshape(-1, height, 2, width, 2, 3)
    halves = blocks.mean(axis=(2, 4)).astype(np.uint8)
    # In memory first: imageio, whose writing to a file fails, writes once more when it is collected.
    encoded = imageio.imwrite("<bytes>", halves, extension=".gif", duration=1000 / frames_per_second, loop=0)
    with replaced(path) as temporary:
        temporary.write_bytes(encoded)
