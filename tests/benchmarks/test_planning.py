"""`python -m benchmarks.planning`: instances are read, rows outlive an interruption, and a missed goal is told."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.planning import instances, measures
from benchmarks.planning.__main__ import main
from benchmarks.planning.instances import DataError, read_instances, read_published
from benchmarks.planning.measures import Task
from benchmarks.planning.rows import Row, append_row, read_rows
from benchmarks.planning.table import format_table, list_lines
from multigrid.planning import Problem

MAPS = """"bay": |-
  ....#
  .#...
  ....#
"hall": |-
  ......
  .#....
"""

# Cells are [row, column]; a list may be broken wherever there is a space. All can take shortest paths at once.
MAPF = """algorithms:
  LaCAM:
    name: LaCAM
environment:
  collision_system: soft
  max_episode_steps: 40
  on_target: nothing
scenarios:
  Scenario-2:
    agents_xy: [[0, 5], [0, 0], [1, 3], [1, 4]]
    map_name: hall
    seed: 1
    targets_xy: [[1, 5], [1, 0], [0, 3], [
        0, 4]]
  Scenario-1:
    agents_xy: [[0, 0], [2, 1],
      [1, 4], [0, 3]]
    map_name: bay
    seed: 0
    targets_xy: [[0, 2], [2, 3], [1, 2], [0, 3]]
"""

# The first agent walks 3, 1 and 3 cells, and then 2, 1 and 3. Of a target that comes twice in turn there is one.
LMAPF = """environment:
  max_episode_steps: 10
scenarios:
  Scenario-0:
    agents_xy: [[0, 1], [0, 0], [0, 5], [1, 5]]
    map_name: hall
    seed: 0
    targets_xy: [[[0, 4], [1, 4], [1, 4], [0, 2]], [[0, 1]], [[1, 2], [0,
        0]], [[1, 2]]]
"""


def result(agents: int, metrics: dict[str, float], **names: object) -> dict[str, object]:
    """A published result."""
    return {"metrics": metrics, "env_grid_search": {"num_agents": agents, **names}}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder of the benchmark's form with a set of two puzzles."""
    clone = tmp_path / "clone"
    folder = clone / "algorithms" / "experiments" / "05-puzzles"
    folder.mkdir(parents=True)
    (folder / "maps.yaml").write_text(MAPS)
    (folder / "05-puzzles-mapf.yaml").write_text(MAPF)
    (folder / "05-puzzles-lmapf.yaml").write_text(LMAPF)
    solved = [
        result(agents, {"CSR": 1.0, "SoC": 30.0}, map_name=name, seed=seed)
        for agents in (2, 3, 4)
        for name, seed in (("bay", 0), ("hall", 1))
    ]
    solved[0]["metrics"] = {"CSR": 0.0, "SoC": 80.0}
    for kind, algorithm, rows in (
        ("MAPF", "LaCAM", solved),
        ("MAPF", "Other", [result(2, {"CSR": 1.0, "SoC": 29.0}, map_name="bay", seed=0)]),
        ("LMAPF", "RHCR", [result(1, {"avg_throughput": 0.25})]),
    ):
        file = clone / f"raw_data_{kind}" / "05-puzzles" / f"{algorithm}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows))
    return clone


def test_instances_are_read(clone: Path) -> None:
    """Walls, cells and targets of scenarios become arrays by [x, y], sorted by map and seed."""
    bay, hall = read_instances(clone, "mapf", "puzzles")
    assert (bay.name, hall.name, bay.steps) == ("bay 000", "hall 001", 40)
    assert np.argwhere(bay.walls).tolist() == [[1, 1], [4, 0], [4, 2]]
    assert bay.starts.tolist() == [[0, 0], [1, 2], [4, 1], [3, 0]]
    assert [cells.tolist() for cells in hall.targets] == [[[5, 1]], [[0, 1]], [[3, 0]], [[4, 0]]]
    (lifelong,) = read_instances(clone, "lmapf", "puzzles")
    assert [cells.tolist() for cells in lifelong.targets[:2]] == [[[4, 0], [4, 1], [4, 1], [2, 0]], [[1, 0]]]


def test_published_results_are_read(clone: Path) -> None:
    """Each result has its instance, also where it names neither map nor seed, for there is one alone."""
    assert read_published(clone, "lmapf", "puzzles") == [("RHCR", "hall 000", 1, {"avg_throughput": 0.25})]
    rows = read_published(clone, "mapf", "puzzles")
    assert [row[:3] for row in rows[-2:]] == [("LaCAM", "hall 001", 4), ("Other", "bay 000", 2)]


