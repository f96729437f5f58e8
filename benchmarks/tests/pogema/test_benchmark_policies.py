"""Policies of one's own in Python, and trained models on the command line."""

import dataclasses
import json

import numpy as np
import pytest
from stable_baselines3 import PPO

import multigrid
from benchmarks import pogema
from benchmarks.pogema.playing import Runner, Trial
from benchmarks.pogema.rows import COLUMNS, key_of
from multigrid import GridConfig
from multigrid.core.rules import RULES_VERSION
from multigrid.integrations.sb3 import to_sb3
from multigrid.planning import _lacam
from multigrid.policies import shortest_path_policy

pytestmark = pytest.mark.heavy


def stay(env, observations):
    """A policy that never moves."""
    del observations
    return dict.fromkeys(env.agents, 4)


def test_an_own_policy_is_compared_with_the_published_results(clone):
    """Its rows have the keys of the command's, and stand beside published ones in scores and summaries."""
    instances = pogema.read_instances(clone, "puzzles", agents=[3])
    rows = pogema.play(instances, shortest_path_policy(np.random.default_rng(0)), "mine")
    assert [key_of(row) for row in rows] == [(*one.key, "mine") for one in instances]
    assert [row["sum_of_costs"] for row in rows] == [6.0, 3.0]
    assert all(tuple(row) == COLUMNS and row["multigrid"] == multigrid.__version__ for row in rows)
    published = [row for row in pogema.published(clone, sets=["puzzles"]) if row["algorithm"] == "LaCAM"]
    scores = pogema.scores([*rows, *published])
    assert scores["Cooperation"] == {"mine": 1.0, "LaCAM": pytest.approx((0.2 + 0.1) / 2)}


def test_an_own_policy_sees_what_it_asks_for(clone):
    """By default an agent sees its cell and its target; parts, radius and form are those of the call."""
    seen = []

    def look(env, observations):
        seen.append(observations["agent_1"])
        return stay(env, observations)

    instances = pogema.read_instances(clone, "puzzles", agents=[2], every=2)
    pogema.play(instances, look, "mine")
    assert sorted(seen[-1]) == ["agent", "target"]
    assert len(seen) == 41  # of which one is before the episode
    pogema.play(instances, look, "mine", observe=("view", "agent"), view_radius=3)
    assert {name: part.shape for name, part in seen[-1].items()} == {"view": (3, 7, 7), "agent": (2,)}
    pogema.play(instances, look, "mine", flatten=True)
    assert seen[-1].shape == (4,)


def test_an_interrupted_call_goes_on(clone, tmp_path):
    """Rows are in the file as they come, and what it has is not played again."""
    instances = pogema.read_instances(clone, "puzzles", "lmapf", agents=[2, 1, 3, 4])
    file, calls = tmp_path / "rows.csv", []

    def fail(env, observations):
        calls.append(1)
        if len(calls) == 26:  # in the third episode of ten steps, after one step before the first
            raise KeyboardInterrupt
        return stay(env, observations)

    with pytest.raises(KeyboardInterrupt):
        pogema.play(instances, fail, "mine", file=file)
    first = pogema.read_rows(file)
    assert [row["agents"] for row in first] == [2, 1]
    rows = pogema.play(instances, stay, "mine", file=file)
    assert [row["agents"] for row in rows] == [2, 1, 3, 4]
    assert rows[:2] == first
    assert pogema.read_rows(file) == rows
    assert len(pogema.play(instances[:1], stay, "other", file=str(file))) == 1
    assert len(pogema.read_rows(file)) == 5


