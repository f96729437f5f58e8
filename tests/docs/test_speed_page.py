"""The figures of speed in docs/speed.md and README: those of docs/speed/figures.json, which a command measures."""

import copy
import json
import runpy
from pathlib import Path

import pytest

from benchmarks.peers.processes import BASELINE
from benchmarks.speed.cases import crowd_cases, local_cases
from benchmarks.speed.threads import BUSY, QUIET, thread_cases

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "speed.md", ROOT / "README.md"


@pytest.fixture(scope="module")
def command():
    """What is defined in docs/make_speed.py."""
    return runpy.run_path(str(ROOT / "docs" / "make_speed.py"))


@pytest.fixture
def figures(command):
    """The committed figures."""
    return json.loads(command["FIGURES"].read_text(encoding="utf-8"))


def test_the_pages_are_current(command, figures):
    """docs/speed.md and README are what `python docs/make_speed.py` writes."""
    for path, fill in ((PAGE, command["fill_page"]), (README, command["fill_readme"])):
        text = path.read_text(encoding="utf-8")
        assert fill(text, figures) == text, f"{path.name} is old: run python docs/make_speed.py"


def test_another_figure_reaches_both_pages(command, figures):
    """A time and a ratio stand in the table of the page, in README's table and in README's first lines."""
    other = copy.deepcopy(figures)
    other["bench"]["GridWorld, gym.make_vec"] = {"microseconds": 0.04567, "ratio": 2345.6}
    other["copying"] = dict.fromkeys(other["copying"], 4.0)
    other["rises"]["agents"], other["starts"]["what importing multigrid adds"] = 1.7, -0.002
    page_text = PAGE.read_text(encoding="utf-8")
    page = " ".join(command["fill_page"](page_text, other).split())
    readme = command["fill_readme"](README.read_text(encoding="utf-8"), other)
    row = '| `gym.make_vec("multigrid/GridWorld-v0", num_envs=1024)` | 0.046 us | 2,346x |'
    assert row in page
    assert row in readme
    assert "- **2,346 times** the steps per second" in readme
    assert "takes 25 % of a step with one agent per world, and 25 % with eight." in page
    assert "step rises by a factor of at most 1.7 with more agents, up to 4,096." in page
    other["rises"]["agents"] = 1.0
    assert "step does not rise with more agents" in " ".join(command["fill_page"](page_text, other).split())
    assert "adds less than 0.01 s to importing" in page


def test_the_command_reads_what_the_benches_print(command):
    """Times, ratios and starts are read by name; a curve's rise is its highest cost after the lowest, rounded up."""
    step = {"name": "A", "microseconds_per_agent_step": 2.5, "ratio": 4.0, "group": "", "goal": None}
    bench = {"steps": [step], "copying": [{"name": "B", "ratio": 5.0}], "starts": [{"name": "C", "seconds": 0.3}]}
    curve = {"counts": [1, 1000, 9000, 100_000], "microseconds_per_agent_step": [0.9, 1.0, 1.31, 1.2]}
    scaling = [
        {"name": "ParallelEnv", "axis": "agents", "counts": [1, 4], "microseconds_per_agent_step": [1.0, 8.0]},
        {
            "name": "vector env, one world",
            "axis": "agents",
            "counts": [1, 4],
            "microseconds_per_agent_step": [2.0, 1.0],
        },
        {"name": "one agent each", "axis": "worlds", **curve},
    ]
    peers = {"steps": [{**step, "ratio": None}], "scaling": scaling}
    assert command["extract"](bench, peers) == {
        "bench": {"A": {"microseconds": 2.5, "ratio": 4.0}},
        "peers": {},
        "copying": {"B": 5.0},
        "starts": {"C": 0.3},
        "rises": {"agents": 1.0, "worlds": 1.4},
    }


def test_the_page_names_cases_that_are_measured(command):
    """Each row of the table, and each pair of threads, is a case of the run that it is read from."""
    bench = {case.name for case in local_cases()}
    threaded = {
        case.name for counts, busy in ((QUIET, False), (BUSY, True)) for case in thread_cases(counts, busy=busy)
    }
    peers = {*(case.name for case in crowd_cases()), *BASELINE.values(), "POGEMA priority, r = 2, N = 8"}
    names = {"bench": bench | threaded, "peers": peers}
    for row in command["ROWS"]:
        assert row.case in names[row.run]
    committed = json.loads(command["FIGURES"].read_text(encoding="utf-8"))
    assert set(committed["bench"]) <= names["bench"]


def test_what_is_missing_is_said(command, figures):
    """Without POGEMA's figures, or a place for a part, nothing is written, and the message names what is missing."""
    with pytest.raises(ValueError, match="no place for machine"):
        command["fill_page"]("# Speed\n", figures)
    with pytest.raises(ValueError, match=r"README.md has 0 places"):
        command["fill_readme"]("# multigrid\n", figures)
    del figures["peers"]["POGEMA priority, N = 64"]
    with pytest.raises(ValueError, match=r"no 'POGEMA priority, N = 64'; set the peers up"):
        command["fill_page"](PAGE.read_text(encoding="utf-8"), figures)