def break_folder(clone: Path) -> Iterator[tuple[str, str]]:
    """Break a folder in one way after the other; yield what the message names, and what is wrong."""
    folder = clone / "algorithms" / "experiments" / "05-puzzles"
    yield "random", "0 folders"
    for old, new, wrong in (
        ("[0, 5], [0, 0], [1, 3]", "[1, 1], [0, 0], [1, 3]", "on a wall"),
        ("[0, 5], [0, 0], [1, 3]", "[9, 5], [0, 0], [1, 3]", "IndexError"),
        ("map_name: hall", "map_name: hut", "hut"),
        ("[[0, 5], [0, 0], [1, 3], [1, 4]]", "[[0, 5], [0, 0], [1, 3]]", "3 agents, 4 targets"),
        ("max_episode_steps", "most_steps", "no scenarios, maps or steps"),
    ):
        (folder / "05-puzzles-mapf.yaml").write_text(MAPF.replace(old, new))
        yield "05-puzzles-mapf.yaml", wrong
    (folder / "05-puzzles-mapf.yaml").write_text(MAPF)
    (clone / "raw_data_MAPF" / "05-puzzles" / "Other.json").write_text('[{"metrics": {}}]')
    yield "Other.json", "env_grid_search"
    (folder / "maps.yaml").unlink()
    yield "maps.yaml", "No such file"