def test_wrong_calls_of_play(clone, tmp_path):
    """Each wrong argument is named, and no file is made."""
    instances = pogema.read_instances(clone, "puzzles", agents=[2])
    given = {"instances": instances, "policy": stay, "algorithm": "mine", "file": tmp_path / "rows.csv"}
    for changes, wrong in (
        ({"instances": [*instances, instances[0]]}, "instance 2 is bay-000-2, which was there before"),
        ({"instances": [Trial("mine", instances[0])]}, "instance 0 is Trial"),
        ({"instances": 3}, "instances are of type int"),
        ({"policy": "pibt"}, "policy is of type str"),
        ({"algorithm": "lacam"}, "algorithm is 'lacam'; expected a name"),
        ({"algorithm": "two\nlines"}, "expected a name in one line"),
        ({"algorithm": None}, "algorithm is None"),
        ({"obs_type": "agent"}, r"'obs_type' \(did you mean observe\?\)"),
        ({"observe": ["map"]}, "a part of observe is 'map'"),
    ):
        with pytest.raises((TypeError, ValueError), match=wrong):
            pogema.play(**given | changes)
    assert not (tmp_path / "rows.csv").exists()


def test_a_runner_alone_knows_the_searches(clone):
    """Without a `find` a Runner plays the searches within a second, and says so of other names."""
    (instance,) = pogema.read_instances(clone, "puzzles", agents=[2], every=2)
    row = Runner()(Trial("cbs", instance))
    assert (row["sum_of_costs"], row["time_limit"], row["multigrid"]) == (4.0, 1.0, multigrid.__version__)
    with pytest.raises(ValueError, match="there is no policy 'pibt'; expected lacam or cbs"):
        Runner()(Trial("pibt", instance))


def test_an_interruption_ends_a_search(clone, monkeypatch):
    """Ctrl-C during a search, of which there is a plan already, gives no row of a search cut short."""
    (instance,) = pogema.read_instances(clone, "puzzles", agents=[4], every=2)
    Runner()(Trial("lacam", instance))  # loads the kernels, which takes searches, too
    find = _lacam.Search._search

    def interrupt(search):
        find(search)
        raise KeyboardInterrupt

    monkeypatch.setattr(_lacam.Search, "_search", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Runner()(Trial("lacam", instance))


def untrained(folder, **settings):
    """A folder with what `multigrid train` writes of a model."""
    config = GridConfig(**{"size": (4, 3), "num_agents": 3, "max_cycles": 9, "allow_stay": True, **settings})
    envs = to_sb3(multigrid.vector_env(2, config=config, autoreset_mode="SameStep"))
    model = PPO("MultiInputPolicy", envs, policy_kwargs={"net_arch": [4]}, device="cpu", n_steps=16, batch_size=32)
    folder.mkdir()
    model.save(folder / "model.zip")
    described = {"rules": RULES_VERSION, "grid": dataclasses.asdict(config), "hidden": [4], "recurrent": False}
    (folder / "config.json").write_text(json.dumps(described))
    return folder


def agents_in(folder):
    """The numbers of agents of the rows in a folder."""
    return [row["agents"] for row in pogema.read_rows(folder / "rows.csv")]


def test_a_model_plays_what_it_can_see(tmp_path, run, refused):
    """A model that sees all others plays its own number of agents, asked for by --agents; before, nothing is played."""
    model, out = untrained(tmp_path / "crowd"), tmp_path / "out"
    said = "does not fit all instances, see --agents: an agent of an instance with 2 agents sees .*trained to see"
    refused(said, "--output", out, "--policy", model, "lacam")
    assert not out.exists()
    assert run("--output", out, "--policy", model, "--agents", "3") == 0
    assert agents_in(out) == [3, 3]
    # One whose observation does not depend on the number of agents plays all instances, also with four actions.
    near = untrained(tmp_path / "near", observe=("agent", "target", "view"), allow_stay=False)
    assert run("--output", tmp_path / "all", "--policy", near) == 0
    assert agents_in(tmp_path / "all") == [2, 2, 3, 3, 4, 4]


def test_numbers_of_agents_that_no_set_has(tmp_path, run, refused):
    """A number of agents that is in none of the sets is refused; sets without the number are left out."""
    said = "--agents is 3 5; expected some of 2, 3, 4, the numbers of agents in --sets"
    flags = ("--output", tmp_path / "out", "--policy", "random", "--agents", "3")
    refused(said, *flags, "5")
    assert run("pathfinding", *flags) == 0
    assert agents_in(tmp_path / "out") == [3, 3]
