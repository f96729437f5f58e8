"""What was measured, as tables."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.speed.report import (
    format_figure,
    make_table,
    print_goals,
    print_machine,
    print_steps,
    print_table,
)

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_report"]


def print_report(console: Console, content: dict[str, Any], folder: Path) -> None:
    """Print all tables, and what is to be known of the peers, whose environments are in a folder."""
    print_steps(console, content["steps"])
    _print_scaling(console, content["scaling"])
    _print_peers(console, content["peers"], folder)
    print_goals(console, content["goals"])
    print_machine(console, content)


def _print_scaling(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    for counts, group in itertools.groupby(rows, key=lambda row: row["counts"]):
        members = list(group)
        title = f"Microseconds a step, by number of {members[0]['axis']}"
        table = make_table(title, *(f"{count:,}" for count in counts))
        for row in members:
            table.add_row(row["name"], *map(format_figure, row["microseconds_per_agent_step"]))
        print_table(console, table)


def _print_peers(console: Console, rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Print what each peer's figures mean, or why there are none."""
    console.print("[bold]What can be compared[/bold]")
    width = min(console.width, 100)
    for row in rows:
        state = "" if row["measured"] else " Not measured." if row["messages"] else " Not set up."
        text = f"{row['title']}: {row['comparable']}{state}"
        for line in textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False):
            console.print(line, highlight=False, markup=False)
    console.print()
    messages = list(itertools.chain.from_iterable(row["messages"] for row in rows))
    for line in messages:
        console.print(line, highlight=False, markup=False, soft_wrap=True, style="yellow")
    missing = not all(row["measured"] or row["messages"] for row in rows)
    if missing:
        command = "python -m benchmarks.peers --setup-peers"
        console.print(f"[bold]{command}[/bold] sets up the rest, in {folder}.", soft_wrap=True, highlight=False)
    if messages or missing:
        console.print()
