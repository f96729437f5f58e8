"""Draw figures for papers: learning curves, success by the number of agents, visits and blocked moves by cell."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from multigrid._files import replace_file
from multigrid._palette import colours
from multigrid.actions import BLOCKED
from multigrid.evaluation._estimates import Estimate
from multigrid.rendering._episode import Episode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _ORANGE, _GREEN, _PURPLE, _RED = (tuple(value / 255 for value in colour) for colour in colours(5))
_SERIES = (_BLUE, _RED, _GREEN, _PURPLE, _ORANGE)
_MARKS = ("o", "s", "^", "D", "v")
_THINNEST = 0.4


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure as PNG, SVG or PDF, according to the suffix of `path`; equal figures give equal bytes."""
    kind = path.suffix.removeprefix(".")
    undated: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    if kind not in undated:
        raise ValueError(f"{path} is to be a figure; expected a name that ends in .png, .svg or .pdf")
    # Journals require editable fonts (type 42). The salt makes the identifiers in an SVG reproducible.
    settings: Any = {"pdf.fonttype": 42, "svg.hashsalt": "multigrid"}
    with replace_file(path) as temporary, mpl.rc_context(settings):
        figure.savefig(temporary, format=kind, dpi=200, metadata=undated[kind])


@dataclasses.dataclass(frozen=True)
class Panel:
    """A panel of the learning curve: a column of metrics.csv, or None, and pairs of trained steps and an estimate."""

    column: str | None
    label: str
    evaluations: Sequence[tuple[int, Estimate]]
    top: float | None = None  # the upper limit of the y axis; None fits it to the values
    bottom: float | None = 0.0  # the lower limit
    is_share: bool = False  # whether the values are shares of 1, to be shown in percent


