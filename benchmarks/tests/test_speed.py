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

import numpy as np
import pytest
from rich.console import Console

import benchmarks
import multigrid
from benchmarks.__main__ import main
from benchmarks.speed import against, cases, floors, measure, processes, report, starts
from helpers import QUICKER_BENCH, run_python

pytestmark = pytest.mark.heavy

QUIET, BUSY = ("8,192 worlds", "16,384 worlds"), tuple(f"{n} worlds, busy cores" for n in ("256", "1,024", "8,192"))
CONSOLE = Console(quiet=True)


@pytest.fixture(scope="module")
def content():
    """What `python -m benchmarks --quick --json` prints, with fewer rounds."""
    done = run_python("-c", QUICKER_BENCH, "--quick", "--json")
    return json.loads(done.stdout)


def test_every_case_has_its_baseline_and_its_goal(content):
    """Each face, from one agent to 1,024 and from one world to 16,384, stands beside its baseline and its goal."""
    documented, many = "documented GridWorld", "SyncVectorEnv, documented"
    rows = {row["name"]: row for row in content["steps"]}
    baselines = {
        many: {many, *(f"GridWorld, gym.make_vec{of}" for of in ("", ", 2 threads", ": copying"))},
        f"{documented}, gym.make": {f"{documented}, gym.make", "GridWorldEnv, gym.make"},
        "512x512 frame, documented": {"512x512 frame, documented", "512x512 frame"},
        "SB3 VecEnv, SuperSuit": {f"SB3 VecEnv, {name}" for name in ("SuperSuit", "native")},
        **{f"1 thread, {worlds}": {f"{k}, {worlds}" for k in ("1 thread", "2 threads")} for worlds in QUIET + BUSY},
        documented: {
            *(documented, "GridWorldEnv", cases.REWARDED, cases.SET_ONE, cases.SET_MANY, *cases.GAMES, *cases.VARIED),
            *(f"one map, episodes of {steps}" for steps in (50, 300)),
            *(f"GridWorldEnv.step{floor}" for floor in ("", ": CPython's floor")),
            *(f"ParallelEnv, N = {n}" for n in (1, 8, 16, 64, 256, 1024)),
            *(f"ParallelEnv, N = {n}{of}" for n in (8, 64) for of in (", view", ": CPython's floor")),
            "ParallelEnv, N = 256, view",
            *(f"vector env, 1,024 x 8{view}{of}" for view in ("", ", view") for of in ("", ", 2 threads", ": copying")),
            *(f"vector env, {size}{of}" for size in ("64 x 64", "16,384 x 8") for of in ("", ": copying")),
        },
    }
    assert {row["against"] for row in content["steps"]} == set(baselines)
    for baseline, names in baselines.items():
        assert {name for name in rows if rows[name]["against"] == baseline} == names
    over = {row["name"]: row["over"] for row in content["goals"] if "over" in row}
    assert over == {name: row["goal"] for name, row in rows.items() if row["goal"] is not None}
    assert over == {
        "GridWorldEnv": 6,
        "ParallelEnv, N = 1": 1,
        "GridWorldEnv, gym.make": 4,
        "512x512 frame": 3,
        "GridWorld, gym.make_vec": 500,
        **{f"ParallelEnv, N = {n}": 7.7 for n in (16, 1024)},
        **{f"2 threads, {worlds}": 1.7 if worlds in QUIET else 0.9 for worlds in QUIET + BUSY},
    }
    limits = {name: most for name, *_, most in measure.LIMITS}
    limits |= {row["name"]: row["goal"] for row in content["starts"] if row["goal"]}
    assert {row["name"]: row["under"] for row in content["goals"] if "under" in row} == limits
    assert len(limits) == 19


def timed(name, *costs, against="", **more):
    """Return a case that was measured already, with the cost of each round."""
    return cases.Case(name, "a group", lambda _: (0.0, 1), against, costs=list(costs), **more)


