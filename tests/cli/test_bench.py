"""`multigrid bench`: it measures what it says, and reports it in a form that programs read."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections import Counter
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from rich.console import Console

import multigrid
from helpers import QUICKER_BENCH, run_python
from multigrid.cli import main
from multigrid.cli.bench import against, cases, intervals, measuring, processes, report, scaling, startup

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """What `multigrid bench --quick --json` prints, with fewer rounds."""
    done = run_python("-c", QUICKER_BENCH, "bench", "--quick", "--json")
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_every_case_has_its_baseline_and_its_goal(content: dict[str, Any]) -> None:
    """Each face, from one agent to 1,024 and from one world to 1,024, stands beside its baseline and its goal."""
    documented, many = "documented GridWorld", "SyncVectorEnv, documented"
    assert {row["name"]: (row["against"], row["goal"]) for row in content["steps"]} == {
        documented: (documented, None),
        "GridWorldEnv": (documented, 6),
        "ParallelEnv, N = 1": (documented, 1),
        "documented GridWorld, gym.make": ("documented GridWorld, gym.make", None),
        "GridWorldEnv, gym.make": ("documented GridWorld, gym.make", 4),
        "512x512 frame, documented": ("512x512 frame, documented", None),
        "512x512 frame": ("512x512 frame, documented", 3),
        many: (many, None),
        "GridWorld, gym.make_vec": (many, 500),
        "GridWorld, gym.make_vec, 2 threads": (many, None),
        "copying what gym.make_vec's returns": (many, None),
        **{f"ParallelEnv, N = {n}{view}": (documented, None) for n in (8, 64, 256) for view in ("", ", view")},
        **{f"vector env, 8 x 1,024{view}": (documented, None) for view in ("", ", view")},
        **{f"vector env, 8 x 1,024{view}, 2 threads": (documented, None) for view in ("", ", view")},
        **dict.fromkeys((cases.REWARDED, cases.SET_ONE, cases.SET_MANY), (documented, None)),
        **{f"copying what it returns{view}": (documented, None) for view in ("", ", view")},
        "ParallelEnv, N = 16": (documented, 7.7),
        "ParallelEnv, N = 1024": (documented, 7.7),
        **{f"SB3 VecEnv, {name}": ("SB3 VecEnv, SuperSuit", None) for name in ("SuperSuit", "native")},
    }


def test_ratios_are_those_of_the_times(content: dict[str, Any]) -> None:
    """A ratio, and a limit, is one time of the report over another; a rate is the reciprocal of a time."""
    cost = {row["name"]: row["microseconds_per_agent_step"] for row in content["steps"]}
    for row in content["steps"]:
        own = cost[row["name"]]
        assert own > 0
        assert row["ratio"] == pytest.approx(cost[row["against"]] / own, rel=0.01)
        assert row["agent_steps_per_second"] == pytest.approx(1e6 / own, rel=0.01)
        assert row["spread"] >= 0
    value = {row["name"]: row["value"] for row in content["limits"]}
    goals = Counter((row.get("under"), row.get("over")) for row in content["limits"])
    assert goals == {(4, None): 3, (None, 1.6): 2, (None, 0.5): 1, (5, None): 1, (10, None): 1}
    one, two = "vector env, 8 x 1,024, view", "vector env, 8 x 1,024, view, 2 threads"
    assert value[f"{one}: over copying"] == pytest.approx(cost[one] / cost["copying what it returns, view"], rel=0.01)
    for name, step in ((cases.SET_ONE, "ParallelEnv, N = 8"), (cases.SET_MANY, "vector env, 8 x 1,024")):
        assert value[f"{name}, over a step"] == pytest.approx(cost[name] / cost[step], rel=0.01)
    kept = cost["vector env, 8 x 1,024"] / cost[cases.REWARDED]
    assert value[f"{cases.REWARDED}: speed kept"] == pytest.approx(kept, rel=0.01)
    assert value[f"{one}: 2 threads"] == pytest.approx(cost[one] / cost[two], rel=0.01)


def test_the_rise_begins_at_the_lowest_cost() -> None:
    """A cost that falls, because more agents share the price of a call, is no rise; what comes after the lowest is."""
    curve = scaling.Curve("", "agents", (1, 2, 3, 4), [lambda _, cost=cost: (cost, 10) for cost in (9, 1, 3, 2)])
    curve.measure(0.0)
    assert (curve.microseconds, curve.rise) == ([900_000, 100_000, 300_000, 200_000], 3.0)


def test_the_times_to_start_are_reported(content: dict[str, Any]) -> None:
    """Importing the libraries, what the package adds to that, a first environment, a reset, and many seeds."""
    assert {row["name"]: row["goal"] for row in content["starts"]} == {
        "importing gymnasium and pettingzoo": None,
        "what importing multigrid adds": 0.1,
        "importing it, and a first environment": 2.0,
        "a reset, 16 agents, one of 1,000 maps of 64 x 64": 0.001,
        "seeding 100,000 worlds": 0.7,
    }
    assert all(row["seconds"] > 0 for row in content["starts"] if "adds" not in row["name"])


def test_the_memory_of_a_world_is_that_of_its_arrays() -> None:
    """A world's memory is its share of every array that has a row for each world."""
    size = {row["name"]: row["bytes"] for row in startup.memory_per_world()}
    config = cases.restart_config(8, 16, "view")
    arrays = [array for array in startup.Worlds(config, 1009).arrays if array.shape[0] == 1009]
    assert size["8 agents on 16 x 16, view"] == sum(array[0].nbytes for array in arrays)
    # What eight agents see of walls, agents and their targets, and two numbers for where each is and wants to be.
    assert size["8 agents on 16 x 16, view"] > 8 * (3 * 5 * 5 + 4 * 8)
    assert size["one agent on 5 x 5"] < size["8 agents on 16 x 16"] < size["64 agents on 32 x 32"]


