"""The median ratio over turns, and its confidence interval.

The ends of the interval are order statistics (Le Boudec, Performance Evaluation of Computer and Communication Systems,
2010, chapter 2). It assumes that turns are independent, and nothing about the distribution of ratios.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

__all__ = ["FEWEST_TURNS", "median_interval", "summary"]

FEWEST_TURNS = 6
"""With fewer turns, the lowest and the highest ratio enclose the median with a probability below 95 %."""


def summary(turns: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return a row for each figure, the worst first, and the number expected to differ from 1 by chance.

    Args:
        turns: the ratios of each turn, by figure; figures that are missing in a turn are listed under "left_out".

    >>> content = summary([{"a step": k / 16} for k in range(1, 10)])
    >>> {key: content["figures"][0][key] for key in ("ratio", "low", "high", "verdict")}
    {'ratio': 0.3125, 'low': 0.125, 'high': 0.5, 'verdict': 'worse'}
    """
    names = dict.fromkeys(name for turn in turns for name in turn)
    complete = [name for name in names if all(name in turn for turn in turns)]
    rows = [_row(name, [turn[name] for turn in turns]) for name in complete]
    rows.sort(key=lambda row: (row["verdict"] != "worse", row["ratio"]))
    coverage = median_interval([1.0] * len(turns))[2]
    return {
        "turns": len(turns),
        "coverage": coverage,
        "by_chance": (1 - coverage) * len(rows),
        "figures": rows,
        "left_out": [name for name in names if name not in complete],
    }


def _row(name: str, ratios: list[float]) -> dict[str, Any]:
    low, high, _ = median_interval(ratios)
    return {
        "name": name,
        "ratio": statistics.median(ratios),
        "low": low,
        "high": high,
        "verdict": "worse" if high < 1 else "better" if low > 1 else "no difference",
        "by_turn": ratios,
    }


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the innermost two values that enclose the median with at least 95 % probability, and that probability.

    >>> median_interval([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0, 8.0])
    (1.5, 8.0, 0.9609375)
    """
    ordered, n = sorted(values), len(values)
    k, outside = 0, 2 / 2**n
    while outside + 2 * math.comb(n, k + 1) / 2**n <= 0.05:
        k += 1
        outside += 2 * math.comb(n, k) / 2**n
    return ordered[k], ordered[n - 1 - k], 1 - outside
