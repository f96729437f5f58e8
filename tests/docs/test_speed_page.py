"""The figures of speed in docs/speed.md and README: those of docs/speed/figures.json, which a command measures."""

import json
import runpy
from pathlib import Path

import pytest

from benchmarks.peers.processes import BASELINE
from benchmarks.speed.cases import crowd_cases, local_cases, thread_cases

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PAGE, README = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/speed.md", "README.md"))
COMMAND = runpy.run_path(str(ROOT / "docs" / "make_speed.py"))


@pytest.fixture
def figures():
    """The committed figures."""
    return json.loads(COMMAND["FIGURES"].read_text(encoding="utf-8"))


def test_the_pages_are_current(figures):
    """docs/speed.md and README are what `python docs/make_speed.py` writes."""
    assert COMMAND["fill_page"](PAGE, figures) == PAGE, "docs/speed.md is old: run python docs/make_speed.py"
    assert COMMAND["fill_readme"](README, figures) == README, "README is old: run python docs/make_speed.py"


def test_another_figure_reaches_both_pages(figures):
    """A time and a ratio stand in the table of the page, and the ratio in README's first lines."""
    figures["bench"]["GridWorld, gym.make_vec"] = {"microseconds": 0.04567, "ratio": 2345.6}
    figures["copying"] = dict.fromkeys(figures["copying"], 4.0)
    figures["rises"]["agents"], figures["starts"]["what importing multigrid adds"] = 1.7, -0.002
    page = " ".join(COMMAND["fill_page"](PAGE, figures).split())
    readme = COMMAND["fill_readme"](README, figures)
    assert '| `gym.make_vec("multigrid/GridWorld-v0", num_envs=1024)` | 0.046 us | 2,346x |' in page
    assert "- **2,346 times** the steps per second" in readme
    for row in (
        "results, 1,024 worlds of one agent | 25 % |",
        "the same, 1,024 worlds of eight agents | 25 % |",
        "one world of up to 4,096 agents | 1.7x |",
        "adds to Gymnasium and PettingZoo | less than 0.01 s |",
    ):
        assert row in page


def test_the_command_reads_what_the_benches_print():
    """Times, ratios and starts are read by name; a curve's rise is its highest cost after the lowest, rounded up."""
    step = {"name": "A", "microseconds_per_agent_step": 2.5, "ratio": 4.0, "group": "", "goal": None}
    bench = {"steps": [step], "copying": [{"name": "B", "ratio": 5.0}], "starts": [{"name": "C", "seconds": 0.3}]}
    scaling = [
        {"name": name, "axis": axis, "counts": counts, "microseconds_per_agent_step": costs}
        for name, axis, counts, costs in (
            ("ParallelEnv", "agents", [1, 4], [1.0, 8.0]),
            ("vector env, one world", "agents", [1, 4], [2.0, 1.0]),
            ("one agent each", "worlds", [1, 1000, 9000, 100_000], [0.9, 1.0, 1.31, 1.2]),
        )
    ]
    peers = {"steps": [{**step, "ratio": None}], "scaling": scaling}
    assert COMMAND["extract"](bench, peers) == {
        "bench": {"A": {"microseconds": 2.5, "ratio": 4.0}},
        "peers": {},
        "copying": {"B": 5.0},
        "starts": {"C": 0.3},
        "rises": {"agents": 1.0, "worlds": 1.4},
    }


def test_the_page_names_cases_that_are_measured(figures):
    """Each row of the table, and each pair of threads, is a case of the run that it is read from."""
    cases = [*local_cases(), *thread_cases(busy=False), *thread_cases(busy=True)]
    peers = {*(case.name for case in crowd_cases()), *BASELINE.values()}
    peers |= {f"POGEMA priority, {form}, N = 8" for form in ("r = 2", "lists")}
    names = {"bench": {case.name for case in cases}, "peers": peers}
    assert all(row.case in names[row.run] for row in COMMAND["ROWS"])
    assert set(figures["bench"]) <= names["bench"]


def test_what_is_missing_is_said(figures):
    """Without POGEMA's figures, or a place for a part, nothing is written, and the message names what is missing."""
    with pytest.raises(ValueError, match="no place for steps"):
        COMMAND["fill_page"]("# Speed\n", figures)
    with pytest.raises(ValueError, match=r"README.md has 0 places"):
        COMMAND["fill_readme"]("# multigrid\n", figures)
    del figures["peers"]["POGEMA priority, N = 64"]
    with pytest.raises(ValueError, match=r"no 'POGEMA priority, N = 64'; set POGEMA up"):
        COMMAND["fill_page"](PAGE, figures)