def test_the_floor_is_every_byte_that_a_step_returns() -> None:
    """Two cells, a reward, two flags, and a distance, outcome, `arrived` and `alive` with a mask each: 71 a row."""
    env = multigrid.vector_env(5, num_agents=3, size=(6, 4), observe=("agent", "target"))
    env.reset(seed=0)
    returned = list(cases._find_arrays(env.step(np.zeros(15, dtype=np.int64))))
    assert sum(array.nbytes for array in returned) == 15 * 71


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_fit_the_terminal(content: dict[str, Any], width: int) -> None:
    """No line is longer than the terminal is wide, and no figure is cut short."""
    shown = StringIO()
    report.print_report(Console(file=shown, width=width), content)
    lines = shown.getvalue().splitlines()
    assert [line for line in lines if len(line.rstrip()) > width] == []
    assert not [line for line in lines if "\u2026" in line]
    by_name = {row["name"]: row for row in content["steps"]}
    for name in ("GridWorldEnv", "ParallelEnv, N = 64", "vector env, 8 x 1,024, view, 2 threads"):
        (line,) = [line for line in lines if line.split("  ")[0].rstrip() == name]
        microseconds = float(line.removeprefix(name).split()[0])
        assert microseconds == pytest.approx(by_name[name]["microseconds_per_agent_step"], rel=0.01)
    baselines = [line.split()[-1] for line in lines if line.startswith("documented GridWorld  ")]
    assert baselines == ["1"] * 5


def test_figures_far_off_are_not_cut() -> None:
    """A spread of many times, and a ratio of nearly nothing, fit their columns."""
    row = {"name": "A", "group": "Steps", "against": "B", "goal": 5.0, "ratio": 0.0034, "spread": 13.97}
    shown = StringIO()
    report.print_steps(
        Console(file=shown, width=80), [row | {"microseconds_per_agent_step": 2.14, "agent_steps_per_second": 468e3}]
    )
    assert "\u2026" not in shown.getvalue()
    assert {"\u00b1>999%", "<0.01x"} <= set(shown.getvalue().split())


def test_a_case_that_was_not_measured_has_no_limit() -> None:
    """Of two versions, the older one may lack a case, which neither of them then measures."""
    names = ("vector env, 8 x 1,024", cases.REWARDED, cases.SET_MANY)
    measured = [
        cases.Case(name, "", lambda _: (0.0, 1), "", costs=costs)
        for name, costs in zip(names, ([2.0], [], [8.0]), strict=True)
    ]
    (row,) = report.limit_rows(measured)
    assert (row["name"], row["value"]) == (f"{cases.SET_MANY}, over a step", 4.0)


