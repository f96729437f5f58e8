"""`multigrid rollout` and `multigrid evaluate` with planners that search, and with bounds."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import read_rows
from multigrid import planning
from multigrid.evaluation._estimates import MEASURES, bootstrap

CROWD = "--size 4 3 --num-agents 5 --on-target leave --allow-stay --max-cycles 14 --seed 4"


@pytest.mark.heavy
def test_a_gap_known_by_hand(run, shown, saved):
    """The gap of each episode in which all arrive is its sum of costs over the smallest one, less 1."""
    path = saved("a.b\n#..\nB.A", on_target="stay", allow_stay=True, max_cycles=30)
    printed = run(f"rollout --scenario {path} --gap 5 --episodes 12 --svg --output out")
    assert "gap: cost above the bound, as a share of it" in printed
    # Each is four steps from its target, and neither need wait for the other.
    rows = read_rows(Path("out/episodes.csv"))
    gaps = [repr(float(row["sum_of_costs"]) / 8 - 1) if float(row["success"]) else "" for row in rows]
    assert [row["gap"] for row in rows] == gaps
    (world,) = json.loads(Path("out/metrics.json").read_text())["worlds"]
    assert world["metrics"]["gap"]["mean"] == pytest.approx(np.mean([float(gap) for gap in gaps if gap]))
    assert "gap" not in shown("rollout --size 4 3 --episodes 2")["worlds"][0]["metrics"]


@pytest.mark.heavy
@pytest.mark.parametrize("policy", ["pibt", "windowed", "lacam", "pretrained-messages", "pretrained-shield"])
def test_planners_are_policies(policy, run, shown, refused):
    """In a crowd they arrive; where agents cannot stay they are refused with what to add; one agent needs it not."""
    flags = f"rollout --policy {policy} --size 4 3 --num-agents 7 --max-cycles 40 --episodes 3"
    crowd = f"{flags} --on-target {'restart' if policy == 'windowed' else 'stay'} --allow-stay"
    if policy != "pretrained-shield":
        metrics = shown(crowd)["worlds"][0]["metrics"]
        assert metrics["throughput"]["mean"] > 1.0 if policy == "windowed" else metrics["csr"]["mean"] == 1.0
    # LaCAM* refuses a world only where its plan has an agent wait.
    said = f"{policy} lets agents wait for one another, but those of grid-4x3-7 cannot stay; add --allow-stay, or name"
    refused(flags, "allow_stay=True" if policy == "lacam" else said)
    run(f"{flags} --num-agents 1")


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
        values = [float(base["isr"]) - float(row["isr"]) for row, base in zip(rows[start:], rows[:9], strict=False)]
        found, estimate = differences["isr"], bootstrap(np.array(values))
        assert [found[name] for name in ("mean", "low", "high", "episodes")] == [*estimate, 9]
        counts = [sum(value > 0 for value in values), sum(value < 0 for value in values), values.count(0)]
        assert [found[name] for name in ("higher", "lower", "ties")] == counts
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
    assert re.search(r"│ sum of costs +│[^│]*\]", printed)
