"""Datasets: rows are what environments show, Minari reads them, and they can be recorded again."""

import dataclasses
import errno
import json
import re
import tracemalloc
from unittest import mock

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest

import multigrid
from helpers import run_without
from multigrid import datasets, planning
from multigrid.cli import main
from multigrid.datasets import _writer as writer_module
from multigrid.datasets._recipe import read_recipe
from multigrid.policies import random_policy
from multigrid.wrappers import RecordEpisodeStatistics, StandardParallel, StandardVector, VectorReward, standard_config

pytestmark = pytest.mark.heavy

WORLD = standard_config(
    multigrid.GridConfig(walls=".....\n.#...\n...#.", num_agents=3, on_target="leave", allow_stay=True, max_cycles=12)
)
VARIED = dataclasses.replace(WORLD, walls=multigrid.maps.RandomWalls(size=(5, 3)), num_agents=(1, 3), delays=0.3)
EPISODES, SEED = 7, 40


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty folder for Minari's datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path / "datasets"


def expert(envs, observations):
    """PIBT, whose actions depend on the state of each world alone."""
    return planning.expert(envs)


def by_position(envs, observations):
    """Actions that depend on the observation of each row alone, under any rules."""
    return (observations["observation"].sum(axis=1) * 997).astype(int) % envs.config.num_actions


def right(envs, observations):
    """The action right, for everybody."""
    return np.zeros(envs.num_envs, int)


def standard(config, num_worlds):
    """The worlds of a config, in the standard form."""
    return StandardVector(multigrid.vector_env(num_worlds, config, autoreset_mode="Disabled"))


def record(name, policy=expert, config=WORLD, num_worlds=3, **more):
    """A dataset of a few episodes."""
    settings = {"episodes": EPISODES, "policy_name": "test", "seed": SEED, **more}
    return datasets.record(standard(config, num_worlds), policy, name, **settings)


def rows_of(dataset):
    """Each row, with its metadata."""
    numbers = range(dataset.total_episodes)
    return list(zip(dataset.iterate_episodes(), dataset.storage.get_episode_metadata(numbers), strict=True))


@pytest.mark.parametrize("on_target", ["leave", "park", "stay", "restart"])
def test_rows_are_what_a_single_environment_shows(on_target):
    """Row for row, a dataset has what a ParallelEnv of the same seed shows each agent, until the agent's own end."""
    config = dataclasses.replace(WORLD, on_target=on_target)
    found = iter(rows_of(record("worlds-v0", by_position, config)))
    for world in range(EPISODES):
        env = StandardParallel(multigrid.parallel_env(config))
        observations, _ = env.reset(seed=SEED + world)
        seen = {agent: [observation] for agent, observation in observations.items()}
        steps, states = {agent: [] for agent in env.possible_agents}, [env.state()]
        while env.agents:
            actions = {agent: int(observations[agent]["observation"].sum() * 997) % 5 for agent in env.agents}
            observations, rewards, terminations, truncations, _ = env.step(actions)
            states.append(env.state())
            for agent, action in actions.items():
                seen[agent].append(observations[agent])
                steps[agent].append((action, rewards[agent], terminations[agent], truncations[agent]))
        metrics = env.unwrapped.metrics()
        for index, agent in enumerate(env.possible_agents):
            row, ids = next(found)
            length = len(steps[agent])
            assert len(row) == length
            for part in ("observation", "action_mask"):
                np.testing.assert_array_equal(row.observations[part], [one[part] for one in seen[agent]])
            columns = (row.actions, row.rewards, row.terminations, row.truncations)
            for column, expected in zip(columns, zip(*steps[agent], strict=True), strict=True):
                np.testing.assert_array_equal(column, expected)
            np.testing.assert_array_equal(row.infos["state"], states[: length + 1])
            assert (ids["seed"], ids["world"], ids["agent"], ids["total_steps"]) == (SEED + world, world, index, length)
            for name, value in metrics.items():
                np.testing.assert_equal(ids[name], value[index] if np.ndim(value) else value)
    assert next(found, None) is None
    if on_target == "leave":  # agents leave at different steps, and some do not arrive: no rule above is idle
        rows = rows_of(record("left-v0", by_position, seed=0, episodes=60))
        assert {(True, False), (False, True)} <= {(row.terminations[-1], row.truncations[-1]) for row, _ in rows}
        assert len({(ids["world"], len(row)) for row, ids in rows}) > 60