def test_a_verdict_counts_the_goals() -> None:
    """The goals that are reached are counted over all tables, and those that are missed are named."""
    steps = [
        {"name": "fast", "goal": 4, "ratio": 5.0},
        {"name": "slow", "goal": 4, "ratio": 3.9},
        {"name": "bare", "goal": None, "ratio": 1.0},
        {"name": "unmeasured", "goal": 4, "ratio": None},
    ]
    limits = [{"name": "low", "value": 3.0, "under": 4.0}, {"name": "flat", "value": 1.5, "over": 1.6}]
    starts = [{"name": "import", "seconds": 0.1, "goal": 0.1}, {"name": "others", "seconds": 9.0, "goal": None}]
    shown = StringIO()
    report.print_verdict(Console(file=shown, width=80), {"steps": steps, "limits": limits, "starts": starts})
    assert shown.getvalue().split("\n") == ["3 of 5 goals are reached.", "  missed: slow", "  missed: flat", "", ""]


def test_cases_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case plays once, to be compiled, and then once a round, so that a slow moment falls on all."""
    played: list[str] = []

    def case(name: str) -> cases.Case:
        def play(seconds: float) -> tuple[float, int]:
            played.append(f"{name}{seconds:g}")
            return seconds, 4

        return cases.Case(name, "a group", play, "a")

    monkeypatch.setattr(measuring, "local_cases", lambda: map(case, "ab"))
    for name in ("limit_rows", "startup_times"):
        monkeypatch.setattr(measuring, name, lambda argument: [])
    effort = dataclasses.replace(measuring.QUICK, rounds=2, seconds=2.0)
    rows = measuring.measure(effort, Console(quiet=True))["steps"]
    assert played == ["a0", "b0", "a2", "b2", "a2", "b2"]
    assert [row["microseconds_per_agent_step"] for row in rows] == [500_000] * 2


def test_without_a_baseline_there_is_no_ratio() -> None:
    """A case whose baseline was not measured has a goal and no ratio."""
    alone = cases.Case("ours", "a group", lambda _: (1.0, 10), against="POGEMA", goal=6.0)
    for _ in range(3):
        alone.measure(0.0)
    (row,) = report.step_rows([alone])
    assert (row["ratio"], row["goal"], row["microseconds_per_agent_step"]) == (None, 6.0, 100_000)


@pytest.mark.parametrize(
    ("code", "limit", "message"),
    [("import time; time.sleep(5)", 0.2, "no answer, exit code -?[1-9]\\d*"), ("print('hello')", 60.0, "hello")],
)
def test_a_process_that_does_not_answer_is_an_error(code: str, limit: float, message: str) -> None:
    """A process is killed after the limit, and a line that is not JSON is the message."""
    process = processes.JsonProcess([sys.executable, "-c", code], env=dict(os.environ))
    with contextlib.closing(process), pytest.raises(processes.ProcessError, match=f"^{message}$"):
        process.read(limit)


def test_nothing_is_registered_for_the_measurement(content: dict[str, Any]) -> None:
    """The stand-in for the documented code has no id that a user could come upon."""
    assert not [name for name in gymnasium.registry if "Documented" in name]


def test_an_unknown_flag_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A flag that does not exist is an error, not a measurement of something else."""
    with pytest.raises(SystemExit) as left:
        main(["bench", "--quik"])
    assert left.value.code == 2
    assert "--quik" in capsys.readouterr().err


