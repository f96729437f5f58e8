"""Matrices of estimates, as text and as pictures."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._palette import WHITE, Colour, contrast, hexadecimal, mix
from multigrid.evaluation._estimates import Estimate

_FULL: Colour = (0, 92, 150)
_WIDTH, _HEIGHT, _LETTER, _SIZE = 84, 44, 8, 14
_INK = "#767b83"  # as far from white as from a dark page


def show_estimate(estimate: Estimate, digits: int | None = None, sign: str = "") -> str:
    """Return a mean and its interval in square brackets, perhaps with signs; without the interval if there is none.

    >>> show_estimate(Estimate(171.2, 160.4, 180.0)), show_estimate(Estimate(0.5, np.nan, np.nan), 2)
    ('171 [160, 180]', '0.50')
    """
    if np.isnan(estimate.mean):
        return "undefined"
    form = f"{sign}.{_count_digits(np.array([estimate.mean])) if digits is None else digits}f"
    mean, low, high = (format(value, form) for value in estimate)
    return mean if np.isnan(estimate.low) else f"{mean} [{low}, {high}]"


def _count_digits(values: NDArray[np.float64]) -> int:
    """Return how many decimals numbers have, so that the largest one has about three digits."""
    largest = np.abs(values).max()
    return 0 if largest >= 100 else 1 if largest >= 10 else 2


def format_matrix(estimates: Any, rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Return a table with a line for each row."""
    digits = _count_digits(estimates.mean)
    shown = [[show_estimate(estimates[i, j], digits) for j in range(len(columns))] for i in range(len(rows))]
    table = [["", *columns], *([name, *cells] for name, cells in zip(rows, shown, strict=True))]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join([line[0].ljust(wide[0]), *map(str.rjust, line[1:], wide[1:])]) for line in table)
    return "\n".join(line.rstrip() for line in lines)


def draw_matrix(means: NDArray[np.float64], rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Return an SVG of means: darker cells have higher ones."""
    digits, low, high = _count_digits(means), min(0.0, float(means.min())), float(means.max())
    left = _LETTER * max(map(len, rows)) + 16
    width = max(_WIDTH, _LETTER * max(map(len, columns)) + 8)
    lines = []
    for j, name in enumerate(columns):
        lines.append(_write(left + (j + 0.5) * width, 20, name, _INK))
    for i, name in enumerate(rows):
        top = 32 + i * _HEIGHT
        lines.append(_write(left - 8, top + _HEIGHT / 2 + 5, name, _INK, "end"))
        for j in range(len(columns)):
            share = (means[i, j] - low) / (high - low) if high > low else 0.0
            colour = mix(WHITE, _FULL, float(share))
            place = f'x="{left + j * width}" y="{top}" width="{width - 2}" height="{_HEIGHT - 2}"'
            lines.append(f'<rect {place} fill="{hexadecimal(colour)}" stroke="#c9cbd0"/>')
            ink = hexadecimal(contrast(colour))
            lines.append(_write(left + (j + 0.5) * width, top + _HEIGHT / 2 + 5, f"{means[i, j]:.{digits}f}", ink))
    size = left + len(columns) * width + 8, 32 + len(rows) * _HEIGHT + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}"'
    style = f'font-family="system-ui,sans-serif" font-size="{_SIZE}"'
    title = "<title>Means: a row for each policy, a column for each partner</title>"
    return "\n".join([f'{head} height="{size[1]}" {style}>', title, *lines, "</svg>", ""])


def _write(x: float, y: float, text: str, ink: str, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{ink}" text-anchor="{anchor}">{html.escape(text)}</text>'
