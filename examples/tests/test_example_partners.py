"""Scripted teammates do their tasks, in one world and in many, and the example of cross-play trains and plays."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

import multigrid
from examples.foraging_partners import Forager
from examples.overcooked_partners import Cook
from multigrid import games, vector_env
from multigrid.games.overcooked import EVENTS
from multigrid.policies import Partners

KITCHEN = games.config("Overcooked-cramped_room-v0", dynamics="old", observe="features", max_cycles=120)
FIELD = games.config("Foraging-9x7-2p-2f-coop-v3")


def alone(policy):
    """The same policy without the method `act`."""
    return policy.__call__


@pytest.mark.parametrize("form", [lambda policy: policy, alone], ids=["many worlds", "one world"])
def test_cooks_do_their_tasks(form):
    """One brings and one serves, who does both serves alone, too; nobody serves what nobody brings, or the reverse."""
    cooks = {task: form(Cook(task)) for task in ("onion", "plate", "independent")}
    score = multigrid.cross_play(KITCHEN, cooks, range(3), metric="score").returns.mean
    assert score[0, 0] == score[1, 1] == 0
    assert min(score[0, 1], score[1, 0], score[0, 2], score[2, 0], score[2, 2]) >= 30
    envs, counts = multigrid.vector_env(4, KITCHEN), {}
    for spare in (0.0, 1.0):
        observations, _ = envs.reset(seed=0)
        cook = Cook("onion", spare)
        for _ in range(60):
            observations, *_ = envs.step(cook.act(envs, observations))
        events = envs.get_state()["count"].sum(axis=0)
        counts[spare] = [int(events[EVENTS.index(name)]) for name in ("potting_onion", "onion_drop")]
    assert counts[0.0][0] > counts[0.0][1] == counts[1.0][0] == 0 < counts[1.0][1]


def test_a_cook_takes_the_shortest_way():
    """From its start in cramped room, facing north, a cook turns to the onions two cells away, and takes one."""
    env, cook = multigrid.parallel_env(KITCHEN), Cook("onion")
    observations, _ = env.reset(seed=0)
    assert cook(env, observations)["agent_1"] == 2  # it stands beside onions, in the east
    observations, *_ = env.step({"agent_0": 4, "agent_1": 2})
    assert cook(env, observations)["agent_1"] == 5
    env.step({"agent_0": 4, "agent_1": 5})
    assert env.get_state()["held"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "form",
    [lambda policy: policy, pytest.param(alone, marks=pytest.mark.long)],
    ids=["many worlds", "one world"],
)
def test_foragers_do_their_tasks(form):
    """Two with one order collect nearly all, and two with opposite orders less; two who are entitled wait for ever."""
    tasks = ("rows", "rows reversed", "columns", "both", "teammate", "self", "entitled")
    foragers = {task: form(Forager(task)) for task in tasks}
    returns = multigrid.cross_play(FIELD, foragers, range(20)).returns.mean
    assert min(returns[0, 0], returns[2, 2], returns[3, 3]) > 0.7
    assert returns[0, 1] < returns[0, 0] - 0.2
    assert returns[6, 6] < 0.2 < returns[0, 6]


@pytest.mark.heavy
def test_the_example_trains_goes_on_and_plays(tmp_path):
    """Each policy is trained once, a pool and results are written, and best responses play with the cook alone."""
    pytest.importorskip("torch", reason="the recipe needs PyTorch")
    pytest.importorskip("tyro", reason="the recipe needs tyro")
    from examples.cross_play import Options, Prepared, list_layers, main, make_config

    (game,) = names = ("Overcooked-cramped_room-v0",)
    options = Options(names, seeds=2, steps=12_800, episodes=2, folder=tmp_path)
    main(options)
    folder = tmp_path / f"{game}-12800"
    written = (folder / "0.pt").stat().st_mtime_ns
    main(dataclasses.replace(options, seeds=3))
    assert (folder / "0.pt").stat().st_mtime_ns == written
    pool = multigrid.policies.read_pool(folder)
    assert list(pool) == ["seed 0", "seed 1", "seed 2"]
    assert np.shape(json.loads((folder / "results.json").read_text())["returns"]) == (3, 3)
    import torch

    layers = list_layers(torch.load(folder / "0.pt", weights_only=True))
    assert [weight.shape for weight, _ in layers] == [(96, 64), (64, 64), (64, 6)]
    main(dataclasses.replace(options, seeds=1, partner="onion", spare=0.5))
    best = json.loads((tmp_path / f"{game}-onion-0.5-12800" / "results.json").read_text())
    assert (np.shape(best["returns"]), len(best["best"])) == ((1, 1), 3)
    assert make_config(game, random_positions=True).options["random_positions"] is True
    shaped = Prepared(Partners(vector_env(2, KITCHEN), {"agent_1": Cook("onion")}), 9)
    shaped.reset(seed=0)
    shaped.step([0, 0])
    assert shaped.unwrapped.shaping == 1


def test_the_pools_are_small_and_play():
    """Each committed pool has five policies and is under 200 kB, and one earns with itself what its bound says."""
    folders = sorted(path for path in (Path(__file__).parents[1] / "pools").iterdir() if path.is_dir())
    assert [folder.name for folder in folders] == ["coordination_ring", "cramped_room", "foraging"]
    for folder in folders:
        pool = multigrid.policies.read_pool(folder)
        assert len(pool) == 5
        assert sum(path.stat().st_size for path in folder.iterdir()) < 200_000
        assert (pool.licence, set(pool.bounds)) == ("MIT", set(pool))
        result = multigrid.cross_play(pool.config, {"seed 0": pool["seed 0"]}, range(10))
        assert 0.8 < result.normalised(pool.bounds).mean.mean < 1.1


@pytest.mark.long
def test_the_page_shows_what_the_pools_do():
    """The page has self-play, cross-play and the gap of each pool, up to the rounding of other machines."""
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "partners.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `examples/pools/(\w+)`[^|]*\| 5 \| (.*) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == ["coordination_ring", "cramped_room", "foraging"]
    for name, cells in rows:
        pool = multigrid.policies.read_pool(Path(__file__).parents[1] / "pools" / name)
        metric = None if name == "foraging" else "score"
        result = multigrid.cross_play(pool.config, pool, range(100), metric=metric)
        shown = np.array(re.findall(r"-?[\d.]+", cells), dtype=float)
        found = np.array([result.self_play, result.cross_play, result.gap]).ravel()
        np.testing.assert_allclose(found, shown, atol=0.03 if metric is None else 4)