def test_a_ratio_is_the_median_over_rounds():
    """In each round one time is divided by the other: a slow moment of the machine falls on both, and cancels out."""
    slow, fast = timed("slow", 3.0, 4.0, 40.0, against="slow"), timed("fast", 1.0, 2.0, 4.0, against="slow")
    first, second = measure.step_rows([slow, fast])
    assert (first["ratio"], first["ratio_spread"]) == (1, 0)
    # The ratios are 3, 2 and 10, with quartiles at 2 and 10; the quartiles of the times are 1 and 4.
    assert (second["ratio"], second["ratio_spread"]) == (3, pytest.approx(8 / 6, abs=1e-4))
    assert (second["microseconds_per_agent_step"], second["spread"], second["goal"]) == (2, 0.75, None)
    (alone,) = measure.step_rows([timed("ours", 2.0, against="POGEMA", goal=6.0)])
    assert (alone["ratio"], alone["goal"], alone["microseconds_per_agent_step"]) == (None, 6.0, 2)


def test_a_step_is_compared_with_what_limits_it():
    """Each limit is a median over rounds as well: a step over copying, over CPython's floor, or over another step."""
    step = "vector env, 1,024 x 8, view"
    measured = [
        timed(step, 0.05, 0.06, 0.4),
        timed(f"{step}: copying", 0.01, 0.01, 0.05, row_bytes=170.25),
        timed("GridWorldEnv.step", 2.0, 4.0),
        timed("GridWorldEnv.step: CPython's floor", 1.0, 1.0),
        timed("ParallelEnv, N = 8"),
        timed("ParallelEnv, N = 8: CPython's floor", 1.0),
        timed(cases.SET_MANY, 8.0),
        timed("vector env, 1,024 x 8", 2.0),
    ]
    assert {row["name"]: (row["value"], row["under"]) for row in measure.limit_rows(measured)} == {
        f"{step}, over copying": (6, 7),
        "GridWorldEnv.step, over its floor": (3, 2.3),
        f"{cases.SET_MANY}, over a step": (4, 10),
    }
    (row,) = measure.copying_rows(measured)
    assert row == {"name": step, "bytes": 170.25, "copying": 10, "step": 60, "ratio": 6, "c": 15}


def test_the_rise_begins_at_the_lowest_cost():
    """A cost that falls, because more agents share the price of a call, is no rise; what comes after the lowest is."""
    curve = cases.Curve("", "agents", {n: timed("", cost) for n, cost in enumerate((9.0, 1.0, 3.0, 2.0), 1)})
    assert (curve.microseconds, curve.rise) == ([9, 1, 3, 2], 3)
    (row,) = measure.limit_rows([], [curve])
    assert (row["name"], row["value"]) == (", from 1 to 4 agents: rise", 3)


def test_the_memory_of_a_world_is_what_one_more_adds(content):
    """A world of more agents, and one with views of walls, agents and targets, takes more, in proportion."""
    size = {row["name"]: row["bytes"] for row in content["memory"]}
    view = size["8 agents on 16 x 16, view"] - size["8 agents on 16 x 16"]
    assert view >= 8 * 3 * 5 * 5
    assert 8 * 4 * 8 < size["8 agents on 16 x 16"] < size["64 agents on 32 x 32"] < 100_000
    assert size["one agent on 5 x 5"] < size["8 agents on 16 x 16"]


