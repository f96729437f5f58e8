"""`multigrid rollout --gap`: the sum of costs of episodes beside what is possible."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multigrid.cli import main
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.evaluation.estimates import LowerBounds, estimate_gap
from multigrid.scenarios import Scenario, save


def run(flags: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints."""
    assert main(["rollout", *flags.split()]) == 0
    return capsys.readouterr().out


def saved(folder: Path, picture: str, **settings: Any) -> Path:
    """A scenario file of a picture with letters."""
    path = folder / "hand.json"
    save(Scenario("hand", GridConfig(walls=picture, **settings)), path)
    return path


def test_a_gap_known_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gap of each episode in which all arrive is its sum of costs over the smallest one, less 1."""
    path = saved(tmp_path, "a.b\n#..\nB.A", on_target="stay", allow_stay=True, max_cycles=30)
    out = run(f"--scenario {path} --gap 5 --episodes 12 --svg --output {tmp_path / 'out'}", capsys)
    assert "gap: share of the sum of costs above the bound" in out
    with (tmp_path / "out" / "episodes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    for row in rows:
        # Each is four steps from its target, and neither need wait for the other.
        expected = float(row["sum_of_costs"]) / 8 - 1 if float(row["success"]) else math.nan
        assert row["gap"] == ("" if math.isnan(expected) else repr(expected))
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())["worlds"][0]["metrics"]
    gaps = [float(row["gap"]) for row in rows if row["gap"]]
    assert metrics["gap"]["mean"] == pytest.approx(np.mean(gaps))


def test_without_the_flag_nothing_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--gap`` the report has no gap."""
    shown = json.loads(run("--size 4 3 --num-agents 2 --episodes 2 --json", capsys))
    assert "gap" not in shown["worlds"][0]["metrics"]


def test_episodes_without_success_have_no_gap() -> None:
    """The mean is over the episodes in which all arrived; without any it is undefined."""
    assert estimate_gap([0.5, math.nan, 0.5]).mean == 0.5
    assert math.isnan(estimate_gap([math.nan]).mean)


def test_a_layout_is_bounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes with equal layouts share the bound; other layouts get another."""
    asked = []

    def count(problem: Any, _seconds: float) -> Any:
        asked.append(problem)
        return (float(len(asked)), math.inf)

    from multigrid.evaluation import estimates as gaps

    monkeypatch.setattr(gaps, "bounds", lambda *given: type("Bounds", (), {"lower": count(*given)[0]}))
    env, lower_bounds = MultiGridEnv(GridConfig(size=(4, 3), num_agents=2)), LowerBounds(1.0)
    found = []
    for seed in (1, 2, 1):
        env.reset(seed=seed)
        found.append(lower_bounds.of(env))
    assert found == [1.0, 2.0, 1.0]
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--gap 0", "--gap is 0.0; expected 0.001 to 1,000,000,000"),
        ("--gap nan", "--gap is nan"),
        ("--gap 1 --on-target restart", "on_target is 'restart'"),
        ("--gap 1 --collisions priority", "collisions is 'priority', which no method supports"),
    ],
)
def test_bad_input(flags: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A time that is none, and rules that planners do not support, are refused before an episode is played."""
    assert main(["rollout", "--episodes", "1", *flags.split()]) == 2
    assert complaint in capsys.readouterr().err
