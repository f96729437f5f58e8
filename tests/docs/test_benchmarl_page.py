"""The learning curves of BenchMARL: of five trainings each, and the page shows the table of their ends."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
MODULE = runpy.run_path(str(DOCS / "benchmarl" / "make_curves.py"))


def test_the_page_shows_the_committed_trainings():
    """Each algorithm has five trainings on each world, and table and page show what the figures give."""
    figures = MODULE["read"](DOCS / "benchmarl" / "figures.json")
    assert set(figures) == set(MODULE["make_worlds"]())
    for by_algorithm in figures.values():
        assert set(by_algorithm) == set(MODULE["ALGORITHMS"])
        assert all(set(seeds) == {"0", "1", "2", "3", "4"} for seeds in by_algorithm.values())
    table = (DOCS / "benchmarl" / "table.md").read_text(encoding="utf-8")
    assert table == MODULE["table"](figures)
    assert table in (DOCS / "how_to" / "benchmarl.md").read_text(encoding="utf-8")


def test_a_cell_has_the_mean_and_students_interval():
    """The half width for five values is 2.776 standard errors, a rate stays within 0 and 1; equal values have none."""
    rows = {str(seed): {"csr": [0.0, value]} for seed, value in enumerate((0.9, 0.8, 1.0, 0.7, 0.6))}
    figures = {"hall": dict.fromkeys(MODULE["ALGORITHMS"], rows)}
    # The standard deviation is the root of 0.025, the standard error 0.0707, the half width 0.196.
    assert "| hall | 80 % (60 to 100) |" in MODULE["table"](figures)
    rows.update({seed: {"csr": [0.0, 1.0]} for seed in rows})
    assert "| hall | 100 % | 100 % |" in MODULE["table"](figures)
    mean, low, high = MODULE["interval"](np.array([[0.95], [1.0]]))
    assert (mean, high) == (0.975, 1.0)
    assert low == pytest.approx(0.975 - 12.706 * 0.025)


def test_the_curves_are_drawn_of_what_there_is():
    """Each world has a panel with a line for each algorithm, over thousands of steps."""
    rows = {str(seed): {"frames": [0, 2000, 4000], "csr": [0.0, 0.5, 0.1 * seed]} for seed in range(3)}
    first, second, *_ = MODULE["draw"]({name: dict.fromkeys(MODULE["ALGORITHMS"], rows) for name in ("a", "b")}).axes
    assert (first.get_title("left"), second.get_title("left")) == ("a", "b")
    assert [line.get_xdata().tolist() for line in first.lines] == [[0, 2, 4]] * 4
    np.testing.assert_allclose(second.lines[0].get_ydata(), [0, 0.5, 0.1])
