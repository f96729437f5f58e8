"""`multigrid bench`: it measures what it says, and tells it in a form that programs read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import multigrid
from multigrid.cli import main
from multigrid.cli.documented import DocumentedGridWorld

GOLDEN = json.loads((Path(__file__).parent / "golden" / "documented_gridworld.json").read_text())["cases"]
AROUND = {**os.environ, "PYTHONPATH": str(Path(multigrid.__file__).parents[1])}
BASELINES = ["documented GridWorld", "documented GridWorld, gym.make"]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What `multigrid bench --quick --json` prints."""
    command = [sys.executable, "-m", "multigrid", "bench", "--quick", "--json"]
    done = subprocess.run(command, env=AROUND, capture_output=True, text=True, timeout=300, check=True)
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_every_contender_is_told_with_its_goal(told: dict[str, Any]) -> None:
    """One agent, directly and through gym.make, and the ParallelEnv from 1 to 1,024 agents, each with its goal."""
    goals = {row["name"]: row["goal"] for row in told["steps"]}
    assert goals.pop("GridWorldEnv") == 6
    assert goals.pop("GridWorldEnv, gym.make") == 4
    assert [goals.pop(name) for name in BASELINES] == [1, 1]
    assert {name.removeprefix("ParallelEnv, N = "): goal for name, goal in goals.items()} == {
        "1, 5 x 5": 1.0,
        "8, 16 x 16": 7.7,
        "64, 32 x 32": 7.7,
        "256, 64 x 64": 7.7,
        "16, 256 x 256": 7.7,
        "1024, 256 x 256": 7.7,
    }


def test_the_ratios_are_those_of_the_times(told: dict[str, Any]) -> None:
    """A ratio is the time of what it is measured against over its own; a rate is the time turned over."""
    microseconds = {row["name"]: row["microseconds_per_agent_step"] for row in told["steps"]}
    for row in told["steps"]:
        own = microseconds[row["name"]]
        assert own > 0
        assert row["against"] in BASELINES
        assert ("gym.make" in row["against"]) == ("gym.make" in row["name"])
        assert row["ratio"] == pytest.approx(microseconds[row["against"]] / own, rel=0.01, abs=0.01)
        assert row["agent_steps_per_second"] == pytest.approx(1e6 / own, rel=0.01)
        assert row["spread"] >= 0


def test_the_time_to_start_is_told(told: dict[str, Any]) -> None:
    """Importing the libraries, what the package adds to that, the time to a first environment, and that of a reset."""
    seconds = {row["name"]: row["seconds"] for row in told["starts"]}
    reset = "a reset, 16 agents, one of 1,000 maps of 64 x 64"
    first = "multigrid and a first environment"
    assert list(seconds) == ["gymnasium and pettingzoo", "what multigrid adds", first, reset]
    assert seconds[reset] > 0
    assert seconds["gymnasium and pettingzoo"] > 0
    assert seconds["multigrid and a first environment"] > 0
    assert [row["goal"] for row in told["starts"]] == [None, 0.1, 2.0, 0.001]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"size {case['size']}, seed {case['seed']}")
def test_what_is_measured_against_is_the_documented_game(case: dict[str, Any]) -> None:
    """The code that stands for the documented one plays the recorded episodes: it saves no work by leaving some out."""
    env = DocumentedGridWorld(size=case["size"])
    seed = case["seed"]
    for row in case["rows"]:
        if row[0] == "reset":
            observation, info = env.reset(seed=seed)
            seed = None
            assert [observation["agent"].tolist(), observation["target"].tolist(), info["distance"]] == row[1:]
        else:
            observation, *flags, info = env.step(row[0])
            cells = [observation["agent"].tolist(), observation["target"].tolist()]
            assert [*cells, *flags, info["distance"]] == row[1:]


def test_nothing_is_registered_for_the_measurement(told: dict[str, Any]) -> None:
    """The stand-in for the documented code has no id that a user could come upon."""
    assert not [name for name in gymnasium.registry if "Documented" in name]


def test_an_unknown_flag_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A flag that does not exist is an error, not a measurement of something else."""
    with pytest.raises(SystemExit) as left:
        main(["bench", "--quik"])
    assert left.value.code == 2
    assert "--quik" in capsys.readouterr().err
