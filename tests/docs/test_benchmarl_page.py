"""The learning curves of BenchMARL: of five trainings each, and the page shows the table of their ends."""

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
ALGORITHMS = ("ippo", "mappo", "qmix", "vdn")
STUDENT = 2.776
"""The 97.5 % quantile of Student's t for five values."""


def test_the_page_shows_the_committed_trainings():
    """Each algorithm has five trainings on each world; a cell of the page has their mean and Student's interval."""
    figures = json.loads((DOCS / "benchmarl" / "figures.json").read_text(encoding="utf-8"))
    page = (DOCS / "how_to" / "benchmarl.md").read_text(encoding="utf-8")
    assert set(figures) == {"random-9x7-2", "maze-9x7-2", "warehouse-9x7-2", "corridor"}
    for name, by_algorithm in figures.items():
        cells = []
        for algorithm in ALGORITHMS:
            last = np.array([by_algorithm[algorithm][str(seed)]["csr"][-1] for seed in range(5)])
            mean, half = last.mean(), STUDENT * last.std(ddof=1) / 5**0.5
            low, high = (100 * np.clip(end, 0, 1) for end in (mean - half, mean + half))
            cells.append(f"{100 * mean:.0f} %" + f" ({low:.0f} to {high:.0f})" * bool(low < high))
        assert f"| {name} | {' | '.join(cells)} |\n" in page
