"""Print measurements as tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from benchmarks.speed.rows import C_SOURCE

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "format_figure",
    "make_table",
    "print_comparison",
    "print_goals",
    "print_machine",
    "print_report",
    "print_steps",
    "print_table",
]

_UNITS = {"x": "x", "s": " s", "GB": " GB"}


def print_report(console: Console, content: dict[str, Any]) -> None:
    """Print what `python -m benchmarks` measured."""
    print_steps(console, content["steps"])
    _print_copying(console, content["copying"])
    table = make_table("Starting up, in a new Python, and starting over", "seconds")
    for row in content["starts"]:
        table.add_row(row["name"], _format_seconds(row["seconds"]))
    print_table(console, table)
    table = make_table("Memory of one more world", "bytes")
    for row in content["memory"]:
        table.add_row(row["name"], f"{row['bytes']:,}")
    print_table(console, table)
    print_goals(console, content["goals"])
    if not content["thorough"]:
        console.print("Only without --quick: cold starts, and a million worlds.", highlight=False)
    print_machine(console, content)


def _print_copying(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    console.print(
        "A whole step, and copying every byte that it returns: nanoseconds per agent-step. C is the fastest that was "
        f"found for the rules, without copies, {C_SOURCE}.\n",
        highlight=False,
    )
    table = make_table("whole steps and copies", "bytes", "copying", "step", "ratio", "\u00b1", "C")
    for row in rows:
        times = (format_figure(row["copying"]), format_figure(row["step"]))
        ratio = (_format_ratio(row["ratio"]), _format_spread(row["spread"]))
        table.add_row(row["name"], f"{row['bytes']:.1f}", *times, *ratio, format_figure(row["c"]))
    print_table(console, table)


def print_goals(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of `benchmarks.speed.goals.goal_rows`, and how many goals are reached."""
    for heading, bound in (("Goals: at least", "over"), ("Goals: at most", "under")):
        table = make_table(heading, "measured", "\u00b1", "goal", "")
        table.columns[0].no_wrap = False
        for row in rows:
            if bound in row:
                measured, goal = _format_value(row["value"], row["unit"]), f"{row[bound]:g}{_UNITS[row['unit']]}"
                spread = "" if row["spread"] is None else _format_spread(row["spread"])
                colour = "green" if row["verdict"].startswith("reached") else "red"
                table.add_row(row["name"], measured, spread, goal, f"[{colour}]{row['verdict']}[/{colour}]")
        if table.row_count:
            print_table(console, table)
    reached = sum(row["verdict"].startswith("reached") for row in rows)
    console.print(f"{reached} of {len(rows)} goals are reached.\n", highlight=False)


def _format_value(value: float, unit: str) -> str:
    """Return a value with its unit.

    >>> _format_value(2.345, "x"), _format_value(0.21, "s"), _format_value(2.161, "GB")
    ('2.35x', '0.21 s', '2.16 GB')
    """
    if unit == "x":
        return _format_ratio(value)
    return f"{_format_seconds(value) if unit == 's' else f'{value:.2f}'}{_UNITS[unit]}"


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
    console.print(
        "A step of one agent, random play, results not used: microseconds, and millions of steps a second. A ratio is "
        "how many times faster than the first row of the table. \u00b1 is the spread over rounds, of the time and then "
        "of the ratio: half the distance between the quartiles, relative to the median.\n",
        highlight=False,
    )
    by_name = {row["name"]: row for row in rows}
    by_group: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_group.setdefault(row["group"], []).append(row)
    for group, members in by_group.items():
        table = make_table(group, "us", "\u00b1", "M steps/s", "ratio", "\u00b1", widths=(38, 7, 6, 9, 6, 6))
        baseline = members[0]["against"]
        if baseline in by_name:
            _add_step(table, by_name[baseline], "[bold]1[/bold]", "")
        else:
            table.add_row(baseline, *["-"] * 4)
        for row in members:
            if row["name"] != baseline:
                ratio, spread = row["ratio"], row["ratio_spread"]
                _add_step(table, row, *(("-", "") if ratio is None else (_format_ratio(ratio), _format_spread(spread))))
        print_table(console, table)


def _add_step(table: Table, row: dict[str, Any], ratio: str, ratio_spread: str) -> None:
    table.add_row(
        row["name"],
        format_figure(row["microseconds_per_agent_step"]),
        _format_spread(row["spread"]),
        format_figure(row["agent_steps_per_second"] / 1e6),
        ratio,
        ratio_spread,
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


def _format_ratio(ratio: float) -> str:
    """Return a ratio with three digits.

    >>> _format_ratio(123.4), _format_ratio(2.345), _format_ratio(0.0123)
    ('123x', '2.35x', '0.012x')
    """
    return "<0.01x" if ratio < 0.01 else f"{ratio:.2g}x" if ratio < 0.995 else f"{format_figure(ratio)}x"


def _format_seconds(seconds: float) -> str:
    """Return seconds with two digits and no exponent.

    >>> _format_seconds(0.214), _format_seconds(12.3), _format_seconds(0.0000123)
    ('0.21', '12', '0.00001')
    """
    size = abs(seconds)
    return f"{seconds:.0f}" if size >= 10 else f"{seconds:.2g}" if size >= 0.0001 else f"{seconds:.5f}"


def print_machine(console: Console, content: dict[str, Any]) -> None:
    """Print the machine and the method of the measurement."""
    machine = content["machine"]
    console.print(
        f"Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine.get('numba', 'missing')}, "
        f"{machine['cores']} cores. The rules of the game are {machine['kernels']}. "
        f"Medians of {content['rounds']} rounds, all cases taking turns.",
        highlight=False,
    )
