"""Print measurements as tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console


def print_report(console: Console, content: dict[str, Any]) -> None:
    """Print what `python -m benchmarks` measured."""
    print_steps(console, content["steps"])
    _say(
        console,
        "A whole step, and copying every byte that it returns: nanoseconds per agent-step. C is the fastest that was "
        "found for the rules, without copies, measured on one core of a Zen 3 at 3.24 GHz, docs/speed.md.\n",
    )
    rows = [
        (row["name"], f"{row['bytes']:.1f}", *map(format_figure, (row["copying"], row["step"], row["ratio"], row["c"])))
        for row in content["copying"]
    ]
    print_table(console, "whole steps and copies", ("bytes", "copying", "step", "ratio", "C"), rows)
    times = [(row["name"], f"{row['seconds']:.5f}") for row in content["starts"]]
    print_table(console, "Starting up, in a new Python, and starting over", ("seconds",), times)
    sizes = [(row["name"], f"{row['bytes']:,}") for row in content["memory"]]
    print_table(console, "Memory of one more world", ("bytes",), sizes)
    print_goals(console, content["goals"])
    if not content["thorough"]:
        _say(console, "Only without --quick: cold starts.")
    print_machine(console, content)


def print_steps(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table for each group of `step_rows`, with the case that the others are compared with on top."""
    _say(
        console,
        "A step of one agent, random play, results not used: microseconds. A ratio is how many times faster than the "
        "first row of the table. \u00b1 is the spread over rounds, of the time and then of the ratio: half the "
        "distance between the quartiles, relative to the median.\n",
    )
    by_name = {row["name"]: row for row in rows}
    for group, members in itertools.groupby(sorted(rows, key=_group_order(rows)), key=lambda row: row["group"]):
        shown = list(members)
        baseline = shown[0]["against"]
        first = by_name.get(baseline, {"name": baseline})
        cells = [_step_cells(row) for row in [first, *(row for row in shown if row["name"] != baseline)]]
        print_table(console, group, ("us", "\u00b1", "ratio", "\u00b1"), cells, widths=(44, 8, 6, 8, 6))


def _group_order(rows: Sequence[dict[str, Any]]) -> Any:
    groups = list(dict.fromkeys(row["group"] for row in rows))
    return lambda row: groups.index(row["group"])


def _step_cells(row: dict[str, Any]) -> tuple[str, ...]:
    if "ratio" not in row:
        return row["name"], "-", "", "-", ""
    ratio = ("-", "") if row["ratio"] is None else (format_ratio(row["ratio"]), format_spread(row["ratio_spread"]))
    return row["name"], format_figure(row["microseconds_per_agent_step"]), format_spread(row["spread"]), *ratio


def print_goals(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of `benchmarks.speed.measure.goal_rows`, and how many goals are reached."""
    for heading, bound in (("Goals: at least", "over"), ("Goals: at most", "under")):
        cells = []
        for row in rows:
            if bound in row:
                unit = "x" if row["unit"] == "x" else f" {row['unit']}"
                measured = format_ratio(row["value"]) if row["unit"] == "x" else f"{row['value']:.2g}{unit}"
                around = "" if row["spread"] is None else format_spread(row["spread"])
                colour = "green" if row["verdict"].startswith("reached") else "red"
                verdict = f"[{colour}]{row['verdict']}[/{colour}]"
                cells.append((row["name"], measured, around, f"{row[bound]:g}{unit}", verdict))
        if cells:
            print_table(console, heading, ("measured", "\u00b1", "goal", ""), cells)
    reached = sum(row["verdict"].startswith("reached") for row in rows)
    _say(console, f"{reached} of {len(rows)} goals are reached.\n")


def print_comparison(console: Console, content: dict[str, Any]) -> None:
    """Print how two versions compare, the worst figure first."""
    _say(console, "How many times better this version is than the other: under 1 is worse.\n")
    colours = {"worse": "red", "better": "green", "no difference": "default"}
    cells = []
    for row in content["figures"]:
        colour = colours[row["verdict"]]
        figures = (f"{row[key]:.3f}" for key in ("ratio", "low", "high"))
        cells.append((row["name"], *figures, f"[{colour}]{row['verdict']}[/{colour}]"))
    print_table(console, "Figure", ("ratio", "from", "to", ""), cells)
    count, chance = len(content["figures"]), content["by_chance"]
    _say(
        console,
        f"Medians of {content['turns']} turns, with their {content['coverage']:.1%} intervals. Between two equal "
        f"versions, chance alone would put {chance:.1f} of these {count} figures beyond 1, half of them as worse.",
    )
    if content["left_out"]:
        _say(console, f"Not measured in every turn: {', '.join(content['left_out'])}.")


def print_machine(console: Console, content: dict[str, Any]) -> None:
    """Print the machine and the method of the measurement."""
    machine = content["machine"]
    _say(
        console,
        f"Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine.get('numba', 'missing')}, "
        f"{machine['cores']} cores. The rules of the game are {machine['kernels']}. "
        f"Medians of {content['rounds']} rounds, all cases taking turns.",
    )


def print_table(
    console: Console,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int] = (),
) -> None:
    """Print a table and an empty line: the title heads the first column, and the other columns are right-aligned."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(f"[not dim bold]{title}", overflow="fold", width=widths[0] if widths else None)
    for heading, width in itertools.zip_longest(headings, widths[1:]):
        table.add_column(heading, justify="right", no_wrap=True, width=width)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)


def format_figure(value: float) -> str:
    """Return a number with three digits and no exponent.

    >>> format_figure(1234.5), format_figure(1.2345), format_figure(0.0001)
    ('1234', '1.23', '0.00010')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 0.001 else f"{value:.5f}"


def format_spread(spread: float) -> str:
    """Return a share in six characters.

    >>> format_spread(0.034), format_spread(13.97)
    ('±3%', '±>999%')
    """
    return f"±{spread:.0%}" if spread < 9.995 else "±>999%"


def format_ratio(ratio: float) -> str:
    """Return a ratio with three digits.

    >>> format_ratio(123.4), format_ratio(2.345), format_ratio(0.0123)
    ('123x', '2.35x', '0.012x')
    """
    return "<0.01x" if ratio < 0.01 else f"{ratio:.2g}x" if ratio < 0.995 else f"{format_figure(ratio)}x"
