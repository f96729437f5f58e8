"""The page of Overcooked has the scores with which the committed curves end."""

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs" / "games"


def test_the_page_shows_the_committed_trainings():
    """A row has the mean over seeds, with the lowest and the highest, of the last evaluation."""
    page = (DOCS / "overcooked.md").read_text(encoding="utf-8")
    curves = json.loads((DOCS / "curves" / "overcooked.json").read_text(encoding="utf-8"))
    for layout, (_, *seeds) in ((layout, curve.values()) for layout, curve in curves.items()):
        last = np.array(seeds)[:, -1]
        assert f"| `{layout}` | {len(seeds)} | {last.mean():.0f} ({last.min():.0f} to {last.max():.0f}) |" in page