@pytest.mark.parametrize("config", [WORLD, VARIED], ids=["one world", "drawn worlds with delays"])
def test_the_number_of_worlds_changes_nothing(config):
    """Played in one world, in three, in more than there are episodes, or one after the other: the rows are the same."""
    sums = {datasets.verify(record(f"by-{number}-v0", config=config, num_worlds=number)) for number in (1, 3, 20)}
    alone = datasets.record_episodes(
        config, lambda seed: planning.controller("pibt"), "alone-v0", episodes=EPISODES, policy_name="test", seed=SEED
    )
    assert sums == {datasets.verify(alone)}
    assert sums != {datasets.verify(record("later-v0", config=config, seed=SEED + 1))}


def test_a_single_agent_is_minaris_own_form():
    """`recover_environment` makes the env, in which a row's seed and actions give the row's observations again."""
    envs = multigrid.vector_env(4, size=(6, 6), num_agents=1, max_cycles=9, autoreset_mode="Disabled")
    generator = np.random.default_rng(5)
    settings = {"episodes": 20, "policy_name": "random", "seed": 3}
    dataset = datasets.record(envs, lambda *_: generator.integers(4, size=4), "single-v0", **settings)
    env = dataset.recover_environment()
    assert (env.spec.id, env.spec.kwargs, env.spec.max_episode_steps) == ("multigrid/GridWorld-v0", {"size": 6}, 9)
    assert (dataset.observation_space, dataset.action_space) == (env.observation_space, env.action_space)
    ends = set()
    for row, ids in rows_of(dataset):
        shown, results = [env.reset(seed=ids["seed"])[0]], []
        for action in row.actions:
            observation, *result, _ = env.step(action)
            shown.append(observation)
            results.append(result)
        for part in ("agent", "target"):
            np.testing.assert_array_equal(row.observations[part], [one[part] for one in shown])
        np.testing.assert_array_equal(np.transpose([row.rewards, row.terminations, row.truncations]), results)
        assert row.infos == {}
        ends.add((bool(row.terminations[-1]), bool(row.truncations[-1])))
    assert len(ends) == 2, "some arrive, some do not"
    # What `gym.make_vec` makes of the documented env gives the same rows.
    made = gym.make_vec("multigrid/GridWorld-v0", num_envs=2, size=6, max_episode_steps=9, autoreset_mode="Disabled")
    one, other = (datasets.record(envs, right, f"{n}-v0", **settings) for n, envs in (("a", made), ("b", envs)))
    assert datasets.verify(one) == datasets.verify(other)


def test_the_tutorials_later_edition_has_its_own_actions():
    """A dataset of ``multigrid/GridWorld-v1`` names that env, whose steps give its rows, and is recorded again."""
    make = {"size": 6, "max_episode_steps": 9, "autoreset_mode": "Disabled"}
    settings = {"episodes": 8, "policy_name": "right", "seed": 3}
    envs = gym.make_vec("multigrid/GridWorld-v1", num_envs=3, **make)
    dataset = datasets.record(envs, right, "later-v0", **settings)
    env = dataset.recover_environment()
    assert (env.spec.id, env.spec.kwargs, env.spec.max_episode_steps) == ("multigrid/GridWorld-v1", {"size": 6}, 9)
    for row, ids in rows_of(dataset):
        shown = [env.reset(seed=ids["seed"])[0], *(env.step(action)[0] for action in row.actions)]
        np.testing.assert_array_equal(row.observations["agent"], [one["agent"] for one in shown])
        assert set(row.actions) == {0}
        assert (np.diff(row.observations["agent"][:, 0]) == 0).all()
    again = datasets.regenerate(dataset, "again-v0", right)
    assert datasets.verify(again) == datasets.verify(dataset)
    assert again.recover_environment().spec == env.spec
    earlier = gym.make_vec("multigrid/GridWorld-v0", num_envs=3, **make)
    assert datasets.verify(datasets.record(earlier, right, "earlier-v0", **settings)) != datasets.verify(dataset)