@pytest.mark.parametrize(("worlds", "limit"), [(7, 14), (23, 10)])
def test_worlds_end_one_after_the_other(worlds, limit):
    """Over an episode as many worlds end in each step as in any other, or one more; in all, each world once."""
    env = multigrid.vector_env(worlds, num_agents=2, size=(5, 3), on_target="restart", max_cycles=limit)
    env.reset(seed=0)
    cases.spread_ends(env)
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
    steps = cases.record_steps(env)
    assert [sum(array.nbytes for array in arrays) for arrays in steps] == [15 * 71, 15 * (71 + 56)] * 5
    copied = []

    def copy(words, out):
        assert out.nbytes == words.nbytes
        assert not np.shares_memory(out, words)
        copied.append(words)

    monkeypatch.setattr(cases, "copy_words", copy)
    seconds, agent_steps = cases.play_copies(steps, env.num_envs)(0.0)
    assert (seconds > 0, agent_steps) == (True, 15)
    assert b"".join(words.tobytes() for words in copied) == b"".join(array.tobytes() for array in steps[0])
    monkeypatch.undo()
    assert cases.copy_words(np.array([5, 7], np.uint64), np.zeros(2, np.uint64)).tolist() == [5, 7]


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
        pairs = zip(cases.find_arrays(first), cases.find_arrays(second), strict=True)
        assert not any(np.shares_memory(array, other) for (_, array), (_, other) in pairs)


def test_all_cores_are_busy_until_the_end():
    """A process computes on each core, and all have ended afterwards."""
    with cases.busy_cores() as started:
        assert [one.poll() for one in started] == [None] * cases.count_cores()
    assert [one.returncode for one in started] == [0] * cases.count_cores()


def test_a_cold_start_has_no_compiled_kernel(monkeypatch):
    """Each kind of environment starts in a new Python, whose cache is empty; there is no cold start without Numba."""
    check = "import os; assert not os.listdir(os.environ['NUMBA_CACHE_DIR']); import gymnasium"
    monkeypatch.setattr(starts, "_COLD", {"one": check, "two": check})
    monkeypatch.setattr(starts, "KERNELS", "just in time")
    assert [(row["name"], row["goal"]) for row in starts.cold_start_times()] == [
        (f"{name}, a cold start, of CPU", 15) for name in ("one", "two")
    ]
    monkeypatch.setattr(starts, "KERNELS", "interpreted")
    assert starts.cold_start_times() == []


def test_the_figures_of_c_are_those_of_the_docs():
    """The bench prints figures that it does not measure; docs/speed.md has the same."""
    text = (Path(multigrid.__file__).parents[1] / "docs" / "speed.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| [\d,]+ x \d+.* \| ([\d.]+) \|$", text, re.MULTILINE)
    assert [float(figure) for figure in found] == list(measure.C_NANOSECONDS.values())


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
    assert "The rules of the game are compiled just in time." in " ".join(shown.getvalue().split())
    row = {"name": "A", "group": "Steps", "against": "B", "ratio": 0.0034, "ratio_spread": 0.2, "spread": 13.97}
    report.print_steps(Console(file=shown, width=width), [row | {"microseconds_per_agent_step": 2.14}])
    assert {"\u00b1>999%", "<0.01x"} <= set(shown.getvalue().split())
    assert [line for line in shown.getvalue().splitlines() if len(line.rstrip()) > width or "\u2026" in line] == []


def test_goals_are_counted():
    """Goals that are reached are counted over all tables, with their share; what is unmeasured or has none is not."""
    for value, verdict in ((4.0, "reached by 0%"), (3.0, "reached by 25%"), (4.01, "missed by <1%")):
        assert measure.judge({"value": value, "under": 4.0}) == verdict
    for value, verdict in ((1.7, "reached by 0%"), (1.02, "missed by 40%"), (4.25, "reached by 150%")):
        assert measure.judge({"value": value, "over": 1.7}) == verdict
    steps = [
        {"name": name, "goal": goal, "ratio": ratio, "ratio_spread": ratio and 0.1}
        for name, goal, ratio in (("fast", 4, 5.0), ("slow", 4, 3.9), ("bare", None, 1.0), ("unmeasured", 4, None))
    ]
    limits = [{"name": "low", "value": 3.0, "under": 4.0}, {"name": "large", "value": 3.0, "under": 2.0}]
    times = [{"name": "import", "seconds": 0.1, "goal": 0.1}, {"name": "others", "seconds": 9.0, "goal": None}]
    shown = StringIO()
    goals = measure.goal_rows({"steps": steps, "limits": limits, "starts": times})
    report.print_goals(Console(file=shown, width=80), goals)
    lines = [" ".join(line.split()) for line in shown.getvalue().splitlines()]
    assert "slow 3.90x \u00b110% 4x missed by 3%" in lines
    assert "import 0.1 s 0.1 s reached by 0%" in lines
    assert lines[-2:] == ["3 of 5 goals are reached.", ""]


