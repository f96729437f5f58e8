"""Report measurements as rows for JSON and as tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from multigrid.cli.bench.cases import REWARDED, SET_MANY, SET_ONE, Case
from multigrid.cli.bench.scaling import Curve

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "format_figure",
    "limit_rows",
    "make_table",
    "print_comparison",
    "print_limits",
    "print_machine",
    "print_report",
    "print_steps",
    "print_table",
    "print_verdict",
    "step_rows",
]


def step_rows(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return a row for each case; its ratio is None where the case that it is compared with was not measured."""
    microseconds = {case.name: case.microseconds for case in cases}
    rows = []
    for case in cases:
        own, other = microseconds[case.name], microseconds.get(case.against)
        rows.append(
            {
                "group": case.group,
                "name": case.name,
                "against": case.against,
                "microseconds_per_agent_step": round(own, 6),
                "agent_steps_per_second": round(1e6 / own),
                "spread": round(case.spread, 4),
                "ratio": None if other is None else round(other / own, 4),
                "goal": case.goal,
            }
        )
    return rows


def limit_rows(cases: Sequence[Case], curves: Sequence[Curve] = ()) -> list[dict[str, Any]]:
    """Return rows that compare the vector envs with their limits, each with a goal to stay under or to exceed."""
    # Of a case that only one of two versions has, there is nothing to compare.
    costs = {case.name: case.microseconds for case in cases if case.costs}
    rows: list[dict[str, Any]] = []

    def add(name: str, part: str, whole: str, **goal: float) -> None:
        if part in costs and whole in costs:
            rows.append({"name": name, "value": round(costs[part] / costs[whole], 3), **goal})

    for name, copying in (
        ("GridWorld, gym.make_vec", "copying what gym.make_vec's returns"),
        ("vector env, 8 x 1,024", "copying what it returns"),
        ("vector env, 8 x 1,024, view", "copying what it returns, view"),
    ):
        add(f"{name}: over copying", name, copying, under=4.0)
    for name in ("GridWorld, gym.make_vec", "vector env, 8 x 1,024, view"):
        add(f"{name}: 2 threads", name, f"{name}, 2 threads", over=1.6)
    add(f"{REWARDED}: speed kept", "vector env, 8 x 1,024", REWARDED, over=0.5)
    for name, step, most in ((SET_ONE, "ParallelEnv, N = 8", 5.0), (SET_MANY, "vector env, 8 x 1,024", 10.0)):
        add(f"{name}, over a step", name, step, under=most)
    return rows + [curve.rise_row() for curve in curves]


def print_report(console: Console, content: dict[str, Any]) -> None:
    """Print what `multigrid bench` measured."""
    print_steps(console, content["steps"])
    print_limits(console, content["limits"])
    table = make_table("Starting up, in a new Python, and starting over", "seconds", "goal")
    for row in content["starts"]:
        seconds = f"{row['seconds']:.2g}" if row["seconds"] >= 0.0001 else f"{row['seconds']:.5f}"
        if row["goal"] is None:
            table.add_row(row["name"], seconds, "")
        else:
            table.add_row(row["name"], _colour(seconds, row["seconds"] <= row["goal"]), f"under {row['goal']:g}")
    print_table(console, table)
    table = make_table("Memory of one more world", "bytes")
    for row in content["memory"]:
        table.add_row(row["name"], f"{row['bytes']:,}")
    print_table(console, table)
    print_verdict(console, content)
    print_machine(console, content)


def print_verdict(console: Console, content: dict[str, Any]) -> None:
    """Print how many goals are reached, and the names of the figures that miss theirs."""
    reached = {row["name"]: row["ratio"] >= row["goal"] for row in content["steps"] if row["goal"] and row["ratio"]}
    reached |= {row["name"]: _is_reached(row) for row in content["limits"]}
    reached |= {row["name"]: row["seconds"] <= row["goal"] for row in content.get("starts", ()) if row["goal"]}
    missed = [name for name, is_reached in reached.items() if not is_reached]
    console.print(f"{len(reached) - len(missed)} of {len(reached)} goals are reached.", highlight=False)
    for name in missed:
        console.print(f"  missed: {name}", highlight=False, markup=False)
    console.print()


