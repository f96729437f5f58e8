"""RLlib: what its learners get, a cluster of two nodes of which one is killed, checkpoints, and the command."""

import dataclasses
import functools
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import ray
import torch
from ray import tune
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

from helpers import AROUND, names, read_rows, run_python
from multigrid import GridConfig, MultiGridEnv, games
from multigrid.cli import main
from multigrid.cli._held_out import play_held_out
from multigrid.core.metrics import LABELS
from multigrid.integrations.rllib import (
    NAME,
    RLlibEnv,
    agent_modules,
    ppo_config,
    register,
    sample_actions,
    trained_policy,
)
from own_game import GAME, ORIGINALS
from ray_machines import NODE, descendants, gone, two_machines
from read_logs import tensorboard_points, wandb_points
from recipe_contract import examples_of, pages_of_recipe

# Each local env runner registers the env with Gymnasium anew, under RLlib's own name.
pytestmark = pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning")

WORLD = GridConfig(size=(4, 3), max_cycles=12, flatten=True)
RETURNED = ("observations", "rewards", "terminateds", "truncateds", "infos")
OUTPUTS = ["checkpoints", "config.json", "curve.png", "evaluation.json", "metrics.csv"]
TINY = "--size 4 3 --max-cycles 12 --hidden 16 --copies 8 --rollout 8 --batch-size 64 --epochs 1 --episodes 10"


def fields(config):
    """The env_config of a world."""
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}


def read_json(folder, name):
    """What a run wrote into a file."""
    return json.loads((folder / f"{name}.json").read_text())


def run_training(flags):
    """The exit code of a training in this process."""
    return main(["train", "--engine", "rllib", *flags.split()])


def refusal(flags, capsys):
    """The one line with which a training is refused."""
    assert run_training(flags) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    return printed


def settings(config=WORLD, *, runners=0, shared=True):
    """Settings that learn small worlds within a few short rollouts."""
    return (
        ppo_config(config, shared=shared, hidden=(32,))
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=8)
        .training(lr=5e-3, train_batch_size_per_learner=512, minibatch_size=256)
        .fault_tolerance(env_runner_health_probe_timeout_s=5)
        .debugging(seed=3, log_level="ERROR")
    )


def success(algorithm, episodes=100):
    """The share of episodes that no training plays, played one by one, in which all agents arrive."""
    env, arrived = MultiGridEnv(WORLD), 0
    policy = trained_policy(agent_modules(algorithm), np.random.default_rng(0))
    for seed in range(episodes):
        observations, _ = env.reset(seed=seed)
        terminated = {}
        while env.agents:
            observations, _, terminated, _, _ = env.step(policy(env, observations))
        arrived += all(terminated.values())
    return arrived / episodes


def weights(algorithm):
    """All weights that the learner holds."""
    states = algorithm.learner_group.get_weights().items()
    return {f"{module}.{name}": value for module, state in states for name, value in state.items()}


def differ(one, other):
    """Whether some weights of the same names differ."""
    assert one.keys() == other.keys()
    return any(not np.array_equal(value, other[name]) for name, value in one.items())


def whereabouts(algorithm, processes):
    """The nodes of the env runners that answer, whose processes are noted."""
    found = algorithm.env_runner_group.foreach_env_runner(
        lambda _: (ray.get_runtime_context().get_node_id(), os.getpid()), local_env_runner=False
    )
    processes += [process for _, process in found]
    return {node for node, _ in found}


def before_iteration(number, act, patch):
    """Let something happen before the iteration of a training with this number, counted from 1."""
    train, calls = Algorithm.train, itertools.count(1)

    def train_after(algorithm):
        if next(calls) == number:
            act(algorithm)
        return train(algorithm)

    patch.setattr(Algorithm, "train", train_after)


def command(flags, folder):
    """What came of the command, run in a folder by a process of its own."""
    return run_python("-m", "multigrid", "train", "--engine", "rllib", *flags.split(), cwd=folder)