@pytest.mark.parametrize("thorough", [False, True])
def test_cases_take_turns(monkeypatch, thorough):
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

    monkeypatch.setattr(measure, "local_cases", lambda: map(case, "ab"))
    monkeypatch.setattr(measure, "thread_cases", lambda busy: map(case, "c" if busy else "d"))
    monkeypatch.setattr(measure, "busy_cores", busy_cores)
    monkeypatch.setattr(starts, "startup_times", lambda repeats: [])
    monkeypatch.setattr(starts, "memory_per_world", list)
    monkeypatch.setattr(starts, "cold_start_times", lambda: [{"name": "cold", "seconds": 9.0, "goal": 15.0}])
    effort = dataclasses.replace(measure.QUICK, rounds=2, seconds=2.0, thorough=thorough)
    measured = measure.measure(effort, CONSOLE)
    alone = ["a0", "b0", "a2", "b2", "a2", "b2", "d0", "d2", "d2"]
    assert played == [*alone, "c0", "busy", "c2", "c2", "idle"]
    assert [(row["name"], row["microseconds_per_agent_step"]) for row in measured["steps"]] == [
        (name, 500_000) for name in "abdc"
    ]
    assert [row["name"] for row in measured["goals"]] == ["cold"] * thorough


@pytest.mark.parametrize(
    ("code", "limit", "message"),
    [("import time; time.sleep(5)", 0.2, "no answer, exit code -?[1-9]\\d*"), ("print('hello')", 60.0, "hello")],
)
def test_a_process_that_does_not_answer_is_an_error(code, limit, message):
    """A process is killed after the limit, and a line that is not JSON is the message."""
    process = processes.JsonProcess([sys.executable, "-c", code], env=dict(os.environ))
    with contextlib.closing(process), pytest.raises(processes.ProcessError, match=f"^{message}$"):
        process.read(limit)


ROUNDS = 3
AGAINST = dataclasses.replace(measure.QUICK, rounds=ROUNDS, startups=2)
FIGURES = {
    "this": {"step": 1.0, "reset": 4.0, "new": 1.0, "importing": 0.5, "memory": 300, "rise": 1.5},
    "other": {"step": 3.0, "reset": 2.0, "gone": 1.0, "importing": 0.5, "memory": 200, "rise": 1.5},
}


class StubVersion:
    """In place of the process of a version: it answers with the figures of its folder's name, and notes each play."""

    played = ()

    def __init__(self, folder, effort):
        del effort
        self.folder = folder.name

    def read(self):
        """Return the names of the rounds."""
        own = [name for name in FIGURES[self.folder] if name not in {"importing", "memory", "rise"}]
        return [*own, "starts", "rest"]

    def play(self, name):
        """Note the round and return its figures."""
        StubVersion.played = (*self.played, (self.folder, name))
        if len(self.played) == StubVersion.fail_at:
            raise against.VersionError("out of cheese")
        figures = FIGURES[self.folder]
        names = {"starts": ("importing",), "rest": ("memory", "rise")}.get(name, (name,))
        return {one: figures[one] for one in names}

    def close(self):
        """Do nothing: there is no process."""


