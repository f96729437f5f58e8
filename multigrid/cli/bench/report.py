"""What was measured, as rows that JSON takes, and as tables."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from multigrid.cli.bench.cases import Case
from multigrid.cli.bench.scaling import Curve

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["limit_rows", "print_comparison", "print_report", "step_rows"]


def step_rows(contenders: Sequence[Case]) -> list[dict[str, Any]]:
    """Return a row for each contender; the ratio is None where there is nothing to compare with."""
    by_name = {contender.name: contender for contender in contenders}
    rows = []
    for contender in contenders:
        other = None if contender.against is None else by_name.get(contender.against)
        rows.append(
            {
                "group": contender.group,
                "name": contender.name,
                "against": contender.against,
                "microseconds_per_agent_step": round(contender.microseconds, 6),
                "agent_steps_per_second": round(1e6 / contender.microseconds),
                "spread": round(contender.spread, 4),
                "ratio": None if other is None else round(other.microseconds / contender.microseconds, 4),
                "goal": contender.goal,
            }
        )
    return rows


def limit_rows(contenders: Sequence[Case], curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Return how far the fast faces are from what limits them, each with a goal to stay under, or to be over."""
    costs = {contender.name: contender.microseconds for contender in contenders}
    rows: list[dict[str, Any]] = []
    for name, copying in (
        ("GridWorld, gym.make_vec", "copying what gym.make_vec's returns"),
        ("vector env, 8 x 1,024", "copying what it returns"),
        ("vector env, 8 x 1,024, view", "copying what it returns, view"),
    ):
        rows.append({"name": f"{name}: over copying", "value": costs[name] / costs[copying], "under": 4.0})
    for name in ("GridWorld, gym.make_vec", "vector env, 8 x 1,024, view"):
        gain = costs[name] / costs[f"{name}, 2 threads"]
        rows.append({"name": f"{name}: 2 threads", "value": gain, "over": 1.6})
    for curve in curves:
        reach = f"from {curve.counts[0]:,} to {curve.counts[-1]:,} {curve.axis}"
        rows.append({"name": f"{curve.name}, {reach}: rise", "value": curve.rise, "under": 2.0})
    return [{**row, "value": round(row["value"], 3)} for row in rows]


def print_report(console: Console, content: dict[str, Any], folder: Path) -> None:
    """Print all tables."""
    _print_steps(console, content["steps"])
    _print_limits(console, content["limits"])
    _print_scaling(console, content["scaling"])
    _print_starts(console, content["starts"], content["memory"])
    _print_peers(console, content["peers"], folder)
    machine = content["machine"]
    console.print(
        f"Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine['numba']}, {machine['cores']} cores. "
        f"Medians of {content['rounds']} rounds, everything taking turns; ± is half the distance of the quartiles.",
        highlight=False,
    )


def print_comparison(console: Console, content: dict[str, Any]) -> None:
    """Print how two versions compare, the worst first."""
    console.print("How many times better this version is than the other: under 1 is worse.\n", highlight=False)
    table = _table("Figure", "ratio", "from", "to", "")
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    colours = {"worse": "red", "better": "green"}
    for row in content["figures"]:
        figures = (f"{row[key]:.3f}" for key in ("ratio", "low", "high"))
        colour = colours.get(row["verdict"], "default")
        table.add_row(row["name"], *figures, f"[{colour}]{row['verdict']}[/{colour}]")
    _print_table(console, table)
    count, chance = len(content["figures"]), content["by_chance"]
    console.print(
        f"Medians of {content['turns']} turns, and what encloses them with {content['coverage']:.1%}. Were nothing "
        f"different, chance alone would put {chance:.1f} of these {count} figures beyond 1, half of them as worse.",
        highlight=False,
    )
    if content["left_out"]:
        console.print(f"Not measured in every turn: {', '.join(content['left_out'])}.", highlight=False, markup=False)