@pytest.fixture(scope="module")
def machines():
    """Two nodes on this machine, which this process has joined; at the end no process of theirs is left."""
    torch.set_num_threads(1)
    with two_machines() as started:
        yield started


@pytest.mark.long
def test_a_training_outlives_a_node(machines, tmp_path):
    """A training loses a node of two, goes on, gets another, and from a checkpoint goes on to the bit."""
    head, iterations, healthy = machines.cluster.head_node.node_id, [], []
    algorithm = settings(runners=2).build_algo()

    def rollout():
        result = algorithm.train()
        iterations.append(result["training_iteration"])
        healthy.append(algorithm.env_runner_group.num_healthy_remote_env_runners())
        return result["num_env_steps_sampled_lifetime"]

    untrained, (lost,) = success(algorithm), machines.cluster.worker_nodes
    assert whereabouts(algorithm, machines.processes) == {head, lost.node_id}
    for _ in range(4):
        rollout()
    trained = success(algorithm)
    assert healthy == [2] * 4
    assert untrained < min(0.35, trained - 0.2)
    machines.cluster.remove_node(lost, allow_graceful=False)
    for _ in range(10):
        rollout()
    assert healthy[4:] == [1] * 10
    assert success(algorithm) > max(0.8, trained)
    assert whereabouts(algorithm, machines.processes) == {head}
    joined = machines.cluster.add_node(**NODE).node_id
    deadline = time.monotonic() + 200
    while healthy[-1] < 2 and time.monotonic() < deadline:
        rollout()
    assert joined != lost.node_id
    assert whereabouts(algorithm, machines.processes) == {head, joined}
    steps, saved = rollout(), weights(algorithm)
    assert healthy[-2:] == [2, 2]
    algorithm.save_to_path(str(tmp_path))
    algorithm.stop()
    algorithm = Algorithm.from_checkpoint(str(tmp_path))
    assert not differ(saved, weights(algorithm))
    assert algorithm.iteration == iterations[-1]
    assert 512 <= rollout() - steps < 600
    assert differ(saved, weights(algorithm))
    assert iterations == list(range(1, len(iterations) + 1))
    whereabouts(algorithm, machines.processes)
    algorithm.stop()


@pytest.mark.parametrize("on_target", ["park", "leave", "stay"])
def test_the_time_limit_is_no_termination(on_target):
    """In RLlib's episodes an agent has terminated if and only if the world said so, also where time ended it."""
    config = dataclasses.replace(WORLD, on_target=on_target)
    env, generator, ends = RLlibEnv(fields(config)), np.random.default_rng(5), []
    for seed in range(100):
        twin, terminated = MultiGridEnv(config), {}
        observations, infos = env.reset(seed=seed)
        twin.reset(seed=0)
        twin.set_state(env.par_env.get_state())
        spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
        episode = MultiAgentEpisode(**spaces, agent_to_module_mapping_fn=lambda *_: "shared")
        episode.add_env_reset(observations=observations, infos=infos)
        while not episode.is_done:
            actions = {agent: int(generator.integers(4)) for agent in twin.agents}
            terminated |= twin.step(actions)[2]
            step = dict(zip(RETURNED, env.step(actions), strict=True))
            episode.add_env_step(actions=actions, **step)
        assert twin.agents == []
        assert {agent: one.is_terminated for agent, one in episode.agent_episodes.items()} == terminated
        assert all(one.is_done for one in episode.agent_episodes.values())
        assert episode.is_terminated == all(terminated.values())
        ends.append(episode.is_terminated)
    assert set(ends) == {True, False}