# Stands for a version of the package: what it plays takes as long as it says, by a clock of its own.
STUB_VERSION = """
import __main__, importlib.util, os, sys, types
from pathlib import Path

now = [0.0]
__main__._CLOCK = lambda: now[0]
FOLDER = Path(__file__).parents[3]
# What is started from here finds this version too, and nothing finds the modules of the bench under their bare names.
assert os.environ["PYTHONPATH"] == str(FOLDER)
assert importlib.util.find_spec("intervals") is None

def player(name):
    def play(seconds):
        with (FOLDER.parent / "played.txt").open("a") as file:
            file.write(f"{{FOLDER.name}} {{name}} {{seconds:g}}\\n")
        now[0] += {costs}[name]
        return 0.0, 1000
    return play

def local_cases():
    return [types.SimpleNamespace(name=name, play=player(name), costs=[]) for name in {costs}]

def curves(agents, worlds):
    return [types.SimpleNamespace(name="step", axis="agents", counts=agents[:1], plays=[player("step")])]

def startup_times(repeats):
    return [{{"name": "importing", "seconds": {importing}}}, {{"name": "adds", "seconds": -0.5}}]

def memory_per_world():
    return [{{"name": "a world", "bytes": {world}}}]

def limit_rows(cases, scaling):
    rounds = len(cases[0].costs) + len(scaling[0].costs[0])
    assert rounds in (2 * 3, 2 * 16), "asked before all rounds were played"
    return [{{"name": "rounds", "value": rounds, "under": 4.0}}, {{"name": "2 threads", "value": {gain}, "over": 1.6}}]

local_contenders, start_times = local_cases, startup_times
"""
NEW_NAMES, OLD_NAMES = ("cases", "scaling", "startup", "report"), ("contenders", "scaling", "starts", "report")
ROUNDS = 3
AGAINST = dataclasses.replace(measuring.QUICK, rounds=ROUNDS, startups=2)


def make_version(folder: Path, modules: tuple[str, ...] = NEW_NAMES, **figures: Any) -> Path:
    """Make a folder with a package that contains nothing but what measures it, in modules of these names."""
    bench = folder / "multigrid" / "cli" / "bench"
    bench.mkdir(parents=True)
    for package in (bench, *list(bench.parents)[:2]):
        (package / "__init__.py").touch()
    (bench / "stub.py").write_text(STUB_VERSION.format(**figures))
    for name in modules:
        (bench / f"{name}.py").write_text("from multigrid.cli.bench.stub import *\n")
    return folder


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    """This version, which steps faster, resets slower, and has a figure of its own; and the other, an older one."""
    costs = ({"step": 1.0, "reset": 4.0, "new": 1.0}, {"step": 3.0, "reset": 2.0, "gone": 1.0})
    this = make_version(tmp_path / "this", importing=0.5, world=300, gain=1.5, costs=costs[0])
    other = make_version(tmp_path / "other", OLD_NAMES, importing=0.5, world=200, gain=1.8, costs=costs[1])
    return this, other


def compare(versions: tuple[Path, Path], turns: int, file: Path | None = None) -> dict[str, Any]:
    """Return what `--against --json` prints of two versions."""
    return against.compare(versions, turns, AGAINST, file, Console(quiet=True))


def test_versions_are_compared_figure_by_figure(versions: tuple[Path, Path]) -> None:
    """A ratio is how many times better this version is, whatever the figure; what only one has is not compared."""
    content = compare(versions, 6)
    assert (content["turns"], content["this"], content["other"]) == (6, *map(str, versions))
    assert [(row["name"], pytest.approx(row["ratio"]), row["verdict"]) for row in content["figures"]] == [
        ("reset", 0.5, "worse"),
        ("memory, a world", 2 / 3, "worse"),
        ("2 threads", 1.5 / 1.8, "worse"),
        ("importing", 1.0, "no difference"),
        ("rounds", 1.0, "no difference"),
        ("step", 3.0, "better"),
        ("step, 1 agents", 3.0, "better"),
    ]
    for row in content["figures"]:
        assert len(row["by_turn"]) == 6
        assert row["low"] == pytest.approx(row["ratio"]) == row["high"]


def test_versions_play_by_turns(versions: tuple[Path, Path]) -> None:
    """Both compile first; in a round both play a thing one after the other, and who begins alternates."""
    compare(versions, 6)
    lines = [line.split() for line in (versions[0].parent / "played.txt").read_text().splitlines()]
    assert not [line for line in lines[:6] if line[2] != "0"]
    played = [folder for folder, *name, seconds in lines if name == ["reset"] and seconds != "0"]
    begin = [["this", "other"], ["other", "this"]]
    expected = [begin[(turn + k) % 2] for turn in range(6) for k in range(ROUNDS)]
    assert [played[k : k + 2] for k in range(0, len(played), 2)] == expected
    # So that both begin equally often within a turn.
    efforts = (against.QUICK_TURN, against.FULL_TURN)
    assert [count % 2 for effort in efforts for count in (effort.rounds, effort.startups)] == [0] * 4