@pytest.mark.parametrize(
    "changes",
    [
        *({"num_agents": 2}, {"allow_stay": True}, {"size": (6, 5)}, {"size": (1, 4)}, {"flatten": True}),
        *({"walls": "..#\n...", "size": None}, {"on_target": "restart"}, {"observe": ("target", "agent")}),
    ],
    ids=str,
)
def test_other_worlds_promise_no_environment(changes):
    """A world that is not ``multigrid/GridWorld-v0`` names no env: Minari would make another one."""
    config = multigrid.GridConfig(**{"size": 6, "num_agents": 1, "max_cycles": 9, **changes})
    envs = multigrid.vector_env(2, config, autoreset_mode="Disabled")
    dataset = datasets.record(envs, right, "other-v0", episodes=2, policy_name="right")
    assert dataset.env_spec is None
    assert read_recipe(dataset.storage.metadata).config == config


def test_minari_finds_the_dataset_and_adds_to_it():
    """Its totals and spaces are right, its namespace is known, and Minari can append a row and read all of them."""
    dataset = record("mine/rooms-v2")
    rows = [row for row, _ in rows_of(dataset)]
    assert set(minari.list_local_datasets()) == {"mine/rooms-v2"}
    assert dataset.total_episodes == len(rows) == 3 * EPISODES
    assert dataset.total_steps == dataset.storage.total_steps == sum(map(len, rows))
    assert dataset.storage.metadata["algorithm_name"] == "test"
    for row in rows:
        for step in range(len(row) + 1):
            assert dataset.observation_space.contains({part: array[step] for part, array in row.observations.items()})
        assert all(dataset.action_space.contains(action) for action in row.actions)
    fields = ("observations", "actions", "rewards", "terminations", "truncations", "infos")
    buffer = minari.data_collector.EpisodeBuffer(**{name: getattr(rows[0], name) for name in fields})
    dataset.update_dataset_from_buffer([buffer])
    np.testing.assert_array_equal(minari.load_dataset("mine/rooms-v2")[3 * EPISODES].actions, rows[0].actions)


def test_long_rows_are_kept_as_a_whole():
    """Large arrays are read as they were shown."""
    world = {"size": (40, 30), "num_agents": 2, "observe": ("agent", "walls"), "max_cycles": 80, "on_target": "restart"}
    envs = multigrid.vector_env(1, **world, autoreset_mode="Disabled")
    dataset = datasets.record(envs, right, "long-v0", episodes=1, policy_name="right", seed=2)
    assert dataset[1].observations["walls"].shape == (81, 40, 30)
    observations, _ = envs.reset(seed=2)
    np.testing.assert_array_equal(dataset[1].observations["agent"][0], observations["agent"][1])
    datasets.verify(dataset)


CHANGES = "observations/observation observations/action_mask actions rewards terminations truncations infos/state"
CHANGES += " seed world agent csr isr success arrival_step"


def test_a_change_is_found(root):
    """A dataset verifies, and no longer once a single number of a row, its ids or its metrics is another one."""
    dataset, path = record("changed-v0"), root / "changed-v0" / "data" / "main_data.hdf5"
    whole, told = path.read_bytes(), dataset.storage.metadata["multigrid"]["sha256"]
    assert datasets.verify(minari.load_dataset("changed-v0")) == told
    for name in CHANGES.split():
        path.write_bytes(whole)
        with h5py.File(path, "r+") as file:
            row = file["episode_4"]
            if name in row.attrs:
                row.attrs[name] = type(row.attrs[name])(1 - row.attrs[name])
            else:
                array = row[name][()]
                array.reshape(-1)[-1] = 1 - array.reshape(-1)[-1]
                row[name][...] = array
        with pytest.raises(ValueError, match="they have been changed since they were recorded"):
            datasets.verify(minari.load_dataset("changed-v0"))