def print_comparison(console: Console, content: dict[str, Any]) -> None:
    """Print how two versions compare, the worst figure first."""
    console.print("How many times better this version is than the other: under 1 is worse.\n", highlight=False)
    table = make_table("Figure", "ratio", "from", "to", "")
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    colours = {"worse": "red", "better": "green"}
    for row in content["figures"]:
        figures = (f"{row[key]:.3f}" for key in ("ratio", "low", "high"))
        colour = colours.get(row["verdict"], "default")
        table.add_row(row["name"], *figures, f"[{colour}]{row['verdict']}[/{colour}]")
    print_table(console, table)
    count, chance = len(content["figures"]), content["by_chance"]
    console.print(
        f"Medians of {content['turns']} turns, with their {content['coverage']:.1%} intervals. Between two equal "
        f"versions, chance alone would put {chance:.1f} of these {count} figures beyond 1, half of them as worse.",
        highlight=False,
    )
    if content["left_out"]:
        console.print(f"Not measured in every turn: {', '.join(content['left_out'])}.", highlight=False, markup=False)


def make_table(title: str, *headings: str, widths: Sequence[int] = ()) -> Table:
    """Return a table whose first column has the title as its heading; the other columns are right-aligned."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(f"[not dim bold]{title}", no_wrap=True, width=widths[0] if widths else None)
    for heading, width in itertools.zip_longest(headings, widths[1:]):
        table.add_column(heading, justify="right", no_wrap=True, width=width)
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table and an empty line."""
    console.print(table)
    console.print()


def print_steps(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table for each group of `step_rows`, with the case that the others are compared with on top."""
    console.print("A step of one agent, random play. A ratio is how many times faster than the first row.\n")
    by_name = {row["name"]: row for row in rows}
    by_group: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_group.setdefault(row["group"], []).append(row)
    for group, members in by_group.items():
        table = make_table(group, "us", "M steps/s", "spread", "ratio", "goal", widths=(38, 7, 9, 6, 6, 5))
        baseline = members[0]["against"]
        if baseline in by_name:
            _add_step(table, by_name[baseline], "[bold]1[/bold]")
        else:
            table.add_row(baseline, *["-"] * 4)
        for row in members:
            if row["name"] != baseline:
                _add_step(table, row, _format_ratio(row))
        print_table(console, table)


def _add_step(table: Table, row: dict[str, Any], ratio: str) -> None:
    table.add_row(
        row["name"],
        format_figure(row["microseconds_per_agent_step"]),
        format_figure(row["agent_steps_per_second"] / 1e6),
        _format_spread(row["spread"]),
        ratio,
        "" if row["goal"] is None else f"{row['goal']:g}x",
    )


def format_figure(value: float) -> str:
    """Return a number with three digits and no exponent.

    >>> format_figure(1234.5), format_figure(1.2345), format_figure(0.0001)
    ('1234', '1.23', '0.00010')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 0.001 else f"{value:.5f}"


def _format_spread(spread: float) -> str:
    """Return a share in six characters.

    >>> _format_spread(0.034), _format_spread(13.97)
    ('±3%', '±>999%')
    """
    return f"±{spread:.0%}" if spread < 9.995 else "±>999%"


def _format_ratio(row: dict[str, Any]) -> str:
    ratio, goal = row["ratio"], row["goal"]
    if ratio is None:
        return "-"
    text = f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2g}x"
    text = text if ratio >= 0.01 else "<0.01x"
    return text if goal is None else _colour(text, ratio >= goal)


def _colour(text: str, reached: bool) -> str:  # noqa: FBT001 - one of two colours
    return f"[green]{text}[/green]" if reached else f"[red]{text}[/red]"


def print_limits(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of `limit_rows`."""
    table = make_table("What limits it", "times", "goal")
    for row in rows:
        goal = f"under {row['under']:g}" if "under" in row else f"over {row['over']:g}"
        table.add_row(row["name"], _colour(f"{row['value']:.2f}", _is_reached(row)), goal)
    print_table(console, table)


def _is_reached(row: dict[str, Any]) -> bool:
    """Return whether a row of `limit_rows` reaches its goal."""
    return bool(row["value"] <= row["under"] if "under" in row else row["value"] >= row["over"])


def print_machine(console: Console, content: dict[str, Any]) -> None:
    """Print the machine and the method of the measurement."""
    machine = content["machine"]
    console.print(
        f"Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine.get('numba', 'missing')}, "
        f"{machine['cores']} cores. "
        f"Medians of {content['rounds']} rounds, all cases taking turns; ± is half the distance between the quartiles.",
        highlight=False,
    )
