"""What a run leaves behind; every file is written under a temporary name and moved into place."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from multigrid.files import replaced

__all__ = ["Panel", "make_folder", "write_curve", "write_gif", "write_json", "write_rows"]


def make_folder(folder: Path | None) -> Path:
    """Make a new folder: the one that is named, or ``runs/DATE-TIME``, with a number after it if that is taken.

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
        made = Path("runs") / (name + suffix)
        with contextlib.suppress(FileExistsError):
            made.mkdir(parents=True)
            return made
    raise FileExistsError(f"runs/{name} and all its numbers are taken; name a folder")


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


@dataclasses.dataclass(frozen=True)
class Panel:
    """One panel of the learning curve."""

    column: str
    """Which column of the metrics it draws."""
    label: str
    """What that is."""
    evaluations: Sequence[tuple[int, float]]
    """(steps, value) of each evaluation."""
    top: float | None = None
    """Where the axis ends, if the measure has a largest value."""


def write_curve(path: Path, rows: Sequence[dict[str, Any]], panels: Sequence[Panel]) -> None:
    """Draw the learning curve as PNG, a panel for each measure; `rows` are the metrics, with the column "steps"."""
    figure = Figure(figsize=(7, 0.6 + 2.7 * len(panels)), dpi=150, layout="constrained")
    all_axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for panel, axes in zip(panels, all_axes, strict=True):
        steps, values = [row["steps"] for row in rows], [row[panel.column] for row in rows]
        axes.plot(steps, values, color="#0072b2", linewidth=1.8, label="training")
        where, evaluated = zip(*panel.evaluations, strict=True)
        axes.plot(where, evaluated, "o", color="#d55e00", markersize=7, clip_on=False, label="held-out episodes")
        axes.set_ylabel(panel.label)
        axes.set_xlim(left=0)
        axes.set_ylim(0, panel.top)
        axes.grid(visible=True, color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].legend(frameon=False, loc="best")
    all_axes[-1].set_xlabel("steps of all agents together")
    all_axes[-1].xaxis.set_major_formatter(lambda value, _position: f"{value / 1000:g}k" if value else "0")
    with replaced(path) as temporary:
        figure.savefig(temporary, format="png")


def write_gif(path: Path, frames: Sequence[NDArray[np.uint8]], frames_per_second: float) -> None:
    """Write frames, uint8 (height, width, 3), as a GIF of half their size that repeats for ever; no frames, no file."""
    if not frames:
        return
    height, width = frames[0].shape[0] // 2, frames[0].shape[1] // 2
    blocks = np.stack([frame[: 2 * height, : 2 * width] for frame in frames]).reshape(-1, height, 2, width, 2, 3)
    halves = blocks.mean(axis=(2, 4)).astype(np.uint8)
    with replaced(path) as temporary:
        imageio.imwrite(temporary, halves, extension=".gif", duration=1000 / frames_per_second, loop=0)
