"""Trained models in the benchmark, where their folder is not."""

from __future__ import annotations

import dataclasses
import json
import pickle
import shutil
from pathlib import Path

import pytest
from stable_baselines3 import PPO

import multigrid
from multigrid import GridConfig, MultiGridEnv
from multigrid.benchmark.playing import Player
from multigrid.cli.benchmark.policies import find_contestant, send_policies
from multigrid.core.rules import RULES_VERSION
from multigrid.integrations.sb3 import to_sb3

pytestmark = pytest.mark.heavy

CONFIG = GridConfig(size=(4, 3), num_agents=3, max_cycles=12, flatten=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model with random weights."""
    folder = tmp_path / "run"
    folder.mkdir()
    PPO(
        "MlpPolicy",
        to_sb3(multigrid.vector_env(4, config=CONFIG, autoreset_mode="SameStep")),
        policy_kwargs={"net_arch": [7]},
        seed=3,
        device="cpu",
    ).save(folder / "model.zip")
    described = {"rules": RULES_VERSION, "grid": dataclasses.asdict(CONFIG), "hidden": [7]}
    (folder / "config.json").write_text(json.dumps(described))
    return folder


def test_models_are_found_where_their_folder_is_not(folder: Path) -> None:
    """Pickled, the models come along: without their folder they act as with it; equal ones are equal and hash so."""
    env = MultiGridEnv(CONFIG)
    observations, _ = env.reset(seed=5)
    expected = [find_contestant(str(folder)).make(seed)(env, observations) for seed in range(9)]
    sent = pickle.dumps(send_policies(["random", str(folder), "cbs"]))
    shutil.rmtree(folder)
    find, other = pickle.loads(sent), pickle.loads(sent)
    contestant = find(str(folder))
    assert [contestant.make(seed)(env, observations) for seed in range(9)] == expected
    assert contestant.fit(GridConfig(size=(4, 3), num_agents=3)).flatten
    assert len({Player(one, 1.0, "0") for one in (find, other)}) == 1
    assert find("random").fit(CONFIG).parts == ("agent", "target")
