"""`python -m benchmarks`: it measures what it says, and reports it in a form that programs read."""

import contextlib
import dataclasses
import json
import os
import re
import sys
from importlib import metadata
from io import StringIO
from pathlib import Path
from unittest import mock

import gymnasium
import numpy as np
import pytest
from rich.console import Console

import benchmarks
import multigrid
from benchmarks.__main__ import main
from benchmarks.speed import (
    against,
    cases,
    copying,
    floors,
    goals,
    intervals,
    kernels,
    many_worlds,
    measuring,
    plays,
    processes,
    report,
    rows,
    scaling,
    startup,
    threads,
)
from helpers import QUICKER_BENCH, run_python

pytestmark = pytest.mark.heavy

QUIET, BUSY = ("8,192 worlds", "16,384 worlds"), tuple(f"{n} worlds, busy cores" for n in ("256", "1,024", "8,192"))


@pytest.fixture(scope="module")
def content():
    """What `python -m benchmarks --quick --json` prints, with fewer rounds."""
    done = run_python("-c", QUICKER_BENCH, "--quick", "--json")
    return json.loads(done.stdout)


def test_every_case_has_its_baseline_and_its_goal(content):
    """Each face, from one agent to 1,024 and from one world to 1,024, stands beside its baseline and its goal."""
    documented, many = "documented GridWorld", "SyncVectorEnv, documented"
    rows = {row["name"]: row for row in content["steps"]}
    baselines = {
        **{row["against"]: {row["against"]} for row in content["steps"]},
        many: {many, *(f"GridWorld, gym.make_vec{of}" for of in ("", ", 2 threads", ": copying"))},
        f"{documented}, gym.make": {f"{documented}, gym.make", "GridWorldEnv, gym.make"},
        "512x512 frame, documented": {"512x512 frame, documented", "512x512 frame"},
        "SB3 VecEnv, SuperSuit": {f"SB3 VecEnv, {name}" for name in ("SuperSuit", "native")},
        **{f"1 thread, {worlds}": {f"{k}, {worlds}" for k in ("1 thread", "2 threads")} for worlds in QUIET + BUSY},
    }
    del baselines[documented]
    for baseline, names in baselines.items():
        assert {name for name in rows if rows[name]["against"] == baseline} == names
    assert {name for name in rows if rows[name]["against"] == documented} == {
        *(documented, "GridWorldEnv", cases.REWARDED, cases.SET_ONE, cases.SET_MANY, *cases.GAMES, *cases.VARIED),
        *(f"one map, episodes of {steps}" for steps in (50, 300)),
        *(f"GridWorldEnv.step{floor}" for floor in ("", ": CPython's floor")),
        *(f"ParallelEnv, N = {n}" for n in (1, 8, 16, 64, 256, 1024)),
        *(f"ParallelEnv, N = {n}{of}" for n in (8, 64) for of in (", view", ": CPython's floor")),
        "ParallelEnv, N = 256, view",
        *(f"vector env, 1,024 x 8{view}{of}" for view in ("", ", view") for of in ("", ", 2 threads", ": copying")),
        *(f"vector env, {size}{of}" for size in ("64 x 64", "16,384 x 8") for of in ("", ": copying")),
    }
    assert {name: row["goal"] for name, row in rows.items() if row["goal"] is not None} == {
        "GridWorldEnv": 6,
        "ParallelEnv, N = 1": 1,
        "GridWorldEnv, gym.make": 4,
        "512x512 frame": 3,
        "GridWorld, gym.make_vec": 500,
        **{f"ParallelEnv, N = {n}": 7.7 for n in (16, 1024)},
        **{f"2 threads, {worlds}": 1.7 if worlds in QUIET else 0.9 for worlds in QUIET + BUSY},
    }
    # The stand-in for the documented code has no id that a user could come upon.
    assert not [name for name in gymnasium.registry if "Documented" in name]


def timed(name, *costs, against="", **more):
    """Return a case that was measured already, with the cost of each round."""
    return cases.Case(name, "a group", lambda _: (0.0, 1), against, costs=list(costs), **more)


