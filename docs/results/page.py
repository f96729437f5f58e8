"""What results.json says, as a page and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from multigrid.evaluation._estimates import wilson
from multigrid.rendering._palette import colours

POLICIES = {"random": "random play", "shortest-path": "shortest paths", "trained": "trained policy"}
"""What they are called by the command line, and what by the table."""

_BLUE, _ORANGE, _GREEN = ("#{:02x}{:02x}{:02x}".format(*colour) for colour in colours(3))
_LOOKS = {"random": (_ORANGE, "^"), "shortest-path": (_GREEN, "s"), "trained": (_BLUE, "o")}

_PREFACE = """\
# Results of training

A policy trained with PPO, agents that follow shortest paths, and random play:

![Success and costs by number of agents](results.svg)

With {most_agents} agents, {solved}.

This is not [the pretrained policy](../pretrained.md), which comes with the package.
"""
_COLUMNS = """\
*Paths*: shortest paths. [results.json](results.json) has random play, the ISR and all 95 % intervals. That of the CSR \
(Wilson's) is {half} at 0.5, and {full} at 1.

- **[CSR](../path_finding.md#metrics)**: the share of episodes in which all agents are on their targets at the end.
- **Cost**: the sum of costs; {max_cycles} for an agent that is not on its target in the end. **Least**: the sum of \
the shortest path lengths.
- **Gap**: by how many percent the sum of costs is above a proven lower bound, on average over solved episodes: small, \
too, if only easy layouts are solved. The bounds equal the smallest sum of costs in {known} layouts{unsolvable}.

*Difference*: the CSR of the trained policy minus that of shortest paths on the same layouts, with a 95 % bootstrap \
interval over episodes, which leaves out the variation between trainings:
"""
_METHOD = """\
## How they were made

```text
python docs/results/make_results.py
```

{trained_by} by PPO with shared weights ([learner.py](learner.py)) for {steps:,} agent steps, on all maps and \
numbers of agents, with the seeds {training_seeds}. Each row is over {episodes} held-out episodes, of seeds {first} to \
{last}. {who} plays, and samples its actions.

Episodes have {max_cycles} steps, with `on_target="stay"`, `collisions="symmetric"` and `allow_stay=True`. Maps: \
*empty*, 9 x 7 cells; *random*, 11 x 8, a fifth of them walls, {training_maps} maps in training and {held_out_maps} \
held-out ones; *warehouse*, 13 x 9, one map with shelves of 3 x 1 and aisles one cell wide.

Versions: multigrid {multigrid} (rules {rules}), torch {torch}, NumPy {numpy}, Python {python}. Training took \
{training_seconds} seconds on one core, evaluation {playing_seconds}, the bounds (`multigrid.planning.bounds`, \
{max_expansions:,} expansions) {bounds_seconds}.
"""
_WORDS = {2: "Two", 3: "Three", 4: "Four"}


def table(content: Mapping[str, Any]) -> str:
    """Return results.md."""
    shown = {"trained": "trained", "shortest-path": "paths"}
    names = {"csr": ("CSR", 3, 1), "sum_of_costs": ("cost", 1, 1), "gap": ("gap", 1, 100)}
    columns = [f"{title}, {label}" for title, *_ in names.values() for label in shown.values()]
    figures = [f"| map | agents | {' | '.join(columns)} | least |", f"|---|{'---:|' * (len(columns) + 2)}"]
    for cell in content["cells"]:
        means = [
            _number(cell["policies"][policy][name]["mean"], digits, factor)
            for name, (_, digits, factor) in names.items()
            for policy in shown
        ]
        least = f"{cell['least_sum_of_costs']['mean']:.1f}"
        figures.append(f"| {cell['map']} | {cell['num_agents']} | {' | '.join(means)} | {least} |")
    differences = ["| map | agents | difference | CSR of each network |", "|---|---:|---:|---|"]
    differences += [
        f"| {cell['map']} | {cell['num_agents']} | {_written(cell['trained_csr_minus_shortest_path'], 3, '+')} | "
        f"{', '.join(f'{csr:.2f}' for csr in cell['trained_csr_by_network'])} |"
        for cell in content["cells"]
    ]
    described = _describe(content)
    preface, explained, method = (text.format(**described) for text in (_PREFACE, _COLUMNS, _METHOD))
    return "\n".join([preface, *figures, "", explained, *differences, "", method])


def _describe(content: Mapping[str, Any]) -> dict[str, Any]:
    networks, seconds = content["plan"]["networks"], content["processor_seconds"]
    first, last = content["held_out_seeds"]
    most_agents = max(cell["num_agents"] for cell in content["cells"])
    crowded = [cell for cell in content["cells"] if cell["num_agents"] == most_agents]
    unsolvable = sum(cell["layouts"]["unsolvable"] for cell in content["cells"])
    episodes = content["plan"]["episodes"]
    layouts = episodes * len(content["cells"])
    known = sum(cell["layouts"]["optimum_known"] for cell in content["cells"])
    return {
        "most_agents": most_agents,
        "solved": _solved(crowded),
        **content["plan"],
        **content["versions"],
        "max_cycles": content["max_cycles"],
        "training_seconds": " + ".join(map(str, seconds["training"])),
        "playing_seconds": seconds["playing"],
        "bounds_seconds": seconds["bounds"],
        "max_expansions": content["max_expansions"],
        "known": f"all {layouts:,}" if known == layouts else f"{known:,} of {layouts:,}",
        "unsolvable": f", and {unsolvable} have no solution in time" if unsolvable else "",
        "half": _interval(episodes // 2, episodes),
        "full": _interval(episodes, episodes),
        "training_seeds": ", ".join(map(str, content["training"]["seed"])),
        "trained_by": "One network was trained"
        if networks == 1
        else f"{_WORDS.get(networks, networks)} networks were trained, each",
        "who": "It" if networks == 1 else f"In episode k, network k modulo {networks}",
        "first": first,
        "last": last,
    }


def _solved(cells: list[Any]) -> str:
    """Say what each policy solves on each map."""
    said = []
    for policy in reversed(POLICIES):
        shares = [f"{100 * cell['policies'][policy]['csr']['mean']:.3g} %" for cell in cells]
        if not said:
            shares = [f"{share} ({cell['map']})" for share, cell in zip(shares, cells, strict=True)]
        said.append(f"{POLICIES[policy]} {'solves ' * (not said)}{', '.join(dict.fromkeys(shares))}")
    return f"the {said[0]} of held-out episodes; {'; '.join(said[1:])}"


def _interval(solved: int, episodes: int) -> str:
    """Return Wilson's interval of a share."""
    _, low, high = wilson(np.repeat([1.0, 0.0], [solved, episodes - solved]))
    return f"[{low:.2f}, {high:.2f}]"


def _number(mean: float | None, digits: int, factor: int) -> str:
    """Write a mean, which is undefined for a gap without a success."""
    return "-" if mean is None else f"{factor * mean:.{digits}f}"


def _written(estimate: Mapping[str, Any], digits: int, sign: str = "") -> str:
    """Write a mean and its interval, if there is one."""
    mean, *ends = (None if value is None else f"{value:{sign}.{digits}f}" for value in estimate.values())
    return mean if None in ends else f"{mean} [{', '.join(ends)}]"


def picture(content: Mapping[str, Any]) -> Figure:
    """Draw results.svg: CSR and the costs of an agent over the number of agents, a column for each map."""
    maps = list(dict.fromkeys(cell["map"] for cell in content["cells"]))
    figure = Figure(figsize=(1.2 + 2.3 * len(maps), 4.6), layout="constrained")
    all_axes = figure.subplots(2, len(maps), squeeze=False, sharex=True, sharey="row")
    lowest = min(cell["least_sum_of_costs"]["mean"] / cell["num_agents"] for cell in content["cells"])
    for column, name in enumerate(maps):
        cells = [cell for cell in content["cells"] if cell["map"] == name]
        counts = np.array([cell["num_agents"] for cell in cells])
        top, bottom = all_axes[:, column]
        _draw(top, cells, counts, lambda figures, _count: figures["csr"])
        _draw(bottom, cells, counts, lambda figures, count: _divided(figures["sum_of_costs"], count))
        least = [cell["least_sum_of_costs"]["mean"] for cell in cells] / counts
        bottom.plot(
            counts, least, color="#46464e", linestyle=":", linewidth=1.4, label="shortest ways (no plan needs less)"
        )
        top.set_title(name, fontsize=10)
        top.set_ylim(-0.03, 1.03)
        # By the logarithm: random play would squeeze the others into one line.
        bottom.set_yscale("log", base=2)
        bottom.set_ylim(lowest / 1.2, content["max_cycles"] * 1.15)
        bottom.yaxis.set_minor_locator(NullLocator())
        bottom.yaxis.set_major_formatter(lambda steps, _position: f"{steps:g}")
        bottom.set_xscale("log", base=2)
        bottom.set_xlim(counts[0] / 1.25, counts[-1] * 1.25)
        bottom.xaxis.set_major_locator(FixedLocator(counts.tolist()))
        bottom.xaxis.set_minor_locator(NullLocator())
        bottom.xaxis.set_major_formatter(lambda count, _position: f"{count:g}")
        bottom.set_xlabel("number of agents")
    all_axes[0, 0].set_ylabel("CSR (all agents succeed)")
    all_axes[1, 0].set_ylabel("cost of an agent (steps)")
    figure.legend(
        *all_axes[1, 0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=4, fontsize=9
    )
    return figure


def _draw(axes: Any, cells: list[Any], counts: NDArray[np.int64], figure_of: Callable[[Any, int], Any]) -> None:
    for index, (policy, name) in enumerate(POLICIES.items()):
        colour, mark = _LOOKS[policy]
        # Side by side, so that the intervals do not hide one another.
        where = counts * 1.04 ** (index - 1)
        figures = [figure_of(cell["policies"][policy], cell["num_agents"]) for cell in cells]
        mean = np.array([one["mean"] for one in figures])
        # Without an interval, the mark has no bar.
        low, high = (
            np.array([one["mean"] if one[key] is None else one[key] for one in figures]) for key in ("low", "high")
        )
        axes.errorbar(
            where,
            mean,
            yerr=[mean - low, high - mean],
            color=colour,
            marker=mark,
            markersize=5,
            linewidth=1.5,
            elinewidth=1.2,
            capsize=2.5,
            label=name,
            clip_on=False,
            zorder=3,
        )
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _divided(estimate: Mapping[str, Any], count: int) -> dict[str, float | None]:
    return {key: None if value is None else value / count for key, value in estimate.items()}
