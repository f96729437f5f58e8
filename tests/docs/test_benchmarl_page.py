"""The learning curves of BenchMARL: of five trainings each, and the page shows the table of their ends."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def module():
    """What make_curves.py defines."""
    return runpy.run_path(str(DOCS / "benchmarl" / "make_curves.py"))


def test_the_page_shows_the_committed_trainings(module):
    """Each algorithm has five trainings on each world, and table and page show what the figures give."""
    figures = module["read"](DOCS / "benchmarl" / "figures.json")
    assert set(figures) == set(module["make_worlds"]())
    for by_algorithm in figures.values():
        assert set(by_algorithm) == set(module["ALGORITHMS"])
        assert all(set(seeds) == {"0", "1", "2", "3", "4"} for seeds in by_algorithm.values())
    table = (DOCS / "benchmarl" / "table.md").read_text(encoding="utf-8")
    assert table == module["table"](figures)
    assert table in (DOCS / "how_to" / "benchmarl.md").read_text(encoding="utf-8")


def test_a_cell_has_the_mean_and_students_interval(module):
    """The half width for five values is 2.776 standard errors, a rate stays within 0 and 1; equal values have none."""
    last = (0.9, 0.8, 1.0, 0.7, 0.6)
    rows = {str(seed): {"csr": [0.0, value]} for seed, value in enumerate(last)}
    figures = {"hall": dict.fromkeys(module["ALGORITHMS"], rows)}
    # The standard deviation is the root of 0.025, the standard error 0.0707, the half width 0.196.
    assert "| hall | 80 % (60 to 100) |" in module["table"](figures)
    rows.update({seed: {"csr": [0.0, 1.0]} for seed in rows})
    assert "| hall | 100 % | 100 % |" in module["table"](figures)
    values = np.array([[0.95], [1.0]])
    mean, low, high = module["interval"](values)
    assert (mean, high) == (0.975, 1.0)
    assert low == pytest.approx(0.975 - 12.706 * 0.025)


def test_the_curves_are_drawn_of_what_there_is(module):
    """Each world has a panel with a line for each algorithm, over thousands of steps."""
    rows = {str(seed): {"frames": [0, 2000, 4000], "csr": [0.0, 0.5, 0.1 * seed]} for seed in range(3)}
    figures = {name: dict.fromkeys(module["ALGORITHMS"], rows) for name in ("hall", "yard")}
    first, second, *_ = module["draw"](figures).axes
    assert (first.get_title("left"), second.get_title("left")) == ("hall", "yard")
    assert [line.get_xdata().tolist() for line in first.lines] == [[0, 2, 4]] * 4
    np.testing.assert_allclose(second.lines[0].get_ydata(), [0, 0.5, 0.1])
