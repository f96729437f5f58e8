"""Pools of policies: what is written is read, plays as the network does, and files that are no pool are refused."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import multigrid
from multigrid import GridConfig, games
from multigrid.policies import read_pool, write_pool

# Agents see (offset, others): four numbers, in a world that is neither square nor even.
CONFIG = GridConfig(size=(5, 3), num_agents=2, observe=("offset", "others"), max_cycles=20)
RANDOM = np.random.default_rng(0)
LAYERS = [(RANDOM.normal(size=(4, 6)), RANDOM.normal(size=6)), (9 * RANDOM.normal(size=(6, 4)), RANDOM.normal(size=4))]
OTHER = multigrid.policies.Trained(len, GridConfig(size=(5, 3), num_agents=2, observe="offset"), 0)
UNKNOWN = multigrid.policies.Trained(len, CONFIG, 0)
ALWAYS = [(np.zeros((4, 4)), np.array([0.0, 0, 90, 0]))]


def score(layers, observations):
    """The logits of a network with tanh between its layers, in float16 weights."""
    values = observations
    for depth, (weight, bias) in enumerate(layers):
        pair = [one.astype(np.float16).astype(np.float32) for one in (weight, bias)]
        values = (np.tanh(values) if depth else values) @ pair[0] + pair[1]
    return values


def test_what_is_written_is_read(tmp_path):
    """A pool has the policies in order, with seeds, bounds, licence and world; its actions follow the networks."""
    bounds = {"one": (0.0, 1.5)}
    write_pool(
        tmp_path / "pool", {"one": LAYERS, "always": ALWAYS}, CONFIG, seeds={"one": 7}, bounds=bounds, licence="MIT"
    )
    pool = read_pool(tmp_path / "pool")
    assert (list(pool), pool.config, pool.licence) == (["one", "always"], CONFIG, "MIT")
    assert (pool.seeds, pool.bounds) == ({"one": 7, "always": 1}, bounds)
    assert pool["one"].config == CONFIG
    envs = multigrid.vector_env(500, CONFIG)
    observations, _ = envs.reset(seed=0)
    assert set(pool["always"].act(envs, observations).tolist()) == {2}
    rows = np.concatenate([observations["offset"], observations["others"].reshape(1000, -1)], axis=1)
    logits = score(LAYERS, rows.astype(np.float32)).astype(np.float64)
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    counts = np.zeros((1000, 4))
    for _ in range(200):
        counts[np.arange(1000), pool["one"].act(envs, observations)] += 1
    assert abs(counts / 200 - likely).max() < 0.15
    assert abs((counts / 200 - likely).mean(axis=0)).max() < 0.005
    result = multigrid.cross_play(pool.config, pool, seeds=range(5))
    again = multigrid.cross_play(pool.config, read_pool(tmp_path / "pool"), seeds=range(5))
    np.testing.assert_array_equal(result.episodes, again.episodes)
    other = read_pool(tmp_path / "pool", seed=1)["one"].act(envs, observations)
    assert (other != read_pool(tmp_path / "pool")["one"].act(envs, observations)).any()
    write_pool(tmp_path / "pool", dict(reversed(pool.items())), pool.config)
    assert list(read_pool(tmp_path / "pool")) == ["always", "one"]


def test_a_pool_is_replaced_as_a_whole(tmp_path):
    """No file of a pool is replaced unless all can be, and archives that the new one lacks are removed."""
    write_pool(tmp_path, {"a": ALWAYS}, CONFIG)
    weights = (tmp_path / "0.npz").read_bytes()
    (tmp_path / "1.npz").mkdir()
    with pytest.raises(OSError, match=r"1\.npz exists and is not a regular file"):
        write_pool(tmp_path, {"b": LAYERS, "c": LAYERS}, CONFIG)
    assert (list(read_pool(tmp_path)), (tmp_path / "0.npz").read_bytes()) == (["a"], weights)
    (tmp_path / "1.npz").rmdir()
    for names in ("abc", "a"):
        write_pool(tmp_path, dict.fromkeys(names, ALWAYS), CONFIG)
    assert {path.name for path in tmp_path.iterdir()} == {"pool.json", "0.npz"}


def test_pools_of_games(tmp_path):
    """A pool names its game, which is found by itself if it is the package's."""
    config = games.config("Foraging-6x5-2p-1f-v3", max_player_level=(1, 2))
    write_pool(tmp_path, {"load": [(np.zeros((9, 6)), np.array([0.0, 0, 0, 0, 0, 40]))]}, config)
    pool = read_pool(tmp_path)
    assert pool.config == config
    env = multigrid.parallel_env(config)
    assert pool["load"](env, env.reset(seed=0)[0]) == {"agent_0": 5, "agent_1": 5}