def test_a_ratio_is_the_median_over_rounds():
    """In each round one time is divided by the other: a slow moment of the machine falls on both, and cancels out."""
    slow, fast = timed("slow", 3.0, 4.0, 40.0, against="slow"), timed("fast", 1.0, 2.0, 4.0, against="slow")
    first, second = rows.step_rows([slow, fast])
    assert (first["ratio"], first["ratio_spread"]) == (1, 0)
    # The ratios are 3, 2 and 10, with quartiles at 2 and 10; the quartiles of the times are 1 and 4.
    assert (second["ratio"], second["ratio_spread"]) == (3, pytest.approx(8 / 6, abs=1e-4))
    assert (second["microseconds_per_agent_step"], second["spread"]) == (2, 0.75)
    assert (second["agent_steps_per_second"], second["goal"]) == (500_000, None)
    (alone,) = rows.step_rows([timed("ours", 2.0, against="POGEMA", goal=6.0)])
    assert (alone["ratio"], alone["goal"], alone["microseconds_per_agent_step"]) == (None, 6.0, 2)


def test_a_step_is_compared_with_what_limits_it():
    """Each limit is a median over rounds as well: a step over copying, over CPython's floor, or over another step."""
    step, copying = "vector env, 1,024 x 8, view", "vector env, 1,024 x 8, view: copying"
    measured = [
        timed(step, 0.05, 0.06, 0.4),
        timed(copying, 0.01, 0.01, 0.05, row_bytes=170.25),
        timed("GridWorldEnv.step", 2.0, 4.0),
        timed("GridWorldEnv.step: CPython's floor", 1.0, 1.0),
        timed("ParallelEnv, N = 8"),
        timed("ParallelEnv, N = 8: CPython's floor", 1.0),
        timed(cases.SET_MANY, 8.0),
        timed("vector env, 1,024 x 8", 2.0),
    ]
    limits = {row["name"]: (row["value"], row["under"]) for row in rows.limit_rows(measured)}
    # Of two versions, the older one may lack a case, which neither of them then measures.
    assert limits == {
        f"{step}, over copying": (6, 7),
        "GridWorldEnv.step, over its floor": (3, 2.3),
        f"{cases.SET_MANY}, over a step": (4, 10),
    }
    (row,) = rows.copying_rows(measured)
    assert (row.pop("spread"), row) == (
        pytest.approx(0.25),
        {"name": step, "bytes": 170.25, "copying": 10, "step": 60, "ratio": 6, "c": 15},
    )


def test_all_goals_have_a_verdict(content):
    """Every figure with a goal is listed with both, and with how much better or worse it is."""
    over = {row["name"]: row["over"] for row in content["goals"] if "over" in row}
    assert over == {row["name"]: row["goal"] for row in content["steps"] if row["goal"] is not None}
    starts = {row["name"]: row["goal"] for row in content["starts"]}
    assert starts == {
        "importing gymnasium and pettingzoo": None,
        "what importing multigrid adds": 0.1,
        "then a first env, reset and step": 2.0,
        "a reset, 16 agents, one of 1,000 maps of 64 x 64": 0.001,
        "seeding 100,000 worlds": 0.7,
    }
    assert all(row["seconds"] > 0 for row in content["starts"] if "adds" not in row["name"])
    assert {row["name"]: row["under"] for row in content["goals"] if "under" in row} == {
        "GridWorld, gym.make_vec, over copying": 6,
        "vector env, 1,024 x 8, over copying": 4,
        "vector env, 1,024 x 8, view, over copying": 7,
        "GridWorldEnv.step, over its floor": 2.3,
        "ParallelEnv, N = 8, over its floor": 1.5,
        "ParallelEnv, N = 64, over its floor": 1.3,
        f"{cases.SET_ONE}, over a step": 5,
        f"{cases.SET_MANY}, over a step": 10,
        f"{cases.REWARDED}, over none": 2,
        "vector env, 1,024 x 8, key and door, over the built-in game": 1.6,
        "vector env, 1,024 x 8, tag, over the built-in game": 1.4,
        **{f"random walls drawn, episodes of {steps}, over one map": most for steps, most in ((50, 2.2), (300, 1.6))},
        **{f"{delays}, over one map": 1.1 for delays in cases.VARIED if "delays" in delays},
        **{name: goal for name, goal in starts.items() if goal is not None},
    }
    for row in content["goals"]:
        goal = row.get("over", row.get("under"))
        is_reached, share = (row["value"] >= goal) == ("over" in row), abs(row["value"] / goal - 1)
        assert row["verdict"].split()[0] == ("reached" if is_reached else "missed")
        assert float(row["verdict"].split()[-1].strip("<%")) == pytest.approx(100 * share, abs=1)