def test_env_runners_play_different_episodes():
    """Seeded as RLlib does, no two envs of all env runners begin alike or as a held-out one; agents are in order."""
    config = dataclasses.replace(WORLD, size=(11, 7), num_agents=11)
    begun = []
    for runner, index in itertools.product((1, 2, 3), range(4)):
        env = RLlibEnv(EnvContext(fields(config), worker_index=runner))
        assert env.agents == env.possible_agents == [f"agent_{index}" for index in range(11)]
        env.reset(seed=100 + runner + index)
        assert env.par_env.np_random_seed >= 1_000_000
        begun.append(env.par_env.state().tobytes())
        env.reset(seed=100 + runner + index)
        assert env.par_env.state().tobytes() == begun[-1], "the same seed, the same episode"
    assert len(set(begun)) == 12


@pytest.mark.usefixtures("machines")  # or RLlib would start a Ray of its own
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_all_modes_train_and_are_counted(on_target, shared):
    """Every mode trains, with shared and with own weights; our sums are those that RLlib reports in its own words."""
    config = dataclasses.replace(WORLD, num_agents=3, on_target=on_target)
    algorithm = settings(config, shared=shared).build_algo()
    before, sampled = weights(algorithm), algorithm.train()["env_runners"]
    after, modules = weights(algorithm), agent_modules(algorithm)
    algorithm.stop()
    counts = sampled[NAME]
    assert counts["episodes"] == sampled["num_episodes"] >= 40
    assert counts["steps"] / counts["episodes"] == pytest.approx(sampled["episode_len_mean"])
    assert counts["agent_steps"] == sum(sampled["num_agent_steps_sampled"].values())
    assert 0 <= counts["successes"] < counts["episodes"]
    metrics = {name for name in LABELS if name in counts}
    if on_target == "restart":
        assert metrics == {"throughput"}
        assert counts["throughput"] > 0
    else:
        assert metrics == {"isr", "sum_of_costs", "makespan"}
        assert counts["successes"] < counts["isr"] < counts["episodes"]
        assert counts["makespan"] < counts["sum_of_costs"] < 3 * counts["makespan"]
        assert counts["makespan"] <= counts["steps"]
    # Each policy has learned, and plays its agents with what was learned.
    assert {name.split(".")[0] for name in after} == ({"shared"} if shared else set(config.agents))
    assert len({id(module) for module in modules.values()}) == (1 if shared else 3)
    for agent, module in modules.items():
        own = {f"{'shared' if shared else agent}.{name}": value for name, value in module.get_state().items()}
        assert not differ(own, {name: after[name] for name in own})
        assert differ(own, {name: before[name] for name in own})


@pytest.mark.usefixtures("machines")
def test_success_is_counted():
    """An agent on its own earns its reward by arriving: there are as many successes as rewards."""
    algorithm = settings(dataclasses.replace(WORLD, num_agents=1, max_cycles=4)).build_algo()
    counts = algorithm.train()["env_runners"][NAME]
    algorithm.stop()
    assert counts["successes"] == counts["reward"] > 10


@pytest.mark.usefixtures("machines")
def test_a_game_is_learned_from():
    """RLlib trains on the actions and the part of a game of one's own; an episode ends with 5, and a step costs."""
    algorithm = settings(GAME).build_algo()
    before, counts = weights(algorithm), algorithm.train()["env_runners"][NAME]
    after, module = weights(algorithm), agent_modules(algorithm)["agent_0"]
    algorithm.stop()
    assert differ(before, after)
    assert (module.action_space.n, module.observation_space.shape) == (6, (7,))
    assert counts["opened"] == counts["successes"] > 0
    opened = (counts["reward"] + 0.25 * counts["agent_steps"]) / 5
    assert opened == pytest.approx(counts["opened"])


@pytest.mark.parametrize("game_id", ORIGINALS)
def test_the_originals_are_learned_from(game_id):
    """RLlib trains on rware and lb-foraging, with a module of their observations and actions."""
    algorithm = settings(games.config(game_id, flatten=True)).build_algo()
    before, counts = weights(algorithm), algorithm.train()["env_runners"][NAME]
    after, module = weights(algorithm), agent_modules(algorithm)["agent_0"]
    algorithm.stop()
    assert differ(before, after)
    assert (*module.observation_space.shape, module.action_space.n) == ORIGINALS[game_id]
    assert counts["agent_steps"] >= 512


