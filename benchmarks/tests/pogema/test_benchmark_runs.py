"""`python -m benchmarks.pogema`: rows are right, outlive any end of the process, and can be joined."""

import dataclasses
import re
from pathlib import Path

import pytest

from benchmarks import pogema
from benchmarks.pogema import playing as _playing
from benchmarks.pogema.command import find_policy
from benchmarks.pogema.playing import Runner, Trial
from benchmarks.pogema.processes import play_trials
from benchmarks.pogema.rows import COLUMNS, RowFile, join_rows, key_of, read_rows
from multigrid.planning import Plan
from tiny_clone import made_row

MAPF = [("mapf", "puzzles", name, seed, agents) for agents in (2, 3, 4) for name, seed in (("bay", 0), ("hall", 1))]
RUNNER = Runner(find_policy, 5.0, "0")


def list_trials(clone, *policies, kind="mapf", **rest):
    """The trials of the clone."""
    return [Trial(name, one) for one in pogema.read_instances(clone, "puzzles", kind, **rest) for name in policies]


def figures(row, names):
    """The values of a row under these names."""
    return [row[name] for name in names.split()]


def test_the_row_of_a_plan(clone, monkeypatch):
    """The agents of bay walk 2, 2, 2 and 0 cells at once; without a plan, all stay, and it costs that."""
    (trial,) = list_trials(clone, "lacam", agents=[4], every=2)
    row = RUNNER(trial)
    assert tuple(row) == COLUMNS
    assert key_of(row) == trial.key == ("mapf", "puzzles", "bay", 0, 4, "lacam")
    # Who begins on a target has arrived after the first step.
    assert figures(row, "status csr isr sum_of_costs makespan throughput") == ["optimal", 1.0, 1.0, 7.0, 2.0, None]
    assert figures(row, "steps lower_bound time_limit") == [2.0, 7.0, 5.0]
    plan = Plan("unknown", None, None, None, None, 7, 5.0, 3, "cbs")
    monkeypatch.setattr(_playing, "compute_plan", lambda *given: plan)
    row = RUNNER(trial._replace(algorithm="cbs"))
    assert figures(row, "status csr isr sum_of_costs makespan") == ["unknown", 0.0, 0.25, 121.0, 40.0]
    assert figures(row, "lower_bound seconds") == [7.0, 5.0]


def test_the_row_of_a_lifelong_instance(clone):
    """An agent alone arrives in steps 3, 4, 5 (at the same target), 8 and 10 (its list has begun again)."""
    (trial,) = list_trials(clone, "shortest-path", kind="lmapf", agents=[1])
    row = RUNNER(trial)
    assert figures(row, "kind throughput steps") == ["lmapf", 0.5, 10.0]
    assert set(figures(row, "csr isr sum_of_costs makespan lower_bound")) == {None}


def test_the_row_of_a_policy(clone):
    """A policy's row depends on the instance alone; its bound is the sum of shortest paths; seconds are decisions'."""
    (trial,) = list_trials(clone, "random", agents=[4], every=2)
    first, again = RUNNER(trial), Runner(find_policy, 1.0, "0")(trial)
    assert figures(first, "status lower_bound time_limit") == ["played", 7.0, 0.0]
    assert first["seconds"] > 0
    assert first == {**again, "seconds": first["seconds"]}
    (trial,) = list_trials(clone, "shortest-path", agents=[2], every=2)
    assert RUNNER(trial)["sum_of_costs"] == 4
    # A target that is farther than there are steps has no bound.
    short = trial._replace(instance=dataclasses.replace(trial.instance, steps=1))
    assert RUNNER(short)["lower_bound"] is None


def test_rows_are_read_as_they_were_written(tmp_path):
    """Values keep all their digits, and a last line that was cut off anywhere is dropped, by readers and by writers."""
    file, rows = tmp_path / "rows.csv", [made_row(seed) for seed in (0, 1)]
    with RowFile(file) as rows_file:
        for row in rows:
            rows_file.append(row)
    assert read_rows(file) == rows
    whole = file.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    assert len(ends) == 3
    for length in (0, 5, ends[0], ends[0] + 1, ends[1] - 1, ends[1], ends[2] - 1):
        file.write_bytes(whole[:length])
        kept = rows[: sum(end <= length for end in ends[1:])]
        assert read_rows(file) == kept
        with RowFile(file) as rows_file:
            rows_file.append(rows[1])
        assert read_rows(file) == [*kept, rows[1]]


def test_rows_of_two_runs_are_joined():
    """Of two rows with one key the first stays, and another time limit is refused."""
    others = [made_row(1), made_row(algorithm="random")]
    assert join_rows([made_row()], [made_row(csr=0.0), *others]) == [made_row(), *others]
    with pytest.raises(ValueError, match="cbs has rows with a time limit of 2 s and of 1 s; give the same limit"):
        join_rows([made_row(algorithm="cbs", time_limit=1.0)], [made_row(1, "cbs", time_limit=2.0)])


