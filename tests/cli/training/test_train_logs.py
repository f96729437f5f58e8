"""`multigrid train --log`: what TensorBoard is given, also by a run that was stopped."""

import itertools
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from stable_baselines3 import PPO

from helpers import read_rows, run_python
from multigrid import MultiGridEnv
from multigrid.evaluation._estimates import measure_episode
from multigrid.integrations._sb3_policies import read_policy
from multigrid.integrations.sb3 import Actor, MultiGridVecEnv
from multigrid.policies._trained import read_training
from read_logs import tensorboard_points
from trainings import KILL, stop_in_update, train

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("no_pictures")]

# Rollouts of 24 steps of 3 worlds of 2 agents: 144 steps, six times over; a checkpoint after every second one.
FLAGS = "--size 4 3 --max-cycles 15 --steps 864 --copies 3 --rollout 24 --batch-size 24 --epochs 2 --hidden 8 "
FLAGS += "--episodes 8 --evaluations 3 --seed 11 --checkpoint-every 200"
METRICS = ["csr", "isr", "sum_of_costs", "makespan"]
LEARNER = ["entropy", "explained_variance", "policy_loss", "value_loss"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing stopped, with its log."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multigrid.cli._train_sb3.write_films", lambda *_, **__: None)
        assert train(f"{FLAGS} --log tensorboard --folder {folder}") == 0
    return folder


def test_a_log_has_the_documented_names_and_values(whole):
    """Each evaluation and each rollout has its point, with the values of evaluation.json and metrics.csv."""
    points = tensorboard_points(whole / "tensorboard")
    expected = {f"evaluation/{name}": [0, 432, 864] for name in (*METRICS, "mean_return", "mean_steps")}
    rollouts = list(range(144, 865, 144))
    expected |= {f"rollout/{name}": rollouts for name in (*METRICS, "episodes", "mean_steps", "reward_per_step")}
    expected |= {f"learner/{name}": rollouts for name in LEARNER}
    assert {name: [steps for steps, _ in values] for name, values in points.items()} == expected
    rows = read_rows(whole / "metrics.csv")
    during = json.loads((whole / "evaluation.json").read_text())["during"]
    for name in ("csr", "mean_steps", "mean_return", "episodes", "reward_per_step"):
        key = "success_rate" if name == "csr" else name
        if f"rollout/{name}" in points:
            logged = [value for _, value in points[f"rollout/{name}"]]
            digits = 6e-3 if name == "mean_steps" else 6e-5
            assert logged == pytest.approx([float(row[key]) for row in rows], abs=digits)
        if f"evaluation/{name}" in points:
            assert points[f"evaluation/{name}"] == [(one["steps"], float(np.float32(one[key]))) for one in during]


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_metrics_are_the_means_over_episodes(on_target, monkeypatch):
    """A rollout has the means of the final infos of its episodes, an evaluation those of episodes played one by one."""
    metrics = ["throughput"] if on_target == "restart" else METRICS
    ends = [[]]
    step_wait, update = MultiGridVecEnv.step_wait, PPO.train

    def recorded(vec_env):
        returned = step_wait(vec_env)
        ends[-1].extend(info for info in returned[3][::2] if "csr" in info)
        return returned

    def next_rollout(model):
        ends.append([])
        update(model)

    monkeypatch.setattr(MultiGridVecEnv, "step_wait", recorded)
    monkeypatch.setattr(PPO, "train", next_rollout)
    assert train(f"{FLAGS} --size 3 2 --on-target {on_target} --log tensorboard --folder run") == 0
    points = tensorboard_points(Path("run/tensorboard"))
    assert len(ends) == 7
    assert sum(map(len, ends)) > 12
    for section in ("rollout", "evaluation"):
        logged = {name.split("/")[1] for name in points if name.startswith(section)}
        assert logged & {*METRICS, "throughput"} == set(metrics)
    measured = play_again(Path("run"), episodes=8)
    for name in metrics:
        means = [(144 * n, np.mean([info[name] for info in infos])) for n, infos in enumerate(ends, 1) if infos]
        assert points[f"rollout/{name}"] == [(steps, pytest.approx(value, rel=1e-6)) for steps, value in means]
        assert points[f"evaluation/{name}"][-1] == (864, pytest.approx(np.mean([one[name] for one in measured])))


def play_again(folder, episodes):
    """The metrics of the held-out episodes of a trained model, in envs of their own, with the stream of evaluations."""
    config, hidden, recurrent = read_training(folder)
    network = read_policy(folder, config, hidden, recurrent=recurrent)
    actor, rows_of_agents = Actor(network, episodes * config.num_agents), {}
    for index, agent in itertools.product(range(episodes), config.agents):
        rows_of_agents[index, agent] = len(rows_of_agents)
    envs = [MultiGridEnv(config) for _ in range(episodes)]
    seen = [env.reset(seed=seed)[0] for seed, env in enumerate(envs)]
    generator = np.random.default_rng([*range(episodes), 2])
    while any(env.agents for env in envs):
        present = [(index, agent) for index, env in enumerate(envs) for agent in env.agents]
        rows = [seen[index][agent] for index, agent in present]
        batch = {part: np.stack([row[part] for row in rows]) for part in rows[0]}
        actions = dict(zip(present, actor(batch, [rows_of_agents[one] for one in present], generator), strict=True))
        for index, env in enumerate(envs):
            if env.agents:
                seen[index] = env.step({agent: actions[index, agent] for agent in env.agents})[0]
    return [measure_episode(env.metrics()) for env in envs]


STOPS = {1: KeyboardInterrupt(), 2: SystemExit(143), 3: "SIGKILL", 4: KeyboardInterrupt(), 5: RuntimeError("no more")}


@pytest.mark.parametrize("number", STOPS, ids=lambda number: f"{number}-{STOPS[number]!r}")
def test_a_resumed_run_has_each_point_once(number, whole, home):
    """However a run was stopped, its log is that of a run that was not: no point is missing, doubled, or another."""
    flags = f"{FLAGS} --log tensorboard --folder run"
    if number == 3:
        done = run_python("-c", KILL, "SIGKILL", "train", *flags.split(), cwd=home)
        assert done.returncode == -9, done.stderr
    else:
        stop_in_update(number, STOPS[number], flags)
        first, expected = (tensorboard_points(run / "tensorboard") for run in (Path("run"), whole))
        assert first["evaluation/csr"][0] == expected["evaluation/csr"][0]
    time.sleep(1.1)  # event files are ordered by whole seconds, which are in their names
    assert train("--resume run") == 0
    assert tensorboard_points(Path("run/tensorboard")) == tensorboard_points(whole / "tensorboard")


def test_a_finished_run_logs_on(whole, capsys):
    """With a larger --steps what was logged stays, and new points come after it; the command to see it is printed."""
    assert train(f"{FLAGS} --steps 432 --log tensorboard --folder run") == 0
    assert re.search(r"^  tensorboard --logdir \S+ +all metrics$", capsys.readouterr().err, re.MULTILINE)
    first = tensorboard_points(Path("run/tensorboard"))
    time.sleep(1.1)
    assert train("--resume run --steps 864") == 0
    points = tensorboard_points(Path("run/tensorboard"))
    assert points.keys() == first.keys()
    for name, values in points.items():
        assert values[: len(first[name])] == first[name]
        assert [steps for steps, _ in values] == sorted({steps for steps, _ in values})
    assert [steps for steps, _ in points["rollout/isr"]] == list(range(144, 865, 144))
