"""`multigrid train --recurrent`: agents that remember, from the training to each command that plays the run."""

import dataclasses
import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from torch.distributions import Categorical

import multigrid
from helpers import run_without
from multigrid import GridConfig, MultiGridEnv
from multigrid.cli import main
from multigrid.cli._train_runs import play_held_out
from multigrid.integrations._sb3_recurrent import MaskedRecurrentPPO
from multigrid.integrations.sb3 import Actor, to_sb3

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("no_pictures")]

RECALL = f"{Path(__file__).parents[2] / 'games' / 'sample_games.py'}:Recall"
FLAGS = "--recurrent --copies 8 --rollout 16 --batch-size 128 --epochs 4 --hidden 16 --episodes 40 --evaluations 2 "
DELIVERY = FLAGS + "--size 5 4 --num-agents 3 --on-target leave --max-cycles 9 --steps 800 "


def test_agents_learn_to_remember(capsys):
    """What only the first observation shows is acted on three steps later, in evaluations, `evaluate` and `rollout`."""
    flags = f"--game {RECALL} --size 5 4 --num-agents 2 --observe cue --max-cycles 9 "
    flags += FLAGS.replace("--recurrent ", "") + "--learning-rate 0.02 --gamma 0.9 --steps 5000"
    compared, returns = f"--game {RECALL} --episodes 60 --json", {}
    for name in ("recurrent", "plain"):
        assert main(f"train {'--recurrent ' * (name == 'recurrent')}{flags} --folder {name}".split()) == 0
        after = json.loads(Path(name, "evaluation.json").read_text())["after"]
        capsys.readouterr()
        means = [after["mean_return"]]
        for command in (f"evaluate {name} random", f"rollout --policy {name}"):
            assert main(f"{command} {compared}".split()) == 0
            (world,) = json.loads(capsys.readouterr().out)["worlds"]
            means.append(world["metrics"].get(name, world["metrics"])["return"]["mean"])
        returns[name] = means
    # A guess is right half of the time.
    assert min(returns["recurrent"]) > 0.9
    assert max(returns["plain"]) < 0.7


@pytest.mark.parametrize("observed", ["", "--flatten --observe agent target view --hidden 12 5"])
def test_a_run_plays_as_its_model_does(observed):
    """A saved run acts with the probabilities of RecurrentPPO.load, with each agent's state carried by hand."""
    assert main(f"train {DELIVERY} {observed} --folder run".split()) == 0
    model, env = RecurrentPPO.load("run/model.zip", device="cpu"), MultiGridEnv(multigrid.scenarios.find_world("run"))
    policy, marks = multigrid.policies.load("run", seed=np.random.default_rng(3)), np.random.default_rng(3)
    for seed in range(9):  # one policy plays all episodes
        states = dict.fromkeys(env.possible_agents, (torch.zeros(model.policy.lstm_hidden_state_shape),) * 2)
        observations, _ = env.reset(seed=seed)
        while env.agents:
            actions = {}
            for agent, mark in zip(env.agents, marks.random(len(env.agents)), strict=True):
                seen, _ = model.policy.obs_to_tensor(observations[agent])
                with torch.no_grad():
                    choice, states[agent] = model.policy.get_distribution(seen, states[agent], torch.zeros(1))
                bounds = choice.distribution.probs[0].double().numpy().cumsum()
                actions[agent] = int((bounds <= mark * bounds[-1]).sum())
            assert policy(env, observations) == actions
            observations, *_ = env.step(actions)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_policy_remembers_the_episode_of_each_world(mode):
    """In a vector env, each agent of each world is asked with the state that it has in an env of its own."""
    assert main(f"train {DELIVERY} --folder run".split()) == 0
    config = dataclasses.replace(multigrid.scenarios.find_world("run"), on_target="stay", max_cycles=5)
    envs, one = multigrid.vector_env(2, config, autoreset_mode=mode), MultiGridEnv(config)
    policy, found = multigrid.policies.load("run"), {}
    rows, _ = envs.reset(seed=4)
    for _ in range(13):
        policy.act(envs, rows)
        found.setdefault(int(envs.get_state()["steps"][1]), []).append(policy._actor._states[0][0, 3:].clone())
        rows = envs.step(np.array([0, 1, 2] * 2))[0]
    for number in range(2):  # world 1 is an env of seed 5, whose second episode goes on with its stream
        again = multigrid.policies.load("run")
        seen = one.reset(seed=None if number else 5)[0]
        for step in range(5):
            pickled = pickle.loads(pickle.dumps(again))
            again(one, seen)
            pickled(one, seen)
            assert torch.equal(pickled._actor._states[0], again._actor._states[0])
            assert torch.allclose(again._actor._states[0][0], found[step][number], atol=1e-6)
            seen = one.step(dict(zip(one.agents, [0, 1, 2], strict=True)))[0]
        assert not one.agents
    one.reset(seed=6)
    one.step(dict.fromkeys(one.agents, 0))
    later = one.get_state()
    seen = one.reset(seed=7)[0]
    again, fresh = (multigrid.policies.load("run", seed=1) for _ in range(2))
    again(one, seen)
    other = MultiGridEnv(config)
    other.reset(seed=8)
    other.set_state(later)
    for policy in (again, fresh):
        policy(other, other.observe_all()[0])
    assert torch.equal(again._actor._states[0], fresh._actor._states[0])  # of another episode, though of the next step