def keys_in(folder):
    """The keys of all rows of a folder, sorted."""
    return sorted(key_of(row) for row in read_rows(folder / "rows.csv"))


def keys_of(*policies):
    """The keys of all rows that these policies have, sorted."""
    return sorted((*key, name) for key in MAPF for name in policies)


def test_an_interrupted_run_goes_on(tmp_path, run, refused, monkeypatch, capsys):
    """Rows are written as they come; after Ctrl-C and a line cut short none is missing, twice, or played again."""
    out, played = tmp_path / "out", []
    play = Runner.__call__

    def interrupt(runner, trial):
        played.append(trial.key)
        if len(played) == 4:
            raise KeyboardInterrupt
        return play(runner, trial)

    monkeypatch.setattr(Runner, "__call__", interrupt)
    assert run("--output", out, "--policy", "random", "lacam", "--every", "2") == 130
    assert "--resume --output" in capsys.readouterr().err
    assert len(keys_in(out)) == 3
    assert not (out / "scores.md").exists()
    with (out / "rows.csv").open("a") as lines:
        lines.write("mapf,puzzles,bay,0,3,lac")
    refused("holds rows; --resume goes on with them", "--output", out, "--policy", "random")
    said = "lacam has rows with a time limit of 1 s and of 3 s"
    refused(said, "--output", out, "--resume", "--policy", "lacam", "--time-limit", "3")
    assert run("--output", out, "--resume", "--policy", "random", "lacam") == 0
    assert len(played) == len(set(played)) + 1
    assert keys_in(out) == keys_of("random", "lacam")
    printed = capsys.readouterr()
    assert printed.out == (out / "scores.md").read_text()
    # LaCAM's published costs are 30, or nothing; Other has one row.
    assert "Published rows are missing: 5 of Other in puzzles." in printed.out
    assert re.search(r"\| lacam \| 1\.000 \|\n", printed.out)
    assert "| gap to the bound, % |" in printed.out
    assert re.search(r"\| puzzles \| 2 \| lacam \| 2 \| 1.000 \[.*\| 0\.0 \| 2 \| \d", printed.out)
    assert re.search(r"\| puzzles \| 2 \| LaCAM \| 2 \| 0.500 \[.*\| 1400\.0 \| 1 \|  \|\n", printed.out)


def test_two_runs_are_joined(tmp_path, run, refused):
    """With --join the rows of other folders count as played."""
    one, two, out = (tmp_path / name for name in ("one", "two", "out"))
    assert run("--output", one, "--policy", "random", "--every", "2") == 0
    assert run("--output", two, "--policy", "pibt") == 0
    assert run("--output", out, "--policy", "random", "--join", one, two) == 0
    assert keys_in(out) == keys_of("random", "pibt")
    before = (out / "rows.csv").read_bytes()
    assert run("--output", out, "--policy", "random", "pibt", "--resume", "--join", one, two) == 0
    assert (out / "rows.csv").read_bytes() == before
    refused("has no rows.csv; expected the folder of another run", "--output", out, "--resume", "--join", tmp_path)


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--every 0", "--every is 0; expected 1 to"),
        ("--processes 0", "--processes is 0; expected 1 to"),
        ("--processes 1025", "--processes is 1025; expected 1 to 1,024"),
        ("--every 1000001", "--every is 1000001; expected 1 to 1,000,000"),
        ("--agents 0", "--agents is 0; expected 1 to"),
        ("--agents 2 1000001", "--agents is 1000001; expected 1 to"),
        ("--time-limit -1", "--time-limit is -1.0; expected 0 to"),
        ("--time-limit inf", "--time-limit is inf; expected 0 to"),
        ("--time-limit nan", "--time-limit is nan; expected 0 to"),
        ("--policy random random", "--policy has random twice"),
        ("--policy clever", "policy is clever, which has no config.json"),
        ("--kind lmapf --policy lacam", "--policy lacam plans single episodes; expected pibt or windowed"),
        ("--kind lmapf --sets pathfinding", "no set of the kind lmapf"),
        ("--sets mazes", "02-mazes.maps.yaml is missing; expected a clone of CognitiveAISystems/pogema-benchmark"),
        ("--data nowhere", "nowhere is no folder; expected a clone"),
        ("--output file", "file cannot be written: Not a directory; name another with --output"),
    ],
)
def test_bad_input(flags, complaint, tmp_path, monkeypatch, refused):
    """What cannot be played is refused in one line, with exit code 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    refused(complaint, "--output", tmp_path / "out", *flags.split())
    assert sorted(tmp_path.rglob("*")) == before


def test_processes_give_the_same_rows(clone):
    """Two processes play each trial once, and their rows are those of one."""
    trials = list_trials(clone, "random")
    here, apart = (list(play_trials(RUNNER, trials, processes)) for processes in (1, 2))
    assert sorted(map(key_of, apart)) == sorted(trial.key for trial in trials)
    by_key = {key_of(row): row for row in apart}
    assert all(by_key[key_of(row)] == {**row, "seconds": by_key[key_of(row)]["seconds"]} for row in here)