@pytest.fixture
def versions(tmp_path, monkeypatch):
    """This version, which steps faster, resets slower, and has a figure of its own; and the other."""
    monkeypatch.setattr(against, "Version", StubVersion)
    monkeypatch.setattr(StubVersion, "played", ())
    monkeypatch.setattr(StubVersion, "fail_at", None, raising=False)
    for name in FIGURES:
        (tmp_path / name / "multigrid").mkdir(parents=True)
        (tmp_path / name / "multigrid" / "__init__.py").touch()
    return tmp_path / "this", tmp_path / "other"


def test_versions_are_compared_by_turns(versions):
    """A ratio is how many times better this version is; in a round both play, and who begins alternates."""
    content = against.compare(versions, 6, AGAINST, None, CONSOLE)
    assert (content["turns"], content["this"], content["other"]) == (6, *map(str, versions))
    assert [(row["name"], pytest.approx(row["ratio"]), row["verdict"]) for row in content["figures"]] == [
        ("reset", 0.5, "worse"),
        ("memory", 2 / 3, "worse"),
        ("importing", 1.0, "no difference"),
        ("rise", 1.0, "no difference"),
        ("step", 3.0, "better"),
    ]
    assert all(len(row["by_turn"]) == 6 and row["low"] == row["ratio"] == row["high"] for row in content["figures"])
    played = [folder for folder, name in StubVersion.played if name == "reset"]
    begin = [["this", "other"], ["other", "this"]]
    expected = [begin[(turn + k) % 2] for turn in range(6) for k in range(ROUNDS)]
    assert [played[k : k + 2] for k in range(0, len(played), 2)] == expected
    # So that both begin equally often within a turn.
    turns = [against.turn_of(effort) for effort in (measure.QUICK, measure.FULL)]
    assert [count % 2 for effort in turns for count in (effort.rounds, effort.startups)] == [0] * 4