def test_the_rise_begins_at_the_lowest_cost():
    """A cost that falls, because more agents share the price of a call, is no rise; what comes after the lowest is."""
    curve = scaling.Curve("", "agents", (1, 2, 3, 4), [lambda _, cost=cost: (cost, 10) for cost in (9, 1, 3, 2)])
    curve.measure(0.0)
    assert (curve.microseconds, curve.rise) == ([900_000, 100_000, 300_000, 200_000], 3.0)


def test_the_memory_of_a_world_is_that_of_its_arrays():
    """A world's memory is its share of every array that has a row for each world."""
    size = {row["name"]: row["bytes"] for row in startup.memory_per_world()}
    config = cases.restart_config(8, 16, "view")
    arrays = [array for array in startup.Worlds(config, 1009).arrays if array is not None and array.shape[0] == 1009]
    assert size["8 agents on 16 x 16, view"] == sum(array[0].nbytes for array in arrays)
    # What eight agents see of walls, agents and their targets, and two numbers for where each is and wants to be.
    assert size["8 agents on 16 x 16, view"] > 8 * (3 * 5 * 5 + 4 * 8)
    assert size["one agent on 5 x 5"] < size["8 agents on 16 x 16"] < size["64 agents on 32 x 32"]


@pytest.mark.parametrize(("worlds", "limit"), [(7, 14), (23, 10)])
def test_worlds_end_one_after_the_other(worlds, limit):
    """Over an episode as many worlds end in each step as in any other, or one more; in all, each world once."""
    env = multigrid.vector_env(worlds, num_agents=2, size=(5, 3), on_target="restart", max_cycles=limit)
    env.reset(seed=0)
    plays.spread_ends(env)
    ended = [int(env.step(np.zeros(2 * worlds, dtype=np.int64))[3].sum()) // 2 for _ in range(limit)]
    assert sum(ended) == worlds
    assert set(ended) == {worlds // limit, -(-worlds // limit)}


def test_every_byte_that_steps_return_is_copied(monkeypatch):
    """A step is copied whole: 71 bytes a row, and 56 more where a world ends."""
    # Two cells, a reward, two flags, and a distance, outcome, `arrived` and `alive` with a mask each; at the end also a
    # success, an arrival step and five metrics of the episode with a mask each.
    env = multigrid.vector_env(
        5, num_agents=3, size=(6, 4), observe=("agent", "target"), on_target="stay", max_cycles=10
    )
    steps = copying.record_steps(env)
    assert [sum(array.nbytes for array in arrays) for arrays in steps] == [15 * 71, 15 * (71 + 56)] * 5
    assert copying.count_bytes(steps) == 15 * (71 + 28)
    copied = []

    def copy(words, out):
        assert out.nbytes == words.nbytes
        assert not np.shares_memory(out, words)
        copied.append(words)

    monkeypatch.setattr(copying, "_copy", copy)
    seconds, agent_steps = copying.copy_play(steps, env.num_envs)(0.0)
    assert (seconds > 0, agent_steps) == (True, 15)
    assert b"".join(words.tobytes() for words in copied) == b"".join(array.tobytes() for array in steps[0])
    monkeypatch.undo()
    assert copying._copy(np.array([5, 7], np.uint64), np.zeros(2, np.uint64)).tolist() == [5, 7]


def test_the_floor_creates_what_a_step_returns():
    """CPython's floor is a step that returns new objects of the same types and sizes, and plays nothing."""

    def shape_of(returned):
        if isinstance(returned, np.ndarray):
            return returned.dtype, returned.shape
        if isinstance(returned, dict):
            return {key: shape_of(value) for key, value in returned.items()}
        return tuple(map(shape_of, returned)) if isinstance(returned, tuple) else type(returned)

    one = multigrid.GridWorldEnv(size=7)
    many = multigrid.parallel_env(num_agents=3, size=(6, 4), observe=("agent", "target"), on_target="restart")
    actions = dict.fromkeys(many.possible_agents, 1)
    for floor, env, action in ((floors.GridWorldFloor(one), one, 1), (floors.ParallelFloor(many), many, actions)):
        first, second = floor.step(action), floor.step(action)
        assert shape_of(first) == shape_of(second) == shape_of(env.step(action))
        pairs = zip(copying.find_arrays(first), copying.find_arrays(second), strict=True)
        assert not any(np.shares_memory(array, other) for (_, array), (_, other) in pairs)


def test_all_cores_are_busy_until_the_end(monkeypatch):
    """A process computes on each core; all have ended afterwards, and end with the process that started them."""
    started = []

    def start(*arguments):
        started.append(processes.JsonProcess(*arguments))
        return started[-1]

    monkeypatch.setattr(threads, "JsonProcess", start)
    with threads.busy_cores():
        assert [one._process.poll() for one in started] == [None] * threads.count_cores()
    assert [one._process.wait(0) for one in started] == [0] * threads.count_cores()


def test_a_million_worlds_are_measured_in_another_process(monkeypatch):
    """A row's cost over that with few worlds is the median over rounds; the memory is missing where it is unknown."""
    measured = many_worlds.measure_worlds(3, 40, 2)
    assert [len(measured[key]) for key in ("few", "many")] == [2, 2]
    assert all(cost > 0 for key in ("few", "many") for cost in measured[key])
    assert measured["bytes"] is None or measured["bytes"] >= 0
    expected = [
        ("1,000,000 worlds of 8, a row, over 10,000", 1.5, 1.2, None),
        ("1,000,000 worlds of 8, memory", 2.5, 2.2, "GB"),
    ]
    for size, count in ((2_500_000_000, 2), (None, 1)):
        answer = json.dumps({"bytes": size, "few": [1.0, 2.0, 3.0], "many": [2.0, 3.0, 3.0]})
        stub = f"import sys; assert sys.argv[1:] == ['3']; print({answer!r})"
        monkeypatch.setattr(many_worlds, "_COMMAND", [sys.executable, "-c", stub])
        found = many_worlds.many_worlds_rows(3)
        assert [(*map(row.get, ("name", "value", "under", "unit")),) for row in found] == expected[:count]


def test_a_cold_start_has_no_compiled_kernel(monkeypatch):
    """Each kind of environment starts in a new Python, whose cache is empty; there is no cold start without Numba."""
    check = "import os; assert not os.listdir(os.environ['NUMBA_CACHE_DIR']); import gymnasium"
    monkeypatch.setattr(startup, "_COLD", {"one": check, "two": check})
    assert [(row["name"], row["goal"]) for row in startup.cold_start_times()] == [
        (f"{name}, a cold start, of CPU", 15) for name in ("one", "two")
    ]
    monkeypatch.setattr(startup, "_time_in_new_python", lambda *arguments: 0.5)
    for form, goal in ((kernels.AHEAD_OF_TIME, 0.25), (kernels.INTERPRETED, 2.0)):
        monkeypatch.setattr(startup, "kernel_form", lambda form=form: form)
        assert startup._time_imports(2)[-1]["goal"] == goal
    assert startup.cold_start_times() == []


def test_the_figures_of_c_are_those_of_the_docs():
    """The bench prints figures that it does not measure; docs/speed.md has the same, and where they are from."""
    text = (Path(multigrid.__file__).parents[1] / "docs" / "speed.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| [\d,]+ x \d+.* \| ([\d.]+) \|$", text, re.MULTILINE)
    assert [float(figure) for figure in found] == list(rows.C_NANOSECONDS.values())
    assert rows.C_SOURCE.split(",")[0].removeprefix("measured on ") in " ".join(text.split())


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_fit_the_terminal(content, width):
    """No line is longer than the terminal is wide, and no figure is cut short, however far off it is."""
    shown = StringIO()
    report.print_report(Console(file=shown, width=width), content)
    lines = shown.getvalue().splitlines()
    by_name = {row["name"]: row for row in content["steps"]}
    for name in ("GridWorldEnv", "ParallelEnv, N = 64", "vector env, 1,024 x 8, view, 2 threads"):
        line, *_ = [line for line in lines if line.split("  ")[0].rstrip() == name]
        microseconds = float(line.removeprefix(name).split()[0])
        assert microseconds == pytest.approx(by_name[name]["microseconds_per_agent_step"], rel=0.01)
    # The figures of C, and where they were measured.
    (first,) = [index for index, line in enumerate(lines) if line.startswith("whole steps and copies ")]
    copied = [line for line in lines[first + 1 :] if line][: len(rows.C_NANOSECONDS)]
    for line, (name, nanoseconds) in zip(copied, rows.C_NANOSECONDS.items(), strict=True):
        assert (line.startswith(f"{name} "), float(line.split()[-1])) == (True, nanoseconds)
    text = " ".join(shown.getvalue().split())
    assert "measured on one core of a Zen 3 at 3.24 GHz, docs/speed.md." in text
    assert "The rules of the game are compiled just in time." in text
    row = {"name": "A", "group": "Steps", "against": "B", "ratio": 0.0034, "ratio_spread": 0.2, "spread": 13.97}
    row |= {"microseconds_per_agent_step": 2.14, "agent_steps_per_second": 468e3}
    report.print_steps(Console(file=shown, width=width), [row])
    assert {"\u00b1>999%", "<0.01x"} <= set(shown.getvalue().split())
    assert [line for line in shown.getvalue().splitlines() if len(line.rstrip()) > width or "\u2026" in line] == []


def test_goals_are_counted():
    """Goals that are reached are counted over all tables, with their share; what is unmeasured or has none is not."""
    for value, verdict in ((4.0, "reached by 0%"), (3.0, "reached by 25%"), (4.01, "missed by <1%")):
        assert goals.judge({"value": value, "under": 4.0}) == verdict
    for value, verdict in ((1.7, "reached by 0%"), (1.02, "missed by 40%"), (4.25, "reached by 150%")):
        assert goals.judge({"value": value, "over": 1.7}) == verdict
    steps = [
        {"name": name, "goal": goal, "ratio": ratio, "ratio_spread": ratio and 0.1}
        for name, goal, ratio in (("fast", 4, 5.0), ("slow", 4, 3.9), ("bare", None, 1.0), ("unmeasured", 4, None))
    ]
    limits = [{"name": "low", "value": 3.0, "under": 4.0}, {"name": "large", "value": 3.0, "under": 2.0, "unit": "GB"}]
    starts = [{"name": "import", "seconds": 0.1, "goal": 0.1}, {"name": "others", "seconds": 9.0, "goal": None}]
    found = goals.goal_rows({"steps": steps, "limits": limits, "starts": starts})
    shown = StringIO()
    report.print_goals(Console(file=shown, width=80), found)
    lines = [" ".join(line.split()) for line in shown.getvalue().splitlines()]
    assert "slow 3.90x \u00b110% 4x missed by 3%" in lines
    assert "large 3.00 GB 2 GB missed by 50%" in lines
    assert "import 0.1 s 0.1 s reached by 0%" in lines
    assert lines[-2:] == ["3 of 5 goals are reached.", ""]


def test_cases_take_turns(monkeypatch):
    """Each case plays once, to be compiled, then once a round; those of busy cores play while the cores are busy."""
    played = []

    def case(name):
        def play(seconds):
            played.append(f"{name}{seconds:g}")
            return seconds, 4

        return cases.Case(name, "a group", play, name)

    @contextlib.contextmanager
    def busy_cores():
        played.append("busy")
        yield
        played.append("idle")

    monkeypatch.setattr(measuring, "local_cases", lambda: map(case, "ab"))
    monkeypatch.setattr(measuring, "thread_cases", lambda counts, busy: map(case, "c" if busy else "d"))
    monkeypatch.setattr(measuring, "busy_cores", busy_cores)
    for name in ("limit_rows", "startup_times"):
        monkeypatch.setattr(measuring, name, lambda argument: [])
    effort = dataclasses.replace(measuring.QUICK, rounds=2, seconds=2.0)
    measured = measuring.measure(effort, Console(quiet=True))["steps"]
    alone = ["a0", "b0", "a2", "b2", "a2", "b2", "d0", "d2", "d2"]
    assert played == [*alone, "c0", "busy", "c2", "c2", "idle"]
    assert [(row["name"], row["microseconds_per_agent_step"]) for row in measured] == [
        (name, 500_000) for name in "abdc"
    ]


def test_long_measurements_are_left_to_full_runs(monkeypatch):
    """A full run adds cold starts and a million worlds, whose goals stand among the others."""
    for name in ("local_cases", "thread_cases", "startup_times"):
        monkeypatch.setattr(measuring, name, lambda *arguments, **keywords: [])
    monkeypatch.setattr(measuring, "busy_cores", contextlib.nullcontext)
    monkeypatch.setattr(measuring, "cold_start_times", lambda: [{"name": "cold", "seconds": 9.0, "goal": 15.0}])
    monkeypatch.setattr(measuring, "many_worlds_rows", lambda rounds: [{"name": "many", "value": 1.1, "under": 1.2}])
    for effort, expected in ((measuring.FULL, ["many", "cold"]), (measuring.QUICK, [])):
        assert [row["name"] for row in measuring.measure(effort, Console(quiet=True))["goals"]] == expected


@pytest.mark.parametrize(
    ("code", "limit", "message"),
    [("import time; time.sleep(5)", 0.2, "no answer, exit code -?[1-9]\\d*"), ("print('hello')", 60.0, "hello")],
)
def test_a_process_that_does_not_answer_is_an_error(code, limit, message):
    """A process is killed after the limit, and a line that is not JSON is the message."""
    process = processes.JsonProcess([sys.executable, "-c", code], env=dict(os.environ))
    with contextlib.closing(process), pytest.raises(processes.ProcessError, match=f"^{message}$"):
        process.read(limit)


# Stands for a version of the package: what it plays takes as long as it says, by a clock of its own.
STUB_VERSION = """
import __main__, importlib.util, os, sys, types
from pathlib import Path

now = [0.0]
__main__._CLOCK = lambda: now[0]
FOLDER = Path.cwd()
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

"""
NEW, OLD = "benchmarks.speed", "multigrid.cli.bench"
ROUNDS = 3
AGAINST = dataclasses.replace(measuring.QUICK, rounds=ROUNDS, startups=2)


def make_version(folder, package=NEW, **figures):
    """Make a folder with a package that contains nothing but what measures it."""
    bench = folder.joinpath(*package.split("."))
    for home in (folder / "multigrid", bench.parent, bench):
        home.mkdir(parents=True, exist_ok=True)
        (home / "__init__.py").touch()
    (bench / "stub.py").write_text(STUB_VERSION.format(**{"importing": 0.5, "world": 200, "gain": 1.5, **figures}))
    for name in ("cases", "scaling", "startup", "rows"):
        (bench / f"{name}.py").write_text(f"from {package}.stub import *\n")
    return folder


@pytest.fixture
def versions(tmp_path):
    """This version, which steps faster, resets slower, and has a figure of its own; and the other, an older one."""
    costs = ({"step": 1.0, "reset": 4.0, "new": 1.0}, {"step": 3.0, "reset": 2.0, "gone": 1.0})
    this = make_version(tmp_path / "this", world=300, costs=costs[0])
    return this, make_version(tmp_path / "other", OLD, gain=1.8, costs=costs[1])


def compare(versions, turns, file=None):
    """Return what `--against --json` prints of two versions."""
    return against.compare(versions, turns, AGAINST, file, Console(quiet=True))


def test_versions_are_compared_by_turns(versions):
    """A ratio is how many times better this version is; in a round both play, and who begins alternates."""
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
    # Both compile first.
    lines = [line.split() for line in (versions[0].parent / "played.txt").read_text().splitlines()]
    assert not [line for line in lines[:6] if line[2] != "0"]
    played = [folder for folder, *name, seconds in lines if name == ["reset"] and seconds != "0"]
    begin = [["this", "other"], ["other", "this"]]
    expected = [begin[(turn + k) % 2] for turn in range(6) for k in range(ROUNDS)]
    assert [played[k : k + 2] for k in range(0, len(played), 2)] == expected
    # So that both begin equally often within a turn.
    efforts = (against.QUICK_TURN, against.FULL_TURN)
    assert [count % 2 for effort in efforts for count in (effort.rounds, effort.startups)] == [0] * 4


def test_a_comparison_goes_on_where_it_was_cut_off(versions, tmp_path):
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


def test_the_interval_is_that_of_order_statistics():
    """For each number of turns, the values that enclose the median, and how probably, are those of printed tables."""
    table = {6: (1, 6, 0.969), 8: (1, 8, 0.992), 9: (2, 8, 0.961), 10: (2, 9, 0.979), 12: (3, 10, 0.961)}
    table |= {15: (4, 12, 0.965), 17: (5, 13, 0.951), 20: (6, 15, 0.959)}
    for turns, (low, high, coverage) in table.items():
        values = np.random.default_rng(0).permutation(np.arange(1.0, turns + 1)).tolist()
        assert intervals.median_interval(values) == (low, high, pytest.approx(coverage, abs=0.0006))
    assert intervals.median_interval([1.0] * intervals.FEWEST_TURNS)[2] >= 0.95
    assert intervals.median_interval([1.0] * (intervals.FEWEST_TURNS - 1))[2] < 0.95


def test_a_figure_is_worse_when_the_interval_lies_below_one():
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
def test_the_exit_code_says_whether_a_figure_is_worse(tmp_path, monkeypatch, capsys, slower, code):
    """The command exits with 1 if a figure is worse, else 0; the table and JSON say the same."""
    this = make_version(tmp_path / "this", costs={"step": 2.0 * slower})
    other = make_version(tmp_path / "other", costs={"step": 2.0})
    monkeypatch.setattr(benchmarks, "__file__", str(this / "benchmarks" / "__init__.py"))
    flags = ["--quick", "--against", str(other), "--turns", "6", "--resume", str(tmp_path / "turns.json")]
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
        (["--against", "{broken}", "--turns", "5"], "--turns is 5; expected 6 to 1,000,000"),
        (["--against", "{broken}", "--resume", "{empty}/a/b"], "there is no folder {empty}/a to save the turns in"),
    ],
)
def test_what_cannot_be_compared_is_reported_in_a_line(tmp_path, monkeypatch, capsys, flags, message):
    """A folder without the package, a package without a bench, too few turns: one line, and exit code 2."""
    this = make_version(tmp_path / "this", costs={"step": 1.0})
    monkeypatch.setattr(benchmarks, "__file__", str(this / "benchmarks" / "__init__.py"))
    folders = {name: tmp_path / name for name in ("empty", "broken")}
    folders["empty"].mkdir()
    (folders["broken"] / "multigrid").mkdir(parents=True)
    (folders["broken"] / "multigrid" / "__init__.py").touch()
    assert main(["--json", *(flag.format(**folders) for flag in flags)]) == 2
    assert capsys.readouterr().err == f"python -m benchmarks: {message.format(**folders, module='multigrid.cli')}\n"