def test_messages_are_trained_and_not_played():
    """RLlib trains on actions with bits of messages; a policy of what it trained, which samples numbers, is refused."""
    algorithm = settings(games.config("rware-tiny-2ag-v2", flatten=True, msg_bits=2)).build_algo()
    before = weights(algorithm)
    algorithm.train()
    after, modules = weights(algorithm), agent_modules(algorithm)
    algorithm.stop()
    assert differ(before, after)
    with pytest.raises(ValueError, match=r"the actions are MultiDiscrete\(\[5 2 2\]\); expected single numbers"):
        trained_policy(modules, np.random.default_rng(0))


class Loaded:
    """A module whose actions have given odds, whatever it sees, and which notes the rows it was asked for."""

    def __init__(self, *odds):
        self.odds, self.asked = torch.tensor(odds), []

    def forward_inference(self, batch):
        """Return the logarithms of the odds for each row."""
        self.asked.append(batch["obs"])
        return {"action_dist_inputs": self.odds.log().expand(len(batch["obs"]), -1)}


def test_actions_are_drawn_from_the_agents_own_module():
    """Each agent's action is drawn from what its module, and no other, makes of its observation."""
    one, other = Loaded(0.1, 0.2, 0.7, 0.0), Loaded(0.0, 0.0, 0.0, 1.0)
    modules = {"agent_0": one, "agent_1": other, "agent_2": one}
    agents = ["agent_0", "agent_1", "agent_2", "agent_0"] * 2500
    seen = [np.full(2, row, dtype=np.float32) for row in range(len(agents))]
    drawn = np.array(sample_actions(modules, agents, seen, np.random.default_rng(3)))
    mine = np.array(agents) == "agent_1"
    assert (drawn[mine] == 3).all()
    np.testing.assert_allclose(np.bincount(drawn[~mine]) / (~mine).sum(), [0.1, 0.2, 0.7], atol=0.02)
    np.testing.assert_array_equal(other.asked[0][:, 0].numpy(), np.flatnonzero(mine))


def test_what_rllib_cannot_take_is_refused():
    """Observations that are no vector, and what is no configuration, are refused with what to do about it."""
    with pytest.raises(ValueError, match=r"flatten=False, but RLlib's networks .* use GridConfig"):
        ppo_config(GridConfig())
    with pytest.raises(ValueError, match="flatten=False, but RLlib's networks"):
        RLlibEnv({"num_agents": 3})
    with pytest.raises(ValueError, match=r"config observes .* leave 'action_mask' out of observe"):
        ppo_config(GridConfig(observe=("agent", "action_mask"), flatten=True))
    with pytest.raises(TypeError, match="config is of type dict; expected a GridConfig"):
        ppo_config({"flatten": True})


@pytest.mark.usefixtures("machines")
def test_tune_finds_the_env(tmp_path):
    """Registered, the env is known to Tune by its name, with the fields of a GridConfig as env_config."""
    tuned = settings().environment(register(), env_config=fields(WORLD))
    trial = tune.Tuner(
        tuned.algo_class,  # by its name, "PPO", it would have Ray import all algorithms, some of which warn
        param_space=tuned,
        run_config=tune.RunConfig(stop={"training_iteration": 1}, storage_path=str(tmp_path), verbose=0),
    ).fit()
    assert trial.errors == []
    assert trial[0].metrics["env_runners"][NAME]["episodes"] >= 40


@pytest.fixture(scope="module")
def folder(machines, tmp_path_factory):
    """The folder of a tiny run, in this process."""
    assert machines.cluster.address
    folder = tmp_path_factory.mktemp("home") / "run"
    flags = f"{TINY} --num-env-runners 0 --steps 1280 --evaluations 3 --checkpoint-every 512 --seed 5 --folder {folder}"
    assert run_training(flags) == 0
    return folder