def test_a_comparison_goes_on_where_it_was_cut_off(versions: tuple[Path, Path], tmp_path: Path) -> None:
    """Turns are kept as they come; a run goes on from those in the file, if they are of the same code and effort."""
    kept = tmp_path / "turns.json"
    stub_file = versions[1] / "multigrid" / "cli" / "bench" / "stub.py"
    ending = "file = FOLDER.parent / 'played.txt'\nif file.exists() and not (FOLDER.parent / 'mended').exists():\n"
    ending += "    if file.read_text().count('other reset 0.015') == 2 * 3: sys.exit('out of cheese')\n"
    stub_file.write_text(stub_file.read_text() + ending)
    with pytest.raises(against.VersionError, match=f"^{versions[1]} cannot be measured: out of cheese$"):
        compare(versions, 6, kept)
    first = json.loads(kept.read_text())
    assert len(first["turns"]) == 2
    (tmp_path / "played.txt").unlink()
    (tmp_path / "mended").touch()
    first["turns"][0]["reset"] = 0.25
    kept.write_text(json.dumps(first))
    (row,) = [row for row in compare(versions, 6, kept)["figures"] if row["name"] == "reset"]
    assert row["by_turn"] == pytest.approx([0.25, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert (tmp_path / "played.txt").read_text().count("this reset 0.015") == 4 * ROUNDS
    before, played = kept.read_bytes(), (tmp_path / "played.txt").read_bytes()
    assert compare(versions, 6, kept)["turns"] == 6
    assert (tmp_path / "played.txt").read_bytes() == played
    stub_file.write_text(stub_file.read_text() + "\n")
    with pytest.raises(against.VersionError, match="has turns of other code"):
        compare(versions, 6, kept)
    assert kept.read_bytes() == before
    kept.write_text('{"turns"')
    with pytest.raises(against.VersionError, match="has no turns"):
        compare(versions, 6, kept)


def test_the_interval_is_that_of_order_statistics() -> None:
    """For each number of turns, the values that enclose the median, and how probably, are those of printed tables."""
    table = {6: (1, 6, 0.969), 8: (1, 8, 0.992), 9: (2, 8, 0.961), 10: (2, 9, 0.979), 12: (3, 10, 0.961)}
    table |= {15: (4, 12, 0.965), 17: (5, 13, 0.951), 20: (6, 15, 0.959)}
    for turns, (low, high, coverage) in table.items():
        values = np.random.default_rng(0).permutation(np.arange(1.0, turns + 1)).tolist()
        assert intervals.median_interval(values) == (low, high, pytest.approx(coverage, abs=0.0006))
    assert intervals.median_interval([1.0] * intervals.FEWEST_TURNS)[2] >= 0.95
    assert intervals.median_interval([1.0] * (intervals.FEWEST_TURNS - 1))[2] < 0.95


def test_a_figure_is_worse_when_the_interval_lies_below_one() -> None:
    """An interval that has 1 in it, or at its end, shows no difference; what a turn lacks is named, not compared."""
    ratios = {
        "down to one": [1.0, 1.0, 1.1, 1.2, 1.2, 1.3],
        "above": [1.01, 1.01, 1.1, 1.2, 1.2, 1.3],
        "up to one": [0.7, 0.8, 0.9, 0.9, 1.0, 1.0],
        "below": [0.9, 0.9, 0.9, 0.9, 0.99, 0.99],
        "far below": [0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
    }
    turns = [{name: values[k] for name, values in ratios.items()} for k in range(6)]
    turns[3]["seldom"] = 0.5
    content = intervals.summary(turns)
    verdicts = {row["name"]: row["verdict"] for row in content["figures"]}
    assert list(verdicts) == ["far below", "below", "up to one", "down to one", "above"]
    assert list(verdicts.values()) == ["worse", "worse", "no difference", "no difference", "better"]
    assert content["left_out"] == ["seldom"]
    assert content["by_chance"] == pytest.approx(5 / 32)


@pytest.mark.parametrize(("slower", "code"), [(1.0, 0), (2.0, 1)])
def test_the_exit_code_says_whether_a_figure_is_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], slower: float, code: int
) -> None:
    """The command exits with 1 if a figure is worse, else 0; the table and JSON say the same."""
    folders = [
        make_version(tmp_path / name, importing=0.5, world=200, gain=1.5, costs={"step": cost})
        for name, cost in (("this", 2.0 * slower), ("other", 2.0))
    ]
    monkeypatch.setattr(multigrid, "__file__", str(folders[0] / "multigrid" / "__init__.py"))
    flags = ["bench", "--quick", "--against", str(folders[1]), "--turns", "6", "--resume", str(tmp_path / "turns.json")]
    assert main([*flags, "--json"]) == code
    content = json.loads(capsys.readouterr().out)
    verdict = "worse" if slower > 1 else "no difference"
    assert {row["name"]: row["verdict"] for row in content["figures"]}["step"] == verdict
    assert main(flags) == code
    table = capsys.readouterr().out
    (line,) = [line for line in table.splitlines() if line.startswith("step ")]
    assert line.split() == ["step", *[f"{1 / slower:.3f}"] * 3, *verdict.split()]
    assert "Not measured in every turn" not in table


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--against", "{empty}"], "there is no package multigrid in {empty}"),
        (["--against", "{broken}"], "{broken} cannot be measured: ModuleNotFoundError: No module named '{module}'"),
        (["--against", "{broken}", "--turns", "5"], "--turns is 5; expected at least 6"),
        (["--against", "{broken}", "--resume", "{empty}/a/b"], "there is no folder {empty}/a to save the turns in"),
    ],
)
def test_what_cannot_be_compared_is_reported_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    """A folder without the package, a package without a bench, too few turns: one line, and exit code 2."""
    this = make_version(tmp_path / "this", importing=0.5, world=200, gain=1.5, costs={"step": 1.0})
    monkeypatch.setattr(multigrid, "__file__", str(this / "multigrid" / "__init__.py"))
    folders = {name: tmp_path / name for name in ("empty", "broken")}
    folders["empty"].mkdir()
    (folders["broken"] / "multigrid").mkdir(parents=True)
    (folders["broken"] / "multigrid" / "__init__.py").touch()
    assert main(["bench", "--json", *(flag.format(**folders) for flag in flags)]) == 2
    assert capsys.readouterr().err == f"multigrid bench: {message.format(**folders, module='multigrid.cli')}\n"