def smooth(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return the means of each value and the `window` - 1 before it, of those that are not NaN; NaN if all are."""
    finite = np.isfinite(values)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (np.where(finite, values, 0.0), finite))
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - window, 0)
    number = counts[ends] - counts[begins]
    means = np.full(len(values), np.nan)
    np.divide(sums[ends] - sums[begins], number, out=means, where=number > 0)
    return means


def curve_figure(rows: Sequence[Mapping[str, Any]], panels: Sequence[Panel]) -> Figure:
    """Draw a panel for each measure: evaluations with intervals, and the rows of the training that have its column."""
    figure = Figure(figsize=(6.4, 0.5 + 2.5 * len(panels)), layout="constrained")
    all_axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    steps = np.array([row["steps"] for row in rows], dtype=np.float64)
    for panel, axes in zip(panels, all_axes, strict=True):
        if panel.column is not None:
            values = np.array([row[panel.column] for row in rows], dtype=np.float64)
            window = max(1, len(values) // 20)
            if window > 1:
                axes.plot(steps, values, color=_BLUE, alpha=0.3, linewidth=0.9)
            name = f"training, mean of {window} rollouts (faint: each)" if window > 1 else "training"
            axes.plot(steps, smooth(values, window), color=_BLUE, linewidth=1.8, label=name)
        where = [trained for trained, _ in panel.evaluations]
        estimates = [one for _, one in panel.evaluations]
        if estimates:
            axes.plot(where, [one.mean for one in estimates], color=_RED, linewidth=1.8, zorder=2.5)
            _draw_estimates(axes, where, estimates, colour=_RED, mark="o", name="held-out episodes, 95 % CI")
        axes.set(ylabel=panel.label, ylim=(panel.bottom, panel.top))
        if panel.is_share:
            axes.yaxis.set_major_formatter(lambda share, _position: f"{100 * share:g} %")
        _dress(axes)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, loc="best", fontsize=9)
    end = max([1, *steps, *(trained for panel in panels for trained, _ in panel.evaluations)])
    all_axes[-1].set(xlim=(-0.015 * end, 1.015 * end), xlabel="steps of all agents together")
    all_axes[-1].xaxis.set_major_formatter(_thousands)
    return figure


@dataclasses.dataclass(frozen=True)
class Series:
    """One line of `sweep_figure`: its name in the legend, K ascending numbers of agents, and estimates for each."""

    name: str
    num_agents: list[int]
    estimates: list[Mapping[str, Estimate]]


def sweep_figure(series: Sequence[Series], title: str = "") -> Figure:
    """Draw *csr* and *isr* over the number of agents, where they are undefined *throughput*, or else *return*."""
    labels = {"csr": "share of episodes in which all arrived", "isr": "share of agents that arrived"}
    limits: tuple[float | None, float | None] = -0.03, 1.03
    if math.isnan(series[0].estimates[0]["csr"].mean):
        labels, limits = {"throughput": "throughput (arrivals per step)"}, (0, None)
        if math.isnan(series[0].estimates[0]["throughput"].mean):
            labels, limits = {"return": "return of an agent"}, (None, None)
    figure = Figure(figsize=(4.4 * len(labels) + 0.4, 3.6), layout="constrained")
    all_axes = figure.subplots(1, len(labels), squeeze=False)[0]
    counts = sorted({count for one in series for count in one.num_agents})
    for axes, (measure, label) in zip(all_axes, labels.items(), strict=True):
        for index, one in enumerate(series):
            colour, mark = _SERIES[index % len(_SERIES)], _MARKS[index % len(_MARKS)]
            # Shift the lines sideways, so that their intervals do not hide one another.
            beside = 1.03 ** (index - (len(series) - 1) / 2)
            where = [count * beside for count in one.num_agents]
            values = [by_measure[measure] for by_measure in one.estimates]
            axes.plot(where, [value.mean for value in values], color=colour, linewidth=1.6)
            _draw_estimates(axes, where, values, colour=colour, mark=mark, name=one.name)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(counts))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda count, _position: f"{count:g}")
        axes.set(xlabel="number of agents", ylabel=label, ylim=limits)
        _dress(axes)
    if len(series) > 1:
        figure.legend(*all_axes[0].get_legend_handles_labels(), frameon=False, loc="outside right center", fontsize=9)
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


class HeatMap:
    """Count visits and blocked moves of agents on each cell, int64 (W, H), over episodes on one map.

    A visit is an agent on a cell at the reset or after a step. Steps that an agent begins and ends on its target, or
    after it has left, do not count. Moves that the edge, a wall or another agent blocks count at the agent's cell.
    """

    def __init__(self, walls: NDArray[np.bool_]) -> None:
        self.walls = walls
        self.visits, self.blocked = np.zeros((2, *walls.shape), dtype=np.int64)
        self.episodes = 0

    def add(self, episode: Episode) -> None:
        """Count an episode on the same map."""
        acting = episode.present.copy()
        resting = episode.settled | ~episode.present
        acting[1:] = ~(resting[1:] & resting[:-1])
        blocked = np.isin(episode.outcomes, BLOCKED) & acting
        for counts, mask in ((self.visits, acting), (self.blocked, blocked)):
            np.add.at(counts, tuple(episode.agents[mask].T), 1)
        self.episodes += 1


class HeatMaps(dict[bytes, HeatMap]):
    """The heat maps of episodes on several maps, by the bytes of the map."""

    def add(self, episode: Episode) -> None:
        """Count an episode on its map."""
        self.setdefault(episode.walls.tobytes(), HeatMap(episode.walls)).add(episode)

    def most_played(self) -> HeatMap:
        """Return the heat map with the most episodes; of several, the one that was added first."""
        return max(self.values(), key=lambda heat: heat.episodes)


def heat_figure(heat: HeatMap, title: str = "") -> Figure:
    """Draw the mean visits and blocked moves per episode, in two panels; y grows downwards, and walls are dark."""
    width, height = heat.walls.shape
    # In inches; very thin maps are drawn wider than they are.
    wide, tall = (max(3.6 * side / max(width, height), _THINNEST) for side in (width, height))
    rows, columns = (2, 1) if width > 2 * height else (1, 2)
    figure = Figure(figsize=(max(columns * (wide + 1.5), 5.2), rows * (tall + 0.8) + 0.4), layout="constrained")
    first, second = figure.subplots(rows, columns)
    drawn = (first, heat.visits, "visits", _BLUE), (second, heat.blocked, "blocked moves", _RED)
    for axes, counts, label, colour in drawn:
        values = np.ma.masked_array(counts / heat.episodes, mask=heat.walls)
        axes.set_facecolor("#46464e")  # the walls
        # On a square-root scale, other paths stay visible where one agent waits for long.
        scale = PowerNorm(0.5, vmin=0, vmax=float(values.max()) or 1.0)
        aspect: Any = "auto" if _THINNEST in (wide, tall) else "equal"
        # From white to a colour that is lighter than a wall, so that no cell looks like one.
        shades = LinearSegmentedColormap.from_list("", ["white", to_hex(cast("Any", colour))])
        image = axes.imshow(values.T, cmap=shades, norm=scale, interpolation="nearest", aspect=aspect)
        bar = figure.colorbar(image, cax=axes.inset_axes((1.0 + 0.12 / wide, 0, 0.16 / wide, 1)))
        bar.outline.set_visible(False)
        bar.set_label(f"{label} per episode", fontsize=9)
        bar.ax.tick_params(length=2)
        bar.ax.yaxis.set_major_locator(MaxNLocator(max(1, round(1.6 * tall))))
        axes.set_title(f"{label}, square-root scale", loc="left", fontsize=10)
        axes.set(xlabel="x (cells)", ylabel="y (cells)")
        for axis, length in ((axes.xaxis, wide), (axes.yaxis, tall)):
            axis.set_major_locator(MaxNLocator(max(1, round(1.8 * length)), integer=True, min_n_ticks=1))
        axes.tick_params(length=2)
        axes.spines[:].set_color("#b0b0b0")
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


def _draw_estimates(
    axes: Axes, where: Sequence[float], values: Sequence[Estimate], *, colour: Any, mark: str, name: str
) -> None:
    means = np.array([value.mean for value in values])
    # A single value has no interval, so its mark has no bar.
    low, high = (np.nan_to_num(np.abs([value[side] - value.mean for value in values]), nan=0.0) for side in (1, 2))
    look: dict[str, Any] = {"fmt": mark, "color": colour, "markersize": 5.5, "elinewidth": 1.3, "capsize": 2.5}
    axes.errorbar(where, means, yerr=[low, high], label=name, clip_on=False, zorder=3, **look)


def _dress(axes: Axes) -> None:
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _thousands(value: float, _position: int) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value else "0"