def test_a_run_leaves_all_its_outputs_and_nothing_else(folder):
    """Whole checkpoints, a row for each rollout of 8 steps of 8 worlds of 2 agents, three evaluations, no more."""
    assert names(folder) == OUTPUTS
    rows = read_rows(folder / "metrics.csv")
    assert [int(row["iteration"]) for row in rows] == list(range(1, 11))
    steps = [int(row["steps"]) for row in rows]
    assert all(128 * number <= done < 128 * number + 128 for number, done in enumerate(steps, start=1))
    assert names(folder / "checkpoints") == [f"{steps[number - 1]:012}" for number in (4, 8, 10)]
    content = read_json(folder, "config")
    assert GridConfig(**content["grid"]) == WORLD
    assert (content["engine"], content["seed"], content["hidden"]) == ("rllib", 5, [16])
    assert content["versions"]["ray"] == ray.__version__
    content = read_json(folder, "evaluation")
    half = next(done for done in steps if done >= 640)
    assert [one.pop("steps") for one in content["during"]] == [0, half, steps[-1]]
    assert (content["during"][0], content["during"][-1]) == (content["before"], content["after"])
    assert content["before"]["episodes"] == 10


def test_resume_goes_on_from_the_last_checkpoint(folder, tmp_path, monkeypatch):
    """A run goes on in its folder with its flags, weights and curve, learning at once."""
    train, states, played = Algorithm.train, [], []

    def watched(algorithm):
        if not played:
            act = functools.partial(sample_actions, agent_modules(algorithm))
            played.append(play_held_out(WORLD, range(10), act).summary())
        states.append(weights(algorithm))
        return train(algorithm)

    monkeypatch.setattr(Algorithm, "train", watched)
    run = Path(shutil.copytree(folder, tmp_path / "run"))
    assert main(["train", *f"--resume {run} --steps 1792 --checkpoint-every 0".split()]) == 0
    content, first = (read_json(one, "config") for one in (run, folder))
    assert {name for name in content if content[name] != first[name]} == {"steps", "checkpoint_every", "folder"}
    rows, earlier = (read_rows(one / "metrics.csv") for one in (run, folder))
    assert rows[:10] == earlier
    assert int(rows[10]["iteration"]) == 11
    assert int(earlier[-1]["steps"]) + 128 <= int(rows[10]["steps"]) < int(earlier[-1]["steps"]) + 256
    assert differ(states[0], states[1]), "the rate, at the end of the first run, was 0"
    during, before = (read_json(one, "evaluation") for one in (run, folder))
    assert played == [before["after"]]
    assert during["during"][:3] == before["during"]


def test_a_log_has_each_point_once(machines, tmp_path, monkeypatch):
    """Stopped and resumed, a run logs each rollout, evaluation and update once, to TensorBoard and offline."""
    assert machines.cluster.address
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "run"
    flags = f"{TINY} --num-env-runners 0 --steps 1280 --evaluations 3 --checkpoint-every 512 --log tensorboard wandb"
    with monkeypatch.context() as patch:
        before_iteration(8, Mock(side_effect=SystemExit(143)), patch)
        with pytest.raises(SystemExit):
            run_training(f"{flags} --folder {run}")
    time.sleep(1.1)  # the names of event files have whole seconds
    assert main(["train", "--resume", str(run)]) == 0
    points, rows = tensorboard_points(run / "tensorboard"), read_rows(run / "metrics.csv")
    for name, values in wandb_points(run / "wandb").items():
        assert points[name] == [(steps, float(np.float32(value))) for steps, value in values]
    by_step = {int(row["steps"]): row for row in rows}
    ended = [steps for steps, row in by_step.items() if row["episodes"] != "0"]
    for name in ("csr", "isr", "sum_of_costs", "makespan", "mean_steps"):
        assert [steps for steps, _ in points[f"rollout/{name}"]] == ended
    for name in ("learner/policy_loss", "learner/value_loss", "learner/entropy", "learner/explained_variance"):
        assert [steps for steps, _ in points[name]] == list(by_step)
    for name, column, places in (("reward_per_step", "reward_per_step", 6e-6), ("csr", "success_rate", 6e-5)):
        for steps, value in points[f"rollout/{name}"]:
            assert value == pytest.approx(float(by_step[steps][column]), abs=places)
    assert [steps for steps, _ in points["rollout/reward_per_step"]] == list(by_step)
    during = read_json(run, "evaluation")["during"]
    for name in ("csr", "isr", "sum_of_costs", "makespan", "mean_steps", "mean_return"):
        assert [steps for steps, _ in points[f"evaluation/{name}"]] == [one["steps"] for one in during]