def test_a_dataset_is_recorded_again_from_its_metadata(root):
    """With the same policy it has the same checksum; with another one, or other rules, it is refused, and not there."""
    dataset = record("first-v0", by_position)
    again = datasets.regenerate(dataset, "again-v0", by_position)
    assert datasets.verify(again) == datasets.verify(dataset)
    assert read_recipe(again.storage.metadata) == read_recipe(dataset.storage.metadata)
    with pytest.raises(ValueError, match=r"expected policy=\.\.\., the one that it was recorded with"):
        datasets.regenerate(dataset, "none-v0")
    with pytest.raises(ValueError, match="expected the policy 'test' as it was at first"):
        datasets.regenerate(dataset, "other-v0", right)
    path = root / "first-v0" / "data" / "metadata.json"
    content = json.loads(path.read_text())
    content["multigrid"]["rules"] = 0
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="is of version 0 of the rules, but this multigrid has version 1"):
        datasets.regenerate(dataset, "other-v0", by_position)
    del content["multigrid"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="no metadata under 'multigrid'"):
        datasets.verify(dataset)
    assert sorted(path.name for path in root.iterdir()) == ["again-v0", "first-v0"]


@pytest.mark.long
def test_memory_does_not_grow_with_the_dataset(monkeypatch):
    """Four times as many episodes need no more memory than a few: rows are written while others are played."""
    monkeypatch.setattr(writer_module, "_BYTES_TOGETHER", 2**20)
    config = dataclasses.replace(WORLD, observe=("view", "action_mask"), view_radius=9, max_cycles=6)
    record("warm-v0", config=config)
    peaks = []
    for episodes in (40, 160):
        tracemalloc.start()
        record(f"of-{episodes}-v0", config=config, episodes=episodes)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_an_interrupted_recording_leaves_nothing(root, monkeypatch):
    """If the policy fails after rows were written, there is no dataset, and its name is free."""
    monkeypatch.setattr(writer_module, "_BYTES_TOGETHER", 1)
    calls = []

    def fail(envs, observations):
        calls.append(1)
        if len(calls) == 30:
            assert [path.name[:9] for path in root.iterdir()] == [".broken-v"]
            raise KeyboardInterrupt
        return planning.expert(envs)

    with pytest.raises(KeyboardInterrupt):
        record("broken-v0", fail, episodes=100)
    assert list(root.iterdir()) == []
    record("broken-v0")


WRAPPED = [multigrid.parallel_env(), VectorReward(standard(WORLD, 2).env, lambda *step: step[1])]
WRAPPED.append(RecordEpisodeStatistics(standard(WORLD, 2)))


