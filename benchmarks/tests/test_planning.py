"""`python -m benchmarks.planning`: rows outlast an interruption, the table shows missed goals."""

import json

import numpy as np
import pytest

from benchmarks.planning import measures
from benchmarks.planning.__main__ import main
from benchmarks.planning.measures import Task
from benchmarks.planning.rows import Row, append_row, read_rows
from benchmarks.planning.table import format_table, list_lines
from benchmarks.pogema import SETS
from multigrid.planning import Problem, _lacam, _solver
from multigrid.planning._search import Found, Interrupted
from tiny_clone import EXPERIMENTS, result, trust


def test_a_folder_that_is_no_clone_is_named(clone, tmp_path, capsys):
    """The message for a missing or different file is one line that names it and the clone; nothing is written."""
    (clone / EXPERIMENTS / "05-puzzles-mapf.yaml").write_text("")
    for name, wrong in (("random", "01-random/maps.yaml is missing"), ("puzzles", "mapf.yaml differs from the file")):
        assert main(["--data", str(clone), "--output", str(tmp_path / "out"), "--sets", name]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert wrong in line
        assert "at commit 3303133" in line
    assert not (tmp_path / "out").exists()


def test_an_interrupted_measurement_goes_on(clone, tmp_path, monkeypatch, capsys):
    """Each row is written at once; after an interruption and an incomplete line, no instance is missing or repeated."""
    out = tmp_path / "out"
    flags = ["--data", str(clone), "--output", str(out), "--sets", "puzzles", "--measures", "cbs", "lacam"]
    measure_row, calls = Task.measure_row, []

    def interrupt(task):
        calls.append(task)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measure_row(task)

    monkeypatch.setattr(Task, "measure_row", interrupt)
    assert main([*flags, "--every", "2"]) == 130
    assert "--resume" in capsys.readouterr().err
    file = out / "rows.csv"
    assert [row.key for row in read_rows(file)] == [("cbs", "puzzles", agents, "bay 000") for agents in (2, 3)]
    with file.open("a") as lines:
        lines.write("cbs,puzzles,4,bay")
    assert main(flags) == 2
    assert "--resume" in capsys.readouterr().err
    assert main([*flags, "--resume", "--cbs-seconds", "3"]) == 2
    assert "a limit of 10 s, not 3 s" in capsys.readouterr().err
    assert main([*flags, "--resume"]) == 0
    rows = read_rows(file)
    names = [("bay 000", agents) for agents in (2, 3, 4)] + [("hall 001", agents) for agents in (2, 3, 4)]
    expected = {(measure, "puzzles", agents, name) for measure in ("cbs", "lacam") for name, agents in names}
    assert len(rows) == len(expected)
    assert {row.key for row in rows} == expected
    assert {row.status for row in rows} == {"optimal"}
    # A bound is compared with the best published result, LaCAM* with LaCAM's.
    published = {row.measure: row.published for row in rows if (row.agents, row.instance) == (2, "bay 000")}
    assert published == {"cbs": 29, "lacam": None}
    table = (out / "table.md").read_text()
    proofs, plans = table.partition("## CBS\n")[2], table.partition("## LaCAM*\n")[2].partition("##")[0]
    assert "| puzzles | 2 to 4 | 6 / 6 | 100.0 | 100 | 0 |" in proofs
    assert "| puzzles | 2 to 4 | 6 / 6 | 6 | 5 | 6 |" in plans
    assert "A search ends after 10 s." in plans
    assert "| LaCAM* | 5 | 0 |\n| CBS | 6 | 0 |\n" in table.partition("## Published results")[2]
    assert "14 of 14 goals are reached." in table
    assert main([*flags[:4], "--resume", "--measures", "cbs", "--sets"]) == 0
    assert (out / "table.md").read_text() == table


def test_a_plan_cut_short_is_no_row(clone, tmp_path, monkeypatch):
    """Ctrl-C during LaCAM*, which has a plan already, ends the measurement and adds no row."""

    def interrupt(instance, *_):
        raise Interrupted(Found(np.stack([instance.starts]), 1, "feasible", 1))

    monkeypatch.setattr(_lacam, "search", interrupt)
    monkeypatch.setattr(_solver, "COMPILED", False)
    flags = ["--data", str(clone), "--output", str(tmp_path), "--sets", "puzzles", "--measures", "lacam"]
    assert main(flags) == 130
    assert read_rows(tmp_path / "rows.csv") == []


def test_a_lifelong_instance_is_played(clone, monkeypatch):
    """An agent alone takes shortest paths to the targets of its list, which begins anew after the last one."""
    (clone / "raw_data_LMAPF/05-puzzles/RHCR.json").write_text(
        json.dumps([result("RHCR", 1, {"avg_throughput": 0.25})])
    )
    trust(clone, monkeypatch)
    monkeypatch.setitem(SETS, "puzzles", (1,))
    monkeypatch.setattr(measures, "_LIFELONG", {"puzzles": (1,)})
    (task,) = measures._list_lifelong(clone, "puzzles")
    row = task.measure_row()
    # The arrivals of steps 3, 4, 5, 8 and 10; the third is at a repeated target.
    assert (row.figure, row.published, row.status) == (pytest.approx(5 / 10), 0.25, "played")
    assert 0 < row.seconds <= row.worst


def test_the_speeds_are_measured(monkeypatch, clone):
    """PIBT, the batch expert and the first plan for many agents give seconds and figures, here in small worlds."""
    problem = Problem("...#\n....", [[0, 0], [2, 0], [1, 1]], [[2, 0], [0, 0], [3, 1]])
    monkeypatch.setattr(measures, "_make_world", lambda size, agents, seed: problem)
    monkeypatch.setattr(measures, "_WORLDS", 2)
    monkeypatch.setattr(measures, "_STEPS_OF_A_PLAN", 3)
    tasks = list(measures.list_tasks(clone, [], measures.Limits(1.0, 1.0)))
    assert [task.measure for task in tasks] == ["pibt"] * 3 + ["expert"] * 3 + ["crowd"] * 3
    steps, labels, crowd = (task.measure_row() for task in tasks[::3])
    assert steps.figure is not None
    assert steps.figure < steps.seconds
    assert labels.figure == pytest.approx(16 / labels.seconds)
    assert (crowd.status, crowd.figure) == ("optimal", crowd.seconds)


def make_rows(measure, name, agents, count, **figures):
    """Rows of so many instances, which are equal."""
    given = {"limit": 10.0, "status": "optimal", **figures}
    return [Row(measure, name, agents, f"number {k}", **given) for k in range(count)]


@pytest.mark.parametrize(
    ("rows", "missed"),
    [
        (make_rows("pibt", "64 x 64", 512, 3, figure=0.0004, seconds=0.09), []),
        (make_rows("pibt", "64 x 64", 512, 3, figure=0.0006, seconds=0.2), ["0.6 ms", "200 ms"]),
        (make_rows("expert", "16 x 16", 8, 1, figure=2.9e6), ["2.9 M agent-steps/s"]),
        (make_rows("crowd", "256 x 256", 1000, 2, figure=4.0), []),
        (make_rows("crowd", "256 x 256", 1000, 2, figure=None), ["2 without a plan"]),
        (make_rows("cbs", "mazes", 16, 6) + make_rows("cbs", "mazes", 16, 4, status="feasible"), []),
        (make_rows("cbs", "random", 16, 9) + make_rows("cbs", "random", 16, 1, status="feasible"), ["90.0"]),
        (make_rows("cbs", "puzzles", 2, 9) + make_rows("cbs", "puzzles", 2, 1, status="unsolvable"), []),
        (make_rows("cbs", "puzzles", 2, 1, status="unsolvable", published=9.0), ["1: puzzles number 0 with 2"]),
        (make_rows("cbs", "puzzles", 2, 1, bound=9.0, published=9.0), []),
        (make_rows("cbs", "puzzles", 2, 1, bound=9.0, published=8.0), ["1: puzzles number 0 with 2"]),
        (make_rows("lacam", "warehouse", 32, 2, bound=9.0, figure=9.0, published=8.9), []),
        (make_rows("lacam", "mazes", 64, 2, figure=102.0, published=100.0, status="feasible"), []),
        (make_rows("lacam", "mazes", 64, 2, figure=104.0, published=100.0), ["1.040"]),
        (make_rows("lacam", "mazes", 64, 2, published=100.0, status="unknown"), ["0"]),
        (make_rows("lacam", "mazes", 64, 2, figure=100.0, limit=11.0), ["0"]),
        (make_rows("lifelong windowed", "mazes", 64, 2, figure=0.96, published=1.0, worst=0.9), []),
        (make_rows("lifelong windowed", "mazes", 64, 2, figure=0.94, published=1.0, worst=2.0), ["2e+03", "0.940"]),
    ],
)
def test_a_goal_is_reached_or_missed(rows, missed):
    """The table shows a figure beyond its goal as missed, and any other as reached."""
    lines = list(list_lines(rows, {}))
    assert len(lines) > 0
    goals = [(line.cells[column], reached) for line in lines for column, reached in line.goals]
    found = [cell for cell, reached in goals if not reached]
    assert len(found) == len(missed)
    assert all(cell.startswith(part) for part, cell in zip(missed, found, strict=True))
    table = format_table(lines)
    assert table.count("**missed**") == len(missed)
    assert all(f"| {cell} **missed** |" in table for cell in found)
    assert f"{len(goals) - len(missed)} of {len(goals)} goals are reached." in table


def test_a_set_has_one_row_but_for_missed_goals():
    """Numbers of agents are joined to a row of sums, ranges and maxima; one that misses a goal has its own row."""
    rows = [
        *make_rows("lacam", "mazes", 8, 2, figure=99.0, published=100.0, seconds=0.5),
        *make_rows("lacam", "mazes", 16, 2, figure=104.0, published=100.0, seconds=2.0),
        *make_rows("lacam", "mazes", 24, 3, figure=101.0, published=100.0, seconds=1.0),
        *make_rows("lacam", "warehouse", 32, 1, figure=9.0, seconds=1.0),
    ]
    table = format_table(list(list_lines(rows, {("lacam", "mazes", 8): 4})))
    joined = "| mazes | 8 to 24 | 5 / 7 | 5 | 5 | 5 | 0.990 to 1.010 | 1 |"
    missed = "| mazes | 16 | 2 / 2 | 2 | 2 | 2 | 1.040 **missed** | 2 |"
    assert f"{joined}\n{missed}\n| warehouse | 32 | 1 / 1 | 1 |  | 1 |  | 1 |\n" in table


def test_windowed_play_is_compared_with_pibt():
    """In the warehouse the throughputs are compared on the instances that both have played."""
    windowed = make_rows("lifelong windowed", "warehouse", 192, 3, figure=5.0, worst=0.1, published=2.0)
    pibt = make_rows("lifelong pibt", "warehouse", 192, 2, figure=6.0, worst=0.1)
    (line,) = list_lines(windowed + pibt, {("lifelong windowed", "warehouse", 192): 8})
    assert line.cells[:5] == ("warehouse", "192", "3 / 8", "5.000", "0.833")
    assert line.goals == ((5, True), (4, False))


def test_rows_are_read_as_they_were_written(tmp_path):
    """A row keeps its values, None among them, and a file of something else is refused."""
    file = tmp_path / "rows.csv"
    row = Row("cbs", "random", 8, "a, b 000", 10.0, "optimal", 81, 81, None, 0.125, None, 3.125)
    append_row(file, row)
    assert read_rows(file) == [row]
    file.write_text("time,speed\n1,2\n")
    with pytest.raises(Exception, match=r"does not hold rows of this measurement: its columns are time, speed"):
        read_rows(file)
