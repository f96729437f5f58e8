"""``multigrid train``: parse the flags, and import Stable-Baselines3 only to train with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from multigrid.cli._options import fill_options, read_given
from multigrid.cli._train_options import TrainOptions, read_run
from multigrid.config import GridConfig
from multigrid.games._files import find_game

_SMALLEST_IMAGE = 36
"""The shortest side of images that the network of Stable-Baselines3 for images takes."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, train, and return the exit code."""
    given = read_given(TrainOptions, arguments, "multigrid train")
    folder = given.get("resume")
    start = None if folder is None else read_run(folder, find_game(given.get("game"))[0])
    options, console = fill_options(TrainOptions, given, start), Console(stderr=True)
    if start is None and "flatten" not in given["grid"] and _has_small_images(options.grid):
        options = dataclasses.replace(options, grid=dataclasses.replace(options.grid, flatten=True))
    with console.status("loading Stable-Baselines3"):
        from multigrid.cli._train_sb3 import train
    return train(options, console)


def _has_small_images(grid: GridConfig) -> bool:
    """Return whether a part looks like an image that is too small for that network, such as Minigrid's cells."""
    for part, shape in grid.part_shapes.items():
        spec = grid.part_specs[part]
        if spec.dtype is np.uint8 and spec.high == 255 and len(shape) == 3 and min(shape[:2]) < _SMALLEST_IMAGE:
            return True
    return False
