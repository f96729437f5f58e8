"""The scaling curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from benchmarks.speed.scaling import Curve
from multigrid._files import replace_file

__all__ = ["write_plot"]

# Okabe and Ito's colours (2008), which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73")
_MARKS = ("o", "s", "^")
_PEER = "#CC79A7"


def write_plot(path: Path, curves: Sequence[Curve], pogema: Sequence[tuple[int, float]]) -> None:
    """Draw the curves by agents and by worlds side by side, log-log, as PNG, SVG or PDF.

    Args:
        path: the file; its suffix says which.
        curves: of both axes.
        pogema: numbers of agents, and POGEMA's microseconds per agent-step; may be empty.

    Raises:
        OSError: the file cannot be written.
    """
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, axis, title in ((left, "agents", "agents in one world"), (right, "worlds", "worlds, by one call")):
        shown = [curve for curve in curves if curve.axis == axis]
        for curve, colour, mark in zip(shown, _COLOURS, _MARKS, strict=False):
            axes.plot(curve.counts, curve.microseconds, mark + "-", color=colour, lw=1.8, ms=5, label=curve.name)
        if axis == "agents" and pogema:
            axes.plot(*zip(*pogema, strict=True), "x--", color=_PEER, lw=1.2, ms=6, label="POGEMA 1.4, ParallelEnv")
        _format_axes(axes, title)
    left.set_ylabel("microseconds per step of one agent")
    figure.suptitle("What a step of one agent costs, random play, one thread", fontsize=12)
    with replace_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.removeprefix("."), dpi=150)


def _format_axes(axes: Any, title: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda cost, _: f"{cost:g}"))
    axes.set_xlabel(title)
    axes.tick_params(labelleft=True)
    axes.grid(which="major", color="#dddddd", lw=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
