"""The goals of this package's speed, and the verdict on each."""

from __future__ import annotations

from typing import Any

__all__ = ["goal_rows", "judge"]


def goal_rows(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each figure that has a goal: name, value, unit, spread, "under" or "over" the goal, verdict.

    Args:
        content: what was measured, by the names of `benchmarks.speed.measuring.measure`.
    """
    rows = [
        {"name": row["name"], "value": row["ratio"], "spread": row["ratio_spread"], "over": row["goal"]}
        for row in content["steps"]
        if row["goal"] is not None and row["ratio"] is not None
    ]
    rows += content["limits"]
    rows += [
        {"name": row["name"], "value": row["seconds"], "unit": "s", "under": row["goal"]}
        for row in content.get("starts", ())
        if row["goal"] is not None
    ]
    return [{"unit": "x", "spread": None, **row, "verdict": judge(row)} for row in rows]


def judge(row: dict[str, Any]) -> str:
    """Return whether a value reaches its goal, and by what share of the goal it is better or worse.

    >>> judge({"value": 4.6, "under": 4.0}), judge({"value": 2.0, "over": 1.6})
    ('missed by 15%', 'reached by 25%')
    """
    share = 1 - row["value"] / row["under"] if "under" in row else row["value"] / row["over"] - 1
    size = f"{abs(share):.0%}" if abs(share) >= 0.005 or share == 0 else "<1%"
    return f"{'reached' if share >= 0 else 'missed'} by {size}"