def test_resume_refuses_what_the_weights_do_not_fit(folder, tmp_path, capsys):
    """A finished run says so; another network, world or folder is refused in one line, and nothing is made."""
    assert main(["train", "--resume", str(folder)]) == 0
    assert re.search(r"is finished: it has had its 1,[23]\d\d steps", capsys.readouterr().err)
    for flags, complaint in (
        (f"--resume {folder} --hidden 32", r"trained with hidden \(16,\), not \(32,\)"),
        (f"--resume {folder} --num-agents 3", "trained with grid .*num_agents=2.*num_agents=3"),
        (f"--resume {folder} --steps 1024", "--steps is 1024, but .* is a run of 1280; expected no fewer"),
        (f"--resume {folder} --folder {tmp_path / 'on'}", "--folder is .*, but --resume continues in"),
        (f"--resume {tmp_path}", "is not what `multigrid train --engine rllib` writes"),
    ):
        assert re.search(complaint, refusal(flags, capsys))
    assert list(tmp_path.iterdir()) == []


def test_resume_refuses_a_description_of_anything_else(folder, tmp_path, capsys):
    """Values of other types, huge grids and deep JSON in config.json are refused in one line that names the folder."""
    complaint = f"{tmp_path / 'config.json'} is not what `multigrid train --engine rllib` writes"
    for change in (
        {"shared": 1},
        {"address": 7},
        {"hidden": 16},
        {"grid": {"size": [10**6] * 2, "flatten": True}},
        None,
    ):
        text = json.dumps(read_json(folder, "config") | change) if change else "[" * 10**5
        (tmp_path / "config.json").write_text(text)
        assert complaint in refusal(f"--resume {tmp_path}", capsys)


def test_a_broken_checkpoint_is_refused_with_a_word_of_warning(folder, tmp_path, capsys):
    """A checkpoint that RLlib cannot load is named in one line, which says that loading one can run code."""
    broken = Path(shutil.copytree(folder, tmp_path / "broken"))
    *_, last = sorted((broken / "checkpoints").iterdir())
    for path in last.rglob("*.pkl"):
        path.write_bytes(b"no pickle")
    assert run_training(f"--resume {broken} --steps 1792") == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"{last} cannot be restored: " in said
    assert "pickles, which can run any code when they are loaded" in said


