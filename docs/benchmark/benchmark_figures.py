"""The figures of the page: a panel for each set, a line for each algorithm, over the number of agents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from benchmark_tables import TITLES
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks.pogema import SETS
from benchmarks.pogema.instances import SINGLE, UNPUBLISHED
from benchmarks.pogema.scores import Line
from multigrid._palette import colours

_BLUE, _ORANGE, _GREEN, _PURPLE, _RED, _SKY = ("#{:02x}{:02x}{:02x}".format(*colour) for colour in colours(6))
_GREY = "#46464e"

Measure = Literal["csr", "gap", "throughput"]
_LEAST_SOLVED = 5  # gaps of fewer instances are not drawn
_LIFELONG = [name for name in SETS if name not in SINGLE]
_PANELS = [name for name, numbers in SETS.items() if len(numbers) > 1 and name not in UNPUBLISHED]


class _Look(NamedTuple):
    colour: str
    mark: str
    dashes: str = "-"


# Own algorithms have whole lines, or dots and dashes; published ones dashed lines and hollow marks.
_LOOKS = {
    "LaCAM* (10 s)": _Look(_SKY, "P"),
    "LaCAM* (1 s)": _Look(_BLUE, "o"),
    "windowed planning": _Look(_BLUE, "o"),
    "PIBT": _Look(_GREEN, "s"),
    "pretrained policy, with a shield": _Look(_SKY, "*"),
    "pretrained policy, with messages": _Look(_SKY, "d", ":"),
    "pretrained policy, alone": _Look(_SKY, "p", "-."),
    "shortest paths": _Look(_PURPLE, "v"),
    "LaCAM": _Look(_GREY, "X", "--"),
    "RHCR": _Look(_GREY, "X", "--"),
    "SCRIMP": _Look(_ORANGE, "^", "--"),
    "MATS-LP": _Look(_ORANGE, "^", "--"),
    "DCC": _Look(_RED, "D", "--"),
    "Follower": _Look(_RED, "D", "--"),
}

# Of the legend, as parts of the height of a panel.
_TOP, _LINE = 1.05, 0.105
_LEARNED = ("pretrained policy, with a shield", "pretrained policy, with messages", "pretrained policy, alone")


def draw_success(lines: Sequence[Line]) -> Figure:
    """Draw the CSR."""
    shown = ("LaCAM* (1 s)", *_LEARNED, "PIBT", "shortest paths", "LaCAM", "SCRIMP", "DCC")
    figure, all_axes = _draw(lines, shown, "csr", 100, "instances solved (CSR)")
    for axes in all_axes:
        axes.set_ylim(-3, 103)
        axes.yaxis.set_major_formatter(lambda share, _position: f"{share:g} %")
    return figure


def draw_gaps(lines: Sequence[Line]) -> Figure:
    """Draw the gap to the proven bound."""
    shown = ("LaCAM* (10 s)", "LaCAM* (1 s)", *_LEARNED, "PIBT", "LaCAM", "SCRIMP", "DCC")
    certain = [line for line in lines if line.bounded >= _LEAST_SOLVED]
    figure, all_axes = _draw(certain, shown, "gap", 100, "cost above the bound")
    ticks = (0, 5, 20, 50, 100, 200)
    for axes in all_axes:
        # By the square root, which shows small gaps and zero as well as large ones.
        axes.set_yscale("function", functions=(_root, np.square))
        axes.set_ylim(0, axes.get_ylim()[1])
        axes.yaxis.set_major_locator(FixedLocator(ticks))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda share, _position: f"{share:g} %")
    return figure


def draw_throughput(lines: Sequence[Line]) -> Figure:
    """Draw the throughput of lifelong path finding."""
    shown = ("windowed planning", *_LEARNED, "PIBT", "shortest paths", "RHCR", "MATS-LP", "Follower")
    figure, all_axes = _draw(lines, shown, "throughput", 1, "throughput (arrivals a step)", panels=_LIFELONG)
    for axes in all_axes:
        axes.set_ylim(0, None)
    return figure


def _root(values: Any) -> Any:
    return np.sqrt(np.maximum(values, 0))


def _draw(
    lines: Sequence[Line],
    shown: Sequence[str],
    measure: Measure,
    factor: float,
    title: str,
    *,
    panels: Sequence[str] = _PANELS,
) -> tuple[Figure, list[Any]]:
    """Draw a panel for each of five sets; the sixth place is the legend's."""
    figure = Figure(figsize=(8.6, 5.0), layout="constrained")
    places = figure.subplots(2, 3)
    for position, (name, axes) in enumerate(zip(panels, places.flat, strict=False)):
        for algorithm in shown:
            own = sorted(
                (line for line in lines if (line.set, line.algorithm) == (name, algorithm)),
                key=lambda line: line.agents,
            )
            own = [line for line in own if not math.isnan(getattr(line, measure).mean)]
            if own:
                _draw_line(axes, own, measure, factor)
        axes.set_title(TITLES[name], fontsize=10)
        axes.xaxis.set_major_locator(FixedLocator(SETS[name]))
        axes.xaxis.set_minor_locator(NullLocator())
        margin = 0.04 * (SETS[name][-1] - SETS[name][0])
        axes.set_xlim(SETS[name][0] - margin, SETS[name][-1] + margin)
        axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5, length=2.5)
        if position % 3 == 0:
            axes.set_ylabel(title, fontsize=9.5)
        axes.set_xlabel("number of agents", fontsize=9.5)
    known = {line.algorithm for line in lines if not math.isnan(getattr(line, measure).mean)}
    _draw_legend(places.flat[-1], [name for name in shown if name in known])
    return figure, list(places.flat[: len(panels)])


def _draw_line(axes: Any, lines: Sequence[Line], measure: Measure, factor: float) -> None:
    look = _LOOKS[lines[0].algorithm]
    agents = [line.agents for line in lines]
    means, low, high = (
        np.array(column) * factor for column in zip(*(getattr(line, measure) for line in lines), strict=True)
    )
    # The mean of a single instance has no interval.
    axes.fill_between(agents, np.where(np.isnan(low), means, low), np.where(np.isnan(high), means, high), **_band(look))
    axes.plot(agents, means, **_line(look))


def _draw_legend(axes: Any, names: Sequence[str]) -> None:
    axes.axis("off")
    own = [name for name in names if _LOOKS[name].dashes != "--"]
    others = [name for name in names if name not in own]
    for title, group, top in (("this package", own, _TOP), ("published", others, _TOP - _LINE * (len(own) + 1.5))):
        if group:
            handles = [Line2D([], [], **_line(_LOOKS[name]), label=name) for name in group]
            if axes.get_legend():  # the next call would drop it
                axes.add_artist(axes.get_legend())
            axes.legend(
                handles=handles,
                title=title,
                loc="upper left",
                bbox_to_anchor=(-0.16, top),
                frameon=False,
                fontsize=9,
                title_fontsize=9,
                alignment="left",
                handlelength=2.8,
            )


def _line(look: _Look) -> dict[str, Any]:
    is_own = look.dashes != "--"
    return {
        "color": look.colour,
        "marker": look.mark,
        "linestyle": look.dashes,
        "linewidth": 1.5,
        "markersize": 5,
        "markerfacecolor": look.colour if is_own else "white",
        "clip_on": False,
        # Above, so that neither hides the other where they are equal.
        "zorder": 2.5 if is_own else 3,
    }


def _band(look: _Look) -> dict[str, Any]:
    return {"color": look.colour, "alpha": 0.13, "linewidth": 0}