def test_a_comparison_goes_on_where_it_was_cut_off(versions, tmp_path, monkeypatch):
    """Turns are kept as they come; a run goes on from those in the file, if they are of the same code and effort."""
    kept = tmp_path / "turns.json"
    in_a_turn = 2 * (2 * ROUNDS + 2 + 1)
    monkeypatch.setattr(StubVersion, "fail_at", 2 * in_a_turn + 3)
    with pytest.raises(against.VersionError, match=r"^out of cheese$"):
        against.compare(versions, 6, AGAINST, kept, CONSOLE)
    first = json.loads(kept.read_text())
    assert len(first["turns"]) == 2
    monkeypatch.setattr(StubVersion, "fail_at", None)
    monkeypatch.setattr(StubVersion, "played", ())
    first["turns"][0]["reset"] = 0.25
    kept.write_text(json.dumps(first))
    content = against.compare(versions, 6, AGAINST, kept, CONSOLE)
    (row,) = [row for row in content["figures"] if row["name"] == "reset"]
    assert row["by_turn"] == [0.25, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert len(StubVersion.played) == 4 * in_a_turn
    before = kept.read_bytes()
    (versions[1] / "multigrid" / "__init__.py").write_text("\n")
    with pytest.raises(against.VersionError, match="has turns of other code"):
        against.compare(versions, 6, AGAINST, kept, CONSOLE)
    assert kept.read_bytes() == before
    kept.write_text('{"turns"')
    with pytest.raises(against.VersionError, match="has no turns"):
        against.compare(versions, 6, AGAINST, kept, CONSOLE)


def test_the_interval_is_that_of_order_statistics():
    """For each number of turns, the values that enclose the median, and how probably, are those of printed tables."""
    table = {6: (1, 6, 0.969), 8: (1, 8, 0.992), 9: (2, 8, 0.961), 10: (2, 9, 0.979), 12: (3, 10, 0.961)}
    table |= {15: (4, 12, 0.965), 17: (5, 13, 0.951), 20: (6, 15, 0.959)}
    for turns, (low, high, coverage) in table.items():
        values = np.random.default_rng(0).permutation(np.arange(1.0, turns + 1)).tolist()
        assert measure.median_interval(values) == (low, high, pytest.approx(coverage, abs=0.0006))
    assert measure.median_interval([1.0] * against.FEWEST_TURNS)[2] >= 0.95
    assert measure.median_interval([1.0] * (against.FEWEST_TURNS - 1))[2] < 0.95


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
    content = against.summarize(turns)
    verdicts = {row["name"]: row["verdict"] for row in content["figures"]}
    assert list(verdicts) == ["far below", "below", "up to one", "down to one", "above"]
    assert list(verdicts.values()) == ["worse", "worse", "no difference", "no difference", "better"]
    assert content["left_out"] == ["seldom"]
    assert content["by_chance"] == pytest.approx(5 / 32)


@pytest.mark.parametrize("code", [0, 1])
def test_the_exit_code_says_whether_a_figure_is_worse(versions, tmp_path, monkeypatch, capsys, code):
    """The command exits with 1 if a figure is worse, else 0; the table and JSON say the same."""
    monkeypatch.setattr(benchmarks, "__file__", str(versions[0] / "benchmarks" / "__init__.py"))
    monkeypatch.setitem(FIGURES, "this", {**FIGURES["other"], "step": 6.0 if code else 3.0})
    flags = ["--quick", "--against", str(versions[1]), "--turns", "6", "--resume", str(tmp_path / "turns.json")]
    assert main([*flags, "--json"]) == code
    rows = {row["name"]: row["verdict"] for row in json.loads(capsys.readouterr().out)["figures"]}
    verdict = "worse" if code else "no difference"
    assert rows["step"] == verdict
    assert main(flags) == code
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step ")]
    assert line.split() == ["step", *["0.500" if code else "1.000"] * 3, *verdict.split()]


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
    """A folder without the package, a package that cannot be measured, too few turns: one line, and exit code 2."""
    folders = {name: tmp_path / name for name in ("empty", "broken")}
    folders["empty"].mkdir()
    (folders["broken"] / "multigrid").mkdir(parents=True)
    (folders["broken"] / "multigrid" / "__init__.py").touch()
    monkeypatch.setattr(benchmarks, "__file__", str(folders["broken"] / "benchmarks" / "__init__.py"))
    assert main(["--json", *(flag.format(**folders) for flag in flags)]) == 2
    error = message.format(**folders, module="multigrid.envs")
    assert capsys.readouterr().err == f"python -m benchmarks: {error}\n"


def test_a_process_plays_what_the_bench_measures(content):
    """The process of a version plays every figure of `python -m benchmarks`, and the scaling curves."""
    folder = Path(multigrid.__file__).parents[1]
    effort = dataclasses.replace(measure.QUICK, seconds=0.0, agents=(1, 16), worlds=(1, 10))
    with contextlib.closing(against.Version(folder, effort)) as version:
        figures = {figure: value for name in version.read() for figure, value in version.play(name).items()}
    expected = {row["name"] for part in ("steps", "limits", "starts") for row in content[part]}
    expected -= {f"{count}, {worlds}" for count in ("1 thread", "2 threads") for worlds in QUIET + BUSY}
    expected |= {f"memory, {row['name']}" for row in content["memory"]}
    for curve in cases.curves(effort.agents, effort.worlds):
        expected |= {case.name for case in curve.cases.values()}
        expected.add(f"{curve.name}, from 1 to {max(curve.cases)} {curve.axis}: rise")
    assert set(figures) == expected
    assert not [name for name, value in figures.items() if value <= 0 and name != "what importing multigrid adds"]


def test_a_machine_without_numba_is_described(monkeypatch):
    """The versions are of what is installed: without Numba there is none of it, and no error."""
    installed = {"numba": mock.Mock(side_effect=metadata.PackageNotFoundError)}
    monkeypatch.setattr(metadata, "version", lambda name: installed.get(name, lambda: "1.5")())
    machine = measure.describe_machine()
    assert ("numba" in machine, machine["numpy"]) == (False, "1.5")