def test_other_rules_are_refused(tmp_path):
    """A pool is read only where equal seeds and actions give what they gave when it was written."""
    write_pool(tmp_path, {"always": ALWAYS}, CONFIG)
    path = tmp_path / "pool.json"
    content = json.loads(path.read_text())
    for change in ({"rules": "0" * 16}, {"grid": content["grid"] | {"max_cycles": 21}}):
        path.write_text(json.dumps(content | change))
        expected = r"pool\.json was written under the rules '\w{16}', and this multigrid plays its world by the rules '"
        with pytest.raises(ValueError, match=expected):
            read_pool(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "multigrid pool 2"}, "ValueError: the format is 'multigrid pool 2'; expected 'multigrid pool 1'"),
        ({"policies": [{"name": "a"}]}, "KeyError: 'bounds'"),
        (
            {"policies": [{"name": "a", "seed": 0, "bounds": None}] * 2},
            "ValueError: there is a policy 'a'; expected names",
        ),
        ({"policies": [{"name": "a", "seed": -1, "bounds": None}]}, "seed is -1; expected an integer of at least 0"),
        (
            {"policies": [{"name": "a", "seed": 0, "bounds": [3, 1]}]},
            "the bounds of 'a' are [3, 1]; expected two finite numbers",
        ),
        ({"grid": {"game": "Chess"}}, "pool.json: the pool is of the game 'Chess'; pass game=..., or register it with"),
        ({"grid": 3}, "is not what write_pool writes: TypeError: 'int' object is not a mapping"),
    ],
)
def test_bad_descriptions(change, message, tmp_path):
    """A description that `write_pool` does not write is refused with what is wrong."""
    write_pool(tmp_path, {"always": ALWAYS}, CONFIG)
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_pool(tmp_path)
    assert len(str(caught.value)) < 600 + len(str(path))


def test_bad_files(tmp_path):
    """Archives that are damaged, incomplete, of other shapes or with pickles in them are refused; no code is run."""
    with pytest.raises(FileNotFoundError, match=r"has no pool.json in it; expected a folder of multigrid.policies"):
        read_pool(tmp_path)
    write_pool(tmp_path, {"always": ALWAYS}, CONFIG)
    path = tmp_path / "0.npz"
    zeros = np.zeros((4, 4), np.float16)
    for arrays, message in (
        ({"weight_0": zeros}, "has the arrays weight_0; expected weight_0, bias_0, weight_1, ..."),
        ({"weight_0": zeros[:3], "bias_0": zeros[0]}, "has layers of the shapes [(3, 4)]; expected 4 inputs, what an"),
        (
            {"weight_0": zeros, "bias_0": zeros[0, :3]},
            "layer 0 has the shapes (4, 4) and (3,); expected (inputs, outputs)",
        ),
        ({"weight_0": zeros + np.nan, "bias_0": zeros[0]}, "has weight_0 of float16, or not finite; expected finite"),
        (
            {"weight_0": np.array([{}]), "bias_0": zeros[0]},
            "is not an archive of arrays (Object arrays cannot be loaded",
        ),
    ):
        np.savez(path, **arrays)
        with pytest.raises(ValueError, match=re.escape(message)):
            read_pool(tmp_path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ValueError, match=r"is not an archive of arrays"):
        read_pool(tmp_path)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"policies": {}}, ValueError, "policies are empty; expected at least one"),
        (
            {"policies": {"a": []}},
            ValueError,
            "policy 'a' has layers of the shapes []; expected 4 inputs, what an agent",
        ),
        (
            {"policies": {"a": LAYERS[:1]}},
            ValueError,
            "policy 'a' has layers of the shapes [(4, 6)]; expected 4 inputs",
        ),
        (
            {"policies": {"a": LAYERS[::-1]}},
            ValueError,
            "policy 'a' has layers of the shapes [(6, 4), (4, 6)]; expected",
        ),
        (
            {"policies": {"a": [(np.full((4, 4), 1e9), np.zeros(4))]}},
            ValueError,
            "layer 0 has weights that are not finite",
        ),
        ({"config": None}, TypeError, "config is None; expected a GridConfig"),
        ({"policies": {"a": len}}, TypeError, "expected pairs of arrays, or what multigrid.policies.load"),
        ({"policies": {"a": OTHER}}, ValueError, "a policy was trained to observe {'': (2,)}"),
        ({"policies": {"a": UNKNOWN}}, TypeError, "expected pairs of arrays, or what multigrid.policies.load"),
        ({"policies": 3.5}, TypeError, "policies are 3.5; expected a dict, by the name of a policy"),
        ({"seeds": [1]}, TypeError, "seeds are [1]; expected a dict"),
        ({"seeds": {"a": -1}}, ValueError, "seed is -1"),
        ({"seeds": {"b": 1}}, ValueError, "there is no policy 'b'; expected out of a"),
        (
            {"bounds": {"a": (1, 1)}},
            ValueError,
            "the bounds of 'a' are (1, 1); expected two finite numbers, the lower one first",
        ),
        ({"bounds": {"a": (0, math.inf)}}, ValueError, "the bounds of 'a' are (0, inf); expected two finite numbers"),
        ({"policies": {1: ALWAYS}}, TypeError, "policies have the name 1; expected a str for each"),
        ({"licence": None}, TypeError, "licence is None; expected a str"),
    ],
)
def test_bad_arguments(change, error, message, tmp_path):
    """Of a pool that is refused, no file is written."""
    with pytest.raises(error, match=re.escape(message)):
        write_pool(tmp_path / "pool", **{"policies": {"a": ALWAYS}, "config": CONFIG, **change})
    assert not list(tmp_path.iterdir())
