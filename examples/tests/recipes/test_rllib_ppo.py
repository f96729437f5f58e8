"""RLlib's example: it learns, on a cluster too, saves checkpoints, and resumes from them."""

import dataclasses
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import numpy as np
import pytest
import ray
from ray.rllib.algorithms.algorithm import Algorithm

from examples import rllib_ppo
from examples.rllib_ppo import Options
from helpers import AROUND, names
from multigrid import GridConfig
from ray_machines import descendants, gone, two_machines
from recipe_contract import examples_of

# Each local env runner registers the env with Gymnasium anew, under RLlib's own name.
pytestmark = pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning")

TINY = Options(
    GridConfig(size=(4, 3), max_cycles=12), 1280, 5, None, 512, episodes=20, num_env_runners=0, worlds=8, rollout=8
)
TINY = dataclasses.replace(TINY, epochs=1, batch_size=64, hidden=(16,))


def weights(algorithm):
    """All weights that the learner holds."""
    states = algorithm.learner_group.get_weights().items()
    return {f"{module}.{name}": value for module, state in states for name, value in state.items()}


def differ(one, other):
    """Whether some weights of the same names differ."""
    assert one.keys() == other.keys()
    return any(not np.array_equal(value, other[name]) for name, value in one.items())


def before_iteration(number, act, patch):
    """Let something happen before the iteration of a training with this number, counted from 1."""
    train, calls = Algorithm.train, itertools.count(1)

    def train_after(algorithm):
        if next(calls) == number:
            act(algorithm)
        return train(algorithm)

    patch.setattr(Algorithm, "train", train_after)


@pytest.fixture(scope="module")
def machines():
    """Two nodes on this machine, which this process has joined; at the end no process of theirs is left."""
    with two_machines() as started:
        yield started


@pytest.fixture(scope="module")
def saved(machines, tmp_path_factory):
    """The result of a tiny training, which has saved three checkpoints."""
    assert machines.cluster.address
    return rllib_ppo.main(dataclasses.replace(TINY, save=tmp_path_factory.mktemp("saved")))


@pytest.mark.usefixtures("machines")
def test_it_learns(capsys):
    """On held-out episodes, trained agents arrive far more often than untrained ones; both are printed."""
    before, after, steps, checkpoint = rllib_ppo.main(Options(TINY.grid, 25_000, num_env_runners=1))
    assert before["success"] < 0.3
    assert after["success"] > 0.6
    assert (25_000 <= steps < 32_000, checkpoint) == (True, None)
    said = capsys.readouterr().out
    assert re.search(rf"success +{before['success']:.3f} +{after['success']:.3f}\n", said)
    assert f"{steps:,} steps, 1 env runners, return of an agent" in said


def test_checkpoints_have_the_names_of_their_steps(saved):
    """A checkpoint comes after each multiple of the steps between them, and at the end."""
    first, second, last = map(int, names(saved.checkpoint.parent))
    assert 512 <= first < 640 + 128 <= 1024 <= second < 1280 <= last == saved.steps
    assert saved.checkpoint.name == f"{last:012}"


def test_resume_goes_on_from_a_checkpoint(saved, monkeypatch):
    """The steps, the weights and what they achieve are those of the checkpoint, and the next rollout changes them."""
    train, states = Algorithm.train, []

    def watched(algorithm):
        states.append(weights(algorithm))
        return train(algorithm)

    monkeypatch.setattr(Algorithm, "train", watched)
    options = dataclasses.replace(TINY, seed=6, resume=saved.checkpoint, steps=1792)
    resumed = rllib_ppo.main(options)
    assert resumed.before == saved.after
    assert resumed.steps - saved.steps >= 384
    assert len(states) in (4, 5)
    assert differ(states[0], states[1]), "the rate, at the end of the first training, was 0"
    finished = rllib_ppo.main(dataclasses.replace(options, steps=1280))
    assert (finished.before, finished.steps) == (saved.after, saved.steps)


@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_ctrl_c_keeps_what_was_learned(on_target, tmp_path, monkeypatch):
    """Interrupted in its third iteration, a training in any mode evaluates and saves what it has."""
    before_iteration(3, Mock(side_effect=KeyboardInterrupt), monkeypatch)
    grid = dataclasses.replace(TINY.grid, on_target=on_target, observe=("agent", "target", "action_mask"))
    result = rllib_ppo.main(dataclasses.replace(TINY, grid=grid, shared=False, save=tmp_path))
    assert 256 <= result.steps < 512
    assert names(tmp_path) == [result.checkpoint.name]
    assert ("throughput" in result.after, "success" in result.after) == (on_target == "restart", on_target != "restart")


@pytest.mark.usefixtures("machines")
def test_a_training_goes_on_when_all_its_env_runners_are_lost(monkeypatch):
    """With its only env runner killed, a training waits until there is another one, and plays all its steps."""

    def kill(algorithm):
        (process,) = algorithm.env_runner_group.foreach_env_runner(lambda _: os.getpid(), local_env_runner=False)
        os.kill(process, signal.SIGKILL)

    before_iteration(3, kill, monkeypatch)
    assert 600 <= rllib_ppo.main(dataclasses.replace(TINY, steps=600, num_env_runners=1)).steps < 900


def example(*flags):
    """The words of a short training in a process of its own."""
    words = "--size 4 3 --max-cycles 12 --worlds 8 --rollout 8 --epochs 1 --episodes 10 --hidden 16"
    return [sys.executable, "-m", "examples.rllib_ppo", *words.split(), *flags]


def test_a_process_joins_a_cluster(machines):
    """With an address, a process of its own plays on the nodes of that cluster, and leaves it running."""
    flags = f"--num-env-runners 2 --steps 600 --address {machines.cluster.address}"
    done = subprocess.run(example(*flags.split()), env=AROUND, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" steps, 2 env runners") in (4, 5)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2


@pytest.mark.usefixtures("machines")
def test_what_cannot_be_trained_is_refused():
    """More env runners than CPUs, which would wait for ever, and episodes without an end are refused by their flags."""
    with pytest.raises(ValueError, match="--num-env-runners is 9, but the cluster has 2 CPUs; use fewer"):
        rllib_ppo.main(dataclasses.replace(TINY, num_env_runners=9))
    with pytest.raises(ValueError, match="--max-cycles is None"):
        rllib_ppo.main(dataclasses.replace(TINY, grid=GridConfig(max_cycles=None)))


def test_sigterm_ends_ray_and_its_processes(tmp_path):
    """Ended by a scheduler in mid-training, the example ends the Ray that it has started."""
    flags = f"--num-env-runners 0 --steps 10000000 --save-every 1 --save {tmp_path}"
    process = subprocess.Popen(example(*flags.split()), env=AROUND, start_new_session=True)
    try:
        while process.poll() is None and not any(tmp_path.iterdir()):
            time.sleep(0.1)
        begun = [process.pid, *descendants(process.pid)]
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode != 0
    assert len(begun) > 2
    assert gone(begun)


test_examples = examples_of("examples.rllib_ppo")