def _table(title: str, *headings: str, widths: Sequence[int] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(f"[not dim bold]{title}", no_wrap=True, width=widths[0] if widths else None)
    for heading, width in itertools.zip_longest(headings, widths[1:]):
        table.add_column(heading, justify="right", no_wrap=True, width=width)
    return table


def _print_table(console: Console, table: Table) -> None:
    console.print(table)
    console.print()


def _print_steps(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    console.print("A step of one agent, random play. A ratio is how many times faster than the first row.\n")
    by_name = {row["name"]: row for row in rows}
    by_group: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_group.setdefault(row["group"], []).append(row)
    for group, members in by_group.items():
        table = _table(group, "us", "M steps/s", "spread", "ratio", "goal", widths=(38, 7, 9, 6, 6, 5))
        baseline = members[0]["against"]
        if baseline in by_name:
            _add_step(table, by_name[baseline], "[bold]1[/bold]")
        else:
            table.add_row(baseline, *["-"] * 4)
        for row in members:
            if row["name"] != baseline:
                _add_step(table, row, _ratio(row))
        _print_table(console, table)


def _add_step(table: Table, row: dict[str, Any], ratio: str) -> None:
    table.add_row(
        row["name"],
        _figures(row["microseconds_per_agent_step"]),
        _figures(row["agent_steps_per_second"] / 1e6),
        f"±{row['spread']:.0%}",
        ratio,
        "" if row["goal"] is None else f"{row['goal']:g}x",
    )


def _figures(value: float) -> str:
    """Three of them, and no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 0.001 else f"{value:.5f}"


def _ratio(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return "-"
    shown = f"{row['ratio']:.0f}x" if row["ratio"] >= 100 else f"{row['ratio']:.1f}x" if row["ratio"] >= 1 else None
    shown = shown or f"{row['ratio']:.2g}x"
    return shown if row["goal"] is None else _judged(shown, row["ratio"] >= row["goal"])


def _judged(shown: str, reached: bool) -> str:  # noqa: FBT001 - one of two colours
    return f"[green]{shown}[/green]" if reached else f"[red]{shown}[/red]"


def _print_limits(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    table = _table("What limits it", "times", "goal")
    for row in rows:
        reached = row["value"] <= row["under"] if "under" in row else row["value"] >= row["over"]
        goal = f"under {row['under']:g}" if "under" in row else f"over {row['over']:g}"
        table.add_row(row["name"], _judged(f"{row['value']:.2f}", reached), goal)
    _print_table(console, table)


def _print_scaling(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    for counts, group in itertools.groupby(rows, key=lambda row: row["counts"]):
        members = list(group)
        title = f"Microseconds a step, by number of {members[0]['axis']}"
        table = _table(title, *(f"{count:,}" for count in counts))
        for row in members:
            table.add_row(row["name"], *map(_figures, row["microseconds_per_agent_step"]))
        _print_table(console, table)


def _print_starts(console: Console, starts: Sequence[dict[str, Any]], memory: Sequence[dict[str, Any]]) -> None:
    table = _table("Starting up, in a new Python, and starting over", "seconds", "goal")
    for row in starts:
        goal = row["goal"]
        shown = f"{row['seconds']:.2g}" if row["seconds"] >= 0.0001 else f"{row['seconds']:.5f}"
        table.add_row(
            row["name"],
            shown if goal is None else _judged(shown, row["seconds"] <= goal),
            "" if goal is None else f"under {goal:g}",
        )
    _print_table(console, table)
    table = _table("Memory of one more world", "bytes")
    for row in memory:
        table.add_row(row["name"], f"{row['bytes']:,}")
    _print_table(console, table)


def _print_peers(console: Console, rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Say of each peer what its figures mean, or why there are none."""
    console.print("[bold]What can be compared[/bold]")
    width = min(console.width, 100)
    for row in rows:
        state = "" if row["measured"] else " Not measured." if row["told"] else " Not set up."
        text = f"{row['title']}: {row['comparable']}{state}"
        for line in textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False):
            console.print(line, highlight=False, markup=False)
    console.print()
    told = list(itertools.chain.from_iterable(row["told"] for row in rows))
    for line in told:
        console.print(line, highlight=False, markup=False, soft_wrap=True, style="yellow")
    missing = not all(row["measured"] or row["told"] for row in rows)
    if missing:
        command = "multigrid bench --setup-peers"
        console.print(f"[bold]{command}[/bold] sets up what is missing, in {folder}.", soft_wrap=True, highlight=False)
    if told or missing:
        console.print()