def test_this_version_plays_what_the_bench_measures(content: dict[str, Any]) -> None:
    """A process with the real package plays every figure of `multigrid bench`, and the scaling curves."""
    folder = Path(multigrid.__file__).parents[1]
    effort = dataclasses.replace(measuring.QUICK, seconds=0.0, agents=(1, 16), worlds=(1, 10))
    with contextlib.closing(against._Version(folder, effort)) as version:
        names = version.read()
        figures = {figure: value for name in names for figure, value in version.play(name).items()}
    expected = {row["name"] for rows in ("steps", "limits", "starts") for row in content[rows]}
    expected |= {f"memory, {row['name']}" for row in content["memory"]}
    for curve in scaling.curves((1, 4096), (1, 10)):
        counts = effort.agents if curve.axis == "agents" else effort.worlds
        expected |= {f"{curve.name}, {count:,} {curve.axis}" for count in counts}
        expected.add(f"{curve.name}, from 1 to {counts[-1]:,} {curve.axis}: rise")
    missing = expected - set(figures)
    assert missing == set()
    assert not [name for name, value in figures.items() if value <= 0 and name != "what importing multigrid adds"]


def test_a_machine_without_numba_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions are of what is installed: without Numba there is none of it, and no error."""
    find = metadata.version

    def version(name: str) -> str:
        if name == "numba":
            raise metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(metadata, "version", version)
    machine = measuring.describe_machine()
    assert "numba" not in machine
    assert machine["numpy"] == np.__version__
