"""RLlib: what its learners get, a cluster of two nodes of which one is killed, and checkpoints."""

import dataclasses
import itertools
import os
import time

import numpy as np
import pytest
import ray
import torch
from ray import tune
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

from multigrid import GridConfig, MultiGridEnv, games
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
from ray_machines import NODE, two_machines
from recipe_contract import examples_of, pages_of_recipe

# Each local env runner registers the env with Gymnasium anew, under RLlib's own name.
pytestmark = pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning")

WORLD = GridConfig(size=(4, 3), max_cycles=12, flatten=True)
RETURNED = ("observations", "rewards", "terminateds", "truncateds", "infos")


def fields(config):
    """The env_config of a world."""
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}


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


test_examples = examples_of("multigrid.integrations.rllib")
test_pages = pages_of_recipe("rllib")
