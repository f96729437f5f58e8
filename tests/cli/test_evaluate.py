"""`multigrid evaluate`: its numbers against episodes known by hand, against rollouts, and against its own rows."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import read_rows
from multigrid import planning
from multigrid.cli import main
from multigrid.cli.evaluate import EvaluateOptions, parse_evaluate
from multigrid.evaluation._estimates import MEASURES, bootstrap

CROWD = "--size 4 3 --num-agents 5 --on-target leave --allow-stay --max-cycles 14 --seed 4"


def cells_of(printed):
    """The cells of all tables, row by row, without the heads."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]


def test_the_tables_of_episodes_known_by_hand(run, saved, monkeypatch):
    """A row for each policy, then the pairs: in two corridors the planner and shortest paths do the same."""
    monkeypatch.setenv("COLUMNS", "100")
    path = saved(on_target="stay", allow_stay=True, max_cycles=7)
    printed = run(f"evaluate shortest-path pibt --scenario {path} --episodes 6")
    same = ["1.00 [0.61\N{EN DASH}1.00]", "1.00", "5.0", "3.0"]
    pairs = ["6", "0", "0", "6"]
    assert cells_of(printed) == [
        ["shortest-path", *same],
        ["pibt", *same],
        ["success (CSR)", "+0.00", *pairs],
        ["ISR", "+0.00", *pairs],
        ["sum of costs", "+0.0", *pairs],
        ["makespan", "+0.0", *pairs],
    ]
    lines = printed.splitlines()
    assert lines[0] == "by-hand: 6 episodes, mean [95 % confidence interval]"
    assert "pibt minus shortest-path, mean [95 % confidence interval]" in lines
    assert lines[-1] == "* 0 is excluded. Costs and gaps: episodes that both policies solved."
    assert list(Path().iterdir()) == [Path("by-hand.json")], "nothing was asked for, and nothing is written"


def test_who_is_better_is_counted_and_marked(run, shown, saved, monkeypatch):
    """Pairs that the second policy wins are counted, an interval without 0 is marked, and a single policy has none."""
    monkeypatch.setenv("COLUMNS", "100")
    path = saved("a...A", on_target="leave", allow_stay=True, max_cycles=4)
    printed = run(f"evaluate random shortest-path --scenario {path} --episodes 8")
    rows = {row[0]: row[1:] for row in cells_of(printed)[2:]}
    assert rows["success (CSR)"] == rows["ISR"] == ["+1.00 *", "8", "8", "0", "0"]
    # Random play solves no episode, so no pair has costs.
    assert rows["sum of costs"] == rows["makespan"] == ["-", "0", "0", "0", "0"]
    alone = f"evaluate random --scenario {path} --episodes 2"
    printed = run(alone)
    assert not {"minus", "excluded"} & set(printed.split())
    assert shown(alone)["worlds"][0]["differences"] == {}


@pytest.mark.parametrize(
    ("policies", "flags"),
    [
        ("random shortest-path lacam", f"{CROWD} --gap 5 --episodes 7"),
        ("windowed random", "--size 5 4 --num-agents 4 --on-target restart --allow-stay --max-cycles 30 --episodes 6"),
    ],
    ids=["costs", "lifelong"],
)
def test_all_play_what_a_rollout_plays(policies, flags, run, shown):
    """Each policy has the very figures of a rollout with these flags, and a second run prints the same."""
    printed = run(f"evaluate {policies} {flags} --json")
    assert run(f"evaluate {policies} {flags} --json") == printed
    content = json.loads(printed)
    (world,) = content.pop("worlds")
    assert content.pop("policies") == policies.split() == list(world["metrics"])
    del world["differences"]
    for policy, metrics in world["metrics"].items():
        played = shown(f"rollout --policy {policy} {flags}")
        assert played == {**content, "policy": policy, "worlds": [{**world, "metrics": metrics}]}


def test_the_differences_are_those_of_the_rows(shown):
    """The file has a row for each episode of each policy, and the differences are computed from equal seeds."""
    content = shown(f"evaluate shortest-path random lacam {CROWD} --gap 5 --episodes 9 --output rows.csv")
    (world,) = content["worlds"]
    rows = read_rows(Path("rows.csv"))
    names = ("shortest-path", "random", "lacam")
    assert [(row["policy"], int(row["seed"])) for row in rows] == [(name, 4 + k) for name in names for k in range(9)]
    assert {(row["world"], row["num_agents"], row["throughput"]) for row in rows} == {("grid-4x3-5", "5", "")}
    assert list(world["differences"]) == ["random", "lacam"]
    for start, differences in zip((9, 18), world["differences"].values(), strict=True):
        assert list(differences) == [*MEASURES, "gap"]
        values = [float(row["isr"]) - float(base["isr"]) for row, base in zip(rows[start:], rows[:9], strict=False)]
        found, estimate = differences["isr"], bootstrap(np.array(values))
        assert [found[name] for name in ("mean", "low", "high", "episodes")] == [*estimate, 9]
        counts = [sum(value > 0 for value in values), sum(value < 0 for value in values), values.count(0)]
        assert [found[name] for name in ("wins", "losses", "ties")] == counts
    assert world["differences"]["lacam"]["sum_of_costs"]["episodes"] < 9