def test_a_folder_that_is_no_clone_is_named(clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing or different file is told in a line with its name and with what is expected; nothing is written."""
    for name, wrong in break_folder(clone):
        sets = "random" if name == "random" else "puzzles"
        flags = ["--data", str(clone), "--output", str(tmp_path / "out"), "--sets", sets]
        assert main(flags) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert name in line
        assert wrong in line
        assert "at commit 3303133" in line
    assert not (tmp_path / "out").exists()


def test_an_instance_with_too_few_agents_is_refused(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance needs agents for the largest number of its set."""
    monkeypatch.setitem(instances.SETS, "puzzles", (2, 5))
    with pytest.raises(DataError, match=r"hall 001 has 4 agents, not 5"):
        read_instances(clone, "mapf", "puzzles")


def test_an_interrupted_measurement_goes_on(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows are written as they come; after an interruption and a line cut short no instance is missing or twice."""
    out = tmp_path / "out"
    flags = ["--data", str(clone), "--output", str(out), "--sets", "puzzles", "--measures", "cbs", "lacam"]
    measure_row, calls = Task.measure_row, []

    def interrupt(task: Task) -> Row:
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
    assert main([*flags, "--resume", "--time-limit", "3"]) == 2
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
    assert "| CBS: puzzles, 2 agents | 2 of 2 | 2 optimal, 0 unsolvable, 100.0%" in table
    assert "| LaCAM*: puzzles, 2 agents | 2 of 2 | 2 solved" in table
    assert "| published sums of costs below a bound | 11 | 0 | none | reached |" in table
    assert "7 of 7 goals are reached." in table
    assert main([*flags[:4], "--resume", "--measures", "cbs", "--sets"]) == 0
    assert (out / "table.md").read_text() == table


def test_a_lifelong_instance_is_played(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent alone takes shortest paths to the targets of its list, which begins anew after the last one."""
    monkeypatch.setattr(measures, "_LIFELONG", {"puzzles": (1,)})
    (task,) = measures._list_lifelong(clone, "puzzles")
    row = task.measure_row()
    # The arrivals of steps 3, 4, 5, 8 and 10; the third is at a repeated target.
    assert (row.figure, row.published, row.status) == (pytest.approx(5 / 10), 0.25, "played")
    assert 0 < row.seconds <= row.worst  # type: ignore[operator]


def test_the_speeds_are_measured(monkeypatch: pytest.MonkeyPatch, clone: Path) -> None:
    """PIBT, the batch expert and the first plan of a crowd give seconds and figures, here in small worlds."""
    problem = Problem("...#\n....", [[0, 0], [2, 0], [1, 1]], [[2, 0], [0, 0], [3, 1]])
    monkeypatch.setattr(measures, "_make_world", lambda size, agents, seed: problem)
    monkeypatch.setattr(measures, "_WORLDS", 2)
    monkeypatch.setattr(measures, "_STEPS_OF_A_PLAN", 3)
    tasks = list(measures.list_tasks(clone, [], measures.Limits(1.0, 1.0)))
    assert [task.measure for task in tasks] == ["pibt"] * 3 + ["expert"] * 3 + ["crowd"] * 3
    steps, labels, crowd = (task.measure_row() for task in tasks[::3])
    assert steps.figure is not None
    assert steps.figure < steps.seconds  # type: ignore[operator]
    assert labels.figure == pytest.approx(16 / labels.seconds)  # type: ignore[operator]
    assert (crowd.status, crowd.figure) == ("optimal", crowd.seconds)


def make_rows(measure: str, name: str, agents: int, count: int, **figures: object) -> list[Row]:
    """Rows of so many instances, which are equal."""
    given = {"limit": 10.0, "status": "optimal", **figures}
    return [Row(measure, name, agents, f"number {k}", **given) for k in range(count)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "missed"),
    [
        (make_rows("pibt", "64 x 64", 512, 3, figure=0.0004, seconds=0.09), []),
        (make_rows("pibt", "64 x 64", 512, 3, figure=0.0006, seconds=0.2), ["0.6 ms", "200 ms"]),
        (make_rows("expert", "16 x 16", 8, 1, figure=2.9e6), ["2.9 M agent-steps/s"]),
        (make_rows("crowd", "256 x 256", 1000, 2, figure=4.0), []),
        (make_rows("crowd", "256 x 256", 1000, 2, figure=None), ["2 without a plan"]),
        (make_rows("cbs", "mazes", 16, 6) + make_rows("cbs", "mazes", 16, 4, status="feasible"), []),
        (make_rows("cbs", "random", 16, 9) + make_rows("cbs", "random", 16, 1, status="feasible"), ["90.0%"]),
        (make_rows("cbs", "puzzles", 2, 9) + make_rows("cbs", "puzzles", 2, 1, status="unsolvable"), []),
        (make_rows("cbs", "puzzles", 2, 1, status="unsolvable", published=9.0), ["1: puzzles number 0 with 2"]),
        (make_rows("cbs", "puzzles", 2, 1, bound=9.0, published=9.0), []),
        (make_rows("cbs", "puzzles", 2, 1, bound=9.0, published=8.0), ["1: puzzles number 0 with 2"]),
        (make_rows("lacam", "warehouse", 32, 2, bound=9.0, figure=9.0, published=8.9), []),
        (make_rows("lacam", "mazes", 64, 2, figure=102.0, published=100.0, status="feasible"), []),
        (make_rows("lacam", "mazes", 64, 2, figure=104.0, published=100.0), ["costs 1.040"]),
        (make_rows("lacam", "mazes", 64, 2, published=100.0, status="unknown"), ["0 solved"]),
        (make_rows("lacam", "mazes", 64, 2, figure=100.0, limit=11.0), ["2 solved"]),
        (make_rows("lifelong windowed", "mazes", 64, 2, figure=0.96, published=1.0, worst=0.9), []),
        (make_rows("lifelong windowed", "mazes", 64, 2, figure=0.94, published=1.0, worst=2.0), ["0.940 of", "2 s"]),
    ],
)
def test_a_goal_is_reached_or_missed(rows: list[Row], missed: list[str]) -> None:
    """A figure beyond its goal is told as missed, and one on the right side of it as reached."""
    lines = list(list_lines(rows, {}))
    assert len(lines) > 0
    found = [line.figure for line in lines if not line.reached]
    assert len(found) == len(missed)
    assert all(part in figure for part, figure in zip(missed, found, strict=True))
    table = format_table(lines)
    assert table.count("**missed**") == len(missed)
    assert f"{len(lines) - len(missed)} of {len(lines)} goals are reached." in table


def test_windowed_play_is_compared_with_pibt() -> None:
    """In the warehouse the throughputs are compared on the instances that both have played."""
    windowed = make_rows("lifelong windowed", "warehouse", 192, 3, figure=5.0, worst=0.1, published=2.0)
    pibt = make_rows("lifelong pibt", "warehouse", 192, 2, figure=6.0, worst=0.1)
    by_name = {line.name: line for line in list_lines(windowed + pibt, {("lifelong windowed", "warehouse", 192): 8})}
    line = by_name["lifelong, windowed: warehouse, 192 agents, throughput"]
    assert (line.instances, line.figure, line.reached) == ("3 of 8", "5.000, PIBT 6.000", False)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A row keeps its values, None among them, and a file of something else is refused."""
    file = tmp_path / "rows.csv"
    rows = [
        Row("cbs", "random", 8, "a, b 000", 10.0, "optimal", 81, 81, None, 0.125, None, math.pi),
        *make_rows("pibt", "64 x 64", 512, 1, figure=0.5),
    ]
    for row in rows:
        append_row(file, row)
    first, second = read_rows(file)
    assert second == rows[1]
    assert first.cpu == pytest.approx(math.pi, rel=1e-5)
    assert (first.instance, first.figure, first.published) == ("a, b 000", 81, None)
    file.write_text("time,speed\n1,2\n")
    with pytest.raises(Exception, match=r"does not hold rows of this measurement: its columns are time, speed"):
        read_rows(file)