@pytest.mark.parametrize(
    ("error", "message", "settings"),
    [
        (ValueError, r"autoreset_mode 'NextStep'.*make it with autoreset_mode=.Disabled.", {"mode": "NextStep"}),
        (ValueError, "max_cycles is None", {"max_cycles": None}),
        (ValueError, r"name is 'rooms'; expected \(NAMESPACE/\)NAME-vVERSION", {"name": "rooms"}),
        (ValueError, "name is 'a b-v0'", {"name": "a b-v0"}),
        (ValueError, "with at least two letters in NAMESPACE", {"name": "a/plain-v0"}),
        (FileExistsError, "there-v0 exists already", {"name": "there-v0"}),
        (ValueError, "episodes is 0; expected an integer of at least 1", {"episodes": 0}),
        (ValueError, "seed is -1", {"seed": -1}),
        (TypeError, "policy_name is 3, of type int; expected a text", {"policy_name": 3}),
        *((TypeError, f"vector_env has a {type(envs).__name__}; expected what", {"envs": envs}) for envs in WRAPPED),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_recorded_is_refused(error, message, settings, root):
    """The message says what came and what was expected, and nothing is written."""
    record("there-v0")
    given = {"mode": "Disabled", "max_cycles": 12, "name": "new-v0", "episodes": 2, "seed": 0, "policy_name": "pibt"}
    given |= settings
    config = dataclasses.replace(WORLD, max_cycles=given.pop("max_cycles"))
    envs = multigrid.vector_env(2, config, autoreset_mode=given.pop("mode"))
    with pytest.raises(error, match=message):
        datasets.record(given.pop("envs", envs), expert, given.pop("name"), **given)
    assert [path.name for path in root.iterdir()] == ["there-v0"]


@pytest.mark.parametrize("policy", ["random", "pibt", pytest.param("lacam", marks=pytest.mark.long)])
def test_a_rollout_writes_the_episodes_that_it_reports(policy, capsys):
    """The figures are those of a rollout without the flag and of the rows; `regenerate` needs nothing but the name."""
    flags = (
        f"rollout --size 6 4 --num-agents 3 --allow-stay --max-cycles 9 --episodes 5 --seed 2 --json --policy {policy}"
    )
    assert main(flags.split()) == 0
    plain = capsys.readouterr().out
    assert main(f"{flags} --dataset cli/rooms-v0".split()) == 0
    shown = capsys.readouterr()
    assert shown.out == plain
    assert "dataset cli/rooms-v0 in" in shown.err
    dataset = minari.load_dataset("cli/rooms-v0")
    by_world = {ids["world"]: ids for _, ids in rows_of(dataset)}
    assert [(number, ids["seed"]) for number, ids in by_world.items()] == [(number, number + 2) for number in range(5)]
    (world,) = json.loads(plain)["worlds"]
    for name in ("csr", "isr", "sum_of_costs", "makespan"):
        assert world["metrics"][name]["mean"] == pytest.approx(np.mean([ids[name] for ids in by_world.values()]))
    assert set(dataset[0].observations) == {"observation", "action_mask"}
    assert dataset.storage.metadata["algorithm_name"] == policy
    assert datasets.verify(datasets.regenerate(dataset, "cli/again-v0")) == datasets.verify(dataset)


def test_a_dataset_that_cannot_be_finished_takes_no_other_file_with_it(tmp_path, monkeypatch, capsys):
    """The metrics are printed and written, the error says what happened, and there is no dataset."""
    said = OSError(errno.ENOSPC, "no space left")
    monkeypatch.setattr(writer_module.DatasetWriter, "finish", mock.Mock(side_effect=said))
    output = tmp_path / "out"
    flags = f"rollout --num-agents 2 --episodes 3 --dataset full-v0 --record --output {output}"
    assert main(flags.split()) == 2
    shown = capsys.readouterr()
    assert "no space left" in shown.err
    assert "success (CSR)" in shown.out
    assert {"metrics.json", "episodes.csv"} < {path.name for path in output.iterdir()}
    assert minari.list_local_datasets() == {}


def test_a_rollout_of_one_agent_is_minaris_own_form(capsys):
    """Its env can be made, and the observations are the documented ones; with several worlds there is no dataset."""
    assert main(["rollout", "--num-agents=1", "--size=7", "--episodes=3", "--dataset=one-v0"]) == 0
    dataset = minari.load_dataset("one-v0")
    assert dataset.recover_environment().spec.max_episode_steps == 300
    assert set(dataset[0].observations) == {"agent", "target"}
    capsys.readouterr()
    assert main(["rollout", "--num-agents-sweep", "1", "2", "--episodes", "1", "--dataset", "two-v0"]) == 2
    said = "--dataset holds the episodes of one world, but there are 2: grid-5x5-1, grid-5x5-2"
    assert said in capsys.readouterr().err
    assert set(minari.list_local_datasets()) == {"one-v0"}


def test_a_factory_plays_each_episode():
    """`record_episodes` asks for a policy for each seed, and records configs of any observations."""
    asked = []

    def make(seed):
        asked.append(seed)
        return random_policy(np.random.default_rng(seed))

    config = multigrid.GridConfig(size=(5, 3), num_agents=2, max_cycles=6)
    dataset = datasets.record_episodes(config, make, "own-v0", episodes=3, policy_name="mine", seed=8)
    assert datasets.verify(datasets.regenerate(dataset, "again-v0", make)) == datasets.verify(dataset)
    assert asked == [8, 9, 10] * 2
    assert dataset[0].infos["state"].shape[1:] == (2, 4)
    assert set(dataset[0].observations) == {"agent", "target", "others"}
    for row, ids in rows_of(dataset):
        assert row.observations["agent"][0].tolist() == row.infos["state"][0, ids["agent"], :2].tolist()


def test_a_missing_library_is_named():
    """Without Minari a line says what to install, before any episode is played."""
    done = run_without(("minari",), "rollout", "--episodes", "1", "--dataset", "one-v0")
    assert (done.returncode, done.stdout) == (1, "")
    said = r"multigrid rollout needs minari, which is not installed: pip install .*\[datasets\]"
    assert re.search(said, done.stderr), done.stderr