def test_each_agent_of_each_world_has_a_state_of_its_own():
    """States begin at zero in an evaluation, and that of an agent changes with its own steps only, until it leaves."""
    seen = []

    def decide(observations, states, starts):
        assert not starts.any()
        seen.append(states[0][0, :, 0].tolist())
        counted = states[0] + 1 + 10 * torch.as_tensor(observations["agent"])[None, :, :1]
        return SimpleNamespace(distribution=Categorical(torch.eye(4)[[0] * len(starts)])), (counted, states[1])

    lstm = SimpleNamespace(num_layers=1, hidden_size=1)
    network = SimpleNamespace(lstm_actor=lstm, obs_to_tensor=lambda observed: (observed, True), get_distribution=decide)
    config = GridConfig(walls="a.A..b...B", on_target="leave", max_cycles=9)
    play_held_out(config, range(3, 4), Actor(network, 2))
    # The first agent walks from x = 0 to 2, the second from 5 to 9.
    assert seen == [[0, 0], [1, 51], [112], [183]]


def test_updates_see_whole_sequences_of_agents_that_are_there():
    """Each transition of a present agent is in one minibatch, in order, after the state in which it was played."""
    envs = multigrid.vector_env(
        5, size=(4, 3), num_agents=3, on_target="leave", max_cycles=7, autoreset_mode="SameStep"
    )
    learner = MaskedRecurrentPPO(
        "MultiInputLstmPolicy", to_sb3(envs), n_steps=20, batch_size=64, policy_kwargs={"lstm_hidden_size": 4}, seed=1
    )
    buffer, alive, batches = learner.rollout_buffer, [], []

    class SetAlive(BaseCallback):
        def _on_step(self):
            buffer.alive = np.array([info["alive"] for info in self.locals["infos"]])
            alive.append(buffer.alive)
            return True

    def update():
        # The number of a transition in place of its value, and of its step in place of the state before it.
        buffer.values[:] = np.arange(20 * 15).reshape(20, 15)
        buffer.hidden_states_pi[:] = np.arange(20)[:, None, None, None]
        batches[:] = buffer.get(64)

    learner.train = update
    learner.learn(600, SetAlive())
    alive = alive[20:]  # of the second rollout, at whose beginning episodes are under way
    assert not np.all(alive)
    seen = []
    for batch in batches:
        kept, firsts = batch.mask > 0, batch.lstm_states.pi[0][0, :, 0]
        rows = (array.reshape(len(firsts), -1) for array in (batch.old_values.long(), kept, batch.episode_starts))
        for numbers, there, begins, first in zip(*rows, firsts, strict=True):
            steps, agents = numbers[there] // 15, numbers[there] % 15
            assert steps.tolist() == list(range(int(first), int(first) + len(steps)))
            assert agents.unique().numel() == 1
            assert not begins[1:].any(), "an episode begins a sequence"
        seen += batch.old_values[kept].tolist()
        assert 64 <= kept.sum() < 128
    assert sorted(seen) == np.flatnonzero(alive).tolist()


def test_what_a_memory_cannot_have_is_refused(capsys):
    """An LSTM needs a size, and a run stays what it was; without sb3-contrib, the error says what to install."""
    for flags, complaint in (
        (f"{DELIVERY} --hidden", "hidden is empty; expected the size of the LSTM"),
        ("--resume run --recurrent", "trained with recurrent False, not True; leave that flag out"),
    ):
        if "--resume" in flags:
            assert main(f"train {DELIVERY.replace('--recurrent ', '')} --folder run".split()) == 0
        capsys.readouterr()
        assert main(["train", *flags.split()]) == 2
        assert complaint in capsys.readouterr().err
    done = run_without(("sb3_contrib",), "train", *DELIVERY.split())
    assert done.returncode == 1
    assert "needs sb3_contrib, which is not installed: pip install" in done.stderr
    assert not Path("runs").exists()