@pytest.mark.usefixtures("machines")
def test_ctrl_c_keeps_what_was_learned(tmp_path, monkeypatch):
    """Interrupted in its third iteration, a run of another mode saves and evaluates what it has; exit code 130."""
    before_iteration(3, Mock(side_effect=KeyboardInterrupt), monkeypatch)
    flags = f"{TINY} --num-env-runners 0 --on-target restart --no-shared --folder {tmp_path / 'run'}"
    assert main(["train", "--engine=rllib", *flags.split()]) == 130
    assert names(tmp_path / "run") == OUTPUTS
    rows = read_rows(tmp_path / "run" / "metrics.csv")
    (saved,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert (len(rows), int(saved.name)) == (2, int(rows[-1]["steps"]))


@pytest.mark.usefixtures("machines")
def test_a_run_goes_on_when_all_its_env_runners_are_lost(tmp_path, monkeypatch):
    """With its only env runner killed, a run waits until there is another one, and plays all its steps."""
    killed = []

    def kill(algorithm):
        whereabouts(algorithm, killed)
        os.kill(killed[0], signal.SIGKILL)

    before_iteration(3, kill, monkeypatch)
    assert run_training(f"{TINY} --num-env-runners 1 --steps 600 --folder {tmp_path / 'run'}") == 0
    assert len(killed) == 1
    rows = read_rows(tmp_path / "run" / "metrics.csv")
    assert int(rows[1]["steps"]) < 600 <= int(rows[-1]["steps"])
    assert all(row["env_runners"] == "1" and row["reward_per_step"] != "nan" for row in rows)


def test_the_command_joins_a_cluster(machines, tmp_path):
    """With an address, a process of its own plays on the nodes of that cluster, and leaves it running."""
    flags = f"{TINY} --num-env-runners 2 --steps 600 --address {machines.cluster.address} --folder run"
    done = command(flags, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert re.search("all agents arrive(.|\n)*multigrid train --resume run --steps ", done.stderr)
    assert [row["env_runners"] for row in read_rows(tmp_path / "run" / "metrics.csv")] == ["2"] * 5
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2


@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--num-env-runners 9", "--num-env-runners is 9, but the cluster has 2 CPUs"),
        ("--address ray://127.0.0.1:10001", "--address is ray://127.0.0.1:10001; expected HOST:PORT"),
        ("--address local", "--address is local; expected HOST:PORT"),
        ("--no-flatten", "--no-flatten, but RLlib's networks take one vector an agent"),
        ("--observe agent action_mask", "--observe has action_mask, which comes beside the vector"),
        ("--max-cycles None", "--max-cycles is None"),
        ("--num-env-runners -1", "--num-env-runners is -1; expected 0 to 1,000,000"),
        ("--checkpoint-every -1", "--checkpoint-every is -1; expected 0 to 1,000,000,000,000,000"),
        ("--size 5 --num-agents 99", "num_agents is 99, but the grid"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(flags, complaint, tmp_path, monkeypatch, capsys):
    """A flag out of range gives one line that says what came and what was expected, exit code 2, and no folder."""
    monkeypatch.chdir(tmp_path)
    assert refusal(flags, capsys).startswith(f"multigrid train --engine rllib: {complaint}")
    assert list(tmp_path.iterdir()) == []


def test_an_address_where_nothing_answers_is_reported_at_once(tmp_path):
    """A process that is to join a cluster that is not there says so in one line, before it makes anything."""
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = command(f"--address {address}", tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"--address is {address}, but no Ray cluster answers there" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_sigterm_ends_ray_and_its_processes(tmp_path):
    """Ended by a scheduler in mid-training, the command ends the Ray that it has started, and tells so by its code."""
    flags = f"{TINY} --num-env-runners 0 --steps 10000000 --checkpoint-every 1 --folder {tmp_path / 'run'}"
    words = [sys.executable, "-m", "multigrid", "train", "--engine", "rllib", *flags.split()]
    process = subprocess.Popen(words, env=AROUND, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while process.poll() is None and not (tmp_path / "run" / "metrics.csv").exists():
            time.sleep(0.1)
        begun = [process.pid, *descendants(process.pid)]
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=120)[1]
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, "SIGTERM received" in said) == (128 + signal.SIGTERM, False)
    assert len(begun) > 2
    assert gone(begun)


def test_help_lists_the_flags_of_this_engine(capsys):
    """`--help` has the flags of RLlib's engine, here where what the other engine needs is not installed."""
    assert importlib.util.find_spec("stable_baselines3") is None
    with pytest.raises(SystemExit, match="0"):
        run_training("--help")
    said = capsys.readouterr().out
    assert all(flag in said for flag in ("--address", "--num-env-runners", "--no-shared", "--resume"))


test_examples = examples_of("multigrid.integrations.rllib", "multigrid.cli._train_rllib")
test_pages = pages_of_recipe("rllib")