def test_this_version_plays_what_the_bench_measures(content):
    """A process with the real package plays every figure of `python -m benchmarks`, and the scaling curves."""
    folder = Path(multigrid.__file__).parents[1]
    effort = dataclasses.replace(measuring.QUICK, seconds=0.0, agents=(1, 16), worlds=(1, 10))
    with contextlib.closing(against._Version(folder, effort)) as version:
        names = version.read()
        figures = {figure: value for name in names for figure, value in version.play(name).items()}
    expected = {row["name"] for part in ("steps", "limits", "starts") for row in content[part]}
    expected -= {f"{count}, {worlds}" for count in ("1 thread", "2 threads") for worlds in QUIET + BUSY}
    expected |= {f"memory, {row['name']}" for row in content["memory"]}
    for curve in scaling.curves((1, 4096), (1, 10)):
        counts = effort.agents if curve.axis == "agents" else effort.worlds
        expected |= {f"{curve.name}, {count:,} {curve.axis}" for count in counts}
        expected.add(f"{curve.name}, from 1 to {counts[-1]:,} {curve.axis}: rise")
    missing = expected - set(figures)
    assert missing == set()
    assert not [name for name, value in figures.items() if value <= 0 and name != "what importing multigrid adds"]


def test_a_machine_without_numba_is_described(monkeypatch):
    """The versions are of what is installed: without Numba there is none of it, and no error."""
    installed = {"numba": mock.Mock(side_effect=metadata.PackageNotFoundError)}
    monkeypatch.setattr(metadata, "version", lambda name: installed.get(name, lambda: "1.5")())
    machine = measuring.describe_machine()
    assert ("numba" in machine, machine["numpy"]) == (False, "1.5")