def test_a_layout_has_one_bound_for_all_policies(shown, monkeypatch):
    """Each layout is bounded once in the time that was given, so that gaps of policies differ by their costs alone."""
    asked = []

    def count(problem, seconds):
        asked.append(seconds)
        return SimpleNamespace(lower=float(len(asked)))

    monkeypatch.setattr(planning, "bounds", count)
    shown("evaluate shortest-path pibt lacam --size 4 3 --allow-stay --gap 7 --episodes 5")
    assert asked.count(7.0) == 5


def test_several_worlds_have_tables_of_their_own(run, shown):
    """Scenarios of the suite, and numbers of agents, are worlds in which all policies play."""
    worlds = shown("evaluate random shortest-path --suite empty-9x7-2 rooms-9x7-2 --episodes 1")["worlds"]
    assert [world["name"] for world in worlds] == ["empty-9x7-2", "rooms-9x7-2"]
    printed = run("evaluate random shortest-path --size 4 --num-agents-sweep 3 2 --episodes 1 --max-cycles 5")
    assert re.findall("^grid-4x4-.: 1 episode,", printed, re.MULTILINE) == [f"grid-4x4-{n}: 1 episode," for n in (2, 3)]
    assert printed.count("shortest-path minus random") == 2


def test_tables_fit_the_terminal(run, monkeypatch):
    """At 80 columns no line is longer, and no number is cut or broken, with three figures before the point too."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("rollout --policy random --suite 11x9 --episodes 2")
    printed = run("evaluate shortest-path random lacam --suite maze-11x9-4 --gap 2 --episodes 12 --seed 3")
    for text in (shown, printed):
        assert max(map(len, text.splitlines())) <= 80
        assert "\u2026" not in text
        for interval in re.findall(r"\[[^ \]]*", text):
            assert re.fullmatch(r"\[([-+]?\d+\.\d+(\N{EN DASH}|, |,)?([-+]?\d+\.\d+)?|95)", interval), interval
    assert all(f"{kind}-11x9-4" in shown for kind in ("empty", "maze", "random", "rooms", "warehouse"))
    assert all(word in shown for word in ("success", "(CSR)", "ISR", "makespan"))
    assert sum(row[0] == "sum of costs" and "]" in row[1] for row in cells_of(printed)) >= 1


def test_the_flags_come_after_the_policies():
    """Policies stand before the flags, whose lists would take them; without any the flags are read all the same."""
    options = parse_evaluate(["pibt", "random", "--size", "4", "3", "--num-agents-sweep", "2", "3", "--gap", "0.5"])
    assert (options.policies, options.num_agents_sweep, options.gap) == (("pibt", "random"), (2, 3), 0.5)
    assert (options.grid.width, options.grid.height, options.episodes) == (4, 3, 100)
    assert parse_evaluate([]) == EvaluateOptions()


@pytest.mark.heavy
def test_a_trained_model_is_compared(trained, shown, capsys):
    """The world of the training is the default; the model sees what it was trained to see, and all play its layouts."""
    (own,) = shown(f"evaluate shortest-path {trained} --episodes 5")["worlds"]
    assert (own["name"], own["num_agents"]) == ("grid-5x4-3", 3)
    world = "--size 5 4 --num-agents 3 --max-cycles 12 --on-target leave"
    for name, flags in ((trained, f"--policy {trained}"), ("shortest-path", world)):
        assert own["metrics"][name] == shown(f"rollout {flags} --episodes 5")["worlds"][0]["metrics"]
    # Another map, on which the model sees as much.
    (other,) = shown(f"evaluate {trained} random --map maze:width=7,height=5 --num-agents 2 --episodes 1")["worlds"]
    assert other["name"] == "maze-7x5-2"
    # Beside planners, which let agents wait, the model has its own actions, and so the same episodes.
    beside = shown(f"evaluate {trained} pretrained pibt lacam --episodes 5")["worlds"][0]
    assert beside["metrics"][trained] == own["metrics"][trained]
    assert beside["differences"]["pibt"]["isr"]["episodes"] == 5
    assert main(["evaluate", trained, "pibt", "--episodes", "1"]) == 0
    printed = " ".join(capsys.readouterr().err.split())
    assert "Agents can stay, as with --allow-stay: one of the policies lets them wait." in printed
    assert "Trained without the action stay, and playing without it: " in printed


def test_a_planner_brings_the_action_that_it_needs(shown, capsys):
    """All play in a world in which agents can stay if a planner takes part, with the figures of --allow-stay."""
    flags = "evaluate random pibt lacam --size 4 3 --episodes 4"
    assert shown(flags) == shown(f"{flags} --allow-stay")
    assert main(["evaluate", "random", "--size", "4", "3", "--episodes", "1"]) == 0
    assert "stay" not in capsys.readouterr().err
