"""The curves of Minigrid: the page shows the returns that are committed."""

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs" / "games"


def test_the_page_shows_the_committed_trainings():
    """A row has a task and a number of agents, how many seeds, and the means, with the lowest and the highest, then."""
    page = (DOCS / "minigrid.md").read_text(encoding="utf-8")
    runs = json.loads((DOCS / "curves" / "minigrid.json").read_text(encoding="utf-8"))["runs"]
    for task, agents in (("Empty-8x8", 1), ("Empty-8x8", 2), ("DoorKey-8x8", 1), ("DoorKey-8x8", 2)):
        curves = [one["returns"] for one in runs if (one["task"], one["agents"]) == (task, agents)]
        cells = [task, agents, len(curves)]
        for steps in (200_000, 800_000):
            found = np.array([next((value for at, value in curve if at >= 0.98 * steps), np.nan) for curve in curves])
            span = f"{found.mean():.2f} ({found.min():.2f} to {found.max():.2f})"
            cells.append("not run" if np.isnan(found).any() else span)
        assert f"| {' | '.join(map(str, cells))} |" in page
